"""Images and sound in an answer → file chunks."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from typing import cast

from riverrun.models.answer import AnswerWriter


class Media:
    """The files of one answer."""

    def __init__(self, writer: AnswerWriter) -> None:
        self._writer = writer
        self._sound: list[bytes] = []

    def image(self, image: object) -> None:
        """An image, given as a data URL or another URL; anything else is passed over."""
        url = _url(image)
        if url.startswith("data:"):
            head, _, data = url[5:].partition(",")
            mime_type = head.partition(";")[0] or "application/octet-stream"
            self._writer.file(data, mime_type, base64=head.endswith(";base64"))
        elif url:
            self._writer.file(url, mimetypes.guess_type(url)[0] or "image/*", base64=False)

    def hear(self, data: object) -> None:
        """A piece of sound in base64."""
        if isinstance(data, str):
            try:
                self._sound.append(base64.b64decode(data))
            except binascii.Error:
                return

    def end(self) -> None:
        """The sound as a whole: 16 bit PCM, the one form that is streamed."""
        if self._sound:
            self._writer.file(base64.b64encode(b"".join(self._sound)).decode(), "audio/pcm", base64=True)


def _url(image: object) -> str:
    """`{"image_url": {"url": ...}}`, `{"image_url": ...}` or `{"url": ...}`."""
    for _ in range(3):
        if isinstance(image, dict):
            members = cast("dict[str, object]", image)
            image = members.get("image_url") or members.get("url")
    return image if isinstance(image, str) else ""
