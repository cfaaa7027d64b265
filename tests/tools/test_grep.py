"""The real ripgrep over real files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import Listing, Match, Matches, ToolResult, ToolResultDisplay
from nbtools.core.tool import PathTarget
from nbtools.tools.grep import GrepData, GrepTool
from nbtools.workspace.search.ripgrep import find_rg
from nbtools.workspace.workspace import Workspace
from tests.waiting import until

FILES = {
    "src/a.py": "import os\n# TODO one\nprint('x')\n# todo two\nTODO()\n",
    "src/sub/b.py": "nothing\nTODO TODOS three\n",
    "src/b.js": "// TODO four\r\n",
    "README.md": "TODO: ä TODO\n",
    ".hidden/c.py": "TODO five\n",
    "ignored/d.py": "TODO six\n",
    ".gitignore": "ignored/\n*.log\n",
    "e.log": "TODO seven\n",
    "data.bin": "TODO\0binary\n",
    "name with space:1.txt": "TODO eight\n",
}


@pytest.fixture
def tool(tmp_path: Path) -> GrepTool:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return GrepTool(Workspace(tmp_path))


async def grep(tool: GrepTool, pattern: str, **params: object) -> ToolResult:
    return await tool.build({"pattern": pattern, **params}).execute()


def matches(result: ToolResult) -> tuple[Match, ...]:
    assert isinstance(result.return_display, Matches)
    return result.return_display.matches


def places(result: ToolResult) -> list[tuple[str, int]]:
    return [(match.path, match.line) for match in matches(result)]


async def test_lines_are_grouped_by_file_in_order(tool: GrepTool) -> None:
    result = await grep(tool, "TODO")
    assert result.ok
    assert result.llm_content == (
        "README.md\n1: TODO: ä TODO\n\nname with space:1.txt\n1: TODO eight\n\nsrc/a.py\n2: # TODO one\n5: TODO()\n\n"
        "src/b.js\n1: // TODO four\n\nsrc/sub/b.py\n2: TODO TODOS three"
    )
    assert result.summary == "6 matches in 5 files"
    assert isinstance(result.return_display, Matches)
    assert (result.return_display.total, result.return_display.files, result.return_display.more) == (
        6,
        5,
        "",
    )
    assert isinstance(result.data, GrepData)
    assert result.data.counts == {
        "README.md": 1,
        "name with space:1.txt": 1,
        "src/a.py": 2,
        "src/b.js": 1,
        "src/sub/b.py": 1,
    }


async def test_hits_are_marked_by_characters(tool: GrepTool) -> None:
    (match,) = matches(await grep(tool, "TODO", path="README.md"))
    assert match == Match("README.md", 1, "TODO: ä TODO", ((0, 4), (8, 12)))


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"path": "src"}, ["src/a.py", "src/b.js", "src/sub/b.py"]),
        ({"path": "src/a.py"}, ["src/a.py"]),
        ({"glob": "*.py"}, ["src/a.py", "src/sub/b.py"]),
        ({"glob": "src/*.py"}, ["src/a.py"]),
        ({"glob": "src/*.{py,js}"}, ["src/a.py", "src/b.js"]),
        ({"glob": "*.log"}, []),
        ({"glob": "*.py", "path": "src"}, ["src/a.py", "src/sub/b.py"]),
        ({"glob": "sub/*", "path": "src"}, ["src/sub/b.py"]),
        ({"type": "py"}, ["src/a.py", "src/sub/b.py"]),
        ({"type": "py", "glob": "b.*"}, ["src/sub/b.py"]),
        ({"type": "py", "hidden": True}, [".hidden/c.py", "src/a.py", "src/sub/b.py"]),
        ({"path": ".hidden"}, [".hidden/c.py"]),
        ({"exclude": "*.py"}, ["README.md", "name with space:1.txt", "src/b.js"]),
        ({"exclude": "src"}, ["README.md", "name with space:1.txt"]),
        ({"exclude": "src/"}, ["README.md", "name with space:1.txt"]),
        ({"exclude": "src/sub"}, ["README.md", "name with space:1.txt", "src/a.py", "src/b.js"]),
        ({"exclude": "sub/**", "path": "src"}, ["src/a.py", "src/b.js"]),
        ({"exclude": "a.*", "glob": "*.py"}, ["src/sub/b.py"]),
        ({"exclude": "*.{js,md}", "type": "py"}, ["src/a.py", "src/sub/b.py"]),
        ({"exclude": "a.py", "path": "src/a.py"}, []),
        ({"ignored": True, "glob": "*.{py,log}"}, ["e.log", "ignored/d.py", "src/a.py", "src/sub/b.py"]),
        (
            {"ignored": True, "hidden": True, "type": "py"},
            [".hidden/c.py", "ignored/d.py", "src/a.py", "src/sub/b.py"],
        ),
    ],
)
async def test_the_filters_select_the_searched_files(
    tool: GrepTool, params: dict[str, object], found: list[str]
) -> None:
    result = await grep(tool, "TODO", mode="files", **params)
    assert isinstance(result.return_display, Listing)
    assert [entry.path for entry in result.return_display.entries] == found
    assert (result.llm_content == "No matches") == (not found)


async def test_options_decide_the_meaning_of_the_pattern(tool: GrepTool) -> None:
    assert places(await grep(tool, "todo", path="src/a.py", ignore_case=True)) == [
        ("src/a.py", 2),
        ("src/a.py", 4),
        ("src/a.py", 5),
    ]
    assert places(await grep(tool, "TODO()", fixed=True)) == [("src/a.py", 5)]
    assert places(await grep(tool, r"^TODO\(\)$")) == [("src/a.py", 5)]
    (match,) = matches(await grep(tool, "TODO", word=True, path="src/sub"))
    assert match.ranges == ((0, 4),)
    assert places(await grep(tool, "-TODO")) == []


async def test_context_shows_neighbours(tool: GrepTool) -> None:
    result = await grep(tool, "print", path="src", context=1)
    assert [(match.line, match.context) for match in matches(result)] == [(2, True), (3, False), (4, True)]
    assert result.llm_content == "src/a.py\n2- # TODO one\n3: print('x')\n4- # todo two"
    assert result.summary == "1 match in 1 file"


async def test_neighbours_of_one_side(tool: GrepTool) -> None:
    before = await grep(tool, "print", path="src", before=1)
    assert [(match.line, match.context) for match in matches(before)] == [(2, True), (3, False)]
    after = await grep(tool, "print", path="src", after=2, context=1)
    assert [match.line for match in matches(after)] == [2, 3, 4, 5]


async def test_matches_over_several_lines(tool: GrepTool) -> None:
    (tool.workspace.root / "bin").write_bytes(b"print\0\ntodo")
    result = await grep(tool, "print.*?todo", multiline=True, after=1)
    assert [(match.path, match.line, match.context) for match in matches(result)] == [
        ("src/a.py", 3, False),
        ("src/a.py", 4, False),
        ("src/a.py", 5, True),
    ]
    assert result.summary == "2 matches in 1 file"
    assert (await grep(tool, "print.*?todo", multiline=True, mode="count")).llm_content == "src/a.py: 2"
    assert (await grep(tool, "print.*?todo", multiline=True, mode="files")).llm_content == "src/a.py"
    assert (await grep(tool, "print.*?todo")).llm_content == "No matches"


async def test_pages_of_matches_over_several_lines(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("x\nstart\n\nend\n" * 40)
    tool = GrepTool(Workspace(tmp_path))
    everything = places(await grep(tool, "start.*?end", multiline=True, limit=1_000))
    assert len(everything) == 360
    paged: list[tuple[str, int]] = []
    while page := places(await grep(tool, "start.*?end", multiline=True, limit=50, offset=len(paged))):
        paged += page
    assert paged == everything


async def test_the_file_changed_last_comes_first(tool: GrepTool) -> None:
    for age, name in enumerate(["src/b.js", "README.md", "src/a.py"]):
        os.utime(tool.workspace.root / name, (2_000_000_000 - age, 2_000_000_000 - age))
    result = await grep(tool, "TODO", mode="files", order="changed", limit=3)
    assert str(result.llm_content).splitlines()[:3] == ["src/b.js", "README.md", "src/a.py"]
    assert places(await grep(tool, "TODO", order="changed", limit=2, offset=2)) == [
        ("src/a.py", 2),
        ("src/a.py", 5),
    ]


async def test_some_lines_of_each_file(tmp_path: Path) -> None:
    for name, lines in (("a", 5), ("b", 1), ("c", 9)):
        (tmp_path / name).write_text("hit\n" * lines)
    tool = GrepTool(Workspace(tmp_path))
    result = await grep(tool, "hit", per_file=2)
    assert places(result) == [("a", 1), ("a", 2), ("b", 1), ("c", 1), ("c", 2)]
    assert result.summary == "15 matches in 3 files"
    assert str(result.llm_content).endswith(
        "[1–5 of 5 lines (at most 2 per file; 15 matching lines in 3 files)]"
    )
    second = await grep(tool, "hit", per_file=2, limit=3, offset=3)
    assert places(second) == [("c", 1), ("c", 2)]
    assert isinstance(second.data, GrepData)
    assert second.data.total == 15


@pytest.mark.parametrize("mode", ["lines", "files", "count"])
async def test_a_page_past_the_end_is_reported_in_every_mode(tool: GrepTool, mode: str) -> None:
    result = await grep(tool, "TODO", mode=mode, offset=50)
    assert "no results at offset 50" in str(result.llm_content)
    assert isinstance(result.data, GrepData)
    assert result.data.total == (5 if mode == "files" else 6)


async def test_counts(tool: GrepTool) -> None:
    result = await grep(tool, "TODO", mode="count", path="src")
    assert result.llm_content == "src/a.py: 2\nsrc/b.js: 1\nsrc/sub/b.py: 1"
    assert result.summary == "4 in 3 files"


async def test_no_match_is_a_success(tool: GrepTool) -> None:
    result = await grep(tool, "nowhere at all")
    assert result.ok
    assert (result.llm_content, result.summary) == ("No matches", "No matches")


async def test_pages_follow_each_other_and_totals_are_true(tmp_path: Path) -> None:
    for name in range(30):
        (tmp_path / f"{name:02}.txt").write_text("hit\nmiss\n" * (name + 1))
    tool = GrepTool(Workspace(tmp_path))
    everything = places(await grep(tool, "hit", limit=10_000))
    assert len(everything) == sum(range(1, 31))
    paged: list[tuple[str, int]] = []
    while page := places(await grep(tool, "hit", limit=70, offset=len(paged))):
        paged += page
    assert paged == everything == sorted(everything)
    first = await grep(tool, "hit", limit=70, context=1)
    assert "[1–70 of 465 matching lines in 30 files; the call with offset=70 returns the next page" in str(
        first.llm_content
    )
    assert isinstance(first.return_display, Matches)
    assert (first.return_display.total, first.return_display.files) == (465, 30)
    assert sum(not match.context for match in matches(first)) == 70
    beyond = await grep(tool, "hit", offset=1000)
    assert "no results at offset 1,000" in str(beyond.llm_content)
    second = await grep(tool, "hit", mode="files", limit=20, offset=20)
    assert str(second.llm_content).splitlines()[0] == "20.txt"
    assert "[21–30 of 30 files]" in str(second.llm_content)


async def test_long_lines_are_cut(tmp_path: Path) -> None:
    (tmp_path / "min.js").write_text("x" * 100_000 + "hit" + "y" * 100_000 + "\n")
    (match,) = matches(await grep(GrepTool(Workspace(tmp_path)), "hit"))
    assert match.text == f"…{'x' * 100}hit{'y' * 397}… [200,003 characters in all]"
    assert match.ranges == ((101, 104),)
    (tmp_path / "min.js").write_bytes(
        "ä".encode() * 300 + b"hit" + b"\xff" * 700 + b"hit\n" + b"hit" + b"z" * 600 + b"\nw" + b"v" * 600
    )
    first, second, third = matches(await grep(GrepTool(Workspace(tmp_path)), "hit", after=1))
    assert first.text == f"…{'ä' * 100}hit{'�' * 397}… [1,006 characters in all]"
    assert (second.text, second.ranges) == (f"hit{'z' * 497}… [603 characters in all]", ((0, 3),))
    assert (third.text, third.context) == (f"w{'v' * 499}… [601 characters in all]", True)


async def test_a_line_that_only_looks_cut_is_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("[" + "ä" * 300 + "hit]\n")
    (match,) = matches(await grep(GrepTool(Workspace(tmp_path)), "hit"))
    assert match == Match("a", 1, "[" + "ä" * 300 + "hit]", ((301, 304),))


async def test_foreign_bytes_and_names(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("hit \xe4\n".encode("latin-1"))
    (tmp_path / "wide.txt").write_bytes("hit wide\n".encode("utf-16"))
    (tmp_path / "esc.txt").write_bytes(b"a \x1b[0mhit\x1b[31m\n")
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff\n.txt", os.O_CREAT | os.O_WRONLY))
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.txt")).write_text("hit\n")
    result = await grep(GrepTool(Workspace(tmp_path)), "hit")
    assert isinstance(result.data, GrepData)
    assert result.data.total == 4
    texts = {match.path: match for match in matches(result)}
    assert texts["latin.txt"].text == "hit �"
    assert texts["wide.txt"].text == "hit wide"
    assert texts["esc.txt"].ranges[0][0] == texts["esc.txt"].text.index("hit")


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"pattern": ""}, ErrorCode.INVALID_TOOL_PARAMS, "pattern is empty"),
        ({"pattern": "a\0"}, ErrorCode.INVALID_TOOL_PARAMS, "NUL"),
        ({"pattern": "foo("}, ErrorCode.INVALID_TOOL_PARAMS, "unclosed group"),
        ({"pattern": "a\\nb"}, ErrorCode.INVALID_TOOL_PARAMS, "with multiline=true"),
        ({"pattern": "a", "exclude": "{a"}, ErrorCode.INVALID_TOOL_PARAMS, "exclude: .*not closed"),
        ({"pattern": "a", "per_file": 0}, ErrorCode.INVALID_TOOL_PARAMS, "per_file"),
        ({"pattern": "a", "type": "pyt"}, ErrorCode.INVALID_TOOL_PARAMS, "Did you mean .*py"),
        ({"pattern": "a", "glob": "{a"}, ErrorCode.INVALID_TOOL_PARAMS, "not closed"),
        ({"pattern": "a", "path": "srk"}, ErrorCode.SEARCH_PATH_NOT_FOUND, "Did you mean src"),
        ({"pattern": "a", "path": "../x"}, ErrorCode.PATH_NOT_IN_WORKSPACE, "outside"),
        ({"pattern": "a", "mode": "all"}, ErrorCode.INVALID_TOOL_PARAMS, "mode"),
        ({"pattern": "a", "limit": 0}, ErrorCode.INVALID_TOOL_PARAMS, "limit"),
    ],
)
async def test_mistakes_are_one_clear_line(
    tool: GrepTool, params: dict[str, object], code: ErrorCode, words: str
) -> None:
    with pytest.raises(ToolFailure, match=words) as caught:
        await tool.build(params).execute()
    assert caught.value.code == code
    assert "\n" not in caught.value.message


async def test_a_link_out_of_the_workspace_is_not_followed(
    tool: GrepTool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("TODO secret\n")
    (tool.workspace.root / "link").symlink_to(outside)
    assert "secret" not in str((await grep(tool, "TODO")).llm_content)
    with pytest.raises(ToolFailure, match="outside"):
        tool.build({"pattern": "TODO", "path": "link"})


def test_rules_and_people_see_the_path(tool: GrepTool) -> None:
    invocation = tool.build({"pattern": "a.*b", "path": "src"})
    assert invocation.target() == PathTarget(("src",))
    assert invocation.get_description() == "a.*b in src"


def test_short_flags_are_in_the_schema(tool: GrepTool) -> None:
    properties = tool.schema["parameters"]["properties"]
    flags = {name: spec["flag"] for name, spec in properties.items() if "flag" in spec}
    short = {"glob": "g", "type": "t", "ignore_case": "i", "fixed": "F", "word": "w", "context": "C"}
    assert flags == short | {"before": "B", "after": "A", "multiline": "U"}
    assert all(spec["description"] for spec in properties.values())


SLOW_TO_END = """#!/bin/sh
case "$*" in
  *--count*) "{rg}" "$@"; touch counted; while [ ! -e go_on ]; do sleep 0.02; done ;;
  *) exec "{rg}" "$@" ;;
