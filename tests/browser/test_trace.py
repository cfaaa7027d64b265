"""The explorer of an agent's log: in a notebook, and on a page of the explorer alone."""

from __future__ import annotations

import re
import shutil
import uuid
from threading import Event

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.async_api import expect

from nbtools import open_trace
from nbtools.traces.query.search import Searcher
from tests.browser.explorer import Explorer
from tests.browser.long_log import write_cart_log, write_long_log
from tests.browser.tab import PATIENCE
from tests.browser.test_samples import write_samples
from tests.traces.recorded import SAMPLES
from tests.waiting import eventually

REAL = SAMPLES / "claude-code" / "external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl"
CALLS, SHARE = 100_000, 10_000
"""Calls of a log that `make fuzz` shows, and of the one that the suite shows."""
MANY = 4_000
"""Calls of a log of which an index needs several parts."""
SAVED = "Saved view"
NOTHING_BEFORE = "No listed step before this one failed."


@pytest.fixture
def show_log(views):
    """Shows a log on a page of its own: the real one, if no other is named."""

    async def show_log(log=REAL):
        explorer = Explorer(views, await views.show(open_trace(log)))
        await expect(explorer.row("Read")).to_be_visible()
        return explorer

    return show_log


async def test_the_end_of_a_long_log_is_shown_and_few_rows_are_drawn(show_log, tmp_path, all_rounds):
    calls = CALLS if all_rounds else SHARE
    trace = await show_log(write_long_log(tmp_path / "long.jsonl", calls))
    await trace.to_end()
    last = trace.row(f"tests/test_{calls - 1}.py")
    await expect(last).to_be_visible()
    await last.click()
    await expect(trace.card).to_contain_text(f"{calls - 1} passed")
    assert await trace.list.locator(".nbtools-trace-row").count() < 100
    await trace.list.press("Home")
    await expect(trace.row("Now make part 0 exact.")).to_be_visible()


