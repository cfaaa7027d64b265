"""Excerpts of texts around what a search found: where the query matches, and one line around it."""

from __future__ import annotations

import re
from functools import lru_cache

TERMS = re.compile(r'"([^"]+)"|(\S+)')
"""The quoted texts and the words of a query."""
MAX_QUERY = 1_000
"""Characters of a query that are looked at."""
_WORD = re.compile(r"\w+")
_MARGIN = 60
"""Characters of a snippet on each side of a match."""


def terms_of(query: str) -> tuple[str, ...]:
    """Returns what a text must contain to be found, whatever the case: the words of the query, and its texts
    in quotation marks as they are.  In lower case, each once; none for an empty query.
    """
    found = (quoted or word for quoted, word in TERMS.findall(query[:MAX_QUERY]))
    return tuple(dict.fromkeys(term.casefold() for term in found))


def contains(text: str, query: str) -> bool:
    """Returns whether the text contains the query, or one of its phrases and words."""
    return any(expression.search(text) for expression in _expressions(query))


def snippet(text: str, query: str, *, before: int = _MARGIN) -> str:
    """Returns one line around the first match of the query, or of one of its words;
    the beginning of the text where nothing matches.

    ``before`` is the number of characters shown before the match.
    """
    found = next(filter(None, (one.search(text) for one in _matching(text, query))), None)
    start = max(found.start() - before, 0) if found else 0
    end = found.end() + _MARGIN if found else 2 * _MARGIN
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"


def match_spans(text: str, query: str) -> list[tuple[int, int]]:
    """Returns where the query or its words are, in order; of two matches that overlap, the longer term's."""
    spans: list[tuple[int, int]] = []
    for start, end in (found.span() for one in _matching(text, query) for found in one.finditer(text)):
        if all(end <= first or start >= last for first, last in spans):
            spans.append((start, end))
    return sorted(spans)


def _matching(text: str, query: str) -> tuple[re.Pattern[str], ...]:
    """Returns the expressions to look for.  A query written like code, ``Parser.read(``, is also found by
    its words, so where it does not occur literally, these are looked for.
    """
    return _expressions(query if contains(text, query) else " ".join(_WORD.findall(query)))


@lru_cache(maxsize=64)
def _expressions(query: str) -> tuple[re.Pattern[str], ...]:
    """Returns the expressions of the whole query, its phrases and its words, the longest first."""
    whole = " ".join(query.split())
    terms = [whole.strip('"'), *(phrase or word.strip('"*') for phrase, word in TERMS.findall(whole))]
    longest_first = sorted(dict.fromkeys(terms), key=len, reverse=True)
    return tuple(
        re.compile(r"\s+".join(map(re.escape, term.split())), re.IGNORECASE)
        for term in longest_first
        if term.strip("*\"'")
    )
