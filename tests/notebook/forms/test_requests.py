"""A page asks a real kernel for its tools, a form and what a call would be."""

from __future__ import annotations

import json

import pytest


def ask(lab, method, **params):
    """Calls a method and returns its result, or the answer if there is none."""
    return lab.result(f"forms.{method}", **params)


def check(lab, tool, **values):
    return ask(lab, "check", tool=tool, values=json.dumps(values))


def test_the_list_of_tools(lab):
    tools = {tool["name"]: tool for tool in ask(lab, "tools")["tools"]}
    assert tools["grep"] == {**tools["grep"], "kind": "search", "icon": "regex", "policy": "runs"}
    assert tools["edit"]["policy"].startswith("asks")


def test_a_tool_of_the_notebook_has_a_form(lab):
    lab.run(
        'from nbtools import tool\n@tool\ndef greet(name: str, times: int = 2) -> str:\n    """Greets."""\n    return name * times'
    )
    form = json.loads(ask(lab, "form", tool="greet")["form"])
    assert form["properties"]["times"] == {"title": "times", "type": "integer", "default": 2}
    assert form["required"] == ["name"]


def test_the_decision_on_a_call_is_described_and_nothing_runs(lab, project):
    answer = check(lab, "write", path="new.txt", content="x")
    assert answer["action"] == "ask"
    assert answer["source"].startswith("%tool write") or answer["source"].startswith("%%tool write")
    assert not (project / "new.txt").exists()
    assert check(lab, "grep", pattern="x", limit=None)["action"] == "allow"
    assert check(lab, "grep", pattern="x")["source"] == "%tool grep --pattern=x"


def test_the_policy_is_the_one_in_force(lab):
    lab.run("%tools deny grep")
    assert check(lab, "grep", pattern="x")["action"] == "deny"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("check", {"tool": "grep", "values": "{}"}),
        ("check", {"tool": "grep", "values": "[" * 100_000}),
        ("check", {"tool": "grep", "values": '{"pattern": 1'}),
        ("form", {"tool": "no_such_tool"}),
    ],
)
def test_missing_and_invalid_parameters_are_named(lab, method, params):
    answer = ask(lab, method, **params)
    assert answer["problem"]
    assert "result" not in answer


def test_a_malformed_request_gets_no_result_and_harms_nothing(lab):
    for request in (
        {"method": 3, "params": {}},
        {"id": "x", "method": "forms.tools", "params": {}},
        {"id": 1, "method": "forms.run", "params": {"tool": "shell"}},
        {"id": 1, "method": "forms.tools", "params": {"more": 1}},
        {"id": 1, "method": "forms.tools", "params": [1]},
    ):
        comm_id = lab.open_comm("nbtools", request)
        assert ask(lab, "tools")["tools"]
        assert not any("result" in data for data in lab.comm_messages(comm_id))


def test_forms_are_answered_while_a_cell_runs(lab, project):
    lab.use_subshell()
    cell = lab.start("import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.02)")
    assert check(lab, "grep", pattern="x")["action"] == "allow"
    assert not cell.done
    (project / "go").touch()
    lab.until(lambda: cell.done)


def test_a_kernel_without_the_extension_has_no_forms(lab):
    lab.run("%unload_ext nbtools")
    lab.run("from nbtools.notebook.traces.comm import register_in_kernel; register_in_kernel()")
    assert ask(lab, "tools") == {"id": 1, "gone": True}


CALL = "get_ipython().magics_manager.registry['ToolMagics']._runtime.session.history[-1].request.id"


def test_the_rule_that_would_allow_a_call_is_offered_as_a_cell(lab):
    lab.run("%tool ls")
    assert ask(lab, "rules", call=lab.value(CALL))["source"] == "%tools allow ls"
    assert ask(lab, "rules", call="no such call")["problem"]


def test_no_rule_is_offered_for_what_a_rule_denies(lab):
    lab.run("%tools deny ls")
    lab.run("%tool ls")
    answer = ask(lab, "rules", call=lab.value(CALL))
    assert answer["problem"]
    assert "result" not in answer