async def test_a_long_log_is_narrowed_by_chip_tool_file_and_text(show_log, tmp_path):
    trace = await show_log(write_long_log(tmp_path / "session.jsonl", MANY))
    await trace.chip("failed").click()
    await trace.leaves(MANY // 50)
    await trace.choose("Tool", "Bash")
    await trace.leaves(MANY // 100)
    await trace.chip("failed").click()
    await trace.leaves(MANY // 4)
    await trace.node.get_by_role("button", name="clear", exact=True).click()
    await trace.choose("File", "src/part7.py")
    await trace.leaves(MANY // 40 // 2)
    await trace.node.get_by_role("button", name="clear", exact=True).click()
    await trace.search.fill("total_1337")
    await trace.leaves(1)
    await expect(trace.rows).to_have_count(1)
    await trace.rows.click()
    await expect(trace.card).to_contain_text("total_1337")
    await trace.search.fill("no such words")
    await expect(trace.node).to_contain_text("No steps match the filters.")


async def test_filters_and_failures_need_no_kernel_and_a_search_says_that_it_is_busy(
    show_log, views, tmp_path
):
    trace = await show_log(write_long_log(tmp_path / "session.jsonl", MANY))
    await views.settled()
    async with views.held():
        await trace.chip("failed").click()
        await trace.leaves(MANY // 50)
        await trace.choose("Tool", "Bash")
        await trace.leaves(MANY // 100)
        await trace.to_end()
        await expect(trace.rows.last).to_contain_text("Bash")
        await trace.node.get_by_role("button", name="clear", exact=True).click()
        await expect(trace.found).to_have_text("")
        await trace.list.press("e")
        await expect(trace.chosen).to_have_attribute("data-tone", "failed")
        await trace.search.fill("total_1337")
        await expect(trace.cell).to_contain_text("The kernel is busy.")
        await trace.chip("shell").click()  # does not wait for the search
        await expect(trace.chip("shell")).to_have_attribute("aria-pressed", "true")
        await expect(trace.found).not_to_have_text("")
    await trace.chip("shell").click()
    await trace.leaves(1)


@pytest.fixture
def read_on(monkeypatch):
    """The index is made to stop after its first part, until this event is set."""
    read_on, index_more = Event(), Searcher.index_more

    def index_part(searcher):
        assert not searcher.indexed_fraction or read_on.wait(PATIENCE / 1000)
        return index_more(searcher)

    monkeypatch.setattr(Searcher, "index_more", index_part)
    return read_on


async def test_a_search_says_what_it_has_read_while_the_index_is_made(show_log, tmp_path, read_on):
    """The line that is searched for is one of the last."""
    trace = await show_log(write_long_log(tmp_path / "session.jsonl", MANY))
    await trace.search.fill(f"{MANY - 1} passed")
    await expect(trace.node.locator(".nbtools-trace-indexing")).to_have_text(
        re.compile(r"0 hits in the \d+ % read so far")
    )
    nothing = trace.node.locator(".nbtools-trace-nothing > span")
    await expect(nothing).to_have_text(re.compile(r"Still reading the log: no hit in the first \d+ %\."))
    read_on.set()
    await expect(trace.rows).to_have_count(1)
    await expect(trace.rows).to_contain_text(f"tests/test_{MANY - 1}.py")
    await trace.search.fill(f"{MANY} passed")
    await expect(nothing).to_have_text("No steps match the filters.")


async def test_hits_that_are_found_later_do_not_scroll_the_list(show_log, tmp_path, read_on):
    trace = await show_log(write_long_log(tmp_path / "session.jsonl", MANY))
    await trace.search.fill('"39 passed"')
    await expect(trace.node.locator(".nbtools-trace-indexing")).to_have_text(re.compile(r"^\d+ hits? in the"))
    read_on.set()
    await expect(trace.node.locator(".nbtools-trace-found")).to_have_text(re.compile(r"^\d{2,} of "))
    await expect(trace.rows.first).to_contain_text("test_39.py 39 passed")
    assert await trace.list.evaluate("list => [list.scrollTop, list.scrollHeight > list.clientHeight]") == [
        0,
        True,
    ]


CURRENT_HIT = """pane => {
    const [range] = CSS.highlights.get('nbtools-search-current');
    const [mark, view] = [range.getBoundingClientRect(), pane.getBoundingClientRect()];
    return [range.toString().toLowerCase(), mark.height > 0 && mark.top >= view.top && mark.bottom <= view.bottom];
}"""


async def test_keys_and_links_go_from_failure_to_failure(show_log):
    trace = await show_log()
    keys = trace.tab.page.keyboard
    number = trace.chosen.locator(".nbtools-trace-number")
    await trace.rows.first.click()
    for key, step in (("e", "6"), ("e", "7"), ("e", "8"), ("E", "7")):
        await keys.press(key)
        await expect(number).to_have_text(step)
        await expect(trace.chosen).to_have_attribute("data-tone", "failed")
    await trace.node.get_by_role("button", name="Next failure").click()
    await expect(number).to_have_text("8")
    await trace.node.get_by_role("button", name="first failure").click()
    await expect(number).to_have_text("6")
    await trace.node.get_by_role("button", name="Previous failure").click()
    await expect(trace.notice).to_have_text(NOTHING_BEFORE)
    await expect(number).to_have_text("6")
    await keys.press("e")
    await expect(number).to_have_text("7")
    await expect(trace.notice).to_be_empty()


PAST_THE_FIRST = """async node => {
    const press = name => [...node.querySelectorAll('button')].find(button => button.title.startsWith(name)).click();
    const until = async wanted => { while (!wanted()) await new Promise(requestAnimationFrame); };
    press('Goes to the first step that failed');
    await until(() => node.querySelector('[aria-selected=true] .nbtools-trace-number')?.textContent === '6');
    press('Previous failure');
    await until(() => node.querySelector('.nbtools-trace-notice').textContent);
}"""
"""Goes to the first failure and on to what was before it, faster than a step is loaded."""


async def test_a_notice_stays_when_a_step_is_loaded_after_it(show_log):
    trace = await show_log()
    await expect(trace.panel).to_contain_text("Raw record")
    await trace.node.evaluate(PAST_THE_FIRST)
    await expect(trace.card).to_contain_text("exceeds maximum allowed tokens")
    await expect(trace.notice).to_have_text(NOTHING_BEFORE)


async def test_changed_files_are_listed_with_their_diffs_and_lead_to_their_steps(show_log):
    trace = await show_log()
    await trace.node.get_by_role("button", name="changes", exact=True).click()
    changes = trace.node.get_by_role("group", name="Changed files")
    files = changes.locator(".nbtools-trace-file")
    await expect(files).to_have_count(13)
    await expect(trace.panel.locator(".nbtools-diff")).to_be_visible()
    await expect(files.first).to_be_focused()
    await changes.get_by_text("e2e/testutil/repo.go").click()
    await expect(trace.card).to_contain_text("e2e/testutil/repo.go")
    await expect(changes.locator("[aria-current]")).to_have_text("e2e/testutil/repo.go")
    await (
        changes.locator("li")
        .filter(has_text="e2e/agents/agent.go")
        .get_by_role("button", name="76", exact=True)
        .click()
    )
    await expect(trace.chosen.locator(".nbtools-trace-number")).to_have_text("76")
    await expect(changes).to_be_hidden()
    await trace.node.get_by_role("button", name="changes", exact=True).click()
    await changes.get_by_role("button", name="all steps").click()
    await expect(trace.row("Edit")).to_be_visible()


async def test_hits_of_a_search_are_marked_in_the_step(show_log):
    """Also those that a long text or a scrolled box hides at first."""
    trace = await show_log()
    await trace.search.fill("lifecycle")
    await expect(trace.found).to_be_visible()
    await trace.row("Read").click()
    place = trace.panel.locator(".nbtools-trace-hits").get_by_role("status")
    await expect(place).to_have_text(re.compile(r"^Hit 1 of \d+$"))
    count = int((await place.inner_text()).split()[-1])
    for number in [*range(1, min(count, 9) + 1)]:
        await expect(place).to_have_text(f"Hit {number} of {count}")
        await eventually(["lifecycle", True], trace.panel.evaluate, CURRENT_HIT)
        await trace.tab.page.keyboard.press("n")
    await trace.tab.look("trace-hits", trace.cell)
    await trace.panel.get_by_role("button", name="Previous hit").click()
    await trace.tab.page.keyboard.press("/")
    await trace.tab.page.keyboard.press("Escape")
    await expect(place).to_be_hidden()
    await eventually(0, trace.panel.evaluate, "() => CSS.highlights.get('nbtools-search').size")


async def test_a_call_runs_again_in_a_copy_and_the_log_becomes_a_notebook(open_notebook, project, lab):
    """The notebook is written beside, also where the requesting one has the log's name."""
    write_cart_log(project / "story.jsonl")
    (project / "story-1.ipynb").write_text("mine", encoding="utf-8")
    tab = await open_notebook("%trace story.jsonl", "mine = 1")
    await tab.run(1)
    trace = Explorer(tab, 1)
    await trace.row("Grep").click()
    await expect(trace.card).to_contain_text("total = 0")
    await tab.page.keyboard.press("r")
    await tab.done(2)
    await expect(tab.cell(2).locator(".cm-content")).to_contain_text("--replay 2")
    await expect(tab.cell(3).locator(".cm-content")).to_have_text("mine = 1")
    await expect(tab.cell(2)).to_be_in_viewport()
    await trace.row("Bash").click()
    await expect(trace.card).to_contain_text("four")
    await trace.panel.get_by_role("button", name="Run again in a copy").click()
    await tab.approve(2)
    await tab.done(2)
    await expect(tab.status(2)).to_have_text("Different from recorded")
    await tab.look("trace-replayed", tab.panel)
    await tab.save()
    before = tab.path.read_bytes()
    await trace.node.get_by_role("button", name="to notebook").click()
    await expect(tab.panel.locator(".jp-MarkdownCell").first).to_contain_text("A recorded session")
    await eventually(
        f"{project.name}/story-2.ipynb", lab.evaluate, "window.jupyterapp.shell.currentWidget.context.path"
    )
    assert tab.path.read_bytes() == before
    assert (project / "story-1.ipynb").read_text(encoding="utf-8") == "mine"


WIDGET = "application/vnd.jupyter.widget-view+json"
BOTH = """\
from IPython.display import publish_display_data
log = open_trace("session.jsonl")
publish_display_data({**log.bundle(), **log.widget().bundle()})
"""


async def shows_the_steps_without_a_kernel(tab, calls):
    """A notebook whose kernel has ended shows its saved cards until its cells run again."""
    trace = Explorer(tab, 1)
    await expect(trace.still).to_contain_text(calls)
    await expect(trace.still.locator(".nbt-line").first).to_be_visible()
    await expect(trace.cell).to_contain_text(SAVED)
    await expect(trace.node).to_have_count(0)
    await tab.run(0)
    await tab.run(1)
    await expect(trace.rows.first).to_be_visible()


async def test_a_saved_notebook_shows_the_steps_without_a_kernel(open_notebook, open_file, project):
    """An output made in VS Code has a widget, too, and is drawn as one made here, which has none."""
    shutil.copy(REAL, project / "session.jsonl")
    tab = await open_notebook("%trace session.jsonl", f"from nbtools import open_trace\n{BOTH}")
    await tab.run(1)
    await expect(Explorer(tab, 1).row("Read")).to_be_visible()
    await tab.run(2)
    await expect(Explorer(tab, 2).row("Read")).to_be_visible()
    await expect(tab.cell(2).get_by_role("button", name="compare…")).to_be_visible()  # the widget has none
    cells = (await tab.save())["cells"]
    assert "<script" not in "".join(cells[1]["outputs"][0]["data"]["text/html"])
    assert WIDGET not in cells[1]["outputs"][0]["data"]
    assert WIDGET in cells[2]["outputs"][0]["data"]
    without_widgets = nbformat.read(tab.path, 4)
    without_widgets.cells = without_widgets.cells[:2]
    page, _ = HTMLExporter().from_notebook_node(without_widgets)
    assert page.count('class="nbt-line"') == 133
    await tab.end()
    await shows_the_steps_without_a_kernel(await open_file(tab.path), "102 calls")


async def is_moved_through_and_filtered(trace):
    """The letters are no commands of JupyterLab, which would cut the cell."""
    keys = trace.tab.page.keyboard
    cells = await trace.tab.panel.locator(".jp-Cell").count()
    await expect(trace.row("Read")).to_be_visible()
    await expect(trace.node.locator(".nbtools-trace-title")).to_be_visible()
    await expect(trace.node).to_contain_text("102 calls")
    await trace.tab.look("trace", trace.cell)
    await trace.rows.nth(1).click()
    first = await trace.chosen.get_attribute("data-index")
    for key in ("j", "j", "ArrowDown", "k"):
        await keys.press(key)
    await expect(trace.chosen).to_have_attribute("data-index", str(int(first) + 2))
    await expect(trace.card).to_be_visible()
    await keys.press("Enter")
    await expect(trace.panel).to_be_focused()
    await keys.press("/")
    await expect(trace.search).to_be_focused()
    await keys.type("kiro_lifecycle")
    await expect(trace.found).to_be_visible()
    await keys.press("Escape")
    await expect(trace.found).to_be_empty()
    await keys.press("Escape")
    await expect(trace.list).to_be_focused()
    for letter in "xzd":
        await keys.press(letter)
    await expect(trace.tab.panel.locator(".jp-Cell")).to_have_count(cells)
    await trace.chip("writes").click()
    await expect(trace.row("Edit")).to_be_visible()
    await expect(trace.rows.filter(has_text="Grep")).to_have_count(0)
    await trace.row("Edit").click()
    await expect(trace.card.locator(".nbtools-diff")).to_be_visible()
    await expect(trace.panel).to_contain_text("Raw")
    await trace.tab.look("trace-diff", trace.cell)
    await trace.chip("writes").click()
    await expect(trace.found).to_be_empty()


async def test_explorers_in_a_notebook_get_the_keys(open_notebook, project):
    """A real log, samples, saved filters, usage, and the file of a shared session;
    and the list of all sessions in a cell.
    """
    write_samples(project / "log.eval")
    shutil.copy(REAL, project / "session.jsonl")
    tab = await open_notebook("%trace log.eval", "%trace session.jsonl", "%trace", "mine = 1")
    evaluation, trace, keys = Explorer(tab, 1), Explorer(tab, 2), tab.page.keyboard
    await tab.run(1)
    await evaluation.node.get_by_role("button", name="samples", exact=True).press("Enter")
    await expect(evaluation.node.get_by_role("grid")).to_be_focused()
    await keys.press("j")
    await keys.press("Enter")
    await expect(evaluation.chosen).to_contain_text("What is 1 + 2?")
    await keys.press("j")
    await expect(evaluation.chosen).to_contain_text("The answer is 4.")
    await tab.run(2)
    await is_moved_through_and_filtered(trace)
    await trace.chip("shell").click()
    await trace.leaves(18)
    await trace.node.get_by_role("button", name="saved filters").press("Enter")
    filters = trace.node.get_by_role("region", name="Saved filters")
    await expect(filters.get_by_label("Name for the current filter")).to_be_focused()
    name = f"dd x {uuid.uuid4().hex[:6]}"
    await keys.type(name)
    await keys.press("Enter")
    await expect(filters.get_by_role("button", name=name, exact=True)).to_be_visible()
    await trace.node.get_by_role("button", name="Usage", exact=True).press("Enter")
    await expect(
        trace.node.get_by_role("region", name="Usage").get_by_role("table", name="By file")
    ).to_be_visible()
    await trace.node.get_by_role("button", name="share…").press("Enter")
    await trace.node.get_by_role("button", name="Write HTML file").click()
    await expect(trace.notice).to_contain_text("session.html")
    assert (project / "session.html").exists()
    await tab.run(3)
    await expect(tab.cell(3).locator(".nbtools-sessions")).to_be_visible()
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(5)
