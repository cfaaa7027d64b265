"""The tools that a person makes, in the session of their notebook."""

from __future__ import annotations

TOOL = '''
from nbtools import tool

@tool(kind="read")
def shout(text: str, times: int = 1) -> str:
    """Says it loudly."""
    print("called from", text)
    return text.upper() * times
'''


def test_a_tool_of_ones_own_is_there_at_once(lab):
    cell = lab.run(TOOL + "r = %tool shout hello --times 2\nprint(r.llm_content)")
    assert "HELLOHELLO" in cell.text
    assert "called from hello" in cell.text
    assert lab.value("tools.shout('a').data") == "A"
    assert "Says it loudly" in lab.run("%tool shout?").text


def test_it_stays_in_another_workspace(lab):
    lab.run(TOOL + "%tools workspace src")
    assert lab.value("tools.quiet.shout('a').ok")


def test_a_tool_made_before_loading_is_there_too(bare):
    bare.run(TOOL)
    assert bare.run("%load_ext nbtools\n%tool shout hi").text.count("HI") >= 1


def test_a_tool_that_breaks_is_reported_calmly(lab):
    cell = lab.run(
        "from nbtools import tool\n@tool(kind='read')\ndef broken() -> str:\n    'Breaks.'\n    return 1 / 0\n\n%tool broken"
    )
    assert cell.error == ""
    assert "ZeroDivisionError" in cell.text
