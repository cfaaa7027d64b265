"""What stands around a call when it is made: which frontend, whether somebody watches, clicks or types.

A notebook sends the id of its cell with every request, a console does not; that, and whether it lets the kernel ask for input, tells them
apart without guessing from names.
"""

from __future__ import annotations

import contextvars
import os
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import greenback

from nbtools.notebook.places import CapturedScreen, Errand, KernelScreen, Loop, Place, Screen, TerminalScreen, Way, is_live_terminal

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

CLICKS_SINCE = (7, 4)
"""The ipykernel from which on clicks arrive while a cell awaits."""


Post: TypeAlias = Callable[[Errand], None]
"""Hands work to the thread that waits for a call."""


def has_portal() -> bool:
    """Whether the code that runs here may wait and let the kernel's loop go on meanwhile."""
    return bool(greenback.has_portal())


class Terminal:
    """A plain IPython terminal."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.preference: Way | None = None
        self._shell: Any = shell
        self._screen = TerminalScreen()

    def place(self, errands: Post | None, *, turning: bool = False, early: bool = False, silent: bool = False) -> Place:
        """The place of a call made here and now; ``turning`` says that the main loop goes on while the call is waited for."""
        way = self.preference or Way.PROMPT
        usable = Way.PROMPT if way is not Way.NOBODY and errands else Way.NOBODY
        waited_for = errands is not None and not early and is_live_terminal()
        return Place(self._screen, uuid.uuid4().hex, waited_for, usable, contextvars.copy_context(), None, errands, early, silent)

    def prompts_first(self) -> bool:
        """Whether a question can only be asked in the thread that makes the call."""
        return self.preference is not Way.NOBODY

    def read_line(self, prompt: str, text: str = "") -> str:
        """A line typed by the person, who finds ``text`` already there.  Raises ``EOFError`` when the input is closed."""
        if not text:
            return input(prompt)
        from prompt_toolkit import prompt as edited  # noqa: PLC0415 - IPython's own line editor; only a modified command needs it

        return edited(prompt, default=text)

    def edit(self, text: str) -> str | None:
        """``text`` as the person leaves it in their ``$EDITOR``; None where none is set."""
        if not os.environ.get("EDITOR"):
            return None
        path = self._shell.mktempfile(text)
        self._shell.hooks.editor(path)
        return Path(path).read_text(encoding="utf-8")


class Kernel:
    """An ipykernel, with whatever frontend sent the request that runs just now."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.preference: Way | None = None
        self._shell = shell
        self._kernel: Any = shell.kernel  # type: ignore[attr-defined]
        self._cell: dict[str, Any] = self._kernel.get_parent("shell")

    def begin_cell(self, _: object = None) -> None:
        """Called when a cell begins."""
        self._cell = self._kernel.get_parent("shell")

    @property
    def loop(self) -> Loop:
        """The loop in which the kernel handles clicks."""
        loop: Loop = self._kernel.io_loop.asyncio_loop
        return loop

    def place(self, errands: Post | None, *, turning: bool = False, early: bool = False, silent: bool = False) -> Place:
        """The place of a call made here and now; ``turning`` says that the main loop goes on while the call is waited for."""
        way = self._way(errands, turning)
        context = contextvars.copy_context()
        return Place(self._screen(), uuid.uuid4().hex, self._is_watched(), way, context, self.loop, errands, early, silent)

    @property
    def is_attended(self) -> bool:
        """Whether the request that runs, or ran last, came from a frontend with somebody in front of it."""
        return self._allows_stdin()

    def prompts_first(self) -> bool:
        """Whether a question can only be asked in the thread that makes the call."""
        return self._wanted() is Way.PROMPT

    def read_line(self, prompt: str, text: str = "") -> str:
        """A line typed by the person; a kernel cannot put ``text`` there.  Raises ``EOFError`` when the input is closed."""
        line: str = self._kernel.raw_input(prompt)
        return line

    def edit(self, text: str) -> str | None:
        """None: a kernel opens no editor."""
        return None

    def _way(self, errands: Post | None, turning: bool) -> Way:
        wanted = self._wanted()
        if wanted is Way.WIDGET and (turning or errands is None or threading.current_thread() is not threading.main_thread()):
            return Way.WIDGET
        return Way.PROMPT if wanted is not Way.NOBODY and errands is not None and self._allows_stdin() else Way.NOBODY

    def _wanted(self) -> Way:
        if not self._allows_stdin() and self.preference is not Way.WIDGET:
            return Way.NOBODY
        wanted = self.preference or (Way.WIDGET if self._is_notebook() and clicks_arrive() else Way.PROMPT)
        return Way.PROMPT if wanted is Way.WIDGET and self._is_captured() else wanted

    def _allows_stdin(self) -> bool:
        """Whether the request that runs came from a frontend in which somebody can answer; ipykernel has no public word for it."""
        return bool(self._kernel._allow_stdin)  # noqa: SLF001

    def _is_notebook(self) -> bool:
        return self._request().get("metadata", {}).get("cellId") is not None

    def _request(self) -> dict[str, Any]:
        """The request that runs.  A thread that a cell has started would be given what came last, a click too: it stands in the cell."""
        request: dict[str, Any] = self._kernel.get_parent("shell")
        is_cell = request.get("header", {}).get("msg_type") == "execute_request"
        return request if is_cell or threading.current_thread() is threading.main_thread() else self._cell

    def _publisher(self) -> Any:
        return self._shell.display_pub

    def _is_watched(self) -> bool:
        return self._allows_stdin() and not self._is_captured()

    def _is_captured(self) -> bool:
        return not hasattr(self._publisher(), "set_thread_parent")

    def _screen(self) -> Screen:
        if self._is_captured():
            return CapturedScreen(self._publisher())
        return KernelScreen(self._publisher(), self._request())


def clicks_arrive() -> bool:
    """Whether this ipykernel hands clicks to a cell that awaits."""
    from ipykernel._version import version_info  # noqa: PLC0415 - a terminal must not pay for it

    return version_info[:2] >= CLICKS_SINCE


def frontend_of(shell: InteractiveShell) -> Kernel | Terminal:
    """The surroundings of an IPython shell."""
    return Kernel(shell) if getattr(shell, "kernel", None) is not None else Terminal(shell)
