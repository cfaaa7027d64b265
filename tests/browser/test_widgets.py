"""The explorer in front ends that know widgets and nothing of ours: VS Code, Colab, a bare host, marimo."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys

import pytest
import pytest_asyncio
from playwright.async_api import expect

from nbtools import open_trace
from nbtools.traces.explorer.registry import EXPLORERS
from tests.browser.accessibility import CONTRAST, RULES, cut_buttons, is_accessible, without_visible_focus
from tests.browser.conftest import SHOTS
from tests.browser.explorer import Explorer
from tests.browser.long_log import write_cart_log
from tests.browser.run_logs import write_runs
from tests.browser.server import START, accepts
from tests.browser.tab import PATIENCE
from tests.browser.test_comparison import COMPARISON
from tests.browser.test_trace import REAL
from tests.browser.widget_host import CELL, dress, open_host
from tests.ports import free_port
from tests.waiting import eventually

WIDGET = "application/vnd.jupyter.widget-view+json"
TRACE = "application/vnd.nbtools.trace.v1+json"
OPEN = "%load_ext nbtools\n%trace session.jsonl"
FORGET = "EXPLORERS = __import__('nbtools').traces.explorer.registry.EXPLORERS\nEXPLORERS._known.clear(); EXPLORERS._recent.clear()"


@pytest_asyncio.fixture(loop_scope="session")
async def host(context, server, project):
    """A host of widgets with a kernel in a folder with the real log."""
    shutil.copy(REAL, project / "session.jsonl")
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    yield await open_host(page, server, f"{project.name}/story.ipynb")
    await page.evaluate("""async () => {
        const headers = { Authorization: `token ${window.kernel.token}` };
        const sessions = await (await fetch(`${window.kernel.base}api/sessions`, { headers })).json();
        await Promise.all(sessions.map(({ id }) => fetch(`${window.kernel.base}api/sessions/${id}`, { method: 'DELETE', headers })));
    }""")
    await page.close()


async def fits(page, name):
    """Whether the page scrolls by width, or cuts a button, at three widths."""
    for width in (380, 800, 1280):
        await page.set_viewport_size({"width": width, "height": 900})
        await eventually(True, page.evaluate, "document.documentElement.scrollWidth <= innerWidth")
        await eventually([], cut_buttons, page)
        await page.screenshot(path=SHOTS / f"{name}-{width}.png", animations="disabled")


async def test_logs_and_comparisons_are_explored_through_a_comm(host, tmp_path):
    """Under the metadata of each host; a restart of the kernel, which then knows no explorer,
    leaves the rows.
    """
    for kind in CELL:
        await dress(host.page, kind)
        outputs = await host.run(OPEN)
        assert {TRACE, WIDGET, "text/html", "text/plain"} <= set(outputs[-1]["data"])
        trace = host.cells.last.locator(".nbtools-trace")
        chip = trace.locator(".nbtools-trace-chip").filter(has_text="writes")
        await chip.click()
        await expect(chip).to_have_attribute("aria-pressed", "true")
        rows = trace.locator(".nbtools-trace-row:visible")
        await expect(rows.filter(has_text="Grep")).to_have_count(0)
        await rows.filter(has_text="Edit").first.click()
        await expect(trace.locator(".nbtools-trace-panel .nbtools-diff")).to_be_visible()
        await host.page.keyboard.press("/")
        await expect(trace.locator(".nbtools-trace-search")).to_be_focused()
        await expect(trace.get_by_role("button", name="Run again in a copy")).to_have_count(
            0
        )  # this host cannot add cells
        await expect(trace.get_by_role("button", name="compare…")).to_be_visible()
    await dress(host.page, "vscode")
    names = write_runs(tmp_path)
    outputs = await host.run(f"%trace {' '.join(str(tmp_path / name) for name in names)} --baseline A")
    assert {COMPARISON, WIDGET, "text/html", "text/plain"} <= set(outputs[-1]["data"])
    cell = host.cells.last
    shown = cell.locator(".nbtools-compare")
    await expect(shown).to_contain_text("5 runs · 3 steps shared at the beginning")
    await shown.get_by_label("Kind of check").select_option("verdict")
    await expect(shown.locator("thead th").filter(has_text="verdict")).to_be_visible()
    await shown.get_by_role("button", name="at step 8 (A: 8)").first.click()
    await expect(cell.locator(".nbtools-trace-row[aria-selected=true]")).to_contain_text("pytest")
    await cell.get_by_role("button", name="← Comparison").click()
    await expect(shown).to_be_visible()
    await host.run(FORGET)
    trace = host.cells.first.locator(".nbtools-trace")
    await trace.locator(".nbtools-trace-chip").filter(has_text="All").click()
    await expect(trace.locator(".nbtools-trace-found")).to_have_text("")
    await trace.locator(
        ".nbtools-trace-row:visible"
    ).first.click()  # the page has the rows, but not the steps
    await expect(trace.locator(".nbtools-trace-notice")).to_contain_text("Run the cell again")


async def test_a_click_counts_although_an_answer_comes_between_press_and_release(views):
    """The answer draws the buttons again; the browser sends no click to one that is replaced."""
    trace = Explorer(views, await views.show(open_trace(REAL)))
    await trace.chip("shell").click()
    await views.settled()
    async with views.held():
        await trace.search.fill("Edit")
        await views.asks_for("trace.search")
        await trace.chip("All").hover()
        await views.page.mouse.down()
    await views.settled()
    await views.page.mouse.up()
    await expect(trace.chip("All")).to_have_attribute("aria-pressed", "true")


async def test_questions_are_answered_through_a_comm(host):
    """The result replaces the question as HTML; a denial changes nothing."""
    await host.run("%load_ext nbtools")
    answers = (
        ("vscode", "dark", "Deny", "Denied by you"),
        ("colab", "light", "Approve once", "Approved once by you"),
    )
    for index, (kind, theme, answer, says) in enumerate(answers, 1):
        await dress(host.page, kind, theme)
        await host.start(f"%tool write {kind}.txt {theme}")
        question = host.question(index)
        await expect(host.button(index, answer)).to_be_visible()
        await is_accessible(host.page, ".nbtools-asking")
        assert await without_visible_focus(host.page) == []
        await fits(host.page, f"question-{kind}-{theme}")
        await host.answer(index, answer)
        await expect(host.cells.nth(index)).to_contain_text(says)
        await expect(question).to_have_count(0)
    seen = (await host.run("import os; print(os.path.exists('vscode.txt'), open('colab.txt').read())"))[-1][
        "text"
    ]
    assert seen.split() == ["False", "light"]


@pytest.mark.parametrize("highlights", [True, False])
async def test_hits_of_a_search_are_marked_in_the_step(views, highlights):
    """Marks hits with elements in browsers without the CSS Custom Highlight API; the text stays the same."""
    if not highlights:
        assert await views.page.evaluate("delete CSS.highlights && !('highlights' in CSS)")
    trace = Explorer(views, await views.show(open_trace(REAL)))
    panel = trace.panel
    step = trace.rows.filter(has=views.page.get_by_text("3.2", exact=True))
    await step.click()
    await expect(panel.locator(".nbtools-code")).to_be_visible()
    await trace.search.fill("TestMain")
    await expect(trace.found).not_to_be_empty()
    await expect(
        trace.node.locator(".nbtools-trace-indexing")
    ).to_be_empty()  # from then on the rows stay where they are
    await expect(trace.node).to_have_attribute("aria-busy", "false")
    await step.click()
    place = panel.locator(".nbtools-trace-hits").get_by_role("status")
    await expect(place).to_have_text(re.compile(r"^Hit 1 of \d+$"))
    count = int((await place.inner_text()).split()[-1])
    text = await panel.locator(".nbtools-code").inner_text()
    await views.page.keyboard.press("N")
    await expect(place).to_have_text(f"Hit {count} of {count}")
    marks = panel.locator("mark")
    if highlights:
        await eventually(count, views.page.evaluate, "CSS.highlights.get('nbtools-search').size")
        await expect(marks).to_have_count(0)
    else:
        await expect(panel.locator("mark.nbtools-current")).to_be_in_viewport()
        assert await marks.count() >= count
        await expect(panel.locator("mark.nbtools-current")).to_have_text(
            re.compile("^testmain$", re.IGNORECASE)
        )
    await trace.search.fill("")
    await expect(place).to_be_hidden()
    await expect(marks).to_have_count(0)
    assert await panel.locator(".nbtools-code").inner_text() == text


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["vscode", "colab"])
async def test_it_has_the_colours_of_its_front_end(views, kind, theme):
    """The rules that colours do not decide are checked in one theme of one front end,
    and the widths in one theme of each.
    """
    await views.as_in(kind, theme)
    trace = Explorer(views, await views.show(open_trace(REAL)))
    await trace.chip("writes").click()
    await trace.row("Edit").click()
    await expect(trace.panel.locator(".nbtools-diff")).to_be_visible()
    paper = await views.page.evaluate("getComputedStyle(document.body).backgroundColor")
    await expect(trace.node).to_have_css("background-color", paper)
    await is_accessible(views.page, rules=RULES if (kind, theme) == ("vscode", "light") else CONTRAST)
    assert await without_visible_focus(views.page) == []
    if theme == "light":
        await fits(views.page, f"widget-{kind}")


async def test_a_page_can_ask_only_for_its_own_explorer(views):
    await views.show(open_trace(REAL))
    other = open_trace(REAL)
    EXPLORERS.add(other)
    answers = await views.page.evaluate(
        """async other => {
            const model = [...window.kernel.models.values()].find(one => one.get('view'));
            const own = model.get('view').explorer;
            const answers = [];
            let last;
            const done = new Promise(resolve => (last = resolve));
            // the page's own requests have other ids, and their answers come to the same model
            model.on('msg:custom', ({ id, gone, problem, result }) => {
                if (id < 0) answers.push([-id, gone ? 'gone' : problem ? 'problem' : Object.keys(result)[0]]);
                if (id === -9) last();
            });
            const params = { explorer: own, line: 0 };
            for (const request of [null, 'x', { id: -1, method: 'trace.raw', params: { ...params, explorer: other } },
                { id: -2, method: 'trace.shell', params },
                { id: -3, method: 'trace.raw', params: { ...params, line: 1e9 } },
                { id: -4, method: 'trace.search', params: { explorer: own, version: 0, text: 'x'.repeat(20000) } },
                { id: -5, method: 'trace.raw', params: 'x' },
                { id: -9, method: 'trace.raw', params }])
                model.send(request);
            model.send('no object');
            await done;
            return answers;
        }""",
        other.id,
    )
    assert answers == [
        [1, "gone"],
        [2, "problem"],
        [3, "problem"],
        [4, "problem"],
        [5, "gone"],
        [9, "text"],
    ]


MARIMO = """\
import marimo

