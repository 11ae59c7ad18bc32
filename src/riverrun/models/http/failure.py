"""What a server says of a failure, in any of the forms seen → ModelError."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

import msgspec

from riverrun.chunks.envelope import mapping
from riverrun.errors import ModelError

_MESSAGES = ("message", "msg", "detail", "error_description", "reason", "title")
_RETRYABLE_CODES = {
    "rate_limit_exceeded",
    "rate_limit_error",
    "server_error",
    "internal_error",
    "internal_server_error",
    "api_error",
    "overloaded",
    "overloaded_error",
    "server_overloaded",
    "service_unavailable",
    "service_unavailable_error",
    "provider_unavailable",
    "engine_overloaded",
    "bad_gateway",
    "gateway_timeout",
    "timeout",
    "timeout_error",
    "resource_exhausted",
    "unavailable",
    "internal",
    "deadline_exceeded",
}
_NEVER_RETRYABLE_CODES = {"insufficient_quota"}
_SHOWN = 2000
"""Characters of a failure that are shown."""
_SHORT = 8
"""Keys of fewer characters are masked as words only."""


def model_error(failure: object, *, status: int | None = None, retry_after: float | None = None) -> ModelError:
    """The exception for what a server said: an object, a text or nothing.

    `status` is the HTTP status of the response that carried it (None inside a 200 stream; a code that is an HTTP
    status counts then). The message is as long as the server made it, and may repeat the API key: see `make_fit`.
    """
    nested: object = mapping(failure).get("error")
    said = nested if nested and nested is not True else failure
    members = mapping(said)
    code = _code(members)
    answered = "" if status is None else f" (HTTP {status})"
    status = status or _status(code) or _status(members.get("status"))
    return ModelError(
        _message(said) + answered,
        status=status,
        code=code,
        retryable=is_retryable(status, code),
        retry_after=retry_after,
    )


def response_error(status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
    """The exception for a response that is no success."""
    try:
        said: object = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = content.decode("utf-8", "replace")
    if isinstance(said, list):  # Google's servers put the error in a list
        said = next(iter(cast("list[object]", said)), None)
    return model_error(said, status=status, retry_after=_retry_after(headers))


def make_fit(error: ModelError, secret: str) -> None:
    """Make a failure fit to be shown: without the API key ("" for none), and cut to a length that can be read.

    The key goes first, so that no part of it is left where the message is cut.
    """
    message = str(error)
    if secret:
        message = _masked(message, secret)
        if isinstance(error.code, str):
            error.code = _masked(error.code, secret)
    error.args = (message[:_SHOWN],)


def _masked(text: str, secret: str) -> str:
    """The text without the key. A short one is a dummy that other words may hold: only as a word it is the key."""
    if len(secret) >= _SHORT:
        return text.replace(secret, "***")
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)


def is_retryable(status: int | None, code: object = None) -> bool:
    """Whether the same call may succeed later."""
    word = code.lower() if isinstance(code, str) else ""
    if word in _NEVER_RETRYABLE_CODES:
        return False
    return (status is not None and (status in (408, 409, 429) or status >= 500)) or word in _RETRYABLE_CODES


def _code(members: Mapping[str, Any]) -> str | int | None:
    for name in ("code", "type", "status"):
        value = members.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value not in ("", "error"):
            return value
    return None


def _status(code: object) -> int | None:
    if isinstance(code, str) and code.isdecimal() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None


def _message(said: object) -> str:
    members = mapping(said)
    text = said if isinstance(said, str) else next((members[name] for name in _MESSAGES if members.get(name)), None)
    text = text or said
    if not text:
        return "the provider failed and did not say why"
    if not isinstance(text, str):
        text = msgspec.json.encode(text, enc_hook=str).decode()
    upstream = mapping(members.get("metadata")).get("raw")  # OpenRouter: what the provider behind it said
    if isinstance(upstream, str) and upstream:
        text = f"{text}: {upstream}"
    return text


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the server asked to wait: as milliseconds, as seconds or as a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < 1e9 else None
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
