"""A server and a browser for the whole run; a notebook of its own for every story."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, Route, ViewportSize, async_playwright, expect

from tests.browser.accessibility import emulate
from tests.browser.cells import ADDRESS, CellPage, Cells, serve_bundle
from tests.browser.project import make_project, write_notebook
from tests.browser.server import Server
from tests.browser.tab import PATIENCE, THEMES, Tab, open_lab
from tests.browser.views import Views, open_views

HERE = Path(__file__).parent
SHOTS = HERE / "screenshots"
FIND_BROWSER = HERE.parents[1] / "labextension" / "scripts" / "find_browser.py"
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    # pages that a test makes up talk to the server on this machine
    "--disable-features=LocalNetworkAccessChecks",
)
WINDOW: ViewportSize = {"width": 1200, "height": 900}
ZOOMED: ViewportSize = {"width": 600, "height": 450}
"""A window of 1,200 × 900 pixels at 200 %."""
NO_SPINNERS = """const style = new CSSStyleSheet();
style.replaceSync(`:is(#jupyterlab-splash *, .jupyterlite-moon, .jp-SpinnerContent, .jp-KernelStatus-spinner) {
    animation: none !important;
}`);
document.adoptedStyleSheets.push(style);"""
"""Where no graphics card draws them, what turns while a page or its Python loads takes as much of the
processor as loading does.
"""
OpenNotebook = Callable[..., Awaitable[Tab]]
OpenCells = Callable[..., Awaitable[Cells]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Server and browser live in one loop for the whole run, so the stories do too."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            if inspect.iscoroutinefunction(getattr(item, "function", None)):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


def browser_path() -> str:
    named = os.environ.get("NBTOOLS_BROWSER")
    return (
        named
        or subprocess.run(
            [sys.executable, FIND_BROWSER], check=True, stdout=subprocess.PIPE, text=True
        ).stdout.strip()
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with Server(tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def plain_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A Jupyter whose user has switched the extension off."""
    root, home = tmp_path_factory.mktemp("plain"), tmp_path_factory.mktemp("home")
    async with Server(root, home, disabled=["nbtools-agent"]) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    SHOTS.mkdir(exist_ok=True)
    context = await browser.new_context(viewport=WINDOW)
    context.set_default_timeout(PATIENCE)
    await context.add_init_script(NO_SPINNERS)
    yield context
    await context.close()


@asynccontextmanager
async def without_extension(context: BrowserContext) -> AsyncIterator[Page]:
    """A page of a user who has switched the extension off:
    what JupyterLab says of itself in its page is changed as the server would.
    """

    async def switch_off(route: Route) -> None:
        response = await route.fetch()
        text, count = re.subn(r'"disabledExtensions": \[', r'\g<0>"nbtools-agent", ', await response.text())
        assert count == 1
        await route.fulfill(response=response, body=text.replace('"nbtools-agent", ]', '"nbtools-agent"]'))

    page = await context.new_page()
    await page.route(
        re.compile(r"/lab/"),
        lambda route: switch_off(route) if route.request.is_navigation_request() else route.fallback(),
    )
    page.set_default_timeout(PATIENCE)
    try:
        yield page
    finally:
        await page.close()


class SharedPages:
    """JupyterLab and Notebook 7, each in a tab of the browser,
    in which one story after the other opens and closes its notebooks.

    A story that fails leaves what it was about: a dialog, a busy kernel, another theme.  The next one gets
    new tabs, the usual settings and a server without kernels, so that one failure stays one.
    """

    lab: Page
    notebook: Page
    """Loads with every notebook."""

    def __init__(self, context: BrowserContext, server: Server) -> None:
        self._context = context
        self._server = server
        self._failures: int | None = None

    async def after(self, failures: int) -> Self:
        """The tabs, opened when no more than this number of stories had failed."""
        if self._failures is None:
            await self._open()
        elif self._failures != failures:
            for page in self._context.pages:  # also those that the story has opened by itself
                await page.close()
            self._server.reset_settings()
            await self._open()
            await self.lab.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
        self._failures = failures
        return self

    async def _open(self) -> None:
        self.lab = await self._context.new_page()
        self.notebook = await self._context.new_page()
        await open_lab(self.lab, f"{self._server.address('lab')}&reset")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_pages(context: BrowserContext, server: Server) -> SharedPages:
    return SharedPages(context, server)


@pytest_asyncio.fixture(loop_scope="session")
async def lab(shared_pages: SharedPages, request: pytest.FixtureRequest) -> Page:
    """JupyterLab, loaded once, and after a failure."""
    return (await shared_pages.after(request.session.testsfailed)).lab


@pytest_asyncio.fixture(loop_scope="session")
async def notebook(shared_pages: SharedPages, request: pytest.FixtureRequest) -> Page:
    """A browser's tab for Notebook 7."""
    return (await shared_pages.after(request.session.testsfailed)).notebook


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def view_page(browser: Browser) -> AsyncIterator[Views]:
    SHOTS.mkdir(exist_ok=True)
    async with open_views(await browser.new_context(viewport=WINDOW), SHOTS) as views:
        yield views


