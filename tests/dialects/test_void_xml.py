"""Void's calls in XML: what is read, what is refused, and that a value comes back as it was or is not written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.core.result import ToolResult
from nbtools.dialects import dialect
from nbtools.dialects.void.wire import read_call, read_result, write_call, write_result
from nbtools.dialects.wire import WireCall

VOID = dialect("void")
TEXTS = st.one_of(
    st.text(max_size=30),
    st.lists(
        st.sampled_from(
            (
                *("\n", " ", "x", "<uri>", "</uri>", "<new_content>", "</new_content>", "</rewrite_file>", "<rewrite_file>", "<read_file>"),
                *("</", "<", ">", "\r\n", "<uri>a</uri>", "</new_content>\n</rewrite_file>"),
            )
        ),
        max_size=8,
    ).map("".join),
)


def call(name: str, **arguments: str) -> WireCall:
    return WireCall("", name, arguments)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<read_file><uri>a</uri></read_file>", call("read_file", uri="a")),
        ("<read_file>\n<uri>\na\n</uri>\n<start_line>2</start_line>\n</read_file>", call("read_file", uri="a", start_line="2")),
        ("Let me look.\n<ls_dir>\n</ls_dir>\n", call("ls_dir")),
        ("<ls_dir></ls_dir>  \n\n", call("ls_dir")),
        (
            "<edit_file><search_replace_blocks>x</search_replace_blocks><uri>a</uri></edit_file>",
            call("edit_file", search_replace_blocks="x", uri="a"),
        ),
        ("<run_command><command>  a\n  b\n   </command></run_command>", call("run_command", command="  a\n  b")),
        ("<run_command><command>   \n\na\n\n</command></run_command>", call("run_command", command="\na\n")),
        (
            "<rewrite_file><uri>a</uri><new_content><uri>b</uri><p>x</p></new_content></rewrite_file>",
            call("rewrite_file", uri="a", new_content="<uri>b</uri><p>x</p>"),
        ),
        (
            "<rewrite_file><uri>a</uri><new_content>one</new_content> is its tag</new_content></rewrite_file>",
            call("rewrite_file", uri="a", new_content="one</new_content> is its tag"),
        ),
        (
            "<rewrite_file><uri>a</uri><new_content>ends with </rewrite_file>, here</new_content></rewrite_file>",
            call("rewrite_file", uri="a", new_content="ends with </rewrite_file>, here"),
        ),
        (
            "<rewrite_file><uri>a</uri><new_content><read_file><uri>b</uri></read_file></new_content></rewrite_file>",
            call("rewrite_file", uri="a", new_content="<read_file><uri>b</uri></read_file>"),
        ),
        ("<write_file><uri>a</uri><content>x</content></write_file>", call("write_file", uri="a", content="x")),
    ],
)
def test_a_call_is_read(text: str, meant: WireCall) -> None:
    assert read_call(text, VOID) == meant


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("There is nothing to do.", "contains no call"),
        ("<read><path>a</path></read>", "contains no call"),
        ("<read_file><uri>a</uri>", "is not closed with </read_file>"),
        ("<read_file><uri>a</read_file>", "uri is not closed"),
        ("<read_file><uri>a</uri></read_file> and then", "there is text after the call"),
        ("<read_file><uri>a</uri></read_file><read_file><uri>b</uri></read_file>", "a message has one call"),
        ("<read_file><uri>a</uri></read_file><ls_dir></ls_dir>", "there is text after the call"),
        ("<read_file>a</read_file>", "found 'a'"),
        ("<read_file><path>a</path></read_file>", "read_file takes uri, start_line"),
        ("<read_file><uri>a</uri><uri>b</uri></read_file>", "each parameter once"),
        ("<read_file><uri>a</uri><start_line>1</start_line><uri>b</uri></read_file>", "each parameter once"),
        ("<rewrite_file><uri>a</uri><new_content>x <run_command><command>rm</command></run_command>", "is not closed with </rewrite_file>"),
    ],
)
def test_what_is_no_whole_call_is_not_guessed_at(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_call(text, VOID)


@settings(deadline=None, database=None, max_examples=300)
@given(uri=TEXTS, content=TEXTS)
def test_what_is_written_is_read_or_is_not_written(uri: str, content: str) -> None:
    one = call("rewrite_file", uri=uri, new_content=content)
    try:
        text = write_call(one, VOID)
    except ValueError:
        assert "<" in uri + content, "only tags can be mistaken"
        return
    assert read_call(f"Some words first.\n{text}\n", VOID) == one


def test_flags_and_numbers_are_written_as_the_model_would() -> None:
    text = write_call(WireCall("", "delete_file_or_folder", {"uri": "a", "is_recursive": True}), VOID)
    assert "<is_recursive>\ntrue\n</is_recursive>" in text
    text = write_call(WireCall("", "read_file", {"uri": "a", "start_line": 3, "end_line": None}), VOID)
    assert read_call(text, VOID) == call("read_file", uri="a", start_line="3")


@pytest.mark.parametrize(
    "one", [call("fly"), call("read_file", wings="2"), call("rewrite_file", uri="a</uri>\n<new_content>", new_content="")]
)
def test_what_cannot_be_read_again_is_not_written(one: WireCall) -> None:
    with pytest.raises(ValueError, match=one.name):
        write_call(one, VOID)


async def test_from_a_message_to_an_answer(tmp_path: Path) -> None:
    message = "I write it.\n<rewrite_file>\n<uri>\na.html\n</uri>\n<new_content>\n<p>\n  text\n</p>\n</new_content>\n</rewrite_file>"
    one = read_call(message, VOID)
    async with Session(tmp_path, dialect="void", policy=Policy(mode="yolo")) as session:
        answer = write_result(one, await session.call(one.name, one.arguments))
    assert (tmp_path / "a.html").read_text() == "<p>\n  text\n</p>"
    assert answer == f"<rewrite_file_result>\nChange successfully made to {tmp_path}/a.html.\n</rewrite_file_result>"
    assert read_result(answer).content == f"Change successfully made to {tmp_path}/a.html."


def test_a_result_that_is_no_text_is_named() -> None:
    parts = ({"text": "a.png"}, {"inline_data": {"mime_type": "image/png", "data": "AA=="}})
    assert write_result(call("read_file"), ToolResult(parts, "a.png")) == (
        "<read_file_result>\na.png\n(image/png, not shown in this form)\n</read_file_result>"
    )


@given(text=st.text(max_size=40))
@settings(deadline=None, database=None)
def test_a_result_comes_back(text: str) -> None:
    assert read_result(write_result(call("ls_dir"), ToolResult(text, text))).content == text


@pytest.mark.parametrize("text", ["", "x", "<ls_dir_result>\nx", "<ls_dir_result>x</read_file_result>"])
def test_what_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="_result"):
        read_result(text)
