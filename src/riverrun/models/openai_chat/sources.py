"""Annotations and citations → source chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from riverrun.chunks.envelope import mapping
from riverrun.models.answer import AnswerWriter


def note_cited(event: Mapping[str, Any], writer: AnswerWriter) -> None:
    """The sources that stand beside the choices (Perplexity), repeated in each event."""
    if "citations" in event or "search_results" in event:
        for item in (*_list(event.get("search_results")), *_list(event.get("citations"))):
            _url(item, writer)


def note_annotated(annotations: object, writer: AnswerWriter) -> None:
    """The sources in a delta's annotations."""
    for annotation in _list(annotations):
        members = mapping(annotation)
        cited = mapping(members.get("url_citation"))
        if cited or members.get("url"):
            _url(cast("object", cited or members), writer)
        else:
            file = mapping(members.get("file_citation")) or mapping(members.get("file")) or members
            key = file.get("file_id") or file.get("hash") or file.get("id")
            writer.document_source(key, filename=file.get("filename") or file.get("name"))


def _url(source: object, writer: AnswerWriter) -> None:
    members = mapping(source)
    url = source if isinstance(source, str) else members.get("url")
    writer.url_source(url, members.get("title"))


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
