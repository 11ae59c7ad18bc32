"""Annotations, and what searches found → source chunks."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.models.answer import AnswerWriter

_KEPT = {"type": "type", "fileId": "file_id", "containerId": "container_id"}
"""Members of a source's provider metadata, and where they come from."""


def cite(annotation: Mapping[str, Any], writer: AnswerWriter) -> None:
    """The source that an annotation of a text names: a page, a file or a file in a container."""
    if annotation.get("file_id"):
        _document(annotation, writer)
    else:
        cited = mapping(annotation.get("url_citation")) or annotation
        writer.url_source(cited.get("url"), cited.get("title"))


def found_pages(item: Mapping[str, Any], writer: AnswerWriter) -> None:
    """The pages that a web search went through, or gave as results."""
    for page in (*objects(mapping(item.get("action")).get("sources")), *objects(item.get("results"))):
        writer.url_source(page.get("url"), page.get("title"))


def found_files(item: Mapping[str, Any], writer: AnswerWriter) -> None:
    """The files that a file search found."""
    for result in objects(item.get("results")):
        _document(result, writer)


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a JSON array; none for any other value."""
    return [item for item in value if is_object(item)] if is_list(value) else []


def _document(file: Mapping[str, Any], writer: AnswerWriter) -> None:
    name = file.get("filename")
    guessed = mimetypes.guess_type(name)[0] if isinstance(name, str) else None
    metadata = {shown: file[member] for shown, member in _KEPT.items() if file.get(member)}
    writer.document_source(
        file.get("file_id"), filename=name, mime_type=guessed or "application/octet-stream", metadata=metadata
    )
