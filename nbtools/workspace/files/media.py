"""Recognises images and PDF documents by their bytes; measures images and extracts pages."""

from __future__ import annotations

import io
import logging
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter, SameCall

MAX_MEDIA_BYTES = 20_000_000
"""The largest image or document, in bytes, that is passed on."""
_PDF = b"%PDF-"


@dataclass(frozen=True, slots=True)
class Picture:
    """An image's format, and its size in pixels."""

    mime_type: str
    name: str
    width: int
    height: int


def media_type(head: bytes) -> str:
    """Returns the MIME type of a supported image or document by the first bytes of the file, or ""."""
    if head.lstrip().startswith(_PDF):
        return "application/pdf"
    return next((kind for kind, (_, sign, _) in _KINDS.items() if _fits(head, sign)), "")


def identify_picture(data: bytes, subject: str) -> Picture:
    """Identifies a complete image file.  Raises ``ToolFailure`` for a broken one."""
    # A broken image must not reach a model:
    # its provider would refuse every later request of the conversation, too.
    mime_type = media_type(data)
    name, _, measure = _KINDS[mime_type]
    try:
        width, height = measure(data)
    except (struct.error, IndexError):
        width = height = 0
    if not width or not height or not _is_complete(mime_type, data):
        message = (
            f"{subject} starts like a {name} image, but is damaged or incomplete ({len(data):,} bytes). Get"
            " the file again."
        )
        raise ToolFailure(ErrorCode.READ_CONTENT_FAILURE, message)
    return Picture(mime_type, name, width, height)


def _fits(head: bytes, sign: bytes) -> bool:
    """Returns whether ``head`` has the signature, in which ``.`` matches any byte."""
    return len(head) >= len(sign) and all(
        want in {ord("."), byte} for byte, want in zip(head, sign, strict=False)
    )


def _is_complete(mime_type: str, data: bytes) -> bool:
    if mime_type == "image/png":
        return b"IEND" in data
    if mime_type == "image/jpeg":
        return b"\xff\xd9" in data
    return mime_type != "image/webp" or len(data) >= int.from_bytes(data[4:8], "little") + 8


