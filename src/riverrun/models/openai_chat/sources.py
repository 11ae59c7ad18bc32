"""Annotations and citations → source chunks, each source once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from riverrun.chunks import ChunkType, SourceChunk, SourcePayload
from riverrun.chunks.envelope import mapping


class Sources:
    """The sources of one answer."""

    def __init__(self, *, run_id: str, prefix: str) -> None:
        self._run_id = run_id
        self._prefix = prefix
        self._seen: set[str] = set()

    def cited(self, event: Mapping[str, Any]) -> list[ChunkType]:
        """The sources that stand beside the choices (Perplexity), repeated in each event."""
        if "citations" not in event and "search_results" not in event:
            return []
        given = (*_list(event.get("search_results")), *_list(event.get("citations")))
        return [chunk for item in given for chunk in self._url(item)]

    def annotated(self, annotations: object) -> list[ChunkType]:
        """The sources in a delta's annotations."""
        return [chunk for item in _list(annotations) for chunk in self._annotation(item)]

    def _annotation(self, annotation: object) -> list[ChunkType]:
        members = mapping(annotation)
        cited = mapping(members.get("url_citation"))
        if cited or members.get("url"):
            return self._url(cast("object", cited or members))
        file = mapping(members.get("file_citation")) or mapping(members.get("file")) or members
        file_id = file.get("file_id") or file.get("hash") or file.get("id")
        if not isinstance(file_id, str) or not file_id:
            return []
        name = file.get("filename") or file.get("name")
        filename = name if isinstance(name, str) else None
        return self._source(file_id, "document", filename or "", filename)

    def _url(self, source: object) -> list[ChunkType]:
        members = mapping(source)
        url = source if isinstance(source, str) else members.get("url")
        if not isinstance(url, str) or not url:
            return []
        title = members.get("title")
        return self._source(url, "url", title if isinstance(title, str) else "", None)

    def _source(self, key: str, kind: str, title: str, filename: str | None) -> list[ChunkType]:
        if key in self._seen:
            return []
        number = len(self._seen)
        self._seen.add(key)
        payload = SourcePayload(
            id=f"{self._prefix}-source-{number}",
            source_type="url" if kind == "url" else "document",
            title=title,
            url=key if kind == "url" else None,
            mime_type=None if kind == "url" else "application/octet-stream",
            filename=filename,
        )
        return [SourceChunk(payload, run_id=self._run_id, from_="AGENT")]


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
