"""Sharing out the room for a tree."""

from hypothesis import given
from hypothesis import strategies as st

from nbtools.workspace.cancellation import CancellationFlag
from nbtools.workspace.search.tree import read_tree, shares


@given(st.lists(st.integers(0, 20), max_size=20), st.integers(0, 100))
def test_shares_are_fair_and_use_all_there_is(sizes, limit):
    given_ = shares(sizes, limit)
    assert sum(given_) == min(limit, sum(sizes))
    assert all(0 <= share <= size for share, size in zip(given_, sizes, strict=True))
    unmet = [share for share, size in zip(given_, sizes, strict=True) if share < size]
    assert not unmet or max(given_) - min(unmet) <= 1


def test_hidden_files_are_left_out_of_the_tree(open_folder, as_nobody):
    (open_folder / "shut").mkdir(mode=0)
    (open_folder / ".shut").mkdir(mode=0)
    with as_nobody():
        root = read_tree(str(open_folder), None, CancellationFlag())
    assert [(node.name, node.open, node.count) for node in root.children] == [
        (".shut", False, -1),
        ("shut", False, -1),
    ]
