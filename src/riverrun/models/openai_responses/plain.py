"""The short way: events that only go on with a text, with reasoning or with the arguments of a call.

Nearly all events of a stream are of this kind. The class takes exactly these: any other event does not decode, and
neither does one that does not say which item it goes on with.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from riverrun.models.http import reader_of


class PlainDelta(msgspec.Struct, gc=False):
    """A piece of an item, or of one of its parts."""

    type: Literal[
        "response.output_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
        "response.function_call_arguments.delta",
        "response.mcp_call_arguments.delta",
        "response.code_interpreter_call_code.delta",
        "response.custom_tool_call_input.delta",
    ]
    delta: str
    output_index: int
    content_index: int | None = None
    summary_index: int | None = None


read_plain = reader_of(PlainDelta)
"""The event, or None if it is none that may go the short way."""
