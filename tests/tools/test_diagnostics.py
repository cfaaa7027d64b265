"""The `diagnostics` tool: syntax errors with their lines, and nothing executed."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.core.decision import Action
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.tools.diagnostics import Diagnostics, DiagnosticsTool
from nbtools.workspace.processes.syntax_check import problems_of
from nbtools.workspace.workspace import Workspace
from tests.examples import examples


async def check(root: Path, name: str, content: str | bytes) -> Diagnostics:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    result = await DiagnosticsTool(Workspace(root)).build({"path": name}).execute()
    assert isinstance(result.data, Diagnostics)
    return result.data


def notebook(*sources: str, language: str = "python") -> str:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for source in sources
    ]
    return json.dumps(
        {
            "cells": cells,
            "metadata": {"kernelspec": {"language": language}},
            "nbformat": 4,
            "nbformat_minor": 4,
        }
    )


@pytest.mark.parametrize(
    ("name", "content", "places"),
    [
        ("a.py", "", []),
        ("a.py", "x = 1\n", []),
        ("a.py", "import nowhere\nnowhere.x\n", []),
        ("a.py", "x = (\n\n", [("error", 1, None)]),
        ("a.py", "if x:\n\ty\n        z\n", [("error", 3, None)]),
        ("a.py", "def f():\n    pass\nreturn 1\n", [("error", 3, None)]),
        ("a.py", "x = 1\nif x is 2: pass\n", [("warning", 2, None)]),
        ("a.py", "x\0\n", [("error", 1, None)]),
        ("a.py", b"# coding: latin-1\nx = '\xe9'\n", []),
        ("a.py", b"x = '\xe9'\n", [("error", 1, None)]),
        ("a.py", "x = " + "(" * 5_000, [("error", 1, None)]),
        ("a.pyi", "def f(x: int) -> str: ...\n", []),
        ("a.json", '{"a": 1}', []),
        ("a.json", '{\n"a" 1}', [("error", 2, None)]),
        ("a.json", "", [("error", 1, None)]),
        ("a.json", "[" * 100_000, [("error", 1, None)]),
        ("a.toml", "a = 1\n", []),
        ("a.toml", "a = 1\nb = \n", [("error", 2, None)]),
        ("a.ipynb", notebook("x = 1", "%matplotlib inline\n!ls\nf?\ny = !ls\nz = %env\nawait f()"), []),
        ("a.ipynb", notebook("x = 1", "%%bash\nif [ ; then", "for x in y\n  z"), [("error", 1, 3)]),
        ("a.ipynb", notebook("x <- 1; y +", language="R"), []),
        ("a.ipynb", "{", [("error", 1, None)]),
        ("a.ipynb", "[]", [("error", 1, None)]),
    ],
)
async def test_problems(
    tmp_path: Path, name: str, content: str | bytes, places: list[tuple[str, int, int | None]]
) -> None:
    found = await check(tmp_path, name, content)
    assert found.checked
    assert [(problem.severity, problem.line, problem.cell) for problem in found.problems] == places


@pytest.mark.parametrize(
    ("name", "programs"),
    [
        ("a.js", "eslint"),
        ("a.sh", "shellcheck"),
        ("a.rs", "cargo"),
        ("tsconfig.json", ""),
        (".vscode/settings.json", ""),
        ("a", ""),
    ],
)
async def test_other_files_are_reported_as_not_checked(tmp_path: Path, name: str, programs: str) -> None:
    found = await check(tmp_path, name, "// {")
    assert (found.checked, found.problems) == ("", ())
    assert programs in " ".join(found.programs)


async def test_nothing_is_executed(tmp_path: Path) -> None:
    code = "open('made', 'w')\nimport os\nos.system('touch made')\n"
    assert not (await check(tmp_path, "a.py", code)).problems
    assert not (await check(tmp_path, "a.ipynb", notebook(code))).problems
    assert [path.name for path in tmp_path.iterdir() if path.name == "made"] == []


async def test_a_module_beside_the_file_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    assert not (await check(tmp_path, "a.py", "x = 1\n")).problems


async def test_a_check_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 200_000)
    with pytest.raises(ToolFailure) as caught:
        await DiagnosticsTool(Workspace(tmp_path), seconds=0.05).build({"path": "a.py"}).execute()
    assert caught.value.code is ErrorCode.TIMEOUT


async def test_it_is_a_read_for_the_policy(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n")
    (tmp_path / "secret.py").write_text("x\n")
    async with Session(tmp_path, policy=Policy(deny=["read(secret.py)"])) as session:
        assert session.decide("diagnostics", {"path": "a.py"}).action is Action.ALLOW
        assert (
            await session.call("diagnostics", {"path": "../a.py"})
        ).error.code is ErrorCode.PATH_NOT_IN_WORKSPACE
        assert (await session.call("diagnostics", {"path": "b.py"})).error.code is ErrorCode.FILE_NOT_FOUND


@settings(max_examples=examples(200), deadline=None, database=None)
@given(st.text(st.sampled_from("ab01 \n\t:=()[]{}'\"\\%!?#,.@"), max_size=40))
def test_python_is_valid_where_the_parser_says_so(source: str) -> None:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        assert problems_of("python", source.encode())[0]["severity"] == "error"
    else:
        # The compiler finds more errors than the parser, such as an assignment to a keyword.
        assert all(
            problem["line"] <= source.count("\n") + 1 for problem in problems_of("python", source.encode())
        )


@settings(max_examples=examples(200), deadline=None, database=None)
@given(st.text(st.sampled_from('{}[]",:01 \ntrue'), max_size=30))
def test_json_is_valid_where_it_can_be_decoded(source: str) -> None:
    lines = []
    try:
        json.loads(source)
    except json.JSONDecodeError as error:
        lines = [error.lineno]
    assert [problem["line"] for problem in problems_of("json", source.encode())] == lines
