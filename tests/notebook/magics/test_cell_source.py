"""A cell made from arguments makes exactly that call, whatever the texts are."""

from __future__ import annotations

import ast
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from nbtools.notebook.input_transforms import insert_tool_cell
from nbtools.notebook.magics.cell_source import call_source
from nbtools.notebook.magics.command_line import parse
from nbtools.notebook.magics.flags import Grammar, grammar_from
from tests.notebook.magics.test_command_line import EDIT, GREP, SEPARATORS, SHELL

WRITE = grammar_from(
    "write",
    {
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
)
FOREIGN = grammar_from("mcp_a_b", {"properties": {name: {} for name in ("class", "a-b", "x y", "ok")}})
TEXTS = st.text(st.sampled_from(f"ab {SEPARATORS}'\"\\-?!%#=$>{{}}\t\u00a0é")) | st.text()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=5,
)


def call_of(grammar: Grammar, source: str) -> Any:
    """The arguments of the one call that IPython makes of a cell."""
    manager = TransformerManager()
    insert_tool_cell(manager.cleanup_transforms)
    calls = [
        line
        for line in ast.parse(manager.transform_cell(source)).body
        if not isinstance(line, ast.ImportFrom)
    ]
    assert len(calls) == 1
    call = calls[0].value  # type: ignore[attr-defined]
    if call.args:
        magic, line, *cell = (ast.literal_eval(argument) for argument in call.args)
        name, _, rest = line.partition(" ")
        assert (magic, name) == ("tool", grammar.tool)
        whole = grammar.body is not None and grammar.body.whole
        text = cell[0] if cell else None
        return parse(grammar, rest, text if text is None or whole else text.removesuffix("\n"))
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        found |= (
            ast.literal_eval(keyword.value)
            if keyword.arg is None
            else {keyword.arg: ast.literal_eval(keyword.value)}
        )
    return found


@given(TEXTS, TEXTS, st.integers(0, 9), st.booleans(), st.lists(TEXTS))
def test_a_search(pattern, path, limit, hidden, types):
    arguments = {"pattern": pattern, "path": path, "limit": limit, "hidden": hidden, "types": types}
    assert call_of(GREP, call_source(GREP, arguments)) == arguments


@given(TEXTS, TEXTS, TEXTS)
def test_an_edit_and_a_written_file(path, old, new):
    edit = {"path": path, "old": old, "new": new}
    assert call_of(EDIT, call_source(EDIT, edit)) == edit
    write = {"path": path, "content": new}
    assert call_of(WRITE, call_source(WRITE, write)) == write


@given(TEXTS, st.floats(0, 100))
def test_a_command(command, timeout):
    arguments = {"command": command, "timeout": timeout}
    assert call_of(SHELL, call_source(SHELL, arguments)) == arguments


@given(st.dictionaries(st.sampled_from(["class", "a-b", "x y", "ok"]), VALUES))
def test_parameters_whose_names_are_no_names_of_python(arguments):
    assert call_of(FOREIGN, call_source(FOREIGN, arguments)) == arguments


def test_the_source_of_a_cell_is_readable():
    assert call_source(GREP, {"pattern": "TODO", "path": "src"}) == "%tool grep --pattern=TODO --path=src"
    assert (
        call_source(WRITE, {"path": "a.txt", "content": "one\ntwo\n"})
        == "%%tool write --path=a.txt\none\ntwo\n"
    )
    assert call_source(SHELL, {"command": "ls | head"}) == "%tool shell -- ls | head"
