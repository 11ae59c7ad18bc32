"""Sources, files and other content that comes whole."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import UNSET

from riverrun.chunks.envelope import Chunk, Envelope, Maybe, Record, TextOrBytes


class SourcePayload(Record, frozen=True, kw_only=True):
    """Where an answer comes from: a web page or a document."""

    id: str
    source_type: Literal["url", "document"]
    title: str
    mime_type: Maybe[str] = None
    filename: Maybe[str] = None
    url: Maybe[str] = None
    provider_metadata: Maybe[dict[str, Any]] = None


class FilePayload(Record, frozen=True, kw_only=True):
    """A file that the model made. `data`: base64 text, a URL, or (in process) bytes, which are written as base64."""

    data: TextOrBytes
    mime_type: str
    base64: Maybe[str] = None
    filename: Maybe[str] = None
    provider_metadata: Maybe[dict[str, Any]] = None


class CustomPayload(Record, frozen=True, kw_only=True):
    """Content of a provider's own kind, named "{provider}.{kind}" (beyond the page)."""

    kind: str
    provider_metadata: Maybe[dict[str, Any]] = None


class SourceChunk(Chunk, frozen=True):
    type: ClassVar[Literal["source"]] = "source"
    payload: SourcePayload


class FileChunk(Chunk, frozen=True):
    type: ClassVar[Literal["file"]] = "file"
    payload: FilePayload


class ReasoningFileChunk(Chunk, frozen=True):
    """A file made while reasoning (beyond the page)."""

    type: ClassVar[Literal["reasoning-file"]] = "reasoning-file"
    payload: FilePayload


class CustomChunk(Chunk, frozen=True):
    type: ClassVar[Literal["custom"]] = "custom"
    payload: CustomPayload


class ObjectChunk(Chunk, frozen=True):
    """A structured answer as far as it is known; `object` stands at the top level, there is no payload."""

    type: ClassVar[Literal["object"]] = "object"
    object: Any


class ObjectResultChunk(Chunk, frozen=True):
    """The whole structured answer, validated (beyond the page)."""

    type: ClassVar[Literal["object-result"]] = "object-result"
    object: Any


class DataChunk(Envelope, frozen=True, kw_only=True):
    """A chunk of the program's own, `type` "data-{name}". A transient one is streamed and never stored.

    `data` is UNSET when the sender left it out.
    """

    type: str
    data: Any = UNSET
    id: Maybe[str] = None
    transient: Maybe[bool] = None
