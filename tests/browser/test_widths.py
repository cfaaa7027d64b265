"""The views of nbtools at 380, 800 and 1,280 pixels:
whole buttons, nothing outside the window, a question's head and answers in view.
"""

from __future__ import annotations

import shutil

import pytest_asyncio
from playwright.async_api import expect

from nbtools import open_trace, traces
from nbtools.traces.comparison.view import ComparisonDisplay
from tests.browser.accessibility import OURS, cut_buttons
from tests.browser.conftest import WINDOW
from tests.browser.explorer import Explorer
from tests.browser.long_log import write_cart_log
from tests.browser.test_accessible_lab import DIALOG, WORK
from tests.browser.test_asking import EDIT, IN_VIEW, SHELL, WHOLE
from tests.browser.test_comparison import Comparison
from tests.browser.test_editing import WRITE
from tests.browser.test_panel import Agents
from tests.browser.test_trace import REAL
from tests.waiting import eventually

WIDTHS = (1280, 800, 380)
BESIDE_FILES = 500
"""The width of a notebook beside the file browser, in a window of 800 pixels."""
HEIGHT = 800
PANEL = "#nbtools-agents"
SETTLED = (
    "new Promise(done => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done), 50)))"
)
OUTSIDE = """selector => {
    const scrolls = node => node && (getComputedStyle(node).overflowX !== 'visible' || scrolls(node.parentElement?.closest(selector)));
    return [...document.querySelectorAll(selector)]
        .filter(node => node.checkVisibility() && !scrolls(node.parentElement?.closest(selector)))
        .filter(node => {
            const { left, right, width } = node.getBoundingClientRect();
            return width > 0 && (right > innerWidth + 1 || left < -1);
        })
        .map(node => node.outerHTML.slice(0, 200));
}"""
REVEALS = f"""(question, parts) => {{
    question.scrollIntoView({{ block: 'nearest' }});
    return parts.every(part => ({IN_VIEW})(question.querySelector(part)));
}}"""
READ = "%tool read src/cart.py"
LOOK = (
    "%tool grep total src --context 1",
    "%tool ls",
    "%tool glob '**/*.py'",
    "%tool shell ls -la",
    "tools.read('no such file')",
)


async def each_width(visible, name, selector=OURS, widths=WIDTHS):
    """Gives the window each width in turn, checks what must hold at all of them, and takes the pictures."""
    for width in widths:
        await visible.page.set_viewport_size({"width": width, "height": HEIGHT})
        await visible.page.evaluate(SETTLED)
        await visible.look(f"{name}-{width}")
        await eventually([], cut_buttons, visible.page, selector)
        await eventually([], visible.page.evaluate, OUTSIDE, selector)
        yield width


@pytest_asyncio.fixture(loop_scope="session")
async def widths(lab):
    """The views in JupyterLab, whose left side is closed where it is not what is checked."""
    before = lab.viewport_size

    async def widths(tab, name, *, panel=False, selector=OURS):
        if not panel:
            await lab.evaluate("window.jupyterapp.shell.collapseLeft()")
        async for width in each_width(tab, name, selector):
            yield width

    yield widths
    await lab.set_viewport_size(before)


async def test_questions_and_the_editor(open_cells):
    tab = await open_cells(
        WRITE, "%tool shell git add -A && git commit -m totals | tee ../log.txt", EDIT, SHELL
    )
    for index, name in ((1, "edit"), (2, "command")):
        await tab.start(index)
        await tab.wait_for_questions(index)
        question = tab.question(index)
        async for _ in each_width(tab, f"widths-{name}"):
            await eventually(
                True, question.evaluate, REVEALS, [".nbtools-head", ".nbtools-approve", ".nbtools-cancel"]
            )
        await tab.modify(index)
        await expect(question.locator(".nbtools-editor-host :focus")).to_have_count(1)
        async for _ in each_width(tab, f"widths-modify-{name}"):
            await eventually(
                True, question.evaluate, REVEALS, [".nbtools-head", ".nbtools-apply", ".nbtools-back"]
            )
        await tab.answer(index, "Back")
        await tab.deny(index)
        await tab.done(index)
    for index in (3, 4):
        await tab.start(index)
        await tab.wait_for_questions(index)
        buttons = tab.question(index).locator(".nbtools-buttons button")
        async for _ in each_width(tab, f"widths-buttons-{index}", widths=(*WIDTHS, BESIDE_FILES)):
            await eventually(True, buttons.evaluate_all, WHOLE)
            await eventually(True, tab.question(index).evaluate, REVEALS, [".nbtools-buttons"])
        await tab.deny(index)
        await tab.done(index)


async def test_results(open_cells):
    tab = await open_cells(READ, *LOOK)
    await tab.run(1)
    for index in range(2, 2 + len(LOOK)):
        await tab.start(index)
        if index == 5:
            await tab.approve(index)
        await tab.done(index)
    async for _ in each_width(tab, "widths-results"):
        pass


async def test_logs_and_their_comparison(views, tmp_path):
    shutil.copy(REAL, "a.jsonl")
    write_cart_log(tmp_path / "b.jsonl")
    log = Explorer(views, await views.show(open_trace("a.jsonl")))
    await log.chip("writes").click()
    await log.row("Edit").click()
    await expect(log.panel.locator(".nbtools-diff")).to_be_visible()
    async for _ in each_width(views, "widths-log"):
        await expect(log.search).to_be_in_viewport(ratio=1)
    await views.clear()
    await views.show(ComparisonDisplay(traces.compare("a.jsonl", "b.jsonl")))
    compared = Comparison(views.page, views.cell(0).locator(".nbtools-compare"))
    await expect(compared.node).to_contain_text("shared at the beginning")
    async for _ in each_width(views, "widths-compared"):
        await expect(compared.run("B").get_by_role("button").first).to_be_in_viewport(ratio=1)


async def test_dialogs_the_tour_a_table_and_the_panel(open_notebook, widths, zoomed):
    reads = "for name in ('notes.txt', 'README.md'): tools.read(name)"
    tab = await open_notebook(reads, "%tools history", WORK, WRITE)
    await tab.command("nbtools:keys", wait=False)
    await expect(tab.page.locator(DIALOG)).to_contain_text("approve once")
    async for _ in widths(tab, "widths-keys", selector=DIALOG):
        await expect(tab.page.locator(DIALOG).get_by_role("button", name="Close")).to_be_in_viewport(ratio=1)
    await tab.page.keyboard.press("Escape")
    await tab.command("nbtools:tour", wait=False)
    async for _ in widths(tab, "widths-tour"):
        await expect(tab.page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    await tab.page.keyboard.press("Escape")

    await tab.page.set_viewport_size(WINDOW)
    await tab.run(1)
    await tab.run(2)
    await zoomed()
    await short_names_are_not_broken(tab)

    await tab.page.set_viewport_size(WINDOW)
    agents = Agents(tab)
    await agents.open()
    await tab.run(3)
    await tab.start(4)
    await expect(agents.waiting).to_have_count(1)
    async for _ in widths(tab, "widths-panel", panel=True, selector=PANEL):
        await expect(agents.waiting.get_by_role("button", name="Deny")).to_be_in_viewport(ratio=1)


async def short_names_are_not_broken(tab):
    """JupyterLab lets code wrap anywhere, also in a cell of a table that does not wrap."""
    names = tab.output(2).locator("tr td:nth-child(2) code")
    await expect(names).to_have_text(["read", "read"])
    for name in await names.all():
        await expect(name).to_have_css("white-space-collapse", "collapse")
        assert await name.evaluate("name => name.getClientRects().length") == 1
