"""Resolves paths and finds the rules about paths that cover them.

Tools pass paths with their links followed; for a path in a command line ``PathContext`` follows the links.
"""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate

from nbtools.policy.layers import SourcedRule
from nbtools.policy.patterns import is_path_pattern
from nbtools.policy.rules import Rule
from nbtools.shell.path_text import follow_process_links, normal_path

_SPECIAL = re.compile(r"[*?\[\\]")
_ENDING = re.compile(r"\*(\.[^*?\[\\/.]+)")
_IN_FOLDER = re.compile(r"\*\*/([^*?\[\\/]+)/\*\*")
_ALL = "**"
_PLAIN = re.compile(r"[A-Za-z0-9_][\w.+-]*(?:/[A-Za-z0-9_][\w.+-]*)*", re.ASCII)
"""A relative path that needs no normalisation."""


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A resolved path: ``absolute``, and ``relative`` to the root (``.`` itself), empty if outside.

    ``unclear`` says why the path may be another one when the command runs.  ``folder``: whether it is known
    to be a folder.  ``above``: whether it contains the workspace.
    """

    absolute: str
    relative: str
    unclear: str = ""
    folder: bool = False
    above: bool = False

    @property
    def inside(self) -> bool:
        return bool(self.relative)


@dataclass(frozen=True, slots=True)
class PathContext:
    """Resolves paths relative to the workspace's ``root`` and the home folder (``homes``: all its names).

    ``own_folders``: those with the state and settings of nbtools.  ``program_folders``: those of ``PATH``
    inside the workspace.  ``option_like_name`` returns why a file name in the workspace may be taken for an
    option, empty if there is none.  ``ignores_case``: whether the file system does.  ``real`` follows the
    links of a path, and returns an empty text where it leads to what differs for each process; ``exists``
    says whether a path exists.  ``text`` returns the text of a file, None where it cannot be read;
    ``has_links`` says whether there may be links in a folder.
    """

    root: str = "/workspace"
    homes: tuple[str, ...] = ()
    own_folders: tuple[str, ...] = ()
    program_folders: tuple[str, ...] = ()
    ignores_case: bool = sys.platform == "darwin"
    real: Callable[[str], str] = str
    exists: Callable[[str], bool] = lambda _: False
    text: Callable[[str], str | None] = lambda _: None
    option_like_name: Callable[[], str] = str
    has_links: Callable[[str], bool] = lambda _: False

    def resolve(self, path: str) -> ResolvedPath:
        """Resolves a path that a tool acts on, relative to the root or absolute, taken literally."""
        at_home = (path == "~" or path.startswith("~/")) and bool(self.homes)
        return self._resolved(posixpath.join(self.root, self.homes[0] + path[1:] if at_home else path), "")

    def resolve_in_command(self, path: str, directory: str, *, known: bool = True) -> ResolvedPath:
        """Resolves a path in a command that runs in ``directory``. ``known``: whether the path is literal."""
        why = "" if known else f"{path} is only known when it runs"
        if directory == "." and not self.ignores_case and _PLAIN.fullmatch(path) and len(self.root) > 1:
            return ResolvedPath(f"{self.root}/{path}", path, why)
        if path.startswith("~"):
            if self.homes and path[1:2] in ("", "/"):
                path = self.homes[0] + path[1:]
            else:
                why = why or f"{path} is another user's home folder"
        followed = follow_process_links(path, posixpath.join(self.root, directory))
        end = "/" if path.endswith(("/", "/.", "/..")) or path in (".", "..") else ""
        return self._resolved(followed.path + end, why or followed.unclear)

    def follow_links(self, resolved: ResolvedPath) -> ResolvedPath | None:
        """Returns the path with links followed; None without links, or if only known at run time."""
        real = resolved.absolute if resolved.unclear else self.real(resolved.absolute)
        if not real:
            return replace(resolved, unclear=f"{resolved.absolute} leads to what differs for each process")
        return None if real == resolved.absolute else self._resolved(f"{real}{'/' * resolved.folder}", "")

    def follow_parents(self, path: str, directory: str) -> ResolvedPath | None:
        """Returns where a literal path with ``..`` leads: a link's parent is not the text's. Else None."""
        real = (
            self.real(posixpath.join(self.root, directory, path))
            if "/.." in path and not path.startswith("~")
            else ""
        )
        return self._resolved(real, "") if real else None

    def deletion_paths(self, path: str, directory: str) -> Iterator[ResolvedPath]:
        """Yields the paths that deleting ``path`` may affect: as written, and with links followed."""
        user, _, rest = path.partition("/")
        for home in self.homes[:1]:
            if user in ("~", f"~{posixpath.basename(home)}"):
                path = posixpath.join(home, rest)
        resolved = self.resolve_in_command(path, directory)
        yield resolved
        if (led := self.follow_links(resolved)) is not None:
            yield led
        if (led := self.follow_parents(path, directory)) is not None:
            yield led

    def _resolved(self, path: str, unclear: str) -> ResolvedPath:
        absolute = self.normalise(normal_path(path))
        root, folder = self.normalise(self.root), path.endswith(("/", "/.", "/.."))
        if absolute == root:
            return ResolvedPath(absolute, ".", unclear, folder=True)
        start = root if root.endswith("/") else f"{root}/"
        above = absolute == "/" or root.startswith(f"{absolute}/")
        return ResolvedPath(
            absolute,
            absolute[len(start) :] if absolute.startswith(start) else "",
            unclear,
            folder or above,
            above,
        )

    def normalise(self, path: str) -> str:
        """Normalises a path on a file system that ignores case; returns others unchanged."""
        return unicodedata.normalize("NFC", path).casefold() if self.ignores_case else path


@dataclass(slots=True)
class _Pattern:
    """One gitignore pattern. ``prefix``: the literal folders at its beginning; ``whole``: there is no more.

    ``inner``: whether it covers only the contents of the folder, not a file of that name.  ``folder``: the
    name of a folder at any depth whose contents are all that it covers.
    """

    text: str
    sourced: SourcedRule
    prefix: str = ""
    whole: bool = False
    inner: bool = False
    folder: str = ""
    compiled: re.Pattern[str] | None = field(default=None)

    def matches(self, path: str) -> bool:
        """Whether the pattern covers a path that begins with ``prefix``; a folder ends with a slash."""
        if self.whole:
            return not self.inner or len(path) > len(self.prefix)
        if self.folder:
            return f"/{self.folder}/" in f"/{path}"
        if self.compiled is None:
            from pathspec import GitIgnoreSpec  # noqa: PLC0415 - 45 ms: loaded only for rules with stars in paths

            found = next(iter(GitIgnoreSpec.from_lines([self.text]).patterns)).regex
            self.compiled = found if found is not None else re.compile(r"(?!)")
        return self.compiled.search(path) is not None


class PathRules:
    """Index of rules about paths by prefix, name and suffix, so that few of them are tried for each path."""

    def __init__(self, rules: Iterable[SourcedRule], grounds: PathContext, *, narrow: bool = False) -> None:
        """Indexes the rules.  ``narrow``: for allow rules, where ``./x`` covers only the one at the root."""
        self.rules = tuple(rules)
        self._inside, self._anywhere = _PatternIndex(), _PatternIndex()
        for one in self.rules:
            for absolute, text in _patterns(one.rule.spec, grounds, narrow=narrow):
                index = self._anywhere if absolute else self._inside
                index.add(_pattern(grounds.normalise(text), one))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def find_covering(self, resolved: ResolvedPath) -> SourcedRule | None:
        """Returns a rule that covers the path, or, for a known folder, everything in it."""
        return self._found(resolved, "/" * resolved.folder) if self.rules else None

    def find_touching(self, resolved: ResolvedPath) -> SourcedRule | None:
        """Returns a rule that covers the path as a file or as a folder."""
        return self._found(resolved, "/") if self.rules else None

    def find_below(self, resolved: ResolvedPath) -> SourcedRule | None:
        """Returns a rule about something below the folder, of those that begin with literal folders."""
        found = None
        if (resolved.inside or resolved.above) and self._inside.filled:
            found = self._inside.below("." if resolved.above else resolved.relative)
        return found or (
            self._anywhere.below(resolved.absolute[1:] or ".") if self._anywhere.filled else None
        )

    def find_possible(self, resolved: ResolvedPath) -> SourcedRule | None:
        """Returns a rule that may cover the path or something in it, if only known at run time."""
        if resolved.unclear:
            return self.rules[0] if self.rules else None
        near = self._inside.unanchored if resolved.inside or resolved.above else None
        return self.find_below(resolved) or ((near or self._anywhere.unanchored) if resolved.folder else None)

    def _found(self, resolved: ResolvedPath, end: str) -> SourcedRule | None:
        found = (
            self._inside.find(resolved.relative + end) if resolved.relative and self._inside.filled else None
        )
        return found or (self._anywhere.find(resolved.absolute[1:] + end) if self._anywhere.filled else None)


class _PatternIndex:
    """Patterns relative to one start: the workspace's root or the file system's root."""

    def __init__(self) -> None:
        self.prefixes: dict[str, list[_Pattern]] = defaultdict(list)
        self.names: dict[str, list[_Pattern]] = defaultdict(list)
        self.endings: dict[str, list[_Pattern]] = defaultdict(list)
        self.others: list[_Pattern] = []
        self._sorted: list[str] | None = None
        self.filled = False

    def add(self, pattern: _Pattern) -> None:
        self.filled = True
        text = pattern.text
        if pattern.folder:
            self.names[pattern.folder].append(pattern)
        elif pattern.prefix:
            self.prefixes[pattern.prefix].append(pattern)
        elif not _SPECIAL.search(text):
            self.names[text.rstrip("/")].append(pattern)
        elif ending := _ENDING.fullmatch(text):
            self.endings[ending[1]].append(pattern)
        else:
            self.others.append(pattern)

    def find(self, path: str) -> SourcedRule | None:
        for patterns in self._candidates(path):
            for pattern in patterns:
                if pattern.matches(path):
                    return pattern.sourced
        return None

    def _candidates(self, path: str) -> list[list[_Pattern]]:
        parts = path.rstrip("/").split("/")
        found = []
        if self.prefixes:
            prefixes = accumulate(parts, "{}/{}".format) if len(parts) > 1 else parts
            found += [self.prefixes[prefix] for prefix in prefixes if prefix in self.prefixes]
        if self.names:
            found += [self.names[part] for part in parts if part in self.names]
        if self.endings:
            endings = [part[part.rfind(".") :] for part in parts if "." in part]
            found += [self.endings[ending] for ending in endings if ending in self.endings]
        return [*found, self.others] if self.others else found

    @property
    def unanchored(self) -> SourcedRule | None:
        """A rule whose pattern names no folder, so that it may cover files in any; or None."""
        listed = (
            *self.others[:1],
            *next(iter(self.names.values()), ()),
            *next(iter(self.endings.values()), ()),
        )
        return listed[0].sourced if listed else None

    def below(self, path: str) -> SourcedRule | None:
        if self._sorted is None:
            self._sorted = sorted(self.prefixes)
        if path == ".":
            return self.prefixes[self._sorted[0]][0].sourced if self._sorted else None
        start = f"{path}/"
        place = bisect_left(self._sorted, start)
        if place < len(self._sorted) and self._sorted[place].startswith(start):
            return self.prefixes[self._sorted[place]][0].sourced
        return None


def rooted_pattern(rule: Rule) -> str:
    """Returns the spec as a gitignore pattern relative to the root, or with ``//`` or ``~/``."""
    return _cleaned(rule.spec.removeprefix("./")) if is_path_pattern(rule.spec) else _ALL


