"""Two sessions on one file, or a session and an editor:
every edit that was acknowledged is in the file, or its loss was reported.
"""

import asyncio
import multiprocessing
import random
import time

import pytest

from nbtools.core.errors import ErrorCode
from nbtools.policy.decide import Policy
from nbtools.session import Session

EDITS = 120


async def edits(folder, name, acknowledged):
    """Adds one line after the other; returns the acknowledged ones."""
    async with Session(folder, policy=Policy(mode="yolo")) as session:
        for number in range(EDITS):
            mark = f"{name}-{number}"
            result = await session.call("edit", {"path": "f", "old": "end\n", "new": f"{mark}\nend\n"})
            if result.error is None:
                acknowledged.append(mark)
            else:
                assert result.error.code in (ErrorCode.CONFLICT, ErrorCode.EDIT_NO_OCCURRENCE_FOUND), (
                    result.error
                )
    return acknowledged


def in_a_process(folder, name, queue):
    queue.put(asyncio.run(edits(folder, name, [])))


def saves(folder, queue):
    """An editor that knows nothing of locks: reads, adds its line, saves;
    what is in the file when it looks again.
    """
    path, saved, chance = folder / "f", [], random.Random(7)
    for number in range(EDITS):
        text = path.read_text()
        mark = f"editor-{number}"
        new = text.replace("end\n", f"{mark}\nend\n")
        (folder / "editor's").write_text(new)
        if path.read_text() == text:  # as editors do: a file changed outside is asked about
            (folder / "editor's").replace(path)
            saved.append(mark)
        time.sleep(chance.random() * 0.004)  # a person saves now and then: the pace is what is tested
    queue.put(saved)


def run(*workers):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [
        context.Process(target=function, args=(*arguments, queue)) for function, *arguments in workers
    ]
    for process in processes:
        process.start()
    told = [mark for _ in processes for mark in queue.get(timeout=100)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    return told


@pytest.mark.slow
def test_two_sessions_lose_nothing(tmp_path):
    (tmp_path / "f").write_text("start\nend\n")
    told = run((in_a_process, tmp_path, "one"), (in_a_process, tmp_path, "two"))
    lines = (tmp_path / "f").read_text().split("\n")
    assert len(told) > EDITS
    assert [mark for mark in told if lines.count(mark) != 1] == []
    assert len(lines) == len(told) + 3


async def test_two_sessions_in_one_process_lose_nothing(tmp_path):
    (tmp_path / "f").write_text("start\nend\n")
    told = await asyncio.gather(edits(tmp_path, "one", []), edits(tmp_path, "two", []))
    lines = (tmp_path / "f").read_text().split("\n")
    assert sorted(lines[1:-2]) == sorted([*told[0], *told[1]])


@pytest.mark.slow
def test_an_editor_that_saves_by_renaming_never_loses_a_save_to_a_session(tmp_path):
    """The session's edits may go under the editor's save, which looks and leaps without a lock;
    the editor's never go under a session's.
    """
    (tmp_path / "f").write_text("start\nend\n")
    told = run((in_a_process, tmp_path, "session"), (saves, tmp_path))
    lines = (tmp_path / "f").read_text().split("\n")
    assert [mark for mark in told if mark.startswith("editor") and mark not in lines] == []
    assert set(lines) <= {"start", "end", "", *told}
    assert len(set(lines)) == len(lines)
