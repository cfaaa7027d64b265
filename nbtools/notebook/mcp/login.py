"""``%tools mcp login``: shows the login page's link in the cell,
and a field for the address of the final page.
"""

from __future__ import annotations

import asyncio
import webbrowser
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtools.cards.tables import Sheet
from nbtools.core.errors import ToolFailure
from nbtools.notebook.frontend import Terminal
from nbtools.notebook.html import render
from nbtools.notebook.live_display import LiveDisplay

if TYPE_CHECKING:
    from nbtools.notebook.display_target import DisplayTarget
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session


@dataclass(frozen=True, slots=True)
class LoginPage(Sheet):
    """The link to the login page.  It is opened in the person's browser,
    which may be on another machine than the kernel.
    """

    server: str = ""
    page: str = ""

    def text(self) -> str:
        return f"Log in to {self.server}: {self.page}"

    def html(self) -> str:
        return render("mcp/login", server=self.server, page=self.page)


def log_in(runtime: NotebookRuntime, name: str) -> None:
    """Waits until the person has logged in.  Raises ``ToolFailure``."""
    in_terminal = isinstance(runtime.frontend, Terminal)

    async def work(target: DisplayTarget) -> None:
        await _log_in(runtime.session, name, target, in_terminal=in_terminal)

    runtime.bridge.run_work(work)


async def _log_in(session: Session, name: str, target: DisplayTarget, *, in_terminal: bool) -> None:
    display = LiveDisplay(target)
    display.update(Sheet(lines=(f"Asking {name} for its login page…",)).bundle)
    loop, pasting = asyncio.get_running_loop(), list[asyncio.Task[None]]()

    def opened(page: str) -> None:
        display.show(LoginPage(server=name, page=page).bundle())
        if in_terminal:
            loop.run_in_executor(None, webbrowser.open, page)
        pasting.append(loop.create_task(_ask_for_address(session, name)))

    try:
        storage = await session.mcp.login(name, opened)
    finally:
        for task in pasting:
            task.cancel()
    display.finish(Sheet(lines=(f"Logged in to {name}. The login is stored in {storage}.",)).bundle())


async def _ask_for_address(session: Session, name: str) -> None:
    """Asks for the address at which the browser ended, in case that browser cannot reach this machine."""
    text = (
        f"Log in to {name} with the link above. If your browser ends on an unreachable page, paste its"
        " address here."
    )
    question = {"text": text, "header": "Log in", "kind": "text", "placeholder": "http://127.0.0.1:…"}
    while (result := await session.call("ask", {"questions": [question]})).ok:
        try:
            session.mcp.complete_login(name, result.data.answers[0])
        except ToolFailure as failure:
            question = {**question, "text": f"{failure.message}\n{text}"}
        else:
            return
