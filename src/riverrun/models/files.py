"""Files in messages, however they are given: as bytes, base64 text, a data URL, a URL or a provider's id."""

from __future__ import annotations

import base64
from typing import Any

from riverrun.chunks import FilePart
from riverrun.errors import ConfigError

_SIGNATURES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
    b"%PDF": "application/pdf",
}


def is_image(file: FilePart) -> bool:
    """Whether a file is a picture, by its media type."""
    return file.media_type.startswith("image")


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
    """The media type; "image/*" and the like are made exact by a data URL's head or by the file's first bytes."""
    if file.media_type and not file.media_type.endswith("/*"):
        return file.media_type
    if isinstance(file.data, str) and file.data.startswith("data:"):
        told = file.data[5:].partition(",")[0].partition(";")[0]
        if told:
            return told
    data = file.data if isinstance(file.data, str) else base64.b64encode(file.data[:12]).decode()
    try:
        begin = base64.b64decode(data[:16] + "=" * (-len(data[:16]) % 4))
    except ValueError:
        begin = b""
    usual = "image/png" if is_image(file) else "application/octet-stream"
    return next((exact for signature, exact in _SIGNATURES.items() if begin.startswith(signature)), usual)


def output_file(members: dict[str, Any]) -> FilePart | None:
    """A file in a tool's content output: AI SDK's image-data, image-url, file-data, file-url and media, MCP's image."""
    data = members.get("data") or members.get("url")
    if not isinstance(data, str) or members.get("type") == "text":
        return None
    kind = str(members.get("type", ""))
    media_type = members.get("mediaType") or members.get("mimeType") or ("image/*" if kind.startswith("image") else "")
    filename = members.get("filename")
    return FilePart(data=data, media_type=str(media_type), filename=filename if isinstance(filename, str) else None)
