"""Files in messages, however they are given: as bytes, base64 text, a data URL, a URL or a provider's id."""

from __future__ import annotations

import base64
import mimetypes
from typing import Any
from urllib.parse import urlsplit

from riverrun.chunks import FilePart
from riverrun.errors import ConfigError

_SIGNATURES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"%PDF": "application/pdf",
}
_VAGUE = ("", "application/octet-stream")
_USUAL = {"image": "image/*", "file-": "application/octet-stream"}
"""The media types of content of these types that does not tell its own."""
_HEAD = 200
"""Characters in which a data URL's head and the first of its content are found."""


def is_image(file: FilePart) -> bool:
    """Whether a file is a picture, by its media type."""
    return exact_media_type(file).startswith("image")


def is_url(data: str | bytes) -> bool:
    """Whether a file's data is a URL, a data URL among them."""
    return isinstance(data, str) and data.startswith(("http://", "https://", "data:", "gs://", "s3://"))


def file_url(file: FilePart) -> str:
    """The URL of a file: its own, or a data URL."""
    if isinstance(file.data, str) and is_url(file.data):
        return file.data
    return f"data:{exact_media_type(file)};base64,{file_base64(file)}"


def file_base64(file: FilePart) -> str:
    """The content of a file in base64. Raises ConfigError for a file that is given by its URL."""
    if isinstance(file.data, bytes):
        return base64.b64encode(file.data).decode()
    if not is_url(file.data):
        return file.data
    head, comma, data = file.data.partition(",")
    if not comma or not head.endswith(";base64"):
        raise ConfigError(f"a file of type {file.media_type} has to be given as bytes or base64, not as a URL")
    return data


def exact_media_type(file: FilePart) -> str:
    """The media type. One that says too little ("", "image/*", "application/octet-stream") is made exact by a data
    URL's head, a URL's suffix or the file's first bytes.
    """
    given = file.media_type
    if given not in _VAGUE and not given.endswith("/*"):
        return given
    kind = given.removesuffix("*") if given.endswith("/*") else ""
    found = (_told(file.data) or "", _recognised(file.data) or "")
    exact = next((told for told in found if told not in _VAGUE and told.startswith(kind)), "")
    return exact or ("image/png" if kind == "image/" else "application/octet-stream")


def _told(data: str | bytes) -> str | None:
    """The media type that a URL says: a data URL in its head, another in its suffix."""
    if not isinstance(data, str) or not is_url(data):
        return None
    if data.startswith("data:"):
        return data[5:_HEAD].partition(",")[0].partition(";")[0]
    return mimetypes.guess_type(urlsplit(data).path, strict=False)[0]


def _recognised(data: str | bytes) -> str | None:
    """The media type that the first bytes of a content show."""
    if isinstance(data, bytes):
        begin = data[:12]
    else:
        text = data[:_HEAD].partition(",")[2][:16] if is_url(data) else data[:16]
        try:
            begin = base64.b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return None
    if begin.startswith(b"RIFF"):
        return "image/webp" if begin.endswith(b"WEBP") else None
    return next((exact for signature, exact in _SIGNATURES.items() if begin.startswith(signature)), None)


def output_file(members: dict[str, Any]) -> FilePart | None:
    """A file in a tool's content output: AI SDK's image-data, image-url, file-data, file-url and media, MCP's image."""
    data = members.get("data") or members.get("url")
    if not isinstance(data, str) or members.get("type") == "text":
        return None
    kind = str(members.get("type", ""))
    usual = next((usual for name, usual in _USUAL.items() if kind.startswith(name)), "")
    media_type = members.get("mediaType") or members.get("mimeType") or usual
    filename = members.get("filename")
    return FilePart(data=data, media_type=str(media_type), filename=filename if isinstance(filename, str) else None)
