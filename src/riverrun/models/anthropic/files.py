"""Files in messages and in the results of tools → content blocks."""

from __future__ import annotations

import base64
import re
from typing import Any

from riverrun.chunks import FilePart
from riverrun.models.files import exact_media_type, file_base64, is_url

_UPLOADED = re.compile(r"file_[A-Za-z0-9]+")
_PLAIN = ("application/json", "application/xml", "application/yaml", "application/x-yaml")
_PDF = "application/pdf"


def file_block(file: FilePart) -> dict[str, Any] | None:
    """The image or document block for a file; None for a file that the API does not take.

    Its data may be bytes, base64 text, a data URL, a web URL, or the id of an uploaded file ("file_…").
    """
    media_type = exact_media_type(file)
    source = _source(file, media_type)
    if source is None:
        return None
    if media_type.startswith("image/"):
        return {"type": "image", "source": source}
    if source["type"] == "file" and media_type != _PDF and not _is_text(media_type):  # for the provider's tools
        return {"type": "container_upload", "file_id": source["file_id"]}
    return {"type": "document", "source": source, **({"title": file.filename} if file.filename else {})}


def _source(file: FilePart, media_type: str) -> dict[str, Any] | None:
    data = file.data
    if isinstance(data, str) and _UPLOADED.fullmatch(data):
        return {"type": "file", "file_id": data}
    is_shown = media_type == _PDF or media_type.startswith("image/")
    if is_url(data) and not (isinstance(data, str) and _is_base64_url(data)):
        is_web = isinstance(data, str) and data.startswith(("http://", "https://"))
        return {"type": "url", "url": data} if is_shown and is_web else None
    if is_shown:
        return {"type": "base64", "media_type": media_type, "data": file_base64(file)}
    if _is_text(media_type):
        return {"type": "text", "media_type": "text/plain", "data": _text(file)}
    return None


def _is_base64_url(url: str) -> bool:
    return url.startswith("data:") and url.partition(",")[0].endswith(";base64")


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type in _PLAIN


def _text(file: FilePart) -> str:
    """The content of a text file. One whose data is no base64 was given as the text that it is."""
    if isinstance(file.data, bytes):
        return file.data.decode("utf-8", "replace")
    try:
        return base64.b64decode(file_base64(file), validate=True).decode("utf-8", "replace")
    except ValueError:
        return file.data
