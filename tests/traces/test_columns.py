"""Rows as columns in one buffer."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.traces.columns import ColumnBlock, Columns
from tests.traces.column_reader import columns

U32 = st.integers(0, 0xFFFFFFFF)
ROW = st.tuples(
    st.integers(0, 255),
    st.integers(0, 65535),
    U32,
    st.floats(allow_nan=False),
    st.text(),
    st.sampled_from(["", "shell", "Ünïcode 𝄞"]),
    st.lists(U32, max_size=5),
)


@given(st.lists(ROW, max_size=20))
def test_columns_read_back_as_they_were_added(rows: list[tuple[Any, ...]]) -> None:
    bytes_, shorts, numbers, seconds, texts, words, lists = (
        [row[column] for row in rows] for column in range(7)
    )
    made = Columns(len(rows))
    made.numbers("byte", "u8", bytes_)
    made.texts("text", texts)
    made.numbers("short", "u16", shorts)
    made.lists("list", iter(lists))
    made.numbers("number", "u32", numbers)
    made.words("word", words)
    made.numbers("seconds", "f64", seconds)
    block, data = made.finish()
    assert len(data) % 8 == 0
    assert ColumnBlock.model_validate_json(block.model_dump_json()) == block
    assert columns(block, data) == {
        "byte": bytes_,
        "text": texts,
        "short": shorts,
        "list": lists,
        "number": numbers,
        "word": words,
        "seconds": seconds,
    }


def test_texts_that_utf_8_cannot_encode_and_numbers_that_are_too_large_are_replaced() -> None:
    made = Columns(2)
    made.texts("text", ["a\ud800b", "ü"])
    made.words("word", ["\udfff", "\udfff"])
    made.numbers("u8", "u8", [-1, 300])
    made.numbers("u32", "u32", [10**30, -(10**30)])
    made.numbers("f64", "f64", [10**400, math.nan])
    block, data = made.finish()
    read = columns(block, data)
    assert (read["text"], read["word"]) == (["a?b", "ü"], ["?", "?"])
    assert (read["u8"], read["u32"]) == ([0, 255], [0xFFFFFFFF, 0])
    assert read["f64"][0] > 1e308
    assert math.isnan(read["f64"][1])
    assert block.model_dump_json()


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="right has 1 values"):
        Columns(2).texts("right", ["a"])


def test_a_hundred_thousand_rows_take_little_time_and_space() -> None:
    count = 100_000
    subjects = [f"src/package_{row % 977}/module_{row}.py" for row in range(count)]
    started = time.perf_counter()
    made = Columns(count)
    made.texts("subject", subjects)
    made.words("name", [f"tool-{row % 30}" for row in range(count)])
    made.numbers("depth", "u16", [0] * count)
    made.lists("chips", [(1, row % 50) for row in range(count)])
    block, data = made.finish()
    assert time.perf_counter() - started < 2
    assert len(data) < 64 * count
    assert len(block.model_dump_json()) < 2_000
