"""Searching a folder with ripgrep: which files have how many matching lines, and the lines of a page.

Two passes.  The first counts, so that totals are always true and the order is always the same: ripgrep searches in parallel and finds
files in another order every time, and asking it to sort makes it half as fast.  The second fetches only the lines that are shown.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from nbtools.core.errors import ToolFailure
from nbtools.core.result import Match
from nbtools.workspace.halting import Halt, in_thread
from nbtools.workspace.hiding import NOTHING, Hiding
from nbtools.workspace.notebooks.notebook_file import NotebookFile
from nbtools.workspace.searching import globs
from nbtools.workspace.searching.long_lines import COLUMNS, Windows, is_cut
from nbtools.workspace.searching.ripgrep import real_files, rg, unreadable

_BATCH = 400


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for, and in which files.

    ``glob`` and ``exclude`` without a slash go for names in every folder; a folder that is excluded is so with all that is in it.
    ``multiline``: matches may go over several lines, and a dot stands for the end of a line, too; each of those lines counts.
    ``outputs``: whether all lines of a notebook file count, or only those that hold sources of its cells.
    """

    pattern: str
    ignore_case: bool = False
    fixed: bool = False
    word: bool = False
    glob: str | None = None
    type: str | None = None
    hidden: bool = False
    multiline: bool = False
    exclude: str | None = None
    ignored: bool = False
    outputs: bool = True


@dataclass(frozen=True, slots=True)
class Counted:
    """Files with matching lines and how many, by path; what could not be read."""

    counts: dict[str, int]
    unreadable: tuple[str, ...]


async def count(
    root: Path,
    start: str,
    query: Query,
    *,
    names_only: bool,
    progress: Callable[[dict[str, int]], None],
    hiding: Hiding = NOTHING,
) -> Counted:
    """Counts the matching lines of every file below ``start`` (a folder or a file, relative to ``root``) that is not hidden.

    With ``names_only`` every file counts one: ripgrep then leaves a file at its first match.  ``progress`` sees the dictionary grow.
    Raises ``ToolFailure`` for a pattern or type that is none.
    """
    counts: dict[str, int] = {}
    keep = shown_only(_keeper(query, start), hiding)
    read, options = (_names, _NAMES) if names_only else (_matching_lines, _MULTILINE) if query.multiline else (_counts, _COUNTS)
    rest = b""

    def receive(chunk: bytes) -> None:
        nonlocal rest
        found, rest = read(rest + chunk)
        for path, number in found:
            if keep is None or keep(path):
                counts[path] = counts.get(path, 0) + number
        progress(counts)

    complaints = await search(root, start, query, options, receive, hiding)
    counts = {path: counts[path] for path in sorted(real_files(root, counts))}
    return Counted(counts if query.outputs else await _counted_in_sources(root, query, counts, names_only=names_only), complaints)


async def lines(root: Path, query: Query, wanted: Sequence[tuple[str, int, int]], before: int = 0, after: int = 0) -> list[Match]:
    """Of each wanted file (path, lines to skip, lines to take) those matching lines, in the order of the files, with neighbours.

    Of a line that is too long the part around its first hit, and how long it is.
    """
    shown: list[Match] = []
    for batch in (wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH)):
        paths = [path for path, _, _ in batch]
        sources = {} if query.outputs else await _sources(root, paths)
        most = [] if sources else [f"--max-count={max(skip + take for _, skip, take in batch)}"]
        options = [f"--before-context={before}", f"--after-context={after}", *most, *_flags(query), "--"]
        found = await _matches(root, [*_LINES, *options, *map(_below, paths)])
        found |= {path: [_in_source(match, sources[path]) for match in found.get(path, [])] for path in sources}
        page = [match for path, skip, take in batch for match in _page(found.get(path, []), skip, take, before, after)]
        page = await _with_windows(root, options, page)
        shown += [_in_source(match, sources[match.path]) if match.path in sources else match for match in page]
    return shown


async def search(
    root: Path, start: str, query: Query, options: Sequence[str], receive: Callable[[bytes], None], hiding: Hiding = NOTHING
) -> tuple[str, ...]:
    """Runs ripgrep for ``query`` with ``options`` of its own; what it could not read.  Names stand with ``./`` before them."""
    flags = [*options, *_flags(query), *_file_flags(query), *hiding.rg_flags()]
    return unreadable(await rg(root, [*flags, "--", _below(start)], receive))


