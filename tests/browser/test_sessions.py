"""All sessions on this machine: listed, searched, opened, and two compared, in a notebook,
in a tab of JupyterLab, and by themselves.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from urllib.parse import quote

import pytest
import pytest_asyncio
from playwright.async_api import expect

from nbtools.traces.counts import DEFINITIONS
from nbtools.traces.session_list import view
from nbtools.traces.session_list.session_messages import SessionFilter
from nbtools.traces.session_list.view import SessionList, session_catalog
from tests.browser.accessibility import is_accessible
from tests.browser.conftest import SHOTS
from tests.browser.long_log import write_cart_log
from tests.browser.test_log_tabs import LogTab
from tests.browser.test_trace import REAL
from tests.browser.views import DRAWN, open_views
from tests.traces.recorded import SAMPLES
from tests.waiting import eventually, until

MARKUP = "<img src=x onerror=window.pwned=1> title"
LOOKS_AGAIN = 6000
"""Milliseconds in which the list looks for new sessions at least once."""
CUT = """list => {
    const isNarrow = node => node.matches('.nbtools-sessions-title') && node.offsetWidth < 0.8 * list.offsetWidth;
    return [...list.querySelectorAll('.nbtools-table-rows [role=gridcell]:not(.nbtools-sessions-excerpt), div')]
        .filter(node => node.checkVisibility() && (isNarrow(node) || node.scrollWidth > node.clientWidth))
        .map(node => `${node.className}: ${node.offsetWidth} of ${list.offsetWidth}, content ${node.scrollWidth}`);
}"""
"""What is wider than its box, except excerpts, which are cut, and titles that have less than four fifths of
the list's width.
"""
HAS_WIDE_TITLES = """list => {
    const titles = [...list.querySelectorAll('.nbtools-table-rows .nbtools-sessions-title')];
    return titles.length > 0 && titles.every(({ offsetWidth }) => offsetWidth >= list.clientWidth / 3);
}"""
TAB = ".nbtools-log .nbtools-sessions"
CHOSEN = '.nbtools-trace-row[aria-selected="true"] .nbtools-trace-number'
HIT = "ForEachAgent"
HITS = 15
"""Steps of the first log that contain ``HIT``."""
IN_VIEW = """mark => {
    const cell = mark.closest('[role=gridcell]').getBoundingClientRect();
    const { left, right } = mark.getBoundingClientRect();
    return left >= cell.left && right <= cell.right;
}"""
"""Whether a marked word is in its cell's part that is visible."""


def write_prompt(path, text, cwd="/work/shop"):
    """Writes a log of Claude Code with one prompt."""
    record = {
        "type": "user",
        "parentUuid": None,
        "uuid": "u",
        "sessionId": path.stem,
        "cwd": cwd,
        "message": {"role": "user", "content": text},
    }
    path.write_text(json.dumps(record) + "\n")


@pytest.fixture
def logs():
    """Logs where Claude Code keeps its own, for this test only."""
    session_catalog.cache_clear()  # a kernel begins with an empty one
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects" / "-work-shop"
    folder.mkdir(parents=True)
    shutil.copy(REAL, folder / "upgrade.jsonl")
    later = time.time() + 3600  # so that it runs now, however slow the machine
    os.utime(folder / "upgrade.jsonl", (later, later))
    shutil.copy(SAMPLES / "codex/skills--019dd4b9-496d-7581-a780-16f20aecff69.jsonl", folder / "issue.jsonl")
    write_cart_log(folder / "cart.jsonl")
    write_prompt(folder / "markup.jsonl", MARKUP)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def own_state(logs, tmp_path, monkeypatch):
    """No other sessions than ``logs``: those of other stories come first where these are old."""
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))


