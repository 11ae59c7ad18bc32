"""Tools: what a model may call. `@tool` makes one of a Python function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from types import FrameType, UnionType
from typing import Any, TypeAlias, overload

from riverrun.errors import ConfigError
from riverrun.schema import JsonSchema, Validator, validator
from riverrun.tools.context import ToolContext
from riverrun.tools.function import Function
from riverrun.types import ToolSpec

Execute: TypeAlias = Callable[[Any, ToolContext[Any]], object]
"""Runs a call: takes the validated arguments and the context, gives the result or an awaitable of it."""

Approval: TypeAlias = bool | Callable[[Any, ToolContext[Any]], bool | Awaitable[bool]]
"""Whether a call has to be approved before it runs; or a function that says so, of the arguments and the context."""

Form: TypeAlias = Mapping[str, Any] | type[Any] | UnionType
"""What a value looks like: a JSON Schema, or a type that pydantic knows."""

_ANY_OBJECT: Mapping[str, Any] = {"type": "object", "properties": {}}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """Something a model may call.

    `name` has 1 to 64 of the characters A-Z a-z 0-9 _ -. `input_schema` is JSON Schema of the arguments; None takes
    any object. `execute` gets the arguments as a dict that fits the schema, and the context; it is a coroutine
    function, or a plain function, which is run in a thread. None makes a client tool: its calls are left to the caller
    of the run. `output_schema` is JSON Schema of the result. `to_model_output` makes of a result what the model is
    told: a text, or {type: "text" | "json" | "content", value}. A call by `id` finds the tool too. `strict` and
    `provider_options` are for the provider; `provider_id` and `provider_args` make it one of the provider's own (see
    `provider_tool`).

    A call that `requires_approval` waits until the caller of the run approves or declines it; with False it never does,
    and None leaves it to the agent. `suspend_schema` and `resume_schema` (JSON Schemas or types) are of what the tool
    asks by `ToolContext.suspend` and of the answers, which are checked, and made values of the type. Calls that may
    wait run one after the other. Raises ConfigError for a name or a schema that cannot work.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] | None = field(default=None, repr=False)
    execute: Execute | None = field(default=None, repr=False)
    output_schema: Mapping[str, Any] | None = field(default=None, repr=False)
    to_model_output: Callable[[Any], object] | None = field(default=None, repr=False)
    id: str | None = None
    strict: bool | None = None
    provider_options: Mapping[str, Any] | None = field(default=None, repr=False)
    provider_id: str | None = None
    provider_args: Mapping[str, Any] | None = field(default=None, repr=False)
    requires_approval: Approval | None = None
    suspend_schema: Form | None = field(default=None, repr=False)
    resume_schema: Form | None = field(default=None, repr=False)

    spec: ToolSpec = field(init=False, repr=False)
    """What a model is told of the tool."""
    arguments: Validator = field(init=False, repr=False)
    """Checks the arguments of a call."""
    results: Validator | None = field(init=False, repr=False)
    """Checks the results, when there is an `output_schema`."""
    answers: Validator | None = field(init=False, repr=False)
    """Checks the answers to what the tool asks, when there is a `resume_schema`."""

    def with_execute(self, execute: Execute) -> Tool:
        """The same tool with another function behind it."""
        made = copy(self)
        object.__setattr__(made, "execute", execute)
        return made

    def __post_init__(self) -> None:
        who = f'tool "{self.name}"'
        if not is_tool_name(self.name):
            raise ConfigError(f"{who}: a tool's name has 1 to 64 of the characters A-Z a-z 0-9 _ -")
        if inspect.iscoroutinefunction(self.to_model_output):
            raise ConfigError(f"{who}: to_model_output must be a plain function")
        schema = _ANY_OBJECT if self.input_schema is None else self.input_schema
        spec = ToolSpec(
            name=self.name,
            description=self.description,
            input_schema=schema,
            strict=self.strict,
            provider_options=self.provider_options,
            provider_id=self.provider_id,
            provider_args=self.provider_args,
        )
        arguments: Validator = (
            self.execute.arguments
            if isinstance(self.execute, Function)
            else JsonSchema(schema, name=f"{who}, input_schema")
        )
        results = None if self.output_schema is None else JsonSchema(self.output_schema, name=f"{who}, output_schema")
        if self.suspend_schema is not None:
            validator(self.suspend_schema, name=f"{who}, suspend_schema")
        answers = None if self.resume_schema is None else validator(self.resume_schema, name=f"{who}, resume_schema")
        checks = (("spec", spec), ("arguments", arguments), ("results", results), ("answers", answers))
        for name, value in checks:
            object.__setattr__(self, name, value)


