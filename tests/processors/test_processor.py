"""The base class: which hooks a processor has, its name, and the mistakes that are told at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from riverrun.chunks import ChunkType, Message
from riverrun.errors import ConfigError
from riverrun.processors import Processor, ProcessorContext
from riverrun.processors.processor import HOOKS


class InputGuard(Processor):
    def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> None:
        return None


class HTTPGuard(InputGuard):
    pass


def test_a_processor_is_named_after_its_class() -> None:
    assert (InputGuard().id, HTTPGuard().id, Processor().id) == ("input_guard", "http_guard", "processor")
    assert repr(InputGuard()) == "<InputGuard input_guard>"


def test_a_name_may_be_given_to_the_class_or_to_the_object() -> None:
    class Named(Processor):
        id = "in-guard"

    assert (Named().id, Named(id="other").id, Named.id) == ("in-guard", "other", "in-guard")


def test_the_hooks_are_those_that_are_overridden_also_further_up() -> None:
    assert HTTPGuard().hooks == {"process_input"}
    assert Processor().hooks == frozenset()


def test_a_misspelt_hook_is_told_when_the_class_is_made() -> None:
    with pytest.raises(ConfigError, match=r"Misspelt.process_ouput_stream is no hook; the hooks are process_input, "):

        class Misspelt(Processor):
            def process_ouput_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
                return chunk


def test_hooks_that_are_not_overridden_change_nothing() -> None:
    processor, nothing = Processor(), object()
    for hook in HOOKS:
        arguments = [nothing] * (1 if hook == "process_output_stream_end" else 2)
        assert getattr(processor, hook)(*arguments) in (None, False, nothing)
