"""Editing files through the tool."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import DiffStat, FileDiff
from nbtools.core.tool import ModifiableTool, PathTarget
from nbtools.diff.line_diff import PatchHunk
from nbtools.tools.edit import EditTool
from nbtools.workspace.read_tracking import ReadExtent
from nbtools.workspace.text.match import LooseMatch
from nbtools.workspace.workspace import Workspace
from tests.examples import examples


@pytest.fixture
def tool(tmp_path):
    return EditTool(Workspace(tmp_path))


async def edit(tool, old, new, path="f", **more):
    return await tool.validate_build_and_execute({"path": path, "old": old, "new": new, **more})


async def test_an_edit(tool, tmp_path):
    (tmp_path / "f").write_text("a\nb\nc\n")
    result = await edit(tool, "b", "x\ny")
    assert (tmp_path / "f").read_text() == "a\nx\ny\nc\n"
    assert result.llm_content == "Edited f.\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n"
    assert result.summary == "+2 −1"
    assert isinstance(result.return_display, FileDiff)
    assert result.data.stat == DiffStat(2, 1, 2, 1)
    assert result.data.hunks == (PatchHunk(1, 3, 1, 4, (" a", "-b", "+x", "+y", " c")),)


@settings(max_examples=examples(150), deadline=None)
@given(
    before=st.text(alphabet="ab\u00e4\n\r ", max_size=20),
    after=st.text(alphabet="ab\u00e4\n\r ", max_size=20),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_every_other_byte_stays(before, after, codec, end, tmp_path_factory):
    folder = tmp_path_factory.mktemp("edit")
    (folder / "f").write_bytes(f"{before}Q{end}Q{after}".encode(codec))
    change = EditTool(Workspace(folder)).build({"path": "f", "old": "Q\nQ", "new": "P\nR\nS"}).plan()
    assert change.after == f"{before}P{end}R{end}S{after}".encode(codec)


async def test_all_occurrences(tool, tmp_path):
    (tmp_path / "f").write_text("x x\nx")
    result = await edit(tool, "x", "y", count="all")
    assert (tmp_path / "f").read_text() == "y y\ny"
    assert result.llm_content.startswith("Edited f in 3 places.")
    assert result.data.places == 3
    await edit(tool, "y", "z", count="3")
    assert (tmp_path / "f").read_text() == "z z\nz"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"old": "c"}, ErrorCode.EDIT_NO_OCCURRENCE_FOUND, "Nothing was changed."),
        (
            {"old": "    a = 1", "match": "exact"},
            ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
            'indentation: line 1 is "\\ta = 1"',
        ),
        ({"old": "1"}, ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH, "lines 1, 2"),
        ({"old": "1", "count": 3}, ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH, "not 3"),
        ({"old": "a", "new": "a"}, ErrorCode.EDIT_NO_CHANGE, "Nothing was changed."),
        ({"old": ""}, ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE, "use write"),
        ({"old": "a", "count": 0}, ErrorCode.INVALID_TOOL_PARAMS, "count"),
        ({"old": "a", "count": "some"}, ErrorCode.INVALID_TOOL_PARAMS, "count"),
        ({"old": "a", "path": "g"}, ErrorCode.FILE_NOT_FOUND, "There is no file g."),
        ({"old": "a", "path": "sub"}, ErrorCode.TARGET_IS_DIRECTORY, "folder"),
        ({"old": "a", "path": "binary"}, ErrorCode.READ_CONTENT_FAILURE, "binary data"),
        ({"old": "a", "path": "../f"}, ErrorCode.PATH_NOT_IN_WORKSPACE, "outside"),
    ],
)
async def test_an_impossible_edit_is_one_clear_line(tool, tmp_path, arguments, code, words):
    (tmp_path / "f").write_text("\ta = 1\n\tb = 1\n")
    (tmp_path / "binary").write_bytes(b"a\0")
    (tmp_path / "sub").mkdir()
    result = await tool.validate_build_and_execute({"path": "f", "new": "new", **arguments})
    assert result.error.code is code
    assert words in result.error.message
    assert "\n" not in result.error.message
    assert (tmp_path / "f").read_text() == "\ta = 1\n\tb = 1\n"


async def test_an_edit_that_cannot_work_asks_nobody(tool, tmp_path):
    (tmp_path / "f").write_text("a\n")
    with pytest.raises(ToolFailure) as caught:
        await tool.build({"path": "f", "old": "x", "new": "y"}).should_confirm_execute()
    assert caught.value.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND


async def test_the_question_and_the_place(tool, tmp_path):
    (tmp_path / "f").write_text("a\nb\n")
    invocation = tool.build({"path": "f", "old": "b", "new": "c"})
    assert invocation.tool_locations()[0].line is None
    details = await invocation.should_confirm_execute()
    assert (details.title, details.new_content, details.is_modifying) == ("Edit f?", "a\nc\n", False)
    assert invocation.tool_locations()[0].line == 2
    assert invocation.target() == PathTarget(("f",))
    assert invocation.get_description() == "f"


async def test_changes_elsewhere_since_the_question_do_no_harm(tool, tmp_path):
    (tmp_path / "f").write_text("a\nb\n")
    invocation = tool.build({"path": "f", "old": "b", "new": "c"})
    await invocation.should_confirm_execute()
    (tmp_path / "f").write_text("new\na\nb\n")
    result = await invocation.execute()
    assert (tmp_path / "f").read_text() == "new\na\nc\n"
    assert "changed after the diff was displayed" in result.llm_content


@pytest.mark.parametrize("content", ["a\n", "b\nb\n", None])
async def test_changes_there_since_the_question_are_a_conflict(tool, tmp_path, content):
    (tmp_path / "f").write_text("a\nb\n")
    invocation = tool.build({"path": "f", "old": "b", "new": "c"})
    await invocation.should_confirm_execute()
    if content is None:
        (tmp_path / "f").unlink()
    else:
        (tmp_path / "f").write_text(content)
    with pytest.raises(ToolFailure) as caught:
        await invocation.execute()
    assert caught.value.code is ErrorCode.CONFLICT
    assert (content is None) or (tmp_path / "f").read_text() == content


async def test_the_persons_version_survives_other_changes(tool, tmp_path):
    (tmp_path / "f").write_bytes(b"one\r\nb\r\ncaf\xe9\r\n")
    assert isinstance(tool, ModifiableTool)
    first = tool.build({"path": "f", "old": "b", "new": "c"})
    details = await first.should_confirm_execute()
    context = tool.get_modify_context()
    edited = details.new_content.replace("\r\n", "\n").replace("c\n", "mine\nc\n", 1)
    params = context.create_updated_params(details.original_content, edited, first.params)
    assert params == {"path": "f", "old": "b\n", "new": "mine\nc\n", "count": 1}
    second = context.remember_proposal(tool.build(params), details.new_content)
    assert (await second.should_confirm_execute()).diff_stat == DiffStat(1, 1, 1, 1, 1, 0, 4, 0)
    (tmp_path / "f").write_bytes(b"two\r\nb\r\ncaf\xe9\r\n")
    result = await second.execute()
    assert (tmp_path / "f").read_bytes() == b"two\r\nmine\r\nc\r\ncaf\xe9\r\n"
    assert "The person changed the proposed text" in result.llm_content


async def test_the_answer_for_a_model_is_bounded(tool, tmp_path):
    (tmp_path / "f").write_text("".join(f"line {n} x\n" for n in range(3000)))
    result = await edit(tool, " x", " y", count="all")
    assert len(result.llm_content) < 9_000
    assert "more characters of the diff are omitted" in result.llm_content


async def test_several_edits_at_once_or_in_turn(tool, tmp_path):
    (tmp_path / "f").write_bytes(b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le"))
    steps = [{"old": "b", "new": "a"}, {"old": "a", "new": "b"}]
    result = await tool.validate_build_and_execute({"path": "f", "edits": steps})
    assert (tmp_path / "f").read_bytes() == b"\xff\xfe" + "b\r\na\r\n".encode("utf-16-le")
    assert (result.data.places, result.data.loose) == (2, ())
    turns = [{"old": "b", "new": "c"}, {"old": "c\na", "new": "d"}]
    await tool.validate_build_and_execute({"path": "f", "edits": turns, "in_turn": True})
    assert (tmp_path / "f").read_bytes() == b"\xff\xfe" + "d\r\n".encode("utf-16-le")
    failed = await tool.validate_build_and_execute({"path": "f", "edits": [{"old": "d", "new": "e"}, *turns]})
    assert "edit 2 of 3" in failed.error.message
    assert (tmp_path / "f").read_bytes() == b"\xff\xfe" + "d\r\n".encode("utf-16-le")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"edits": [{"old": "a", "new": "b"}], "old": "a"}, "not both"),
        ({"edits": [{"old": "", "new": "b"}]}, "old of edit 1 is empty"),
        ({"old": "a"}, "new is required"),
        (
            {"old": "a", "new": "def f():\n    # ... existing code ...\n"},
            'the line "# ... existing code ..." is a placeholder for',
        ),
        ({"edits": [{"old": "a", "new": "(rest of methods ...)"}]}, "is a placeholder for"),
    ],
)
async def test_parameters_that_do_not_go_together(tool, tmp_path, arguments, words):
    (tmp_path / "f").write_text("a\n")
    result = await tool.validate_build_and_execute({"path": "f", **arguments})
    assert result.error.code is ErrorCode.INVALID_TOOL_PARAMS
    assert words in result.error.message
    assert (tmp_path / "f").read_text() == "a\n"


async def test_a_placeholder_that_is_there_may_stay(tool, tmp_path):
    (tmp_path / "f").write_text("# ... existing code ...\na\n")
    assert (await edit(tool, "# ... existing code ...\na", "# ... existing code ...\nb")).ok


async def test_an_empty_old_text_makes_or_fills_a_file(tool, tmp_path):
    made = await edit(tool, "", "x\n", path="sub/f")
    assert (made.data.created, made.data.folders) == (True, ("sub",))
    assert made.llm_content.startswith("Created sub/f.")
    (tmp_path / "g").write_bytes(b"\xef\xbb\xbf")
    assert (await edit(tool, "", "y\n", path="g")).llm_content.startswith("Edited g.")
    assert (tmp_path / "g").read_bytes() == b"\xef\xbb\xbfy\n"
    assert (await edit(tool, "", "z", path="g")).error.code is ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE
    invocation = tool.build({"path": "h", "old": "", "new": "mine"})
    assert (await invocation.should_confirm_execute()).title == "Create h?"
    (tmp_path / "h").write_text("theirs")
    with pytest.raises(ToolFailure) as caught:
        await invocation.execute()
    assert caught.value.code is ErrorCode.CONFLICT


async def test_a_loose_edit_says_so(tool, tmp_path):
    (tmp_path / "f").write_text("\tif a:\n\t\tb()\n")
    result = await edit(tool, "if a:\n    b()", "if a:\n    c()")
    assert (tmp_path / "f").read_text() == "\tif a:\n\t\tc()\n"
    assert (
        "not in the file exactly as given: at line 1, text that differs in indentation was replaced"
        in result.llm_content
    )
    assert result.summary == "+1 −1 · indentation differed"
    assert result.data.loose == (LooseMatch(1, "indentation", 1.0),)
    (tmp_path / "f").write_text("result = self.offset + value\n")
    result = await edit(tool, "result = self.ofset + value", "x = 1")
    assert "the most similar text was replaced (96% similar)" in result.llm_content
    assert result.summary.endswith("close match")


async def test_a_file_must_have_been_read_before_an_edit(tool, tmp_path):
    (tmp_path / "f").write_text("a\nb\n")
    path, seen = tmp_path.resolve() / "f", tool.workspace.read_tracker
    assert (await edit(tool, "a", "c")).ok
    seen.forget(path)
    seen.required = True
    assert (await edit(tool, "c", "a")).error.code is ErrorCode.EDIT_PREPARATION_FAILURE
    seen.record(path, b"c\nb\n", ReadExtent.PARTIAL)
    assert (await edit(tool, "c", "a")).error.code is ErrorCode.EDIT_PREPARATION_FAILURE
    seen.record(path, b"c\nb\n", ReadExtent.RANGE)
    assert "had been changed" not in (await edit(tool, "c", "a")).llm_content
    (tmp_path / "f").write_text("a\nother\n")
    result = await edit(tool, "a", "c")
    assert "changed after it was read; those changes are kept" in result.llm_content
    assert result.data.others_changed
    assert not (await edit(tool, "c", "a")).data.others_changed
    assert (await edit(tool, "", "new", path="new")).ok
    assert (await edit(tool, "new", "old", path="new")).ok


async def test_a_large_file_changes_in_a_few_places(tmp_path):
    line = "line {0} of many, which are all as long as this one, more or less\n"
    (tmp_path / "f").write_text("".join(map(line.format, range(100_000))))
    tool = EditTool(Workspace(tmp_path))
    first = tool.build(
        {"path": "f", "edits": [{"old": line.format(n), "new": f"changed {n}\n"} for n in (10, 90_000)]}
    )
    details = await first.should_confirm_execute()
    assert len(details.new_content) < 2_000
    assert first.tool_locations()[0].line == 11
    context = tool.get_modify_context()
    edited = details.new_content.replace("changed 90000", "mine")
    params = context.create_updated_params(details.original_content, edited, first.params)
    second = context.remember_proposal(tool.build(params), details.new_content)
    result = await second.execute()
    text = (tmp_path / "f").read_text()
    assert text == "".join(
        {10: "changed 10\n", 90_000: "mine\n"}.get(n, line.format(n)) for n in range(100_000)
    )
    assert "The person changed the proposed text" in result.llm_content
    with pytest.raises(ToolFailure):
        context.create_updated_params(details.original_content, "all of it is gone", first.params)


async def test_a_large_edit_that_is_cancelled_changes_nothing(tmp_path):
    (tmp_path / "f").write_bytes(b"some line of text\n" * 500_000 + b"here\n")
    before = (tmp_path / "f").read_bytes()
    call = asyncio.create_task(
        EditTool(Workspace(tmp_path)).build({"path": "f", "old": "here", "new": "there"}).execute()
    )
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (tmp_path / "f").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("old", ["}\n}\n", "}  \n}\n"])
async def test_places_that_overlap_are_several(tool, tmp_path, old):
    (tmp_path / "f").write_text("    }\n    }\n    }\nx\n")
    result = await edit(tool, old.replace("}", "    }"), "X\n")
    assert result.error.code == "edit_expected_occurrence_mismatch"
    assert "2 times (lines 1, 2)" in result.error.message
    assert result.data.lines == (1, 2)
    result = await edit(tool, "    }\n    }\n", "X\n", count="all")
    assert (tmp_path / "f").read_text() == "X\n    }\nx\n"


async def test_blanks_before_a_text_make_no_second_place(tool, tmp_path):
    (tmp_path / "f").write_text("a   \nb\n")
    result = await edit(tool, "\t\nb\n", "\t\nc\n")
    assert result.ok, result.error
    assert (tmp_path / "f").read_text() == "a   \nc\n"


@pytest.mark.parametrize("old", ["  \nfoo bar bax\n", " \n \nfoo bar bax", "foo  \n\n \nbar"])
async def test_long_runs_of_blanks_cost_no_time(tool, tmp_path, old):
    (tmp_path / "f").write_text("a" + " " * 200_000 + "x\n" + "\n" * 100_000 + "foo bar baz\n")
    result = await edit(tool, old, "x", match="blanks")
    assert result.error.code == "edit_no_occurrence_found"


OPPOSITES = {
    "a negation": ("    if not user.is_admin and user.active:\n        raise Denied\n", "not ", ""),
    "a negation in a name": ("    return account.was_not_closed(by=user)\n", "_not", ""),
    "an operator": ("        if len(self.items) <= self.limit:\n", "<=", ">="),
    "a comparison": ("        if status_code == OK_STATUS:\n", "==", "!="),
    "a sign": ("row = matrix[i + n][j] * weights[k]\n", "+", "-"),
    "or": ("if is_valid(user) or is_valid(account):\n", "or", "and"),
    "a truth": ("connect(host, port, timeout=timeout, verify_certificates=True)\n", "True", "true_"),
    "max": ("return max(values, key=lambda value: value.score)\n", "max", "min"),
    "get": ("def get_user_name(self, user_id, session):\n", "get", "set"),
    "a number in words": ("    timeout_in_seconds = 31  # as the server has it\n", "31", "30"),
}


@pytest.mark.parametrize("what", OPPOSITES)
async def test_the_opposite_is_no_close_match(tool, tmp_path, what):
    there, sign, other = OPPOSITES[what]
    (tmp_path / "f").write_text(f"# one\n{there}# two\n")
    result = await edit(tool, there.replace(sign, other), "x = 1\n")
    assert result.error.code == "edit_no_occurrence_found"
    assert (tmp_path / "f").read_text() == f"# one\n{there}# two\n"


async def test_a_nul_is_no_text(tool, tmp_path):
    (tmp_path / "f").write_text("a\n")
    for path, old in (("f", "a"), ("new", "")):
        result = await edit(tool, old, "x\0", path=path)
        assert result.error.code == "invalid_tool_params"
        assert "NUL character at character 2" in result.error.message
    assert [file.name for file in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_text() == "a\n"
