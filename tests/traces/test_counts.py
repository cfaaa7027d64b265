"""Every surface has the same numbers: list and its totals, head, chips, comparison, JSON, Python and SQL.

``NBTOOLS_TEST_LOGS`` names a folder with more logs to check.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nbtools.cli import command_line_parser
from nbtools.core.errors import TraceError
from nbtools.traces import Trace, compare, load, sessions, totals
from nbtools.traces.comparison.comparison_rows import TOTALS, run_rows
from nbtools.traces.comparison.terminal import compared
from nbtools.traces.counts import DEFINITIONS, LogCounts
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.export.terminal import facts_json
from nbtools.traces.session_index.figures import read_figures
from nbtools.traces.session_index.logged_session import LoggedSession
from nbtools.traces.usage.totals import TOTALS_BY
from tests.traces.explorer.asking import listed
from tests.traces.recorded import LOGS, SAMPLES

EXTRA = os.environ.get("NBTOOLS_TEST_LOGS", "")
PATHS = [*(SAMPLES / log for log in LOGS), *SAMPLES.glob("claude-code/subagent-layout/*.jsonl")]
if EXTRA:
    PATHS += sorted(
        path for path in Path(EXTRA).rglob("*") if path.suffix in {".json", ".jsonl", ".eval", ".traj"}
    )
NAMES = tuple(name for name in LogCounts.__struct_fields__ if name not in {"started", "ended", "cost"})
SUMS = tuple(name for name in NAMES if name not in {"steps", "edited_files"})
"""The numbers that SQL has for each session."""
EDITS = ("added_lines", "removed_lines")


@pytest.fixture(scope="module")
def in_list(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Path, LoggedSession]]:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        patch.setenv("NBTOOLS_STATE", str(home / "state"))
        folders = [SAMPLES, *([EXTRA] if EXTRA else [])]
        yield {one.path: one for one in sessions(folders=folders, complete=True)}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_surface_has_the_same_numbers(path: Path, in_list: Mapping[Path, LoggedSession]) -> None:
    try:
        trace = load(path)
    except TraceError:
        pytest.skip("no log")
    counts = {name: getattr(trace.counts, name) for name in NAMES}
    assert counts == _by_hand(trace)
    figures = read_figures(str(path)).counts
    assert {name: getattr(figures, name) for name in NAMES} == counts
    one = in_list.get(path)
    if one is not None and not one.repeats:
        assert {name: getattr(one, name) for name in NAMES} == counts
        assert {name: one.as_json()[name] for name in NAMES} == counts
        assert (one.duration or 0) == pytest.approx(trace.counts.duration or 0)
    facts = json.loads(facts_json(path))
    assert {name: facts[name] for name in NAMES} == counts
    assert _in_sql(trace) == {name: counts[name] for name in SUMS}
    assert _in_head(trace, counts) == {name: count for name, count in counts.items() if count}
    assert _in_chips(trace) == {
        name: counts[name] or 0 for name in ("steps", "calls", "failed_calls", "errors")
    }
    assert _in_comparison(trace, path, counts) == counts


BLANK = " \n\t\u00a0"


def _blank_claude_code() -> list[Any]:
    head = {"sessionId": "s", "version": "2.1.0", "timestamp": "2026-03-01T09:00:00Z", "isSidechain": False}
    answer = [
        {"type": "thinking", "thinking": BLANK},
        {"type": "text", "text": BLANK * 200},
        {"type": "text", "text": BLANK * 200 + "Hello"},
    ]
    said = [("user", BLANK), ("user", "Hi"), ("assistant", BLANK), ("assistant", answer)]
    return [
        {
            **head,
            "type": role,
            "uuid": f"u{at}",
            "parentUuid": f"u{at - 1}" if at else None,
            "message": {"role": role, "id": f"m{at}", "content": content},
        }
        for at, (role, content) in enumerate(said)
    ]


def _blank_messages() -> list[Any]:
    said = [("user", BLANK), ("user", "Hi"), ("assistant", BLANK), ("assistant", "\n" * 400 + "Hello")]
    return [{"role": role, "content": content} for role, content in said]


def _blank_pi() -> list[Any]:
    said = [("user", BLANK), ("user", "Hi"), ("assistant", BLANK), ("assistant", "Hello")]
    head = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T09:00:00.000Z", "cwd": "/w"}
    return [
        head,
        *(
            {
                "type": "message",
                "id": f"m{at}",
                "parentId": f"m{at - 1}" if at else None,
                "timestamp": "2026-03-01T09:00:00.000Z",
                "message": {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1},
            }
            for at, (role, text) in enumerate(said)
        ),
    ]


@pytest.mark.parametrize("records", [_blank_claude_code, _blank_messages, _blank_pi])
def test_messages_of_whitespace_are_no_steps(records: Callable[[], list[Any]], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records()), encoding="utf-8")
    trace = load(path)
    rows = listed(Explorer(trace))
    assert [row["subject"].strip() for row in rows] == ["Hi", "Hello"]
    counts = (trace.counts.steps, read_figures(str(path)).counts, json.loads(facts_json(path))["steps"])
    assert counts[0] == counts[2] == 2
    assert counts[1] is not None
    assert counts[1].steps == 2
    texts = [
        text for (text,) in trace.sql("select full_text from events where text like '%Hello%'").fetchall()
    ]
    assert [text.strip() for text in texts] == ["Hello"]


def test_totals_add_up_to_the_numbers_of_the_list(in_list: Mapping[Path, LoggedSession]) -> None:
    of_samples = [one for path, one in in_list.items() if path.is_relative_to(SAMPLES)]
    for by in TOTALS_BY:
        found = totals(by, folders=[SAMPLES])
        for name in ("input_tokens", "output_tokens", *(() if by == "model" else ("calls", "failed_calls"))):
            sums = [sum(getattr(one, name) or 0 for one in rows) for rows in (found, of_samples)]
            assert sums[0] == sums[1] > 0, (by, name)


def test_the_page_on_counting_has_the_definitions() -> None:
    page = (Path(__file__).parents[2] / "docs/counting.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE) == [*DEFINITIONS.items()]


def test_old_names_of_a_run_warn_and_agree() -> None:
    run = compare(PATHS[0], PATHS[0]).runs[0]
    names = {
        "failed": "failed_calls",
        "files": "edited_files",
        "tokens_in": "input_tokens",
        "seconds": "duration",
    }
    for old, new in names.items():
        with pytest.warns(DeprecationWarning, match=new):
            assert getattr(run, old) == getattr(run, new)


def _by_hand(trace: Trace) -> dict[str, Any]:
    """Counts the rows in another way than the package does."""
    calls = [one for one in trace.calls if one.live and (one.level == "model" or one.by_sub_agent)]
    nested = [one for one in trace.calls if one.live and one.level == "nested" and not one.by_sub_agent]
    failed = [one for one in calls if one.status == "error" or (one.status == "ok" and one.exit_code)]
    errors = [one for one in trace.events if one.kind == "error" and one.text.strip()]
    applied = [one for one in trace.file_changes if one.applied]
    tells = all(log.format.tells_errors for log in trace.readings)
    tokens = [one.tokens for one in trace.sessions]

    def total(*counts: int | None) -> int | None:
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    folders = {one.id: one.cwd for one in trace.sessions}
    paths = {
        os.path.relpath(full, folders[one.session] or "/")
        if (full := os.path.normpath(os.path.join(folders[one.session], one.path))).startswith(  # noqa: PTH118
            folders[one.session]
        )
        else full
        for one in applied
        if one.path
    }
    return {
        "steps": len(listed(Explorer(trace))),
        "calls": len(calls),
        "nested_calls": len(nested),
        "failed_calls": len(failed) if tells or failed else None,
        "errors": len(errors),
        "edits": len(applied),
        "edited_files": len(paths),
        "added_lines": total(*(one.added for one in applied)),
        "removed_lines": total(*(one.removed for one in applied)),
        "input_tokens": total(
            *(one.input for one in tokens),
            *(one.cache_read for one in tokens),
            *(one.cache_write for one in tokens),
        ),
        "cache_read_tokens": total(*(one.cache_read for one in tokens)),
        "cache_write_tokens": total(*(one.cache_write for one in tokens)),
        "output_tokens": total(*(one.output for one in tokens)),
    }


def _in_sql(trace: Trace) -> dict[str, Any]:
    columns = ", ".join(f"sum({name})::bigint as {name}" for name in SUMS)
    found = trace.sql(f"select {columns} from sessions")
    sums = dict(zip(found.columns, found.fetchall()[0], strict=True))
    ((calls, failed),) = trace.sql(
        "select count(has_failed), count(*) filter (has_failed) from calls"
    ).fetchall()
    assert (calls, failed) == (sums["calls"], sums["failed_calls"] or 0)
    usage = "select sum(input_tokens)::bigint, sum(output_tokens)::bigint from usage"
    (spent,) = trace.sql(usage).fetchall()
    assert [count or 0 for count in spent] == [sums["input_tokens"] or 0, sums["output_tokens"] or 0]
    return sums


def _in_head(trace: Trace, counts: Mapping[str, Any]) -> dict[str, int]:
    """Returns the numbers of the head. Those that it does not have are taken from ``counts``."""
    found = {name: counts[name] for name in ("steps", *EDITS) if counts[name]}
    for fact in Explorer(trace).view().facts:
        number = re.match(r"[\d,]+", fact.text)
        patterns = {
            "failed_calls": r"[\d,]+ failed",
            "errors": r"[\d,]+ errors? of the agent",
            "edits": r"[\d,]+ edits?",
            "edited_files": r"[\d,]+ files? changed",
        }
        for name, pattern in patterns.items():
            if number and re.fullmatch(pattern, fact.text):
                found[name] = _number(number[0])
                assert fact.title.startswith(DEFINITIONS[name])
        if calls := re.fullmatch(r"([\d,]+) calls?(?: \+ ([\d,]+) nested)?", fact.text):
            found |= {"calls": _number(calls[1]), "nested_calls": _number(calls[2] or "0")}
            assert fact.title.startswith(DEFINITIONS["calls"])
        for name in ("input_tokens", "output_tokens"):
            if tokens := re.match(re.escape(DEFINITIONS[name]) + r": ([\d,]+)", fact.title):
                found[name] = _number(tokens[1])
        for name, words in (("cache_read_tokens", "read from"), ("cache_write_tokens", "written to")):
            if cached := re.search(rf"· ([\d,]+) {words}", fact.title):
                found[name] = _number(cached[1])
    return {name: count for name, count in found.items() if count}


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _in_chips(trace: Trace) -> dict[str, int]:
    rows = listed(Explorer(trace))
    chips = Counter(key for row in rows for key in row["chips"])
    failures = sum(row["tone"] == "failed" for row in rows)
    assert failures == chips["end:failed"] + chips["end:errors"] + chips["end:other failures"]
    return {
        "steps": len(rows),
        "calls": sum(row["flags"] & 1 for row in rows) - sum(one.has_failed is None for one in trace.calls),
        "failed_calls": chips["end:failed"],
        "errors": chips["end:errors"],
    }


def _in_comparison(trace: Trace, path: Path, counts: Mapping[str, Any]) -> dict[str, Any]:
    comparison = compare(trace, trace)
    run = comparison.runs[0]
    cells = dict(zip((total.label for total in TOTALS), run_rows(comparison)[0].totals, strict=True))
    labels = {"Calls": "calls", "Failed": "failed_calls", "Edits": "edits", "Files": "edited_files"}
    for label, name in labels.items():
        assert cells[label] == ("" if counts[name] is None else f"{counts[name]:,}")
    for name in ("steps", "calls", "failed_calls", "edits", "edited_files", "input_tokens", "output_tokens"):
        assert getattr(run, name) == counts[name]
    options = command_line_parser().parse_args(["trace", str(path), str(path), "--json"])
    in_json = json.loads(compared(options))["runs"][0]
    return {name: in_json[name] for name in NAMES}
