"""An agent's session, reviewed: by keys and after a reload in notebooks,
and everything else on a page of the view alone.
"""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.accessibility import in_all_themes
from tests.browser.explorer import Explorer
from tests.browser.test_trace import REAL, shows_the_steps_without_a_kernel
from tests.traces.reviews.logs import Log

SQL = (
    """log.trace.sql("select step, last_step, kind, value, reviewer from labels order by time").fetchall()"""
)
SELECT = """pane => {
    const walker = document.createTreeWalker(pane, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const at = walker.currentNode.data.indexOf('make test');
        if (at >= 0) {
            document.getSelection().setBaseAndExtent(walker.currentNode, at, walker.currentNode, at + 9);
            return true;
        }
    }
    return false;
}"""


class Review:
    """The review bar of an explorer."""

    def __init__(self, trace: Explorer) -> None:
        self.trace = trace
        self.node = trace.node.locator(".nbtools-trace-review")
        self.message = self.node.locator(".nbtools-trace-review-message")
        self.counted = self.node.locator(".nbtools-trace-reviewed")
        self.records = self.node.locator(".nbtools-trace-records")
        self.note = self.node.get_by_role("textbox", name="Note")
        self.keys = trace.tab.page.keyboard

    def marks(self, row: int):
        """Returns the labels of the row with this index."""
        return self.trace.list.locator(f'[data-index="{row}"] .nbtools-trace-mark')

    async def says(self, text: str) -> None:
        await expect(self.message).to_have_text(text)


def small_log() -> Log:
    """Another session each time, as stories share the label file."""
    log = Log(str(uuid.uuid4())).person("Please build it.")
    for command in ("ls", "make", "make test", "git status"):
        log.bash(command)
    return log.bash("cargo build", failed=True).agent("All tests pass.")


@pytest.fixture
def open_review(views, tmp_path):
    """Shows a session on a page of its own."""

    async def open_review(log=None):
        log = log or small_log().write(tmp_path / "session.jsonl")
        trace = Explorer(views, await views.show(open_trace(log)))
        await expect(trace.rows.first).to_be_visible()
        return Review(trace)

    return open_review


@pytest.fixture
def open_in_notebook(open_notebook, project):
    async def open_in_notebook(*cells, app="lab"):
        small_log().write(project / "session.jsonl")
        tab = await open_notebook("log = %trace session.jsonl\nlog", *cells, app=app)
        await tab.run(1)
        trace = Explorer(tab, 1)
        await expect(trace.rows.first).to_be_visible()
        return Review(trace)

    return open_in_notebook


async def test_verdicts_labels_and_notes_by_keys(open_in_notebook):
    review = await open_in_notebook(SQL, "%trace session.jsonl")
    trace, keys = review.trace, review.keys
    await trace.rows.nth(1).click()
    await keys.press("p")
    await expect(review.marks(1)).to_have_text(["pass"])
    await review.says("Step 2: pass.")
    await keys.press("f")
    await expect(review.marks(1)).to_have_text(["fail"])
    await keys.press("j")
    await keys.press("Shift+ArrowDown")
    await expect(trace.chosen).to_have_count(2)
    await keys.press("4")
    await expect(review.marks(2)).to_have_text(["loop"])
    await expect(review.marks(3)).to_have_text(["loop"])
    await keys.press("Escape")
    await expect(trace.chosen).to_have_count(1)
    await keys.press("n")
    await expect(review.note).to_be_focused()
    await keys.type("pf 1: it never ran")
    await keys.press("Enter")
    await expect(trace.list).to_be_focused()
    await review.says("Step 4: note “pf 1: it never ran”.")
    await keys.press("D")
    await review.says("The session: defer.")
    await keys.press("z")
    await review.says("Taken back: defer.")
    await trace.tab.look("review-lab", trace.cell)
    await trace.tab.run(2)
    user = await trace.tab.value("__import__('nbtools').traces.review(log.trace).reviewer")
    for row in (
        "'2', '2', 'verdict', 'fail'",
        "'3', '4', 'label', 'loop'",
        "'4', '4', 'note', 'pf 1: it never ran'",
    ):
        await expect(trace.tab.output(2)).to_contain_text(f"({row}, '{user}')")
    await expect(trace.tab.panel.locator(".jp-Cell")).to_have_count(4)
    await trace.tab.run(3)
    again = Review(Explorer(trace.tab, 3))
    await expect(again.marks(1)).to_have_text(["fail"])


