"""The magics as a person meets them."""

from __future__ import annotations

import pytest


def test_alone_it_lists_the_tools(lab):
    cell = lab.run("%tool")
    for name in ("read", "ls", "glob", "grep", "edit", "write", "shell"):
        assert name in cell.text
    assert "<table" in cell.outputs[0]["data"]["text/html"]


@pytest.mark.parametrize("code", ["%tool grep?", "%tool grep ?", "%tool grep??"])
def test_a_question_mark_explains_a_tool(lab, code):
    text = lab.run(code).text
    assert "pattern" in text
    assert "kind: search" in text
    assert "policy: searching changes nothing" in text


@pytest.mark.parametrize(
    "line", ["grep --help", "grep -h", "grep TODO src --help", "grep? # how", "help grep"]
)
def test_a_flag_explains_a_tool(lab, line):
    assert "policy: searching changes nothing" in lab.run(f"%tool {line}").text


def test_a_command_keeps_its_own_help(lab):
    lab.run("%tools allow shell")
    assert "coreutils" in lab.run("%tool shell ls --help").text
    assert "kind: execute" in lab.run("%tool shell --help").text


def test_a_comment_is_no_argument(lab, project):
    lab.run("%tools allow write shell")
    assert lab.run("%tool  # which tools are there?").text == lab.run("%tool").text
    lab.run("%%tool write notes.md # isn't it?\n# A title\n")
    assert (project / "notes.md").read_text() == "# A title\n"
    assert "one" in lab.run("r = %tool shell echo one # what for?\nr.llm_content").text


def test_the_result_can_be_assigned_and_is_not_printed_twice(lab):
    cell = lab.run("r = %tool ls\nr.ok")
    assert [output.get("data", {}).get("text/plain", "")[:4] for output in cell.outputs] == ["▌ ls", "True"]
    bare = lab.run("%tool ls")
    assert bare.count("execute_result") == 0
    assert lab.value("_.ok")


def test_a_kept_result_shows_its_card_again(lab):
    lab.run("r = %tool ls")
    cell = lab.run("r")
    assert "application/vnd.nbtools.call.v1+json" in cell.outputs[0]["data"]
    assert cell.outputs[0]["data"]["text/plain"].startswith("<ToolResult")


def test_a_cell_is_the_body(lab, project):
    lab.run("%tools allow write shell edit")
    lab.run("%%tool write new/notes.txt\nfirst\n  second {x} $y\n")
    assert (project / "new" / "notes.txt").read_text() == "first\n  second {x} $y\n"
    lab.run("%%tool edit notes.txt --old 'TODO: round'\nDONE: round")
    assert (project / "notes.txt").read_text() == "DONE: round\n"
    assert "one\n  two" in lab.run("%%tool shell\necho one\necho two").text


def test_a_cell_that_looks_like_a_prompt_is_the_body_all_the_same(lab, project):
    text = ">>> f(1)\n2\nIn [1]: x\n>>>>>>> REPLACE\n"
    lab.run("%tools allow write")
    lab.run(f"%%tool write doctest.txt\n{text}")
    assert (project / "doctest.txt").read_text() == text
    lab.run("%unload_ext nbtools")
    assert lab.run(">>> print(1 + 1)").text.strip() == "2"


def test_the_line_is_literal(lab):
    lab.run("%tools allow shell\nx = 5")
    assert "{x} 5 $x" not in lab.run("%tool shell echo '{x}' '$x'").text
    assert "{x} $x" in lab.run("%tool shell echo '{x}' '$x'").text


def test_a_question_mark_at_the_end_of_a_line_is_text(lab):
    lab.run("%tools allow shell")
    assert "why?" in lab.run("%tool shell echo why?").text
    assert lab.run("r = %tool shell echo why?\nprint(r.llm_content)").text.count("why?") >= 2


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("%tool gerp x", "There is no tool 'gerp'. Did you mean grep"),
        ("%tool read notes.txt --strat 5", "no flag --strat. Did you mean --start"),
        ("%tool read notes.txt --start many", "start must be a whole number"),
        ("%tool read missing.txt", "missing.txt"),
        ("%tool read ../../etc/passwd", "outside"),
        ("%tool write", "path and content are required"),
        ("%tool read 'a", "is not closed"),
        ("%tool nothing?", "There is no tool 'nothing'"),
    ],
)
def test_an_error_is_a_card_without_a_traceback(lab, code, says):
    cell = lab.run(code)
    assert cell.error == ""
    assert says in cell.text
    assert "Traceback" not in cell.text
    assert len(cell.outputs) == 1


def test_a_failed_call_is_a_result(lab):
    assert lab.run("r = %tool gerp x\nprint(r.ok, r.error.code)").text.endswith("False tool_not_registered\n")


def test_a_missing_argument_shows_the_usage(lab):
    assert (
        "pattern is required. Usage: %tool grep PATTERN [PATH]. %tool grep? has examples."
        in lab.run("%tool grep").text
    )
    assert "path and content are required" in lab.run("%tool write").text


def test_help_has_two_examples_as_magics_and_as_functions(lab):
    page = lab.run("%tool grep?").text
    assert page.count("\n%tool grep ") == 2
    for phrase in ("null", '"auto"', "boolean"):
        assert phrase not in page
    assert lab.value("tools.grep.__doc__.count('\\ntools.grep(')") == 2
