"""The folder that a session works in, and the rule that nothing leaves it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from nbtools.core.errors import ErrorCode, SessionError, ToolFailure, from_os_error
from nbtools.core.live import LiveNotebooks
from nbtools.core.model import LanguageModel
from nbtools.core.settings import Settings
from nbtools.workspace.commands.jobs import Jobs
from nbtools.workspace.commands.output import is_full_output
from nbtools.workspace.commands.sandbox import Confined, Sandbox
from nbtools.workspace.commands.terminals import Terminals
from nbtools.workspace.hiding import Hiding
from nbtools.workspace.journal.journal import Journal
from nbtools.workspace.journal.watching import Watching
from nbtools.workspace.paths import is_inside, real_path, shown, without_tilde
from nbtools.workspace.seen import Seen


class Workspace:
    """A folder; ``root`` is its real, absolute path, ``seen`` what a session has read of it, ``jobs`` its commands in the background,
    ``terminals`` its terminals, ``sandbox`` what both run in, ``live`` the way to the notebooks that are open around it,
    ``journal`` what was there before changes, ``watching`` what commands change, ``model`` the one that tools may ask for a text.
    """

    __slots__ = ("_endings", "_hiding", "jobs", "journal", "live", "model", "root", "sandbox", "seen", "settings", "terminals", "watching")

    def __init__(self, root: str | os.PathLike[str] = ".", settings: Settings | None = None) -> None:
        """Raises ``SessionError`` where there is no such folder."""
        self.settings = settings or Settings()
        given = without_tilde(os.fspath(root))
        try:
            self.root = Path(os.path.realpath(given, strict=True))
        except (OSError, ValueError) as error:
            raise SessionError(f"The workspace {shown(given)} cannot be used: {error}. Name a folder that exists.") from None
        if not self.root.is_dir():
            raise SessionError(f"The workspace {shown(given)} is not a folder. Name a folder that exists.")

        self._hiding = Hiding(str(self.root), ())
        self.journal = Journal(self.root, lambda: self.settings)
        self.watching = Watching(self.journal, self.root, lambda: self.settings)
        self.seen = Seen()
        self.jobs = Jobs()
        self.terminals = Terminals()
        self.sandbox = Sandbox(self.root)
        self.live: LiveNotebooks | None = None
        self.model: LanguageModel | None = None
        self._endings: list[Callable[[], Awaitable[None]]] = [
            self._close_journal,
            self.sandbox.close,
            self.jobs.close,
            self.terminals.close,
        ]

    def at_close(self, ending: Callable[[], Awaitable[None]]) -> None:
        """Has ``ending`` awaited when the session closes: what a tool keeps running between calls ends there, the last one first."""
        self._endings.append(ending)

    async def close(self) -> None:
        """Ends what tools keep running."""
        while self._endings:
            await self._endings.pop()()

    async def _close_journal(self) -> None:
        await self.watching.close()
        self.journal.close()

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"

    def resolve(self, path: str) -> Path:
        """Where ``path`` leads: absolute, without links, inside the workspace, whether something is there or not.

        Relative paths start at the root, ``~`` is the home folder.  Raises ``ToolFailure``: ``path_not_in_workspace`` for what leads
        outside (links included), ``invalid_tool_params`` for what no file system takes.
        """
        if not path or "\0" in path:
            what = "the path has a NUL character in it" if path else "the path is empty"
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{shown(path)}{': ' if path else ''}{what}. Name a file or folder.")
        try:
            real = Path(real_path(str(self.root), without_tilde(path)))
        except OSError as error:
            raise from_os_error(error, shown(path)) from None
        except UnicodeEncodeError:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{shown(path)}: no file name can have these characters.") from None
        if not is_inside(self.root, real):
            raise ToolFailure(ErrorCode.PATH_NOT_IN_WORKSPACE, self._outside(path, real))
        return real

    def still(self, path: str, judged: Path) -> Path:
        """``judged``, where ``path`` led when policy was asked.  Raises ``ToolFailure`` (``conflict``) where it leads elsewhere by now."""
        if self.resolve_to_read(path) != judged:
            raise ToolFailure(ErrorCode.CONFLICT, f"{shown(path)} leads somewhere else by now. Nothing was done. Call again.")
        return judged

    def resolve_to_read(self, path: str) -> Path:
        """As ``resolve``, and the files of full output too, which results name: they are nobody's but this user's."""
        try:
            return self.resolve(path)
        except ToolFailure:
            if os.path.isabs(path) and "\0" not in path and is_full_output(real := Path(os.path.realpath(path))):
                return real
            raise

    @property
    def hidden(self) -> tuple[str, ...]:
        """What nobody may read: gitignore patterns from the root, and those that begin with ``//`` or ``~/`` from the root of the disk.

        What lists or searches a folder leaves such files out and says so; whether a path that is named may be read is policy's to say.
        """
        return self._hiding.patterns

    @hidden.setter
    def hidden(self, patterns: Iterable[str]) -> None:
        self._hiding = Hiding(str(self.root), tuple(patterns))

    @property
    def hiding(self) -> Hiding:
        """The same for who looks at many paths."""
        return self._hiding

    def hides(self, path: str, *, folder: bool = False) -> bool:
        """Whether the file, or the folder, at ``path``, relative to the root or absolute, is hidden: itself or with a folder above it."""
        return self._hiding.hides(path, folder=folder)

    async def confined(self, argv: Sequence[str], folder: Path, *, terminal: bool = False) -> Confined:
        """``argv`` as the settings want it run: in the sandbox, or as it is.  Raises ``ToolFailure`` where it must not run at all."""
        return await self.sandbox.around(argv, folder, self.settings, self._hiding, terminal=terminal)

    def relative(self, path: Path) -> str:
        """``path``, an absolute one, as seen from the root; ``.`` for the root itself, and as it is where it is outside."""
        return path.relative_to(self.root).as_posix() if is_inside(self.root, path) else str(path)

    def spellings(self, path: str) -> tuple[str, ...]:
        """What a rule may call ``path``: where it leads, then as it is written where that is another one inside: through a link.

        Both relative to the root; absolute is only a file of full output.  Raises ``ToolFailure`` as ``resolve`` does.
        """
        real = self.relative(self.resolve_to_read(path))
        if os.path.isabs(real):
            return (real,)
        written = os.path.relpath(os.path.join(self.root, without_tilde(path)), self.root)
        return (real,) if written == real or written.partition("/")[0] == os.pardir else (real, written)

    def _outside(self, path: str, real: Path) -> str:
        leads = "" if str(real) == path else f" (it leads to {shown(str(real))})"
        return f"{shown(path)} is outside the workspace{leads}. Name a path in {shown(str(self.root))}."
