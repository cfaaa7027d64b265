"""Steps of several runs side by side: each once, in order, whatever the order of the runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.traces.comparison.alignment import Row, align, central_run
from nbtools.traces.comparison.steps import ComparableCall, normalized_command, relative_path
from nbtools.traces.model import Call, Op
from tests.examples import examples

Runs = list[list[tuple[Op, str]]]


def call(number: int, op: Op, what: str, exit_code: int | None = None) -> ComparableCall:
    made = Call("s", str(number), number, op, op, None, subject=what, status="ok", exit_code=exit_code)  # type: ignore[arg-type]
    return ComparableCall(made, op, what, (what,))


def calls(run: list[tuple[Op, str]]) -> list[ComparableCall]:
    return [call(number, *step) for number, step in enumerate(run)]


STEP = st.tuples(
    st.sampled_from(["read", "shell", "search"]), st.sampled_from(["a", "b", "src/long.py", "src/longer.py"])
)
RUNS = st.lists(st.lists(STEP, max_size=10), min_size=2, max_size=5)


def cells(rows: list[Row], names: list[int]) -> list[tuple[tuple[tuple[int, int], ...], frozenset[int]]]:
    """The rows, with runs named by ``names``: what is left when the order of the runs is."""
    return [
        (
            tuple(sorted((names[run], at) for run, at in row.at.items())),
            frozenset(names[run] for run in row.alike),
        )
        for row in rows
    ]


@given(RUNS, st.data())
@settings(max_examples=examples(200), deadline=None)
def test_every_step_of_every_run_occurs_once_and_in_its_order(runs: Runs, data: st.DataObject) -> None:
    baseline = data.draw(st.integers(0, len(runs) - 1))
    comparable = [calls(run) for run in runs]
    rows = align(comparable, baseline)
    for at, run in enumerate(comparable):
        assert [row.at[at] for row in rows if at in row.at] == list(range(len(run)))
    for row in rows:
        keys = {comparable[run][at].key for run, at in row.at.items() if run not in row.alike}
        assert len(keys) == 1
        groups = {comparable[run][at].group for run, at in row.at.items()}
        assert len(groups) == 1
        assert baseline not in row.alike


@given(RUNS)
@settings(max_examples=examples(200), deadline=None)
def test_the_beginning_that_all_share_is_aligned(runs: Runs) -> None:
    shared = 0
    while all(shared < len(run) for run in runs) and len({run[shared] for run in runs}) == 1:
        shared += 1
    rows = align([calls(run) for run in runs], 0)
    assert all(row.at == dict.fromkeys(range(len(runs)), at) for at, row in enumerate(rows[:shared]))


@given(RUNS, st.randoms(use_true_random=False))
@settings(max_examples=examples(200), deadline=None)
def test_another_order_of_the_runs_changes_nothing_but_their_order(runs: Runs, random: st.randoms) -> None:  # type: ignore[valid-type]
    unique = [list(run) for run in dict.fromkeys(map(tuple, runs))]  # equal runs may stand for each other
    if len(unique) < 2:
        return
    names = list(range(len(unique)))
    random.shuffle(names)
    comparable = [calls(run) for run in unique]
    shuffled = [comparable[name] for name in names]
    assert names[central_run(shuffled)] == central_run(comparable)
    there, here = align(shuffled, central_run(shuffled)), align(comparable, central_run(comparable))
    assert cells(there, names) == cells(here, list(range(len(unique))))


def test_steps_that_several_runs_add_at_one_place_share_rows() -> None:
    base: list[tuple[Op, str]] = [("read", "a"), ("shell", "make")]
    added: list[tuple[Op, str]] = [("read", "a"), ("search", "x"), ("shell", "make")]
    rows = align([calls(base), calls(added), calls(added)], 0)
    assert [sorted(row.at) for row in rows] == [[0, 1, 2], [1, 2], [0, 1, 2]]


def test_the_run_in_the_middle_is_the_baseline() -> None:
    runs: Runs = [
        [("read", "x"), ("read", "y")],
        [("read", "a"), ("read", "b")],
        [("read", "a"), ("read", "b"), ("read", "x")],
    ]
    assert central_run([calls(run) for run in runs]) == 2


def test_the_shorter_of_two_runs_with_the_same_in_common_is_the_baseline() -> None:
    short, long = calls([("read", "a")]), calls([("read", "a"), ("read", "b"), ("read", "c")])
    assert (central_run([long, short]), central_run([short, long])) == (1, 0)


def test_logs_made_to_be_slow_end_in_bounded_steps() -> None:
    """All steps equal, all different, or two that alternate:
    the rows are complete, and no pair of runs is compared step by step.
    """
    size, count = 3_000, 6
    equal: Runs = [[("shell", "x")] * (size - run) for run in range(count)]
    different: Runs = [[("shell", f"{run} {at}") for at in range(size)] for run in range(count)]
    alternating: Runs = [
        [("shell", "xy"[at * (run + 1) % 7 % 2]) for at in range(size)] for run in range(count)
    ]
    for runs in (equal, different, alternating):
        rows = align([calls(run) for run in runs], 0)
        assert sum(len(row.at) for row in rows) == sum(map(len, runs))
    assert len(align([calls(run) for run in equal], 0)) == size
    assert len(align([calls(run) for run in different], 0)) == size * count


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
    assert (
        relative_path("/w/x/a", "/w/x"),
        relative_path("/w/x", "/w/x"),
        relative_path("/w/xy", "/w/x"),
        relative_path("/a", ""),
    ) == (
        "a",
        ".",
        "/w/xy",
        "/a",
    )
