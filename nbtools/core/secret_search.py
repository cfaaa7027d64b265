"""Finds secrets in texts that a person is about to share.

It finds what ``redaction`` finds, and more: further forms of tokens, cookies, passwords in command lines and
connection strings, short passwords with a telling name, and secrets behind the escapes of JSON and HTML,
invisible characters, line wrapping and base64.  Nothing is lost where it finds too much, because the person
sees what would be removed; commit hashes and UUIDs without a telling name are left alone.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeAlias

from nbtools.core.redaction import MIN_LENGTH
from nbtools.core.secret_patterns import Place, SecretPattern, secret_patterns
from nbtools.core.shown_secrets import looks_random

_MIN_PASSWORD = 6
_LONG_VALUE = 16
_MAX_NESTING = 4
"""Levels of escapes that are removed, as in JSON within JSON."""


Span: TypeAlias = tuple[int, int]


class Found(NamedTuple):
    """A secret in a text: its kind, and its span."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a session.  ``places`` are the numbers of the steps in which it occurs;
    ``kept``: a person wants it to stay.

    ``shown`` is its beginning and its length, enough to recognise it; ``id`` names it without telling it.
    """

    id: str
    kind: str
    shown: str
    places: tuple[str, ...]
    kept: bool = False

    @property
    def count(self) -> int:
        """The number of steps in which it occurs."""
        return len(self.places)


@cache
def patterns_by_word(place: Place) -> tuple[tuple[str, SecretPattern], ...]:
    """Returns the forms of secrets with this place, by each of their words."""
    return tuple((word, one) for one in secret_patterns() if one.place == place for word in one.words)


_RUN, _SHORTEST = ord("w"), 15
"""A Slack token has 15 characters at least, all other tokens have more."""
_RUNS = bytes(
    _RUN if (chr(byte).isalnum() and byte < 0x80) or byte in b"_.~+/=%:-" else 0x20 for byte in range(256)
)
_LONG_RUN = bytes([_RUN]) * _SHORTEST
_BASIC = re.compile(r"\bbasic\s{1,3}([A-Za-z0-9+/]{8,400}={0,2})", re.IGNORECASE)
_BEARER = re.compile(r"\bbearer\s{1,3}([A-Za-z0-9._~+/=\-]{12,4000})", re.IGNORECASE)
_COOKIE = re.compile(
    r"(?:\b(?:set-)?cookie[\"']?\s{0,3}[:=]\s{0,3}|\s(?:-b|--cookie)[ =])[\"']?"
    r"([\w.\-]{1,100}=[^\s;\"',]{8,4000}(?:;\s{0,2}[\w.\-]{1,100}(?:=[^\s;\"',]{0,4000})?){0,40})",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"--(?:[a-z]{1,20}-)?(?:password|passwd|passphrase|token|secret|api-?key|access-?key)[="
    r" ]['\"]?(?![\-$<{(\[])([^\s\"'`]{6,300})"
)
_KEYWORDS = ("passw", "pwd", "passphrase", "secret", "token", "credential", "key", "database_url")
_KEYS = "|".join(
    rf"{kind}[_\-]?key"
    for kind in ("api", "access", "private", "auth", "signing", "encryption", "master", "account")
)
_NAMED = re.compile(  # of a text in lower case: ignoring the case is five times slower
    rf"(passw(?:or)?d|pwd|passphrase|secret|token|credential|{_KEYS}|database_url)"
    r"""(s?[\w\-]{0,40})\\?["'`]?\s{0,3}(?::=|=>|[:=])\s{0,3}(?:\\?(["'`])((?:(?!\\?\3)[^\n]){4,2000}?)\\?\3|([^\s"'`,;()<>{}\[\]&|\\]{6,2000}))"""
)
_NO_SECRET = re.compile(
    r".*\.\.\.|\$.*|%.*|<.*|\{.*|\[.*|\.\.\..*|[*x.\-_#•]+|your[_\-"
    r" ].*|(?:change|replace)[_\-]?me.*|redacted.*"
    r"|placeholder|example|dummy|test"
    r"|none|null|true|false|undefined|optional|required|string|secret|secrets|token|password|passwd|hidden"
    r"|(?:os|process|self|this|config|settings|secrets|env|args|options|request|req|ctx|import)[.\[(].*"
    r"|[a-z_][\w]*(?:\.[A-Za-z_]\w*)+|(?:~|\.{0,2})/[\w./\-]+|https?://[^@]*",
    re.IGNORECASE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([/\"'nrt\\]))")
_HIDDEN = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\r"
_INVISIBLE = re.compile(
    f"(?:[{_HIDDEN}]|\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b\n]{{0,2000}}(?:\x07|\x1b\\\\)|\x1b[@-Z\\^_])+"
)
"""Zero-width characters, soft hyphens, carriage returns and the sequences of terminals."""
_MAYBE_INVISIBLE = re.compile(f"[{_HIDDEN}\x1b]")
# begins with the line break, not with a look behind it, which would be tried at every character
_WRAP = re.compile(
    r"(?:\n(?<=[A-Za-z0-9+/=_.~\-]\n)|\r\n(?<=[A-Za-z0-9+/=_.~\-]\r\n))[ \t]{0,16}(?=[A-Za-z0-9+/=_.~\-])"
)
_FULL_LINE = 72
_CODED = re.compile(r"(?<![A-Za-z0-9+/_\-])[A-Za-z0-9+/_\-]{24,20000}+={0,2}(?![A-Za-z0-9+/_\-=])")
_CODED_LINES = re.compile(
    r"(?<![A-Za-z0-9+/_\-])[A-Za-z0-9+/_\-]{16,200}+(?:\r?\n["
    r" \t]{0,16}[A-Za-z0-9+/_\-]{1,200}+){1,300}+={0,2}"
)
_CODED_END = re.compile(r"[A-Za-z0-9+/_\-]{16}")
_LINE_ENDS = frozenset("\r\n")
_MOST_CUT = 3
"""Lines behind base64 that may be something else."""
_PLAIN = {"n": "\n", "r": "\r", "t": "\t"}
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});")


@dataclass(frozen=True, slots=True)
class SecretSearch:
    """Finds secrets.  ``patterns`` are further regular expressions;
    group 1, if there is one, is the secret itself.
    """

    patterns: tuple[re.Pattern[str], ...] = ()

    def find(self, text: str) -> list[Found]:
        """Returns the secrets of a text in order, without overlaps."""
        if len(text) < _MIN_PASSWORD:
            return []
        found = self._spans(text)
        plain = text
        positions: list[_Positions] = []
        while len(positions) < _MAX_NESTING and (unescaped := _unescaped(plain)):
            plain, position = unescaped
            positions.insert(0, position)
            for kind, start, end in self._spans(plain):
                for outer in positions:
                    start, end = outer(start), outer(end)  # noqa: PLW2901 - through each level of escapes
                found.append(Found(kind, start, end))
        return _without_overlaps(found)

    def _spans(self, text: str) -> list[Found]:
        runs = _runs(text)
        found = [*_spans(text, runs), *self._own(text)]
        found += [*_wrapped(text, found), *self._coded(text, runs)]
        if _MAYBE_INVISIBLE.search(text) and _INVISIBLE.search(text):
            plain, position = _without(_INVISIBLE, text)
            found += [
                Found(kind, position(start), position(end - 1) + 1) for kind, start, end in self._spans(plain)
            ]
        return found

    def _coded(self, text: str, runs: Sequence[Span]) -> Iterator[Found]:
        """Yields runs of base64 that contain a secret."""
        kinds = {one[0]: self._kind_in(_decoded(one[0])) for one in _CODED.finditer(_joined(text, runs))}
        for run in runs if any(kinds.values()) else ():
            yield from (
                Found(kinds[one[0]], *one.span()) for one in _CODED.finditer(text, *run) if kinds[one[0]]
            )
        first = next(
            (
                start
                for start, end in runs
                if text[end : end + 1] in _LINE_ENDS and _CODED_END.match(text, end - 16, end)
            ),
            None,
        )
        for one in _CODED_LINES.finditer(text, first) if first is not None else ():
            lines = one[0].split("\n")
            for count in range(len(lines), max(1, len(lines) - _MOST_CUT), -1):
                if kind := self._kind_in(_decoded("".join(line.strip() for line in lines[:count]))):
                    yield Found(kind, one.start(), one.start() + len("\n".join(lines[:count])))
                    break

    def _kind_in(self, plain: str) -> str:
        """Returns the kind of the first secret in a decoded text; empty if there is none."""
        return (
            next((found.kind for found in (*_spans(plain, _runs(plain)), *self._own(plain))), "")
            if plain
            else ""
        )

    def _own(self, text: str) -> Iterator[Found]:
        for pattern in self.patterns:
            group = 1 if pattern.groups else 0
            yield from (
                Found("pattern", *one.span(group))
                for one in pattern.finditer(text)
                if one.end(group) > one.start(group) >= 0
            )


def _runs(text: str) -> list[Span]:
    """Returns the spans of all runs of characters of tokens that are long enough for one."""
    classes = text.encode("latin-1", "replace").translate(_RUNS)
    runs, start = list[Span](), classes.find(_LONG_RUN)
    while start >= 0:
        end = classes.find(b" ", start)
        runs.append((start, end if end >= 0 else len(text)))
        start = classes.find(_LONG_RUN, runs[-1][1])
    return runs


def _tokens(text: str, runs: Sequence[Span]) -> Iterator[tuple[SecretPattern, re.Match[str]]]:
    """Yields what has the form of a secret, with its pattern.

    Most texts have few long runs, so most of the words are looked for there:
    to look for each in all of the text takes ten times longer.
    """
    joined = _joined(text, runs)
    for word, pattern in patterns_by_word("run"):
        if word in joined and pattern.expression.search(joined):
            for start, end in runs:
                yield from ((pattern, one) for one in pattern.expression.finditer(text, start, end))
    for word, pattern in patterns_by_word("word"):
        at = text.find(word)
        while at >= 0:
            one = pattern.expression.match(text, at)
            if one:
                yield pattern, one
            at = text.find(word, one.end() if one else at + 1)
    for word, pattern in patterns_by_word("lines"):
        if word in text:
            yield from ((pattern, one) for one in pattern.expression.finditer(text))


def _joined(text: str, runs: Sequence[Span]) -> str:
    return " ".join(text[start:end] for start, end in runs)


def _spans(text: str, runs: Sequence[Span]) -> Iterator[Found]:
    yield from (
        Found(pattern.name, *one.span(pattern.expression.groups)) for pattern, one in _tokens(text, runs)
    )
    if "://" in text and "@" in text:
        for _, pattern in patterns_by_word("address"):
            for one in pattern.expression.finditer(text):
                yield Found("password in an address", *one.span(1))
    low = text.replace("\u0130", "i").lower()  # the only character that gets longer
    if "basic" in low:
        yield from (
            Found("basic authentication", *one.span(1)) for one in _BASIC.finditer(text) if _is_login(one[1])
        )
    if "bearer" in low:
        yield from (
            Found("bearer token", *one.span(1))
            for one in _BEARER.finditer(text)
            if any(map(str.isdigit, one[1]))
        )
    if "cookie" in low or " -b" in low:
        yield from (Found("cookie", *one.span(1)) for one in _COOKIE.finditer(text))
    if "--" in text:
        yield from (
            Found("secret in an option", *one.span(1))
            for one in _OPTION.finditer(text)
            if not _NO_SECRET.fullmatch(one[1])
        )
    if any(word in low for word in _KEYWORDS):
        yield from _named(text, low)


def _wrapped(text: str, found: Sequence[Found]) -> Iterator[Found]:
    """Yields tokens that go on in the next line.

    One that is complete in its line goes on only if the line is long:
    otherwise the next line's first word would count as part of it.
    """
    plain = _WRAP.sub("", text) if "\n" in text else text
    if len(plain) == len(text) or not (tokens := list(_tokens(plain, _runs(plain)))):
        return
    complete = {one.start for one in found}
    position = _without(_WRAP, text)[1]
    for pattern, one in tokens:
        group = pattern.expression.groups
        start, end = position(one.start(group)), position(one.end(group) - 1) + 1
        line = text.find("\n", start, end)
        is_whole = line >= 0 and not any(map(str.isspace, one[group]))
        if is_whole and (start not in complete or line - text.rfind("\n", 0, start) > _FULL_LINE):
            yield Found(pattern.name, start, end)


def _decoded(coded: str) -> str:
    """Returns the text that this is base64 of; empty if it is not."""
    try:
        standard = coded.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _named(text: str, low: str) -> Iterator[Found]:
    """Yields values that a name calls a secret:
    ``api_key = "…"``, ``DB_PASSWORD=…``, ``"client_secret": "…"``.

    ``low`` is the text in lower case.
    """
    position = 0
    while one := _NAMED.search(low, position):
        group = 4 if one[4] is not None else 5
        position = one.end() if _is_named_secret(text, one, group) else one.end(2)
        if position == one.end():
            yield Found("value of a secret's name", *one.span(group))


def _is_named_secret(text: str, match: re.Match[str], group: int) -> bool:
    value, keyword, quoted = text[slice(*match.span(group))], text[slice(*match.span(1))], group == 4
    if (
        _NO_SECRET.fullmatch(value)
        or value.startswith("redacted:")
        or (not quoted and text[match.end() : match.end() + 1] in {"(", "["})
    ):
        return False
    variable = keyword.isupper() and not match[2].endswith(
        ("_file", "_path", "_name", "_id", "_url", "_length", "_count")
    )
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if keyword.lower().startswith(("passw", "pwd", "passphrase")):
        plain = not (digits or variable) and value.isidentifier()
        return (
            len(value) >= _MIN_PASSWORD
            and not any(map(str.isspace, value))
            and (quoted or not plain)
            and not value.isdigit()
        )
    if any(map(str.isspace, value)) or not letters:
        return False
    if variable or quoted:
        return (
            digits
            and len(value) >= MIN_LENGTH
            and (variable or len(value) >= _LONG_VALUE or looks_random(value))
        )
    return looks_random(value)


def _is_login(coded: str) -> bool:
    """Whether this is base64 of ``user:password``."""
    try:
        plain = base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in plain and plain.isprintable()


class _Positions:
    """Maps positions of an unescaped text to those of the original."""

    def __init__(self, plain: Sequence[int], raw: Sequence[int]) -> None:
        self._plain, self._raw = plain, raw

    def __call__(self, position: int) -> int:
        at = bisect_right(self._plain, position) - 1
        return self._raw[at] + position - self._plain[at]


def _of_escape(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _PLAIN.get(found[3], found[3])


def _unescaped(text: str) -> tuple[str, _Positions] | None:
    """Returns a text without the escapes of JSON and JavaScript or, where it has none, those of HTML;
    None where it has neither.
    """
    if "\\" in text and _ESCAPE.search(text):
        return _replaced(_ESCAPE, _of_escape, text)
    if "&" in text and _ENTITY.search(text) and html.unescape(text) != text:
        return _replaced(_ENTITY, lambda found: html.unescape(found[0]), text)
    return None


def _replaced(
    expression: re.Pattern[str], character: Callable[[re.Match[str]], str], text: str
) -> tuple[str, _Positions]:
    """Returns a text in which the matches of an expression are replaced by characters."""
    pieces: list[str] = []
    plain, raw = [0], [0]
    length = end = 0
    for one in expression.finditer(text):
        pieces.append(text[end : one.start()])
        pieces.append(character(one))
        length += one.start() - end + len(pieces[-1])
        end = one.end()
        plain.append(length)
        raw.append(end)
    return "".join((*pieces, text[end:])), _Positions(plain, raw)


def _without(expression: re.Pattern[str], text: str) -> tuple[str, _Positions]:
    """Returns a text without the matches of an expression."""
    return _replaced(expression, lambda _: "", text)


def _without_overlaps(found: Iterable[Found]) -> list[Found]:
    """Joins spans that overlap; the one that begins first, or the longer one, names the kind."""
    joined: list[Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if joined and one.start < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(joined[-1].end, one.end))
        elif one.end > one.start:
            joined.append(one)
    return joined
