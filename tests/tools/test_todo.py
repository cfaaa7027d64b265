"""The list of what is to be done."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import Session
from nbtools.core.errors import ErrorCode
from nbtools.core.result import TodoItem, TodoList
from nbtools.tools.todo import TodoTool
from nbtools.workspace.workspace import Workspace


@pytest.fixture
def tool(tmp_path):
    return TodoTool(Workspace(tmp_path))


async def todo(tool, *items, **more):
    spelled = [{"text": text, "status": status} for text, status in items]
    return await tool.validate_build_and_execute({"items": spelled, **more})


async def test_a_list_and_what_changes_in_it(tool):
    first = await todo(tool, ("plan", "in_progress"), ("build", "pending"), ("sell", "pending"))
    assert first.llm_content == (
        "Added: plan; build; sell.\n3 items: 2 pending, 1 in progress.\n1. [>] plan\n2. [ ] build\n3. [ ] sell"
    )
    assert first.return_display == TodoList(
        (TodoItem("plan", "in_progress"), TodoItem("build"), TodoItem("sell"))
    )
    second = await todo(tool, ("plan", "completed"), ("build", "in_progress"), ("test", "blocked"))
    assert second.llm_content.splitlines()[:4] == [
        "Completed: plan.",
        "Started: build.",
        "Added: test.",
        "Removed: sell.",
    ]
    assert second.summary == "1 of 3 done"
    assert second.data.before == first.data.after
    assert [item.status for item in second.data.after] == ["completed", "in_progress", "blocked"]


async def test_without_items_it_is_shown(tool):
    await todo(tool, ("plan", "cancelled"))
    shown = await tool.validate_build_and_execute({})
    assert shown.llm_content == "1 item: 1 cancelled.\n1. [-] plan"
    assert shown.data.before == shown.data.after == (TodoItem("plan", "cancelled"),)
    assert shown.summary == "nothing to do"


async def test_the_same_list_and_another_order(tool):
    await todo(tool, ("a", "pending"), ("b", "pending"))
    assert (await todo(tool, ("a", "pending"), ("b", "pending"))).llm_content.startswith("Nothing changed.")
    assert (await todo(tool, ("b", "pending"), ("a", "pending"))).llm_content.startswith("The order changed.")


async def test_an_empty_list_clears_it(tool):
    await todo(tool, ("a", "pending"))
    cleared = await todo(tool)
    assert cleared.llm_content == "Removed: a.\nThe list is empty."
    assert cleared.return_display == "Nothing to do."


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([("a", "in_progress"), ("b", "in_progress")], "2 items are in_progress (a; b). Only one may be."),
        ([(" ", "pending")], "items.0.text"),
        ([("a", "done")], "items.0.status"),
        ([("a", "pending")] * 201, "at most 200"),
    ],
)
async def test_an_invalid_list_changes_nothing(tool, items, words):
    await todo(tool, ("kept", "pending"))
    result = await todo(tool, *items)
    assert result.error.code is ErrorCode.INVALID_TOOL_PARAMS
    assert words in result.error.message
    assert tool.items == (TodoItem("kept"),)


ITEMS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["pending", "completed", "cancelled", "blocked"])),
    max_size=6,
)


@given(ITEMS, ITEMS)
async def test_the_counts_of_the_summary_add_up(before, after):
    tool = TodoTool(Workspace("."))
    await todo(tool, *before)
    said = (await todo(tool, *after)).llm_content
    assert ("Nothing changed." in said) == (before == after)
    assert sum(line.startswith(("Added: ", "Removed: ")) for line in said.splitlines()) <= 2
    assert len([line for line in said.splitlines() if line[0].isdigit() and "[" in line]) == len(after)


async def test_each_session_has_its_own_list_and_needs_no_approval(tmp_path):
    async with (
        Session(tmp_path, tools=[TodoTool(Workspace(tmp_path))]) as one,
        Session(tmp_path, tools=[TodoTool(Workspace(tmp_path))]) as two,
    ):
        assert (await one.call("todo", {"items": [{"text": "a"}]})).ok
        assert (await two.call("todo", {})).data.after == ()
