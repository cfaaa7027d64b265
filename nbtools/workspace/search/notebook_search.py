"""Searches notebooks as cells: the source of each cell and, on request, its outputs as text.

ripgrep lists the notebooks, the cells of each are written to files of a temporary folder, and ripgrep searches those.  So patterns mean
the same as in other files, and neither a match nor its context goes beyond a cell.  If the pattern is plain text, ripgrep first selects the
notebooks whose JSON may contain it; that selection never loses a match (see ``_json_pattern``).  A file that is not a valid notebook, or
too large, is searched as text.
"""

from __future__ import annotations

import os
import re
import tempfile
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
from nbtools.workspace.files.read_filter import NO_FILTER, ReadFilter
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
_CELL_FILES = ("--text", "--encoding=none", "--no-ignore", "--hidden", "--null", "--with-filename")


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
    """Counts the matching lines of every visible notebook at or below ``start``, like ``text_search.count_matches``."""
    paths, unreadable = await _notebooks(root, start, query, hiding, ignoring)
    counts: dict[str, int] = {}
    for batch in (paths[first : first + _BATCH] for first in range(0, len(paths), _BATCH)):
        with tempfile.TemporaryDirectory(prefix="nbtools-cells-") as folder:
            cells = await run_in_thread(partial(_write_cells, root, batch, Path(folder), outputs=query.outputs))
            for name, number in (await text_search.count_in(cells.folder, ["./"], query, _CELL_FILES, names_only=names_only)).items():
                path = cells.places[name][0]
                counts[path] = 1 if names_only else counts.get(path, 0) + number
        if cells.invalid:
            files = [f"./{path}" for path in cells.invalid]
            counts |= await text_search.count_in(root, files, query, ("--null", "--with-filename"), names_only=names_only)
        progress(counts)
    return MatchCounts({path: counts[path] for path in sorted(counts)}, unreadable)


def has_none(root: Path, start: str, query: Query, halt: CancellationFlag) -> bool:
    """Returns True only if there is no notebook at or below ``start`` that the query could search.

    It only looks at names, of ignored and hidden files too, and runs beside the search of the other files.
    """
    if not _may_name_notebooks(query):
        return True
    folders = [os.path.join(root, start)]
    try:
        while folders:
            halt.raise_if_cancelled()
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.name.endswith(NOTEBOOK):
                        return False
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
    except OSError:
        return False
    return True


async def matching_lines(root: Path, query: Query, wanted: Sequence[tuple[str, int, int]], before: int = 0, after: int = 0) -> list[Match]:
    """Returns matching lines with context, like ``text_search.matching_lines``; line numbers count within the cell."""
    result: list[Match] = []
    for batch in (wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH)):
        with tempfile.TemporaryDirectory(prefix="nbtools-cells-") as folder:
            paths = [path for path, _, _ in batch]
            cells = await run_in_thread(partial(_write_cells, root, paths, Path(folder), outputs=query.outputs))
            found = await text_search.lines_in(cells.folder, ["./"], query, _CELL_FILES, before, after)
            by_path: dict[str, list[Match]] = {}
            for name in sorted(found.matches):
                by_path.setdefault(cells.places[name][0], []).extend(found.matches[name])
            for path, skip, take in batch:
                if path in cells.invalid:
                    result += await text_search.matching_lines(root, query, [(path, skip, take)], before, after)
                else:
                    page = await found.with_windows(_page(by_path.get(path, []), skip, take, before, after))
                    result += [replace(match, path=path, cell=cells.places[match.path][1]) for match in page]
    return result


def _page(matches: Sequence[Match], skip: int, take: int, before: int, after: int) -> list[Match]:
    """Returns the matching lines from ``skip`` on, with the context lines in their cells."""
    hits = {(match.path, match.line) for match in [match for match in matches if not match.context][skip : skip + take]}
    near = {(name, line + distance) for name, line in hits for distance in range(-before, after + 1)}
    return [match for match in matches if (match.path, match.line) in (near if match.context else hits)]


