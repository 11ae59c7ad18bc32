"""Everything riverrun raises, in one tree.

    RiverrunError
    ├── ConfigError          the program is put together wrongly: a name, option or value that cannot work
    │   ├── MissingExtraError    an optional dependency is not installed
    │   ├── MissingKeyError      a provider needs an API key that is not set
    │   └── RunNotSuspendedError     there is no suspended run to resume
    ├── DecodeError          bytes that are no chunk
    ├── GrammarError         chunks in an order that the format does not allow
    ├── ModelError           a model call failed: status, code, retryable, retry_after
    │   └── TimeoutExceeded      a time limit of the run, the step or the first chunk passed
    ├── StoreError           the store cannot do it: no database, or records that do not allow it
    ├── StructuredOutputError    an answer is not what was asked for: code "truncated" or "invalid"
    ├── TripwireError        a processor stopped the run: reason, retry, metadata, processor_id
    ├── ToolError            a tool call cannot be run
    │   ├── ToolNotFoundError
    │   └── ToolArgumentsError
    └── RunError             a run ended in an error; `partial` holds what it gave until then

Inside a run a failure is a chunk. Exceptions are for misuse of the API and for awaiting the result of a failed run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast


class RiverrunError(Exception):
    """The root of the tree."""

    @property
    def details(self) -> Mapping[str, object]:
        """Plain values that travel beside name and message when the error is written as JSON."""
        return {}


def error_message(error: object) -> str:
    """What an error says, given as exception or in its JSON form."""
    if isinstance(error, Mapping):
        members = cast("Mapping[str, object]", error)
        return str(members.get("message", members))
    return str(error)


class ConfigError(RiverrunError):
    """Something was configured in a way that cannot work; the message says what to do."""


class MissingExtraError(ConfigError):
    """An optional dependency is needed and not installed."""

    def __init__(self, extra: str, *, needed_by: str) -> None:
        self.extra = extra
        super().__init__(f"{needed_by} needs the extra '{extra}': pip install 'riverrun[{extra}]'")


class MissingKeyError(ConfigError):
    """A provider needs an API key and none was given."""

    def __init__(self, variable: str, *, needed_by: str) -> None:
        self.variable = variable
        super().__init__(f"{needed_by} needs an API key: set {variable} or pass api_key=")


class RunNotSuspendedError(ConfigError):
    """A run was to be resumed that does not wait: there is none of this id, it is over, or it is being resumed."""

    def __init__(self, run_id: str, why: str) -> None:
        self.run_id = run_id
        super().__init__(f'the run "{run_id}" cannot be resumed: {why}')


class DecodeError(RiverrunError):
    """Bytes that are not one JSON object with a `type`."""


class GrammarError(RiverrunError):
    """A chunk stands where the format does not allow it."""

    def __init__(self, message: str, *, position: int) -> None:
        self.position = position
        super().__init__(f"chunk {position}: {message}")


class ModelError(RiverrunError):
    """A model call failed.

    `status` is the HTTP status (None without a response), `code` the provider's own word for the failure, `retryable`
    whether the same call may succeed later, `retry_after` the seconds the provider asked to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.retryable = retryable
        self.retry_after = retry_after
        super().__init__(message)

    @property
    def details(self) -> Mapping[str, object]:
        found: dict[str, object] = {}
        if self.status is not None:
            found["status"] = self.status
        if self.code is not None:
            found["code"] = self.code
        if self.retryable:
            found["isRetryable"] = True
        return found


class TimeoutExceeded(ModelError):
    """A time limit passed. `limit` is "total", "step" or "first_chunk", `seconds` its length.

    The message is the one that clients of the format know, with its names for the limits.
    """

    def __init__(self, limit: str, seconds: float) -> None:
        self.limit = limit
        self.seconds = seconds
        ms = f"{seconds * 1000:g}ms"
        super().__init__(
            {
                "total": f"Run timed out after {ms} (modelSettings.timeout.totalMs)",
                "step": f"Model call timed out after {ms} (modelSettings.timeout.stepMs)",
                "first_chunk": f"Model call timed out before first content after {ms} "
                "(modelSettings.timeout.firstChunkMs)",
            }[limit]
        )

    @property
    def details(self) -> Mapping[str, object]:
        name = "firstChunk" if self.limit == "first_chunk" else self.limit
        return {"timeoutType": name, "timeoutMs": self.seconds * 1000}


class StoreError(RiverrunError):
    """The store cannot do it: no database there, one of a newer version, or records that do not allow it."""


_LONGEST_VALUE = 2_000


class StructuredOutputError(RiverrunError):
    """A model's answer is no value of the wanted type.

    `code` is "truncated" when the model stopped before its end (`finish_reason`: why), "invalid" when the answer does
    not fit the schema. `value` is the answer's text, cut when it is long.
    """

    def __init__(
        self, message: str, *, code: Literal["truncated", "invalid"], value: str, finish_reason: str | None = None
    ) -> None:
        self.code = code
        self.value = value[:_LONGEST_VALUE]
        self.finish_reason = finish_reason
        super().__init__(message)

    @property
    def details(self) -> Mapping[str, object]:
        if self.code == "invalid":
            return {"id": "STRUCTURED_OUTPUT_SCHEMA_VALIDATION_FAILED", "details": {"value": self.value}}
        told = {"finishReason": self.finish_reason, "value": self.value}
        return {"id": "STRUCTURED_OUTPUT_TRUNCATED", "details": told}


class TripwireError(RiverrunError):
    """A processor stops the run; raised by `ProcessorContext.abort` and not to be caught by processors.

    `reason` says why, `retry` asks for the step to be taken again, `metadata` is any JSON value, `processor_id` says
    who it was.
    """

    def __init__(self, reason: str, *, processor_id: str, retry: bool = False, metadata: object = None) -> None:
        self.reason = reason
        self.retry = retry
        self.metadata = metadata
        self.processor_id = processor_id
        super().__init__(reason)

    @property
    def details(self) -> Mapping[str, object]:
        return {"processorId": self.processor_id}


class ToolError(RiverrunError):
    """A tool call cannot be run."""


class ToolNotFoundError(ToolError):
    """The model called a tool that it was not offered."""

    def __init__(self, name: str, available: list[str]) -> None:
        self.name = name
        self.available = available
        offer = f" Available tools: {', '.join(available)}" if available else ""
        super().__init__(
            f'Tool "{name}" not found.{offer}. Call tools by their exact name only — '
            "never add prefixes, namespaces, or colons."
        )


class ToolArgumentsError(ToolError):
    """The arguments of a call are not JSON."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f'Tool "{name}" received invalid arguments — the provided JSON could not be parsed. '
            "Please provide valid JSON arguments."
        )


class RunError(RiverrunError):
    """A run ended in an error. `partial` is what it gave until then (a `riverrun.chunks.Result`)."""

    def __init__(self, message: str, *, run_id: str, partial: Any = None) -> None:
        self.run_id = run_id
        self.partial = partial
        super().__init__(message)
