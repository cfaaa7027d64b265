"""A page asks a real kernel for its tools, a form and what a call would be."""

from __future__ import annotations

import json

import pytest


def ask(lab, **request):
    """Sends one request and returns the answer."""
    comm_id = lab.open_comm("nbtools.forms", {"request": {"id": 7, **request}})
    return lab.until(
        lambda: next((data["answer"] for data in lab.comm_messages(comm_id) if "answer" in data), None)
    )


def check(lab, tool, **values):
    return ask(lab, verb="check", tool=tool, values=json.dumps(values))


def test_the_list_of_tools(lab):
    tools = {tool["name"]: tool for tool in ask(lab, verb="tools")["tools"]}
    assert tools["grep"] == {**tools["grep"], "kind": "search", "icon": "regex", "policy": "runs"}
    assert tools["edit"]["policy"].startswith("asks")


def test_a_tool_of_the_notebook_has_a_form(lab):
    lab.run(
        'from nbtools import tool\n@tool\ndef greet(name: str, times: int = 2) -> str:\n    """Greets."""\n    return name * times'
    )
    form = json.loads(ask(lab, verb="form", tool="greet")["form"])
    assert form["properties"]["times"] == {"title": "times", "type": "integer", "default": 2}
    assert form["required"] == ["name"]


def test_the_decision_on_a_call_is_described_and_nothing_runs(lab, project):
    answer = check(lab, "write", path="new.txt", content="x")
    assert (answer["action"], answer["problem"]) == ("ask", "")
    assert answer["source"].startswith("%tool write") or answer["source"].startswith("%%tool write")
    assert not (project / "new.txt").exists()
    assert check(lab, "grep", pattern="x", limit=None)["action"] == "allow"
    assert check(lab, "grep", pattern="x")["source"] == "%tool grep --pattern=x"


def test_the_policy_is_the_one_in_force(lab):
    lab.run("%tools deny grep")
    assert check(lab, "grep", pattern="x")["action"] == "deny"


@pytest.mark.parametrize(
    "request_",
    [
        {"verb": "check", "tool": "grep", "values": "{}"},
        {"verb": "check", "tool": "grep", "values": "[" * 100_000},
        {"verb": "check", "tool": "grep", "values": '{"pattern": 1'},
        {"verb": "form", "tool": "no_such_tool"},
    ],
)
def test_missing_and_invalid_parameters_are_named(lab, request_):
    answer = ask(lab, **request_)
    assert answer["problem"]
    assert answer["source"] == answer["action"] == ""


def test_a_malformed_request_gets_no_answer_and_harms_nothing(lab):
    for request in (
        None,
        3,
        {"id": "x"},
        {"id": 1, "verb": "run", "tool": "shell"},
        {"id": 1, "verb": "tools", "more": 1},
    ):
        lab.open_comm("nbtools.forms", {"request": request})
    assert ask(lab, verb="tools")["tools"]


CALL = "get_ipython().magics_manager.registry['ToolMagics']._runtime.session.history[-1].request.id"


def test_the_rule_that_would_allow_a_call_is_offered_as_a_cell(lab):
    lab.run("%tool ls")
    assert ask(lab, verb="rules", tool=lab.value(CALL))["source"] == "%tools allow ls"
    assert ask(lab, verb="rules", tool="no such call")["problem"]


def test_no_rule_is_offered_for_what_a_rule_denies(lab):
    lab.run("%tools deny ls")
    lab.run("%tool ls")
    answer = ask(lab, verb="rules", tool=lab.value(CALL))
    assert answer["problem"]
    assert answer["source"] == ""
