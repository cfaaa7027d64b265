"""Draws pages of a PDF document in a process of its own: a document can crash or stall the library.

The process imports nothing of nbtools: it reads the document from its standard input and prints one line in
base64 for each page, a PNG picture, or an empty line for a page that cannot be drawn.  Its argument is the
number of pages.
"""

from __future__ import annotations

import base64
import operator
import struct
import sys
import zlib

import pypdfium2

SECONDS = 10
_MEMORY = 2 << 30
WIDTHS = (900, 640, 450)
"""Pixels of a page's width; the first whose picture is small enough is used."""
MOST_HEIGHT = 1_400
MAX_BYTES = 150_000
"""The most bytes of a picture, except at the smallest width."""


def picture_of(page: pypdfium2.PdfPage) -> bytes:
    """Returns a page as a PNG picture."""
    width, height = page.get_size()
    picture = b""
    for pixels in WIDTHS:
        bitmap = page.render(
            scale=min(pixels / width, MOST_HEIGHT / height), rev_byteorder=True, prefer_bgrx=False
        )
        picture = _png(bitmap.width, bitmap.height, bitmap.stride, bytes(bitmap.buffer))
        bitmap.close()
        if len(picture) <= MAX_BYTES:
            break
    return picture


def _png(width: int, height: int, stride: int, pixels: bytes) -> bytes:
    """Encodes rows of three bytes a pixel; a page without colours gets 16 shades of grey."""
    rows = [pixels[start : start + 3 * width] for start in range(0, height * stride, stride)]
    is_grey = all(row[0::3] == row[1::3] == row[2::3] for row in rows)
    depth, colour_type, lines = (4, 0, map(_shades, rows)) if is_grey else (8, 2, iter(rows))
    head = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + line for line in lines), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


_HIGH = bytes(value & 0xF0 for value in range(256))
_LOW = bytes(value >> 4 for value in range(256))


def _shades(row: bytes) -> bytes:
    """Packs the grey values of a row into four bits each."""
    grey = row[0::3] + b"\xff" * (len(row) // 3 % 2)
    return bytes(map(operator.or_, grey[0::2].translate(_HIGH), grey[1::2].translate(_LOW)))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def main() -> None:
    import resource  # noqa: PLC0415 - Pyodide has none, and starts no process

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
    for index in range(min(int(sys.argv[1]), len(document))):
        try:
            picture = picture_of(document[index])
        except (pypdfium2.PdfiumError, ValueError, ZeroDivisionError, MemoryError):
            picture = b""
        sys.stdout.buffer.write(base64.b64encode(picture) + b"\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
