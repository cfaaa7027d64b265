"""Every example of every built-in tool runs in a prepared workspace and has the effect that it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from nbtools import Answer, Policy, Session, ToolConfirmationOutcome
from nbtools.core.confirmation import Confirmation
from nbtools.core.result import ToolResult
from nbtools.core.tool import examples_of
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.notebook.magics.command_line import parse
from nbtools.notebook.magics.examples import example_line, examples_for, function_call
from nbtools.notebook.magics.flags import grammar_from, grammar_of
from nbtools.tools import build_tool
from nbtools.workspace.workspace import Workspace

CART = "# todo: tax\ndef cart(items):\n    total = 0\n    for item in items:\n        total += item\n    return total\n"
NAMES = (*CANONICAL_NAMES, "undo")
ELSEWHERE = {"fetch", "revise", "ask"}
"""Tools whose examples need the web, a model or a person; their arguments are checked, not run."""
Check = Callable[[ToolResult, Path], bool]


def text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


EFFECTS: dict[str, tuple[Check, Check]] = {
    "read": (lambda r, _: r.total == 6, lambda r, _: len(r.lines) == 3),
    "read_many": (
        lambda r, _: "src/cart.py" in str(r.llm_content),
        lambda r, _: "# Shop" in str(r.llm_content),
    ),
    "diagnostics": (lambda r, _: r.summary == "no errors", lambda r, _: r.summary == "no errors"),
    "ls": (
        lambda r, _: [entry.path for entry in r.entries] == ["src/cart.py"],
        lambda r, _: "README.md" not in str(r.llm_content),
    ),
    "tree": (lambda r, _: "cart.py" in str(r.llm_content), lambda r, _: "cart.py" in str(r.llm_content)),
    "glob": (lambda r, _: r.paths == ("src/cart.py",), lambda r, _: r.paths == ("analysis.ipynb",)),
    "grep": (lambda r, _: r.total == 1, lambda r, _: len(r.matches) == 3),
    "edit": (
        lambda _, w: "total = Decimal(0)" in text(w / "src/cart.py"),
        lambda _, w: text(w / "src/cart.py").count("article") == 4,
    ),
    "write": (lambda _, w: text(w / "notes.txt") == "Buy milk", lambda _, w: text(w / "ideas.txt") == "One"),
    "patch": (
        lambda _, w: "total = 1" in text(w / "src/cart.py"),
        lambda _, w: text(w / "hello.txt") == "Hello\n",
    ),
    "replace_in_files": (
        lambda _, w: text(w / "src/cart.py") == CART,
        lambda _, w: "article" in text(w / "src/cart.py"),
    ),
    "move": (lambda _, w: text(w / "src/basket.py") == CART, lambda _, w: "pear" in text(w / "README.md")),
    "delete": (lambda _, w: not (w / "notes.txt").exists(), lambda _, w: not (w / "src").exists()),
    "cells": (lambda r, _: "x = 1" in str(r.llm_content), lambda _, w: "x = 2" in text(w / "analysis.ipynb")),
    "shell": (lambda r, _: "apple\npear" in r.text, lambda r, _: "cart.py" in r.text),
    "shell_output": (lambda r, _: "sleep" in str(r.llm_content), lambda r, _: r.data.id == "1"),
    "shell_kill": (lambda r, _: r.data.id == "1", lambda r, _: r.data.id == "2"),
    "terminal_open": (lambda r, _: r.data.running, lambda r, _: r.data.id == "build"),
    "terminal_run": (lambda r, w: str(w) in r.data.screen, lambda r, _: "ls" in r.data.screen),
    "terminal_output": (lambda r, _: r.data.running, lambda r, _: r.data.running),
    "terminal_kill": (lambda r, _: not r.data.running, lambda r, _: not r.data.running),
    "todo": (
        lambda r, _: [item.text for item in r.items] == ["Write tests", "Fix the bug"],
        lambda r, _: r.ok,
    ),
    "memory": (lambda _, w: "make test" in text(w / ".nbtools/memory.md"), lambda r, _: r.ok),
    "undo": (
        lambda _, w: text(w / "notes.txt").startswith("pear"),
        lambda _, w: text(w / "notes.txt").startswith("pear"),
    ),
}


def prepare(root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "cart.py").write_text(CART)
    (root / "README.md").write_text("# Shop\n")
    (root / "notes.txt").write_text("pear\napple\n")
    cell = nbformat.v4.new_code_cell("x = 1", id="load")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), root / "analysis.ipynb")


async def first_calls(session: Session, name: str) -> None:
    """Makes the calls that an example builds on: what is to be read, ended or undone."""
    if name in {"edit", "patch", "write", "cells", "replace_in_files"}:
        for path in ("src/cart.py", "notes.txt", "analysis.ipynb"):
            assert (await session.call("read", {"path": path})).ok
    if name in {"shell_output", "shell_kill"}:
        for _ in range(2):
            assert (await session.call("shell", {"command": "sleep 3", "background": True})).ok
    if name in {"terminal_run", "terminal_output", "terminal_kill"}:
        for arguments in ({}, {"name": "build"}):
            assert (await session.call("terminal_open", arguments)).ok
    if name == "undo":
        assert (await session.call("write", {"path": "notes.txt", "content": "new"})).ok


class Yes:
    async def ask(self, confirmation: Confirmation) -> Answer:
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ELSEWHERE])
@pytest.mark.parametrize("at", [0, 1])
async def test_an_example_has_its_effect(tmp_path, monkeypatch, name, at):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "work"
    root.mkdir()
    prepare(root)
    async with Session(root, policy=Policy(mode="yolo"), confirmer=Yes()) as session:
        await first_calls(session, name)
        example = examples_of(build_tool(name, session.workspace))[at]
        result = await (
            session.undo(None, **example.arguments)
            if name == "undo"
            else session.call(name, example.arguments)
        )
        assert result.error is None, result.llm_content
        assert EFFECTS[name][at](result, root), result.llm_content


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_has_two_examples_with_the_described_effect(tmp_path, name):
    tool = build_tool(name, Workspace(tmp_path))
    grammar = grammar_of(tool)
    examples = examples_of(tool)
    assert len(examples) == 2
    for example in examples:
        assert example.about.endswith(".")
        tool.validate_tool_params(example.arguments)
        line, *body = example_line(grammar, example.arguments).split("\n")
        magic, _, rest = line.partition(" ")
        said = parse(grammar, rest.removeprefix(name).strip(), "\n".join(body) + "\n" if body else None)
        assert tool.validate_tool_params(said) == tool.validate_tool_params(example.arguments)
        assert magic == ("%%tool" if body else "%tool")
        names = [parameter.name for parameter in grammar.positional if parameter.required]
        recorder = type("Recorder", (), {name: lambda _, *places, **named: (places, named)})()
        places, named = eval(function_call(grammar, example.arguments), {"tools": recorder})
        assert {**dict(zip(names, places, strict=False)), **named} == example.arguments


def test_examples_are_built_for_a_tool_without_any():
    schema = {
        "required": ["path", "kind"],
        "properties": {
            "path": {"type": "string"},
            "kind": {"enum": ["a", "b"]},
            "top": {"type": "integer", "default": 5},
        },
    }
    grammar = grammar_from("count", schema)

    tool = type("Tool", (), {"schema": {"parameters": schema}})()
    assert [example_line(grammar, one.arguments) for one in examples_for(tool, grammar)] == [
        "%tool count README.md b",
        "%tool count README.md b --top 5",
    ]
