"""Detects the frontend of a call: terminal, console or notebook, and whether somebody can watch,
click or type.

A notebook sends the id of its cell with every request; a console does not.
Whether somebody can answer is read from the request's permission to ask for input.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from nbtools.core.browser import IN_BROWSER
from nbtools.notebook.display_target import (
    AnswerMethod,
    Callback,
    CapturedScreen,
    ConsoleScreen,
    DisplayTarget,
    KernelScreen,
    Loop,
    Screen,
    TerminalScreen,
    is_live_terminal,
)
from nbtools.notebook.grouped_screen import GroupedScreen

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_JUPYTERLAB = {"deletedCells", "recordTiming"}
"""Metadata that JupyterLab and Notebook send with every cell."""
CLICKS_SINCE = (7, 4)
"""The first ipykernel version that handles clicks while a cell awaits."""
_MAX_SCREENS = 16
"""Number of requests whose outputs can still be added to."""


Post: TypeAlias = Callable[[Callback], None]
"""Passes a function to the thread that waits for a call."""


def has_portal() -> bool:
    """Whether the current code can wait while the kernel's loop keeps running."""
    import greenback  # noqa: PLC0415 - Pyodide has none

    return bool(greenback.has_portal())


class Terminal:
    """A plain IPython terminal."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.preference: AnswerMethod | None = None
        self._shell: Any = shell
        self._screen = TerminalScreen()

    def display_target(
        self, post: Post | None, *, loop_runs: bool = False, early: bool = False, silent: bool = False
    ) -> DisplayTarget:
        """Returns the display target of a call made now;
        ``loop_runs`` says that the main loop keeps running during the call.
        """
        preferred = self.preference or AnswerMethod.PROMPT
        method = AnswerMethod.PROMPT if preferred is not AnswerMethod.NOBODY and post else AnswerMethod.NOBODY
        is_watched = post is not None and not early and is_live_terminal()
        return DisplayTarget(
            self._screen,
            uuid.uuid4().hex,
            is_watched,
            method,
            contextvars.copy_context(),
            None,
            post,
            early,
            silent,
        )

    @property
    def is_interactive_cell(self) -> bool:
        """Whether a person runs a cell now, rather than a profile at start-up or a program."""
        return is_live_terminal() and len(self._shell.user_ns.get("In", ())) > 1

    def prompts_first(self) -> bool:
        """Whether questions can only be asked in the thread that makes the call."""
        return self.preference is not AnswerMethod.NOBODY

    def read_line(self, prompt: str, text: str = "") -> str:
        """Reads a line, with ``text`` as its editable initial value.
        Raises ``EOFError`` when the input is closed.
        """
        if not text:
            return input(prompt)
        from prompt_toolkit import prompt as read_edited  # noqa: PLC0415 - only needed to edit a command

        return read_edited(prompt, default=text)

    def edit(self, text: str) -> str | None:
        """Returns ``text`` as edited in ``$EDITOR``; None where that is not set."""
        if not os.environ.get("EDITOR"):
            return None
        path = self._shell.mktempfile(text)
        self._shell.hooks.editor(path)
        return Path(path).read_text(encoding="utf-8")


class Kernel:
    """An ipykernel, with the frontend that sent the current request."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.preference: AnswerMethod | None = None
        self._shell = shell
        self._kernel: Any = shell.kernel  # type: ignore[attr-defined]
        self._cell: dict[str, Any] = self._kernel.get_parent("shell")
        self._screens: dict[str, GroupedScreen] = {}
        """The screens of the last requests, by the ids of their messages."""

    def begin_cell(self, _: object = None) -> None:
        """Stores the current request; called when a cell starts."""
        self._cell = self._kernel.get_parent("shell")

    def end_cell(self, _: object = None) -> None:
        """Draws what the cell's displays have put off; called when a cell ends."""
        for screen in tuple(self._screens.values()):
            screen.flush()

    @property
    def loop(self) -> Loop:
        """The event loop in which the kernel handles clicks."""
        loop: Loop = self._kernel.io_loop.asyncio_loop
        return loop

    def display_target(
        self, post: Post | None, *, loop_runs: bool = False, early: bool = False, silent: bool = False
    ) -> DisplayTarget:
        """Returns the display target of a call made now;
        ``loop_runs`` says that the main loop keeps running during the call.
        """
        method = self._answer_method(post, loop_runs)
        context = contextvars.copy_context()
        screen, cell_id = self._screen(), self._request().get("metadata", {}).get("cellId")
        watched = self._allows_stdin() and not self._is_captured()
        target = DisplayTarget(
            screen, uuid.uuid4().hex, watched, method, context, self.loop, post, early, silent
        )
        return replace(target, cell_id=cell_id) if isinstance(cell_id, str) else target

    @property
    def is_attended(self) -> bool:
        """Whether the current or last request came from a frontend where somebody can answer."""
        return self._allows_stdin()

    @property
    def is_interactive_cell(self) -> bool:
        """Whether a person runs a cell now, rather than a profile at start-up or a program such as
        nbclient.
        """
        return self._allows_stdin() and self._request().get("header", {}).get("msg_type") == "execute_request"

    @property
    def is_console(self) -> bool:
        """Whether the current request came from a console, which has no cells;
        false without a request, as when a profile loads.
        """
        request = self._kernel.get_parent("shell")
        return (
            request.get("header", {}).get("msg_type") == "execute_request"
            and request.get("metadata", {}).get("cellId") is None
        )

    def prompts_first(self) -> bool:
        """Whether questions can only be asked in the thread that makes the call."""
        return self._preferred_method() is AnswerMethod.PROMPT

    def read_line(self, prompt: str, text: str = "") -> str:
        """Reads a line; a kernel ignores the initial value ``text``.
        Raises ``EOFError`` when the input is closed.
        """
        line: str = self._kernel.raw_input(prompt)
        return line

    def edit(self, text: str) -> str | None:
        """Returns None, because a kernel cannot open an editor."""
        return None

    def _answer_method(self, post: Post | None, loop_runs: bool) -> AnswerMethod:
        preferred = self._preferred_method()
        if preferred is AnswerMethod.WIDGET and (
            loop_runs or post is None or threading.current_thread() is not threading.main_thread()
        ):
            return AnswerMethod.WIDGET
        return (
            AnswerMethod.PROMPT
            if preferred is not AnswerMethod.NOBODY and post is not None and self._allows_stdin()
            else AnswerMethod.NOBODY
        )

    def _preferred_method(self) -> AnswerMethod:
        if not self._allows_stdin() and self.preference is not AnswerMethod.WIDGET:
            return AnswerMethod.NOBODY
        preferred = self.preference or (
            AnswerMethod.WIDGET if self._is_notebook() and clicks_arrive() else AnswerMethod.PROMPT
        )
        return AnswerMethod.PROMPT if preferred is AnswerMethod.WIDGET and self._is_captured() else preferred

    def _allows_stdin(self) -> bool:
        """Whether the current request came from a frontend where somebody can answer;
        ipykernel has no public API for it.
        """
        return bool(self._kernel._allow_stdin)  # noqa: SLF001

    def _is_notebook(self) -> bool:
        return self._request().get("metadata", {}).get("cellId") is not None

    def _request(self) -> dict[str, Any]:
        """Returns the current request; in a thread started by a cell, that cell's,
        because the kernel's latest one may be a click.
        """
        request: dict[str, Any] = self._kernel.get_parent("shell")
        is_cell = request.get("header", {}).get("msg_type") == "execute_request"
        return request if is_cell or threading.current_thread() is threading.main_thread() else self._cell

    def _publisher(self) -> Any:
        return self._shell.display_pub

    def _is_captured(self) -> bool:
        return not hasattr(self._publisher(), "set_thread_parent")

    def _screen(self) -> Screen:
        if self._is_captured():
            return CapturedScreen(self._publisher())
        if self._allows_stdin() and not self._is_notebook():
            return ConsoleScreen(self._publisher(), self._request())
        request = self._request()
        message = str(request.get("header", {}).get("msg_id"))
        if message not in self._screens:
            self._screens[message] = GroupedScreen(KernelScreen(self._publisher(), request))
            for earlier in list(self._screens)[:-_MAX_SCREENS]:
                del self._screens[earlier]
        return self._screens[message]


