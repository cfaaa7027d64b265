"""The record of the files that were read, also after a change."""

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.read_tracking import ReadExtent, ReadTracker


def refusal(seen, path, data, *, whole):
    try:
        seen.require_read(path, "f", data, whole=whole)
    except ToolFailure as failure:
        return failure.code
    return None


@pytest.mark.parametrize(
    ("view", "part", "whole"),
    [
        (ReadExtent.WHOLE, None, None),
        (ReadExtent.RANGE, None, ErrorCode.EDIT_PREPARATION_FAILURE),
        (ReadExtent.PARTIAL, ErrorCode.EDIT_PREPARATION_FAILURE, ErrorCode.EDIT_PREPARATION_FAILURE),
    ],
)
def test_a_view_allows_edits_of_the_lines_that_were_read(tmp_path, view, part, whole):
    seen = ReadTracker()
    assert refusal(seen, tmp_path, b"a", whole=True) is None
    seen.required = True
    assert refusal(seen, tmp_path, b"a", whole=False) is ErrorCode.EDIT_PREPARATION_FAILURE
    seen.record(tmp_path, b"a", view)
    assert (refusal(seen, tmp_path, b"a", whole=False), refusal(seen, tmp_path, b"a", whole=True)) == (
        part,
        whole,
    )
    seen.record(tmp_path, b"b")
    assert (refusal(seen, tmp_path, b"b", whole=False), refusal(seen, tmp_path, b"b", whole=True)) == (
        part,
        whole,
    )
    assert seen.has_changed(tmp_path, b"a")


def test_a_part_read_again_does_not_take_from_the_whole(tmp_path):
    seen = ReadTracker()
    seen.required = True
    seen.record(tmp_path, b"a", ReadExtent.WHOLE)
    seen.record(tmp_path, b"a", ReadExtent.RANGE)
    assert refusal(seen, tmp_path, b"a", whole=True) is None
    seen.record(tmp_path, b"b", ReadExtent.RANGE)
    assert refusal(seen, tmp_path, b"b", whole=True) is ErrorCode.EDIT_PREPARATION_FAILURE
