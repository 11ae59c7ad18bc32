"""Files in messages → content parts of a chat completion request."""

from __future__ import annotations

import mimetypes
from typing import Any

from riverrun.chunks import FilePart
from riverrun.models.files import exact_media_type, file_base64, file_url, is_url

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def needs_download(file: FilePart) -> bool:
    """Whether a server would have to fetch a document or sound itself, which OpenAI's own does not do here."""
    is_shown = exact_media_type(file).partition("/")[0] in ("image", "video")
    return not is_shown and is_url(file.data) and not str(file.data).startswith("data:")


def file_content(file: FilePart) -> dict[str, Any]:
    """The content part for a file: image_url, input_audio, video_url or file.

    Its data may be bytes, base64 text, a data URL, a URL, or the id of an uploaded file ("file-…").
    Raises ConfigError for audio that is not sent inline.
    """
    media_type = exact_media_type(file)
    kind = media_type.partition("/")[0]
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": file_url(file)}}
    if kind == "video":
        return {"type": "video_url", "video_url": {"url": file_url(file)}}
    if media_type in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": file_base64(file), "format": _AUDIO[media_type]}}
    if isinstance(file.data, str) and file.data.startswith("file-"):
        return {"type": "file", "file": {"file_id": file.data}}
    extension = mimetypes.guess_extension(media_type) or ""
    return {"type": "file", "file": {"filename": file.filename or f"file{extension}", "file_data": file_url(file)}}
