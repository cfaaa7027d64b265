"""Texts are found by their numbers, in whichever block they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbtools.traces.query import text_index
from nbtools.traces.query.text_index import TextStore

TEXTS = st.lists(st.lists(st.text(alphabet="abA é\n", max_size=6), max_size=6), max_size=5)


@given(TEXTS, st.text(alphabet="abé\n ", min_size=1, max_size=3))
def test_all_texts_that_contain_a_substring_are_found(batches: list[list[str]], substring: str) -> None:
    store = TextStore()
    for batch in batches:
        store.add(batch)
    found = [number for block in range(store.blocks) for number in store.containing(substring, block)]
    texts = [text for batch in batches for text in batch]
    assert found == [number for number, text in enumerate(texts) if substring in text.lower()]


def test_a_batch_of_long_texts_becomes_several_blocks() -> None:
    store = TextStore()
    store.add(f"{number} {'x' * (text_index.BLOCK // 3)}" for number in range(10))
    assert store.blocks == 4
    assert [list(store.containing("9 x", block)) for block in range(store.blocks)] == [[], [], [], [9]]
