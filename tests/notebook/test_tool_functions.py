"""``tools`` from Python code."""

from __future__ import annotations

import inspect

import pytest

from nbtools.notebook.magics.flags import grammar_from
from nbtools.notebook.tool_functions import arguments_from, signature_of

GREP = grammar_from(
    "grep",
    {
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "default": "."},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        },
        "required": ["pattern"],
    },
)


def test_the_signature_is_the_schema():
    assert str(signature_of(GREP)).startswith("(pattern: str, path: str = '.', limit: int | None = None) ->")


def test_values_are_taken_in_order_and_by_name():
    assert arguments_from(GREP, ("x", "src"), {"limit": 5}) == {"pattern": "x", "path": "src", "limit": 5}


@pytest.mark.parametrize(
    ("values", "named", "says"),
    [
        (("a", "b", 1, 2), {}, "takes 3 arguments (pattern, path, limit), not 4"),
        (("a",), {"pattern": "b"}, "got pattern twice"),
    ],
)
def test_values_that_do_not_fit_are_type_errors(values, named, says):
    with pytest.raises(TypeError) as error:
        arguments_from(GREP, values, named)
    assert says in str(error.value)


def test_a_required_parameter_behind_an_optional_one_is_by_name():
    grammar = grammar_from(
        "t", {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    )
    assert signature_of(grammar).parameters["b"].kind is inspect.Parameter.KEYWORD_ONLY


def test_calls_return_results(lab):
    assert lab.value(
        "tools.ls().ok, tools['ls'](path='src').ok, tools.ls('src').summary == tools.ls(path='src').summary"
    ) == (
        True,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("code", "error", "says"),
    [
        ("tools.read('missing.txt')", "ToolFailure", "missing.txt"),
        ("tools.read('notes.txt', lines=3)", "ToolFailure", "there is no parameter lines"),
        ("tools.gerp('x')", "AttributeError", "Did you mean grep"),
        ("tools.ls(*range(9))", "TypeError", "not 9"),
        ("await tools.read.start('missing.txt')", "ToolFailure", "missing.txt"),
    ],
)
def test_failures_of_functions_are_raised(lab, code, error, says):
    cell = lab.run(code)
    assert cell.error == error
    assert says in cell.text


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("tools.read('missing.txt')", "."),
        ("x = 1\ntools.read('missing.txt')", " (line 2)"),
        ("def look():\n    return tools.read('missing.txt')\n\nlook()", " (line 2, called from line 4)"),
        ("await tools.read.start('missing.txt')", "."),
        ("tools.quiet.read('missing.txt')", "."),
    ],
)
def test_a_failure_is_one_line_below_the_card(lab, code, ends):
    cell = lab.run(code)
    (error,) = [output for output in cell.outputs if "traceback" in output]
    (line,) = error["traceback"]
    assert line.startswith("ToolFailure: ")
    assert line.endswith(ends)
    assert "\n" not in line


def test_a_script_shows_the_usual_traceback(lab, tmp_path):
    script = "import traceback\ntry:\n    tools.read('missing.txt')\nexcept Exception:\n    print(traceback.format_exc())"
    text = lab.run(script).text
    assert "Traceback (most recent call last)" in text
    assert "tool_functions.py" in text


def test_a_result_has_the_fields_of_its_display(lab):
    lab.run("r = tools.grep('.', 'notes.txt')")
    assert lab.value("r.matches == r.return_display.matches and r.total == r.data.total") is True
    assert "'matches'" in lab.run("[name for name in dir(r) if name == 'matches']").text


def test_code_that_works_with_the_session_gets_it(lab):
    assert lab.value("tools.session.call('read', {'path': 'notes.txt'}).ok") is True
    assert lab.value("'session' in dir(tools)") is True


def test_help_signature_and_names(lab):
    assert lab.value("[name for name in dir(tools) if name in ('grep', 'shell', 'quiet')]") == [
        "grep",
        "quiet",
        "shell",
    ]
    assert "kind: search" in lab.run("print(tools.grep.__doc__)").text
    assert "pattern: str" in lab.run("import inspect\nprint(inspect.signature(tools.grep))").text
    reply = lab.run("tools.grep?").reply
    (page,) = reply["payload"]
    assert "kind: search" in page["data"]["text/plain"]
    assert "pattern" in page["data"]["text/plain"]


def test_the_object_lists_the_tools(lab):
    cell = lab.run("tools")
    assert "what it does" in cell.text


def test_a_call_at_the_end_of_a_cell_shows_only_its_card(lab):
    cell = lab.run("tools.ls()")
    assert cell.count("execute_result") == 0
    assert cell.count("display_data") == 1
