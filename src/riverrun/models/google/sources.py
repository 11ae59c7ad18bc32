"""What a candidate says of its sources → source chunks, each source once."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.models.answer import AnswerWriter


def note_sources(candidate: Mapping[str, Any], writer: AnswerWriter) -> None:
    """The pages and documents that an answer is grounded on, quotes, or was told to read."""
    for chunk in _objects(mapping(candidate.get("groundingMetadata")).get("groundingChunks")):
        _grounding(chunk, writer)
    citations = mapping(candidate.get("citationMetadata"))
    for citation in (*_objects(citations.get("citationSources")), *_objects(citations.get("citations"))):
        writer.url_source(citation.get("uri"), citation.get("title"))
    for page in _objects(mapping(candidate.get("urlContextMetadata")).get("urlMetadata")):
        status = page.get("urlRetrievalStatus")
        if status is None or status == "URL_RETRIEVAL_STATUS_SUCCESS":
            writer.url_source(page.get("retrievedUrl"))


def _grounding(chunk: Mapping[str, Any], writer: AnswerWriter) -> None:
    for kind in ("web", "maps"):
        source = mapping(chunk.get(kind))
        writer.url_source(source.get("uri"), source.get("title"))
    image = mapping(chunk.get("image"))
    writer.url_source(image.get("sourceUri"), image.get("title"))
    document = mapping(chunk.get("retrievedContext"))
    if document:
        _document(document, writer)


def _document(document: Mapping[str, Any], writer: AnswerWriter) -> None:
    """A document of the caller's own: by its URI, its name, or else by its store and title."""
    uri, title, store = (_text(document.get(name)) for name in ("uri", "title", "fileSearchStore"))
    if uri.startswith(("http://", "https://")):
        writer.url_source(uri, title)
        return
    filename = uri.rpartition("/")[2] or title or None
    writer.document_source(
        uri or document.get("documentName") or f"{store}/{title}".strip("/"),
        title=title or filename or store.rpartition("/")[2],
        filename=filename,
        mime_type=mimetypes.guess_type(filename or "")[0] or "application/octet-stream",
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if is_object(item)] if is_list(value) else []
