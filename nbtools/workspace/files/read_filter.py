"""Filters files that must not be read, by gitignore patterns, for listings and searches."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from nbtools.workspace.paths import expand_home

_NORMALIZE_NAMES = sys.platform == "darwin"
"""On macOS a file has many names: in other case, or with composed or decomposed characters."""
_ALL = "/**"


class ReadFilter:
    """Gitignore ``patterns`` relative to ``root``; ``//`` is the root of the disk, ``~/`` the home folder.

    Each pattern stands alone: negated patterns (``!``) have no effect.
    """

    __slots__ = ("_root", "_within", "patterns")

    def __init__(self, root: str, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns)
        self._root = root.rstrip("/")
        self._within = tuple(
            dict.fromkeys(inner for pattern in patterns for inner in _within(pattern, self._root))
        )

    def __bool__(self) -> bool:
        return bool(self._within)

    def hides(self, path: str, *, folder: bool = False) -> bool:
        """Whether a path, absolute or relative to the root, is hidden; paths outside are never hidden."""
        if not self._within:
            return False
        inner = path.removeprefix(f"{self._root}/") if path.startswith("/") else path
        if inner.startswith("/") or inner == ".":
            return False
        return _matcher(self._within)(f"{_normalized(inner)}/" if folder else _normalized(inner)) is not None

    def rg_flags(self) -> list[str]:
        """Returns flags that make ripgrep, started at the root, exclude the same files."""
        kind = "iglob" if _NORMALIZE_NAMES else "glob"
        return [f"--{kind}=!{_BRACE.sub(_escaped, pattern)}" for pattern in self._within]


NO_FILTER = ReadFilter("", ())
NOT_SEARCHED = "files that the policy does not allow to read are not searched"


def hidden_count_note(count: int, noun: str = "entry", nouns: str = "entries") -> str:
    """Returns a note on the number of hidden entries for a result; empty for none."""
    if not count:
        return ""
    return f"{count:,} {f'{noun} is' if count == 1 else f'{nouns} are'} hidden by the policy"


_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
"""ripgrep would treat braces as alternatives, which gitignore patterns do not have."""


def _escaped(match: re.Match[str]) -> str:
    return match[0] if len(match[0]) > 1 else f"\\{match[0]}"


def _within(pattern: str, root: str) -> Iterator[str]:
    """Yields the pattern relative to the root; of an absolute one, what remains after the root's path."""
    expanded = expand_home(pattern)
    if not expanded.strip() or expanded.startswith(("!", "#")):
        return
    if expanded == pattern and not pattern.startswith("//"):
        yield pattern.removeprefix("./")
        return
    parts, root_parts = ([part for part in path.split("/") if part] for path in (expanded, root))
    yield from _remaining(parts, root_parts, folder=expanded.endswith("/"))


def _remaining(pattern: list[str], root: list[str], *, folder: bool) -> Iterator[str]:
    if not pattern:
        yield _ALL
    elif not root:
        yield f"/{'/'.join(pattern)}{'/' if folder else ''}"
    elif pattern[0] == "**":
        yield from _remaining(pattern[1:], root, folder=folder)
        yield from _remaining(pattern, root[1:], folder=folder)
    elif fnmatchcase(_normalized(root[0]), _normalized(pattern[0])):
        yield from _remaining(pattern[1:], root[1:], folder=folder)


def _normalized(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold() if _NORMALIZE_NAMES else path


@functools.lru_cache(maxsize=64)
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """Compiles all patterns into one expression, because it is applied to every name in a folder."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - takes 45 ms; needed only with patterns

    spec = GitIgnoreSpec.from_lines([_normalized(pattern) for pattern in patterns])
    found = [one.regex.pattern for one in spec.patterns if one.include and one.regex is not None]
    return re.compile(
        "|".join(f"(?:{re.sub(r'[(][?]P<[a-z_]+>', '(?:', text)})" for text in found) or r"(?!)", re.DOTALL
    ).match
