"""The head of the explorer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.traces.explorer.summary import Summary, short_number, summary_of
from tests.browser.long_log import write_log
from tests.traces.explorer.samples import CLAUDE, sample


def line_of(summary: Summary) -> str:
    return " · ".join(fact.text + ("?" if fact.doubt else "") for fact in summary.facts)


def test_a_session_in_one_line() -> None:
    summary = summary_of(traces.load(sample(CLAUDE)))
    assert summary.title == "upgrade-external-agents-e2e-tests"
    assert line_of(summary) == (
        "Claude Code 2.1.80 · claude-opus-4-6 · 22 min 29 s · 20 min 29 s at work · 335 records · 102 calls · "
        "7 failed · 18 edits · 13 files changed · 4.0 M tokens in · 26 k out"
    )


def test_placeholders_for_tokens_are_marked_as_such() -> None:
    summary = summary_of(traces.load(sample("claude-code/cctrace--main.jsonl")))
    (doubtful,) = [fact for fact in summary.facts if fact.doubt]
    assert doubtful.text == "64 k out"
    assert "placeholders" in doubtful.doubt


def test_a_format_that_has_no_mark_for_failure_says_so() -> None:
    none = summary_of(traces.load(sample("swe-agent/i_got_id_demo.traj")))
    assert "failures not recorded" in line_of(none)
    some = summary_of(traces.load(sample("swe-agent/pydicom__pydicom-1458.traj")))
    assert "3 failed?" in line_of(some)
    assert "$1.27" in line_of(some)


def test_sessions_side_by_side_are_counted_and_named_by_their_file() -> None:
    log = "inspect/2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval"
    summary = summary_of(traces.load(sample(log)))
    assert summary.title == Path(log).name
    assert "10 sessions" in line_of(summary)


def test_without_a_title_the_first_message_is_the_name_and_unreadable_lines_are_counted(
    tmp_path: Path,
) -> None:
    record: dict[str, Any] = {
        "type": "user",
        "uuid": "u",
        "sessionId": "s",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "parentUuid": None,
    }
    lines = [
        json.dumps(record | {"message": {"role": "user", "content": "Mend\nthe cart"}}),
        '{"type": "user", "mess',
        "",
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(lines))
    summary = summary_of(traces.load(log))
    assert summary.title == "Mend ⏎ the cart"
    assert "1 place unreadable?" in line_of(summary)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (812, "812"),
        (1000, "1.0 k"),
        (38_400, "38 k"),
        (999_400, "999 k"),
        (999_600, "1.0 M"),
        (5 * 10**12, "5,000 G"),
    ],
)
def test_amounts_are_read_at_a_glance(count: int, text: str) -> None:
    assert short_number(count) == text


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        (
            "<command-message>running</command-message>\n<command-name>/plan</command-name>\n<command-args>the cart</command-args>",
            "/plan the cart",
        ),
        ("<command-name>/review</command-name>", "/review"),
        ("<command-name>/clear</command-name>", "session.jsonl"),
        ("<command-message>superpowers:plan</command-message> go on", "superpowers:plan go on"),
        ("<local-command-caveat>not for you</local-command-caveat>Fix it", "Fix it"),
        ("a < b and <div>", "a < b and <div>"),
    ],
)
def test_a_title_has_no_tags_of_slash_commands(tmp_path: Path, prompt: str, title: str) -> None:
    path = write_log(tmp_path / "session.jsonl", "/home/ada", [("user", {"role": "user"}, prompt)])
    assert summary_of(traces.load(path)).title == title
