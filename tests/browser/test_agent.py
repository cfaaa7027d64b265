"""A model at work in a cell: what a person sees of it, answers, stops and keeps."""

from __future__ import annotations

import json
import os
import re
import signal

import pytest
from playwright.async_api import expect

from tests.browser.accessibility import cut_buttons, in_all_themes
from tests.browser.conftest import WINDOW
from tests.browser.explorer import Explorer
from tests.notebook.agent.scripts import PLAYING
from tests.waiting import eventually

EDIT = """("edit", '{"path": "notes.txt", "old": "two", "new": "2"}')"""
FIX = """("edit", '{"path": "src/cart.py", "old": "    total = 0", "new": "    total = Decimal(0)"}')"""
READ = """("read", '{"path": "src/cart.py", "start": 16, "end": 20}')"""
TEXT = (
    "The sum begins with the *integer* `0`, so a total of decimals is rounded twice. I change that in `src/cart.py`:\\n\\n"
    "- begin with `Decimal(0)`\\n- leave the rounding to `items.py`\\n"
)
END = "The total is a **decimal** from the first item on.\\n\\n| file | change |\\n|---|---|\\n| `src/cart.py` | begins with `Decimal(0)` |"
STORY = f'agent.model = playing([("think", "The total is a float. Where does it begin?"), "{TEXT}", {READ}], [{FIX}], ["{END}"])'
TASK = "%%agent\nMake the total a decimal."
WIDTHS = (1040, 600)


def head(tab, index):
    return tab.cell(index).locator(".nbtools-run:has(.nbtools-run-figures)")


def foot(tab, index):
    return tab.cell(index).locator(".nbtools-run:has(.nbtools-run-why)")


def texts_of(tab, index):
    return tab.cell(index).locator(".nbtools-run-said")


def status(tab, index):
    return head(tab, index).locator(".nbtools-status")


async def pictured(tab, name, index):
    """Pictures at both widths, for the eye."""
    before = tab.page.viewport_size
    for width in WIDTHS:
        await tab.page.set_viewport_size({"width": width, "height": 1100})
        await tab.look(f"agent-{name}-{width}", tab.cell(index))
    await tab.page.set_viewport_size(before)


@pytest.fixture
def open_agent(open_notebook):
    """Opens a notebook with a model whose turns are written down; tasks begin at cell 3."""

    async def open_agent(turns, *cells, app="lab"):
        tab = await open_notebook(PLAYING, turns, *(cells or (TASK,)), app=app)
        await tab.run(1)
        await tab.run(2)
        return tab

    return open_agent


async def test_a_run_is_watched_and_the_persons_messages_about_its_calls_reach_the_model(open_agent, zoomed):
    """Approved and undone; denied; changed by hand.  What it shows is accessible."""
    tab = await open_agent(
        STORY, TASK, f"agent.model = playing([{EDIT}], ['As you like.'], [{EDIT}], ['Fine.'])", TASK, TASK
    )
    await tab.start(3)
    await expect(status(tab, 3)).to_have_text("Needs your answer")
    await expect(texts_of(tab, 3).first.locator("summary")).to_contain_text("Thought")
    await expect(texts_of(tab, 3).nth(1).locator("li")).to_have_count(2)
    await tab.keys_count(3)
    await pictured(tab, "asking", 3)
    await tab.approve(3)
    await tab.done(3)
    await expect(status(tab, 3)).to_have_text("Done")
    await expect(head(tab, 3).get_by_role("button")).to_have_count(0)
    await expect(texts_of(tab, 3).last.locator("table")).to_be_visible()
    await expect(foot(tab, 3)).to_contain_text("3 steps · 2 calls")
    assert "Decimal(0)" in tab.read("src/cart.py")
    await expect(texts_of(tab, 3).last).to_be_in_viewport()
    await expect(foot(tab, 3)).to_be_in_viewport()
    await expect(foot(tab, 3)).to_contain_text("1 file changed")
    await expect(foot(tab, 3).locator("li")).to_have_text("src/cart.py +1 −1")
    await pictured(tab, "done", 3)
    await in_all_themes(tab)
    await zoomed()
    await eventually([], cut_buttons, tab.page)
    await tab.page.set_viewport_size(WINDOW)
    await foot(tab, 3).get_by_role("button", name="undo all").click()
    await expect(tab.card(3).filter(has_text="Undone")).to_have_count(1)
    assert "total = 0" in tab.read("src/cart.py")

    await tab.run(4)
    await tab.start(5)
    await expect(tab.question(5)).to_have_attribute(
        "aria-label", re.compile("edit notes.txt .*Needs your answer")
    )
    reason = tab.question(5).get_by_role("textbox", name="Reason")
    await reason.fill("Two is a word here.")
    await reason.press("Enter")
    await tab.done(5)
    await expect(foot(tab, 5)).to_contain_text("Done")
    assert "denied" in (await tab.value("told()")).lower()
    assert "Two is a word here." in await tab.value("told()")
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"

    await tab.start(6)
    await tab.modify(6)
    await tab.question(6).locator(".nbtools-merge .cm-content").fill("one\nzwei\nthree\n")
    await tab.answer(6, "Update proposal")
    await tab.approve(6)
    await tab.done(6)
    assert tab.read("notes.txt") == "one\nzwei\nthree\n"
    assert "zwei" in await tab.value("told()")