class Sessions:
    """A list of sessions on a page."""

    def __init__(self, page, node):
        self.page, self.node = page, node
        self.search = node.get_by_role("searchbox", name="Search sessions")
        self.table = node.get_by_role("grid", name="Sessions")
        self.rows = node.locator(".nbtools-table-rows [role=row]")
        self.active = node.locator(".nbtools-table-active")

    def row(self, text):
        return self.rows.filter(has_text=text)

    async def has_focus_on(self, text):
        """Waits until a row is the active one of the table, which has the focus."""
        await expect(self.table).to_be_focused()
        await expect(self.active).to_contain_text(text)
        await expect(self.table).to_have_attribute(
            "aria-activedescendant", await self.active.get_attribute("id")
        )

    async def lists_at_least(self, count):
        """Waits until so many sessions are listed: other tests have left sessions on this machine, too."""

        async def listed():
            said = re.search(r"([\d,]+) sessions", await self.node.inner_text())
            return said is not None and int(said[1].replace(",", "")) >= count

        await eventually(True, listed)

    async def find(self, text):
        await self.search.fill(text)
        await expect(self.rows).to_have_count(1)


async def test_list_search_open_back_and_compare_two(views, logs):
    shown = await list_sessions(views)
    cell = views.cell(0)
    upgrade = shown.row("upgrade-external-agents-e2e-tests")
    await expect(upgrade.locator(".nbtools-sessions-calls")).to_have_text("102")  # read in the background
    await expect(upgrade.locator(".nbtools-sessions-edits")).to_have_text("+1,839 −203")
    await expect(upgrade.get_by_role("img", name="running now")).to_be_visible()
    await expect(shown.row(MARKUP)).to_be_visible()
    assert await views.page.evaluate("window.pwned") is None
    await views.look("sessions", cell)
    await is_accessible(views.page)
    await shown.table.focus()
    await views.page.keyboard.press("/")
    await expect(shown.search).to_be_focused()
    await views.page.keyboard.type("upgrade e2e")
    await expect(shown.rows).to_have_count(1)
    await views.page.keyboard.press("ArrowDown")
    await shown.has_focus_on("upgrade-external-agents-e2e-tests")
    await views.page.keyboard.press("Enter")
    explorer = cell.locator(".nbtools-trace")
    await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(
        "upgrade-external-agents-e2e-tests"
    )
    await cell.get_by_role("button", name="All sessions").click()
    await shown.has_focus_on("upgrade-external-agents-e2e-tests")
    await shown.search.focus()
    await views.page.keyboard.press("Escape")
    await expect(shown.row("Fix issue 6")).to_be_visible()
    await shown.table.focus()
    await shown.has_focus_on("upgrade-external-agents-e2e-tests")
    await views.page.keyboard.press("Space")
    await expect(upgrade).to_have_attribute("aria-selected", "true")
    await shown.row("Fix issue 6").get_by_role("checkbox").click()
    await shown.node.get_by_role("button", name="Compare", exact=True).click()
    await expect(cell).to_contain_text("shared at the beginning")
    await cell.get_by_role("button", name="All sessions").click()
    await expect(upgrade).to_be_visible()


async def list_sessions(views, query=None):
    """Shows the list alone."""
    return Sessions(views.page, views.cell(await views.show(SessionList(query))).locator(".nbtools-sessions"))


async def test_a_session_that_opens_late_leaves_the_list_to_which_the_person_has_gone_back(views, logs):
    shown = await list_sessions(views)
    cell = views.cell(0)
    await expect(shown.row("Fix issue 6")).to_be_visible()
    await views.settled()
    async with views.held():
        await shown.row("Fix issue 6").locator(".nbtools-sessions-title bdi").click()
        await expect(cell).to_contain_text("Opening…")
        await views.asks_for("sessions.open")
        await cell.get_by_role("button", name="All sessions").click()
    await views.settled()
    await expect(shown.row("Fix issue 6")).to_be_visible()
    await expect(cell.locator(".nbtools-trace")).to_have_count(0)


