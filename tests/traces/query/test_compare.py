"""Two sessions on one task beside each other."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session, traces
from nbtools.core.errors import TraceError
from nbtools.testing import temporary_workspace
from nbtools.traces.model import Call, Op
from nbtools.traces.query.alignment import ComparableCall, align, normalized_command, relative_path
from nbtools.traces.query.compare import Comparison, compare
from nbtools.traces.recording.recorder import Recorder
from tests.traces.recorded import SAMPLES

FILES = {"a.py": "one = 1\n", "b.py": "two = 2\n"}


async def session(log: Path, *calls: tuple[str, dict[str, object]]) -> traces.Trace:
    """A real one in a checkout of its own."""
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=Policy(mode="yolo"), observers=[Recorder(log, workspace=root)]) as session:
            for name, arguments in calls:
                await session.call(name, arguments)
    return traces.load(log)


def kinds(comparison: Comparison) -> list[str]:
    return [step.kind for step in comparison.steps]


READ = ("read", {"path": "a.py"})
EDIT = ("edit", {"path": "a.py", "old": "1", "new": "11"})
TEST = ("shell", {"command": "grep 11 a.py"})


async def test_sessions_that_do_the_same_never_part(tmp_path: Path) -> None:
    one = await session(tmp_path / "1.jsonl", READ, EDIT, TEST)
    other = await session(tmp_path / "2.jsonl", READ, EDIT, TEST)
    comparison = compare(one, other)
    assert kinds(comparison) == ["same"] * 3
    assert comparison.parted is None
    assert "No difference" in comparison._repr_html_()
    assert (comparison.a.read, comparison.a.ran) == (("a.py",), ("grep 11 a.py",))
    assert [(file.path, file.added, file.removed) for file in comparison.b.changed] == [("a.py", 1, 1)]


async def test_where_they_part_and_what_each_did(tmp_path: Path) -> None:
    one = await session(tmp_path / "1.jsonl", READ, EDIT, TEST)
    other = await session(
        tmp_path / "2.jsonl",
        READ,
        ("read", {"path": "b.py"}),
        ("edit", {"path": "a.py", "old": "1", "new": "12"}),
        ("shell", {"command": "grep -n 11 a.py"}),
        ("delete", {"path": "b.py"}),
    )
    comparison = compare(one, other)
    assert kinds(comparison) == ["same", "only_b", "alike", "alike", "only_b"]
    assert comparison.parted == 1
    assert comparison.steps[2].note == "same file, different change"
    assert [file.path for file in comparison.b.changed] == ["a.py", "b.py"]
    assert comparison.numbers_of(*comparison.parting) == ("", "2")
    assert "first difference: step 2 of the second" in repr(comparison)


async def test_the_same_step_with_another_end_is_where_they_part(tmp_path: Path) -> None:
    one = await session(tmp_path / "1.jsonl", EDIT, TEST)
    other = await session(tmp_path / "2.jsonl", READ, TEST)
    comparison = compare(one, other)
    last = comparison.steps[-1]
    assert (last.kind, last.note, last.differs) == ("same", "exit code 0 vs. exit code 1", True)


async def test_agents_with_other_names_for_the_same_are_compared(tmp_path: Path) -> None:
    from nbtools.traces.export import write_claude_code

    one = await session(tmp_path / "1.jsonl", READ, EDIT, TEST)
    other = traces.load(write_claude_code(one, tmp_path / "2.jsonl"))
    comparison = compare(one, other)
    assert [step.a.name for step in comparison.steps if step.a] == ["read", "edit", "shell"]
    assert [step.b.name for step in comparison.steps if step.b] == ["Read", "Edit", "Bash"]
    assert [step.kind for step in comparison.steps] == ["same"] * 3
    assert comparison.b.read == ("a.py",)


async def test_what_is_shown_runs_nothing(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    one = await session(tmp_path / "1.jsonl", ("shell", {"command": f"echo '{evil}'"}))
    other = await session(tmp_path / "2.jsonl", ("read", {"path": evil}), ("shell", {"command": "echo \u202edrawkcab"}))
    tags: list[tuple[str, dict[str, str | None]]] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attrs)))

    Parser().feed(compare(one, other)._repr_html_())
    inline = {"b", "bdi", "span", "code", "svg", "path"}
    assert {tag for tag, _ in tags} <= {"div", "table", "colgroup", "col", "tbody", "tr", "th", "td", "details", "summary", *inline}
    assert {name for _, attrs in tags for name in attrs} <= {"class", "style", "dir", "title", "colspan", "aria-hidden", *SVG}


SVG = ("d", "fill", "height", "stroke", "stroke-width", "viewbox", "width")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "claude-code/external-agents--012dbfb0-86fd-41e2-baf6-29dd614f08e4.jsonl",
            "codex/skills--019dd4b9-496d-7581-a780-16f20aecff69.jsonl",
        ),
        ("mini-swe-agent/github_issue.traj.json", "swe-agent/pydicom__pydicom-1458.traj"),
        ("gemini-cli/session-2025-12-24T21-37-2ccb51c5.json", "gemini-cli/session-2025-12-30T06-53-7bc58f7d.json"),
    ],
)
def test_real_sessions_are_compared(a: str, b: str) -> None:
    one, other = traces.load(SAMPLES / a), traces.load(SAMPLES / b)
    comparison = compare(one, other)
    ours = [step.a for step in comparison.steps if step.a]
    assert ours
    assert len({id(call) for call in ours}) == len(ours) <= len(one.calls)
    itself = compare(one, one)
    assert set(kinds(itself)) == {"same"}
    assert itself.parted is None
    assert len(comparison._repr_html_()) < 200_000


def test_a_log_without_a_session_is_no_side() -> None:
    with pytest.raises(TraceError):
        compare(traces.Trace([]), traces.Trace([]))


def call(number: int, op: Op, what: str) -> ComparableCall:
    made = Call(session="s", id=str(number), seq=number, name=op, op=op, origin=None, subject=what, status="ok")  # type: ignore[arg-type]
    return ComparableCall(made, op, what, (what,))


DEEDS = st.lists(
    st.tuples(st.sampled_from(["read", "shell", "search"]), st.sampled_from(["a", "b", "src/long.py", "src/longer.py"])), max_size=12
)


@given(DEEDS, DEEDS)
@settings(max_examples=200, deadline=None)
def test_every_call_is_in_one_step_and_in_its_order(a: list[tuple[Op, str]], b: list[tuple[Op, str]]) -> None:
    ours, theirs = ([call(number, *one) for number, one in enumerate(side)] for side in (a, b))
    steps = align(ours, theirs)
    assert [step.a for step in steps if step.a] == [one.call for one in ours]
    assert [step.b for step in steps if step.b] == [one.call for one in theirs]
    for step in steps:
        assert (step.kind == "only_a", step.kind == "only_b") == (step.b is None, step.a is None)
        if step.a and step.b:
            assert step.a.op == step.b.op
    assert all(step.kind == "same" for step in align(ours, ours))


def test_long_sessions_are_compared_quickly() -> None:
    ours = [call(number, "shell", f"make target-{number}") for number in range(20_000)]
    theirs = [call(number, "shell", f"make target-{number + (number > 7_000)}") for number in range(20_000)]
    began = time.monotonic()
    steps = align(ours, theirs)
    assert time.monotonic() - began < 60
    assert sum(step.kind == "same" for step in steps) == 19_999
    apart = align(ours[:3_000], [call(number, "shell", f"other {number}") for number in range(3_000)])
    assert len(apart) == 6_000


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("cd /w/x && make  test", "make test"),
        ("cat /w/x/a.py /w/xy/b", "cat a.py /w/xy/b"),
        ("ls\n", "ls"),
    ],
)
def test_a_command_is_the_same_wherever_the_checkout_is(line: str, plain: str) -> None:
    assert normalized_command(line, "/w/x") == plain
    assert (relative_path("/w/x/a", "/w/x"), relative_path("/w/x", "/w/x"), relative_path("/w/xy", "/w/x"), relative_path("/a", "")) == (
        "a",
        ".",
        "/w/xy",
        "/a",
    )
