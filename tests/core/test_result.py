"""A result gives the fields of its display and its data."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import Listing, Match, Matches, ToolResult, failed


@dataclass(frozen=True)
class Data:
    total: int
    counts: int
    ok: str = "mine"


class Model(BaseModel):
    words: int = 3


FOUND = Matches((Match("a.py", 1, "x"),), 5, 1)


def test_fields_of_the_display_come_before_those_of_the_data():
    result = ToolResult("", FOUND, data=Data(7, 2))
    assert (result.matches, result.total, result.counts) == (FOUND.matches, 5, 2)
    assert ToolResult("", "text", data=Model()).words == 3


def test_own_fields_are_never_hidden():
    assert ToolResult("", FOUND, data=Data(7, 2)).ok is True


@pytest.mark.parametrize(
    "result",
    [ToolResult("", "text"), ToolResult("", FOUND), failed(ToolError(ErrorCode.TIMEOUT, "late"), {"a": 1})],
)
def test_an_unknown_attribute_names_those_that_exist(result):
    with pytest.raises(AttributeError, match=r"no attribute 'matchs'\. Attributes of its display and data: "):
        _ = result.matchs
    assert not hasattr(result, "upper")
    assert not hasattr(result, "_repr_html_")


def test_completion_lists_them_once():
    names = dir(ToolResult("", Listing((), 0), data=Data(1, 1)))
    assert {"entries", "total", "counts", "ok", "return_display"} <= set(names)
    assert len(names) == len(set(names))


def test_results_can_be_copied_and_pickled():
    result = ToolResult("", FOUND, data=3)
    assert copy.deepcopy(result) == pickle.loads(pickle.dumps(result)) == result