async def test_the_page_that_is_opened_has_the_focus_and_no_page_leaves_letters_to_jupyter(views, logs):
    shown = await list_sessions(views)
    cell, keys = views.cell(0), views.page.keyboard
    back = cell.get_by_role("button", name="All sessions")
    # Jupyter listens at the document: two times d delete the cell.
    await views.page.evaluate(
        "document.addEventListener('keydown', event => (window.heard ??= []).push(event.key), true)"
    )

    async def nothing_is_heard():
        for key in "ddrj":
            await keys.press(key)
        assert await views.page.evaluate("window.heard ?? []") == []

    await shown.search.fill("upgrade e2e")
    await expect(shown.rows).to_have_count(1)
    await shown.rows.click()
    await expect(cell.get_by_role("listbox", name="Steps")).to_be_focused()
    await nothing_is_heard()
    await back.focus()
    await nothing_is_heard()
    await keys.press("Enter")
    await shown.has_focus_on("upgrade-external-agents-e2e-tests")
    await nothing_is_heard()
    await shown.node.get_by_role("button", name="Totals…").click()
    await expect(cell.locator(".nbtools-totals-caption")).to_be_focused()
    await nothing_is_heard()
    await back.focus()
    await nothing_is_heard()


async def test_files_that_are_not_listed_are_named(views, logs):
    (logs / "odd.jsonl").write_text("no log at all\n")
    shown = await list_sessions(views)
    link = shown.node.get_by_role("button", name="not listed")
    await expect(link).to_have_attribute("aria-expanded", "false")
    await link.click()
    files = shown.node.get_by_role("region", name="Files that are not listed")
    row = files.get_by_role("row").filter(has_text="odd.jsonl")
    await expect(row).to_contain_text("Claude Code")
    await expect(row).to_contain_text("It is in no known format.")
    await is_accessible(views.page)
    await views.look("left-out", views.cell(0))
    await files.get_by_role("button", name="Close").click()
    await expect(files).to_be_hidden()
    await expect(link).to_be_focused()
    await views.page.keyboard.press("Enter")
    await expect(files.get_by_role("button", name="Close")).to_be_focused()
    await views.page.keyboard.press("Escape")
    await expect(files).to_be_hidden()
    await expect(link).to_be_focused()


async def test_filters_and_columns(views, logs):
    shown = await list_sessions(views, SessionFilter(project="shop"))
    await expect(shown.node.get_by_label("Project")).to_have_value("shop")
    await shown.node.get_by_label("Project").select_option("")
    await shown.node.get_by_label("Outcome").select_option("failed")
    await expect(shown.row(MARKUP)).to_have_count(0)
    await expect(shown.row("upgrade-external")).to_be_visible()
    await shown.node.get_by_label("Outcome").select_option("")
    await shown.node.get_by_role("button", name="Calls").click()
    await expect(shown.node.locator("[role=columnheader][aria-sort=descending]")).to_have_text("Calls")
    await expect(shown.rows.nth(0).locator(".nbtools-sessions-calls")).not_to_have_text("")
    await shown.search.fill("no such words anywhere")
    await expect(shown.node).to_contain_text("No session matches.")


