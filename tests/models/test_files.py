"""Which type a file is of when its message does not say so."""

from __future__ import annotations

import base64

import pytest

from riverrun.chunks import FilePart
from riverrun.models.files import exact_media_type, is_image, output_file

WEBP = b"RIFF\0\0\0\0WEBPVP8 "
SOUND = b"RIFF\0\0\0\0WAVEfmt "


def exact(data: str | bytes, media_type: str = "") -> str:
    return exact_media_type(FilePart(data=data, media_type=media_type))


@pytest.mark.parametrize("media_type", ["", "application/octet-stream"])
@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"%PDF-1.7", "application/pdf"),
        (b"\x89PNG\r\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (WEBP, "image/webp"),
        (base64.b64encode(WEBP).decode(), "image/webp"),
        ("data:text/csv;base64,AQ==", "text/csv"),
        ("data:application/octet-stream;base64,JVBERi0x", "application/pdf"),
        ("https://a.example/x.PDF?y=.png", "application/pdf"),
        ("https://a.example/x.webp", "image/webp"),
        (SOUND, "application/octet-stream"),
        ("https://a.example/x", "application/octet-stream"),
        ("file-7", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
    ids=str,
)
def test_a_type_that_nobody_told_is_found(data: str | bytes, found: str, media_type: str):
    assert exact(data, media_type) == found


def test_a_type_that_was_told_counts():
    assert exact(b"%PDF-1.7", "text/plain") == "text/plain"
    assert exact("data:text/csv;base64,AQ==", "text/plain") == "text/plain"


def test_what_is_found_is_of_the_kind_that_was_told():
    assert exact("https://a.example/x.php", "image/*") == "image/png"
    assert exact("https://a.example/x.jpg", "image/*") == "image/jpeg"
    assert exact(b"%PDF-1.7", "image/*") == "image/png"
    assert exact(b"%PDF-1.7", "application/*") == "application/pdf"


def test_an_image_is_known_by_its_content():
    assert is_image(FilePart(data=b"GIF89a", media_type=""))
    assert not is_image(FilePart(data=b"%PDF-1.7", media_type=""))


def test_a_file_of_a_tool_is_one_though_nobody_told_its_type():
    file = output_file({"type": "file-data", "data": "JVBERi0x"})
    assert file is not None
    assert exact_media_type(file) == "application/pdf"
