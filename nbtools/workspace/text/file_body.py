"""A file's text as UTF-8 bytes, whatever its encoding, so that large files are edited without a decoded copy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.files.encoding import UTF8, Encoding, decode, refuse_nul

_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class TextBody:
    """A file's text as UTF-8.  ``data`` has no byte order mark.

    Bytes that are not valid UTF-8 stay in ``data`` as they are; in ``text`` they are lone surrogates.
    """

    data: bytes
    encoding: Encoding = UTF8

    @property
    def errors(self) -> str:
        return "surrogateescape" if self.encoding.codec == "utf-8" else "surrogatepass"

    def text(self, start: int = 0, end: int | None = None) -> str:
        """Decodes a part of the data."""
        return self.data[start:end].decode("utf-8", self.errors)

    def encode_part(self, text: str) -> bytes:
        """Encodes ``text`` as it would be in ``data``.  Raises ``ToolFailure`` for a character that a text file cannot contain."""
        refuse_nul(text)
        try:
            return text.encode("utf-8", self.errors)
        except UnicodeEncodeError as error:
            reason = f"The text contains a lone surrogate at character {error.start + 1}; it cannot be written."
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, reason) from None

    def content(self) -> bytes:
        """Returns the bytes of the file."""
        if self.encoding.codec != "utf-8":
            return self.encoding.bom + self.text().encode(self.encoding.codec, self.errors)
        return self.encoding.bom + self.data if self.encoding.bom else self.data

    def line_number(self, position: int) -> int:
        """Returns the number, from 1, of the line at ``position``."""
        return self.data.count(b"\n", 0, position) + 1

    def with_parts(self, parts: Iterable[bytes | memoryview]) -> TextBody:
        """Returns the same file with other data."""
        return TextBody(b"".join(parts), self.encoding)


def decode_body(content: bytes) -> TextBody | None:
    """Returns the body of a file's content; None if it is not text (see ``decode``).  Large UTF-8 files are not copied twice."""
    head = decode(content[:_HEAD])
    if head is None:
        return None
    encoding = head.encoding
    if encoding.codec != "utf-8":
        decoded = decode(content)
        return None if decoded is None else TextBody(decoded.text.encode("utf-8", "surrogatepass"), decoded.encoding)
    return None if b"\0" in content else TextBody(content[len(encoding.bom) :] if encoding.bom else content, encoding)
