"""A combination of filters is saved by name, and found again in the explorer of another log."""

from __future__ import annotations

import uuid

import pytest
from playwright.async_api import Locator, expect

from nbtools import open_trace, traces
from tests.browser.accessibility import in_all_themes
from tests.browser.explorer import Explorer
from tests.traces.reviews.logs import Log


def log(*commands: str) -> Log:
    made = Log(str(uuid.uuid4())).person("Please build it.").bash("ls")
    for command in commands:
        made.bash(command, failed=True)
    return made.agent("It is built.")


@pytest.fixture
def two_logs(tmp_path):
    """The explorers of two logs."""
    return tuple(
        open_trace(made.write(tmp_path / name))
        for name, made in (("one.jsonl", log("make", "make test")), ("two.jsonl", log("cargo build")))
    )


async def opened(trace: Explorer) -> Locator:
    await trace.node.get_by_role("button", name="saved filters").click()
    panel = trace.node.get_by_role("region", name="Saved filters")
    await expect(panel.get_by_label("Name for the current filter")).to_be_focused()
    return panel


async def test_a_filter_is_saved_and_found_again_in_another_log(views, two_logs):
    name = f"failed <b>commands</b> {uuid.uuid4().hex[:6]}"
    one, two = [Explorer(views, await views.show(trace)) for trace in two_logs]
    for explorer in (one, two):
        await expect(explorer.rows.first).to_be_visible()
    keys = one.tab.page.keyboard
    await one.chip("shell").click()
    await one.chip("failed").click()
    await one.leaves(2)
    panel = await opened(one)
    await expect(panel).to_contain_text("shell · failed")
    await keys.type(name)
    await keys.press("Enter")
    await expect(panel.get_by_role("status")).to_contain_text(f"Saved “{name}”.")
    await expect(panel.locator("li").filter(has_text=name)).to_contain_text("shell · failed")
    await in_all_themes(one.tab, '[aria-label="Saved filters"]')
    await one.tab.look("saved-filters", one.cell)
    other = await opened(two)
    await other.get_by_role("button", name=name, exact=True).focus()
    await keys.press("Enter")
    await two.leaves(1)
    await expect(two.chip("failed")).to_have_attribute("aria-pressed", "true")
    assert [row.subject for row in traces.filter(two_logs[1].trace, name)] == ["cargo build"]


async def test_a_saved_filter_is_renamed_and_deleted_with_the_keyboard(views, two_logs):
    name = f"mine {uuid.uuid4().hex[:6]}"
    one, two = [Explorer(views, await views.show(trace)) for trace in two_logs]
    for explorer in (one, two):
        await expect(explorer.rows.first).to_be_visible()
    keys = one.tab.page.keyboard
    await one.search.fill("make")
    await one.leaves(2)
    panel = await opened(one)
    await keys.type(name)
    await keys.press("Enter")
    await expect(panel.get_by_role("button", name=name, exact=True)).to_be_visible()
    await expect(panel.get_by_label("Name for the current filter")).to_be_focused()
    await expect(panel.get_by_label("Name for the current filter")).to_have_value("")
    await keys.type(name)
    await keys.press("Enter")
    await expect(panel.get_by_role("status")).to_contain_text("There is already a filter")
    await panel.get_by_role("button", name=f"rename {name}").focus()
    await keys.press("Enter")
    await expect(panel.get_by_label("New name")).to_be_focused()
    await keys.press("Escape")
    await expect(panel.get_by_role("button", name=name, exact=True)).to_be_visible()
    await panel.get_by_role("button", name=f"rename {name}").focus()
    await keys.press("Enter")
    await expect(panel.get_by_label("New name")).to_be_focused()
    await keys.type(f"other {name}")
    await keys.press("Enter")
    await expect(panel.get_by_role("button", name=f"other {name}", exact=True)).to_be_focused()
    other = await opened(two)
    await other.get_by_role("button", name=f"delete other {name}").focus()
    await keys.press("Enter")
    await expect(other.get_by_role("button", name=f"other {name}", exact=True)).to_have_count(0)
    await expect(other.get_by_role("button", name="Undo")).to_be_focused()
    await keys.press("Enter")
    await expect(other.get_by_role("button", name=f"other {name}", exact=True)).to_be_visible()
    await expect(other.get_by_label("Name for the current filter")).to_be_focused()
