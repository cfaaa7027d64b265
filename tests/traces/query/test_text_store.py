"""Texts are found by their numbers, in whichever block they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbtools.traces.query.text_store import BLOCK, TextStore, encoded

TEXTS = st.lists(st.lists(st.text(alphabet="abA é\n", max_size=6), max_size=6), max_size=5)


TERMS = st.lists(st.text(alphabet="abé\n ", min_size=1, max_size=3), min_size=1, max_size=3)


@given(TEXTS, TERMS)
def test_all_texts_that_contain_all_terms_are_found(batches: list[list[str]], terms: list[str]) -> None:
    store = TextStore()
    for batch in batches:
        store.add(batch)
    wanted = [encoded(term) for term in terms]
    found = [number for block in range(store.blocks) for number in store.containing(wanted, block)]
    texts = [text.lower() for batch in batches for text in batch]
    assert found == [number for number, text in enumerate(texts) if all(term in text for term in terms)]


def test_a_batch_of_long_texts_becomes_several_blocks() -> None:
    store = TextStore()
    store.add(f"{number} {'x' * (BLOCK // 3)}" for number in range(10))
    assert store.blocks == 4
    found = [store.containing([b"9 x", b"x"], block) for block in range(store.blocks)]
    assert found == [[], [], [], [9]]