async def test_a_label_is_not_lost_before_the_code_book_is_there(views, tmp_path):
    async with views.held():
        review = Review(
            Explorer(views, await views.show(open_trace(small_log().write(tmp_path / "session.jsonl"))))
        )
        await review.trace.rows.nth(2).click()
        await review.keys.press("1")
        await expect(review.trace.chosen).to_have_attribute("data-index", "2")
        await expect(review.marks(2)).to_have_count(0)
    await expect(review.marks(2)).to_have_text(["wrong assumption"])


async def test_a_review_is_made_by_keys_in_notebook_7_and_is_there_after_a_reload_and_in_a_new_kernel(
    open_in_notebook, open_file
):
    """The page that was loaded again finds its explorer; without a kernel, it shows the steps."""
    review = await open_in_notebook(SQL, app="notebook")
    trace = review.trace
    await trace.rows.nth(2).click()
    await review.keys.press("1")
    await expect(review.marks(2)).to_have_text(["wrong assumption"])
    await review.keys.press("D")
    await review.says("The session: defer.")
    await review.keys.press("z")
    await review.says("Taken back: defer.")
    await review.keys.press("n")
    await review.keys.type("add f 1")
    await review.keys.press("Enter")
    await expect(trace.list).to_be_focused()
    await review.says("Step 3: note “add f 1”.")
    await review.keys.press("z")
    await expect(review.marks(2)).to_have_text(["wrong assumption"])
    await expect(trace.tab.panel.locator(".jp-Cell")).to_have_count(3)
    await trace.tab.save()
    await trace.tab.page.reload()
    await trace.tab.ready()
    await expect(review.marks(2)).to_have_text(["wrong assumption"])
    await trace.node.locator(".nbtools-trace-filters").get_by_role("button", name="wrong assumption").click()
    await expect(trace.rows).to_have_count(1)
    await trace.rows.first.click()
    await review.keys.press("z")
    await expect(trace.node).to_contain_text("No steps match the filters.")
    await trace.node.get_by_role("button", name="Clear filters").click()
    await trace.rows.nth(2).click()
    await review.keys.press("1")
    await expect(review.marks(2)).to_have_text(["wrong assumption"])
    await trace.tab.run(2)
    await expect(trace.tab.output(2)).to_contain_text("('3', '3', 'label', 'wrong assumption'")
    await trace.tab.save()
    await trace.tab.end()
    await shows_the_steps_without_a_kernel(await open_file(trace.tab.path, "notebook"), "5 calls")
    await expect(review.marks(2)).to_have_text(["wrong assumption"])


async def test_the_queue_goes_through_all_calls(open_review):
    review = await open_review()
    await review.trace.node.get_by_role("button", name="review", exact=True).click()
    await expect(review.counted).to_have_text("0 of 5 calls reviewed")
    await review.node.get_by_label("Order of the queue").select_option("stratified")
    await review.node.get_by_label("Seed").fill("7")
    for number in range(1, 6):
        await review.node.get_by_role("button", name="Next unreviewed").click()
        await expect(review.trace.chosen.locator(".nbtools-trace-mark[data-tone=pass]")).to_have_count(0)
        await review.node.get_by_role("button", name="Pass").click()
        await expect(review.counted).to_have_text(f"{number} of 5 calls reviewed")
    await expect(review.node.get_by_role("button", name="Next unreviewed")).to_be_disabled()


