"""JupyterLite with nbtools, built from what npm and PyPI have:
sessions are read, searched and reviewed, and no server takes part.

The tests share one page, whose Python takes long to load.
"""

from __future__ import annotations

import base64
import functools
import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from tests.browser.accessibility import CONTRAST, OURS, RULES, cut_buttons, is_accessible
from tests.browser.conftest import NO_SPINNERS, SHOTS
from tests.browser.explorer import Explorer
from tests.browser.hostile import RUN
from tests.browser.long_log import write_log
from tests.browser.tab import PATIENCE, Tab
from tests.browser.test_log_tabs import OPEN, LogTab
from tests.browser.test_shared_page import hostile_records
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
NOTEBOOK = "explore-sessions.ipynb"
LOADING = 2 * PATIENCE
"""Python loads in 15 seconds on an idle machine."""
NO_TOOLS = "Tools and agents cannot run in the browser"
SIZE: ViewportSize = {"width": 1280, "height": 900}
LABELS = "nbtools/review/labels.jsonl"
STORED = """path => window.jupyterapp.serviceManager.contents.get(path, { content: true }).then(({ content }) => atob(content))"""
STORE = """([path, text]) => window.jupyterapp.serviceManager.contents.save(
    path, { content: btoa(text), type: 'file', format: 'base64' }).then(() => null)"""
CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.sharedModel)
    .filter(cell => cell.cell_type === 'code')"""

RUN_EARLY = """() => {
    const { commands, shell } = window.jupyterapp ?? {};
    const { content, sessionContext } = shell?.currentWidget ?? {};
    const isEarly = sessionContext?.kernelDisplayStatus === 'initializing' && content.widgets.length > 0;
    const runs = isEarly && commands.isEnabled('notebook:run-all-cells');
    runs && void commands.execute('notebook:run-all-cells');
    return runs;
}"""
"""Runs the notebook while there is no kernel yet."""
FIRST_CELL = f'.jp-Cell[data-windowed-list-index="1"] :is({OURS})'
"""What nbtools shows in the first cell: other stories leave outputs in the cells below."""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Returns the folder of the files, written as ``make lite`` writes them."""
    folder = tmp_path_factory.mktemp("site") / "lite"
    done = subprocess.run(
        [sys.executable, "docs/scripts/lite.py", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    config = json.loads((folder / "jupyter-lite.json").read_text(encoding="utf-8"))
    config["jupyter-config-data"]["exposeAppInBrowser"] = True  # the tests execute commands
    (folder / "jupyter-lite.json").write_text(json.dumps(config), encoding="utf-8")
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(folder.parent))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def new_page(browser: Browser, address: str) -> AsyncIterator[Page]:
    """The page with its notebook, whose Python is still loading.  No request goes to another host."""
    context = await browser.new_context(viewport=SIZE)
    await context.add_init_script(NO_SPINNERS)
    elsewhere: list[str] = []
    context.on(
        "request",
        lambda request: request.url.startswith((address, "data:", "blob:")) or elsewhere.append(request.url),
    )
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    await page.goto(f"{address}lite/lab/index.html?path={NOTEBOOK}")
    yield page
    await context.close()
    assert elsewhere == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(new_page: Page) -> Page:
    """The page, when its notebook's first cell has shown a log."""
    tab = Tab(new_page, Path(NOTEBOOK), SHOTS)
    await tab.ready(LOADING)
    await tab.start(1)
    await expect(Explorer(tab, 1).rows.first).to_be_visible(timeout=LOADING)
    return new_page


@pytest_asyncio.fixture(loop_scope="session")
async def tab(page: Page) -> Tab:
    """The notebook, in front."""
    tab = Tab(page, Path(NOTEBOOK), SHOTS)
    await tab.command("docmanager:open", path=NOTEBOOK)
    await expect(tab.panel).to_be_visible()
    return tab


async def run(tab: Tab, code: str) -> None:
    """Runs ``code`` in the first cell."""
    change = """code => {
        const { content } = window.jupyterapp.shell.currentWidget;
        content.activeCellIndex = 1;
        content.activeCell.model.sharedModel.setSource(code);
        return content.scrollToItem(1).then(() => null);
    }"""
    await tab.page.evaluate(change, code)
    await tab.command("notebook:run-cell")


async def opened(tab: Tab, log: str) -> Explorer:
    await run(tab, f"%trace {log}")
    explorer = Explorer(tab, 1)
    await expect(explorer.rows.first).to_be_visible()
    return explorer


@pytest.mark.slow
async def test_a_cell_that_is_run_before_there_is_a_kernel_is_not_lost_silently(new_page: Page) -> None:
    """JupyterLab would start a second kernel for it, and forget the cell when the first one is ready.

    This is the first story: the others wait until the page has a kernel.
    """
    await new_page.wait_for_function(RUN_EARLY)
    await expect(new_page.locator(".Toastify__toast")).to_contain_text(
        "You can run code cells when the kernel has initialized"
    )


@pytest.mark.slow
async def test_a_session_is_searched_and_its_steps_are_read(tab: Tab) -> None:
    explorer = await opened(tab, "logs/claude-code.log")
    await explorer.search.fill("e2e_require_lifecycle")
    await expect(explorer.found).to_have_text(re.compile(r"^\d+ of 210"))
    await explorer.search.fill("")
    await explorer.chip("writes").click()
    await explorer.leaves(29)
    await explorer.row("Makefile").click()
    await expect(explorer.card.locator(".nbtools-diff")).to_contain_text("ifdef AGENT")
    again = explorer.panel.get_by_role("button", name="Run again in a copy")
    await expect(again).to_be_disabled()
    await expect(explorer.panel).to_contain_text(NO_TOOLS)
    await explorer.node.get_by_role("button", name="Usage").click()
    await expect(explorer.node.get_by_role("region", name="Usage")).to_contain_text("claude-opus-4-6")


@pytest.mark.slow
async def test_every_cell_of_the_notebook_runs_except_the_command(tab: Tab, page: Page) -> None:
    await run(tab, "%load_ext nbtools\n%trace logs/claude-code.log")
    await tab.command("notebook:run-all-cells", wait=False)
    # A look copies all outputs, with the sessions in them.
    await page.wait_for_function(
        f"({CELLS})().every(cell => cell.execution_count !== null && cell.outputs.length)", polling=200
    )
    errors = f"({CELLS})().map(cell => cell.outputs.filter(output => output.output_type === 'error').length)"
    assert await page.evaluate(errors) == [0] * (await page.evaluate(f"({CELLS})().length"))
    last = await page.evaluate(f"JSON.stringify(({CELLS})().at(-1).outputs)")
    assert NO_TOOLS in last


@pytest.mark.slow
async def test_ones_own_log_is_uploaded_and_does_no_harm(tab: Tab, page: Page, tmp_path: Path) -> None:
    """The name and the texts are hostile: each text is in a message, a call and a result."""
    name = f"a b <img class=pwned src=x onerror={RUN}> %20.jsonl"
    write_log(tmp_path / name, "/tmp", hostile_records())
    await page.evaluate("window.jupyterapp.shell.activateById('filebrowser')")
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Upload Files").click()
    await (await chooser.value).set_files([tmp_path / name])
    await expect(page.locator(".jp-DirListing-item").filter(has_text="onerror")).to_be_visible()
    await tab.command("docmanager:open", path=NOTEBOOK)  # an uploaded file opens
    explorer = await opened(tab, f"'{name}'")
    await explorer.rows.first.click()
    for step in range(2, 14):
        await page.keyboard.press("j")
        await expect(explorer.chosen).to_have_attribute("aria-posinset", str(step))
        await expect(explorer.panel.locator(".nbtools-trace-foot")).to_contain_text(f"step {step}")
    assert await page.evaluate("typeof __pwned === 'undefined' && document.querySelector('.pwned') === null")


@pytest.mark.slow
async def test_the_logs_among_the_files_are_listed(tab: Tab) -> None:
    await run(tab, "%trace")
    sessions = tab.cell(1).locator(".nbtools-sessions")
    rows = sessions.get_by_role("row")
    for agent in ("Claude Code", "Codex", "SWE-agent"):
        await expect(rows.filter(has_text=agent).first).to_be_visible()
    await expect(sessions).not_to_contain_text("completely")
    await rows.filter(has_text="SWE-agent").first.locator(".nbtools-sessions-title").click()
    await expect(Explorer(tab, 1).rows.first).to_be_visible()
    explorer = await opened(tab, "logs/codex.log")
    await explorer.node.get_by_role("button", name="compare…").click()
    await expect(rows.filter(has_text="Claude Code").first).to_be_visible()


@pytest.mark.slow
async def test_a_session_is_shared_as_a_file(tab: Tab, page: Page) -> None:
    explorer = await opened(tab, "logs/swe-agent.traj")
    await explorer.node.get_by_role("button", name="share…").click()
    panel = explorer.node.get_by_role("region", name="Share this session")
    await panel.get_by_role("button", name="Write HTML file").click()
    await expect(explorer.notice).to_have_text("Wrote /drive/swe-agent.html.")
    kept = await page.evaluate(
        "window.jupyterapp.serviceManager.contents.get('swe-agent.html', { content: true })"
    )
    assert base64.b64decode(kept["content"]).startswith(b"<!doctype html>")


@pytest.mark.slow
async def test_the_explorer_is_accessible_in_a_narrow_window(tab: Tab, page: Page) -> None:
    explorer = await opened(tab, "logs/claude-code.log")
    await page.evaluate("window.jupyterapp.shell.collapseLeft()")
    await page.set_viewport_size({"width": 800, "height": 900})
    await explorer.chip("writes").click()
    await explorer.leaves(29)
    await explorer.row("Makefile").click()
    await expect(explorer.card.locator(".nbtools-diff")).to_be_visible()
    await is_accessible(page, FIRST_CELL, RULES)
    await tab.theme("dark")
    await is_accessible(page, FIRST_CELL, CONTRAST)
    await eventually([], cut_buttons, page)
    await tab.theme("light")
    await page.set_viewport_size(SIZE)


@pytest.mark.slow
async def test_a_review_is_in_a_tab_that_is_opened_later_and_two_that_review_lose_nothing(
    tab: Tab, page: Page, address: str
) -> None:
    """Both stories share the second tab, whose Python takes long to load, too."""
    explorer = await opened(tab, "logs/codex.log")
    await explorer.rows.nth(1).click()
    await expect(explorer.chosen).to_have_count(1)
    await page.keyboard.press("f")
    await expect(explorer.list.locator('[data-index="1"] .nbtools-trace-mark')).to_have_text(["fail"])
    await page.keyboard.press("n")
    note = explorer.node.locator(".nbtools-trace-review").get_by_role("textbox", name="Note")
    await expect(note).to_be_focused()
    await note.fill("it <b>never</b> ran")
    await page.keyboard.press("Enter")
    await expect(explorer.node.locator(".nbtools-trace-review-message")).to_have_text(
        "Step 2: note “it <b>never</b> ran”."
    )

    other = await page.context.new_page()
    other.set_default_timeout(PATIENCE)
    await other.goto(f"{address}lite/lab/index.html?agent-log=logs/codex.log")
    second = LogTab(other).node
    row = second.locator('[data-index="1"]')
    await expect(row.locator(".nbtools-trace-mark").filter(has_text="fail")).to_be_visible(timeout=LOADING)
    await row.click()
    await expect(second).to_contain_text("it <b>never</b> ran")

    await other.evaluate(
        "window.jupyterapp.commands.execute('filebrowser:open-path', { path: 'logs' }).then(() => null)"
    )
    await other.evaluate("window.jupyterapp.shell.activateById('filebrowser')")
    await other.locator(".jp-DirListing-item").filter(has_text="swe-agent.traj").click(button="right")
    await other.locator(".lm-Menu").get_by_text(OPEN, exact=True).click()
    await expect(other.locator(".nbtools-log")).to_have_count(2)
    await expect(second.locator(".nbtools-trace-row:visible").first).to_be_visible()
    await two_tabs_lose_nothing(page, (await opened(tab, "logs/swe-agent.traj")).node, second)
    await other.close()


async def two_tabs_lose_nothing(page: Page, first: Locator, second: Locator) -> None:
    """The file is replaced by what it was before the other tab wrote,
    as when this one had begun to write earlier.
    """

    async def judge(node: Locator, step: int, key: str, verdict: str) -> None:
        row = node.locator(f'[data-index="{step}"]')
        await row.click()
        await expect(row).to_have_attribute("aria-selected", "true")
        await node.page.keyboard.press(key)
        await expect(row.locator(".nbtools-trace-mark").filter(has_text=verdict)).to_be_visible()

    async def verdicts() -> list[str]:
        records = map(json.loads, (await page.evaluate(STORED, LABELS)).splitlines())
        return sorted(record["value"] for record in records if record["target"]["format"] == "swe-agent")

    await judge(first, 1, "f", "fail")
    before = await page.evaluate(STORED, LABELS)
    await judge(second, 2, "p", "pass")
    await eventually(["fail", "pass"], verdicts)
    await page.evaluate(STORE, [LABELS, before])
    await judge(first, 3, "d", "defer")
    await eventually(["defer", "fail", "pass"], verdicts)
    await judge(second, 4, "f", "fail")
    await eventually(["defer", "fail", "fail", "pass"], verdicts)
