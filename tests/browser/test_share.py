"""A session is shared from its explorer: first a look at what is removed, then the file."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.accessibility import is_accessible, without_visible_focus
from tests.browser.explorer import Explorer
from tests.traces.sharing.planted import secrets, write_planted_log
from tests.traces.sharing.test_page import DATA, everything_in

PANEL = ".nbtools-trace-share"
PLANTED = [one for one in secrets() if one.kind in {"GitHub token", "GitLab token"}][:2]


@pytest.fixture
def open_planted(views, tmp_path):
    """Shows a log with two secrets."""

    async def open_planted():
        write_planted_log(tmp_path / "session.jsonl", PLANTED)
        explorer = Explorer(views, await views.show(open_trace("session.jsonl")))
        await expect(explorer.row("configuration")).to_be_visible()
        return explorer

    return open_planted


async def test_a_session_is_shared_after_a_preview_of_the_removed_secrets(open_planted, tmp_path):
    trace = await open_planted()
    await trace.node.get_by_role("button", name="share…").click()
    panel = trace.node.get_by_role("region", name="Share this session")
    await expect(panel.locator("li")).to_have_count(2)
    await expect(panel).to_contain_text("GitHub token")
    await expect(panel).not_to_contain_text(PLANTED[0].secret)
    await is_accessible(trace.tab.page, PANEL)
    assert await without_visible_focus(trace.tab.page, PANEL) == []
    await panel.get_by_label("Remove also").fill("configur\nThanks")
    await panel.get_by_role("checkbox", name="GitLab token").uncheck()
    await expect(panel.locator("li").filter(has_text="pattern")).to_have_count(2)
    await expect(panel.get_by_role("checkbox", name="GitLab token")).not_to_be_checked()
    await trace.tab.look("share", trace.cell)
    await panel.get_by_role("button", name="Write HTML file").click()
    await expect(trace.notice).to_contain_text("session.html")
    await expect(panel).to_have_count(0)
    text = everything_in((tmp_path / "session.html").read_text(encoding="utf-8"))
    assert PLANTED[0].secret not in text
    assert PLANTED[1].secret in text
    assert "Thanks" not in DATA.sub("", text)


async def test_a_session_is_exported_in_a_format_that_says_what_it_loses(open_planted, tmp_path):
    trace = await open_planted()
    await trace.node.get_by_role("button", name="export…").click()
    panel = trace.node.get_by_role("region", name=re.compile(r"^(Export|Share) this session$"))
    await expect(panel.get_by_label("Format")).to_have_value("atif")
    await expect(panel).to_contain_text("Lost: the tokens of single requests")
    await panel.get_by_label("Format").select_option("claude")
    await expect(panel).to_contain_text("Lost: all tokens and costs")
    await expect(panel).to_contain_text("GitHub token")
    await expect(panel.get_by_label("With the notes and labels of the review")).to_be_hidden()
    await is_accessible(trace.tab.page, PANEL)
    await trace.tab.look("export", trace.cell)
    await panel.get_by_label("Format").select_option("atif")
    await panel.get_by_role("button", name="Write files").click()
    await expect(trace.notice).to_contain_text("session.atif.json")
    await expect(trace.list).to_be_focused()
    assert PLANTED[0].secret not in (tmp_path / "session.atif.json").read_text(encoding="utf-8")
    await trace.node.get_by_role("button", name="share…").click()
    await expect(panel.get_by_label("Format")).to_have_value("html")
    await trace.node.get_by_role("button", name="export…").click()
    await expect(panel.get_by_label("Format")).to_have_value("atif")
    await trace.node.get_by_role("button", name="export…").click()
    await expect(panel).to_have_count(0)


SHARE_WITH_PATTERN = """node => {
    [...node.querySelectorAll('button')].find(button => button.textContent === 'share…').click();
    const patterns = node.querySelector('.nbtools-trace-patterns');
    patterns.value = '(';
    patterns.dispatchEvent(new Event('change'));
}"""
"""Requests the search for an invalid pattern before the first search has an answer."""


async def test_an_invalid_pattern_says_so(open_planted, tmp_path):
    trace = await open_planted()
    await trace.node.evaluate(SHARE_WITH_PATTERN)
    panel = trace.node.get_by_role("region", name="Share this session")
    await expect(panel.get_by_role("status")).to_contain_text("is not a regular expression")
    await expect(panel.locator("li")).not_to_have_count(0)
    assert not (tmp_path / "session.html").exists()


async def test_notes_are_shared_only_if_the_person_says_so(open_planted, tmp_path):
    trace = await open_planted()
    note = f"<b>odd</b> {uuid.uuid4().hex[:6]}"
    keys = trace.tab.page.keyboard
    await trace.rows.nth(1).click()
    await keys.press("n")
    await expect(trace.node.get_by_role("textbox", name="Note")).to_be_focused()
    await keys.type(note)
    await keys.press("Enter")
    await trace.node.get_by_role("button", name="share…").click()
    panel = trace.node.get_by_role("region", name="Share this session")
    box = panel.get_by_role("checkbox", name="With the notes and labels of the review")
    await expect(panel).to_contain_text("(1)")
    await expect(box).not_to_be_checked()
    await box.focus()
    await keys.press("Space")
    await expect(box).to_be_checked()
    await expect(panel.get_by_role("status")).to_contain_text("The file has")
    await is_accessible(trace.tab.page, PANEL)
    await panel.get_by_role("button", name="Write HTML file").click()
    await expect(trace.notice).to_contain_text("session.html")
    page = await trace.tab.page.context.new_page()
    await page.goto((tmp_path / "session.html").as_uri())
    shared = page.locator(".nbtools-trace")
    await shared.get_by_role("button", name="note 1").click()
    await expect(shared.locator(".nbtools-trace-row:visible")).to_have_count(1)
    await shared.locator(".nbtools-trace-row:visible").click()
    await expect(shared.locator(".nbtools-trace-around dd").first).to_have_text(note)
    await page.close()
