"""Matches regular expressions of models and servers in bounded time, whatever the pattern.

The engine is Rust's, which pydantic contains. Its time is at most proportional to the text and to the
pattern's states, so both are limited. It has no look-around and no back-references.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

_MAX_STATES = 10_000
_MAX_STEPS = 10_000_000
"""States times characters: about two seconds for patterns made to be slow, milliseconds for others."""
_REPETITION = re.compile(r"\{(\d+)(?:,(\d*))?\}")


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Returns a function that tells whether the pattern occurs in a text.

    Raises ``ValueError`` with the reason for a pattern that is invalid, too large or not supported.
    """
    if _states(pattern) > _MAX_STATES:
        raise ValueError("it is too long, or repeats too often")
    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError as error:
        raise ValueError(str(error).strip().splitlines()[-1].strip().removeprefix("error: ")) from None
    return validator.isinstance_python


@lru_cache(maxsize=256)
def _states(pattern: str) -> int:
    """Returns an upper bound for the compiled pattern's states, where a character class counts as one."""
    size, factor = len(pattern), 1
    for found in _REPETITION.finditer(pattern):
        count = max(int(found[1][:9]), int((found[2] or "0")[:9]), 1)
        if pattern[found.start() - 1] in ")}*+?":
            factor *= count
        else:
            size += count
    return size * factor


def is_supported(pattern: object) -> bool:
    """Whether ``pattern`` is a text that ``compile_pattern`` accepts."""
    try:
        return isinstance(pattern, str) and compile_pattern(pattern) is not None
    except ValueError:
        return False


def pattern_occurs(pattern: object, text: str) -> bool:
    """Whether ``pattern`` occurs in ``text``.
    An unsupported one occurs in every text, and any in a text too long to be searched.
    """
    if not isinstance(pattern, str) or not is_supported(pattern) or len(text) * _states(pattern) > _MAX_STEPS:
        return True
    return compile_pattern(pattern)(text)