async def test_the_list_is_narrowed_to_a_time_and_says_what_it_adds_up_to(
    views, logs, own_state, tmp_path, monkeypatch
):
    monkeypatch.setenv(
        "NBTOOLS_CONFIG", str(tmp_path / "config")
    )  # the folder that is added is for this story
    old = time.time() - 40 * 86_400
    os.utime(logs / "issue.jsonl", (old, old))
    shown = await list_sessions(views)
    page, node = views.page, shown.node
    upgrade = shown.row("upgrade-external")
    await expect(upgrade.locator(".nbtools-sessions-cost")).to_contain_text("$")
    await expect(upgrade.locator(".nbtools-sessions-cost")).to_have_attribute(
        "title", re.compile("genai-prices")
    )
    calls = node.get_by_role("button", name="Calls")
    assert await calls.get_attribute("title") == DEFINITIONS["calls"]
    await expect(node).to_contain_text(re.compile(r"\d sessions · [\d,]+ calls · .* tokens · .*\$"))
    issue = shown.row("Fix issue 6")
    await issue.get_by_role("checkbox").click()
    await upgrade.get_by_role("checkbox").click()
    await node.get_by_label("Time").select_option("last 30 days")
    await expect(issue).to_have_count(0)
    await expect(node).to_contain_text("2 selected, 1 not shown")
    await node.get_by_label("Time").select_option("from – to")
    await node.get_by_label("To", exact=True).fill("2001-01-01")
    await expect(node).to_contain_text("No session matches.")
    await node.get_by_label("To", exact=True).fill("")
    await expect(issue).to_be_visible()
    await node.get_by_role("button", name="clear").click()
    await expect(node.locator("[role=row][aria-selected=true]")).to_have_count(0)
    await expect(shown.table).to_be_focused()
    await node.get_by_role("button", name="Add folder…").click()
    await page.keyboard.type("/no/such/folder")
    await page.keyboard.press("Enter")
    await expect(node).to_contain_text("/no/such/folder is not a folder.")
    added = tmp_path / "added"
    added.mkdir()
    write_prompt(added / "added.jsonl", "From another folder")
    await node.get_by_label("Path of a folder with logs").fill(str(added))
    await page.keyboard.press("Enter")
    await expect(shown.row("From another folder")).to_be_visible()
    await expect(node).to_contain_text(re.compile(r"1 session in \S+ is listed"))
    await is_accessible(page)
    for width in (1280, 800, 400):
        await page.set_viewport_size({"width": width, "height": 800})
        await views.look(f"sessions-columns-{width}", views.cell(0))


async def test_sessions_that_are_gone_are_not_selected_and_titles_have_a_third_of_the_width(views, logs):
    shown = await list_sessions(views)
    page, node = views.page, shown.node
    await shown.row("Fix issue 6").get_by_role("checkbox").click()
    await shown.row("upgrade-external").get_by_role("checkbox").click()
    for width in (1280, 800, 640):
        await page.set_viewport_size({"width": width, "height": 800})
        await eventually(True, node.evaluate, HAS_WIDE_TITLES)
    await page.set_viewport_size({"width": 1280, "height": 900})
    (logs / "issue.jsonl").unlink()
    await expect(node).not_to_contain_text("2 selected", timeout=20_000)
    await expect(node).to_contain_text("1 selected")
    await node.get_by_role("button", name="Review these").click()
    await node.get_by_role("button", name="clear").click()
    await node.get_by_role("button", name="Start").click()
    await expect(node.get_by_role("region", name="Review of several sessions")).to_contain_text(
        "No session matches."
    )


