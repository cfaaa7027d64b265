"""Pictures and documents, by their bytes."""

import struct
import zlib

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.files.media import identify_picture, media_type


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x7f" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


JPEG = (
    b"\xff\xd8\xff\xe0\0\x10JFIF"
    + b"\0" * 10
    + b"\xff\xc0\0\x11\x08\0\x05\0\x07\x03"
    + b"\0" * 9
    + b"\xff\xd9"
)
GIF = b"GIF89a\x07\0\x05\0\0\0\0;"
BMP = b"BM\x1e\0\0\0\0\0\0\0\x1a\0\0\0\x28\0\0\0\x07\0\0\0\xfb\xff\xff\xff\x01\0\x18\0"
WEBPS = [
    b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x06\0\0\x04\0\0",
    b"RIFF\x12\0\0\0WEBPVP8L\x05\0\0\0\x2f\x06\0\x01\0\0",
    b"RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x07\0\x05\0",
]


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (png(7, 5), "image/png"),
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (BMP, "image/bmp"),
        *((webp, "image/webp") for webp in WEBPS),
    ],
)
def test_a_picture_says_its_size(data, mime_type):
    found = identify_picture(data, "x")
    assert (found.mime_type, found.width, found.height) == (mime_type, 7, 5)


@pytest.mark.parametrize(
    "data",
    [png(7, 5)[:-14], png(7, 5)[:20], JPEG[:-2], JPEG[:22], GIF[:8], WEBPS[0][:-1], WEBPS[1][:20], BMP[:19]],
)
def test_a_broken_picture_is_refused(data):
    assert media_type(data)
    with pytest.raises(ToolFailure, match="damaged or incomplete") as caught:
        identify_picture(data, "x")
    assert caught.value.code is ErrorCode.READ_CONTENT_FAILURE


@pytest.mark.parametrize(
    "data", [b"", b"BMW drives", b"GIF", b"RIFF....WAVE", b"<svg/>", b'_PDF = b"%PDF-"', b"\x89PNG\0\1"]
)
def test_other_bytes_have_no_media_type(data):
    assert media_type(data) == ""


def test_documents():
    assert media_type(b"%PDF-1.7\n") == media_type(b"\n%PDF-1.7\n") == "application/pdf"
