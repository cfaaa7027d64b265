"""A notebook in a browser's tab, as a person uses it: cells to run, cards to read, buttons to press."""

from __future__ import annotations

import asyncio
import json
import os
import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from playwright.async_api import Dialog, Locator, Page, expect
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from tests.browser.questions import QuestionButtons
from tests.waiting import eventually

PATIENCE = 120_000
"""Milliseconds for whatever must happen; two slow cores take their time."""
THEMES = {
    "light": "JupyterLab Light",
    "dark": "JupyterLab Dark",
    "high contrast": "JupyterLab Dark High Contrast",
}
expect.set_options(timeout=PATIENCE)
KERNEL = """() => {
    const { currentWidget } = window.jupyterapp.shell;
    const kernel = currentWidget?.sessionContext?.session?.kernel;
    const dialog = document.querySelector('.jp-Dialog')?.textContent;
    const shown = currentWidget?.title.label;
    return { hidden: document.hidden, dialog, shown, status: kernel?.status, connection: kernel?.connectionStatus };
}"""
"""What the page knows of the kernel of the notebook in front, and of a dialog,
which keeps notebooks from the focus.
"""
FRAMES_PASS = """async () => {
    let last = -Infinity;
    for (let frame = 0; frame <= 90;) {
        const now = await new Promise(requestAnimationFrame);
        if (now - last >= 12) {
            [last, frame] = [now, frame + 1];
        }
    }
}"""
"""Counts the frames as ``labextension/src/shared/until_input.ts`` does, as many as there."""
SET = """async ([name, value]) => {
    const registry = window.jupyterapp.pluginRegistry._plugins.get("@jupyterlab/apputils-extension:settings").service;
    await (value === null ? registry.remove("nbtools-agent:plugin", name) : registry.set("nbtools-agent:plugin", name, value));
}"""
IN_WORKSPACE = """() => {
    const { serviceManager, shell } = window.jupyterapp;
    const name = `notebook:${shell.currentWidget.context.path}`;
    return serviceManager.workspaces.fetch('default').then(
        ({ data }) => JSON.stringify(data['layout-restorer:data'] ?? '').includes(name), () => false);
}"""
"""Whether the notebook in front is opened again when JupyterLab is loaded."""


async def restored(page: Page) -> None:
    """Waits until the application stands as it will.
    ``wait_for_function`` would take the promise itself for a yes.
    """
    await page.wait_for_function("window.jupyterapp?.restored !== undefined")
    await page.evaluate("window.jupyterapp.restored.then(() => null)")


async def open_lab(page: Page, address: str) -> None:
    """Opens JupyterLab with nothing in it."""
    page.set_default_timeout(PATIENCE)
    await page.goto(address)
    await restored(page)
    await page.evaluate("window.jupyterapp.shell.collapseLeft()")


async def leave_page(dialog: Dialog) -> None:
    """Answers the browser's question whether to leave a page that has something unsaved."""
    await dialog.accept()


