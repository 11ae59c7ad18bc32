"""Files in messages → content parts of a chat completion request."""

from __future__ import annotations

import base64
import mimetypes
from typing import Any

from riverrun.chunks import FilePart
from riverrun.errors import ConfigError

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_SIGNATURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def is_image(file: FilePart) -> bool:
    """Whether a file is a picture, by its media type."""
    return file.media_type.startswith("image")


def file_content(file: FilePart) -> dict[str, Any]:
    """The content part for a file: image_url, input_audio, video_url or file.

    Its data may be bytes, base64 text, a data URL, a URL, or the id of an uploaded file ("file-…").
    Raises ConfigError for audio that is not sent inline.
    """
    kind = file.media_type.partition("/")[0]
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": _url(file)}}
    if kind == "video":
        return {"type": "video_url", "video_url": {"url": _url(file)}}
    if file.media_type in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": _base64(file), "format": _AUDIO[file.media_type]}}
    if isinstance(file.data, str) and file.data.startswith("file-"):
        return {"type": "file", "file": {"file_id": file.data}}
    extension = mimetypes.guess_extension(file.media_type) or ""
    return {"type": "file", "file": {"filename": file.filename or f"file{extension}", "file_data": _url(file)}}


def _is_url(data: str) -> bool:
    return data.startswith(("http://", "https://", "data:", "gs://", "s3://"))


def _url(file: FilePart) -> str:
    if isinstance(file.data, str) and _is_url(file.data):
        return file.data
    data = _base64(file)
    return f"data:{_media_type(file, data)};base64,{data}"


def _base64(file: FilePart) -> str:
    if isinstance(file.data, bytes):
        return base64.b64encode(file.data).decode()
    if not _is_url(file.data):
        return file.data
    head, comma, data = file.data.partition(",")
    if not comma or not head.endswith(";base64"):
        raise ConfigError(f"a file of type {file.media_type} has to be given as bytes or base64, not as a URL")
    return data


def _media_type(file: FilePart, data: str) -> str:
    """The media type; "image/*" is made exact by the file's first bytes."""
    if not file.media_type.endswith("/*"):
        return file.media_type
    begin = base64.b64decode(data[:16] + "=" * (-len(data[:16]) % 4))
    return next((exact for signature, exact in _SIGNATURES.items() if begin.startswith(signature)), "image/png")
