"""The patterns of one ignore file, by gitignore's rules, matched in linear time whatever they are.

The engine is Rust's, without backtracking,
so that an ignore file of a project that is not trusted cannot block a search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from nbtools.core.schema.patterns import pattern_occurs

MOST_BYTES = 200_000
"""The part of an ignore file, in bytes, that is read."""
MOST_PATTERNS = 2_000
"""The patterns of an ignore file that are read."""
_CHUNK = 2_000
"""Characters of the patterns that are compiled together; longer patterns have no effect."""
_CLASS = re.compile(r"\[(?P<not>[!^]?)(?P<inside>\]?+(?:\\.|[^\]\\])*)\]", re.DOTALL)
_NOTHING = "[a&&b]"


@dataclass(frozen=True, slots=True)
class _Pattern:
    regex: str
    folder: bool
    ignores: bool


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring patterns that all ignore, or all do not; ``folders`` are those that match only folders."""

    ignores: bool
    names: tuple[str, ...]
    folders: tuple[str, ...]

    def matches(self, path: str, *, folder: bool) -> bool:
        regexes = (*self.names, *self.folders) if folder else self.names
        return any(pattern_occurs(regex, path) for regex in regexes)


class IgnorePatterns:
    """An ignore file's patterns; invalid ones and those beyond ``MOST_PATTERNS`` have no effect."""

    def __init__(self, lines: Iterable[str]) -> None:
        patterns = list(_patterns(lines))
        self.negates = any(not pattern.ignores for pattern in patterns)
        self._runs = tuple(
            _run(ignores, list(run))
            for ignores, run in groupby(reversed(patterns), key=lambda pattern: pattern.ignores)
        )

    def __bool__(self) -> bool:
        return bool(self._runs)

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Returns whether the last matching pattern ignores the path, relative to the file's folder; or None.

        Only the path itself is matched, not the folders above it.
        """
        text = path.encode("utf-8", "replace").decode()
        return next((run.ignores for run in self._runs if run.matches(text, folder=folder)), None)


def _patterns(lines: Iterable[str]) -> Iterator[_Pattern]:
    count = 0
    for line in lines:
        pattern = _pattern(line.rstrip("\r\n"))
        if pattern is not None and len(pattern.regex) <= _CHUNK:
            yield pattern
            count += 1
        if count == MOST_PATTERNS:
            return


def _pattern(line: str) -> _Pattern | None:
    text = re.sub(r"(?<!\\)[ \t]+$", "", line)
    if not text or text.startswith("#"):
        return None
    ignores = not text.startswith("!")
    text = text if ignores else text[1:]
    folder = text.endswith("/")
    body = text.rstrip("/") if folder else text
    names = body.split("/")
    if not body.strip("/"):
        return None
    if len(names) == 1:  # it matches in any folder
        names = ["**", *names]
    elif not names[0]:
        del names[0]
    return _Pattern(_regex(names), folder, ignores)


def _regex(names: list[str]) -> str:
    parts: list[str] = []
    for position, name in enumerate(names):
        last = position == len(names) - 1
        if name == "**":
            parts.append(".+" if last else "(?:[^/]+/)*")
        else:
            parts.append(_name(name) + ("" if last else "/"))
    return "".join(parts)


def _name(name: str) -> str:
    parts: list[str] = []
    position = 0
    while position < len(name):
        letter = name[position]
        if letter == "\\" and position + 1 < len(name):
            position += 1
            parts.append(re.escape(name[position]))
        elif letter == "[":
            found = _CLASS.match(name, position)
            parts.append(_class(found["not"], found["inside"]) if found else _NOTHING)
            position = found.end() - 1 if found else position
        elif letter == "*":
            parts.append("" if parts and parts[-1] == "[^/]*" else "[^/]*")
        else:
            parts.append("[^/]" if letter == "?" else re.escape(letter))
        position += 1
    return "".join(parts)


def _class(negation: str, inside: str) -> str:
    ends = re.findall(r"(\\?.)(?:-(?!$)(\\?.))?", inside, re.DOTALL)
    # Of a range that goes backwards, git matches the first letter.
    ranges = [(first[-1], max(first[-1], last[-1:])) for first, last in ends]
    members = "".join(f"{_in_class(first)}-{_in_class(last)}" for first, last in ranges)
    return f"[[{'^' if negation else ''}{members}]&&[^/]]"


def _in_class(letter: str) -> str:
    return f"\\{letter}" if letter in r"\[]^-&~" else letter


def _run(ignores: bool, patterns: list[_Pattern]) -> _Run:
    names, folders = (
        tuple(_joined(pattern.regex for pattern in patterns if pattern.folder is folder))
        for folder in (False, True)
    )
    return _Run(ignores, names, folders)


def _joined(regexes: Iterable[str]) -> Iterator[str]:
    """Yields regexes that match what one of ``regexes`` matches, of bounded length each."""
    chunk: list[str] = []
    for regex in regexes:
        if chunk and sum(map(len, chunk)) + len(regex) > _CHUNK:
            yield _whole(chunk)
            chunk = []
        chunk.append(regex)
    if chunk:
        yield _whole(chunk)


def _whole(regexes: list[str]) -> str:
    return rf"\A(?s:{'|'.join(regexes)})\z"