async def test_a_second_reader(open_review):
    review = await open_review()
    reviewer = review.node.get_by_label("Reviewer")
    await review.trace.node.get_by_role("button", name="review", exact=True).click()
    for name, values in (("ana", "pfpf"), ("ben", "pfff")):
        await reviewer.fill(name)
        await reviewer.press("Tab")
        await expect(reviewer).to_have_attribute("placeholder", name)
        for row, key in enumerate(values, 1):
            await review.trace.rows.nth(row).click()
            await review.keys.press(key)
            await expect(review.counted).to_have_text(f"{row} of 5 calls reviewed")
    await expect(review.node).to_contain_text("Agreement with ana: κ 0.50 (-0.23 to 1.00) on 4")


async def test_notes_are_sorted_by_menu_and_by_drag(open_review):
    review = await open_review()
    for row, text in ((1, "one"), (2, "two")):
        await review.trace.rows.nth(row).click()
        await review.keys.press("n")
        await expect(review.note).to_be_focused()
        await review.keys.type(text)
        await review.keys.press("Enter")
        await expect(review.marks(row)).to_have_text(["note"])
    await review.records.locator("summary").click()
    notes = review.records.locator("li")
    await expect(notes).to_have_count(2)
    await notes.filter(has_text="one").get_by_label("Code of this note").select_option("loop")
    await expect(review.marks(1)).to_have_text(["note", "loop"])
    await notes.filter(has_text="two").drag_to(review.node.get_by_role("button", name="unsafe"))
    await expect(review.marks(2)).to_have_text(["note", "unsafe"])
    await notes.filter(has_text="two").get_by_role("button", name="take back").click()
    await expect(review.marks(2)).to_have_count(0)


async def test_a_selected_text_is_quoted(open_review):
    review = await open_review()
    await review.trace.row("make test").click()
    await expect(review.trace.card).to_contain_text("make test")
    assert await review.trace.panel.evaluate(SELECT)
    await review.keys.press("f")
    await expect(review.marks(3)).to_have_text(["fail"])
    await review.records.locator("summary").click()
    await expect(review.records.locator("q")).to_have_text("make test")


async def test_signals_are_marked(open_review):
    review = await open_review()
    mark = review.marks(5)
    await expect(mark).to_have_text(["failure not retried"])
    await expect(mark).to_have_attribute("title", re.compile("no later command in the session"))


async def test_n_goes_to_the_next_hit_while_there_is_a_search(open_review):
    review = await open_review(REAL)
    await review.trace.search.fill("lifecycle")
    await expect(review.trace.found).to_be_visible()
    await expect(review.trace.node).to_have_attribute(
        "aria-busy", "false"
    )  # until then the list is the unfiltered one
    await expect(review.trace.rows.first).to_have_attribute("aria-posinset", "1")  # the nodes are in order
    await review.trace.row("Read").click()
    place = review.trace.panel.locator(".nbtools-trace-hits").get_by_role("status")
    await expect(place).to_have_text(re.compile(r"^Hit 1 of \d+$"))
    await review.keys.press("n")
    await expect(place).to_have_text(re.compile(r"^Hit 2 of \d+$"))
    await expect(review.node).to_be_hidden()


async def test_a_review_is_accessible(open_review):
    review = await open_review()
    await review.trace.rows.nth(1).click()
    for key in ("p", "4", "j", "f", "j", "d", "n"):
        await review.keys.press(key)
    await expect(review.note).to_be_focused()
    await review.keys.type("A note")
    await review.keys.press("Enter")
    await expect(review.marks(3)).to_have_text(["defer", "note"])
    await review.records.locator("summary").click()
    await in_all_themes(review.trace.tab)
    for width in (800, 1280):
        await review.trace.tab.page.set_viewport_size({"width": width, "height": 900})
        await review.trace.tab.look(f"review-{width}", review.trace.cell)
