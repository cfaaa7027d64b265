"""Colours never change a text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.cards.highlighting import MAX_CHARACTERS, coloured, text_of


@given(
    st.sampled_from(["a.py", "a.js", "a.md", "a.html", "a.sh", "a.yaml", "Makefile", "a.unknown"]),
    st.text(max_size=80),
)
@settings(deadline=None)
def test_the_text_stays(path: str, text: str) -> None:
    lines = text.split("\n")
    assert [text_of(spans) for spans in coloured(path, lines)] == lines


@pytest.mark.parametrize(
    ("path", "line", "span"),
    [
        ("a.py", "class A: pass", ("class", "k")),
        ("a.js", "// no", ("// no", "c")),
        ("a.json", "[12]", ("12", "n")),
    ],
)
def test_the_words(path: str, line: str, span: tuple[str, str]) -> None:
    assert span in [(text.strip(), word) for text, word in coloured(path, [line])[0]]


def test_a_very_long_text_stays_plain() -> None:
    assert coloured("a.py", ["import x" + " " * MAX_CHARACTERS])[0][0][1] == ""
