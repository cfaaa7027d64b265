"""Converts web responses to text, pictures or PDF documents."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.text_lines import displayable
from nbtools.workspace.files.encoding import decode, describe_content
from nbtools.workspace.paths import printable_path

if TYPE_CHECKING:
    from html_to_markdown import ConversionOptions

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s;\"']+)", re.IGNORECASE)
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([\w:.-]{2,30})", re.IGNORECASE)
_DECLARED_WITHIN = 1024
_WEB_ENCODING = re.compile(
    r"utf-?8|utf-?16(?:le|be|-le|-be)?|(?:iso[-_]?)?8859-\d{1,2}|iso-8859-\d{1,2}|latin-?\d|windows-\d{3,4}|cp\d{3,4}|koi8-[ru]|"
    r"gb2312|gbk|gb18030|big5(?:-hkscs)?|euc-(?:jp|kr)|shift[-_]jis|sjis|iso-2022-jp|tis-620|macintosh|us-ascii|ascii"
)
"""Encoding names that may be passed to Python; other codecs of Python are not safe for untrusted data."""
_BROWSER_ENCODINGS = {
    **dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"), "windows-1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis"), "cp932"),
    "euc-kr": "cp949",
}
_TITLE_BEGIN = re.compile(r"<title\b[^<>]{0,200}>", re.IGNORECASE)
_TITLE_END = re.compile(r"</title\b", re.IGNORECASE)
_LOOKS_LIKE_HTML = re.compile(
    r"\s*(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_MOST_HTML = 2_000_000
"""Most characters of HTML to convert: the converter blocks the process, here for about a second."""
_MOST_JSON = 2_000_000
_DEEPEST = 30
"""Maximum indentation level; otherwise the lines of a deeply nested document get very long."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_JUNK = (
    "script style template noscript iframe object svg canvas nav footer dialog button input select textarea"
    " [role=navigation] [role=search] [aria-hidden=true]"
)


@dataclass(frozen=True, slots=True)
class PageText:
    """A page as text. ``title``: an HTML page's, on one line; ``note``: what is missing from the text."""

    text: str
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class PageMedia:
    """A picture or PDF document, detected by its first bytes and not by the header."""

    mime_type: str
    data: bytes


PageContent: TypeAlias = PageText | PageMedia


def read_page(body: bytes, header: str, url: str, *, raw: bool = False) -> PageContent:
    """Converts a response body.

    ``header`` is the content type as sent; links in HTML are resolved against ``url``; ``raw``: text is
    returned as sent.  Raises ``ToolFailure`` (``web_fetch_processing_error``) for other content than text,
    pictures and PDF.
    """
    media = _media_type(body)
    if media:
        return PageMedia(media, body)
    mime, charset = parse_content_type(header)
    text = _text(body, charset, mime)
    if text is None:
        kind = (
            mime
            if mime not in ("", "application/octet-stream")
            else describe_content(body, url.partition("?")[0])
        )
        raise ToolFailure(
            ErrorCode.WEB_FETCH_PROCESSING_ERROR,
            f"{printable_path(url)} is {printable_path(kind)}, {len(body):,} bytes; it cannot be displayed as"
            " text. Download it with a shell command.",
        )
    if _is_html(text, mime):
        begin = _TITLE_BEGIN.search(text, 0, _MOST_HTML)
        end = _TITLE_END.search(text, begin.end(), begin.end() + 2000) if begin else None
        title = (
            " ".join(html.unescape(text[begin.end() : end.start()]).split())[:300] if begin and end else ""
        )
        return PageText(text, title) if raw else _markdown(text, title, url)
    return PageText(text if raw or not _is_json(mime) else _pretty(text))


def parse_content_type(header: str) -> tuple[str, str]:
    """Returns MIME type and charset of a content type, in lower case; empty if missing."""
    mime, _, parameters = header.partition(";")
    named = _CHARSET.search(parameters)
    return (mime.strip().lower() if "/" in mime else ""), (named[1].lower() if named else "")