@pytest_asyncio.fixture(loop_scope="session")
async def views(view_page: Views, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Views:
    """A page for views, which has neither JupyterLab nor a kernel; empty, and of the usual size.

    This process works in the test's folder, as a kernel in that of its notebook.
    """
    monkeypatch.chdir(tmp_path)
    await view_page.page.set_viewport_size(WINDOW)
    await emulate(view_page.page)
    await view_page.clear()
    return view_page


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def cell_page(browser: Browser) -> AsyncIterator[CellPage]:
    SHOTS.mkdir(exist_ok=True)
    async with open_views(await browser.new_context(viewport=WINDOW), SHOTS) as views:
        await views.page.route(f"{ADDRESS}**", serve_bundle)
        yield CellPage(views)


@pytest_asyncio.fixture(loop_scope="session")
async def open_cells(
    cell_page: CellPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[OpenCells]:
    """Opens cells on a page without JupyterLab, in a project of the story's own,
    after one that has loaded nbtools.
    """
    folder = make_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    views = await cell_page.after(request.session.testsfailed)
    await views.page.set_viewport_size(WINDOW)
    opened: list[Cells] = []

    async def open_cells(*codes: str) -> Cells:
        cells = Cells(views, folder, codes)
        opened.append(cells)
        await cells.open()
        return cells

    yield open_cells
    for cells in opened:
        await cells.close()


@pytest.fixture
def project(server: Server, request: pytest.FixtureRequest) -> Path:
    """A project of the story's own, in the folder that the server serves.
    It stays: a page may still look at it, a kernel write.
    """
    folder = server.root / re.sub(r"\W+", "-", f"{request.node.path.stem}-{request.node.name}").strip("-")
    folder.mkdir()
    return make_project(folder)


@pytest.fixture(params=["lab", "notebook"])
def app(request: pytest.FixtureRequest) -> str:
    """Each of the two applications, for what differs in them:
    focus, keys, layout, and outputs that were saved.
    """
    return str(request.param)


@pytest_asyncio.fixture(loop_scope="session")
async def open_file(
    server: Server, lab: Page, notebook: Page, request: pytest.FixtureRequest
) -> AsyncIterator[OpenNotebook]:
    """Opens a notebook of the disk, in a window of the usual size;
    ends all kernels after a story that has passed.
    """
    pages = {"lab": lab, "notebook": notebook}
    opened: list[Tab] = []
    for page in pages.values():
        await page.set_viewport_size(WINDOW)
    await lab.evaluate(
        "window.jupyterapp.shell.collapseLeft()"
    )  # a story before may have opened a sidebar, beside which diffs are narrow

    async def open_file(path: Path, app: str = "lab") -> Tab:
        tab = Tab(pages[app], path, SHOTS)
        opened.append(tab)
        await tab.page.bring_to_front()  # a tab behind another one draws nothing
        served = path.relative_to(server.root).as_posix()
        if app == "notebook":
            await tab.page.goto(server.address("notebooks", served))
        else:
            await tab.command("docmanager:open", path=served)
        await tab.ready()
        return tab

    failures = request.session.testsfailed
    yield open_file
    if request.session.testsfailed == failures:
        async with asyncio.timeout(PATIENCE / 1000):
            for tab in opened:
                await tab.end()


@pytest.fixture
def open_notebook(open_file: OpenNotebook, project: Path) -> OpenNotebook:
    """Opens a new notebook of these cells, after one that has loaded nbtools."""

    async def open_notebook(*cells: str, app: str = "lab") -> Tab:
        path = project / "story.ipynb"
        write_notebook(path, cells)
        tab: Tab = await open_file(path, app)
        await tab.run(0)
        return tab

    return open_notebook


@pytest_asyncio.fixture(loop_scope="session")
async def zoomed(lab: Page) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Halves the window, as a zoom of 200 % does."""
    before = lab.viewport_size

    async def zoomed() -> None:
        await lab.set_viewport_size(ZOOMED)

    yield zoomed
    if before:
        await lab.set_viewport_size(before)
    await emulate(lab)


@pytest.fixture
def screenshots() -> Callable[[Page, str], Awaitable[None]]:
    """Takes pictures of a page at three widths in both themes,
    where ``NBTOOLS_SCREENSHOTS`` asks for them.
    """

    async def screenshots(page: Page, name: str) -> None:
        if not os.environ.get("NBTOOLS_SCREENSHOTS"):
            return
        size = page.viewport_size
        had_left = await page.evaluate("window.jupyterapp.shell.leftCollapsed === false")
        for theme, title in THEMES.items():
            await page.evaluate(
                "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme }).then(() => null)",
                title,
            )
            await expect(page.locator("body")).to_have_attribute("data-jp-theme-name", title)
            for width in (1280, 800, 380):
                if width < 800:
                    await page.evaluate("window.jupyterapp.shell.collapseLeft?.()")
                await page.set_viewport_size({"width": width, "height": 800})
                await page.screenshot(path=SHOTS / f"{name}-{theme}-{width}.png", animations="disabled")
            if had_left:
                await page.evaluate("window.jupyterapp.shell.expandLeft()")
        await page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme }).then(() => null)",
            THEMES["light"],
        )
        if size:
            await page.set_viewport_size(size)

    return screenshots
