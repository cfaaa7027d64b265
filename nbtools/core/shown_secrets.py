"""Redacts secrets in displays and in texts for models: known forms of tokens, private keys, passwords in
URLs, and random-looking values assigned to names such as ``api_key``.

For speed, a text is first searched for long runs of letters and digits and for names of secrets.  A token's
expression runs only where the token's prefix was found, and all its repetitions are bounded.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from nbtools.core.secret_patterns import SecretPattern, compiled, shown_patterns

_RUN, _JOINT = b"w" * 12, 0x2D
_RUNS = bytearray(b" " * 256)
"""The class of each byte: of a run, of what may join two runs of one token, or neither."""
for _byte in b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
    _RUNS[_byte] = _RUN[0]
for _byte in b"-_./+":
    _RUNS[_byte] = _JOINT
_BEFORE, _INTO = 80, 4
"""How many characters before such a run, and at its beginning, are searched for the prefix."""
_VALUE = r"""\\?["']?\s{0,3}(?::|=>?)\s{0,3}\\?["']?(?!\$)([^\s"'\\,;()<>{}\[\]&|]{12,500})"""
_NAMED = r"(?:passw(?:or)?d|secret|token|key)" + _VALUE
_BEARER = r"bearer\s{1,3}([a-z0-9._~+/=\-]{16,4000})"
_KINDS = "api secret access account private signing encryption auth client consumer master storage"
_FILE = r"(?:~|\.{0,2})/(?:[\w.\-]+/){0,20}[\w\-]+\.[a-z]{2,5}"
_NAMES = ("passw", "secret", "token", "key", "bearer ")
_KEYS = tuple(f"{kind}{gap}" for kind in _KINDS.split() for gap in ("_", "-", ""))
_RANDOM_BITS = 3.0


def redact_shown(text: str) -> str:
    """Returns a text without its secrets, with as many lines; ``text`` itself where it has none."""
    patterns: list[SecretPattern] = []
    if "@" in text and "://" in text:
        patterns += (one for one in shown_patterns() if one.place == "address")
    if "PRIVATE KEY" in text or "glpat-" in text or _may_hold_token(text):
        patterns += (one for one in shown_patterns() if one.place != "address")
    # one after the other: a private key or a value with a name may have another token in it
    for pattern in patterns:
        if any(word in text for word in pattern.words):
            group = pattern.expression.groups
            text = _redacted(
                text, [one.span(group) for one in pattern.expression.finditer(text)], pattern.name
            )
    low = text.lower()
    if len(low) != len(text):
        return text  # lower() changed the length, so positions would not agree
    named = [span for word in _NAMES if word in low for span in _named_values(low, word)]
    random = [span for span in named if looks_random(text[slice(*span)])]
    return _redacted(text, sorted(random), "secret") if random else text


def _redacted(text: str, spans: Iterable[tuple[int, int]], kind: str) -> str:
    found, end = [], 0
    for span in spans:
        if span[0] >= end:
            found.append((*span, f"[redacted: {kind}]"))
            end = span[1]
    return replace_spans(text, found)


def _may_hold_token(text: str) -> bool:
    """Whether the text has a long run of letters and digits that may belong to a token."""
    starts, marks = _token_marks()
    runs = text.encode("latin-1", "replace").translate(_RUNS)
    start = runs.find(_RUN)
    while start >= 0:
        if text.startswith(starts, start):
            return True
        if start and runs[start - 1] == _JOINT:
            word = max(runs.rfind(b" ", 0, start) + 1, start - _BEFORE)
            if marks.search(text, word, start + _INTO):
                return True
        start = runs.find(_RUN, start + len(_RUN))
    return False


@cache
def _token_marks() -> tuple[tuple[str, ...], re.Pattern[str]]:
    """Returns the prefixes of tokens that are one run of letters and digits,
    and an expression for the words of all tokens: most have a separator before the run.
    """
    patterns = [one for one in shown_patterns() if one.place != "address"]
    words = [word for one in patterns for word in one.words]
    starts = [word for one in patterns if one.place == "run" for word in one.words if word.isalnum()]
    return tuple(starts), re.compile("|".join(map(re.escape, words)))


def _named_values(low: str, word: str) -> Iterator[tuple[int, int]]:
    expression = compiled(_BEARER if word == "bearer " else _NAMED)
    at = low.find(word)
    while at >= 0:
        found = expression.match(low, at) if word != "key" or low.endswith(_KEYS, 0, at) else None
        if found:
            yield found.span(1)
        at = low.find(word, found.end() if found else at + len(word))


def looks_random(value: str) -> bool:
    """Whether the value mixes letters and digits with few repetitions, unlike a word, a path,
    a call or a number.
    """
    if value.startswith("redacted:") or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    if compiled(_FILE).fullmatch(value):
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits >= _RANDOM_BITS


def replace_spans(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Returns a text with the replacement of each span, and with as many lines."""
    pieces: list[str] = []
    position = 0
    for start, end, replacement in spans:
        pieces += [text[position:start], replacement, "\n" * text.count("\n", start, end)]
        position = end
    return "".join((*pieces, text[position:])) if pieces else text
