"""An explorer that stays open while an agent writes its log."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.explorer import Explorer
from tests.browser.test_log_tabs import KEPT, LINES
from tests.browser.test_trace import REAL
from tests.traces.explorer.test_following import WITH_AGENTS, without_its_agent
from tests.traces.following.test_follow import WRITER, write_all
from tests.waiting import eventually, falls_silent

LAST = "88"
"""The last step of the whole log."""
SHELLS = 18
"""Steps of the whole log that run commands."""
MARKED = """list => {
    const { top, bottom } = list.getBoundingClientRect();
    const boxes = [...list.querySelectorAll('.nbtools-trace-new')].map(row => row.getBoundingClientRect());
    return boxes.filter(box => box.top >= top && box.bottom <= bottom).length;
}"""
NO_SUBSHELLS = (
    "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.commsOverSubshells = 'disabled'"
)
BUSY = "The kernel is busy"
WAITS = "import pathlib, time\nwhile not pathlib.Path('{name}').exists(): time.sleep(0.05)"
IS_AT_END = "list => list.scrollTop + list.clientHeight >= list.scrollHeight - 2"


class Live:
    """An explorer and the process that writes its log."""

    def __init__(self, trace, writer):
        self.trace = trace
        self.writer = writer

    def write(self, lines):
        """Has the process append lines."""
        for _ in range(lines):
            assert self.writer.stdout.readline() == "written\n"
            self.writer.stdin.write("\n")
            self.writer.stdin.flush()

    def write_all(self):
        write_all(self.writer)

    @property
    def toggle(self):
        return self.trace.node.locator(".nbtools-trace-follow")

    @property
    def offer(self):
        return self.trace.node.locator(".nbtools-trace-new-steps button")

    async def has_marks(self, some):
        """Waits until steps in view are marked as new, or none is."""
        found = f"([list, some]) => (({MARKED})(list) > 0) === some"
        await self.trace.tab.page.wait_for_function(found, arg=[await self.trace.list.element_handle(), some])


@contextmanager
def written(log):
    log.write_bytes(b"".join(LINES[:KEPT]))
    command = [sys.executable, WRITER, "lines", REAL, log]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        yield writer
        writer.kill()


@pytest.fixture
def open_live(views):
    """Shows the explorer of a log that is written on command."""
    with ExitStack() as writers:

        async def open_live():
            writer = writers.enter_context(written(Path("session.jsonl")))
            live = Live(Explorer(views, await views.show(open_trace("session.jsonl"))), writer)
            await expect(live.toggle).to_have_text("Following")
            return live

        yield open_live


@pytest.fixture
def open_in_notebook(open_notebook, project):
    """Opens a notebook with such an explorer in cell 1, and these cells below."""
    with ExitStack() as writers:

        async def open_in_notebook(*cells):
            writer = writers.enter_context(written(project / "session.jsonl"))
            tab = await open_notebook("t = %trace session.jsonl\nt", *cells)
            await tab.run(1)
            live = Live(Explorer(tab, 1), writer)
            await expect(live.toggle).to_have_text("Following")
            return live

        yield open_in_notebook


async def steps_of(live):
    """The number of steps that the chip *All* counts."""
    return int((await live.trace.chip("All").inner_text()).split()[-1])


async def test_new_steps_are_offered_and_marked_until_they_were_seen(open_live):
    live = await open_live()
    trace = live.trace
    await trace.row("Read").click()
    chosen = await trace.chosen.inner_text()
    await expect(trace.card).to_be_visible()
    await live.trace.list.evaluate("list => { list.scrollTop = 200; }")
    before = await steps_of(live)
    live.write(60)
    await expect(live.offer).to_contain_text("new step")
    assert await trace.list.evaluate("list => list.scrollTop") == 200
    assert await trace.chosen.inner_text() == chosen
    await trace.tab.look("following-offer", trace.cell)
    live.write_all()
    await expect(trace.node).to_contain_text("335 records")
    await expect(trace.chip("All")).to_have_text("All 133")
    await expect(live.offer).to_have_text(f"{133 - before} new steps")
    await live.offer.click()
    await expect(trace.row(LAST)).to_be_visible()
    await expect(live.offer).to_be_hidden()
    await live.has_marks(True)
    await trace.tab.look("following-new", trace.cell)
    await live.has_marks(False)
    await trace.list.evaluate("list => { list.scrollTop = 200; }")
    await expect(live.offer).to_contain_text("new step")
    assert (
        int((await live.offer.inner_text()).split()[0]) < 133 - before
    )  # those that were seen do not count any more


async def test_a_list_at_its_end_stays_there(open_live):
    live = await open_live()
    await live.trace.to_end()
    live.write_all()
    await expect(live.trace.row(LAST)).to_be_visible()
    await eventually(True, live.trace.list.evaluate, IS_AT_END)
    await expect(live.offer).to_be_hidden()


async def test_under_a_filter_the_new_steps_that_match_are_offered(open_live):
    live = await open_live()
    chips = [live.trace.chip(name) for name in ("shell", "reads", "search")]

    async def listed():
        return sum([int((await chip.inner_text()).split()[-1]) for chip in chips])

    for chip in chips:
        await chip.click()
    before = await listed()
    await live.trace.leaves(before)
    assert await live.trace.list.evaluate("list => list.scrollHeight > list.clientHeight")
    live.write_all()
    await expect(live.trace.node).to_contain_text("335 records")
    await expect(live.trace.chip("All")).to_have_text("All 133")
    await expect(live.offer).to_have_text(f"{await listed() - before} new steps match the filters")
    await live.trace.tab.look("following-filter", live.trace.cell)


async def test_a_sorted_list_takes_new_steps_in_their_place(open_live):
    live = await open_live()
    trace = live.trace
    await trace.choose("Order of the steps", "slowest first")
    await expect(trace.node.get_by_label("Order of the steps")).to_have_class(re.compile("chosen"))
    await expect(row_at(trace, 0)).to_contain_text("Agent")
    await row_at(trace, 5).click()
    chosen = await trace.chosen.inner_text()
    live.write_all()
    await expect(trace.node).to_contain_text("335 records")
    await expect(trace.chip("All")).to_have_text("All 133")
    await expect(trace.chosen).to_have_text(chosen, use_inner_text=True)
    await expect(live.offer).to_be_hidden()
    place = str(await trace.chosen.get_attribute("data-index"))
    await trace.list.evaluate("list => { list.scrollTop = 0; }")
    await expect(row_at(trace, 0)).to_contain_text("Agent")
    followed = await numbers_of(trace)
    await trace.choose("Order of the steps", "in order")
    await expect(trace.chosen).not_to_have_attribute("data-index", place)
    await trace.choose("Order of the steps", "slowest first")
    await expect(trace.chosen).to_have_attribute(
        "data-index", place
    )  # the list scrolls there when it is loaded
    await trace.list.evaluate("list => { list.scrollTop = 0; }")
    await expect(row_at(trace, 0)).to_contain_text("Agent")
    assert await numbers_of(trace) == followed


def row_at(trace, index):
    return trace.list.locator(f'[data-index="{index}"]')


async def numbers_of(trace):
    """The numbers of the first steps in the list."""
    return [await row_at(trace, row).locator(".nbtools-trace-number").inner_text() for row in range(8)]


async def test_an_overview_that_is_shown_is_loaded_again_at_intervals(open_live, views):
    live = await open_live()
    overview = live.trace.node.get_by_role("group", name="Overview")
    await overview.get_by_role("button", name="Tokens").click()
    strip = live.trace.node.get_by_role("slider")
    await strip.press("End")
    last = await strip.get_attribute("aria-valuemax")
    for growth in range(3):
        live.write(60)
        await expect(strip).not_to_have_attribute("aria-valuemax", last)
        last = await strip.get_attribute("aria-valuemax")
        if growth == 0:
            loaded = len(views.asked_for("trace.strip"))  # those that were loaded with the log
    sent = [(json.dumps(task), at) for at, task in views.asked_for("trace.strip")[loaded:]]
    assert len(sent) >= 2
    for kind in {task for task, _ in sent}:
        assert all(
            later - earlier > 2.9
            for earlier, later in itertools.pairwise(at for task, at in sent if task == kind)
        )
    await overview.get_by_role("button", name="Steps").click()


async def test_a_pause_holds_the_list_and_ends(open_live):
    live = await open_live()
    before = await steps_of(live)
    await live.toggle.click()
    await expect(live.toggle).to_have_text("Paused")
    await expect(live.toggle).to_have_attribute(
        "aria-busy", "false"
    )  # the request that was under way has its answer
    live.write_all()
    await live.trace.chip("writes").click()
    await live.trace.leaves(int((await live.trace.chip("writes").inner_text()).split()[-1]))
    await live.trace.chip("All").click()
    await expect(live.trace.found).to_be_hidden()
    assert await steps_of(live) == before
    await live.toggle.press("Enter")
    await expect(live.toggle).to_have_text("Following")
    await expect(live.trace.chip("All")).not_to_have_text(f"All {before}")
    await expect(live.trace.node).to_contain_text("335 records")


async def test_filter_selection_and_focus_stay(open_live):
    live = await open_live()
    trace = live.trace
    await trace.chip("shell").click()
    shells = int((await trace.chip("shell").inner_text()).split()[-1])
    await trace.leaves(shells)
    await trace.rows.first.click()
    await expect(trace.card).to_contain_text("Bash")
    opened = await trace.card.inner_text()
    await trace.search.fill("go")
    await expect(trace.rows.first).to_be_visible()
    live.write_all()
    await expect(trace.node).to_contain_text("335 records")
    assert await trace.search.evaluate("search => document.activeElement === search")
    assert await trace.search.input_value() == "go"
    await expect(trace.card).to_have_text(opened, use_inner_text=True)
    await trace.search.fill("")
    await trace.leaves(SHELLS)
    await expect(trace.chip("shell")).to_have_attribute("aria-pressed", "true")
    assert shells < SHELLS == int((await trace.chip("shell").inner_text()).split()[-1])


async def test_a_call_runs_until_its_result_is_there(open_live):
    """The last line of a log that ends with a call."""
    live = await open_live()
    trace = live.trace
    written = KEPT
    while not (b'"tool_use"' in LINES[written - 1] and b"progress" not in LINES[written - 1][:200]):
        live.write(1)
        written += 1
    call = json.loads(LINES[written - 1])["message"]["content"][0]["name"]
    await trace.to_end()
    running = trace.rows.filter(has_text=call).filter(has_text="running").last
    await expect(running).to_be_visible()
    await running.click()
    await expect(trace.card).to_contain_text("Running")
    await trace.tab.look("following-running", trace.cell)
    live.write(12)
    await expect(trace.card).not_to_contain_text("Running")


async def test_a_kernel_that_runs_a_cell_answers_and_without_subshells_is_shown_as_busy(
    open_in_notebook, project
):
    live = await open_in_notebook(WAITS.format(name="first"), WAITS.format(name="second"))
    trace, tab = live.trace, live.trace.tab
    await tab.start(2)
    await tab.is_busy(2)
    await trace.chip("shell").click()
    await expect(trace.found).to_contain_text(" of ")
    await trace.row("Bash").click()
    await expect(trace.card).to_contain_text("Bash")
    live.write(60)
    await expect(trace.node).to_contain_text(f"{KEPT + 61} records")  # the process is one line ahead
    await expect(live.toggle).to_have_text("Following")
    (project / "first").touch()
    await tab.done(2)
    await live.toggle.click()
    await expect(live.toggle).to_have_text("Paused")
    await tab.page.evaluate(NO_SUBSHELLS)
    await tab.start(3)
    await tab.is_busy(3)
    await trace.chip("writes").click()
    await expect(trace.cell).to_contain_text(BUSY)
    await live.toggle.click()
    await expect(live.toggle).to_have_text("Following: the kernel is busy")
    await tab.look("following-busy", trace.cell)
    (project / "second").touch()
    await tab.done(3)
    await expect(trace.cell).not_to_contain_text(BUSY)
    await expect(live.toggle).to_have_text("Following")
    live.write_all()
    await expect(trace.node).to_contain_text("335 records")


async def test_nothing_is_requested_while_the_page_is_hidden(open_live, views):
    live = await open_live()
    await views.asks_for("trace.follow", 2)
    await live.trace.cell.evaluate("cell => { cell.style.display = 'none'; }")
    await falls_silent(lambda: len(views.asked_for("trace.follow")), 1.5)
    before = len(views.asked_for("trace.follow"))
    await live.trace.cell.evaluate("cell => { cell.style.display = ''; }")
    await views.asks_for("trace.follow", before + 1)


async def test_a_note_stays_with_its_step_while_the_lines_move(views, tmp_path):
    """The steps of a sub-agent come above the step about which the person writes."""
    _, add_agent = without_its_agent(tmp_path)
    trace = Explorer(views, await views.show(open_trace(f"project/{Path(WITH_AGENTS).name}")))
    await expect(trace.node.locator(".nbtools-trace-follow")).to_have_text("Following")
    await trace.row("And now?").click()
    await expect(trace.chosen).to_contain_text("And now?")
    before = await trace.chosen.get_attribute("data-index")
    await views.page.keyboard.press("n")
    await expect(trace.node.get_by_role("textbox", name="Note", exact=True)).to_be_focused()
    add_agent()
    await expect(trace.chosen).not_to_have_attribute("data-index", before)
    await views.page.keyboard.type("about this")
    await views.page.keyboard.press("Enter")
    await expect(trace.chosen.locator(".nbtools-trace-mark")).to_have_text("note")
