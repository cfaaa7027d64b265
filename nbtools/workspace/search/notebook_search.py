"""Searches notebooks as cells: the source of each cell and, on request, its outputs as text.

ripgrep lists the notebooks, their cells are written to a temporary file with a table of their lines, and
ripgrep searches it.  So patterns mean the same as in other files, and neither a match nor its context goes
beyond a cell.  If the pattern is plain text, ripgrep first selects the notebooks whose JSON may contain it;
that selection never loses a match (see ``_json_pattern``).  A file that is not a valid notebook, or too
large, is searched as text.
"""

from __future__ import annotations

import re
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from nbtools.core.errors import ToolFailure
from nbtools.core.result import CellPlace, Match
from nbtools.workspace.cancellation import CancellationFlag, run_in_thread
from nbtools.workspace.files.read import read_bytes
from nbtools.workspace.files.read_filter import ReadFilter
from nbtools.workspace.notebooks.cell_outputs import join_lines
from nbtools.workspace.notebooks.notebook_file import NotebookFile
from nbtools.workspace.search import globs, text_search
from nbtools.workspace.search.project_ignore import IgnoreFilter
from nbtools.workspace.search.ripgrep import parse_unreadable, run_ripgrep, workspace_files
from nbtools.workspace.search.text_search import NOTEBOOK, MatchCounts, Query

_BATCH = 100
"""Notebooks whose cells are in the temporary folder at one time."""
_TYPES = frozenset({"all", "jupyter"})
"""ripgrep's file types that contain notebooks."""
_PLAIN = re.compile(r"[A-Za-z0-9 _,:;=<>@%!'-]+")
"""Text that means itself in a regular expression and that JSON need not escape."""
_PLAIN_IF_FIXED = re.compile(r"[ !#-.0-\[\]-~]+")
"""Printable ASCII without what JSON escapes: the quote, the slash and the backslash."""
_JOINED = "cells"
_WHOLE_TEXT = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-")
"""Patterns that look at the whole text: its beginning and end, and flags that are switched off."""
_CELL_FILES = ("--text", "--encoding=none", "--no-ignore", "--hidden", "--null", "--with-filename")


async def count_matches(
    root: Path,
    notebooks: Notebooks,
    query: Query,
    *,
    names_only: bool,
    progress: Callable[[dict[str, int]], None],
) -> MatchCounts:
    """Counts the matching lines of ``notebooks``, like ``text_search.count_matches``."""
    counts: dict[str, int] = {}
    paths = notebooks.paths
    for batch in (paths[first : first + _BATCH] for first in range(0, len(paths), _BATCH)):
        with tempfile.TemporaryDirectory(prefix="nbtools-cells-") as folder:
            cells = await run_in_thread(partial(_write_cells, root, batch, Path(folder), query))
            for name, line in await text_search.places_in(cells.folder, ["./"], query, _CELL_FILES):
                path = cells.at(name, line).path
                counts[path] = 1 if names_only else counts.get(path, 0) + 1
        if cells.invalid:
            files = [f"./{path}" for path in cells.invalid]
            counts |= await text_search.count_in(
                root, files, query, ("--null", "--with-filename"), names_only=names_only
            )
        progress(counts)
    return MatchCounts({path: counts[path] for path in sorted(counts)}, notebooks.unreadable)


async def matching_lines(
    root: Path, query: Query, wanted: Sequence[tuple[str, int, int]], before: int = 0, after: int = 0
) -> list[Match]:
    """Does the same as ``text_search.matching_lines``; line numbers count within the cell."""
    result: list[Match] = []
    for batch in (wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH)):
        with tempfile.TemporaryDirectory(prefix="nbtools-cells-") as folder:
            paths = [path for path, _, _ in batch]
            cells = await run_in_thread(partial(_write_cells, root, paths, Path(folder), query))
            found = await text_search.lines_in(cells.folder, ["./"], query, _CELL_FILES, before, after)
            by_path: dict[str, list[Match]] = {}
            for name in sorted(found.matches):
                for match in found.matches[name]:
                    by_path.setdefault(cells.at(name, match.line).path, []).append(match)
            for path, skip, take in batch:
                if path in cells.invalid:
                    result += await text_search.matching_lines(
                        root, query, [(path, skip, take)], before, after
                    )
                else:
                    page = await found.with_windows(
                        _page(cells, by_path.get(path, []), skip, take, before, after)
                    )
                    result += map(cells.in_cell, page)
    return result


def _page(
    cells: _Cells, matches: Sequence[Match], skip: int, take: int, before: int, after: int
) -> list[Match]:
    """Returns the matching lines from ``skip`` on, with the context lines in their cells."""
    hits = [match for match in matches if not match.context][skip : skip + take]
    lines = {(match.path, match.line) for match in hits}
    starts = {(match.path, match.line): cells.at(match.path, match.line).first for match in matches}
    near = {
        (match.path, match.line + distance, starts[match.path, match.line])
        for match in hits
        for distance in range(-before, after + 1)
    }
    return [
        match
        for match in matches
        if (
            (*(place := (match.path, match.line)), starts[place]) in near
            if match.context
            else (match.path, match.line) in lines
        )
    ]


@dataclass(frozen=True, slots=True)
class Notebooks:
    """The notebooks that may contain a match, sorted, and what ripgrep could not read."""

    paths: list[str] = field(default_factory=list)
    unreadable: tuple[str, ...] = ()


