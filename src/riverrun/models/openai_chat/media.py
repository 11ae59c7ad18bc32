"""Images and sound in an answer → file chunks."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from typing import cast

from riverrun.chunks import ChunkType, FileChunk, FilePayload


class Media:
    """The files of one answer."""

    def __init__(self, *, run_id: str) -> None:
        self._run_id = run_id
        self._sound: list[bytes] = []

    def image(self, image: object) -> list[ChunkType]:
        """An image, given as a data URL or another URL; nothing for anything else."""
        url = _url(image)
        if not url.startswith("data:"):
            return [self._file(url, mimetypes.guess_type(url)[0] or "image/*")] if url else []
        head, _, data = url[5:].partition(",")
        mime_type = head.partition(";")[0] or "application/octet-stream"
        return [self._file(data, mime_type, base64_text=data if head.endswith(";base64") else None)]

    def hear(self, data: object) -> None:
        """A piece of sound in base64."""
        if isinstance(data, str):
            try:
                self._sound.append(base64.b64decode(data))
            except binascii.Error:
                return

    def end(self) -> list[ChunkType]:
        """The sound as a whole: 16 bit PCM, the one form that is streamed."""
        if not self._sound:
            return []
        data = base64.b64encode(b"".join(self._sound)).decode()
        return [self._file(data, "audio/pcm", base64_text=data)]

    def _file(self, data: str, mime_type: str, *, base64_text: str | None = None) -> ChunkType:
        payload = FilePayload(data=data, mime_type=mime_type, base64=base64_text)
        return FileChunk(payload, run_id=self._run_id, from_="AGENT")


def _url(image: object) -> str:
    """`{"image_url": {"url": ...}}`, `{"image_url": ...}` or `{"url": ...}`."""
    for _ in range(3):
        if isinstance(image, dict):
            members = cast("dict[str, object]", image)
            image = members.get("image_url") or members.get("url")
    return image if isinstance(image, str) else ""
