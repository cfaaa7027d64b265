"""Several sessions are reviewed one after the other, by keyboard and in one tab, and by a second, blind reader."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from playwright.async_api import expect

from nbtools.traces import load
from nbtools.traces.reviews.review import Review
from nbtools.traces.reviews.review_settings import ReviewSettings, change_review_settings, review_settings
from nbtools.traces.session_list.session_messages import SessionFilter
from nbtools.traces.session_list.view import SessionList, session_catalog
from tests.browser.accessibility import is_accessible
from tests.browser.test_sessions import TAB, Sessions, page  # noqa: F401 - a fixture
from tests.traces.reviews.logs import session

COUNT = 30
PROJECT = "/work/reviewed"


@pytest.fixture
def logs():
    """Thirty sessions of one project where Claude Code keeps its own."""
    session_catalog.cache_clear()
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects" / "-work-reviewed"
    folder.mkdir(parents=True)
    paths = [write(folder, number) for number in range(COUNT)]
    yield paths
    shutil.rmtree(folder)
    default = ReviewSettings()
    change_review_settings(reviewer=default.reviewer, blind=default.blind, queue=default.queue)


def write(folder: Path, number: int) -> Path:
    name = os.urandom(4).hex() + f"-4e5f-4061-8071-{number:012x}"
    log = session(name, ["ls", "make"])
    content = b"".join(log.lines).replace(b'"isSidechain"', f'"cwd": "{PROJECT}", "isSidechain"'.encode())
    path = folder / f"{name}.jsonl"
    path.write_bytes(content)
    os.utime(path, (1_700_000_000 - number, 1_700_000_000 - number))  # the first one is listed first
    return path


async def open_list(views) -> Sessions:
    cell = views.cell(await views.show(SessionList(SessionFilter(project=PROJECT))))
    shown = Sessions(views.page, cell.locator(".nbtools-sessions"))
    await expect(shown.rows.first).to_be_visible()
    return shown


def judge(path: Path, value: str, reviewer: str) -> None:
    Review(load(path), reviewer=reviewer).verdict(None, value)


async def test_thirty_sessions_are_reviewed_by_keyboard_in_one_tab_of_jupyterlab(page, logs):  # noqa: F811
    await page.evaluate("window.jupyterapp.commands.execute('nbtools:list-sessions').then(() => null)")
    shown = Sessions(page, page.locator(TAB))
    # Other stories have left sessions, too: more than a screen of them.
    await shown.node.get_by_label("Project").select_option(PROJECT)
    await expect(shown.row(logs[0].stem)).to_be_visible()
    await expect(shown.node).to_contain_text(re.compile(rf"{COUNT} (of [\d,]+ )?sessions"))
    await review_all(page, page.locator(".nbtools-log:visible"), shown, logs)
    await expect(page.locator(".lm-TabBar-tab.jp-mod-current")).to_contain_text("Agent Sessions")
    await expect(page.locator(".nbtools-log")).to_have_count(1)
    for verdict, count in (("fail", 10), ("pass", 20), ("defer", 0)):
        await shown.node.get_by_label("Verdict").select_option(verdict)
        await expect(shown.node).to_contain_text(re.compile(rf"{count} of [\d,]+ sessions"))


async def review_all(browser_page, where, sessions, logs) -> None:
    """Reviews all sessions, without the mouse."""
    keys = browser_page.keyboard
    line = where.locator(".nbtools-sessions-review-line")
    explorer = where.locator(".nbtools-trace")
    await sessions.node.get_by_role("button", name="Review these").focus()
    await keys.press("Enter")
    scope = sessions.node.get_by_label("Sessions to review")
    await expect(scope).to_be_focused()
    await expect(scope.locator("option:checked")).to_have_text(f"all {len(logs)} that are listed")
    await keys.press("Enter")
    for number, path in enumerate(logs):
        await expect(line).to_contain_text(f"{number} of {len(logs)} reviewed")
        await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(path.stem)
        await expect(explorer.get_by_role("listbox", name="Steps")).to_be_focused()
        await keys.press("F" if number % 3 == 0 else "P")
        await keys.press("u")
    await expect(sessions.table).to_be_focused()
    await expect(sessions.node.locator(".nbtools-sessions-reviewed")).to_contain_text(
        f"{len(logs)} of {len(logs)} reviewed"
    )
    await expect(sessions.node).to_contain_text("No session is left without a verdict of yours.")


async def test_several_sessions_are_reviewed_without_a_kernel(views, logs):
    for path in logs[4:]:
        path.unlink()
    shown = await open_list(views)
    cell, keys = views.cell(0), views.page.keyboard
    await shown.node.get_by_role("button", name="Review these").click()
    await views.look("review-queue-form", cell)
    await is_accessible(views.page)
    await shown.node.get_by_role("button", name="cancel").click()
    await shown.has_focus_on(logs[0].stem)
    await review_all(views.page, cell, shown, logs[:4])
    await expect(shown.row(logs[0].stem).locator(".nbtools-sessions-verdict")).to_have_text("fail")
    await shown.node.get_by_label("Verdict").select_option("pass")
    await expect(shown.rows).to_have_count(2)
    await shown.node.get_by_role("button", name="end this review").click()
    await shown.node.get_by_role("button", name="Review these").click()
    await shown.node.get_by_role("button", name="Start").click()
    await expect(shown.node).to_contain_text("No session is left without a verdict of yours.")
    await views.page.set_viewport_size({"width": 400, "height": 640})
    await views.look("review-queue-400", cell)
    await views.page.set_viewport_size({"width": 1280, "height": 900})
    judge(logs[0], "pass", "cy")
    await shown.node.get_by_label("Verdict").select_option("in this review")
    await shown.rows.first.locator(".nbtools-sessions-title").click()
    explorer = cell.locator(".nbtools-trace")
    await expect(explorer.locator(".nbtools-trace-review")).to_be_visible()
    await keys.press("z")
    await keys.press("u")  # without a verdict on the session, it goes to the next step
    await expect(explorer.locator("[data-index='1']")).to_have_attribute("aria-selected", "true")
    await expect(explorer.locator("[aria-busy=true]")).to_have_count(0)
    await views.look("review-queue-session", cell)
    await is_accessible(views.page)


async def test_back_goes_to_the_list_at_the_same_place_and_the_review_goes_on(views, logs):
    shown = await open_list(views)
    cell, keys = views.cell(0), views.page.keyboard
    for path in logs[:2]:
        await shown.row(path.stem).get_by_role("checkbox").click()
    await shown.row(logs[5].stem).get_by_role("checkbox").click()
    await shown.node.get_by_role("button", name="Review these").click()
    await expect(shown.node.locator("option:checked").first).to_be_attached()
    await shown.node.get_by_role("button", name="Start").click()
    explorer = cell.locator(".nbtools-trace")
    await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(logs[0].stem)
    await keys.press("D")
    await expect(cell.locator(".nbtools-sessions-review-line")).to_contain_text("1 of 3 reviewed")
    await cell.get_by_role("button", name="All sessions").click()
    await expect(shown.row(logs[0].stem).locator(".nbtools-sessions-verdict")).to_have_text("defer")
    await shown.table.focus()
    await keys.press("u")
    await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(logs[1].stem)
    await cell.get_by_role("button", name="next session").click()
    await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(logs[5].stem)
    await cell.get_by_role("button", name="next session").click()
    await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(logs[1].stem)
    await cell.get_by_role("button", name="next session").click()
    await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(logs[5].stem)
    await keys.press("P")
    await expect(cell.locator(".nbtools-sessions-review-line")).to_contain_text("2 of 3 reviewed")
    await cell.get_by_role("button", name="next session").click()
    await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(logs[1].stem)
    await cell.get_by_role("button", name="next session").click()
    await expect(shown.node).to_contain_text("Only the session that you come from is left without a verdict")
    logs[1].unlink()
    await shown.row(logs[5].stem).locator(".nbtools-sessions-title").click()
    await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(logs[5].stem)
    await keys.press("u")
    await expect(shown.node).to_contain_text("No session is left without a verdict of yours.")
    await expect(shown.node).to_contain_text("skipped")
    again = await open_list(views)  # as after a restart of the kernel: it is remembered
    await expect(again.node.locator(".nbtools-sessions-reviewed")).to_contain_text("reviewed")
    await again.node.get_by_role("button", name="end this review").click()
    await expect(again.node.locator(".nbtools-sessions-reviewed")).to_be_hidden()
    assert review_settings().queue == ()


async def test_a_second_reader_is_blind_until_the_own_verdict(views, logs):
    for number, path in enumerate(logs[:6]):
        judge(path, "pass" if number % 2 else "fail", "ana <b>")
        Review(load(path), reviewer="ana <b>").label(3, "loop")
    shown = await open_list(views)
    cell, keys = views.cell(0), views.page.keyboard
    verdicts = shown.row(logs[0].stem).locator(".nbtools-sessions-verdict")
    await expect(verdicts).to_have_text("ana <b>: fail")
    await shown.node.get_by_role("button", name="Review these").click()
    await shown.node.get_by_label("Reviewer").fill("ben")
    await shown.node.get_by_label("blind").check()
    await expect(verdicts).to_have_text("")
    assert (review_settings().reviewer, review_settings().blind) == ("ben", True)
    await shown.node.get_by_label("Sessions to review").select_option("sample")
    await shown.node.get_by_role("spinbutton", name="Sessions").fill("30")
    await shown.node.get_by_role("button", name="Start").click()
    explorer = cell.locator(".nbtools-trace")
    line = cell.locator(".nbtools-sessions-review-line")
    await expect(line).to_contain_text(f"0 of {COUNT} reviewed")
    await cell.get_by_role("button", name="All sessions").click()
    await shown.row(logs[0].stem).locator(".nbtools-sessions-title").click()
    await expect(explorer.locator(".nbtools-trace-title")).to_contain_text(logs[0].stem)
    review = explorer.locator(".nbtools-trace-review")
    await expect(review).to_contain_text("what others wrote is hidden")
    await expect(explorer.get_by_text("loop · ana")).to_have_count(0)
    assert "ana" not in await explorer.inner_text()
    await keys.press("P")
    await expect(explorer.get_by_text("loop · ana <b>")).to_be_visible()
    await expect(line).to_contain_text("Agreement with ana <b>: κ")
    await cell.get_by_role("button", name="All sessions").click()
    await expect(verdicts).to_have_text("pass ana <b>: fail")
    await shown.node.get_by_label("Verdict").select_option("disagree")
    await expect(shown.rows).to_have_count(1)
    await shown.node.get_by_label("Verdict").select_option("unreviewed")
    await expect(shown.node).to_contain_text(re.compile(rf"{COUNT - 1} of [\d,]+ sessions"))
    await views.look("review-queue-list", cell)
    await is_accessible(views.page)
