"""ModelRequest → the body and the headers of a request, and what of it the API does not have."""

from __future__ import annotations

from typing import Any

from riverrun.chunks.envelope import mapping
from riverrun.models.anthropic.abilities import abilities_of
from riverrun.models.anthropic.headers import Headers
from riverrun.models.anthropic.messages import MessageWriter, option_names
from riverrun.models.anthropic.names import ToolNames, is_provided_by
from riverrun.models.anthropic.options import wire_options
from riverrun.models.anthropic.sampling import write_sampling
from riverrun.models.anthropic.schemas import answer_schema
from riverrun.models.anthropic.thinking import Thinking, called_without_thinking, thinking_for
from riverrun.models.anthropic.tools import betas_of, write_choice, write_tool
from riverrun.models.http import WireRequest
from riverrun.models.options import merged
from riverrun.types import ModelRequest, NamedTool, ToolChoice, ToolSpec


def anthropic_request(request: ModelRequest, *, model_id: str, provider: str, official: bool = False) -> WireRequest:
    """Write the request for `model_id`.

    `provider` is the key of the provider options that are for this model, beside "anthropic"; `official` says that
    Anthropic's own server is asked. Raises ConfigError for a tool whose name the API refuses.
    """
    return _RequestWriter(request, model_id, provider, official=official).write()


class _RequestWriter:
    """One request under way."""

    def __init__(self, request: ModelRequest, model_id: str, provider: str, *, official: bool) -> None:
        self._request = request
        self._settings = request.settings
        self._model_id = model_id
        self._abilities = abilities_of(model_id)
        self._option_names = option_names(provider)
        self._options = wire_options(request.provider_options, *self._option_names)
        self._headers = Headers(request.settings.headers, self._options)
        self._tools = [tool for tool in request.tools if is_provided_by(tool, *self._option_names)]
        self._tool_names = ToolNames(self._tools)
        asks_fallback = any(beta.startswith("server-side-fallback") for beta in self._headers.betas)
        self._messages = MessageWriter(
            provider,
            self._tool_names,
            system_messages=official and self._abilities.system_messages,
            fallbacks=asks_fallback or "fallbacks" in self._options,
        )
        self._warnings = self._messages.warnings

    def write(self) -> WireRequest:
        """The whole request. The options come last: they are merged into the rest."""
        conversation = self._conversation()
        thinking = self._thinking(conversation["messages"])
        body = {
            "model": self._model_id,
            "max_tokens": self._max_tokens(thinking),
            **conversation,
            "stream": True,
            **self._tool_members(),
            **self._answer_members(thinking),
        }
        body = merged(body, self._options)
        body.update(write_sampling(self._settings, self._abilities, body, self._warnings))
        return WireRequest(body, self._warnings, self._headers.for_body(body))

    def _conversation(self) -> dict[str, Any]:
        members: dict[str, Any] = {"messages": self._messages.write(self._request.messages)}
        system = self._messages.system
        if system:
            is_plain = len(system) == 1 and system[0].keys() == {"type", "text"}
            members["system"] = system[0]["text"] if is_plain else system
        container = mapping(self._messages.container).get("id")
        if container is not None:
            members["container"] = container
        return members

    # -- tools

    def _tool_members(self) -> dict[str, Any]:
        foreign = [tool for tool in self._request.tools if tool not in self._tools]
        self._warnings += [{"type": "unsupported-tool", "tool": tool.name} for tool in foreign]
        one_by_one = self._options.pop("disable_parallel_tool_use", self._settings.parallel_tool_calls is False)
        if not self._tools:
            return {}
        members: dict[str, Any] = {"tools": [self._tool(tool) for tool in self._tools]}
        self._headers.betas += betas_of(self._tools)
        choice = write_choice(self._choice(), self._tool_names, one_by_one=bool(one_by_one))
        if choice is not None:
            members["tool_choice"] = choice
        return members

    def _tool(self, tool: ToolSpec) -> dict[str, Any]:
        definition = write_tool(tool, *self._option_names, takes_strict=self._abilities.schemas)
        if tool.strict and "strict" not in definition:
            message = f"the tool {tool.name} is not strict: the API cannot hold this model to its schema"
            self._warnings.append({"type": "other", "message": message})
        return definition

    def _choice(self) -> ToolChoice:
        if self._is_forced and not self._abilities.forced_tools:
            self._unsupported("toolChoice")
            return "auto"
        return self._request.tool_choice

    @property
    def _is_forced(self) -> bool:
        choice = self._request.tool_choice
        return bool(self._tools) and (choice == "required" or isinstance(choice, NamedTool))

    # -- the answer

    def _thinking(self, messages: list[dict[str, Any]]) -> Thinking:
        """What the setting asks for; what the options ask for comes before it."""
        effort = self._settings.reasoning_effort
        asked = Thinking() if effort is None else thinking_for(effort, self._abilities)
        asked.effort = self._options.pop("effort", asked.effort)
        asked.thinking = self._options.pop("thinking", asked.thinking)
        if self._is_forced:
            asked.do_without_budget("a tool is required")
        if called_without_thinking(messages):
            asked.do_without_budget("the calls whose results are sent were made without thinking")
        self._warnings += asked.warnings
        return asked

    def _max_tokens(self, thinking: Thinking) -> int:
        """The API wants to be told a limit, and counts what is for thinking among the answer's."""
        limit = self._settings.max_output_tokens or self._abilities.max_tokens
        return max(limit, min(limit + thinking.budget, self._abilities.longest))

    def _answer_members(self, thinking: Thinking) -> dict[str, Any]:
        config: dict[str, Any] = {}
        if thinking.effort is not None:
            config["effort"] = thinking.effort
        config.update(self._format())
        stop = self._settings.stop_sequences
        members = {
            "thinking": thinking.thinking,
            "output_config": config or None,
            "stop_sequences": list(stop) if stop else None,
        }
        return {name: value for name, value in members.items() if value is not None}

    def _format(self) -> dict[str, Any]:
        wanted = self._request.response_format
        if wanted is None:
            return {}
        schema = answer_schema(wanted) if self._abilities.schemas else None
        if schema is None:
            self._unsupported("responseFormat")
            return {}
        return {"format": {"type": "json_schema", "schema": schema}}

    def _unsupported(self, setting: str) -> None:
        self._warnings.append({"type": "unsupported-setting", "setting": setting})
