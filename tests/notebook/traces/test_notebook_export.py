"""A log becomes a notebook whose cells mean what was recorded."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from nbtools import to_notebook
from nbtools.core.errors import TraceError
from nbtools.notebook.magics.command_line import parse
from nbtools.notebook.magics.flags import grammar_of
from nbtools.notebook.traces.call_cells import cell_source
from nbtools.replay import CanonicalCall, canonical_call, working_directory_of
from nbtools.tools import tool_factories
from nbtools.workspace.workspace import Workspace
from tests.notebook.magics.test_command_line import SEPARATORS
from tests.replay.samples import bash, edit, log, sample

_TOOLS = tool_factories(Workspace("."))


def arguments_of(source: str) -> tuple[str, Any]:
    """Returns the text as the magics read it: IPython ends a cell's text with a newline."""
    first, newline, body = source.partition("\n")
    if first.startswith("from nbtools"):
        known: dict[str, Any] = {}
        call = source.rpartition("\n\n")[2].removeprefix("tools.")
        name, _, rest = call.partition("(")
        exec(f"found = dict({rest}", known)
        return name, known["found"]
    name, _, line = first.lstrip("%").removeprefix("tool ").partition(" ")
    grammar = grammar_of(_TOOLS[name]())
    whole = grammar.body is not None and grammar.body.whole
    ended = body if body.endswith("\n") else f"{body}\n"
    text = ended if newline else None
    return name, parse(grammar, line, text if text is None or whole else text.removesuffix("\n"))


def spoken(tool: str, arguments: Any) -> Any:
    """The parameters as the tool has them; one replacement and a list of one are the same."""
    params = _TOOLS[tool]().parameters.model_validate(dict(arguments))
    return (params.path, params.steps(), params.in_turn, params.match) if tool == "edit" else params


def test_story_calls_and_recorded_results(tmp_path: Path) -> None:
    trace = log(
        tmp_path / "log.jsonl",
        edit("price = 1\ntax", "price = 2\ntax"),
        bash("cat price.py\nls", "price = 2"),
        ("Skill", {"skill": "x"}, "done", {}),
    )
    path = to_notebook(trace, tmp_path / "out.ipynb")
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    told = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert told[0].startswith("# Raise the price.\n\n")
    assert "3 calls" in told[0]
    assert told[1] == "**Person**\n\nRaise the price.\n\n**Why**\n&lt;b>x&lt;/b>"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[0].source == "%load_ext nbtools"
    assert code[1].source.startswith("%tool edit --path=price.py --match=exact --edits=")
    assert code[2].source.startswith("%%tool shell")
    assert code[2].source.endswith("\ncat price.py\nls")
    assert code[3].source.startswith("# Skill x\n# Skill has no equivalent in nbtools.")
    assert "price = 2" in code[2].outputs[0].data["text/plain"]
    assert "application/vnd.nbtools.call.v1+json" in code[2].outputs[0].data
    assert path.read_bytes() == to_notebook(trace, tmp_path / "again.ipynb").read_bytes()


def test_a_notebook_is_written_beside_existing_files(tmp_path: Path) -> None:
    trace = log(tmp_path / "log.jsonl", edit("a", "b"))
    (tmp_path / "out.ipynb").write_text("mine")
    assert [to_notebook(trace, tmp_path / "out.ipynb") for _ in range(2)] == [
        tmp_path / "out-1.ipynb",
        tmp_path / "out-2.ipynb",
    ]
    assert (tmp_path / "out.ipynb").read_text() == "mine"


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_log_adds_no_line_to_the_cells_of_its_notebook(tmp_path: Path, separator: str) -> None:
    """IPython makes of each cell the one call that the log recorded;
    what stands behind a separator stays an argument.
    """
    text = f"a{separator}open('pwned','w')#"
    trace = log(
        tmp_path / "log.jsonl",
        bash(f"echo {text}", ""),
        bash(f"echo {text}\nls", ""),
        ("Write", {"file_path": f"/repo/{text}", "content": f"%%tool\n{text}"}, "done", {}),
        ("Skill", {"skill": text}, text, {}),
    )
    notebook = nbformat.read(to_notebook(trace, tmp_path / "out.ipynb"), 4)
    manager = TransformerManager()
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source != "%load_ext nbtools":
            body = ast.parse(manager.transform_cell(cell.source)).body
            calls = [statement for statement in body if not isinstance(statement, ast.ImportFrom)]
            assert len(calls) <= 1
            assert all(
                call.value.func.attr in {"run_line_magic", "run_cell_magic", "shell", "write"}
                for call in calls
            )  # type: ignore[attr-defined]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    trace = log(tmp_path / "log.jsonl", edit("a", "b"))
    with pytest.raises(TraceError, match="No such file"):
        to_notebook(trace, tmp_path / "nowhere" / "out.ipynb")


@pytest.mark.parametrize(
    "name",
    [
        "claude-code/cctrace--main.jsonl",
        "claude-code/external-agents--012dbfb0-86fd-41e2-baf6-29dd614f08e4.jsonl",
        "codex/external-agents--019dc116-c183-74f3-8f98-b4e5bd8eddfa.jsonl",
        "gemini-cli/session-2025-12-24T21-37-2ccb51c5.json",
    ],
)
def test_every_cell_of_a_recorded_session_means_the_call(name: str) -> None:
    count = 0
    for call in sample(name).calls:
        try:
            meaning = canonical_call(call, working_directory_of(call))
        except TraceError:
            continue
        tool, arguments = arguments_of(cell_source(meaning))
        assert spoken(tool, arguments) == spoken(meaning.tool, meaning.arguments)
        count += 1
    assert count > 20


@settings(deadline=None)
@given(
    st.text(alphabet=f"a \n'\"\\-%{{}}[]é${SEPARATORS}"),
    st.text(alphabet=f"a \n'\"\\-%{SEPARATORS}", min_size=1),
)
def test_any_text_is_written_so_that_it_is_read_again(text: str, path: str) -> None:
    for meaning in (
        CanonicalCall("write", {"path": path, "content": text}),
        CanonicalCall("grep", {"pattern": path, "path": text}),
        CanonicalCall("shell", {"command": text, "timeout": 3}),
        CanonicalCall("edit", {"path": "a", "edits": [{"old": text, "new": path}]}),
    ):
        tool, arguments = arguments_of(cell_source(meaning))
        assert (tool, arguments) == (meaning.tool, dict(meaning.arguments))
