"""A Python function as what a tool executes: its signature and docstring become the schema of the arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from riverrun.errors import ConfigError
from riverrun.schema import UNUSABLE, Fault, Mismatch, PythonType
from riverrun.tools.context import ToolContext


class Function:
    """A function, a bound method or a callable object, called with what its `arguments` made of the model's JSON."""

    def __init__(self, function: Callable[..., Any], *, name: str | None, namespace: Mapping[str, Any]) -> None:
        """`name`: of the tool, None for the function's own. `namespace`: where names in annotations are found last.

        Raises ConfigError for a signature that no model can fill in.
        """
        whole = _whole(function)
        called = _code(whole)
        written = _code(inspect.unwrap(whole))  # decorators leave annotations and docstring there
        self.function = function
        self.name = name or _own_name(whole)
        self.is_coroutine_function = inspect.iscoroutinefunction(called)
        who = f'tool "{self.name}"'
        if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
            raise ConfigError(f"{who}: a tool returns its result; to stream on the way, use ctx.write instead of yield")
        parameters = _parameters(function, who)
        hints = _hints(written, namespace, who)
        doc = _Doc.of(written.__doc__ or (None if inspect.isroutine(whole) else type(whole).__doc__))
        self.description = doc.description
        self._contexts = [name for name in parameters if _is_context(hints.get(name))]
        self._positional = [name for name in parameters if parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY]
        filled = [parameters[name] for name in parameters if name not in self._contexts]
        self.arguments = Arguments(filled, hints, doc.parameters, who=who)

    def __call__(self, arguments: Mapping[str, Any], ctx: ToolContext[Any]) -> object:
        """Call the function with values by name, as `self.arguments` gives them."""
        values = {**arguments, **dict.fromkeys(self._contexts, ctx)}
        positional = [values.pop(name) for name in self._positional]
        return self.function(*positional, **values)


class Arguments:
    """Validator of a function's arguments: a JSON object → values by name, of the annotated types.

    What the model leaves out is left out, so that the function's own defaults come in.
    """

    def __init__(
        self,
        parameters: list[inspect.Parameter],
        hints: Mapping[str, Any],
        descriptions: Mapping[str, str],
        *,
        who: str,
    ) -> None:
        self._names: dict[str, str] = {}  # pydantic allows fewer names than Python does: they are aliases here
        self._always: set[str] = set()
        fields: dict[str, Any] = {}
        for number, parameter in enumerate(parameters):
            _check_parameter(parameter, who)
            hint = _with_alias(hints.get(parameter.name, Any), parameter.name, descriptions.get(parameter.name))
            required = parameter.default is parameter.empty
            fields[f"p{number}"] = (hint, ... if required else parameter.default)
            self._names[f"p{number}"] = parameter.name
            if required or isinstance(parameter.default, FieldInfo) or parameter.kind is parameter.POSITIONAL_ONLY:
                self._always.add(f"p{number}")
        try:
            model = create_model("Arguments", __config__=ConfigDict(protected_namespaces=()), **fields)
        except UNUSABLE as error:
            raise ConfigError(f"{who}: {error}") from error
        self._type = PythonType(model, name=who)
        self.json_schema = self._type.json_schema

    def validate(self, value: object, /) -> dict[str, Any]:
        """The values by name. Raises Mismatch."""
        if not isinstance(value, dict):
            raise Mismatch([Fault((), "must be object")])
        model: BaseModel = self._type.validate(cast("object", value))
        given = model.model_fields_set | self._always
        return {name: getattr(model, field) for field, name in self._names.items() if field in given}


def _check_parameter(parameter: inspect.Parameter, who: str) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise ConfigError(f"{who}: a model cannot fill in {parameter}; give each argument a parameter of its own")
    if parameter.name in ("self", "cls") and parameter.annotation is parameter.empty:
        raise ConfigError(f"{who}: this is a method without its object; make the tool of the bound method: tool(x.f)")


def _with_alias(hint: Any, name: str, description: str | None) -> Any:
    """The annotation with the parameter's name and description; what the annotation says itself comes last and wins."""
    own = Field(alias=name, description=description)
    if get_origin(hint) is Annotated:
        wanted, *metadata = get_args(hint)
        return Annotated[(wanted, own, *metadata)]
    return Annotated[hint, own]


def _is_context(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(_is_context(member) for member in get_args(hint))
    return hint is ToolContext or get_origin(hint) is ToolContext


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """The callable that a partial is of."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isclass(function):
        raise ConfigError(f"{function.__name__} is a class: make the tool of a function")
    if not callable(function):
        raise ConfigError(f"a tool is made of a function, not of {function!r}")
    return function


def _code(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that is run; of a callable object its method."""
    return function if inspect.isroutine(function) else type(function).__call__


def _own_name(function: Callable[..., Any]) -> str:
    """The function's name in the characters of a tool's name; a callable object goes by its class."""
    name: str = getattr(function, "__name__", type(function).__name__)
    if name == "<lambda>":
        raise ConfigError("a lambda has no name to call it by: use tool(name=…)")
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _parameters(function: Callable[..., Any], who: str) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except ValueError as error:  # some functions that are written in C
        raise ConfigError(f"{who}: {error}") from error


def _hints(code: Callable[..., Any], namespace: Mapping[str, Any], who: str) -> dict[str, Any]:
    try:
        return get_type_hints(code, include_extras=True)
    except NameError:
        pass
    try:
        return get_type_hints(code, localns=dict(namespace), include_extras=True)
    except NameError as error:
        raise ConfigError(f"{who}: an annotation cannot be read: {error}; import it at run time as well") from error


@dataclass(frozen=True, slots=True)
class _Doc:
    """What a docstring says: of the function, and of its parameters by name."""

    description: str
    parameters: Mapping[str, str]

    @classmethod
    def of(cls, text: str | None) -> _Doc:
        text = inspect.cleandoc(text or "")
        try:
            parsed = docstring_parser.parse(text)
        except docstring_parser.ParseError:
            return cls(text, {})
        told = [part.strip() for part in (parsed.short_description, parsed.long_description) if part]
        parameters = {entry.arg_name: entry.description for entry in parsed.params if entry.description}
        return cls("\n\n".join(told) if parsed.blank_after_short_description else "\n".join(told), parameters)
