"""Cells on a page of their own, in Chromium:
the outputs and questions of a notebook, without JupyterLab and its server.

Everything that a story is about is the real one: nbtools in an IPython kernel, which runs in a thread of this
process; the widget of questions from the bundle of VS Code and Colab; the extension's renderers of cards,
with JupyterLab's registry, editor, themes and style sheet.  Not here are JupyterLab's notebook (focus among
cells, its keys, its scrolling), its menus and panels, reloads and restarts.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Route, expect

from tests.browser.accessibility import emulate
from tests.browser.tab import PATIENCE, NotebookCells
from tests.browser.views import Views
from tests.in_process_kernel import InProcessKernel, Message

LIB = Path(__file__).parents[2] / "labextension" / "lib"
BUNDLE = LIB / "test_page" / "bundle"
STYLE = LIB / "style" / "index.raw.css"
ADDRESS = "http://localhost/outputs/"


class CellPage:
    """A page on which one test after the other has its cells.  It is loaded once, and after a failure."""

    def __init__(self, views: Views) -> None:
        self.views = views
        self._failures: int | None = None

    async def after(self, failures: int) -> Views:
        """The page, loaded when no more than this number of tests had failed;
        in the light theme and without emulated media.
        """
        if self._failures != failures:
            await self.views.clear()
        elif self.views.theme_name != "light":
            await self.views.theme("light")
        self._failures = failures
        await emulate(self.views.page)
        return self.views


class Cells(NotebookCells):
    """Cells on such a page, numbered from 0, which is the one that loads nbtools."""

    def __init__(self, views: Views, folder: Path, codes: tuple[str, ...]) -> None:
        super().__init__(views.page, folder, views.shots)
        self._views = views
        self._codes = ("%load_ext nbtools", *codes)
        self._loop = asyncio.get_running_loop()
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._kernel = InProcessKernel(
            lambda message: self._loop.call_soon_threadsafe(self._messages.put_nowait, message)
        )
        self._pump = asyncio.create_task(self._send_to_page())
        views.handle = self._kernel.handle

    async def open(self) -> None:
        """Draws the cells and runs the first one."""
        css = STYLE.read_text(encoding="utf-8")
        await self.page.evaluate(
            "([count, script, css]) => window.openCells(count, script, css)",
            [len(self._codes), f"{ADDRESS}outputs.js", css],
        )
        await self.run(0)

    def cell(self, index: int) -> Locator:
        return self.page.locator(f'.cell[data-index="{index}"]')

    def output(self, index: int) -> Locator:
        return self.cell(index).locator(".output")

    async def start(self, index: int) -> None:
        """Runs a cell, and does not wait for it."""
        await self.page.evaluate(
            "([index, code]) => void window.cells.start(index, code)", [index, self._codes[index]]
        )

    async def done(self, *indices: int) -> None:
        """Waits until these cells have ended."""
        for index in indices:
            await expect(self.cell(index)).not_to_have_attribute("data-busy", "")

    async def is_busy(self, index: int) -> None:
        await expect(self.cell(index)).to_have_attribute("data-busy", "")

    async def opened(self) -> list[Any]:
        """The files that the page has opened, each with its line."""
        return list(await self.page.evaluate("window.opened"))

    async def theme(self, name: str) -> None:
        await self._views.theme(name)

    async def close(self) -> None:
        """Ends the kernel, and what runs in it."""
        async with asyncio.timeout(PATIENCE / 1000):
            await asyncio.to_thread(self._kernel.close)
        self._pump.cancel()
        self._views.handle = lambda _: None

    async def _send_to_page(self) -> None:
        """Passes the kernel's messages on, in their order."""
        while True:
            messages = [await self._messages.get()]
            while not self._messages.empty():
                messages.append(self._messages.get_nowait())
            await self.page.evaluate(
                "messages => messages.forEach(one => window.cells.receive(one))", messages
            )


async def serve_bundle(route: Route) -> None:
    """Answers a request for a module that draws outputs."""
    path = BUNDLE / route.request.url.removeprefix(ADDRESS)
    assert path.is_file(), (
        f"{path} does not exist: the front end is not built, or it is an old one.  Build it: make .make/front-end"
    )
    await route.fulfill(path=path, content_type="text/javascript")