class NotebookCells(QuestionButtons[int]):
    """The outputs of cells, wherever they are shown.
    Cells are numbered from 0, which is the one that loads nbtools.
    """

    def __init__(self, page: Page, folder: Path, shots: Path) -> None:
        self.page = page
        self.folder = folder
        self.shots = shots
        page.set_default_timeout(PATIENCE)

    @abstractmethod
    def cell(self, index: int) -> Locator: ...

    @abstractmethod
    def output(self, index: int) -> Locator: ...

    @abstractmethod
    async def start(self, index: int) -> None:
        """Runs a cell, and does not wait for it."""

    @abstractmethod
    async def done(self, *indices: int) -> None:
        """Waits until these cells have ended."""

    @abstractmethod
    async def theme(self, name: str) -> None: ...

    async def run(self, index: int) -> None:
        await self.start(index)
        await self.done(index)

    def card(self, index: int) -> Locator:
        """The cards of calls that do not wait for an answer."""
        return self.cell(index).locator(".nbtools-card:not(.nbtools-asking > *)")

    def question(self, index: int) -> Locator:
        return self.cell(index).locator(".nbtools-asking")

    def status(self, index: int) -> Locator:
        return self.card(index).locator(".nbtools-status")

    def record(self, index: int) -> Locator:
        return self.card(index).locator(".nbtools-record")

    def read(self, name: str) -> str:
        """A file of the project, as it is on disk."""
        return (self.folder / name).read_text(encoding="utf-8")

    async def exists(self, *names: str) -> None:
        """Waits until these files of the project have text."""
        async with asyncio.timeout(PATIENCE / 1000):
            while not all((self.folder / name).is_file() and self.read(name).strip() for name in names):
                await asyncio.sleep(0.05)

    async def wait_for_questions(self, index: int, count: int = 1) -> None:
        """Waits until that many questions are shown, with their buttons."""
        await expect(self.question(index).locator("button.nbtools-cancel")).to_have_count(count)

    async def keys_count(self, index: int) -> None:
        """Waits until the question has the focus,
        and has had it for the half second in which keys do not answer it yet.
        """
        await expect(self.question(index).locator(".nbtools-cancel")).to_be_focused()
        await self.keys_pass()

    async def keys_pass(self) -> None:
        """Waits until what has the focus has had it for that long."""
        since = await self.page.evaluate("performance.now()")
        await self.page.wait_for_function("since => performance.now() - since > 500", arg=since)

    async def automatic_scrolling_ends(self) -> None:
        """Waits for the frames in which what has just appeared is scrolled into view again and again.
        Only after them can be seen whether it stays in view: no event tells that nothing will move it.
        """
        await self.page.evaluate(FRAMES_PASS)

    async def look(self, name: str, *where: Locator, themes: Sequence[str] = ("light", "dark")) -> None:
        await take_pictures(self, name, *where, themes=themes)