def shown_only(keep: Callable[[str], bool] | None, hiding: Hiding) -> Callable[[str], bool] | None:
    """The same without what is hidden, for what ripgrep found: it has other rules for a file that is named than for one it meets."""
    if not hiding:
        return keep
    return lambda path: not hiding.hides(path) and (keep is None or keep(path))


def fits(glob: str | None, start: str) -> Callable[[str], bool]:
    """Whether a path (from the root) fits a query's glob; ripgrep itself leaves out only what cannot."""
    return _fitting(glob, start) if glob is not None else lambda _: True


_OPEN, _CLOSE = b"\x1b[0m\x1b[38;2;17;34;51m", b"\x1b[0m"
_LINES = [
    *("--line-number", "--with-filename", "--no-heading", "--null", f"--max-columns={COLUMNS}", "--max-columns-preview", "--color=always"),
    *("--colors=path:none", "--colors=line:none", "--colors=match:none", "--colors=match:fg:17,34,51"),
]
_LINE = re.compile(rb"\x1b\[0m(.+?)\x1b\[0m\0\x1b\[0m(\d+)\x1b\[0m([:-])(.*)", re.DOTALL)


async def _matches(root: Path, arguments: list[str]) -> dict[str, list[Match]]:
    """By path, in the order of their lines."""
    output = bytearray()
    await rg(root, arguments, output.extend)
    found: dict[str, list[Match]] = {}
    for line in bytes(output).split(b"\n"):
        match = _match(line)
        if match:
            found.setdefault(match.path, []).append(match)
    return {path: found[path] for path in real_files(root, found)}


async def _with_windows(root: Path, options: list[str], page: list[Match]) -> list[Match]:
    """With the lines that are cut searched once more: what is shown without their ends may be without their hits, too."""
    cut = frozenset((match.path, match.line) for match in page if is_cut(match))
    if not cut:
        return page
    windows = Windows(cut)
    await rg(root, ["--json", *options, *sorted({_below(path) for path, _ in cut})], windows.receive)
    return [windows.found.get((match.path, match.line), match) for match in page]


async def _counted_in_sources(root: Path, query: Query, counts: dict[str, int], *, names_only: bool) -> dict[str, int]:
    """``counts`` with those matching lines of notebooks that hold sources of cells; a notebook without one is left out."""
    sources = await _sources(root, counts)
    counts = dict(counts)
    for batch in (list(sources)[start : start + _BATCH] for start in range(0, len(sources), _BATCH)):
        output = bytearray()
        await rg(root, [*_MULTILINE, "--null", "--with-filename", *_flags(query), "--", *map(_below, batch)], output.extend)
        found = Counter(path for raw, number in _PLACE.findall(output) if int(number) in sources.get(path := os.fsdecode(raw), frozenset()))
        counts |= {path: min(found[path], 1) if names_only else found[path] for path in batch}
    return {path: number for path, number in counts.items() if number}


async def _sources(root: Path, paths: Iterable[str]) -> dict[str, frozenset[int]]:
    """Of those paths that are notebooks the lines that hold sources of cells."""
    notebooks = [path for path in paths if path.endswith(".ipynb")]
    return await in_thread(partial(_read_sources, root, notebooks)) if notebooks else {}


def _read_sources(root: Path, notebooks: Iterable[str], halt: Halt) -> dict[str, frozenset[int]]:
    """Not of a file that cannot be read as a notebook: that is searched as text."""
    found: dict[str, frozenset[int]] = {}
    for path in notebooks:
        halt.check()
        with suppress(ToolFailure, OSError):
            found[path] = NotebookFile((root / path).read_bytes(), path).source_lines()
    return found


def _in_source(match: Match, lines: frozenset[int]) -> Match:
    """A line that holds no source may only be shown as the neighbour of one that does."""
    return match if match.line in lines else replace(match, context=True, ranges=())


def _match(line: bytes) -> Match | None:
    """A line of output; hits stand between colours that nobody else uses."""
    parts = _LINE.fullmatch(line)
    if parts is None:
        return None
    path, number, kind, rest = parts.groups()
    before, *hits = rest.removesuffix(b"\r").split(_OPEN)
    text = before.decode("utf-8", "replace")
    ranges = []
    for hit in hits:
        inside, _, after = hit.partition(_CLOSE)
        start = len(text)
        text += inside.decode("utf-8", "replace")
        ranges.append((start, len(text)))
        text += after.decode("utf-8", "replace")
    return Match(_path(path), int(number), text, tuple(ranges), context=kind == b"-")


