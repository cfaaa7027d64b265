"""Suggestions of the text that a caller may have meant."""

import time

import pytest

from nbtools.workspace.text.match import TextIndex
from nbtools.workspace.text.match_errors import describe_nearest

SOURCE = "import os\n\nclass Reader:\n\tdef lines(self, start, end):\n\t\treturn self.text[start:end]  \n\n\tdef close(self):\n\t\tpass\n"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("    def lines(self, start, end):", 'differs only in indentation: line 4 is "\\tdef lines'),
        ("\t\treturn self.text[start:end]\n\n", "line 5"),
        ("\t\treturn self.text[start:end]\n\n\tdef", "whitespace: line 5"),
        ("def lines(self,  start, end)", "differs only in whitespace: line 4"),
        ("class reader", "upper and lower case: line 3"),
        (
            "\tdef lines(self, first, end):\n\t\treturn self.text[first:end]",
            "most similar text differs: line 4",
        ),
        ("something else entirely, not here", "it contains no similar text"),
        ("\u200bimport os", '"\\u200bimport os"'),
    ],
)
def test_the_nearest_is_named(wanted, words):
    assert words in describe_nearest(TextIndex(SOURCE), wanted)


def test_an_empty_file():
    assert describe_nearest(TextIndex(""), "x") == "the file is empty"


def test_a_large_file_is_searched_in_time():
    text = "".join(f"value_{i} = compute(value, {i})\n" for i in range(50_000))
    started = time.process_time()
    assert "line 40001" in describe_nearest(
        TextIndex(text), "value_40000 = compute(valeu, 40000)\nvalue_40001 = compute(valeu, 40001)"
    )
    assert time.process_time() - started < 30