async def test_totals_by_day_project_model_and_agent_narrow_the_list(views, logs, own_state):
    for path in logs.iterdir():  # read before, and not running now
        os.utime(path, (1.77e9, 1.77e9))
    shown = await list_sessions(views, SessionFilter(project=""))
    page, cell = views.page, views.cell(0)
    await expect(shown.row("upgrade-external").locator(".nbtools-sessions-cost")).to_contain_text("$")
    await expect(shown.row("Fix issue 6").locator(".nbtools-sessions-cost")).to_contain_text("$")
    await shown.node.get_by_role("button", name="Totals…").click()
    totals = cell.locator(".nbtools-totals")
    await expect(totals.get_by_role("img", name=re.compile(r"^Bars from 20"))).to_be_visible()
    for caption in ("By project", "By model", "By agent", "By day"):
        await expect(totals.get_by_role("table", name=caption)).to_be_visible()
    agents = totals.get_by_role("table", name="By agent")
    await expect(agents.get_by_role("row").filter(has_text="Claude Code")).to_contain_text(
        re.compile(r"\$\d")
    )
    models = totals.get_by_role("table", name="By model")
    await expect(models.get_by_role("row").filter(has_text="gpt-5.4")).to_contain_text("$0.38")
    await expect(models).not_to_contain_text("Failed")  # logs do not tell which model made a call
    await expect(agents).to_contain_text("Failed")
    calls = await agents.locator("tbody td:nth-child(3)").all_inner_texts()
    total = sum(int(count.replace(",", "")) for count in calls)
    await expect(totals.locator(".nbtools-totals-caption")).to_contain_text(f" · {total} calls · ")
    await is_accessible(page)
    for width in (1280, 800):
        await page.set_viewport_size({"width": width, "height": 800})
        await views.look(f"sessions-totals-{width}", cell)
    await totals.get_by_label("Shown in the bars").select_option("calls")
    await expect(totals.get_by_label("Shown in the bars")).to_be_focused()
    await agents.get_by_role("button", name="Claude Code").click()
    await expect(shown.node.get_by_label("Agent", exact=True)).to_have_value("claude-code")
    await shown.node.get_by_role("button", name="Totals…").click()
    await models.get_by_role("button", name="gpt-5.4").click()
    await shown.node.get_by_label("Agent", exact=True).select_option("")
    await expect(shown.node).to_contain_text("only gpt-5.4")
    await expect(shown.row("upgrade-external")).to_have_count(0)
    await shown.node.get_by_role("button", name="only gpt-5.4").click()
    await expect(shown.row("upgrade-external")).to_be_visible()
    await shown.node.get_by_role("button", name="Totals…").click()
    day = totals.get_by_role("table", name="By day").get_by_role("button").first
    date = await day.inner_text()
    await day.click()
    await expect(shown.node.get_by_label("From", exact=True)).to_have_value(date)
    await expect(shown.node.get_by_label("To", exact=True)).to_have_value(date)


async def test_contents_are_searched_and_a_session_opens_at_the_first_hit(views, logs):
    shown = await list_sessions(views)
    await expect(shown.node.locator(".nbtools-sessions-hits").first).to_be_hidden()
    await shown.search.fill(HIT)
    row = shown.row("upgrade-external-agents-e2e-tests")
    await expect(row.locator(".nbtools-sessions-hits")).to_have_text(str(HITS), timeout=60_000)
    await expect(row.locator("mark").first).to_have_text(HIT)
    await expect(shown.node).not_to_contain_text("not indexed yet")
    await views.look("sessions-contents", shown.node)
    await is_accessible(views.page)
    for width in (800, 400):
        await views.page.set_viewport_size({"width": width, "height": 900})
        await eventually(True, row.locator("mark").first.evaluate, IN_VIEW)
        await views.look(f"sessions-contents-{width}", shown.node)
    await views.page.set_viewport_size({"width": 1280, "height": 900})
    await shown.node.get_by_role("button", name="Hits").click()
    await expect(shown.rows.first).to_contain_text("upgrade-external-agents-e2e-tests")
    await shown.search.press("Enter")
    await views.page.keyboard.press("Enter")
    await shows_hit(views.cell(0).locator(".nbtools-trace"))


async def shows_hit(explorer):
    """Waits until an explorer searches for ``HIT``, and has one of its steps open."""
    await expect(explorer.locator(".nbtools-trace-search")).to_have_value(HIT)
    await expect(explorer.locator(".nbtools-trace-panel")).to_contain_text("Hit 1 of 12")


