"""Files in messages → content parts of a request."""

from __future__ import annotations

import mimetypes
from typing import Any

from riverrun.chunks import FilePart
from riverrun.models.files import exact_media_type, file_base64, file_url, is_image

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_UPLOADED = ("file-", "file_", "assistant-")
"""How the ids of uploaded files begin: OpenAI's, and Azure's."""


def file_content(file: FilePart) -> dict[str, Any]:
    """The content part for a file: input_image, input_audio or input_file.

    Its data may be bytes, base64 text, a data URL, a URL, or the id of an uploaded file ("file-…").
    Raises ConfigError for audio that is not sent inline.
    """
    data = file.data
    media_type = exact_media_type(file)
    uploaded = isinstance(data, str) and data.startswith(_UPLOADED)
    if is_image(file):
        return {"type": "input_image"} | ({"file_id": data} if uploaded else {"image_url": file_url(file)})
    if uploaded:
        return {"type": "input_file", "file_id": data}
    if media_type in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": file_base64(file), "format": _AUDIO[media_type]}}
    if isinstance(data, str) and data.startswith(("https://", "http://")):
        return {"type": "input_file", "file_url": data}
    extension = mimetypes.guess_extension(media_type) or ""
    return {"type": "input_file", "filename": file.filename or f"file{extension}", "file_data": file_url(file)}
