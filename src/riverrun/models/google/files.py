"""Files in messages → parts of a content."""

from __future__ import annotations

import mimetypes
from typing import Any
from urllib.parse import urlsplit

from riverrun.chunks import FilePart
from riverrun.models.files import exact_media_type, file_base64, is_url

_UPLOADED = "https://generativelanguage.googleapis.com/v1beta/"
"""Stands before the name of an uploaded file ("files/abc") in its URI."""


def file_part(file: FilePart) -> dict[str, Any]:
    """The part for a file: `inlineData` for bytes, base64 text and data URLs; `fileData` for URLs (https:, gs:) and for
    the name of an uploaded file ("files/…"). Raises ConfigError for a data URL that is not base64.
    """
    data = file.data
    if isinstance(data, str) and data.startswith("files/"):
        data = _UPLOADED + data
    if isinstance(data, str) and is_url(data) and not data.startswith("data:"):
        media_type = _linked_media_type(file.media_type, data)
        return {"fileData": {"fileUri": data, **({"mimeType": media_type} if media_type else {})}}
    return {"inlineData": {"mimeType": exact_media_type(file), "data": file_base64(file)}}


def _linked_media_type(given: str, url: str) -> str | None:
    """What was given, unless that says too little; then what the URL's path says."""
    if given and not given.endswith("/*") and given != "application/octet-stream":
        return given
    return mimetypes.guess_type(urlsplit(url).path)[0]
