"""Citations and the results of searches → source chunks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import is_list, mapping
from riverrun.models.answer import AnswerWriter

_NAMING = {"type", "url", "source", "title", "document_title", "file_id", "content"}
"""Members that name a source; the others are its provider metadata."""


def note_citation(citation: Mapping[str, Any], writer: AnswerWriter) -> None:
    """What a text cites: a web page, a search result or a document."""
    origin = citation.get("url") or citation.get("source")
    title = citation.get("title") or citation.get("document_title")
    if isinstance(origin, str) and origin.startswith(("http://", "https://")):
        writer.url_source(origin, title, _details(citation))
        return
    mime_type = "application/pdf" if citation.get("type") == "page_location" else "text/plain"
    writer.document_source(_document(citation, origin), title=title, mime_type=mime_type, metadata=_details(citation))


def note_found(content: object, writer: AnswerWriter) -> None:
    """The web pages in the result of a search or a fetch."""
    for item in content if is_list(content) else [content]:
        found = mapping(item)
        if found.get("type") in ("web_search_result", "web_fetch_result"):
            title = found.get("title") or mapping(found.get("content")).get("title")
            writer.url_source(found.get("url"), title, _details(found, without="encrypted_content"))


def _document(citation: Mapping[str, Any], origin: object) -> object:
    """The same for all citations of one document."""
    index = citation.get("document_index")
    return origin or citation.get("file_id") or (None if index is None else f"document {index}")


def _details(members: Mapping[str, Any], *, without: str = "") -> dict[str, Any]:
    return {
        re.sub(r"_([a-z])", lambda letter: letter[1].upper(), name): value
        for name, value in members.items()
        if name not in _NAMING and name != without and value is not None
    }