esac
"""


@pytest.fixture
def slow(
    tool: GrepTool, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> GrepTool:
    """A search that has found everything and does not end before there is a file ``go_on``."""
    script = tmp_path_factory.mktemp("bin") / "rg"
    script.write_text(SLOW_TO_END.format(rg=find_rg()))
    script.chmod(0o755)
    monkeypatch.setenv("NBTOOLS_RG", str(script))
    return tool


async def test_a_long_search_shows_what_it_has(slow: GrepTool) -> None:
    shown: list[ToolResultDisplay] = []
    seen = asyncio.Event()

    def update(display: ToolResultDisplay) -> None:
        shown.append(display)
        seen.set()

    task = asyncio.create_task(slow.build({"pattern": "TODO", "path": "src"}).execute(update))
    await asyncio.wait_for(seen.wait(), 60)
    (slow.workspace.root / "go_on").touch()
    result = await task
    assert isinstance(shown[0], Matches)
    assert (shown[0].total, shown[0].files, shown[0].more) == (4, 3, "still searching")
    assert shown[0].matches == matches(result)


async def test_a_cancelled_search_ends_at_once(slow: GrepTool) -> None:
    task = asyncio.create_task(slow.build({"pattern": "TODO"}).execute())
    await until((slow.workspace.root / "counted").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    here = str(slow.workspace.root)
    left = [process for process in psutil.process_iter(["cwd", "status"]) if process.info["cwd"] == here]
    assert [process for process in left if process.info["status"] != psutil.STATUS_ZOMBIE] == []


async def test_an_engine_that_dies_is_an_error(
    tool: GrepTool, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path_factory.mktemp("bin") / "rg"
    script.write_text(f'#!/bin/sh\n"{find_rg()}" "$@"\nkill -9 $$\n')
    script.chmod(0o755)
    monkeypatch.setenv("NBTOOLS_RG", str(script))
    with pytest.raises(ToolFailure, match="SIGKILL") as caught:
        await grep(tool, "TODO")
    assert caught.value.code == ErrorCode.GREP_EXECUTION_ERROR


@pytest.mark.parametrize(("hits", "context"), [(1, 50), (2, 15), (3, 15), (4, 0)])
async def test_few_matches_come_with_their_surroundings(tmp_path: Path, hits: int, context: int) -> None:
    lines = [f"line {number}" for number in range(1, 1_001)]
    for hit in range(hits):
        lines[200 * hit + 99] = "here"
    (tmp_path / "a").write_text("\n".join(lines))
    result = await GrepTool(Workspace(tmp_path)).build_and_execute({"pattern": "^here$", "context": "auto"})
    assert [match.line for match in result.data.matches if match.line <= 180] == list(
        range(100 - context, 100 + context + 1)
    )
    assert result.data.total == hits