def _cleaned(text: str) -> str:
    """Returns ``**`` for ``.``, ``/`` and ""; escapes ``#`` and ``!`` (comment, exception)."""
    if text.strip("/") in ("", ".") and text not in ("//", "~"):
        return _ALL
    return f"\\{text}" if text.startswith(("#", "!")) else text


def _patterns(spec: str, grounds: PathContext, *, narrow: bool) -> Iterator[tuple[bool, str]]:
    """Yields the patterns of a spec, each with whether it starts from the file system's root.

    A spec that is no valid pattern covers everything; in an allow rule it covers nothing.
    """
    if not is_path_pattern(spec):
        yield from () if narrow else ((True, _ALL), (False, _ALL))
    elif spec.startswith("//"):
        yield True, _anchored(spec)
    elif spec == "~" or spec.startswith("~/"):
        for home in grounds.homes:
            yield True, _anchored(re.sub(r"([*?\[\\])", r"\\\1", home) + spec[1:])
    else:
        yield False, f"/{spec[2:]}" if narrow and spec.startswith("./") else _cleaned(spec.removeprefix("./"))


def _anchored(text: str) -> str:
    return f"/{text.strip('/')}{'/' * text.endswith('/')}" if text.strip("/") else _ALL


def _pattern(text: str, sourced: SourcedRule) -> _Pattern:
    bare = text.strip("/")
    inner = text.endswith("/")
    if bare.endswith("/**") and not _SPECIAL.search(bare[:-3]):
        return _Pattern(text, sourced, bare[:-3], whole=True, inner=True)
    if (anywhere := _IN_FOLDER.fullmatch(bare)) is not None:
        return _Pattern(text, sourced, folder=anywhere[1])
    if "/" not in text.rstrip("/"):
        named = not _SPECIAL.search(bare) and not inner
        return _Pattern(text, sourced, "", whole=named)
    if not _SPECIAL.search(bare):
        return _Pattern(text, sourced, bare, whole=True, inner=inner)
    segments = bare.split("/")
    literal = next(place for place, segment in enumerate(segments) if _SPECIAL.search(segment))
    return _Pattern(text, sourced, "/".join(segments[:literal]))
