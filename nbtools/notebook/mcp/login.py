"""``%tools mcp login``: a link in the cell to the page where the person logs in, and a field for where it ended."""

from __future__ import annotations

import asyncio
import webbrowser
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from nbtools.core.errors import ToolFailure
from nbtools.notebook.attending import SheetInPlace, attended
from nbtools.notebook.frontend import Terminal
from nbtools.notebook.sheets import Sheet

if TYPE_CHECKING:
    from nbtools.notebook.places import Place
    from nbtools.notebook.workbench import Workbench
    from nbtools.session import Session


@dataclass(frozen=True, slots=True)
class LoginPage(Sheet):
    """The way to where the person logs in.  The browser that clicks is the person's, wherever the kernel runs."""

    server: str = ""
    page: str = ""

    def text(self) -> str:
        return f"Log in to {self.server}: {self.page}"

    def html(self) -> str:
        link = f'<a href="{escape(self.page)}" target="_blank" rel="noopener noreferrer">{escape(self.page)}</a>'
        return f'<div class="nbtools-sheet" style="overflow-wrap:anywhere">Log in to {escape(self.server)}: {link}</div>'


def log_in(bench: Workbench, name: str) -> None:
    """Waits for the person.  Raises ``ToolFailure``."""
    in_terminal = isinstance(bench.frontend, Terminal)

    async def there(place: Place) -> None:
        await _logged_in(bench.session, name, place, in_terminal=in_terminal)

    attended(bench, there)


async def _logged_in(session: Session, name: str, place: Place, *, in_terminal: bool) -> None:
    shown: list[Sheet] = [Sheet(lines=(f"Asking {name} where to log in…",))]
    sheet = SheetInPlace(place, lambda: shown[0])
    sheet.turn()
    loop, pasting = asyncio.get_running_loop(), list[asyncio.Task[None]]()

    def opened(page: str) -> None:
        shown[0] = LoginPage(server=name, page=page)
        sheet.finish()
        if in_terminal:
            loop.run_in_executor(None, webbrowser.open, page)
        pasting.append(loop.create_task(_pasted(session, name)))

    try:
        where = await session.mcp.login(name, opened)
    finally:
        for task in pasting:
            task.cancel()
    shown[0] = Sheet(lines=(f"Logged in to {name}; the login is kept in {where}.",))
    sheet.finish()


async def _pasted(session: Session, name: str) -> None:
    """Asks where the browser ended, for one that cannot reach this machine."""
    text = f"Log in to {name} with the link above. Only if your browser then ends at a page that it cannot reach: paste its address here."
    question = {"text": text, "header": "Log in", "kind": "text", "placeholder": "http://127.0.0.1:…"}
    while (answered := await session.call("ask", {"questions": [question]})).ok:
        try:
            session.mcp.landed(name, answered.data.answers[0])
        except ToolFailure as failure:
            question = {**question, "text": f"{failure.message}\n{text}"}
        else:
            return