async def test_a_run_is_continued_followed_by_an_explorer_and_stored(open_agent, open_file):
    turns = f"agent.model = playing([{FIX}], ['The total is a **decimal**.'], ['Nothing is left.'], [{EDIT}], ['It is exact.'])"
    tab = await open_agent(turns, TASK, "t = %trace latest nbtools\nt", "%%agent\nNow change it.")
    await tab.start(3)
    await tab.approve(3)
    await tab.done(3)
    await foot(tab, 3).get_by_role("button", name="Continue").click()
    await expect(tab.cell(4).locator(".cm-content")).to_be_focused()
    await tab.page.keyboard.type("And now?")
    await tab.run(4)
    await expect(texts_of(tab, 4)).to_contain_text("Nothing is left")
    await foot(tab, 4).get_by_role("button", name="Open trace").click()
    await expect(tab.cell(5).locator(".nbtools-trace")).to_contain_text("And now?")

    await tab.run(6)
    trace = Explorer(tab, 6)
    await expect(trace.node.locator(".nbtools-trace-follow")).to_have_text("Following")
    await expect(trace.row("Nothing is left.")).to_be_visible()
    await tab.start(7)
    await expect(status(tab, 7)).to_have_text("Needs your answer")
    await expect(trace.row("Now change it.")).to_be_visible()
    await tab.approve(7)
    await tab.done(7)
    await expect(trace.rows.filter(has_text="notes.txt").first).to_be_visible()
    await expect(trace.row("It is exact.")).to_be_visible()
    await tab.look("agent-followed", trace.cell)

    saved = await tab.save()
    for output in saved["cells"][3]["outputs"]:
        output["data"] = {mime: data for mime, data in output["data"].items() if mime.startswith("text/")}
        assert "<script" not in json.dumps(output)
    (tab.folder / "still.ipynb").write_text(json.dumps(saved), encoding="utf-8")
    still = await open_file(tab.folder / "still.ipynb")
    await expect(still.cell(3)).to_contain_text("The total is a decimal")
    await expect(still.cell(3)).to_contain_text("2 steps · 1 call")
    await expect(still.cell(3)).to_contain_text("Approved once by you")
    await pictured(still, "still", 3)


async def test_stop_ends_a_sentence_and_a_call_and_the_end_of_a_run_is_scrolled_into_view(open_agent):
    shell = """("shell", '{"command": "touch began; sleep 300"}')"""
    turns = (
        f"agent.model = playing(['Let me think about it for ', ('until', 'never')], [{shell}], ['Again.'])"
    )
    tab = await open_agent(
        turns,
        TASK,
        TASK,
        TASK,
        f"agent.model = playing([{READ}], [{READ}], [{READ}], [{READ}], ['The end.'])",
        TASK,
    )
    await tab.start(3)
    await expect(texts_of(tab, 3)).to_contain_text("Let me think")
    await expect(status(tab, 3)).to_have_text("Writing")
    await pictured(tab, "writing", 3)
    await head(tab, 3).get_by_role("button", name="Stop").press("Enter")
    await tab.done(3)
    await expect(foot(tab, 3)).to_contain_text("You stopped it")
    await expect(texts_of(tab, 3)).to_contain_text("Let me think")
    await tab.start(4)
    await tab.approve(4)
    await expect(tab.card(4).nth(1).locator(".nbtools-status")).to_have_text("Running")
    await head(tab, 4).get_by_role("button", name="Stop").click()
    await tab.done(4)
    await expect(foot(tab, 4)).to_contain_text("You stopped it")
    await expect(tab.cell(4)).to_contain_text("Cancelled")
    await pictured(tab, "stopped", 4)
    await tab.run(5)
    await expect(texts_of(tab, 5)).to_contain_text("Again.")

    await tab.run(6)
    await tab.page.set_viewport_size({"width": 1200, "height": 400})
    await tab.run(7)
    await expect(status(tab, 7)).to_have_text("Done")
    await expect(foot(tab, 7)).to_be_in_viewport()
    await expect(texts_of(tab, 7).last).to_be_in_viewport()
    await expect(head(tab, 7)).not_to_be_in_viewport()


