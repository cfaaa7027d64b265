"""Messages that name tools and parameters: canonical as a string, in a dialect's words when worded."""

import copy
import pickle
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.message import (
    Advice,
    CalledTool,
    Message,
    Parameter,
    Rule,
    SameCall,
    ToolName,
    did_you_mean,
    joined,
    next_page,
)
from nbtools.core.redaction import Redactor
from nbtools.core.result import Listing, Several, ToolResult, failed, with_words

pytestmark = pytest.mark.timeout(60)


class Words:
    """The words of an agent that has ``View``, whose parameter ``from`` is the canonical ``start``,
    and no other tool.
    """

    def tool(self, name: str) -> str | None:
        return "View" if name == "read" else None

    def called(self) -> str:
        return "View"

    def parameter(self, steps: tuple[str | int, ...]) -> str | None:
        return "from" if steps == ("start",) else None

    def change(self, arguments: Mapping[str, Any]) -> str | None:
        return f"with from={arguments['start']}" if list(arguments) == ["start"] else None


PIECES = st.lists(
    st.one_of(
        st.text(max_size=5),
        st.sampled_from(
            [
                ToolName("read"),
                ToolName("ls", "read"),
                CalledTool("read"),
                Parameter("start"),
                SameCall({"start": 3}),
            ]
        ),
        st.sampled_from(
            [Advice(" Use ", ToolName("ls"), "."), Advice(" Use ", ToolName("read"), "."), Rule("ls(*)")]
        ),
    ),
    max_size=6,
)


def test_a_message_is_its_text_with_canonical_names() -> None:
    message = Message.of(CalledTool("read"), ": ", Parameter("start"), " is 0", *next_page(5, 9))
    assert message == "read: start is 0; the call with offset=5 returns the next page"
    assert message.worded(Words()) == "View: from is 0"


def test_advice_without_counterpart_is_left_out() -> None:
    message = Message.of(
        "It is a file.", Advice(" Use ", ToolName("ls"), "."), Advice(" Use ", ToolName("ls", "read"), ".")
    )
    assert message == "It is a file. Use ls. Use ls."
    assert message.worded(Words()) == "It is a file. Use View."


def test_arguments_are_written_as_json() -> None:
    assert (
        str(SameCall({"start": 3, "deep": True, "end": None})) == "with start=3 and deep=true and without end"
    )


@given(PIECES, PIECES)
def test_joining_and_nesting_keep_the_words(first: list[Any], second: list[Any]) -> None:
    one, other = Message.of(*first), Message.of(*second)
    whole = joined("\n", (one, "between", other))
    nested = Message.of(one, "\nbetween\n", other)
    assert whole == nested == f"{one}\nbetween\n{other}"
    assert isinstance(whole, Message)
    assert (
        whole.worded(Words())
        == nested.worded(Words())
        == "\n".join((one.worded(Words()), "between", other.worded(Words())))
    )


@given(PIECES)
def test_copies_keep_the_references(pieces: list[Any]) -> None:
    message = Message.of(*pieces)
    for same in (pickle.loads(pickle.dumps(message)), copy.deepcopy(message), message.mapped(str)):
        assert same == message
        assert same.worded(Words()) == message.worded(Words())


def test_redaction_keeps_the_references() -> None:
    message = Message.of("the token hunter2hunter2 is wrong.", Advice(" Use ", ToolName("read"), "."))
    redacted = Redactor.of({"TOKEN": "hunter2hunter2"}).text(message)
    assert "hunter2" not in redacted
    assert isinstance(redacted, Message)
    assert redacted.worded(Words()).endswith(" Use View.")


def test_every_text_of_a_result_is_worded() -> None:
    message = Message.of(Parameter("start"), " is missing")
    shown = Several((Listing((), 0, message), "text"))
    result = ToolResult(
        message, shown, ToolError(ErrorCode.UNKNOWN, message), message, notes=(message, "note")
    )
    worded = with_words(result, lambda one: one.worded(Words()))
    assert worded.llm_content == worded.summary == worded.notes[0] == "from is missing"
    assert worded.error is not None
    assert worded.error.message == "from is missing"
    assert worded.return_display == Several((Listing((), 0, "from is missing"), "text"))
    assert with_words(worded, str) is worded
    parts = with_words(
        ToolResult(({"text": message}, {"inline_data": {}}), ""), lambda one: one.worded(Words())
    )
    assert parts.llm_content == ({"text": "from is missing"}, {"inline_data": {}})


def test_the_result_of_a_failure_keeps_the_references() -> None:
    result = with_words(
        failed(ToolError(ErrorCode.UNKNOWN, Message.of(Parameter("start"), " is 0"))),
        lambda one: one.worded(Words()),
    )
    assert (result.llm_content, result.summary) == ("Error: from is 0", "from is 0")


def test_up_to_five_names_are_listed_where_none_is_similar() -> None:
    names = ["read", "grep", "glob", "edit", "shell"]
    assert did_you_mean("xyz", names) == " Use read or grep or glob or edit or shell."
    assert did_you_mean("xyz", [*names, "write"]) == ""
    assert did_you_mean("xyz", []) == ""
    assert did_you_mean("gerp", [*names, "write"]) == " Did you mean grep?"
