"""Rules about paths: where a path is, and which of many rules it falls under.

What a tool changes comes with its links followed (the target's spellings); ``Grounds`` follow those of a path in a command line.
"""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from nbtools.policy.layers import Sourced
from nbtools.policy.rules import Rule

_SPECIAL = re.compile(r"[*?\[\\]")
_ENDING = re.compile(r"\*(\.[^*?\[\\/.]+)")
_ALL = "**"
_PROCESS = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:(?P<cwd>cwd)|root|fd/[^/]+)(?=/|\Z)")
"""Links that lead elsewhere for each process: to its working directory, its root, what it has open."""
_PLAIN = re.compile(r"[A-Za-z0-9_][\w.+-]*(?:/[A-Za-z0-9_][\w.+-]*)*", re.ASCII)
"""A path that stays as it is behind the root."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the file system: ``absolute``, and ``relative`` to the root where it is inside (``.``: the root itself), else empty.

    ``unclear`` says why the path may be another one when the command runs; ``folder``: whether it is known to be one; ``above``: whether
    the workspace lies in it.
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
class Grounds:
    """Where paths start: the workspace's ``root``, the home folder (all its names).  ``own``: folders that hold our own state and settings;
    ``programs``: those in the workspace in which commands look for programs; ``odd_name``: a file of the workspace, if there is one, whose
    name a program may take for an option.

    ``folded``: whether the file system takes names for the same in whatever capitals.  ``real`` is a path with its links followed,
    ``exists`` whether there is something at a path.
    """

    root: str = "/workspace"
    homes: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    folded: bool = sys.platform == "darwin"
    real: Callable[[str], str] = str
    exists: Callable[[str], bool] = lambda _: False
    odd_name: Callable[[], str] = str

    def spot(self, path: str) -> Spot:
        """Of a path that a tool acts on, relative to the root or absolute: taken literally."""
        at_home = (path == "~" or path.startswith("~/")) and bool(self.homes)
        return self._spot(posixpath.join(self.root, self.homes[0] + path[1:] if at_home else path), "")

    def spot_in_command(self, path: str, directory: str, *, known: bool = True) -> Spot:
        """Of a path in a command that is run in ``directory``.  ``known``: whether it stands there as it is."""
        why = "" if known else f"{path} is only known when it runs"
        if directory == "." and not self.folded and _PLAIN.fullmatch(path) and len(self.root) > 1:
            return Spot(f"{self.root}/{path}", path, why)
        if magic := _PROCESS.match(posixpath.normpath(path)) if "/proc/" in path else None:
            why = f"{path} is another one for each process"
            path = f"{'.' if magic['cwd'] else ''}{posixpath.normpath(path)[magic.end() :]}" or "/"
        if path.startswith("~"):
            if self.homes and path[1:2] in ("", "/"):
                path = self.homes[0] + path[1:]
            else:
                why = why or f"{path} is somebody's home folder"
        if not why and re.search(r"[^/.][^/]*/+\.\.(?:/|$)", path):
            why = f"{path} leads back from a folder that may be a link"
        return self._spot(posixpath.join(self.root, directory, path), why)

    def led(self, spot: Spot) -> Spot | None:
        """Where links on the way to it lead; None: there are none, or it is not known which path it will be."""
        real = spot.absolute if spot.unclear else self.real(spot.absolute)
        return None if real == spot.absolute else self._spot(f"{real}/" if spot.folder else real, "")

    def removed(self, path: str, directory: str) -> Iterator[Spot]:
        """What removing ``path`` in ``directory`` may be about: the path as written, and with its links followed."""
        user, _, rest = path.partition("/")
        for home in self.homes[:1]:
            if user in ("~", f"~{posixpath.basename(home)}"):
                path = posixpath.join(home, rest)
        spot = self.spot_in_command(path, directory)
        yield spot
        if (led := self.led(spot)) is not None:
            yield led
        if "/.." in path:  # behind a link that is not where the path's text says
            yield self._spot(self.real(posixpath.join(self.root, directory, path)), "")

    def _spot(self, path: str, unclear: str) -> Spot:
        absolute = self.named(posixpath.normpath(path))
        if absolute.startswith("//"):
            absolute = absolute[1:]
        root, folder = self.named(self.root), path.endswith(("/", "/.", "/.."))
        if absolute == root:
            return Spot(absolute, ".", unclear, folder=True)
        start = root if root.endswith("/") else f"{root}/"
        above = absolute == "/" or root.startswith(f"{absolute}/")
        return Spot(absolute, absolute[len(start) :] if absolute.startswith(start) else "", unclear, folder or above, above)

    def named(self, path: str) -> str:
        """The one name of a path where it has several."""
        return unicodedata.normalize("NFC", path).casefold() if self.folded else path


@dataclass(slots=True)
class _Pattern:
    """One gitignore pattern.  ``prefix``: the folders it begins with, literally; ``whole``: whether that is all it says.

    ``inner``: only what is in the folder, not what has its name.
    """

    text: str
    sourced: Sourced
    prefix: str = ""
    whole: bool = False
    inner: bool = False
    compiled: re.Pattern[str] | None = field(default=None)

    def matches(self, path: str) -> bool:
        """``path`` begins with ``prefix``; a folder's ends with a slash."""
        if self.whole:
            return not self.inner or len(path) > len(self.prefix)
        if self.compiled is None:
            self.compiled = _gitignore(self.text)
        return self.compiled.search(path) is not None