async def find_notebooks(
    root: Path, start: str, query: Query, hiding: ReadFilter, ignoring: IgnoreFilter | None
) -> Notebooks:
    """Returns the visible notebooks at or below ``start`` that may contain a match."""
    if not _may_name_notebooks(query) or (not start.endswith(NOTEBOOK) and (root / start).is_file()):
        return Notebooks()
    if ignoring is not None and ignoring.negates:
        query = replace(query, ignored=True)
    raw = _json_pattern(query)
    listing = (
        ["--files"] if raw is None else ["--files-with-matches", "--text", "--multiline", f"--regexp={raw}"]
    )
    visible = text_search.file_flags(replace(query, glob=None, type=None, cells=False))
    flags = [*listing, *visible, *text_search.ONLY_NOTEBOOKS, *hiding.rg_flags()]
    output = bytearray()
    errors = await run_ripgrep(root, [*flags, "--", text_search.below(start)], output.extend)
    keep = text_search.path_filter(query, start, hiding, ignoring)
    names = [text_search.path_of(name) for name in bytes(output).split(b"\0") if name]
    return Notebooks(
        sorted(workspace_files(root, [name for name in names if keep(name)])),
        parse_unreadable(errors),
    )


def _may_name_notebooks(query: Query) -> bool:
    """Whether the query's type and glob can name a notebook; a search for ``*.py`` need not look for any."""
    ending = re.search(r"\.\w+$", globs.last_name(query.glob)) if query.glob else None
    return (query.type is None or query.type in _TYPES) and (ending is None or ending[0] == NOTEBOOK)


def _json_pattern(query: Query) -> str | None:
    r"""Returns a regex for the JSON of every notebook with a match; None if the pattern is not plain text.

    JSON can write any character as ``\uXXXX``, and a source can be a list of strings that end within a line.
    Files with such escapes of printable ASCII characters (or of the two letters that equal an ASCII one if
    case is ignored), files with such lists, and files with NUL (UTF-32) are therefore included.  The text of
    outputs is a conversion, so with outputs every notebook is searched.
    """
    if query.outputs or not (_PLAIN_IF_FIXED if query.fixed else _PLAIN).fullmatch(query.pattern):
        return None
    text = f"(?{'i' if query.ignore_case else '-i'}:{re.escape(query.pattern)})"
    escapes = r"\\u(?:00[2-7]|017[Ff]|212[Aa])"
    inner_end = r'(?:[^n"]|[^\\]n|\\\\n|")"\s*,\s*"(?:[^"\\]|\\.)*"\s*[,\]]'
    return rf"{text}|{escapes}|\x00|{inner_end}"


@dataclass(frozen=True, slots=True)
class _CellLines:
    """A cell of a notebook, and the line of the temporary file where it begins."""

    first: int
    path: str
    place: CellPlace


@dataclass(slots=True)
class _Cells:
    """The cells of notebooks in files of ``folder``; ``invalid`` are not notebooks."""

    folder: Path
    lines: dict[str, list[_CellLines]] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)

    def at(self, name: str, line: int) -> _CellLines:
        """Returns the cell that has this line of a temporary file."""
        cells = self.lines[name]
        return cells[bisect_right(cells, line, key=lambda cell: cell.first) - 1]

    def in_cell(self, match: Match) -> Match:
        cell = self.at(match.path, match.line)
        return replace(match, path=cell.path, cell=cell.place, line=match.line - cell.first + 1)


def _write_cells(
    root: Path, paths: Sequence[str], folder: Path, query: Query, halt: CancellationFlag
) -> _Cells:
    """Writes the cells into one file, or each into its own if a match could go beyond a cell.

    The order of the lines, or of the file names, is that of the cells.
    """
    cells = _Cells(folder.resolve())
    # ext4 scans recently deleted inodes, so many small files are quadratic:
    # a file for each cell only where a match may span lines.
    name, line, apart = _JOINED, 1, query.multiline or _WHOLE_TEXT.search(query.pattern) is not None
    with open(cells.folder / _JOINED, "wb") as joined:
        for number, path in enumerate(paths):
            halt.raise_if_cancelled()
            try:
                texts = _texts(read_bytes(root / path, path), path, outputs=query.outputs)
            except (ToolFailure, OSError):
                cells.invalid.append(path)
                continue
            for place, text in texts:
                if not text:
                    continue
                if apart:
                    name, line = f"{number:04}-{place.number:07}-{int(place.output)}", 1
                    (cells.folder / name).write_bytes(text.encode())
                else:
                    joined.write(f"{text.removesuffix(chr(10))}\n".encode())
                cells.lines.setdefault(name, []).append(_CellLines(line, path, place))
                line += text.count("\n") + (not text.endswith("\n"))
    return cells


class _Cell(msgspec.Struct):
    cell_type: str
    source: str | list[str] = ""
    id: str = ""


class _Notebook(msgspec.Struct):
    nbformat: int
    cells: list[_Cell]


_DECODER = msgspec.json.Decoder(_Notebook)


def _texts(data: bytes, path: str, *, outputs: bool) -> list[tuple[CellPlace, str]]:
    """Returns the cells' sources, each followed by its outputs if wanted. Raises ``ToolFailure``."""
    if not outputs:
        # msgspec is stricter than JSON files are: NaN, byte order marks, lone surrogates.
        with suppress(ValueError):
            notebook = _DECODER.decode(data)
            if notebook.nbformat == 4:
                cells = enumerate(notebook.cells, 1)
                return [
                    (CellPlace(cell.id or f"#{number}", number), join_lines(cell.source))
                    for number, cell in cells
                ]
    found = NotebookFile(data, path).cells
    parts = [(cell, output) for cell in found for output in ((False, True) if outputs else (False,))]
    return [
        (CellPlace(cell.id, cell.number, output), cell.outputs if output else cell.source)
        for cell, output in parts
    ]
