"""Finds files by path pattern, with ripgrep."""

from __future__ import annotations

import heapq
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.cancellation import CancellationFlag
from nbtools.workspace.files.no_follow import open_folder, open_no_links
from nbtools.workspace.files.read_filter import NO_FILTER, ReadFilter
from nbtools.workspace.paths import is_inside, printable_path
from nbtools.workspace.search import globs
from nbtools.workspace.search.project_ignore import IgnoreFilter
from nbtools.workspace.search.ripgrep import run_ripgrep, workspace_files

_SLICE = 5_000
"""Number of files between two checks for cancellation."""


@dataclass(frozen=True, slots=True)
class FileMatches:
    """Paths of files, and how many more the policy hides."""

    paths: list[str]
    hidden: int = 0


async def find_files(
    root: Path,
    start: str,
    pattern: str,
    *,
    ignore_case: bool = False,
    hidden: bool = False,
    ignored: bool = False,
    exclude: Sequence[str] = (),
    hiding: ReadFilter = NO_FILTER,
    ignoring: IgnoreFilter | None = None,
) -> FileMatches:
    """Returns all files below ``start`` that match the glob ``pattern``, relative to it, in any order.

    The path of an existing file means that file: ``app/[id]/page.js``; so do existing folders in a pattern.
    Omitted are links, git-ignored files unless ``ignored``, names that begin with a dot unless ``hidden`` or
    the pattern has such a name, and folders below ``start`` whose name is in ``exclude``, with their content,
    and what ``ignoring`` ignores.  Raises ``ToolFailure`` (``path_not_in_workspace``) if the literal folders
    of the pattern lead outside ``root``.
    """
    folder = start if ignore_case else _joined(start, globs.literal_folder(pattern))
    real = _real_folder(root, folder)
    if real is None:
        return FileMatches([])
    literal = list(_literal(root, start, pattern))
    last = globs.last_name(pattern)
    names = [
        globs.any_case(last) if ignore_case else last,
        *(globs.escape(name) for _, name in literal if name),
    ]
    hidden_flags = [] if not (hidden or globs.names_hidden(pattern)) else ["--hidden", "--glob=!.git"]
    ignored_flags = ["--no-ignore"] if ignored or (ignoring is not None and ignoring.negates) else []
    excluded_flags = [f"--glob=!{globs.escape(name)}" for name in exclude]
    # A file type of our own, because ``--glob`` would include ignored files again.
    types = [] if "*" in names else [*(f"--type-add=nbtools:{name}" for name in names), "--type=nbtools"]
    flags = ["--no-require-git", *hidden_flags, *ignored_flags, *excluded_flags, *types]
    found = await _list_files(root, flags, folder)
    if ignoring is not None:
        beside = ignoring.beside_ripgrep()
        found = [path for path in found if not beside.ignores(path)]
    if exclude:
        found = [path for path in found if not _has_folder(path, start, exclude)]
    if not globs.is_only_name(pattern) or literal or ignore_case:
        # Otherwise ripgrep has filtered the names already.
        whole = [regex for regex, name in literal if name]
        regexes = whole or [
            globs.compile_glob(pattern, start, ignore_case=ignore_case).pattern,
            *(regex for regex, _ in literal),
        ]
        fits = re.compile("|".join(regexes), re.DOTALL).fullmatch
        found = [path for path in found if fits(path)]
    return _without_hidden(found, folder, real, hiding)


def _has_folder(path: str, start: str, names: Sequence[str]) -> bool:
    """Returns whether one of the folders of ``path`` below ``start`` has one of the names."""
    below = path if start == "." else path.removeprefix(f"{start}/")
    return not set(names).isdisjoint(below.split("/")[:-1])


def _without_hidden(found: list[str], folder: str, real: str, hiding: ReadFilter) -> FileMatches:
    """Removes what is hidden by its path through ``folder``, or by its real path if that is a link."""
    if not hiding:
        return FileMatches(found)
    names = {folder, real}
    prefix = len(folder) + 1 if folder != "." else 0
    visible = [
        path for path in found if not any(hiding.hides(_joined(name, path[prefix:])) for name in names)
    ]
    return FileMatches(visible, len(found) - len(visible))


