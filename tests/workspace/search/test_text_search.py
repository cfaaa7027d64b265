"""The contract of the two passes of a search; the tools' tests go into what is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.search import text_search
from nbtools.workspace.search.text_search import Query


def ignore(_: object) -> None:
    return None


async def test_counting_does_not_depend_on_how_output_is_cut(tmp_path: Path) -> None:
    for number in range(5000):
        folder = tmp_path / f"{number % 50:02}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text("hit\n" * (number % 3))
    seen: list[int] = []
    counted = await text_search.count_matches(
        tmp_path, ".", Query("hit"), names_only=False, progress=lambda counts: seen.append(len(counts))
    )
    assert sum(counted.counts.values()) == sum(number % 3 for number in range(5000))
    assert list(counted.counts) == sorted(counted.counts)
    assert seen == sorted(seen)
    names = await text_search.count_matches(tmp_path, ".", Query("hit"), names_only=True, progress=ignore)
    assert names.counts == dict.fromkeys(counted.counts, 1)


async def test_the_lines_of_very_many_files_come_in_order(tmp_path: Path) -> None:
    for number in range(900):
        (tmp_path / f"{number:03}").write_text("hit\nhit\n")
    wanted = [(f"{number:03}", 1, 1) for number in range(900)]
    found = await text_search.matching_lines(tmp_path, Query("hit"), wanted)
    assert [(match.path, match.line) for match in found] == [(path, 2) for path, _, _ in wanted]


async def test_neighbours_of_other_pages_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hit 1\nx\ny\nz\nhit 2\nv\nw\nu\nhit 3\n")
    found = await text_search.matching_lines(tmp_path, Query("hit"), [("a", 1, 1)], 1, 1)
    assert [(match.line, match.context) for match in found] == [(4, True), (5, False), (6, True)]


async def test_a_configuration_file_of_the_user_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("--invert-match\n")
    (tmp_path / "a").write_text("hit\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))
    counted = await text_search.count_matches(tmp_path, "a", Query("hit"), names_only=False, progress=ignore)
    assert counted.counts == {"a": 1}


async def test_a_pattern_that_no_program_takes(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure) as caught:
        await text_search.count_matches(tmp_path, ".", Query("a\0"), names_only=False, progress=ignore)
    assert caught.value.code == ErrorCode.INVALID_TOOL_PARAMS


async def test_unreadable_files_are_reported_beside_the_results(open_folder, as_nobody) -> None:
    for name in ("a", "b", "c"):
        (open_folder / name).write_text("hit\n")
    (open_folder / "b").chmod(0)
    with as_nobody():
        counted = await text_search.count_matches(
            open_folder, ".", Query("hit"), names_only=False, progress=ignore
        )
    assert counted.counts == {"a": 1, "c": 1}
    assert counted.unreadable == ("b: Permission denied (os error 13)",)


async def test_nothing_readable_at_all_is_no_bad_pattern(open_folder, as_nobody) -> None:
    (open_folder / "b").write_text("hit\n")
    (open_folder / "b").chmod(0)
    with as_nobody():
        counted = await text_search.count_matches(
            open_folder, ".", Query("hit"), names_only=False, progress=ignore
        )
    assert (counted.counts, len(counted.unreadable)) == ({}, 1)
