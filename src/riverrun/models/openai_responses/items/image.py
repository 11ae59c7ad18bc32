"""Images that the provider makes."""

from __future__ import annotations

from riverrun.chunks import FilePart
from riverrun.models.files import exact_media_type
from riverrun.models.openai_responses.items.hosted import give_result, hosted_call, picked
from riverrun.models.openai_responses.items.scope import Members, Scope, Whole, identity, text

_TYPES = {"png": "image/png", "webp": "image/webp", "jpeg": "image/jpeg", "gif": "image/gif", "svg": "image/svg+xml"}


class ImageCall(Whole):
    """A call that makes an image. The image is a file chunk, which holds the item without the image itself."""

    def __init__(self, scope: Scope, item: Members) -> None:
        self._writer = scope.writer
        self._call = hosted_call(scope, item, "image_generation")

    def finish(self, item: Members) -> None:
        """The whole item."""
        self._writer.call_end(self._call, picked(item, "prompt"))
        image = text(item.get("result"))
        rest = {name: value for name, value in item.items() if name != "result"}
        told = {name: value for name, value in rest.items() if name not in ("id", "type")}
        if not image:
            give_result(self._writer, self._call, item, told)
            return
        media_type = _TYPES.get(text(item.get("output_format"))) or exact_media_type(
            FilePart(data=image, media_type="image/*")
        )
        is_url = image.startswith(("https://", "http://"))
        self._writer.file(image, media_type, base64=not is_url, metadata=identity(item) | {"item": rest})
        self._writer.call_result(self._call, told, metadata=identity(item))

    def close(self) -> None:
        """The provider did not say what came of it."""
        self._writer.call_end(self._call, {})
