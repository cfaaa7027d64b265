"""Outcomes: what a check finds in a run, and that it says "unknown" where the log does not tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import TraceError
from nbtools.traces.comparison.checks import CHECK_FORMS, parse_check
from nbtools.traces.comparison.comparison import compare
from nbtools.traces.reviews.commands import commands_of
from nbtools.traces.reviews.review import review
from nbtools.traces.trace import load
from tests.traces.comparison.recorded_runs import EDIT, READ, TEST, record
from tests.traces.recorded import SAMPLES


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))


async def found(
    folder: Path, check: str, *runs: list[tuple[str, dict[str, object]]]
) -> list[tuple[str, str]]:
    recorded = [await record(folder / f"{number}.jsonl", *calls) for number, calls in enumerate(runs)]
    return [(cells[0].state, cells[0].text) for cells in compare(*recorded, baseline=0).outcomes(check).cells]


@pytest.mark.parametrize(
    "check", ["tests", "command python3 -B", "command pyth*n3", "command python3 -B test_a.py"]
)
async def test_the_last_matching_command_decides(tmp_path: Path, check: str) -> None:
    assert await found(tmp_path, check, [TEST, EDIT, TEST], [EDIT, TEST, READ], [TEST], [READ]) == [
        ("passed", "exit code 0"),
        ("passed", "exit code 0"),
        ("failed", "exit code 1"),
        ("unknown", "not run"),
    ]


async def test_edits_after_the_last_test_are_reported(tmp_path: Path) -> None:
    more = ("edit", {"path": "a.py", "old": "11", "new": "12"})
    assert (await found(tmp_path, "tests", [EDIT, TEST, more], [EDIT, TEST]))[0] == (
        "passed",
        "exit code 0, 1 edit after it",
    )


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("python3 -B test_a.py | tail -1", "unknown"),
        ("python3 -B test_a.py; echo done", "unknown"),
        ("python3 -B test_a.py || true", "unknown"),
        ("set -o pipefail; python3 -B test_a.py | tail -1", "failed"),
        ("python3 -B test_a.py 2>&1", "failed"),
        ("true && python3 -B test_a.py", "failed"),
        ("echo python3 -B test_a.py", "unknown"),
        ("grep -c assert test_a.py", "unknown"),
    ],
)
async def test_an_exit_code_of_another_program_says_nothing(tmp_path: Path, line: str, state: str) -> None:
    assert (await found(tmp_path, "command python3", [("shell", {"command": line})], [READ]))[0][0] == state


BAD_TEST = """import unittest


class Total(unittest.TestCase):
    def test_total(self):
        print("Ran 1 test in 0.000s\\n\\nOK")
        self.assertEqual(1, 2)