def divide_limit(lengths: Sequence[int], limit: int) -> list[int]:
    """Divides ``limit`` among texts: short ones get their whole length, the others equal shares."""
    rest, result = limit, [0] * len(lengths)
    for position, index in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        result[index] = min(lengths[index], rest // (len(lengths) - position))
        rest -= result[index]
    return result


def _media_type(body: bytes) -> str:
    if body.startswith(b"RIFF") and body[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for signature, mime in _SIGNATURES if body.startswith(signature)), "")


def _text(body: bytes, charset: str, mime: str) -> str | None:
    """Decodes a body; None if it is not text.

    In this order: byte order mark, charset of the header, declaration in the document, UTF-8, Windows-1252.
    A declared encoding that does not decode the body yields to UTF-8; so does Latin-1, which decodes
    everything and is often just a default.
    """
    declared = _codec(charset) or _codec_inside(body, mime)
    by_mark = decode(body)
    if by_mark is not None and by_mark.encoding.bom:
        return displayable(by_mark.text)
    for codec in filter(None, ("utf-8", declared) if declared == "windows-1252" else (declared, "utf-8")):
        try:
            text = body.decode(codec)
        except (UnicodeDecodeError, LookupError):
            text = None
        if text is not None and "\0" not in text:
            return text
    if by_mark is None or not (declared or mime.startswith("text/") or _is_json(mime) or "xml" in mime):
        return None
    return body.decode(declared or "windows-1252", "replace")


def _codec(name: str) -> str:
    """Returns Python's name of a web encoding; empty if it is unknown."""
    name = name.strip().lower()
    return _BROWSER_ENCODINGS.get(name, name) if _WEB_ENCODING.fullmatch(name) else ""


def _codec_inside(body: bytes, mime: str) -> str:
    """Returns the encoding that HTML or XML declares, in ASCII, so that it cannot be UTF-16."""
    if not (mime == "" or "html" in mime or "xml" in mime):
        return ""
    found = _DECLARED.search(body, 0, _DECLARED_WITHIN)
    codec = _codec(found[1].decode("ascii", "replace")) if found else ""
    return "utf-8" if codec.startswith("utf") and codec else codec


def _is_html(text: str, mime: str) -> bool:
    if mime in ("text/html", "application/xhtml+xml"):
        return True
    return mime in ("", "application/octet-stream") and _LOOKS_LIKE_HTML.match(text) is not None


def _is_json(mime: str) -> bool:
    return mime in ("application/json", "text/json") or mime.endswith("+json")


def _pretty(text: str) -> str:
    """Formats JSON, an item per line; invalid or very long text is unchanged, numbers keep their spelling."""
    if len(text) > _MOST_JSON:
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return "".join(_format_tokens(_TOKEN.findall(text)))


def _format_tokens(tokens: list[str]) -> Iterator[str]:
    depth, before = 0, ":"
    for piece in tokens:
        closes, opened = piece in "]}", before in "[{"
        depth -= closes
        if before == "," or (opened and not closes) or (closes and not opened):
            yield "\n" + "  " * min(depth, _DEEPEST)
        yield ": " if piece == ":" else piece
        depth += piece in "[{"
        before = piece


def _markdown(text: str, title: str, url: str) -> PageText:
    from html_to_markdown import convert  # noqa: PLC0415 - takes 70 ms, rarely needed

    body = (convert(text[:_MOST_HTML], _options(url)).content or "").strip()
    first = body.partition("\n")[0]
    headed = f"# {title}\n\n{body}" if title and first.lstrip("# ") not in title else body
    note = (
        f"only the first {_MOST_HTML:,} characters of the HTML were converted"
        if len(text) > _MOST_HTML
        else ""
    )
    return PageText(headed.strip(), title, note)


def _options(url: str) -> ConversionOptions:
    from html_to_markdown import (  # noqa: PLC0415 - as above
        ConversionOptions,
        InlineDataMedia,
        PreprocessingOptions,
    )

    return ConversionOptions(
        extract_metadata=False,
        # Its own preprocessing drops headings of articles and whole pages inside a form.
        preprocessing=PreprocessingOptions(enabled=False),
        exclude_selectors=_JUNK.split(),
        inline_data_media=InlineDataMedia.ALT_TEXT_ONLY,
        autolinks=False,
        base_url=url,
    )
