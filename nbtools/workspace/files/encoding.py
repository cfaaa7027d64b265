"""Detects text encodings; decodes bytes to text and encodes it back without loss."""

from __future__ import annotations

import codecs
import mimetypes
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.text_lines import is_exact

_HEAD = 8192
_SURROGATE = re.compile("[\ud800-\udfff]")
_NON_ASCII = re.compile("[^\0-\x7f\ud800-\udfff]")
_FEW_BROKEN = 10
"""Valid characters outside ASCII for each broken byte of a UTF-8 file; older encodings have hardly any."""
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_SIGNATURES = (
    (rb"\x89PNG", "a PNG image"),
    (rb"\xff\xd8\xff", "a JPEG image"),
    (rb"GIF8", "a GIF image"),
    (rb"RIFF....WEBP", "a WebP image"),
    (rb"BM.{12}[\x0c\x28\x34\x38\x40\x6c\x7c]\0\0\0", "a BMP image"),
    (rb"II\*\0|MM\0\*", "a TIFF image"),
    (rb"\0\0\x01\0", "an icon"),
    (rb"....ftyp(?:hei|hev|mif|msf)", "a HEIC image"),
    (rb"....ftypavi", "an AVIF image"),
    (rb"....ftypM4[AB]", "an MP4 sound file"),
    (rb"....ftyp", "an MP4 video"),
    (rb"\x1a\x45\xdf\xa3", "a WebM or Matroska video"),
    (rb"RIFF....AVI ", "an AVI video"),
    (rb"\0\0\x01[\xb3\xba]", "an MPEG video"),
    (rb"FLV\x01", "a Flash video"),
    (rb"RIFF....WAVE", "a WAV sound file"),
    (rb"ID3", "an MP3 sound file"),
    (rb"fLaC", "a FLAC sound file"),
    (rb"OggS", "an Ogg sound or video file"),
    (rb"FORM....AIF", "an AIFF sound file"),
    (rb"MThd", "a MIDI sound file"),
    (rb"%PDF", "a PDF document"),
    (rb"PK\x03\x04", "a ZIP archive"),
    (rb"\x1f\x8b", "gzip data"),
    (rb"BZh", "bzip2 data"),
    (rb"\xfd7zXZ", "xz data"),
    (rb"\(\xb5/\xfd", "zstd data"),
    (rb"\x7fELF", "an ELF program or library"),
    (rb"SQLite format 3", "an SQLite database"),
    (rb"PAR1", "a Parquet table"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A text encoding; ``bom`` is the byte order mark that the file begins with, often empty."""

    codec: str = "utf-8"
    bom: bytes = b""

    @property
    def errors(self) -> str:
        """The codec's error handler that preserves undecodable bytes."""
        return "surrogateescape" if self.codec == "utf-8" else "surrogatepass"


UTF8 = Encoding()

_MARKS = (
    Encoding("utf-8", codecs.BOM_UTF8),
    Encoding("utf-32-le", codecs.BOM_UTF32_LE),
    Encoding("utf-32-be", codecs.BOM_UTF32_BE),
    Encoding("utf-16-le", codecs.BOM_UTF16_LE),
    Encoding("utf-16-be", codecs.BOM_UTF16_BE),
)
"""UTF-32 before UTF-16: the little-endian mark of one begins with that of the other."""


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Decoded content. Invalid UTF-8 is lone surrogates in ``text``, which ``displayable`` replaces."""

    text: str
    encoding: Encoding


def decode(data: bytes) -> DecodedText | None:
    """Decodes text by its byte order mark, else as UTF-8, so that ``encode`` reverses it; else None."""
    for encoding in _MARKS:
        if data.startswith(encoding.bom):
            try:
                text = data[len(encoding.bom) :].decode(encoding.codec, encoding.errors)
            except UnicodeDecodeError:
                text = None
            if text is not None and "\0" not in text:
                return DecodedText(text, encoding)
    if b"\0" in data or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    text = data.decode("utf-8", "surrogateescape")
    return None if _looks_binary(data, text) else DecodedText(text, UTF8)


def encode(text: str, encoding: Encoding, original: str = "") -> bytes:
    """Encodes the text of a file that held ``original``.

    Raises ``ToolFailure`` for a character that a text file cannot contain, and for one that would be written
    as UTF-8 beside text in another encoding, which is not known.
    """
    refuse_nul(text)
    _refuse_second_encoding(text, original)
    try:
        return encoding.bom + text.encode(encoding.codec, encoding.errors)
    except UnicodeEncodeError as error:
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            f"The text contains a lone surrogate at character {error.start + 1}; it cannot be written.",
        ) from None


def _refuse_second_encoding(text: str, original: str) -> None:
    """Raises ``ToolFailure`` if ``text`` has new characters outside ASCII and ``original`` is not UTF-8."""
    if text.isascii() or not _has_other_encoding(original):
        return
    present = Counter(_NON_ASCII.findall(original))
    added = next((c for c, count in Counter(_NON_ASCII.findall(text)).items() if count > present[c]), None)
    if added is not None:
        raise ToolFailure(
            ErrorCode.EDIT_PREPARATION_FAILURE,
            f"The file is not UTF-8 but in an older encoding, which is not known, so {added!r} cannot be"
            " written in it. Nothing was changed. Use ASCII characters, or convert the file to UTF-8 first"
            " (iconv -f ENCODING -t UTF-8).",
        )


def _has_other_encoding(text: str) -> bool:
    """Whether text has more broken bytes than a damaged UTF-8 file, or escape sequences of ISO 2022."""
    if "\x1b$" in text or "\x1b(" in text:
        return True
    broken = len(_SURROGATE.findall(text)) if not is_exact(text) else 0
    return broken > 0 and broken * _FEW_BROKEN > len(_NON_ASCII.findall(text))


def refuse_nul(text: str) -> None:
    """Raises ``ToolFailure`` for a NUL character: the file would not be text, and not editable again."""
    position = text.find("\0")
    if position >= 0:
        reason = (
            f"The text contains a NUL character at character {position + 1}; text files cannot. Nothing was"
            " changed. Leave it out."
        )
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, reason)


def describe_content(data: bytes, name: str) -> str:
    """Describes the content of a non-text file for a message, by its first bytes, else by its name."""
    for signature, words in _SIGNATURES:
        if re.match(signature, data[:32], re.DOTALL):
            return words
    guessed, _ = mimetypes.guess_type(PurePath(name).name)
    return f"binary data ({guessed})" if guessed else "binary data"


def _looks_binary(data: bytes, text: str) -> bool:
    """Returns whether invalid UTF-8 contains at least one control character in twenty.

    Text in an older encoding contains none, compressed data about one in ten.
    """
    if is_exact(text):
        return False
    head = data[:_HEAD]
    return (len(head) - len(head.translate(None, _CONTROL))) * 20 > len(head)