def _page(matches: list[Match], skip: int, take: int, before: int, after: int) -> list[Match]:
    """The matching lines from ``skip`` on, and the neighbours of those."""
    shown = set([match.line for match in matches if not match.context][skip : skip + take])
    near = {line + distance for line in shown for distance in range(-before, after + 1)} if before or after else shown
    return [match for match in matches if match.line in (near if match.context else shown)]


_COUNTS = ["--count"]
_NAMES = ["--files-with-matches"]
_MULTILINE = ["--line-number", "--no-heading", "--max-columns=1", "--color=never"]
"""With several lines to a match ripgrep counts matches; so we count the lines that it would show, each cut as short as can be."""
_NAME = re.compile(r"(?:\./)?([^\0]+)\0")
_COUNT = re.compile(r"(?:\./)?([^\0]+)\0(\d+)\n")
_NUMBERED = re.compile(rb"(?:\./)?([^\0]+)\0\d+:[^\n]*\n")
_PLACE = re.compile(rb"(?:\./)?([^\0]+)\0(\d+):[^\n]*\n")
_BINARY = re.compile(rb"^.*: binary file matches \(found .*\)\n", re.MULTILINE)

Read: TypeAlias = tuple[Iterable[tuple[str, int]], bytes]
"""Paths with numbers to add, and what is left of the output for the next time."""


def _names(data: bytes) -> Read:
    end = data.rfind(b"\0") + 1
    return ((path, 1) for path in _NAME.findall(os.fsdecode(data[:end]))), data[end:]


def _counts(data: bytes) -> Read:
    end = _counts_end(data)
    return ((path, int(number)) for path, number in _COUNT.findall(os.fsdecode(data[:end]))), data[end:]


def _matching_lines(data: bytes) -> Read:
    whole = data.rfind(b"\n") + 1
    lines = _BINARY.sub(b"", data[:whole])
    found = Counter(_NUMBERED.findall(lines))
    return ((os.fsdecode(path), number) for path, number in found.items()), data[whole:]


def _counts_end(data: bytes) -> int:
    """Where the last whole ``path NUL count newline`` ends; a path may have newlines of its own."""
    end = data.rfind(b"\n")
    while end >= 0 and not data[data.rfind(b"\0", 0, end) + 1 : end].isdigit():
        end = data.rfind(b"\n", 0, end)
    return end + 1


def _path(raw: bytes) -> str:
    return os.fsdecode(raw.removeprefix(b"./"))


def _below(path: str) -> str:
    return "./" if path == "." else path if os.path.isabs(path) else f"./{path}"


def _keeper(query: Query, start: str) -> Callable[[str], bool] | None:
    """Whether a path fits the query's globs; None where all do."""
    if query.exclude is None:
        return _fitting(query.glob, start) if query.glob is not None else None
    name = query.exclude.rstrip("/")
    out = _fitting(name, start)
    inside = _fitting(f"{name}/**" if "/" in name else f"**/{name}/**", start)
    fit = fits(query.glob, start)
    return lambda path: fit(path) and not out(path) and not inside(path)


def _fitting(glob: str, start: str) -> Callable[[str], bool]:
    """Whether a path fits the glob, as seen from the start or from the root."""
    anywhere = glob if "/" in glob else f"**/{glob}"
    below, whole = globs.compile_glob(anywhere, start), globs.compile_glob(anywhere)
    return lambda path: bool(below.fullmatch(path) or whole.fullmatch(path))


def _flags(query: Query) -> list[str]:
    return [
        *(["--ignore-case"] if query.ignore_case else []),
        *(["--fixed-strings"] if query.fixed else []),
        *(["--word-regexp"] if query.word else []),
        *(["--multiline", "--multiline-dotall"] if query.multiline else []),
        f"--regexp={query.pattern}",
    ]


def _file_flags(query: Query) -> list[str]:
    kinds = [f"--type={query.type}"] if query.type else _narrowed(globs.last_name(query.glob)) if query.glob else []
    pruned = query.exclude is not None and "/" not in query.exclude.rstrip("/")
    return [
        *("--null", "--with-filename", *_hidden(query.hidden), *kinds),
        *(["--no-ignore"] if query.ignored else []),
        *([f"--glob=!{query.exclude}"] if pruned else []),
    ]


def _hidden(hidden: bool) -> list[str]:
    return ["--no-require-git", *(["--hidden", "--glob=!.git"] if hidden else [])]


def _narrowed(name: str) -> list[str]:
    """A type of our own rather than ``--glob``, which would bring ignored files back."""
    return [] if name == "*" else [f"--type-add=nbtools:{name}", "--type=nbtools"]