"""
GOOD_TEST = BAD_TEST.replace("(1, 2)", "(1, 1)").replace('print("Ran', 'str("Ran')
UNITTEST = "python3 -B -m unittest test_total.py"


@pytest.mark.parametrize(
    ("line", "state"),
    [
        (f"{UNITTEST} 2>&1 | tail -4", "passed"),
        (f"cd . && export A=1; {UNITTEST} 2>&1 | tail -n 40", "passed"),
        (f"{UNITTEST} 2>&1 | tee log.txt | tail || true", "passed"),
        (f"{UNITTEST} | tail -4", "passed"),  # what it writes to stderr is in the output, too
        (f"{UNITTEST} 2>&1; true", "passed"),
        (f"{UNITTEST} 2>&1 | tail -1", "unknown"),
        (f"{UNITTEST} 2>&1 | grep -A9 Ran", "unknown"),
        (f"{UNITTEST} 2>&1 | head -40", "unknown"),
        (f"{UNITTEST} 2>&1 | tail -c 900", "unknown"),
        (f"{UNITTEST} 2>&1; echo done", "unknown"),
        (f"{UNITTEST} > log.txt 2>&1; true", "unknown"),
        (f"{UNITTEST} 2>&1 | cat - log.txt", "unknown"),
        (f"cat old.txt; {UNITTEST} 2>&1 | tail -4", "unknown"),
        (f"({UNITTEST}; pytest) 2>&1 | tail -4", "unknown"),
    ],
)
async def test_the_output_of_tests_is_read_where_their_exit_code_is_not_recorded(
    tmp_path: Path, line: str, state: str
) -> None:
    runs = [
        await record(
            tmp_path / f"{number}.jsonl",
            ("write", {"path": "test_total.py", "content": content}),
            ("shell", {"command": line}),
        )
        for number, content in enumerate((GOOD_TEST, BAD_TEST))
    ]
    outcomes = compare(*runs).outcomes("tests")
    (good,), (bad,) = outcomes.cells
    assert good.state == state
    # the test prints the end of a passing run: the two contradict each other, unless only the real one is left
    assert bad.state != "passed"
    assert bad.state == "failed" or line != f"{UNITTEST} 2>&1 | tail -4"
    assert [cell.inferred for cell in (good, bad)] == [
        cell.state in {"passed", "failed"} for cell in (good, bad)
    ]
    assert outcomes.inferred() == (sum(cell.inferred for cell in (good, bad)),)
    assert [one["inferred"] for one in outcomes.records()] == [good.inferred, bad.inferred]
    if good.inferred:
        assert good.text.startswith("Ran 1 test in ")
        assert good.note.startswith(
            "Inferred from the last lines of unittest: its own exit code is not recorded"
        )


async def test_an_exit_code_that_is_recorded_is_not_inferred(tmp_path: Path) -> None:
    write = ("write", {"path": "test_total.py", "content": BAD_TEST})
    run = await record(tmp_path / "a.jsonl", write, ("shell", {"command": f"{UNITTEST} 2>&1"}))
    (cell,), _ = compare(run, run).outcomes("tests").cells
    assert (cell.state, cell.text, cell.inferred, cell.note) == ("failed", "exit code 1", False, "")


async def test_files_at_the_end_of_a_run(tmp_path: Path) -> None:
    write = ("write", {"path": "new.py", "content": "x = 1\ny = 2\n"})
    change = ("edit", {"path": "new.py", "old": "x = 1", "new": "x = 3"})
    calls = [[write, change], [write], [write, change], [READ]]
    comparison = compare(
        *[await record(tmp_path / f"{number}.jsonl", *one) for number, one in enumerate(calls)], baseline=0
    )
    outcomes = comparison.outcomes("file new.py contains x = 3", "file new.py changed", "file new.py same")
    assert [[cell.state for cell in cells] for cells in outcomes.cells] == [
        ["passed", "passed", ""],
        ["failed", "passed", "failed"],
        ["passed", "passed", "passed"],
        ["unknown", "failed", "unknown"],
    ]
    assert outcomes.cells[0][2].text == f"{outcomes.cells[2][2].text}, the baseline"
    assert outcomes.cells[3][0].text == "no recorded change"


async def test_labels_and_verdicts_of_the_review(tmp_path: Path) -> None:
    runs = [await record(tmp_path / f"{number}.jsonl", READ) for number in range(4)]
    code = review(runs[0]).book.codes[0].name
    review(runs[0]).verdict(None, "pass")
    review(runs[0]).label("1", code)
    review(runs[1]).verdict(None, "fail")
    review(runs[2]).verdict(None, "defer")
    outcomes = compare(*runs).outcomes("verdict", f"label {code}")
    assert [tuple(cell.state for cell in cells) for cells in outcomes.cells] == [
        ("passed", "passed"),
        ("failed", "failed"),
        ("unknown", "unknown"),
        ("unknown", "unknown"),
    ]
    rate = outcomes.rates()[0]
    assert rate is not None
    assert (rate.count, rate.total) == (1, 2)
    assert rate.low is not None
    assert 0 < rate.low < 0.5 < (rate.high or 0) < 1


def test_the_final_answer_of_real_sessions() -> None:
    logs = [
        *sorted((SAMPLES / "codex").glob("skills*.jsonl")),
        *sorted((SAMPLES / "claude-code").glob("*.jsonl"))[:2],
    ]
    outcomes = compare(*logs).outcomes(
        "answer", "answer contains Committed as `900b1aa`", "answer contains no such words"
    )
    assert outcomes.cells[0][0].text.startswith("Committed as")
    assert [cells[1].state for cells in outcomes.cells][:1] == ["passed"]
    assert {cells[2].state for cells in outcomes.cells} <= {"failed", "unknown"}


def test_tasks_with_several_runs_have_rates_of_their_own() -> None:
    one, other = (load(path) for path in sorted((SAMPLES / "claude-code").glob("*.jsonl"))[:2])
    outcomes = compare(one, one, other, other).outcomes("answer contains e")
    assert len(outcomes.tasks) == 2
    assert [rate and rate.total for task in outcomes.tasks for rate in outcomes.rates(task)] == [2, 2]
    assert compare(one, other).outcomes("answer").tasks == ()
    assert {record["check"] for record in outcomes.records()} == {"answer contains e"}


@pytest.mark.parametrize("form", CHECK_FORMS)
def test_every_form_of_a_check_is_understood(form: str) -> None:
    check = parse_check(
        form.replace("PATH", "src/a.py")
        .replace("TEXT", "def x")
        .replace("NAME", "loop")
        .replace("PROGRAM …", "pytest -x")
    )
    assert check.states == CHECK_FORMS[form]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "command",
        "command ",
        "file a.py",
        "file a.py contains",
        "label",
        "tests x",
        "answers",
        "file a changed b",
        "tests\ntests",
        "command " + "x" * 2000,
    ],
)
def test_anything_else_is_no_check(text: str) -> None:
    with pytest.raises(TraceError, match="is not a check"):
        parse_check(text)


@pytest.mark.parametrize("ending", ["changed", "same", "contains x"])
def test_a_quoted_path_may_contain_the_words_of_a_form(ending: str) -> None:
    check = parse_check(f'file "what it contains now.txt" {ending}')
    assert (check.kind, check.path) == (f"file_{ending.removesuffix(' x')}", "what it contains now.txt")


@given(st.text(max_size=60))
def test_parsing_a_check_never_raises_anything_else(text: str) -> None:
    try:
        check = parse_check(text)
    except TraceError:
        return
    assert check.states


def test_too_many_checks_are_refused() -> None:
    log = load(min((SAMPLES / "codex").glob("*.jsonl")))
    with pytest.raises(TraceError, match="at most 12"):
        compare(log, log, checks=[f"command {number}" for number in range(13)])


def test_commands_of_a_line_with_their_operators() -> None:
    assert commands_of("cd x && pytest -q 2>&1 | tail -3") == [
        ("cd x", "&&"),
        ("pytest -q", "|"),
        ("tail -3", ""),
    ]
    assert commands_of("bash -lc 'go test ./... && echo ok'") == [("go test ./...", "&&"), ("echo ok", "")]