def newest_first(
    root: Path, paths: Sequence[str], count: int, halt: CancellationFlag, since: float = 0
) -> list[str]:
    """Returns the ``count`` most recently changed files; of the same time by path; deleted ones last.

    Files changed before ``since`` (seconds since the epoch) count as of the same time.  If a folder has
    become a link meanwhile, the time of its target may affect the order; nothing else of it is revealed.
    """
    folder = open_no_links(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        timed: list[tuple[int, str]] = []
        for start in range(0, len(paths), _SLICE):
            halt.raise_if_cancelled()
            timed += _timed(folder, paths[start : start + _SLICE])
    finally:
        os.close(folder)
    newest = -int(since * 1e9)
    return [
        path
        for _, path in heapq.nsmallest(count, ((time if time <= newest else 0, path) for time, path in timed))
    ]


def _timed(folder: int, paths: Sequence[str]) -> list[tuple[int, str]]:
    """Returns (negative time, path) of each file; 0 for a deleted one."""
    try:
        return [(-os.stat(path, dir_fd=folder, follow_symlinks=False).st_mtime_ns, path) for path in paths]
    except OSError:
        if len(paths) == 1:
            return [(0, paths[0])]
        return [pair for path in paths for pair in _timed(folder, [path])]


def file_sizes(root: Path, paths: Sequence[str]) -> list[int | None]:
    """Returns each file's size in bytes (None: gone, or behind a link); opens each folder once."""
    sizes: dict[str, int] = {}
    below: dict[str, list[str]] = {}
    for path in paths:
        below.setdefault(os.path.dirname(path), []).append(path)
    for folder, inside in below.items():
        with suppress(OSError, ToolFailure), open_folder(root / folder) as descriptor:
            for path in inside:
                with suppress(OSError):
                    info = os.stat(os.path.basename(path), dir_fd=descriptor, follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode):
                        sizes[path] = info.st_size
    return [sizes.get(path) for path in paths]


def _real_folder(root: Path, folder: str) -> str | None:
    """Returns the folder's real relative path, or None. Raises ``ToolFailure`` if it is outside."""
    real = Path(os.path.realpath(root / folder))
    if not is_inside(root, real):
        raise ToolFailure(
            ErrorCode.PATH_NOT_IN_WORKSPACE,
            f"{printable_path(folder)} leads outside the workspace. Name a folder in it.",
        )
    return os.path.relpath(real, root) if real.is_dir() else None


async def _list_files(root: Path, arguments: list[str], folder: str) -> list[str]:
    found: list[str] = []
    rest = b""

    def receive(chunk: bytes) -> None:
        nonlocal rest
        whole, _, rest = (rest + chunk).rpartition(b"\0")
        if whole:
            found.extend(os.fsdecode(whole).split("\0"))

    # Without a path, or with one that does not begin with ./, ripgrep's output needs no correction.
    path = f"./{folder}" if folder.startswith("-") else folder
    target = [] if folder == "." else ["--", path]
    await run_ripgrep(root, ["--files", "--null", *arguments, *target], receive)
    names = [path.removeprefix("./") for path in found] if folder.startswith("-") else found
    real = workspace_files(root, names)
    return names if real is names else list(real)


def _literal(root: Path, start: str, pattern: str) -> Iterator[tuple[str, str]]:
    """Yields literal readings of a pattern with special characters whose first names exist.

    Each is a regex, and the file's name if the whole pattern is an existing path, otherwise empty.
    """
    names = [name for name in pattern.split("/") if name not in {"", "."}]
    for count in range(len(names), 0, -1):
        path = _joined(start, "/".join(names[:count]))
        if globs.escape(path) == path or not os.path.lexists(root / path):
            continue
        if count == len(names):
            yield re.escape(path), names[-1]
        elif os.path.isdir(root / path):
            yield globs.compile_glob("/".join(names[count:]), path).pattern, ""


def _joined(start: str, folder: str) -> str:
    if start == ".":
        return folder
    return start if folder == "." else f"{start}/{folder}"