class PathRules:
    """Many rules about paths, found by what they begin with, end with or name, so that a path is held against few of them."""

    def __init__(self, rules: Iterable[Sourced], grounds: Grounds, *, narrow: bool = False) -> None:
        """``narrow``: for rules that allow, so that ``./x`` is the one at the root, and not any ``x``."""
        self.rules = tuple(rules)
        self._inside, self._anywhere = _Half(), _Half()
        for one in self.rules:
            for absolute, text in _patterns(one.rule.spec, grounds, narrow=narrow):
                half = self._anywhere if absolute else self._inside
                half.add(_pattern(grounds.named(text), one))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def covering(self, spot: Spot) -> Sourced | None:
        """A rule about this very path, or, where it is known to be a folder, about all in it."""
        return self._found(spot, "/" if spot.folder else "") if self.rules else None

    def touching(self, spot: Spot) -> Sourced | None:
        """A rule about this path, be it a file or a folder."""
        return self._found(spot, "/") if self.rules else None

    def below(self, spot: Spot) -> Sourced | None:
        """A rule about something in this folder, where the rule says where."""
        found = self._inside.below("." if spot.above else spot.relative) if (spot.inside or spot.above) and self._inside.filled else None
        return found or (self._anywhere.below(spot.absolute[1:] or ".") if self._anywhere.filled else None)

    def perhaps(self, spot: Spot) -> Sourced | None:
        """A rule that something at this path may fall under: what is in a folder, what is only known later."""
        if spot.unclear:
            return self.rules[0] if self.rules else None
        near = self._inside.loose if spot.inside or spot.above else None
        return self.below(spot) or ((near or self._anywhere.loose) if spot.folder else None)

    def _found(self, spot: Spot, end: str) -> Sourced | None:
        found = self._inside.find(spot.relative + end) if spot.relative and self._inside.filled else None
        return found or (self._anywhere.find(spot.absolute[1:] + end) if self._anywhere.filled else None)


class _Half:
    """Patterns that start from one place."""

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
        if pattern.prefix:
            self.prefixes[pattern.prefix].append(pattern)
        elif not _SPECIAL.search(text):
            self.names[text.rstrip("/")].append(pattern)
        elif ending := _ENDING.fullmatch(text):
            self.endings[ending[1]].append(pattern)
        else:
            self.others.append(pattern)

    def find(self, path: str) -> Sourced | None:
        for patterns in self._candidates(path):
            for pattern in patterns:
                if pattern.matches(path):
                    return pattern.sourced
        return None

    def _candidates(self, path: str) -> list[list[_Pattern]]:
        parts = path.rstrip("/").split("/")
        found = []
        if self.prefixes:
            ways = accumulate(parts, "{}/{}".format) if len(parts) > 1 else parts
            found += [self.prefixes[way] for way in ways if way in self.prefixes]
        if self.names:
            found += [self.names[part] for part in parts if part in self.names]
        if self.endings:
            endings = [part[part.rfind(".") :] for part in parts if "." in part]
            found += [self.endings[ending] for ending in endings if ending in self.endings]
        return [*found, self.others] if self.others else found

    @property
    def loose(self) -> Sourced | None:
        """One that does not say in which folder."""
        listed = (*self.others[:1], *next(iter(self.names.values()), ()), *next(iter(self.endings.values()), ()))
        return listed[0].sourced if listed else None

    def below(self, path: str) -> Sourced | None:
        if self._sorted is None:
            self._sorted = sorted(self.prefixes)
        if path == ".":
            return self.prefixes[self._sorted[0]][0].sourced if self._sorted else None
        start = f"{path}/"
        place = bisect_left(self._sorted, start)
        if place < len(self._sorted) and self._sorted[place].startswith(start):
            return self.prefixes[self._sorted[place]][0].sourced
        return None


def from_the_root(rule: Rule) -> str:
    """The spec as a gitignore pattern from the root, or one that begins with ``//`` or ``~/``."""
    return _cleaned(rule.spec.removeprefix("./"))


def _cleaned(text: str) -> str:
    """``.``, ``/`` and nothing are all there is; a number sign begins no comment."""
    return _ALL if text.strip("/") in ("", ".") and text not in ("//", "~") else f"\\{text}" if text.startswith("#") else text


def _patterns(spec: str, grounds: Grounds, *, narrow: bool) -> Iterator[tuple[bool, str]]:
    """Whether it starts from the root of the disk, and the pattern."""
    if spec.startswith("//"):
        yield True, _anchored(spec)
    elif spec == "~" or spec.startswith("~/"):
        for home in grounds.homes:
            yield True, _anchored(re.sub(r"([*?\[\\])", r"\\\1", home) + spec[1:])
    else:
        yield False, f"/{spec[2:]}" if narrow and spec.startswith("./") else _cleaned(spec.removeprefix("./"))


def _anchored(text: str) -> str:
    return f"/{text.strip('/')}{'/' if text.endswith('/') else ''}" if text.strip("/") else _ALL


def _pattern(text: str, sourced: Sourced) -> _Pattern:
    bare = text.strip("/")
    inner = text.endswith("/")
    if bare.endswith("/**") and not _SPECIAL.search(bare[:-3]):
        return _Pattern(text, sourced, bare[:-3], whole=True, inner=True)
    if "/" not in text.rstrip("/"):
        named = not _SPECIAL.search(bare) and not inner
        return _Pattern(text, sourced, "", whole=named)
    if not _SPECIAL.search(bare):
        return _Pattern(text, sourced, bare, whole=True, inner=inner)
    segments = bare.split("/")
    literal = next(place for place, segment in enumerate(segments) if _SPECIAL.search(segment))
    return _Pattern(text, sourced, "/".join(segments[:literal]))


def _gitignore(pattern: str) -> re.Pattern[str]:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - 45 ms: only rules with stars in paths pay for it

    found = next(iter(GitIgnoreSpec.from_lines([pattern]).patterns)).regex
    return found if found is not None else re.compile(r"(?!)")
