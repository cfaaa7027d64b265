"""Exercises that check themselves: what was expected, what is there, and a hint from the second try on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_MAX_VALUE = 300
"""Maximum number of characters of a value in a message."""
_WIDTH = 80
"""Maximum number of characters of a line, so that no cell needs a scroll bar."""
_failures: dict[str, int] = {}
"""Failed tries by task, in this process."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of ``check``; true if the exercise is solved.  ``message`` is what a notebook shows."""

    ok: bool
    message: str
    tries: int = 0

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return self.message


def check(task: str, found: Any, expected: Any, *, hint: str = "", words: str = "") -> Checked:
    """Checks an exercise and says in plain words how it went; the last line of a cell shows it.

    ``task`` says what is checked, and counts the tries.  ``found`` is the learner's value; a function without
    parameters is called, so that its error becomes part of the message. ``expected`` is the right value, or a
    function that returns whether a value is right; ``words`` then say what was expected. ``hint`` is shown
    from the second failed try on; dots (``...``) are an open exercise and no try.  Never raises for what the
    learner wrote.
    """
    problem = _problem(found, expected, words)
    if not problem:
        _failures.pop(task, None)
        return Checked(ok=True, message=f"✓ {task}: solved.")
    tries = _failures.get(task, 0) + (found is not ...)
    _failures[task] = tries
    hints = (f"Hint: {hint}",) if hint and tries > 1 else ()
    return Checked(ok=False, message="\n".join(_lines(task, *problem, *hints)), tries=tries)


def _lines(task: str, *sentences: str) -> Iterator[str]:
    yield f"✗ {task}: not yet."
    for sentence in sentences:
        yield textwrap.fill(
            sentence,
            _WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _problem(found: Any, expected: Any, words: str) -> tuple[str, ...]:
    """Returns the lines that say what is wrong; empty if the value is right."""
    if found is ...:
        return (
            f"Expected: {words or _expectation(expected)}",
            "There is: nothing yet. Replace the dots (...) by your answer.",
        )
    try:
        value = found() if callable(found) and not isinstance(found, type) else found
        right = (
            expected(value)
            if _is_condition(expected)
            else type(value) is type(expected) and value == expected
        )
        if bool(right):
            return ()
    except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
        return (
            f"Expected: {words or _expectation(expected)}",
            f"There is: an error, {type(error).__name__}: {_cut(str(error))}",
        )
    return (
        f"Expected: {words or _expectation(expected)}",
        f"There is: {_written(value)}",
        *_first_difference(value, expected),
    )


def _is_condition(expected: Any) -> bool:
    return callable(expected) and not isinstance(expected, type)


def _expectation(expected: Any) -> str:
    if _is_condition(expected):
        return _cut((getattr(expected, "__doc__", "") or "").strip()) or "a value that passes the test"
    return _written(expected)


def _written(value: Any) -> str:
    """Returns a value as Python writes it, in one line."""
    try:
        return _cut(repr(value))
    except Exception as error:  # noqa: BLE001 - the learner's class may raise anything
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_VALUE else f"{line[:_MAX_VALUE]} … ({len(line):,} characters)"


def _first_difference(value: Any, expected: Any) -> tuple[str, ...]:
    """Says where two texts of several lines, lists or dictionaries differ first,
    and that two equal values have different types.
    """
    if _is_condition(expected):
        return ()
    if type(value) is not type(expected):
        return (f"The types differ: expected {type(expected).__name__}, there is {type(value).__name__}.",)
    if isinstance(value, str) and ("\n" in value or "\n" in expected):
        return _difference("line", value.splitlines(), expected.splitlines())
    if isinstance(value, Mapping):
        return _difference_of_keys(value, expected)
    return _difference("item", value, expected) if isinstance(value, list | tuple) else ()


def _difference_of_keys(values: Mapping[Any, Any], expected: Mapping[Any, Any]) -> tuple[str, ...]:
    for key in [*expected, *values]:
        wanted, there = (_written(one[key]) if key in one else "nothing" for one in (expected, values))
        if wanted != there:
            return (f"The first difference is at {_written(key)}: expected {wanted}, there is {there}.",)
    return ()


def _difference(name: str, values: Any, expected: Any) -> tuple[str, ...]:
    at = next(
        (number for number, (one, other) in enumerate(zip(values, expected, strict=False)) if one != other),
        None,
    )
    if at is None:
        return (
            (f"There are {len(values)} {name}s, expected {len(expected)}.",)
            if len(values) != len(expected)
            else ()
        )
    return (
        (
            f"The first difference is in {name} {at + 1}: expected {_written(expected[at])}, there is"
            f" {_written(values[at])}."
        ),
    )
