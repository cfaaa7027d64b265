"""Decides which names in a folder are ignored, by ripgrep's rules and without git.

Patterns are matched in time linear in the path, whatever they are: the engine is Rust's, without
backtracking, so that an ignore file of a project that is not trusted cannot block a search.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path

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


IGNORE_FILES = (".rgignore", ".ignore", ".gitignore")
"""Ignore files by precedence: the first with a matching rule decides; then that of the nearer folder."""
REPOSITORY = ".git"
"""A folder that contains this name is the root of a repository; rules of folders above it do not apply."""


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """A possible ignore file. ``way``: path from its folder to ours, with slash; lowest ``rank`` first."""

    rank: int
    path: Path
    way: str = ""


class IgnoreRules:
    """The ignore rules for the entries of ``folder``, a real path: files of these ``kinds``, and git's own.

    If the folder itself is ignored, the user named it on purpose:
    the rule that ignores it is not applied to its entries.
    """

    def __init__(self, folder: Path, kinds: Collection[str] = IGNORE_FILES) -> None:
        self._rules = [
            rule for rule in _read(ignore_files(folder, kinds)) if not (rule.way and rule.verdict("") is True)
        ]

    def ignores(self, name: str, *, folder: bool) -> bool:
        path = f"{name}/" if folder else name
        return next((verdict for rule in self._rules if (verdict := rule.verdict(path)) is not None), False)

    def below(self, folder: Path, own: Collection[str]) -> IgnoreRules:
        """Returns the rules for a folder in ours; ``own``: names of ignore files or ``.git`` in it."""
        if REPOSITORY in own:
            return IgnoreRules(folder)
        inner = object.__new__(IgnoreRules)
        inherited = [replace(rule, way=f"{rule.way}{folder.name}/") for rule in self._rules]
        own_rules = _read(
            IgnoreFile(rank, folder / kind) for rank, kind in enumerate(IGNORE_FILES) if kind in own
        )
        inner._rules = sorted([*own_rules, *inherited], key=lambda rule: rule.rank)
        return inner


@dataclass(frozen=True, slots=True)
class _Rule:
    """The patterns of an ignore file."""

    rank: int
    way: str
    patterns: IgnorePatterns

    def verdict(self, path: str) -> bool | None:
        """Returns whether the last matching pattern ignores the path, as in git; None without one."""
        whole = self.way + path
        return self.patterns.verdict(whole.removesuffix("/"), folder=whole.endswith("/"))


def ignore_files(folder: Path, kinds: Collection[str] = IGNORE_FILES) -> Iterator[IgnoreFile]:
    """Yields the possible ignore files for the entries of ``folder``, highest precedence first."""
    ways = list(_upwards(folder))
    for rank, kind in enumerate(kinds):
        for above, way in ways:
            yield IgnoreFile(rank, above / kind, way)
    top, way = ways[-1]
    yield IgnoreFile(len(IGNORE_FILES), top / REPOSITORY / "info" / "exclude", way)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    yield IgnoreFile(len(IGNORE_FILES), Path(home, "git", "ignore"), way)


def _upwards(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yields the folder and its parents up to the repository's root, each with the path back down."""
    way = ""
    for above in (folder, *folder.parents):
        yield above, way
        if (above / REPOSITORY).exists():
            return
        way = f"{above.name}/{way}"


def _read(found: Iterator[IgnoreFile]) -> Iterator[_Rule]:
    for source in found:
        patterns = read_patterns(source.path)
        if patterns:
            yield _Rule(source.rank, source.way, patterns)


def read_patterns(path: Path) -> IgnorePatterns:
    """Returns the patterns of an ignore file; none if it is missing, unreadable or no regular file."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            return _parse(file.read(MOST_BYTES) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b"")
    except OSError:
        return _parse(b"")


@lru_cache(maxsize=64)
def _parse(content: bytes) -> IgnorePatterns:
    return IgnorePatterns(content.decode("utf-8", "replace").removeprefix("\ufeff").split("\n"))