async def _notebooks(
    root: Path, start: str, query: Query, hiding: ReadFilter, ignoring: IgnoreFilter | None
) -> tuple[list[str], tuple[str, ...]]:
    """Returns the notebooks that may contain a match, sorted, and what ripgrep could not read."""
    if not _may_name_notebooks(query) or (not start.endswith(NOTEBOOK) and (root / start).is_file()):
        return [], ()
    if ignoring is not None and ignoring.negates:
        query = replace(query, ignored=True)
    raw = _json_pattern(query)
    listing = ["--files"] if raw is None else ["--files-with-matches", "--text", "--multiline", f"--regexp={raw}"]
    visible = text_search.file_flags(replace(query, glob=None, type=None, cells=False))
    flags = [*listing, *visible, *text_search.ONLY_NOTEBOOKS, *hiding.rg_flags()]
    output = bytearray()
    errors = await run_ripgrep(root, [*flags, "--", text_search.below(start)], output.extend)
    keep = text_search.path_filter(query, start, hiding, ignoring)
    names = [text_search.path_of(name) for name in bytes(output).split(b"\0") if name]
    return sorted(workspace_files(root, [name for name in names if keep is None or keep(name)])), parse_unreadable(errors)


def _may_name_notebooks(query: Query) -> bool:
    """Whether the query's type and glob can name a notebook; a search for ``*.py`` need not look for any."""
    ending = re.search(r"\.\w+$", globs.last_name(query.glob)) if query.glob else None
    return (query.type is None or query.type in _TYPES) and (ending is None or ending[0] == NOTEBOOK)


def _json_pattern(query: Query) -> str | None:
    r"""Returns a regular expression that the JSON of every notebook with a match matches; None if the pattern is not plain text.

    JSON can write any character as ``\uXXXX``, and a source can be a list of strings that end within a line.  Files with such escapes of
    printable ASCII characters (or of the two letters that equal an ASCII one if case is ignored), files with such lists, and files with
    NUL (UTF-32) are therefore included.  The text of outputs is a conversion, so with outputs every notebook is searched.
    """
    if query.outputs or not (_PLAIN_IF_FIXED if query.fixed else _PLAIN).fullmatch(query.pattern):
        return None
    text = f"(?{'i' if query.ignore_case else '-i'}:{re.escape(query.pattern)})"
    escapes = r"\\u(?:00[2-7]|017[Ff]|212[Aa])"
    inner_end = r'(?:[^n"]|[^\\]n|\\\\n|")"\s*,\s*"(?:[^"\\]|\\.)*"\s*[,\]]'
    return rf"{text}|{escapes}|\x00|{inner_end}"


@dataclass(slots=True)
class _Cells:
    """The cells of notebooks as files of ``folder``; ``places`` has their notebook and cell.  ``invalid`` are not notebooks."""

    folder: Path
    places: dict[str, tuple[str, CellPlace]] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)


def _write_cells(root: Path, paths: Sequence[str], folder: Path, halt: CancellationFlag, *, outputs: bool) -> _Cells:
    """Writes the cells so that the order of the file names is that of the cells."""
    cells = _Cells(folder.resolve())
    for number, path in enumerate(paths):
        halt.raise_if_cancelled()
        try:
            texts = _texts(read_bytes(root / path, path), path, outputs=outputs)
        except (ToolFailure, OSError):
            cells.invalid.append(path)
            continue
        for place, text in texts:
            if text:
                name = f"{number:04}-{place.number:07}-{int(place.output)}"
                cells.places[name] = path, place
                (cells.folder / name).write_bytes(text.encode())
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
    """Returns the sources of the cells, each followed by its outputs if wanted.  Raises ``ToolFailure`` if it is not a notebook."""
    if not outputs:
        with suppress(ValueError):  # msgspec is stricter than JSON files are: NaN, byte order marks, lone surrogates
            notebook = _DECODER.decode(data)
            if notebook.nbformat == 4:
                cells = enumerate(notebook.cells, 1)
                return [(CellPlace(cell.id or f"#{number}", number), join_lines(cell.source)) for number, cell in cells]
    found = NotebookFile(data, path).cells
    parts = [(cell, output) for cell in found for output in ((False, True) if outputs else (False,))]
    return [(CellPlace(cell.id, cell.number, output), cell.outputs if output else cell.source) for cell, output in parts]
