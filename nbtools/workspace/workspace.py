"""The folder that a session works in; resolves paths and refuses those that lead outside."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nbtools.core.errors import ErrorCode, SessionError, ToolFailure
from nbtools.core.settings import Settings
from nbtools.workspace import history, processes
from nbtools.workspace.files.read_filter import ReadFilter
from nbtools.workspace.history.journal import Journal
from nbtools.workspace.paths import expand_home, is_inside, printable_path, resolve_inside
from nbtools.workspace.processes.output import is_full_output
from nbtools.workspace.read_tracking import ReadTracker

if TYPE_CHECKING:
    from nbtools.core.language_model import LanguageModel
    from nbtools.workspace.history.snapshots import CommandSnapshots
    from nbtools.workspace.notebooks.open_notebooks import OpenNotebooks
    from nbtools.workspace.processes.background import BackgroundCommand, BackgroundCommands
    from nbtools.workspace.processes.sandbox import Sandbox, SandboxedCommand
    from nbtools.workspace.processes.terminal import Terminals


T = TypeVar("T")


class Workspace:
    """A folder and the services that tools use in it.

    ``root`` is its real, absolute path; ``read_tracker`` records what the session has read, ``jobs`` are its
    background commands, ``terminals`` its terminals, ``sandbox`` confines both.  ``journal`` records previous
    contents, ``command_snapshots`` what commands change.  ``read_tokens`` is the most tokens of text that
    reading a file returns, None for no such limit.  ``reads_whole_lines``: whether reading returns long lines
    whole.  ``ignore_files`` and ``reads_ignored`` are the settings of these names as they apply in the
    session's dialect, ``reads_recordings`` is whether audio and video files are read, ``draws_pages`` whether
    pages of documents are drawn for a person.  ``open_notebooks`` gives access to notebooks in the browser,
    ``model`` is the language model that tools may use.  ``job_listeners`` are called with each background
    command when it has started and when it has ended.
    """

    __slots__ = (
        "_command_folder",
        "_endings",
        "_hiding",
        "_services",
        "_settings",
        "draws_pages",
        "ignore_files",
        "job_listeners",
        "journal",
        "model",
        "open_notebooks",
        "read_tokens",
        "read_tracker",
        "reads_ignored",
        "reads_recordings",
        "reads_whole_lines",
        "root",
    )

    def __init__(self, root: str | os.PathLike[str] = ".", settings: Settings | None = None) -> None:
        """Raises ``SessionError`` if the folder does not exist."""
        self._settings = settings or Settings()
        folder = expand_home(os.fspath(root))
        try:
            self.root = Path(os.path.realpath(folder, strict=True))
        except (OSError, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else "") or str(error)
            raise SessionError(
                f"The workspace {printable_path(folder)} cannot be used: {why}. Name a folder that exists."
            ) from None
        if not self.root.is_dir():
            raise SessionError(
                f"The workspace {printable_path(folder)} is not a folder. Name a folder that exists."
            )

        self._command_folder = self.root
        self._hiding = ReadFilter(str(self.root), ())
        self.job_listeners: list[Callable[[BackgroundCommand], None]] = []
        self.journal = Journal(self.root, self._settings)
        self.read_tracker = ReadTracker()
        self.read_tokens: int | None = None
        self.reads_whole_lines = False
        self.ignore_files: tuple[str, ...] = ()
        self.reads_ignored = True
        self.reads_recordings = False
        self.draws_pages = False
        self.open_notebooks: OpenNotebooks | None = None
        self.model: LanguageModel | None = None
        self._services: dict[str, Any] = {}
        self._endings: list[Callable[[], Awaitable[None]]] = [self._close_services]

    @property
    def command_snapshots(self) -> CommandSnapshots:
        return self._service("command_snapshots", lambda: history.CommandSnapshots(self.journal, self.root))

    @property
    def jobs(self) -> BackgroundCommands:
        return self._service("jobs", lambda: processes.BackgroundCommands(self.job_listeners))

    @property
    def started_jobs(self) -> tuple[BackgroundCommand, ...]:
        """The background commands so far, without loading what runs them."""
        return self._services["jobs"].all() if "jobs" in self._services else ()

    @property
    def terminals(self) -> Terminals:
        return self._service("terminals", processes.Terminals)

    @property
    def sandbox(self) -> Sandbox:
        return self._service("sandbox", lambda: processes.Sandbox(self.root))

    def _service(self, name: str, create: Callable[[], T]) -> T:
        """Returns the service of that name, created when it is first used, by whichever thread."""
        if name not in self._services:
            self._services.setdefault(name, create())
        service: T = self._services[name]
        return service

    def at_close(self, ending: Callable[[], Awaitable[None]]) -> None:
        """Registers ``ending`` to be awaited when the session closes; the last one registered runs first."""
        self._endings.append(ending)

    async def close(self) -> None:
        """Closes everything that tools keep open between calls."""
        while self._endings:
            await self._endings.pop()()

    async def _close_services(self) -> None:
        for name in ("terminals", "jobs", "sandbox", "command_snapshots"):
            if name in self._services:
                await self._services[name].close()
        self.journal.close()

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"

    @property
    def command_folder(self) -> Path:
        """The folder where the next command that carries its folder starts; the root if that is gone."""
        folder = self._command_folder
        return folder if folder.is_dir() and Path(os.path.realpath(folder)) == folder else self.root

    @command_folder.setter
    def command_folder(self, folder: Path) -> None:
        self._command_folder = folder

    @property
    def settings(self) -> Settings:
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._settings = self.journal.settings = settings

    def resolve(self, path: str) -> Path:
        """Returns the absolute path, without links and inside the workspace, to which ``path`` leads.

        The path need not exist; a relative one starts at the root, ``~`` is the home folder.  Raises
        ``ToolFailure``: ``path_not_in_workspace`` for one that leads outside (also through links),
        ``invalid_tool_params`` for one that no file system accepts.
        """
        return resolve_inside(self.root, path)

    def locate(self, path: str) -> tuple[Path, tuple[str, ...]]:
        """Returns the path that ``resolve`` returns, and its ``spellings``."""
        real = self.resolve(path)
        return real, self._names(path, real)

    def recheck(self, path: str, judged: Path) -> Path:
        """Returns ``judged``, the path that the policy has decided on, if ``path`` still leads there.

        Raises ``ToolFailure`` (``conflict``) otherwise.
        """
        if self.resolve_to_read(path) != judged:
            reason = "leads somewhere else than when it was checked. Nothing was done. Call again."
            raise ToolFailure(ErrorCode.CONFLICT, f"{printable_path(path)} {reason}")
        return judged

    def resolve_to_read(self, path: str) -> Path:
        """Does the same as ``resolve``, and also accepts this user's private files of full output."""
        try:
            return self.resolve(path)
        except ToolFailure:
            if (
                os.path.isabs(path)
                and "\0" not in path
                and is_full_output(real := Path(os.path.realpath(path)))
            ):
                return real
            raise

    @property
    def hidden(self) -> tuple[str, ...]:
        """Gitignore patterns of files that must not be read; ``//`` and ``~/`` start outside the root.

        Listings and searches leave such files out and say so;
        whether a path that is named may be read is decided by the policy.
        """
        return self._hiding.patterns

    @hidden.setter
    def hidden(self, patterns: Iterable[str]) -> None:
        self._hiding = ReadFilter(str(self.root), tuple(patterns))

    @property
    def read_filter(self) -> ReadFilter:
        """The read filter itself, for code that checks many paths."""
        return self._hiding

    def hides(self, path: str, *, folder: bool = False) -> bool:
        """Whether ``path`` (absolute or relative to the root) or a folder above it is hidden."""
        return self._hiding.hides(path, folder=folder)

    async def sandboxed(
        self, argv: Sequence[str], folder: Path, *, terminal: bool = False
    ) -> SandboxedCommand:
        """Returns ``argv`` as the settings want it run. Raises ``ToolFailure`` if it must not run."""
        return await self.sandbox.wrap(argv, folder, self.settings, self._hiding, terminal=terminal)

    def relative(self, path: Path) -> str:
        """Returns ``path`` relative to the root: ``.`` for the root, unchanged if it is outside."""
        return path.relative_to(self.root).as_posix() if is_inside(self.root, path) else str(path)

    def spellings(self, path: str) -> tuple[str, ...]:
        """Returns the names by which a rule may mean ``path``: where it leads, and as written with a link.

        Both are relative to the root; only a file of full output is absolute.
        Raises ``ToolFailure`` as ``resolve`` does.
        """
        return self._names(path, self.resolve_to_read(path))

    def _names(self, path: str, resolved: Path) -> tuple[str, ...]:
        real = self.relative(resolved)
        if os.path.isabs(real):
            return (real,)
        literal = os.path.relpath(os.path.join(self.root, expand_home(path)), self.root)
        return (real,) if literal == real or literal.partition("/")[0] == os.pardir else (real, literal)