def is_tool_name(name: str) -> bool:
    """Whether a tool may have this name."""
    return _NAME.fullmatch(name) is not None


def client_tool(name: str, *, description: str = "", input_schema: Mapping[str, Any] | None = None) -> Tool:
    """A tool that the caller of the run executes: a run ends with its call, and the next one begins with its result."""
    return Tool(name=name, description=description, input_schema=input_schema)


def provider_tool(
    id: str,
    *,
    name: str | None = None,
    args: Mapping[str, Any] | None = None,
    execute: Execute | None = None,
    to_model_output: Callable[[Any], object] | None = None,
) -> Tool:
    """A tool that the provider defines, such as "anthropic.web_search_20250305" or "openai.local_shell"; `args` set it
    up, in the provider's own words.

    Most of them the provider runs: their calls and results come in its stream, marked `provider_executed`. The others
    it only calls, with arguments of its own form: `execute` runs such a call, as in Tool; without it the call is left
    to the caller of the run. `name` is what calls name it by, the last part of the id if not given.
    Raises ConfigError for an id that is not "provider.tool".
    """
    provider, _, kind = id.partition(".")
    if not provider or not kind:
        raise ConfigError(f'the id of a provider\'s tool is "provider.tool", not {id!r}')
    return Tool(
        name=name or kind.replace(".", "_"),
        input_schema={},  # the provider knows it
        execute=execute,
        to_model_output=to_model_output,
        provider_id=id,
        provider_args=args,
    )


def find_tool(tools: Iterable[Tool], name: str) -> Tool | None:
    """The tool of this name, or else of this id."""
    by_id: Tool | None = None
    for candidate in tools:
        if candidate.name == name:
            return candidate
        if by_id is None and candidate.id == name:
            by_id = candidate
    return by_id


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    id: str | None = None,
    strict: bool | None = None,
    provider_options: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    to_model_output: Callable[[Any], object] | None = None,
    requires_approval: Approval | None = None,
    suspend_schema: Form | None = None,
    resume_schema: Form | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a Tool of a function, a bound method or a callable object: `@tool`, `@tool(name=…)` or `tool(function)`.

    The parameters are what the model fills in; their annotations make the schema and the arguments' types, the
    docstring describes the tool and, in Google's, NumPy's or Sphinx's form, its parameters. A parameter annotated
    ToolContext gets the context. Coroutine functions are awaited; plain functions run in a thread. The options are
    those of Tool; name and description come from the function otherwise. Raises ConfigError for a signature that no
    model can fill in.
    """
    if function is not None:
        return _tool(function, inspect.currentframe(), **options)
    return lambda decorated: _tool(decorated, inspect.currentframe(), **options)


def _tool(
    function: Callable[..., Any],
    frame: FrameType | None,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Any,
) -> Tool:
    """`frame` is the one that the caller called: the caller's local classes may stand in annotations."""
    caller = frame.f_back if frame is not None else None
    execute = Function(function, name=name, namespace=caller.f_locals if caller is not None else {})
    return Tool(
        name=execute.name,
        description=execute.description if description is None else description,
        input_schema=execute.arguments.json_schema,
        execute=execute,
        **options,
    )
