"""The agent of a notebook before it runs: set, shown, refused, completed, gone again."""

from __future__ import annotations

import pytest

from nbtools.agents.usage import Limits, Usage
from nbtools.core.errors import ToolFailure
from nbtools.notebook.agent.magic import AGENT, parse_line
from nbtools.notebook.agent.overview import price, running_figures
from nbtools.notebook.magics.command_line import complete_declared
from tests.notebook.agent.scripts import PLAYING


@pytest.mark.parametrize("line", ["help", "--help", "help  # how?"])
def test_it_explains_itself(lab, line):
    text = lab.run(f"%agent {line}").text
    for part in ("--model MODEL", "--steps STEPS", "%agent continue", "%agent new"):
        assert part in text


def test_without_a_model_one_line_says_how_to_set_one(lab):
    cell = lab.run("%%agent\nhello")
    assert cell.error == ""
    assert cell.text.startswith("✕ No model is set")
    assert all(word in cell.text for word in ('agent.model = "openai:gpt-5"', "OPENAI_BASE_URL", '"test"'))
    assert lab.run("agent.run('hello')").error == "AgentError"


def test_without_pydantic_ai_one_line_says_what_to_install(cold):
    cold.run("import sys\nsys.modules['pydantic_ai'] = None\nsys.modules.pop('pydantic_ai.models', None)")
    cold.run("%load_ext nbtools")
    cell = cold.run("%%agent --model test\nhello")
    assert cell.error == ""
    assert 'pip install "nbtools-agent[agents]"' in cell.text


def test_a_model_that_is_not_there_is_named(lab):
    cell = lab.run("%%agent --model nobody:none\nhello")
    assert cell.error == ""
    assert "nobody" in cell.text
    assert "Failed" in cell.text
    assert lab.run("agent.run('hello')").error == "RunError"


def test_settings_are_shown_and_stored(lab):
    lab.run('%agent --model test --steps 7 --instructions "Be brief."')
    shown = lab.run("%agent").text
    assert all(word in shown for word in ("test", "7 steps", "Be brief."))
    assert lab.value("agent.model, agent.limits.steps, agent.instructions, repr(agent)") == (
        "test",
        7,
        "Be brief.",
        "<agent test: 0 messages>",
    )


def test_loading_loads_no_model(cold):
    cold.run("import sys")
    cold.run("%load_ext nbtools")
    cold.run("%agent")
    assert cold.value("'pydantic_ai' in sys.modules") is False
    assert cold.value("repr(agent)") == "<agent without a model>"


def test_a_name_of_ones_own_stays(bare):
    bare.run("agent = 5")
    assert "%agent works without it" in bare.run("%load_ext nbtools").text
    assert bare.value("agent") == 5
    assert "model" in bare.run("%agent").text
    bare.run("%unload_ext nbtools")
    assert bare.value("agent") == 5


def test_unloading_takes_it_away(bare):
    bare.run("%load_ext nbtools\n%agent --model test")
    bare.run("%unload_ext nbtools")
    assert bare.run("agent").error == "NameError"
    assert bare.value("'agent' in get_ipython().magics_manager.magics['cell']") is False


def test_a_prompt_is_taken_as_it_stands(lab):
    cell = lab.run("%%agent --model nobody:none\n>>> what is {x} and $HOME?\nIs it?")
    assert "Failed" in cell.text
    assert lab.run("%%agent\n   ").text.startswith("✕ The task is empty")


@pytest.mark.parametrize(
    ("line", "in_cell", "words"),
    [
        ("do this", True, "below the %%agent line"),
        ("do this", False, "begins with %%agent"),
        ("--steps 0", True, "at least 1"),
        ("--stepz 3", True, "--steps"),
        ("--steps many", True, "whole number"),
    ],
)
def test_a_line_that_means_nothing_says_how_it_is_meant(line, in_cell, words):
    with pytest.raises(ToolFailure, match=words):
        parse_line(line, in_cell=in_cell)


def test_tab_completes_flags_models_and_words(lab):
    assert {text for text, _ in complete_declared(AGENT, [], "--")} == {
        "--model",
        "--steps",
        "--instructions",
        "--project",
        "--pace",
    }
    assert {text for text, _ in complete_declared(AGENT, ["--model"], "")} >= {"openai:", "test"}
    assert {text for text, _ in complete_declared(AGENT, [], "")} == {
        "help",
        "continue",
        "new",
        "trace",
        "stop",
    }
    assert lab.value(
        "get_ipython().Completer.complete('', '%%agent --mo', 12)[1] or [c.text for c in "
        "get_ipython().Completer.completions('%%agent --mo', 12)]"
    ) == ["--model"]


def test_figures_are_few_words():
    usage = Usage(requests=2, calls=1, input=1000, output=204, cost=0.0123)
    assert running_figures(2, Limits(), usage, 12.3) == ("step 2 of 50", "12 s", "1,204 tokens", "$0.012")
    assert [price(cost) for cost in (0, 0.00001, 0.0042, 0.314, 12.4)] == [
        "$0",
        "under $0.0001",
        "$0.0042",
        "$0.31",
        "$12.40",
    ]


def test_recording_can_be_switched_off(lab):
    lab.run(PLAYING)
    lab.run("%tools set record off")
    lab.run("agent.model = playing(['Between us.'], ['On the record.'])")
    lab.run("agent.run('one')")
    assert "Nothing is recorded yet. Recording is off: %tools set record on." in lab.run("%agent trace").text
    lab.run("%tools set record on")
    lab.run("agent.run('two')")
    shown = str(lab.run("%agent trace").outputs)
    assert "On the record" in shown
    assert "Between us" not in shown