class Tab(NotebookCells):
    """One notebook, in JupyterLab or Notebook 7."""

    def __init__(self, page: Page, path: Path, shots: Path) -> None:
        super().__init__(page, path.parent, shots)
        self.path = path

    @property
    def panel(self) -> Locator:
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    @property
    def notices(self) -> Locator:
        """Returns the notification of the application in a corner of the page."""
        return self.page.locator(".Toastify__toast")

    def cell(self, index: int) -> Locator:
        return self.panel.locator(f'.jp-Cell[data-windowed-list-index="{index}"]')

    def output(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-OutputArea-output")

    async def ready(self, timeout: float = PATIENCE) -> None:
        """Waits until the kernel waits for work, which takes its time on a machine that has little;
        ``timeout`` in milliseconds.
        """
        await restored(self.page)
        await expect(self.panel.locator(".jp-Cell:visible").first).to_be_visible()
        idle = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        try:
            # A page that draws nothing, because it is behind another one, is asked all the same.
            await self.page.wait_for_function(idle, timeout=timeout, polling=100)
        except PlaywrightTimeoutError:
            raise AssertionError(
                f"the kernel does not wait for work: {await self.page.evaluate(KERNEL)}"
            ) from None

    async def start(self, index: int) -> None:
        """Runs a cell as a person does, and does not wait for it."""
        await self.cell(index).locator(".cm-content").click()
        await self.page.keyboard.press("Control+Enter")

    async def done(self, *indices: int) -> None:
        """Waits until these cells have their numbers."""
        for index in indices:
            await expect(self.cell(index).locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"))

    async def is_busy(self, index: int) -> None:
        await expect(self.cell(index).locator(".jp-InputPrompt")).to_have_text("[*]:")

    async def run_all(self) -> None:
        await self.command("notebook:run-all-cells", wait=False)

    async def press(self, item: str) -> None:
        """Presses a button of the notebook's toolbar: ``interrupt``, ``restart``."""
        await self.panel.locator(f'.jp-Toolbar [data-jp-item-name="{item}"]').first.click()

    async def restart(self) -> None:
        """Restarts the kernel by the toolbar, and waits until the new one waits for work."""
        await self.page.evaluate("""() => {
            const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
            window.restarting = false;
            kernel.statusChanged.connect((_, status) => { window.restarting ||= status === 'restarting'; });
        }""")
        await self.press("restart")
        await self.page.locator(".jp-Dialog").get_by_role("button", name="Confirm").click()
        await self.page.wait_for_function("window.restarting")  # until then the old one is idle
        await self.ready()

    async def command(self, name: str, *, wait: bool = True, **arguments: Any) -> None:
        """Has the application do what a menu item would."""
        execute = """([name, arguments, wait]) => {
            const done = window.jupyterapp.commands.execute(name, arguments).then(() => null);
            return wait ? done : null;
        }"""
        await self.page.evaluate(execute, [name, arguments, wait])

    async def value(self, expression: str) -> str:
        """Returns the value of an expression in the kernel, requested beside the notebook."""
        code = f"print({expression})"
        evaluate = """async code => {
            const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
            const future = kernel.requestExecute({ code, silent: false, store_history: false, allow_stdin: false });
            let text = '';
            future.onIOPub = message => { text += message.content.text ?? message.content.evalue ?? ''; };
            await future.done;
            return text;
        }"""
        return str(await self.page.evaluate(evaluate, code)).strip()

    async def save(self) -> dict[str, Any]:
        """Saves the notebook; returns what is on disk."""
        await self.command("docmanager:save")
        # An output may arrive while the notebook is being saved.
        await self.page.evaluate("""async () => {
            const { context } = window.jupyterapp.shell.currentWidget;
            while (context.model.dirty) await context.save();
        }""")
        return dict(json.loads(self.path.read_text(encoding="utf-8")))

    async def close(self) -> None:
        """Closes what is open, without a word about what is not saved."""
        await self.page.evaluate(
            "[...window.jupyterapp.shell.widgets('main')].forEach(widget => widget.dispose())"
        )

    async def address(self) -> str:
        """Returns the address at which the page can be loaded again;
        waits until JupyterLab then finds the notebook in its workspace.

        JupyterLab would open a notebook that the address names, too, but some time after the page is ready,
        which may be in the next story.
        """
        if await self.page.evaluate("window.location.pathname.includes('/lab/tree/')"):
            await eventually(True, self.page.evaluate, IN_WORKSPACE)
            await self.page.evaluate(
                r"window.history.replaceState(null, '', location.href.replace(/(\/lab)\/tree\/[^?#]*/, '$1'))"
            )
        return self.page.url

    async def load_again(self) -> None:
        """Loads the page again, without what is not saved."""
        await self.address()
        self.page.on("dialog", leave_page)  # the browser asks, and keeps the page until it is answered
        await self.page.reload()
        self.page.remove_listener("dialog", leave_page)
        await restored(self.page)

    async def end(self) -> None:
        """Closes everything, notices too, and ends the kernels."""
        await self.page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
        await self.close()
        await self.page.evaluate(
            "document.querySelectorAll('.Toastify__close-button').forEach(button => button.click())"
        )

    async def to_front(self) -> None:
        """Shows the notebook, which is open, before all others."""
        await self.command("docmanager:open", path=f"{self.folder.name}/{self.path.name}")

    @asynccontextmanager
    async def setting(self, name: str, value: Any) -> AsyncIterator[None]:
        """Sets a setting of nbtools, as the settings editor does, until the end."""
        await self.page.evaluate(SET, [name, value])
        try:
            yield
        finally:
            await self.page.evaluate(SET, [name, None])

    async def theme(self, name: str) -> None:
        await self.command("apputils:change-theme", theme=THEMES[name])
        await expect(self.page.locator("body")).to_have_attribute("data-jp-theme-name", THEMES[name])
        await expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)


class Themed(Protocol):
    """The appearance of a page in one theme or another."""

    page: Page
    shots: Path

    async def theme(self, name: str) -> None: ...


async def take_pictures(
    visible: Themed, name: str, *where: Locator, themes: Sequence[str] = ("light", "dark")
) -> None:
    """Screenshots for the eye, in both themes, where ``NBTOOLS_SCREENSHOTS`` asks for them;
    of the page where no place is given.
    """
    if not os.environ.get("NBTOOLS_SCREENSHOTS"):
        return
    for theme in themes:
        await visible.theme(theme)
        target = where[0] if where else visible.page
        await target.screenshot(path=visible.shots / f"{name}-{theme}.png", animations="disabled")
    await visible.theme("light")