async def test_hundreds_of_sessions_scroll_and_are_sorted_and_filtered_while_the_kernel_is_busy(
    views, logs, monkeypatch
):
    """The page gets the latest sessions first, and then all others; only those in view are drawn."""
    monkeypatch.setattr(view, "FIRST_ROWS", 50)
    for number in range(300):
        log = logs / f"many-{number:03}.jsonl"
        write_prompt(log, f"Task number {number:03}", "/work/many")
        os.utime(log, (1.7e9 + number, 1.7e9 + number))
    shown = await list_sessions(views)
    await shown.lists_at_least(304)
    assert [one.task["latest"] for one in views.asked_for("sessions.rows")[:2]] == [True, False]
    await views.settled()
    async with views.held():
        await shown.table.focus()
        await views.page.keyboard.press("End")
        await shown.has_focus_on("Task number 000")
        await expect(shown.active).to_be_in_viewport()
        assert await shown.rows.count() < 60
        await shown.node.get_by_role("button", name="Session").click()
        await shown.table.focus()
        await views.page.keyboard.press("Home")
        await expect(shown.rows.first).not_to_contain_text("Task number")
        await shown.node.get_by_label("Project").select_option("/work/many")
        await expect(shown.node).to_contain_text(re.compile(r"300 of \d+ sessions"))
        await views.page.mouse.wheel(0, 100_000)
        await expect(shown.row("Task number 299")).to_be_in_viewport()
        await shown.node.get_by_label("Project").select_option("")
    await shown.search.fill("number 123")
    await expect(shown.rows).to_have_count(1)
    await shown.rows.click()
    await expect(views.cell(0).locator(".nbtools-trace-title")).to_contain_text("Task number 123")


async def test_the_way_back_leads_to_where_the_list_was_scrolled(views, logs):
    for number in range(60):
        shutil.copy(logs / "markup.jsonl", logs / f"copy-{number}.jsonl")
    shown = await list_sessions(views)
    await shown.lists_at_least(64)
    await shown.table.evaluate("table => table.scrollTo(0, 700)")
    await expect(shown.rows.first).not_to_have_attribute("aria-rowindex", "2")
    await shown.rows.nth(14).locator(".nbtools-sessions-title bdi").click()
    await expect(views.cell(0).locator(".nbtools-trace")).to_be_visible()
    await views.cell(0).get_by_role("button", name="All sessions").click()
    await expect(shown.table).to_be_focused()
    await eventually(700, shown.table.evaluate, "table => table.scrollTop")


@pytest_asyncio.fixture(loop_scope="session")
async def page(lab):
    await lab.bring_to_front()
    await lab.evaluate("window.jupyterapp.shell.collapseLeft()")  # the list has the whole width
    yield lab
    await lab.evaluate("[...window.jupyterapp.shell.widgets('main')].forEach(widget => widget.dispose())")
    await lab.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")


async def test_in_jupyterlab_a_session_opens_in_a_tab_at_the_hit_of_the_search_in_all(page, logs):
    await page.evaluate("window.jupyterapp.commands.execute('nbtools:list-sessions').then(() => null)")
    shown = Sessions(page, page.locator(TAB))
    await shown.search.fill(HIT)
    row = shown.row("upgrade-external-agents-e2e-tests")
    await expect(row.locator(".nbtools-sessions-hits")).to_have_text(str(HITS), timeout=60_000)
    await row.click()
    await shows_hit(page.locator(".nbtools-log:visible .nbtools-trace"))


async def test_a_tab_of_jupyterlab_lists_and_opens_logs_that_jupyter_does_not_serve(page, logs, screenshots):
    await page.evaluate("window.jupyterapp.commands.execute('nbtools:list-sessions').then(() => null)")
    shown = Sessions(page, page.locator(TAB))
    await expect(shown.row("upgrade-external").locator(".nbtools-sessions-calls")).to_have_text("102")
    await expect(page.locator(".lm-TabBar-tab.jp-mod-current")).to_contain_text("Agent Sessions")
    await screenshots(page, "sessions-tab")
    await shown.find("upgrade e2e")  # other stories have left sessions, too
    size = page.viewport_size
    for width in (380, 320):
        await page.set_viewport_size({"width": width, "height": 900})
        await eventually([], shown.node.evaluate, CUT)
    await is_accessible(page, TAB)
    await page.set_viewport_size(size)
    await shown.node.get_by_role("button", name="Totals…").click()
    totals = page.locator(".nbtools-log:visible .nbtools-totals")
    await expect(totals.get_by_role("table", name="By model")).to_contain_text("claude-opus-4-6")
    await screenshots(page, "sessions-totals-tab")
    await is_accessible(page, ".nbtools-log .nbtools-totals")
    await page.get_by_role("button", name="All sessions").click()
    await shown.rows.click()
    await expect(page.locator(".nbtools-log:visible .nbtools-trace-title")).to_contain_text(
        "upgrade-external-agents-e2e-tests"
    )
    await expect(page.locator(".lm-TabBar-tab.jp-mod-current")).to_contain_text(
        "upgrade-external-agents-e2e-tests"
    )
    await page.evaluate("window.jupyterapp.commands.execute('nbtools:list-sessions').then(() => null)")
    await expect(shown.rows).to_have_count(1)
    await page.evaluate(
        "path => window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null)",
        "session:0123456789abcd",
    )
    await expect(page.locator(".nbtools-log:visible")).to_contain_text(
        "no longer in its folder, or was not listed"
    )