async def test_a_run_whose_page_is_loaded_again_goes_on_and_one_whose_kernel_has_ended_says_so(open_agent):
    """Jupyter adds nothing to a cell that was running:
    its head follows the run and says where to read the rest.
    """
    turns = "agent.model = playing(['Before. ', ('until', 'go'), 'After.'], ['Again. ', ('until', 'never')])"
    tab = await open_agent(turns, TASK, "%agent", TASK)
    await tab.start(3)
    await expect(texts_of(tab, 3)).to_contain_text("Before.")
    await expect(head(tab, 3)).not_to_contain_text("Run %agent")
    await tab.command("docmanager:save")  # its head counts on: the notebook is never without changes
    await tab.load_again()
    await expect(texts_of(tab, 3)).to_contain_text("Before.")
    await expect(head(tab, 3)).to_contain_text("Run %agent to see its state")
    await expect(head(tab, 3).get_by_role("button", name="Stop")).to_be_visible()
    (tab.folder / "go").touch()
    await expect(status(tab, 3)).to_have_text("Done")
    await expect(head(tab, 3)).to_contain_text("Run %agent to see its state")
    await expect(texts_of(tab, 3)).to_have_text("Before.", use_inner_text=True)
    await tab.run(4)
    await expect(tab.output(4)).to_contain_text("Before. After.")

    process = int(await tab.value("__import__('os').getpid()"))
    await tab.start(5)
    await expect(texts_of(tab, 5)).to_contain_text("Again.")
    os.kill(process, signal.SIGKILL)
    await expect(status(tab, 5)).to_have_text("Kernel not responding")
    await expect(head(tab, 5)).to_contain_text("Run %agent to see its state")
    await expect(head(tab, 5).get_by_role("button", name="Stop")).to_have_count(0)
    dialog = tab.page.locator(".jp-Dialog")
    await expect(dialog).to_contain_text(
        "Kernel Restarting"
    )  # some seconds later; it would be before the next story's notebook
    await dialog.get_by_role("button", name="Ok").click()


async def test_a_long_run_is_read_and_stopped_while_it_grows_and_bad_models_and_hostile_ones_do_no_harm(
    open_agent,
):
    """A selection stays, the scroll position stays, and the way to stop is in view."""
    lines = "\\n\\n".join(f"Line {n}" for n in range(120))
    text = "<img src=x onerror='window.hacked=1'> <script>window.hacked=1</script> [a](javascript:window.hacked=1) ![p](https://example.org/p)"
    models = ("agent.model = 'nobody:none'", TASK, f"agent.model = playing([{text!r}])", TASK, "%agent")
    tab = await open_agent(
        f"agent.model = playing(['{lines}', ('until', 'go'), ' and more', ('until', 'never')])", TASK, *models
    )
    await tab.start(3)
    await expect(texts_of(tab, 3).last).to_contain_text("Line 119")
    await texts_of(tab, 3).last.locator("p").last.scroll_into_view_if_needed()
    await expect(texts_of(tab, 3).first.locator("p").first).not_to_be_in_viewport()
    await expect(head(tab, 3).get_by_role("button", name="Stop")).to_be_in_viewport()
    await tab.look("agent-long", tab.panel)
    chosen = await texts_of(tab, 3).last.locator("p").nth(110).element_handle()
    await chosen.evaluate("node => window.getSelection().selectAllChildren(node)")
    top = await chosen.evaluate("node => node.getBoundingClientRect().top")
    (tab.folder / "go").touch()
    await expect(texts_of(tab, 3).last).to_contain_text("Line 119 and more")
    assert (
        await chosen.evaluate("node => node.isConnected && String(window.getSelection()).trim()")
        == "Line 110"
    )
    assert await chosen.evaluate("node => node.getBoundingClientRect().top") == top
    await head(tab, 3).get_by_role("button", name="Stop").click()
    await tab.done(3)

    await tab.run(4)
    await tab.run(5)
    await expect(foot(tab, 5)).to_contain_text("nobody")
    await expect(status(tab, 5)).to_have_text("Failed")
    await pictured(tab, "failed", 5)
    await tab.run(6)
    await tab.run(7)
    await expect(texts_of(tab, 7)).to_contain_text("<script>")
    assert await texts_of(tab, 7).locator("img, script, iframe, [onerror]").count() == 0
    assert await texts_of(tab, 7).locator("a[href]").count() == 0
    assert await tab.page.evaluate("window.hacked ?? null") is None
    await tab.run(8)
    await tab.look("agent-overview", tab.cell(8))
