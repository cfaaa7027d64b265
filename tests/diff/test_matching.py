"""Right on all inputs, quick on the bad ones."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.diff.matching import matching_blocks
from tests.examples import examples

LINES = st.lists(st.sampled_from("abcd"), max_size=25)


def longest_common(a, b):
    """The textbook's table."""
    rows = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, one in enumerate(a):
        for j, two in enumerate(b):
            rows[i + 1][j + 1] = rows[i][j] + 1 if one == two else max(rows[i][j + 1], rows[i + 1][j])
    return rows[-1][-1]


@given(LINES, LINES)
def test_small_inputs_get_the_best_answer(a, b):
    assert sum(size for _, _, size in matching_blocks(a, b)) == longest_common(a, b)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 400), st.integers(1, 60), st.integers(0, 40), st.randoms(use_true_random=False))
def test_blocks_are_the_same_in_order_and_apart(length, words, edits, chance):
    a = [chance.randrange(words) for _ in range(length)]
    blocks = matching_blocks(a, b := mutated(a, edits, lambda: chance.randrange(words), chance))
    assert all(a[i : i + size] == b[j : j + size] and size > 0 for i, j, size in blocks)
    for (i, j, size), (x, y, _) in pairwise(blocks):
        assert i + size <= x
        assert j + size <= y
        assert i + size < x or j + size < y


def mutated(a, edits, new, chance):
    b = list(a)
    for _ in range(edits):
        place = chance.randrange(len(b) + 1)
        b[place : place + chance.randrange(2)] = [new()] * chance.randrange(2)
    return b


CHANCE = random.Random(7)
FEW = [CHANCE.randrange(50) for _ in range(20_000)]
TWO = ["a", "b"] * 50_000
MANY = [f"line {i}" if i % 3 else "}" for i in range(50_000)]


@pytest.mark.parametrize(
    ("a", "b", "removed", "added"),
    [
        pytest.param(["x"] * 100_000, ["x"] * 99_993, 7, 0, id="identical"),
        pytest.param(["x"] * 50_000 + ["y"] + ["x"] * 50_000, ["x"] * 100_000, 1, 0, id="one-odd"),
        pytest.param(TWO, [*TWO[1:], "a"], 1, 1, id="shifted"),
        pytest.param(FEW, mutated(FEW, 300, lambda: CHANCE.randrange(50), CHANCE), 300, 300, id="few-words"),
        pytest.param(FEW, [CHANCE.randrange(50) for _ in range(20_000)], 20_000, 20_000, id="unrelated"),
        pytest.param(MANY, mutated(MANY, 500, CHANCE.random, CHANCE), 500, 500, id="large"),
        pytest.param(MANY, MANY[::-1], 50_000, 50_000, id="reversed"),
        pytest.param(
            ["w"],
            [CHANCE.randrange(3) for _ in range(10_000)] + ["w"] + [0] * 5000,
            0,
            15_000,
            id="one-in-many",
        ),
    ],
)
def test_inputs_that_machines_write(a, b, removed, added):
    started = time.process_time()
    same = sum(size for _, _, size in matching_blocks(a, b))
    assert time.process_time() - started < 30
    assert len(a) - same <= removed
    assert len(b) - same <= added
