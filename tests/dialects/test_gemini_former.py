"""Gemini CLI's calls of every version are read, in every mix,
and what its tools do not know is ignored as there.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AliasChoices

from nbtools import Policy, Session
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.dialects import Dialect, ToolMapping, dialect
from tests.dialects.laws import DIALECTS, MODELS, arguments_of, is_call
from tests.examples import examples

GEMINI = dialect("gemini")
EDIT = {"old_string": "a", "new_string": "b"}
PATHS = {
    "file_path": ("file_path", "absolute_path", "path"),
    "dir_path": ("dir_path", "path"),
    "command_path": ("dir_path", "directory"),
}
FORMER: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # how it was called, and how it is called today
    (
        "read_file",
        {"file_path": "a", "offset": 2, "limit": 3},
        {"file_path": "a", "start_line": 3, "end_line": 5},
    ),
    (
        "read_file",
        {"absolute_path": "a", "offset": 0, "limit": 3},
        {"file_path": "a", "start_line": 1, "end_line": 3},
    ),
    ("read_file", {"absolute_path": "a", "limit": 3}, {"file_path": "a", "start_line": 1, "end_line": 3}),
    ("read_file", {"path": "a", "offset": 4}, {"file_path": "a", "start_line": 5}),
    (
        "read_file",
        {"absolute_path": "a", "start_line": 2, "end_line": 4},
        {"file_path": "a", "start_line": 2, "end_line": 4},
    ),
    (
        "read_file",
        {"file_path": "a", "start_line": 2, "limit": 2},
        {"file_path": "a", "start_line": 2, "end_line": 3},
    ),
    ("read_file", {"file_path": "a", "start_line": 2, "offset": 9}, {"file_path": "a", "start_line": 2}),
    ("list_directory", {"path": "a", "ignore": ["b"]}, {"dir_path": "a", "ignore": ["b"]}),
    (
        "list_directory",
        {"path": "a", "respect_git_ignore": False},
        {"dir_path": "a", "file_filtering_options": {"respect_git_ignore": False}},
    ),
    ("glob", {"pattern": "*", "path": "a"}, {"pattern": "*", "dir_path": "a"}),
    (
        "glob",
        {"pattern": "*", "path": "a", "case_sensitive": True},
        {"pattern": "*", "dir_path": "a", "case_sensitive": True},
    ),
    (
        "grep_search",
        {"pattern": "x", "path": "a", "include": "*.py"},
        {"pattern": "x", "dir_path": "a", "include_pattern": "*.py"},
    ),
    (
        "grep_search",
        {"pattern": "x", "path": "a", "include_pattern": "b"},
        {"pattern": "x", "dir_path": "a", "include_pattern": "b"},
    ),
    (
        "grep_search",
        {"pattern": "x", "dir_path": "a", "include": "b"},
        {"pattern": "x", "dir_path": "a", "include_pattern": "b"},
    ),
    ("run_shell_command", {"command": "ls", "directory": "a"}, {"command": "ls", "dir_path": "a"}),
    ("read_many_files", {"paths": ["a"], "exclude": ["b"]}, {"include": ["a"], "exclude": ["b"]}),
    (
        "read_many_files",
        {"paths": ["a"], "respect_git_ignore": False},
        {"include": ["a"], "file_filtering_options": {"respect_git_ignore": False}},
    ),
    ("replace", {"file_path": "a", **EDIT}, {"file_path": "a", "instruction": "", **EDIT}),
]


def canonical(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    call = GEMINI.read(name, arguments)
    return call.tool, MODELS[call.tool].model_validate(call.arguments).model_dump()


@pytest.mark.parametrize(("name", "former", "current"), FORMER)
def test_a_former_call_means_what_it_meant(
    name: str, former: dict[str, Any], current: dict[str, Any]
) -> None:
    assert canonical(name, former) == canonical(name, current)


@pytest.mark.parametrize("name", ["grep_search", "search_file_content", "grep"])
@pytest.mark.parametrize("folder", ["dir_path", "path"])
@pytest.mark.parametrize("include", ["include_pattern", "include"])
def test_a_search_is_read_under_all_its_names(name: str, folder: str, include: str) -> None:
    current = {"pattern": "x", "dir_path": "a", "include_pattern": "*.py", "case_sensitive": True}
    assert canonical(
        name, {"pattern": "x", folder: "a", include: "*.py", "case_sensitive": True}
    ) == canonical("grep_search", current)


@pytest.mark.parametrize("name", ["replace", "edit"])
@pytest.mark.parametrize("instruction", [{}, {"instruction": "Do it."}])
def test_the_expected_number_of_replacements_is_checked(name: str, instruction: dict[str, str]) -> None:
    assert (
        canonical(name, {"file_path": "a", **EDIT, "expected_replacements": 3, **instruction})[1]["count"]
        == 3
    )
    assert (
        canonical(
            name,
            {"file_path": "a", **EDIT, "expected_replacements": 3, "allow_multiple": True, **instruction},
        )[1]["count"]
        == "all"
    )


def choices(spelling: ToolMapping) -> dict[str, tuple[str, ...]]:
    """The names of each parameter that has several."""
    aliases = {name: field.validation_alias for name, field in spelling.params.model_fields.items()}
    return {
        name: tuple(map(str, alias.choices))
        for name, alias in aliases.items()
        if isinstance(alias, AliasChoices)
    }


MIXED = [spelling for spelling in GEMINI.mappings if choices(spelling)]


def test_the_tools_with_former_parameters_are_these() -> None:
    found = {spelling.name for spelling in MIXED}
    assert found == {name for name, *_ in FORMER} - {"replace"} | {"search_file_content", "grep"}


@pytest.mark.parametrize("spelling", MIXED, ids=lambda spelling: spelling.name)
@settings(max_examples=examples(100), deadline=None, database=None)
@given(data=st.data())
def test_every_mix_of_names_is_read_alike(spelling: ToolMapping, data: st.DataObject) -> None:
    arguments = data.draw(arguments_of(spelling.params))
    several = choices(spelling)
    try:
        expected = GEMINI.read(spelling.name, arguments).arguments
    except ToolFailure:
        return
    for names in product(*several.values()):
        renamed = dict(zip(several, names, strict=True))
        mix = {renamed.get(name, name): value for name, value in arguments.items()}
        assert GEMINI.read(spelling.name, mix).arguments == expected
        both = {
            **{other: "elsewhere" for several_names in several.values() for other in several_names},
            **arguments,
        }
        if several.keys() <= arguments.keys():
            assert GEMINI.read(spelling.name, both).arguments == expected, "the current name counts"


@pytest.mark.parametrize("name", ["grep", "grep_search", "search_file_content"])
@pytest.mark.parametrize("include", ["*.py", None])
def test_the_current_name_counts_where_both_are_given(name: str, include: str | None) -> None:
    """``grep`` is also a tool of nbtools: two names of one parameter do not make the call one of
    that tool.
    """
    arguments = {"pattern": "x", "dir_path": "a", "include_pattern": include}
    both = {**arguments, "path": "elsewhere", "include": "elsewhere"}
    assert canonical(name, both) == canonical("grep_search", arguments)


LENIENT = [spelling for spelling in GEMINI.mappings if spelling.params.ignores_unknown]
UNKNOWN = {
    "reason": "because",
    "maxResults": 5,
    "allow": ["everything"],
    "background": True,
    "count": "all",
    "x-unknown": {"a": [1]},
}


def test_only_the_list_of_tasks_is_strict_as_there() -> None:
    assert {spelling.name for spelling in GEMINI.mappings} - {spelling.name for spelling in LENIENT} == {
        "write_todos"
    }
    todo = {"description": "one", "status": "pending"}
    for arguments in ({"todos": [todo], "more": 1}, {"todos": [{**todo, "more": 1}]}):
        with pytest.raises(ToolFailure) as failure:
            GEMINI.read("write_todos", arguments)
        assert failure.value.code is ErrorCode.INVALID_TOOL_PARAMS


@pytest.mark.parametrize(
    "spelling",
    [one for one in LENIENT if one.name != one.tool or not one.former],
    ids=lambda spelling: f"{spelling.name}-{spelling.params.__name__}",
)
@settings(max_examples=15, deadline=None, database=None)
@given(data=st.data())
def test_an_unknown_parameter_changes_nothing(spelling: ToolMapping, data: st.DataObject) -> None:
    arguments = data.draw(arguments_of(spelling.params))
    try:
        expected = GEMINI.read(spelling.name, arguments)
    except ToolFailure:
        return
    call = GEMINI.read(spelling.name, {**UNKNOWN, **arguments})
    if is_call(expected.tool, expected.arguments):
        assert (call.tool, call.arguments) == (expected.tool, expected.arguments)


NESTED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "list_directory",
        {"dir_path": "."},
        {"dir_path": ".", "file_filtering_options": {"respectGitIgnore": False}},
    ),
    (
        "ask_user",
        {"questions": [{"question": "A?"}]},
        {"questions": [{"question": "A?", "id": 1}], "title": "t"},
    ),
    (
        "ask_user",
        {"questions": [{"question": "A?", "options": [{"label": "x"}, {"label": "y"}]}]},
        {"questions": [{"question": "A?", "options": [{"label": "x", "value": 1}, {"label": "y"}]}]},
    ),
]


@pytest.mark.parametrize(("name", "plain", "more"), NESTED)
def test_nor_does_one_inside_another(name: str, plain: dict[str, Any], more: dict[str, Any]) -> None:
    assert canonical(name, more) == canonical(name, plain)


def test_an_error_names_missing_paths_and_not_ignored_ones() -> None:
    with pytest.raises(ToolFailure) as failure:
        GEMINI.read("replace", {"file_path": "a", "old_str": "a", "new_string": "b", "instruction": ""})
    assert failure.value.message == "params must have required property 'old_string'"


@pytest.mark.parametrize(
    "arguments", [{"path": "a", "mode": "files", "pattern": "x"}, {"path": "a", "pattern": "x", "glob": "*"}]
)
def test_a_canonical_call_is_not_taken_for_a_former_one(arguments: dict[str, Any]) -> None:
    assert GEMINI.read("grep", arguments).arguments == arguments


@pytest.mark.parametrize("agent", [one for one in DIALECTS if one.name != "gemini"], ids=lambda one: one.name)
def test_other_dialects_do_not_ignore(agent: Dialect) -> None:
    assert not any(spelling.params.ignores_unknown for spelling in agent.mappings)


@pytest.mark.parametrize("spoken", ["nbtools", "gemini"])
async def test_canonical_calls_stay_strict(spoken: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    async with Session(tmp_path, dialect=spoken, policy=Policy(mode="yolo")) as session:
        for name, arguments in (
            ("read", {"path": "a"}),
            ("shell", {"command": "true"}),
            ("write", {"path": "b", "content": ""}),
        ):
            result = await session.call(name, {**arguments, "unknown": 1})
            assert result.error is not None
            assert result.error.code == "invalid_tool_params"


async def test_ignored_parameters_decide_nothing(tmp_path: Path) -> None:
    policy = Policy(allow=["Bash(ls:*)"], deny=["Read(secret/**)"])
    async with Session(tmp_path, dialect="gemini", policy=policy) as session:
        for name, arguments in (
            ("run_shell_command", {"command": "rm x"}),
            ("run_shell_command", {"command": "ls"}),
            ("read_file", {"file_path": "secret/a"}),
            ("write_file", {"file_path": "a", "content": ""}),
        ):
            assert session.decide(name, {**arguments, **UNKNOWN, "approved": True}) == session.decide(
                name, arguments
            )
