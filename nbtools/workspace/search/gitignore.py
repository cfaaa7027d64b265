"""Decides which names in a folder are ignored, by ripgrep's rules and without git."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

IGNORE_FILES = (".rgignore", ".ignore", ".gitignore")
"""Ignore files by precedence: the first with a matching rule decides; of the same kind, that of the nearer folder."""
REPOSITORY = ".git"
"""A folder that contains this name is the root of a repository; rules of folders above it do not apply."""
_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """A possible ignore file.  ``way``: path from its folder to ours, with a slash at the end; the lowest ``rank`` has precedence."""

    rank: int
    path: Path
    way: str = ""


class IgnoreRules:
    """The ignore rules for the entries directly in ``folder``, a real path.

    If the folder itself is ignored, the user named it on purpose: the rule that ignores it is not applied to its entries.
    """

    def __init__(self, folder: Path) -> None:
        self._rules = [rule for rule in _read(ignore_files(folder)) if not (rule.way and rule.verdict("") is True)]

    def ignores(self, name: str, *, folder: bool) -> bool:
        path = f"{name}/" if folder else name
        return next((verdict for rule in self._rules if (verdict := rule.verdict(path)) is not None), False)

    def below(self, folder: Path, own: Collection[str]) -> IgnoreRules:
        """Returns the rules for a folder directly in ours; ``own``: the names in it that are ignore files or ``.git``."""
        if REPOSITORY in own:
            return IgnoreRules(folder)
        inner = object.__new__(IgnoreRules)
        inherited = [replace(rule, way=f"{rule.way}{folder.name}/") for rule in self._rules]
        own_rules = _read(IgnoreFile(rank, folder / kind) for rank, kind in enumerate(IGNORE_FILES) if kind in own)
        inner._rules = sorted([*own_rules, *inherited], key=lambda rule: rule.rank)
        return inner


@dataclass(frozen=True, slots=True)
class _Rule:
    """The patterns of an ignore file, last first, each with whether it ignores."""

    rank: int
    way: str
    patterns: tuple[tuple[re.Pattern[str], bool], ...]

    def verdict(self, path: str) -> bool | None:
        """Returns whether the last matching pattern ignores the path, as in git; None if no pattern matches."""
        # ``GitIgnoreSpec`` itself handles files only.
        whole = self.way + path
        return next((ignores for pattern, ignores in self.patterns if _fits(pattern, whole)), None)


def ignore_files(folder: Path) -> Iterator[IgnoreFile]:
    """Yields all possible ignore files for the entries of ``folder``, highest precedence first."""
    ways = list(_upwards(folder))
    for rank, kind in enumerate(IGNORE_FILES):
        for above, way in ways:
            yield IgnoreFile(rank, above / kind, way)
    top, way = ways[-1]
    yield IgnoreFile(len(IGNORE_FILES), top / REPOSITORY / "info" / "exclude", way)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    yield IgnoreFile(len(IGNORE_FILES), Path(home, "git", "ignore"), way)


def _upwards(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yields the folder and its parents up to the root of the repository, each with the path down to the folder."""
    way = ""
    for above in (folder, *folder.parents):
        yield above, way
        if (above / REPOSITORY).exists():
            return
        way = f"{above.name}/{way}"


def _fits(pattern: re.Pattern[str], path: str) -> bool:
    """Returns whether the pattern matches the path itself, not only a folder above it; ``dir/**`` does not match ``dir/``."""
    for match in pattern.finditer(path):
        itself = match.end() == len(path)
        if itself if match.groupdict().get("ps_d") else not (itself and path.endswith("/")):
            return True
    return False


def _read(found: Iterator[IgnoreFile]) -> Iterator[_Rule]:
    for source in found:
        lines = _lines(source.path)
        if lines:
            from pathspec import GitIgnoreSpec  # noqa: PLC0415 - takes 45 ms, needed only to exclude ignored files

            patterns = [
                (one.regex, one.include) for one in GitIgnoreSpec.from_lines(lines).patterns if one.regex and one.include is not None
            ]
            yield _Rule(source.rank, source.way, tuple(reversed(patterns)))


def _lines(path: Path) -> list[str]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(_LARGEST).decode("utf-8", "replace").splitlines() if regular else []
    except OSError:
        return []