app = marimo.App(width="full")


@app.cell
def _():
    import marimo as mo
    import nbtools
    log = nbtools.open_trace("session.jsonl")
    mo.ui.anywidget(log.widget())
    return


@app.cell
async def _():
    from nbtools import Session
    async with Session(".") as session:
        found = await session.call("grep", {"pattern": "anywidget", "path": "app.py"})
    found
    return


@app.cell
async def _():
    from nbtools import Session as Denying
    async with Denying(".") as denying:
        denied = await denying.call("shell", {"command": "touch <b>new"})
    denied
    return


if __name__ == "__main__":
    app.run()
"""


@pytest_asyncio.fixture(loop_scope="session")
async def marimo(context, tmp_path):
    """A page of a real marimo server that shows the real log.
    Claude Code has two sessions on this machine.
    """
    shutil.copy(REAL, tmp_path / "session.jsonl")
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "NBTOOLS_STATE": str(tmp_path / "state"),
    }
    sessions = tmp_path / "claude" / "projects" / "-work-marimo"
    sessions.mkdir(parents=True)
    os.utime(shutil.copy(REAL, sessions / "upgrade.jsonl"), (0, 0))
    write_cart_log(sessions / "cart.jsonl")
    (tmp_path / "app.py").write_text(MARIMO, encoding="utf-8")
    port = free_port()
    command = (
        sys.executable,
        "-m",
        "marimo",
        "run",
        "app.py",
        "--headless",
        "--no-token",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    )
    with (tmp_path / "marimo.log").open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=tmp_path, env=environment, stdout=said, stderr=said
        )
    async with asyncio.timeout(START):
        await accepts(port, process)
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    await page.goto(f"http://127.0.0.1:{port}")
    yield page
    await page.close()
    process.terminate()
    await process.wait()


async def test_a_log_is_explored_in_marimo(marimo):
    """Marimo has no IPython, so no magics; a widget is in a shadow root there.
    What is drawn again keeps the focus.
    """
    trace = marimo.locator(".nbtools-trace")
    chip = trace.locator(".nbtools-trace-chip").filter(has_text="writes")
    await chip.click()
    await expect(chip).to_have_attribute("aria-pressed", "true")
    await expect(chip).to_be_focused()
    await trace.locator(".nbtools-trace-row:visible").filter(has_text="Edit").first.click()
    await expect(trace.locator(".nbtools-trace-panel .nbtools-diff")).to_be_visible()
    await marimo.keyboard.press("/")
    await expect(trace.locator(".nbtools-trace-search")).to_be_focused()
    await expect(trace).to_have_css("background-color", "rgb(255, 255, 255)")
    cards = marimo.locator(".nbtools-html")
    await expect(cards).to_have_count(2)
    await expect(cards.first).to_contain_text("2 matches in 1 file")
    await expect(cards.first).to_contain_text("mo.ui.anywidget(log.widget())")
    await expect(cards.last).to_contain_text("Approval required")
    await trace.get_by_role("button", name="compare…").click()
    rows = marimo.locator(".nbtools-sessions .nbtools-table-rows [role=row]")
    await expect(rows).to_have_count(2)
    await expect(rows.first).to_contain_text("Make the total exact.")
    await marimo.get_by_role("searchbox", name="Search sessions").fill("upgrade")
    await marimo.keyboard.press("ArrowDown")  # mostly before the answer
    await expect(rows).to_have_count(1)
    await expect(marimo.get_by_role("grid", name="Sessions")).to_be_focused()
    await expect(rows).to_have_class(re.compile("nbtools-table-active"))
