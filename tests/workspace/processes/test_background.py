"""Growing output is reported once, in whole characters and sequences at a time."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nbtools.workspace.processes.background import BackgroundCommands, OutputCursor
from nbtools.workspace.processes.output import OutputCollector

_STREAM = "one\nzwei ü\n\x1b[31mred\x1b[0m 漢字\n\x1b]0;title\x07fo\x1b]8;;x\x1b\\ur\x1b[0m\n🙂 end".encode()
_TEXT = "one\nzwei ü\nred 漢字\nfour\n🙂 end"


def _wanted(line: str) -> bool:
    return re.search("red|four|end", line) is not None


@given(st.lists(st.integers(0, len(_STREAM)), max_size=12).map(sorted))
def test_however_it_comes_the_pieces_are_the_whole(cuts: list[int]) -> None:
    collector = OutputCollector()
    unread = OutputCursor(collector)
    told = ""
    for start, end in zip([0, *cuts], [*cuts, len(_STREAM)], strict=True):
        collector.receive(_STREAM[start:end])
        told += unread.read(1_000, final=False).text
    told += unread.read(1_000, final=True).text
    assert told == _TEXT
    assert not unread


@given(st.lists(st.integers(0, len(_STREAM)), max_size=12).map(sorted))
def test_matching_lines_are_reported_once(cuts: list[int]) -> None:
    collector = OutputCollector()
    unread = OutputCursor(collector)
    told, lines = "", 0
    for start, end in zip([0, *cuts, len(_STREAM)], [*cuts, len(_STREAM), len(_STREAM)], strict=True):
        collector.receive(_STREAM[start:end])
        news = unread.read_matching(_wanted, final=start == len(_STREAM) and end == len(_STREAM))
        told, lines = told + news.text, lines + news.lines
    news = unread.read_matching(_wanted, final=True)
    assert (told + news.text, lines + news.lines) == ("red 漢字\nfour\n🙂 end", 5)


def test_after_much_the_middle_is_left_out_and_counted(tmp_path: Path) -> None:
    collector = OutputCollector(tmp_path)
    collector.write_to_file()
    unread = OutputCursor(collector)
    collector.receive(b"seen\n")
    assert unread.read(1_000, final=False).text == "seen\n"
    lines = b"".join(b"line %d\n" % number for number in range(200_000))
    collector.receive(lines)
    news = unread.read(1_000, final=False)
    collector.close()
    assert news.lines == 200_000
    assert news.text.startswith("line 0\n")
    assert news.text.endswith("line 199999\n")
    missing = int(re.findall(r"\[… ([\d,]+) of 200,000 lines", news.text)[0].replace(",", ""))
    assert news.text.count("line ") + missing == 200_000
    assert next(tmp_path.iterdir()).read_bytes() == b"seen\n" + lines


async def test_the_end_of_every_command_is_reported_once_also_when_it_is_killed(tmp_path: Path) -> None:
    seen: list[tuple[str, bool]] = []
    commands = BackgroundCommands([lambda job: seen.append((job.id, job.state().has_ended))])
    for _ in range(12):
        job = commands.start("sleep 60", ["sleep", "60"], tmp_path, dict(os.environ))
        await job.kill()
        async with asyncio.timeout(60):
            await job.wait_until_ended()
    await commands.close()
    assert seen == [(job, ended) for job in map(str, range(1, 13)) for ended in (False, True)]
