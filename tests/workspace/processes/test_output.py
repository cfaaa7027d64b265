"""Collected output: bounded, counted, and all of it in a file when it is cut."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtools.workspace.processes.output import OutputCollector


def collected(folder: Path, *chunks: bytes) -> OutputCollector:
    collector = OutputCollector(folder)
    for chunk in chunks:
        collector.receive(chunk)
    return collector


def test_little_output_is_given_whole_and_leaves_no_file(tmp_path: Path) -> None:
    collector = collected(tmp_path, b"\x1b[31mone\x1b[0m\n", b"two")
    assert (collector.lines, collector.bytes) == (2, 16)
    assert collector.shortened(40_000).text == "one\ntwo"
    assert collector.display() == ("\x1b[31mone\x1b[0m\ntwo", True)
    assert not list(tmp_path.iterdir())


def test_a_character_may_come_in_two_chunks(tmp_path: Path) -> None:
    euro = "€".encode()
    assert collected(tmp_path, euro[:1], euro[1:]).shortened(100).text == "€"
    assert collected(tmp_path, b"\xff\xfe").shortened(100).text == "��"


@pytest.mark.parametrize("size", [5_000, 100_000])
def test_much_output_is_cut_in_the_middle_and_kept_in_a_file(tmp_path: Path, size: int) -> None:
    lines = b"".join(b"line %d\n" % number for number in range(size))
    collector = collected(
        tmp_path, *(lines[start : start + 60_000] for start in range(0, len(lines), 60_000))
    )
    shown = collector.shortened(10_000)
    collector.close()
    assert collector.lines == size
    first, _, last = shown.text.partition("[…")
    assert first.startswith("line 0\nline 1\n")
    assert 1_000 < len(first) <= 2_000
    assert last.endswith(f"line {size - 1}\n")
    assert 7_000 < len(last) <= 8_300
    gap, _, rest = last.partition("]\n")
    missing = int(gap.split(" of ")[0].replace(",", ""))
    assert first.count("\n") + missing + rest.count("\n") == size
    assert shown.full_output in gap
    assert Path(shown.full_output).read_bytes() == lines
    assert stat.S_IMODE(Path(shown.full_output).stat().st_mode) == 0o600


def test_the_display_has_the_last_200_lines_or_32_kb(tmp_path: Path) -> None:
    text, complete = collected(tmp_path, b"".join(b"%d\n" % number for number in range(1000))).display()
    assert text.splitlines() == [str(number) for number in range(800, 1000)]
    assert not complete
    collector = collected(tmp_path, b"x" * 1_000_000)
    text, complete = collector.display()
    collector.close()
    assert len(text) == 32 * 1024
    assert not complete


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    collector = collected(tmp_path / "not there", b"x\n" * 100_000)
    assert "failed" in collector.problem
    assert "they are lost" in collector.shortened(1000).text


def test_the_folder_is_private() -> None:
    collector = OutputCollector()
    collector.receive(b"x" * 200_000)
    path = Path(collector.shortened(10).full_output)
    collector.close()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.unlink()


@example([b"\n", b""], 20)
@given(st.lists(st.binary(max_size=2000)), st.integers(20, 500))
def test_any_bytes_are_counted_and_shown(chunks: list[bytes], limit: int) -> None:
    collector = OutputCollector()
    for chunk in chunks:
        collector.receive(chunk)
    whole = b"".join(chunks)
    shown = collector.shortened(limit)
    collector.close()
    assert collector.bytes == len(whole)
    assert collector.lines == whole.count(b"\n") + (whole != b"" and not whole.endswith(b"\n"))
    assert bool(shown.full_output) == ("lines omitted" in shown.text)
    if shown.full_output:
        assert Path(shown.full_output).read_bytes() == whole
        Path(shown.full_output).unlink()
