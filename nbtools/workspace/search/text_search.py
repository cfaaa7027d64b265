"""Searches file contents with ripgrep: counts matching lines by file, and returns the lines of a page.

There are two passes.  The first counts, so that totals are exact and the order is deterministic (ripgrep
searches in parallel in random order, and its own sorting is half as fast).  The second returns only the lines
of the page.  Long lines are cut to the part around the first match.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from nbtools.core.result import Match
from nbtools.workspace.files.read_filter import NO_FILTER, ReadFilter
from nbtools.workspace.search import globs
from nbtools.workspace.search.project_ignore import IgnoreFilter
from nbtools.workspace.search.ripgrep import parse_unreadable, run_ripgrep, workspace_files

COLUMNS = 500
"""Maximum number of characters of a line."""


def is_cut(match: Match) -> bool:
    """Whether ripgrep, limited to ``COLUMNS`` bytes, may have cut this line: it then adds a note in [ ]."""
    return len(match.text.encode("utf-8", "replace")) > COLUMNS and match.text.endswith("]")


class LongLineReader:
    """Reads ripgrep's JSON output and keeps the part around the first match of each line in ``wanted``."""

    def __init__(self, wanted: frozenset[tuple[str, int]]) -> None:
        self.found: dict[tuple[str, int], Match] = {}
        self._wanted = wanted
        self._pieces: list[bytes] = []

    def receive(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._event(b"".join([*self._pieces, line]))
            self._pieces = []
        self._pieces.append(rest)

    def _event(self, line: bytes) -> None:
        event = json.loads(line)
        if event["type"] not in {"match", "context"}:
            return
        data = event["data"]
        path = os.fsdecode(json_bytes(data["path"]).removeprefix(b"./"))
        hits = [(hit["start"], hit["end"]) for hit in data["submatches"]]
        start = 0
        for number, raw in enumerate(
            json_bytes(data["lines"]).removesuffix(b"\n").split(b"\n"), data["line_number"]
        ):
            if (path, number) in self._wanted:
                stop = start + len(raw)
                inside = [
                    (max(left, start) - start, min(right, stop) - start)
                    for left, right in hits
                    if left < stop and right > start
                ]
                self.found[path, number] = _window(
                    path, number, raw, inside, context=event["type"] == "context"
                )
            start += len(raw) + 1


def _window(path: str, number: int, raw: bytes, hits: Sequence[tuple[int, int]], *, context: bool) -> Match:
    """Cuts a line to the part around its first hit; of ``hits`` (bytes), those in that part are marked."""
    text = raw.removesuffix(b"\r").decode("utf-8", "replace")
    first = len(raw[: hits[0][0]].decode("utf-8", "replace")) if hits else 0
    left = max(0, min(first - COLUMNS // 5, len(text) - COLUMNS)) if first > COLUMNS // 2 else 0
    right = left + COLUMNS
    lead = "…" if left else ""
    note = f" [{len(text):,} characters in all]" if len(text) > COLUMNS else ""
    if right < len(text):
        note = f"…{note}"
    ranges = tuple(
        (len(lead) + begin - left, len(lead) + min(end, right) - left)
        for begin, end in (_characters(raw, hit) for hit in hits[:COLUMNS])
        if left <= begin < right
    )
    return Match(path, number, f"{lead}{text[left:right]}{note}", ranges, context)


def _characters(raw: bytes, hit: tuple[int, int]) -> tuple[int, int]:
    begin = len(raw[: hit[0]].decode("utf-8", "replace"))
    return begin, begin + len(raw[hit[0] : hit[1]].decode("utf-8", "replace"))


def json_bytes(field: Mapping[str, str]) -> bytes:
    """Decodes a field of ripgrep's JSON: text, or base64 for invalid UTF-8."""
    return field["text"].encode() if "text" in field else base64.b64decode(field["bytes"])


_BATCH = 400
NOTEBOOK = ".ipynb"
"""The ending of a notebook's name."""
_NOTEBOOK_TYPE = ("--type-add=nbtoolsnotebook:*.ipynb",)
ONLY_NOTEBOOKS = (*_NOTEBOOK_TYPE, "--type=nbtoolsnotebook")
"""Flags that restrict ripgrep to notebooks: a type, unlike a glob, spares folders and ignore rules."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search pattern and the files to search.

    ``glob`` and ``exclude`` without a slash match names in every folder; an excluded folder is excluded with
    its content. ``multiline``: matches may span lines, and a dot also matches line endings; each of these
    lines counts. ``cells``: notebooks are left out here, because ``notebook_search`` searches their cells,
    and with ``outputs`` the cells' outputs.
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
    cells: bool = False
    outputs: bool = False


def with_literal_names(query: Query, root: Path, start: str) -> Query:
    """Escapes globs that are an existing path from ``start`` or ``root``: ``file[1].txt``."""

    def literal(glob: str | None) -> str | None:
        exists = (
            glob is not None
            and globs.escape(glob) != glob
            and any(os.path.lexists(root / folder / glob) for folder in (start, "."))
        )
        return globs.escape(glob) if glob is not None and exists else glob

    return replace(query, glob=literal(query.glob), exclude=literal(query.exclude))


@dataclass(frozen=True, slots=True)
class MatchCounts:
    """The numbers of matching lines by file, and the files that could not be read."""

    counts: dict[str, int]
    unreadable: tuple[str, ...]


async def count_matches(
    root: Path,
    start: str,
    query: Query,
    *,
    names_only: bool,
    progress: Callable[[dict[str, int]], None],
    hiding: ReadFilter = NO_FILTER,
    ignoring: IgnoreFilter | None = None,
) -> MatchCounts:
    """Counts the matching lines of every visible file below ``start`` (folder or file, relative to ``root``).

    With ``names_only`` every file counts as one, and ripgrep stops at its first match.  ``progress`` is
    called with the growing dictionary.  What ``ignoring`` ignores is left out.  Raises ``ToolFailure`` for an
    invalid pattern or type.
    """
    counts: dict[str, int] = {}
    keep = path_filter(query, start, hiding, ignoring)
    if query.cells and start.endswith(NOTEBOOK) and (root / start).is_file():
        return MatchCounts(counts, ())
    if ignoring is not None and ignoring.negates:
        query = replace(query, ignored=True)
    counter = _Counter(query, names_only=names_only)

    def receive(chunk: bytes) -> None:
        for path, number in counter.read(chunk):
            if keep(path):
                counts[path] = counts.get(path, 0) + number
        progress(counts)

    unreadable_files = await search(root, start, query, counter.options, receive, hiding)
    return MatchCounts(
        {path: counts[path] for path in sorted(workspace_files(root, counts))}, unreadable_files
    )


async def count_in(
    root: Path, paths: Sequence[str], query: Query, options: Sequence[str], *, names_only: bool
) -> dict[str, int]:
    """Counts the matching lines of ``paths`` and files below; only ``options`` select the files."""
    counter, counts = _Counter(query, names_only=names_only), Counter[str]()

    def receive(chunk: bytes) -> None:
        for path, number in counter.read(chunk):
            counts[path] += number

    await run_ripgrep(root, [*counter.options, *options, *_flags(query), "--", *paths], receive)
    return dict(counts)


async def places_in(
    root: Path, paths: Sequence[str], query: Query, options: Sequence[str]
) -> list[tuple[str, int]]:
    """Returns the file and number of every matching line of ``paths`` and the files below them."""
    output = bytearray()
    await run_ripgrep(root, [*_MULTILINE, *options, *_flags(query), "--", *paths], output.extend)
    return [(os.fsdecode(path), int(line)) for path, line in _PLACE.findall(bytes(output))]


class _Counter:
    """Reads counts from ripgrep's output, run with ``options``, as it arrives."""

    def __init__(self, query: Query, *, names_only: bool) -> None:
        self._parse, self.options = _counts, ["--count"]
        if names_only:
            self._parse, self.options = _names, ["--files-with-matches"]
        elif query.multiline:
            self._parse, self.options = _matching_lines, _MULTILINE
        self._rest = b""

    def read(self, chunk: bytes) -> Iterable[tuple[str, int]]:
        """Returns further paths with counts to add."""
        found, self._rest = self._parse(self._rest + chunk)
        return found


async def matching_lines(
    root: Path, query: Query, wanted: Sequence[tuple[str, int, int]], before: int = 0, after: int = 0
) -> list[Match]:
    """Returns matching lines with context for each of ``wanted`` (path, lines to skip, lines to take).

    A long line is cut to the part around its first hit, with a note on its length.
    """
    result: list[Match] = []
    for batch in (wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH)):
        # --text: a file that is named is searched beyond its first NUL,
        # but then ripgrep prints no lines of it.
        options = [f"--max-count={max(skip + take for _, skip, take in batch)}", "--text"]
        found = await lines_in(root, [below(path) for path, _, _ in batch], query, options, before, after)
        page = [
            match
            for path, skip, take in batch
            for match in _page(found.matches.get(path, []), skip, take, before, after)
        ]
        result += await found.with_windows(page)
    return result


@dataclass(frozen=True, slots=True)
class FoundLines:
    """The matching lines of a search by path, in their order, with context lines between them."""

    matches: dict[str, list[Match]]
    root: Path
    options: Sequence[str]

    async def with_windows(self, page: list[Match]) -> list[Match]:
        """Returns lines of this search in which cut lines show the part around their first hit."""
        # Searches cut lines again, because the cut part may contain the hits.
        cut = frozenset((match.path, match.line) for match in page if is_cut(match))
        if not cut:
            return page
        windows = LongLineReader(cut)
        await run_ripgrep(
            self.root, ["--json", *self.options, *sorted({below(path) for path, _ in cut})], windows.receive
        )
        return [windows.found.get((match.path, match.line), match) for match in page]


async def lines_in(
    root: Path, paths: Sequence[str], query: Query, options: Sequence[str], before: int, after: int
) -> FoundLines:
    """Returns matching lines with context of ``paths`` and files below, as ``options`` select them."""
    options = [f"--before-context={before}", f"--after-context={after}", *options, *_flags(query), "--"]
    output = bytearray()
    await run_ripgrep(root, [*_LINES.split(), *options, *paths], output.extend)
    found: dict[str, list[Match]] = {}
    for parts in _LINE.finditer(bytes(output)):
        match = _match(parts)
        found.setdefault(match.path, []).append(match)
    matches = {path: found[path] for path in workspace_files(root, found)}
    return FoundLines(matches, root, options)


def path_filter(
    query: Query, start: str, hiding: ReadFilter, ignoring: IgnoreFilter | None = None
) -> Callable[[str], bool]:
    """Returns whether a path (from the root) is searched, as a function.

    ripgrep itself filters by names only, and not the files that are its arguments.
    """
    checks: list[Callable[[str], bool]] = []
    if hiding:
        checks.append(lambda path: not hiding.hides(path))
    if query.glob is not None:
        checks.append(_glob_matcher(query.glob, start))
    if query.exclude is not None:
        name = query.exclude.rstrip("/")
        excluded = _glob_matcher(name, start)
        inside = _glob_matcher(f"{name}/**" if "/" in name else f"**/{name}/**", start)
        checks.append(lambda path: not (excluded(path) or inside(path)))
    if ignoring is not None:
        beside = ignoring.beside_ripgrep()
        checks.append(lambda path: not beside.ignores(path))
    if len(checks) > 1:
        return lambda path: all(check(path) for check in checks)
    return checks[0] if checks else lambda _: True


async def search(
    root: Path,
    start: str,
    query: Query,
    options: Sequence[str],
    receive: Callable[[bytes], None],
    hiding: ReadFilter = NO_FILTER,
) -> tuple[str, ...]:
    """Runs ripgrep; returns what it could not read. Reported names begin with ``./``."""
    flags = [*options, *_flags(query), *file_flags(query), *hiding.rg_flags()]
    return parse_unreadable(await run_ripgrep(root, [*flags, "--", below(start)], receive))


_OPEN, _CLOSE = b"\x1b[0m\x1b[38;2;17;34;51m", b"\x1b[0m"
_LINES = (
    f"--line-number --with-filename --no-heading --null --no-context-separator --max-columns={COLUMNS}"
    " --max-columns-preview --color=always --colors=path:none --colors=line:none --colors=match:none"
    " --colors=match:fg:17,34,51"
)
_LINE = re.compile(rb"\x1b\[0m([^\0]+)\x1b\[0m\0\x1b\[0m(\d+)\x1b\[0m([:-])([^\n]*)\n?")
"""The name of a file may contain line breaks."""


def _match(parts: re.Match[bytes]) -> Match:
    """Converts a line of output; hits are between unique colour sequences."""
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
    text = text.removesuffix("\r")  # inside a hit that goes on in the next line
    hit_ranges = tuple((start, min(end, len(text))) for start, end in ranges)
    return Match(path_of(path), int(number), text, hit_ranges, context=kind == b"-")


def _page(matches: list[Match], skip: int, take: int, before: int, after: int) -> list[Match]:
    """Returns the matching lines from ``skip`` on, with their context lines."""
    numbers = set([match.line for match in matches if not match.context][skip : skip + take])
    near = (
        {line + distance for line in numbers for distance in range(-before, after + 1)}
        if before or after
        else numbers
    )
    return [match for match in matches if match.line in (near if match.context else numbers)]


_MULTILINE = ["--line-number", "--no-heading", "--max-columns=1", "--color=never"]
"""Multiline, ripgrep counts matches, not lines: so its output lines, cut short, are counted."""
_NAME = re.compile(r"(?:\./)?([^\0]+)\0")
_COUNT = re.compile(r"(?:\./)?([^\0]+)\0(\d+)\r?\n")
"""With ``--crlf``, ripgrep itself writes CRLF."""
_NUMBERED = re.compile(rb"(?:\./)?([^\0]+)\0\d+:[^\n]*\n")
_PLACE = re.compile(rb"(?:\./)?([^\0]+)\0(\d+):[^\n]*\n")
_BINARY = re.compile(rb"^.*: binary file matches \(found .*\)\n", re.MULTILINE)

Read: TypeAlias = tuple[Iterable[tuple[str, int]], bytes]
"""Paths with counts to add, and the rest of the output that is not complete yet."""


def _names(data: bytes) -> Read:
    end = data.rfind(b"\0") + 1
    return ((path, 1) for path in _NAME.findall(os.fsdecode(data[:end]))), data[end:]


def _counts(data: bytes) -> Read:
    # A path may contain newlines.
    end = data.rfind(b"\n")
    while end >= 0 and not data[data.rfind(b"\0", 0, end) + 1 : end].removesuffix(b"\r").isdigit():
        end = data.rfind(b"\n", 0, end)
    end += 1
    return ((path, int(number)) for path, number in _COUNT.findall(os.fsdecode(data[:end]))), data[end:]


def _matching_lines(data: bytes) -> Read:
    whole = data.rfind(b"\n") + 1
    lines = _BINARY.sub(b"", data[:whole])
    found = Counter(_NUMBERED.findall(lines))
    return ((os.fsdecode(path), number) for path, number in found.items()), data[whole:]


def path_of(raw: bytes) -> str:
    """Returns the path that ripgrep reported."""
    return os.fsdecode(raw.removeprefix(b"./"))


def below(path: str) -> str:
    """Returns a path as an argument of ripgrep."""
    if path == ".":
        return "./"
    return path if os.path.isabs(path) else f"./{path}"


def _glob_matcher(glob: str, start: str) -> Callable[[str], bool]:
    """Returns a function that tells whether a path matches the glob, relative to the start or to the root."""
    anywhere = glob if "/" in glob else f"**/{glob}"
    below, whole = globs.compile_glob(anywhere, start), globs.compile_glob(anywhere)
    return lambda path: bool(below.fullmatch(path) or whole.fullmatch(path))


def _flags(query: Query) -> list[str]:
    query = with_any_ending(query) if query.multiline else query
    anchored = (
        not query.fixed
        and "$" in query.pattern
        and not _NAMES_CR.search(query.pattern.replace(_ANY_ENDING, ""))
    )
    return [
        *(["--ignore-case"] if query.ignore_case else []),
        *(["--fixed-strings"] if query.fixed else []),
        *(["--word-regexp"] if query.word else []),
        *(["--multiline", "--multiline-dotall"] if query.multiline else []),
        *(["--crlf"] if anchored else []),
        f"--regexp={query.pattern}",
    ]


_NAMES_CR = re.compile(r"\r|\\r|\\x(?:0[dD]|\{0*[dD]\})")
"""A carriage return in a pattern, which could not match if CRLF ended the line."""
_META = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
_ANY_ENDING = r"(?:\r?\n)"
_ENDING = re.compile(r"\\n|\n|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^]\\])*\]", re.DOTALL)
"""A line break in a regular expression; other escapes and classes are skipped."""


def with_any_ending(query: Query) -> Query:
    """Returns the query with line breaks that match CRLF too, unless the pattern names CR."""
    pattern = query.pattern
    if query.fixed:
        lines = (_META.sub(r"\\\g<0>", line) for line in pattern.split("\n"))
        if "\n" in pattern and "\r" not in pattern:
            return replace(query, fixed=False, pattern=_ANY_ENDING.join(lines))
        return query
    if _NAMES_CR.search(pattern) or re.search(r"\(\?[a-zA-Z]*x", pattern):
        return query
    return replace(
        query,
        pattern=_ENDING.sub(lambda found: _ANY_ENDING if found[0] in {"\n", "\\n"} else found[0], pattern),
    )


def file_flags(query: Query) -> list[str]:
    """Returns ripgrep's flags for the files that the query searches."""
    name = globs.last_name(query.glob) if query.glob else "*"
    kinds = [f"--type={query.type}"] if query.type else []
    if not query.type and name != "*":
        # A type of our own: ``--glob`` would include ignored files again.
        kinds = [f"--type-add=nbtools:{name}", "--type=nbtools"]
    pruned = query.exclude is not None and "/" not in query.exclude.rstrip("/")
    return [
        *("--null", "--with-filename", "--no-require-git"),
        *(["--hidden", "--glob=!.git"] if query.hidden else []),
        *kinds,
        *([*_NOTEBOOK_TYPE, "--type-not=nbtoolsnotebook"] if query.cells else []),
        *(["--no-ignore"] if query.ignored else []),
        *([f"--glob=!{query.exclude}"] if pruned else []),
    ]
