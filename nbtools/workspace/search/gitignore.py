"""Decides which names in a folder are ignored, by ripgrep's rules and without git."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from nbtools.workspace.search.ignore_patterns import MOST_BYTES, IgnorePatterns

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
            return _patterns(file.read(MOST_BYTES) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b"")
    except OSError:
        return _patterns(b"")


@lru_cache(maxsize=64)
def _patterns(content: bytes) -> IgnorePatterns:
    return IgnorePatterns(content.decode("utf-8", "replace").removeprefix("\ufeff").split("\n"))