def show_notice(line: str) -> None:
    """Shows one line of news in the output of the cell.
    It goes to stdout: notebooks show stderr in red, as errors.
    """
    sys.stdout.write(f"{line}\n")


def clicks_arrive() -> bool:
    """Whether this ipykernel version handles clicks while a cell awaits."""
    from ipykernel._version import version_info  # noqa: PLC0415 - not needed in a terminal

    return version_info[:2] >= CLICKS_SINCE


def needs_widgets() -> bool:
    """Whether the current request came from a notebook that displays ipywidgets but not our MIME types:
    VS Code, Colab.

    JupyterLab and Notebook are told by metadata of their own.  There the extension usually displays our MIME
    types, without the time that widgets take to load.  JupyterLite has JupyterLab's front end.
    """
    ipython = sys.modules.get("IPython")
    kernel: Any = getattr(ipython.get_ipython(), "kernel", None) if ipython is not None else None
    if IN_BROWSER or kernel is None or not kernel._allow_stdin:  # noqa: SLF001 - as in Kernel._allows_stdin
        return False
    metadata = kernel.get_parent("shell").get("metadata", {})
    return "google.colab" in sys.modules or ("cellId" in metadata and _JUPYTERLAB.isdisjoint(metadata))


def frontend_of(shell: InteractiveShell) -> Kernel | Terminal:
    """Returns the frontend of an IPython shell."""
    return Kernel(shell) if getattr(shell, "kernel", None) is not None else Terminal(shell)
