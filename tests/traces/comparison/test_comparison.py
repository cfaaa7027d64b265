"""Several sessions on one task side by side: totals, steps, and where each parts."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.traces.comparison.comparison import Comparison, compare
from nbtools.traces.explorer.summary import summary_of
from nbtools.traces.log_arguments import LETTERS
from tests.traces.comparison.recorded_runs import EDIT, GREP, READ, record
from tests.traces.recorded import SAMPLES

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def html(comparison: Comparison) -> str:
    bundle: dict[str, Any] = comparison._repr_mimebundle_()
    markup: str = bundle["text/html"]
    return markup


def text(comparison: Comparison) -> str:
    return str(comparison._repr_mimebundle_()["text/plain"])


def present(comparison: Comparison) -> list[str]:
    return ["".join(LETTERS[run] for run, call in enumerate(step.calls) if call) for step in comparison.steps]


async def test_sessions_that_do_the_same_never_part(tmp_path: Path) -> None:
    runs = [await record(tmp_path / f"{number}.jsonl", READ, EDIT, GREP) for number in range(3)]
    comparison = compare(*runs)
    assert present(comparison) == ["ABC"] * 3
    assert (comparison.shared, comparison.same, comparison.partings) == (3, 3, (None, None, None))
    assert "no difference" in html(comparison)
    assert "no difference" in repr(comparison)
    first, *_ = comparison.runs
    assert (first.read, first.ran) == (("a.py",), ("grep 11 a.py",))
    assert [(file.path, file.added, file.removed) for file in first.changed] == [("a.py", 1, 1)]


async def test_each_run_has_the_step_at_which_it_leaves_the_baseline(tmp_path: Path) -> None:
    usual = await record(tmp_path / "usual.jsonl", READ, EDIT, GREP)
    longer = await record(tmp_path / "longer.jsonl", READ, ("read", {"path": "b.py"}), EDIT, GREP)
    other = await record(
        tmp_path / "other.jsonl", READ, ("edit", {"path": "a.py", "old": "1", "new": "12"}), GREP
    )
    short = await record(tmp_path / "short.jsonl", READ)
    comparison = compare(usual, longer, other, short, baseline=0)
    assert present(comparison) == ["ABCD", "B", "ABC", "ABC"]
    assert comparison.shared == 1
    assert comparison.steps[2].alike == {2}
    assert comparison.steps[3].note == "A, B: succeeded · C: exit code 1"
    assert [
        parting and (parting.step, comparison.parting_text(parting)) for parting in comparison.partings
    ] == [
        None,
        (1, "at step 2 (A: 2)"),
        (2, "at step 2 (A: 2)"),
        (2, "at its end (A: 2)"),
    ]
    against = comparison.against(1)
    assert against.baseline == 1
    assert against.partings[0] is not None
    assert comparison.partings[0] is None


async def test_the_same_step_with_another_end_is_where_they_part(tmp_path: Path) -> None:
    one, other = (
        await record(tmp_path / "1.jsonl", EDIT, GREP),
        await record(tmp_path / "2.jsonl", EDIT, ("shell", {"command": "grep 12 a.py"})),
    )
    assert compare(one, other).steps[1].alike
    nothing = await record(tmp_path / "3.jsonl", ("read", {"path": "b.py"}), GREP)
    last = compare(one, nothing, baseline=0).steps[-1]
    assert (last.note, last.differs) == ("A: succeeded · B: exit code 1", True)


async def test_agents_with_other_names_for_the_same_are_compared(tmp_path: Path) -> None:
    from nbtools.traces.export import write_claude_code

    one = await record(tmp_path / "1.jsonl", READ, EDIT, GREP)
    comparison = compare(one, write_claude_code(one, tmp_path / "2.jsonl"))
    assert [[call.name for call in step.calls if call] for step in comparison.steps] == [
        ["read", "Read"],
        ["edit", "Edit"],
        ["shell", "Bash"],
    ]
    assert comparison.same == 3


async def test_displaying_a_comparison_runs_nothing(tmp_path: Path) -> None:
    one = await record(tmp_path / "1.jsonl", ("shell", {"command": f"echo '{EVIL}'"}))
    other = await record(
        tmp_path / "2.jsonl", ("read", {"path": EVIL}), ("shell", {"command": "echo \u202edrawkcab"})
    )
    tags: list[tuple[str, dict[str, str | None]]] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attrs)))

    comparison = compare(one, other, checks=[f"command {EVIL}", f'file "{EVIL}" changed', "answer"])
    Parser().feed(html(comparison))
    inline = {"b", "bdi", "br", "span", "code"}
    assert {tag for tag, _ in tags} <= {
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        *inline,
    }
    assert {name for _, attrs in tags for name in attrs} <= {
        "class",
        "style",
        "dir",
        "title",
        "colspan",
        "tabindex",
    }
    assert "\u202e" not in html(comparison) + text(comparison)
    assert "\x1b" not in text(comparison)


ALL = sorted(
    path
    for pattern in (
        "claude-code/*.jsonl",
        "codex/*.jsonl",
        "gemini-cli/session*.json",
        "*swe-agent/*.traj*",
        "opencode/*.json",
    )
    for path in SAMPLES.glob(pattern)
)


def test_real_sessions_of_several_formats_are_compared() -> None:
    comparison = compare(*ALL[:20])
    assert len({log.format.name for trace in comparison.traces for log in trace.readings}) >= 5
    for at, trace in enumerate(comparison.traces):
        ours = [step.calls[at] for step in comparison.steps if step.calls[at]]
        assert (
            len({id(call) for call in ours}) == len(ours) == comparison.runs[at].compared <= len(trace.calls)
        )
        assert all(comparison.number(at, call) for call in ours)
    assert len(html(comparison)) < 300_000


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_totals_are_those_of_the_explorer(path: Path) -> None:
    trace = traces.load(path)
    run = compare(trace, trace).runs[0]
    facts = [fact.text for fact in summary_of(trace).facts]
    assert next((fact for fact in facts if " call" in fact), "0 calls").startswith(f"{run.calls:,} call")
    failed = next((fact for fact in facts if fact.endswith(" failed")), "")
    assert failed == (f"{run.failed_calls:,} failed" if run.failed_calls else "")
    assert next((fact for fact in facts if fact.endswith((" edit", " edits"))), "0 edits").startswith(
        f"{run.edits:,} edit"
    )
    assert next((fact for fact in facts if fact.endswith(" changed")), "0 files changed").startswith(
        f"{run.edited_files:,} file"
    )


def test_a_comparison_needs_sessions_and_as_many_as_are_readable() -> None:
    with pytest.raises(TraceError, match="no session"):
        compare(traces.Trace([]), traces.Trace([]))
    with pytest.raises(TraceError, match="1 runs cannot be compared"):
        compare(ALL[0])
    with pytest.raises(TraceError, match="2 to 20"):
        compare(*[traces.Trace([])] * 21)
