"""Searches find what is there: in files with CRLF, in files with strange names, in binary files;
and a page always comes.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.tools.grep import GrepTool
from nbtools.tools.replace_in_files import ReplaceInFilesTool
from nbtools.workspace.search.text_search import Query, with_any_ending
from nbtools.workspace.workspace import Workspace

PATTERNS = [
    ("two$", {}),
    ("^two$", {}),
    ("^one$|^nothing$", {}),
    ("t[wx]o$", {"word": True}),
    (r"one\ntwo", {"multiline": True}),
    ("one\ntwo", {"multiline": True}),
    ("one\ntwo", {"multiline": True, "fixed": True}),
    (r"one$\n^two$", {"multiline": True}),
    (r"two\n+three", {"multiline": True}),
    (r"one\r?\ntwo", {"multiline": True}),
]


@pytest.mark.parametrize(("pattern", "more"), PATTERNS)
async def test_a_file_with_crlf_matches_as_one_with_lf(tmp_path, pattern, more):
    (tmp_path / "lf").write_bytes(b"one\ntwo\nthree\n")
    (tmp_path / "crlf").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    result = await GrepTool(Workspace(tmp_path)).validate_build_and_execute({"pattern": pattern, **more})
    assert result.data.counts.keys() == {"lf", "crlf"}
    lines = [(match.line, match.text) for match in result.data.matches]
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    assert lines


@pytest.mark.parametrize("pattern", [r"two\r$", r"two\r", "two\r"])
async def test_a_pattern_that_names_the_carriage_return_finds_it(tmp_path, pattern):
    (tmp_path / "crlf").write_bytes(b"one\r\ntwo\r\n")
    result = await GrepTool(Workspace(tmp_path)).validate_build_and_execute({"pattern": pattern})
    assert result.data.counts == {"crlf": 1}


@pytest.mark.parametrize(
    ("dialect", "tool", "arguments"),
    [
        ("claude", "Grep", {"pattern": "^two$", "output_mode": "content"}),
        ("gemini", "grep_search", {"pattern": "^two$"}),
        ("void", "search_for_files", {"query": "^two$", "is_regex": True}),
    ],
)
async def test_anchors_hold_in_every_dialect(tmp_path, dialect, tool, arguments):
    (tmp_path / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    async with Session(tmp_path, policy=Policy(mode="yolo"), dialect=dialect) as session:
        assert "crlf.txt" in str((await session.call(tool, arguments)).llm_content)


@pytest.mark.parametrize("fixed", [False, True])
async def test_lines_are_replaced_across_crlf(tmp_path, fixed):
    (tmp_path / "f").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    arguments = {
        "pattern": "one\ntwo",
        "replacement": "1\n2",
        "multiline": True,
        "fixed": fixed,
        "apply": True,
    }
    assert (await ReplaceInFilesTool(Workspace(tmp_path)).validate_build_and_execute(arguments)).error is None
    assert (tmp_path / "f").read_bytes() == b"1\r\n2\r\nthree\r\n"


@given(
    st.lists(
        st.sampled_from([r"\n", r"\\n", "\n", r"[\n]", r"[^\n]", "[]\n]", "a", r"\d", r"\[", "(?:", ")"]),
        max_size=8,
    )
)
def test_only_line_breaks_outside_classes_and_escapes_are_widened(pieces):
    pattern = with_any_ending(Query("".join(pieces), multiline=True)).pattern
    assert pattern == "".join(r"(?:\r?\n)" if piece in {r"\n", "\n"} else piece for piece in pieces)


@pytest.mark.parametrize("name", ["new\nline.txt", "tab\there.txt", "\x1b[31mred.txt", "a\u202eb.txt"])
@pytest.mark.parametrize("mode", ["lines", "files", "count"])
async def test_a_name_with_control_characters_is_one_line_and_its_matches_come(tmp_path, name, mode):
    (tmp_path / name).write_text("x\nTODO one\n")
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        result = await session.call("grep", {"pattern": "TODO", "mode": mode})
        assert result.data.counts == {name: 1}
        text = str(result.llm_content)
        assert "offset" not in text
        assert ("TODO one" in text) == (mode == "lines")
        listed = str((await session.call("glob", {"pattern": "**/*"})).llm_content)
    for shown in (text, listed):
        assert all(c.isprintable() or c == "\n" for c in shown)
        assert name.encode("unicode_escape").decode() in shown


async def test_the_lines_of_a_file_that_turns_out_binary_come(tmp_path):
    (tmp_path / "f").write_bytes(b"TODO one\n" + b"x\n" * 60_000 + b"\0\0\nTODO two\n")
    tool = GrepTool(Workspace(tmp_path))
    for path in (".", "f"):
        result = await tool.validate_build_and_execute({"pattern": "TODO", "path": path})
        assert len(result.data.matches) == result.data.total
        assert "offset" not in str(result.llm_content)


async def test_the_pages_of_a_search_end_when_a_match_cannot_be_shown(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).write_text("TODO\n")
    tool = GrepTool(Workspace(tmp_path))
    invocation = tool.build({"pattern": "TODO", "limit": 1})
    counted = await invocation._count(None)
    (tmp_path / "a").write_text("done\n")
    result = invocation._lines(counted, await invocation._page(counted.counts))
    assert "offset=1" in str(result.llm_content)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        (r"app/\[slug\]/**", "app/[slug]/page.tsx"),
        (r"**/\[slug\]/*.tsx", "app/[slug]/page.tsx"),
        (r"app/\*star/*", "app/*star/x.py"),
        (r"app/q\?/x.py", "app/q?/x.py"),
    ],
)
async def test_an_escaped_glob_means_the_same_in_glob_grep_and_rules(tmp_path, glob, path):
    for name in (path, "app/s/page.tsx", "app/1star/x.py", "app/qq/x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("TODO\n")
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        assert (await session.call("glob", {"pattern": glob})).data.paths == (path,)
        assert list((await session.call("grep", {"pattern": "TODO", "glob": glob})).data.counts) == [path]
    async with Session(tmp_path, policy=Policy(mode="yolo", deny=[f"read({glob})"])) as session:
        counts = (await session.call("grep", {"pattern": "TODO"})).data.counts
        assert sorted(counts) == sorted({"app/s/page.tsx", "app/1star/x.py", "app/qq/x.py"})