def _png(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", data, 16)
    return (width, height) if data[12:16] == b"IHDR" else (0, 0)


def _gif(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _bmp(data: bytes) -> tuple[int, int]:
    # 12: the oldest kind of header
    width, height = struct.unpack_from("<HH" if data[14] == 12 else "<ii", data, 18)
    return abs(width), abs(height)


def _webp(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case b"VP8L":
            bits = struct.unpack_from("<I", data, 21)[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF


def _jpeg(data: bytes) -> tuple[int, int]:
    """Reads the size from the frame header, which follows segments that state their own length."""
    position = 2
    while data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF:  # padding
            position += 1
        elif marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, position + 5)
            return width, height
        else:
            position += 2 + struct.unpack_from(">H", data, position + 2)[0]
    return 0, 0


_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_KINDS: dict[str, tuple[str, bytes, Callable[[bytes], tuple[int, int]]]] = {
    "image/png": ("PNG", b"\x89PNG\r\n\x1a\n", _png),
    "image/jpeg": ("JPEG", b"\xff\xd8\xff", _jpeg),
    "image/gif": ("GIF", b"GIF8.a", _gif),
    "image/webp": ("WebP", b"RIFF....WEBP", _webp),
    "image/bmp": ("BMP", b"BM....\0\0\0\0", _bmp),
}
"""MIME type: name, signature, function that reads the size."""


MAX_PAGES_BY_DEFAULT = 10
"""The most pages of a document that is returned without ``pages``."""
MAX_PAGES = 20
"""The most pages in one call."""
MAX_TEXT = 40_000
"""The most characters of a document's text."""
MAX_CONTENT = 1_000_000
"""The most bytes of instructions on a page whose text is extracted."""
_RANGE = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+)?)?")
_BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Exceptions that pypdf raises for malformed documents."""

# Problems of a document become a ToolFailure;
# without a handler, Python would also print pypdf's warnings into the notebook.
logging.getLogger("pypdf").addHandler(logging.NullHandler())


def parse_pages(pages: str) -> tuple[int, int | None]:
    """Parses ``3``, ``1-5`` or ``7-`` into first and last page (None: to the end). Raises ``ToolFailure``."""
    match = _RANGE.fullmatch(pages.strip())
    if match is None or int(match[1]) == 0:
        raise _invalid(f'{pages!r} is not a page range. Give pages like "3", "1-5" or "7-", counted from 1.')
    first = int(match[1])
    last = int(match[2]) if match[2] else None
    if match[0].rstrip() == match[1]:
        last = first
    if last is not None and last < first:
        raise _invalid(f"{pages!r} ends before it begins. Give the smaller number first.")
    return first, last


def extract_pages(data: bytes, pages: str | None, subject: str) -> tuple[bytes, int, range]:
    """Returns the document reduced to some pages, its total number of pages, and which are included.

    Raises ``ToolFailure`` for more than ``MAX_PAGES`` pages, for a long document without ``pages``,
    and for one that is damaged or protected by a password.
    """
    try:
        import pypdf  # noqa: PLC0415 - takes 150 ms; needed only for documents
    except ImportError:
        how = 'Selecting pages needs pypdf: pip install "nbtools-agent[documents]".'
        raise ToolFailure(ErrorCode.READ_CONTENT_FAILURE, f"{subject} is a PDF document. {how}") from None
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            advice = "Save a copy without one, then read that."
            raise ToolFailure(
                ErrorCode.READ_CONTENT_FAILURE, f"{subject} is protected by a password. {advice}"
            )
        total = len(reader.pages)
        selected = _selected(pages, total, subject)
        if len(selected) == total:
            return data, total, selected
        writer = pypdf.PdfWriter()
        for number in selected:
            writer.add_page(reader.pages[number - 1])
        output = io.BytesIO()
        writer.write(output)
    except (pypdf.errors.PyPdfError, pypdf.errors.DependencyError, zlib.error, *_BROKEN) as error:
        raise ToolFailure(
            ErrorCode.READ_CONTENT_FAILURE,
            f"{subject} starts like a PDF document, but cannot be read: {error}. Get the file again.",
        ) from None
    return output.getvalue(), total, selected


def document_text(data: bytes, first: int = 1) -> str:
    """Returns the text of a document's pages, each below a line with its number, which starts at ``first``.

    At most ``MAX_TEXT`` characters.  A page that cannot be read,
    or whose content is longer than ``MAX_CONTENT`` bytes, has a remark instead.
    """
    import pypdf  # noqa: PLC0415 - takes 150 ms; needed only for documents

    parts, size = list[str](), 0
    try:
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        for number, page in enumerate(pages, first):
            text = _page_text(page)
            parts.append(f"— page {number} —\n{text}" if text else f"— page {number}: no text —")
            size += len(parts[-1])
            if size > MAX_TEXT:
                return f"{chr(10).join(parts)[:MAX_TEXT]}…"
    except (pypdf.errors.PyPdfError, pypdf.errors.DependencyError, zlib.error, *_BROKEN):
        parts.append("— the text of the other pages cannot be read —")
    return "\n".join(parts)


def _page_text(page: Any) -> str:
    contents = page.get_contents()
    if contents is not None and len(contents.get_data()) > MAX_CONTENT:
        return "(too complex to extract its text)"
    return str(page.extract_text()).strip()


def _selected(pages: str | None, total: int, subject: str) -> range:
    if pages is None:
        if total > MAX_PAGES_BY_DEFAULT:
            some = Advice(", such as the call ", SameCall({"pages": f"1-{MAX_PAGES}"}))
            raise _invalid(
                Message.of(
                    f"{subject} has {total} pages. Say which to read, at most {MAX_PAGES} in one call",
                    some,
                    ".",
                )
            )
        return range(1, total + 1)
    first, last = parse_pages(pages)
    if first > total:
        raise _invalid(f"{subject} has {total} page{'' if total == 1 else 's'}; page {first} does not exist.")
    selected = range(first, min(last or total, total) + 1)
    if len(selected) > MAX_PAGES:
        raise _invalid(f"{len(selected)} pages are more than the {MAX_PAGES} of one call. Ask for fewer.")
    return selected


def _invalid(reason: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, Message.of(Advice(Parameter("pages"), ": "), reason))