async def test_the_address_of_a_listed_log_that_jupyter_does_not_serve_opens_it_and_nothing_else(
    page, logs, context
):
    await page.evaluate("window.jupyterapp.commands.execute('nbtools:list-sessions').then(() => null)")
    shown = Sessions(page, page.locator(TAB))
    await shown.find("upgrade e2e")
    await shown.rows.click()
    tab = LogTab(page)
    await tab.row("Read").click()
    number = await tab.node.locator(CHOSEN).inner_text()
    link = tab.panel.get_by_role("button", name="Copy link")
    named = re.compile(rf"/lab\?agent-log=session%3A[0-9a-f]{{14}}&agent-step={re.escape(number)}$")
    await expect(link).to_have_attribute("title", named)
    address = await link.get_attribute("title")
    other = await context.new_page()
    opened = LogTab(other)
    await other.goto(address)
    for _ in range(2):
        await expect(opened.node.locator(CHOSEN)).to_have_text(number)
        await expect(opened.panel.locator(".nbtools-card")).to_be_visible()
        await other.wait_for_url(lambda url: "agent-log" not in url)
        await expect(other.locator(".lm-TabBar-tab.jp-mod-current")).to_contain_text("upgrade-external")
        await other.goto(address)
    for log, problem in (
        ("session:0123456789abcd", "no longer in its folder, or was not listed"),
        ("session:../../etc/passwd", "does not exist, or Jupyter does not serve it"),
        (f"session:{logs}/upgrade.jsonl", "does not exist, or Jupyter does not serve it"),
        (f"{logs}/upgrade.jsonl", "does not exist, or Jupyter does not serve it"),
    ):
        await other.goto(re.sub("agent-log=[^&]*", f"agent-log={quote(log, safe='')}", address))
        await expect(opened.node).to_contain_text(problem)
    await other.close()


@pytest_asyncio.fixture(loop_scope="session")
async def views_with_a_clock(browser):
    """A page for views, whose time goes on as the test says."""
    context = await browser.new_context()
    await context.clock.install()
    async with open_views(context, SHOTS) as views:
        await views.clear()
        yield views


async def test_the_answer_to_a_filter_is_awaited_before_the_list_looks_again(logs, views_with_a_clock):
    """The list looks for new sessions every few seconds.  A slow answer to a filter comes after that time."""
    views = views_with_a_clock
    shown = await list_sessions(views)
    await expect(
        shown.row("upgrade-external-agents-e2e-tests").locator(".nbtools-sessions-calls")
    ).to_have_text("102")
    await views.settled()
    count = len(views.asked_for("sessions.rows"))
    await views.page.clock.fast_forward(LOOKS_AGAIN)
    await views.asks_for("sessions.rows", count + 1)  # it looks again, where there is no slow answer
    await views.settled()
    async with views.held():
        await shown.search.fill("upgrade e2e")
        await until(
            lambda: [one.task["text"] for one in views.asked_for("sessions.search")] == ["upgrade e2e"]
        )
        count = len(views.asked)
        await views.page.clock.fast_forward(LOOKS_AGAIN)
        await views.page.evaluate(DRAWN)
        assert len(views.asked) == count
    await expect(shown.rows).to_have_count(1)
