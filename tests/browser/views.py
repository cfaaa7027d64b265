"""Views of session logs on a page of their own, in Chromium, without JupyterLab and without a kernel.

The page shows the widget that VS Code and Colab show, from the same bundle, and has JupyterLab's themes.  The
other end of the widget's comm is the real one too: ``ExplorerWidget`` and the explorers behind it, in the
process of the tests.
"""

from __future__ import annotations

import asyncio
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Condition
from typing import Any, NamedTuple, Protocol

from comm.base_comm import BaseComm
from playwright.async_api import BrowserContext, Locator, Page

from nbtools.notebook.traces.widget import ExplorerWidget
from tests.browser.tab import PATIENCE, THEMES, take_pictures
from tests.browser.widget_host import SCRIPT, dress
from tests.waiting import DEADLINE, until


def _script(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


ADDRESS = "http://localhost/views"
"""Answered by this module.  A browser trusts this host as it trusts one with a certificate,
so that the page can copy texts.
"""
HTML = f"""<!doctype html>
<html lang="en"><head><title>Views</title><style id="theme"></style><style>
body {{ margin: 0; color: var(--jp-ui-font-color1); background: var(--jp-layout-color0); }}
body {{ font-family: var(--jp-ui-font-family); font-size: var(--jp-ui-font-size1); }}
.cell {{ margin: 8px 16px 8px min(96px, 8vw); }}
</style></head><body><script>{SCRIPT}{_script("views.js")}{_script("cells.js")}</script></body></html>"""
THEME_FOLDER = Path(sys.prefix) / "share" / "jupyter" / "lab" / "themes" / "@jupyterlab"
THEME_FILES = {
    "light": "theme-light-extension",
    "dark": "theme-dark-extension",
    "high contrast": "theme-dark-high-contrast-extension",
}
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
SET_THEME = """([css, title, isLight]) => {
    document.querySelector('#theme').textContent = css;
    document.body.dataset.jpThemeName = title;
    document.body.dataset.jpThemeLight = String(isLight);
}"""


class View(Protocol):
    """An explorer, a list of sessions, or a comparison."""

    def widget(self) -> ExplorerWidget: ...


class SentRequest(NamedTuple):
    """A request of the page."""

    at: float
    """When the page sent it, in seconds: it may arrive later."""
    task: dict[str, Any]
    """Its parameters; ``type`` is the name of the method."""


class PageComm(BaseComm):
    """Keeps the messages of a widget until they are taken to the page."""

    def __init__(self) -> None:
        self._sent: list[tuple[dict[str, Any], list[str]]] = []
        self._changed = Condition()
        super().__init__()

    def publish_msg(
        self,
        msg_type: str,
        data: dict[str, Any] | None = None,
        metadata: object = None,
        buffers: Sequence[bytes] | None = None,
        **_: Any,
    ) -> None:
        if msg_type == "comm_msg" and data is not None:
            with self._changed:
                self._sent.append((data, [b64encode(buffer).decode() for buffer in buffers or ()]))
                self._changed.notify_all()

    def answer(self, data: dict[str, Any]) -> list[tuple[dict[str, Any], list[str]]]:
        """Has the widget handle a message of the page,
        and returns the messages that it has sent since the last one, with their buffers in Base64.
        An answer that takes longer comes from another thread, and is waited for.
        """
        self.handle_msg({"content": {"comm_id": self.comm_id, "data": data}, "buffers": []})
        with self._changed:
            self._changed.wait_for(lambda: not self._is_waited_for(), DEADLINE)
            sent, self._sent = self._sent, []
        return sent

    def _is_waited_for(self) -> bool:
        """Whether a request has no answer yet but that it takes longer."""
        contents = [data.get("content") or {} for data, _ in self._sent]
        pending = {content["id"]: bool(content.get("pending")) for content in contents if "id" in content}
        return any(pending.values())


class Views:
    """The page.  Its cells, numbered from 0, have the views that were shown;
    it is empty again for each test.
    """

    def __init__(self, page: Page, shots: Path) -> None:
        self.page = page
        self.shots = shots
        self.theme_name = ""
        self.asked: list[SentRequest] = []
        """All requests, in their order."""
        self._widgets: dict[str, tuple[ExplorerWidget, PageComm]] = {}
        self._kernel = ThreadPoolExecutor(max_workers=1, thread_name_prefix="views")
        """Answers one request after the other, as a kernel does."""
        self._answers = asyncio.Event()
        self._answers.set()
        self.handle: Callable[[dict[str, Any]], object] = lambda _: None
        """Takes the messages of the cells on this page, which ``cells.py`` puts there."""

    async def clear(self) -> None:
        """Loads the page, in the light theme."""
        for widget, _ in self._widgets.values():
            widget.close()
        self._widgets.clear()
        self.asked.clear()
        self._answers.set()
        await self.page.goto(ADDRESS)
        await self.theme("light")

    async def show(self, view: View) -> int:
        """Shows a view below the others; returns the number of its cell."""
        widget = view.widget()
        widget.comm = comm = PageComm()
        self._widgets[comm.comm_id] = widget, comm
        await self.page.evaluate(
            "([id, state]) => window.showWidget(id, state)",
            [comm.comm_id, widget.get_state(["view", "_esm", "_css"])],
        )
        return len(self._widgets) - 1

    def cell(self, index: int) -> Locator:
        return self.page.locator(".cell").nth(index)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Answers no request until the end."""
        self._answers.clear()
        try:
            yield
        finally:
            self._answers.set()

    def asked_for(self, kind: str) -> list[SentRequest]:
        """The requests of a type."""
        return [one for one in self.asked if one.task["type"] == kind]

    async def asks_for(self, kind: str, count: int = 1) -> None:
        """Waits until the page has sent that many requests of a type."""
        await until(lambda: len(self.asked_for(kind)) >= count)

    async def settled(self) -> None:
        """Waits until the page has drawn the answers to all that it has asked."""
        await self.page.wait_for_function("window.unanswered === 0")
        await self.page.evaluate(DRAWN)

    async def theme(self, name: str) -> None:
        css = (THEME_FOLDER / THEME_FILES[name] / "index.css").read_text(encoding="utf-8")
        await self.page.evaluate(SET_THEME, [css, THEMES[name], name == "light"])
        self.theme_name = name

    async def as_in(self, kind: str, theme: str) -> None:
        """Looks like VS Code or Colab, which have colours of their own instead of JupyterLab's,
        until the page is loaded again.
        """
        await self.page.evaluate(SET_THEME, ["", "", theme == "light"])
        await self.page.evaluate(
            "['jpThemeName', 'jpThemeLight'].forEach(name => delete document.body.dataset[name])"
        )
        await dress(self.page, kind, theme)

    async def look(self, name: str, *where: Locator, themes: Sequence[str] = ("light", "dark")) -> None:
        await take_pictures(self, name, *where, themes=themes)

    async def answer(
        self, comm_id: str, data: dict[str, Any], at: float
    ) -> list[tuple[dict[str, Any], list[str]]]:
        content = data["content"]
        if isinstance(content, dict) and isinstance(content.get("params"), dict):
            self.asked.append(SentRequest(at, {"type": content["method"], **content["params"]}))
        await self._answers.wait()
        _, comm = self._widgets[comm_id]
        return await asyncio.get_running_loop().run_in_executor(self._kernel, comm.answer, data)

    def handle_message(self, message: dict[str, Any]) -> None:
        self.handle(message)

    def close(self) -> None:
        self._kernel.shutdown()


@asynccontextmanager
async def open_views(context: BrowserContext, shots: Path) -> AsyncIterator[Views]:
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    views = Views(page, shots)
    await page.route(ADDRESS, lambda route: route.fulfill(body=HTML, content_type="text/html"))
    await page.expose_function("sendToTests", views.answer)
    await page.expose_function("sendToKernel", views.handle_message)
    yield views
    await context.close()
    views.close()
