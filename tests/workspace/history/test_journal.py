"""Before-images are on the disk before anything is overwritten,
and nothing that goes wrong with the journal loses a file.
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import ErrorCode, Policy, Session
from nbtools.core.errors import ToolFailure
from nbtools.core.settings import Settings
from nbtools.workspace.files.atomic_write import WriteOptions, replace_content
from nbtools.workspace.history.changes import make_change, make_changes
from nbtools.workspace.history.content import apply_delta, delta, fingerprint
from nbtools.workspace.history.journal import Journal
from nbtools.workspace.history.operations import AppliedStep, RemoveTree, Write
from nbtools.workspace.history.store import DATABASE_NAME

YOLO = Policy(mode="yolo")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("NBTOOLS_STATE", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def journal_of(root: Path, **given_: int) -> Journal:
    settings = Settings(**given_)  # type: ignore[arg-type]
    return Journal(root, settings)


def wrote(journal: Journal, path: Path, before: bytes | None, after: bytes) -> None:
    make_change(journal, Write(path, path.name, before, after))


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300))
def test_a_difference_makes_the_new_content_of_the_old(
    head: bytes, old: bytes, new: bytes, tail: bytes
) -> None:
    before, after = head + old + tail, head + new + tail
    change = delta(before, after)
    assert change is not None
    assert apply_delta(change, before) == after
    assert len(change) <= 16 + max(len(new), len(old) + len(new))


@pytest.mark.parametrize("size", [0, 1, 70_000, 300_000, 2_000_000])
def test_contents_of_any_size_are_stored(root: Path, state: Path, size: int) -> None:
    journal, path = journal_of(root), root / "f"
    before = os.urandom(size)
    path.write_bytes(before)
    wrote(journal, path, before, b"after")
    (entry,) = journal.entries()
    assert journal.content(entry.records[0].before) == before
    assert entry.status == "made"
    journal.close()


def large(name: Path) -> bytes:
    data = os.urandom(40_000)
    name.write_bytes(data)
    return data


def stored_files(journal: Journal) -> list[Path]:
    return list((journal.folder / "blobs").iterdir())


def test_a_replaced_file_is_stored_without_copying_a_byte(root: Path, state: Path) -> None:
    journal, path = journal_of(root), root / "f"
    before, inode = large(path), path.stat().st_ino
    wrote(journal, path, before, b"after")
    (one,) = stored_files(journal)
    assert (one.stat().st_ino, one.stat().st_nlink, path.stat().st_nlink) == (inode, 1, 1)
    journal.close()


def test_a_file_with_several_names_is_stored_as_a_copy(root: Path, state: Path) -> None:
    journal, path = journal_of(root), root / "f"
    before = large(path)
    (root / "other").hardlink_to(path)
    wrote(journal, path, before, b"after")
    assert (root / "other").read_bytes() == b"after"
    assert journal.content(journal.entries()[0].records[0].before) == before
    journal.close()


def test_a_file_that_gets_a_second_name_at_the_last_moment_is_stored_as_a_copy(
    root: Path, state: Path
) -> None:
    journal, path = journal_of(root), root / "f"
    before = large(path)
    place = journal.backup_path(path, before)
    (root / "other").hardlink_to(path)
    replace_content(path, b"after", before, "f", WriteOptions(store=place))
    assert place is not None
    assert (root / "other").read_bytes() == b"after"
    assert place.read_bytes() == before
    assert not place.samefile(path)


def test_a_change_that_is_refused_leaves_no_second_name(root: Path, state: Path) -> None:
    journal, path = journal_of(root), root / "f"
    before = large(path)
    with pytest.raises(ToolFailure):
        wrote(journal, path, before[::-1], b"after")
    assert path.read_bytes() == before
    assert path.stat().st_nlink == 1
    assert not stored_files(journal)
    assert not journal.entries()
    journal.close()


async def test_a_rolled_back_file_has_one_name_again(root: Path, state: Path) -> None:
    journal, path = journal_of(root), root / "f"
    before, inode = large(path), path.stat().st_ino
    with pytest.raises(ToolFailure):
        await make_changes(
            journal, [Write(path, "f", before, b"after"), Write(root / "g", "g", b"not there", b"")]
        )
    assert (path.read_bytes(), path.stat().st_ino, path.stat().st_nlink) == (before, inode, 1)
    assert not stored_files(journal)
    assert not journal.entries()
    journal.close()


async def test_a_stored_file_that_another_program_still_writes_is_not_restored(
    root: Path, state: Path
) -> None:
    path = root / "f"
    path.write_text("line\n" * 10_000)
    with path.open("a") as log:
        async with Session(root, policy=YOLO) as session:
            assert (
                await session.call("edit", {"path": "f", "old": "line\n", "new": "LINE\n", "count": 10_000})
            ).ok
            log.write("late\n")
            log.flush()
            refused = await session.undo()
            assert refused.error is not None
            (spoiled,) = stored_files(session.workspace.journal)
            assert (
                f"f: a program that had it open changed the stored copy, {spoiled}" in refused.error.message
            )
            assert path.read_text() == "LINE\n" * 10_000


async def test_a_partial_change_that_could_not_be_rolled_back_can_be_undone(root: Path, state: Path) -> None:
    for name in "ab":
        (root / name).write_text(f"{name}\n")

    @dataclass(frozen=True, slots=True)
    class Stuck(Write):
        """Cannot be taken back."""

        def make(self, *, sync: bool) -> AppliedStep:
            return dataclasses.replace(Write.make(self, sync=sync), back=broken_disk)

    async with Session(root, policy=YOLO) as session:
        journal = session.workspace.journal
        steps = [
            Write(root / "a", "a", b"a\n", b"A\n"),
            Stuck(root / "b", "b", b"b\n", b"B\n"),
            Write(root / "c", "c", b"no", b""),
        ]
        with pytest.raises(ToolFailure, match="Not everything could be restored"):
            await make_changes(journal, steps)
        assert [(root / name).read_text() for name in "ab"] == ["a\n", "B\n"]
        (change,) = session.changes
        assert change.partly
        undone = await session.undo()
        assert undone.ok, undone.error
        assert [(root / name).read_text() for name in "ab"] == ["a\n", "b\n"]


def broken_disk() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("size", [10, 300_000, 3_000_000])
def test_every_change_of_a_content_has_another_fingerprint(size: int) -> None:
    data = os.urandom(size)
    places = (0, size // 2, size - 1)
    others = [data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :] for place in places]
    assert len({fingerprint(one) for one in (data, *others, data + b"x", data[1:], b"", None)}) == 8


def test_nobody_else_can_read_it(root: Path, state: Path) -> None:
    journal = journal_of(root)
    (root / "secret").write_bytes(b"s" * 2_000_000)
    (root / "dir").mkdir()
    (root / "dir" / "f").write_text("x")
    wrote(journal, root / "secret", b"s" * 2_000_000, b"")
    asyncio.run(make_changes(journal, [RemoveTree(root / "dir", "dir")]))
    for path in (state, journal.folder, journal.folder / "blobs", journal.folder / "trash"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
    for path in journal.folder.glob("journal.sqlite*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    journal.close()


def test_without_storage_nothing_is_changed_and_the_message_says_how_to_continue(
    root: Path, state: Path
) -> None:
    state.write_text("a file where the folder should be")
    journal, path = journal_of(root), root / "f"
    path.write_bytes(b"before")
    with pytest.raises(ToolFailure) as caught:
        wrote(journal, path, b"before", b"after")
    assert "Nothing was changed" in caught.value.message
    assert "journal=False" in caught.value.message
    assert path.read_bytes() == b"before"


async def test_a_journal_that_cannot_be_opened_says_so_and_the_way_on(root: Path, state: Path) -> None:
    async with Session(root, policy=YOLO) as session:
        (session.workspace.journal.folder / DATABASE_NAME).mkdir(parents=True)
        for result in (await session.call("write", {"path": "f", "content": "x"}), await session.undo()):
            assert result.error is not None
            assert "The journal of this workspace cannot be used" in result.error.message
            assert "%tools set journal off" in result.error.message
        assert not (root / "f").exists()


def test_a_full_disk_of_the_journal_changes_nothing(
    root: Path, tiny_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tiny_disk / "state"))
    journal, path = journal_of(root), root / "f"
    for size in (60_000, 3_000_000):
        before = os.urandom(size)
        path.write_bytes(before)
        with pytest.raises(ToolFailure) as caught:
            wrote(journal, path, before, b"after")
        assert caught.value.code in (ErrorCode.NO_SPACE_LEFT, ErrorCode.FILE_WRITE_FAILURE)
        assert path.read_bytes() == before
    assert not list((journal.folder / "blobs").iterdir()) if (journal.folder / "blobs").exists() else True
    journal.close()


@pytest.mark.parametrize("damage", ["no database", "pages overwritten"])
def test_a_damaged_journal_is_set_aside_and_reported_and_calls_continue(
    root: Path, state: Path, damage: str
) -> None:
    journal, path = journal_of(root), root / "f"
    path.write_bytes(b"0")
    for number in range(50):
        wrote(journal, path, b"%d" % number, b"%d" % (number + 1))
    folder = journal.folder
    journal.close()
    data = bytearray((folder / DATABASE_NAME).read_bytes())
    spoiled = slice(0, 100) if damage == "no database" else slice(4096, len(data))
    data[spoiled] = os.urandom(len(data[spoiled]))
    (folder / DATABASE_NAME).write_bytes(data)
    journal = journal_of(root)
    wrote(journal, path, b"50", b"51")
    assert path.read_bytes() == b"51"
    assert len(journal.entries()) == 1
    assert any("was corrupt and has been set aside" in notice for notice in journal.notices)
    assert list(folder.glob("broken-*.sqlite"))
    journal.close()


def test_a_journal_that_was_deleted_is_created_again(root: Path, state: Path) -> None:
    journal, path = journal_of(root), root / "f"
    path.write_bytes(b"0")
    wrote(journal, path, b"0", b"1")
    for file in journal.folder.glob("journal.sqlite*"):
        file.unlink()
    wrote(journal, path, b"1", b"2")
    assert len(journal.entries()) == 1
    journal.close()


def test_a_full_journal_drops_its_oldest_entries_and_reports_it(root: Path, state: Path) -> None:
    journal, path = journal_of(root, journal_bytes=1_000_000), root / "f"
    before = os.urandom(100_000)
    path.write_bytes(before)
    (root / "dir").mkdir()
    (root / "dir" / "x").write_bytes(bytes(10_000))
    asyncio.run(make_changes(journal, [RemoveTree(root / "dir", "dir")]))
    for _ in range(30):
        after = os.urandom(100_000)
        wrote(journal, path, before, after)
        before = after
    entries = journal.entries()
    assert 1 < len(entries) < 12
    assert [entry.id for entry in entries] == list(range(entries[0].id, 32))
    assert not list((journal.folder / "trash").iterdir())
    assert any("cannot be undone any more" in notice for notice in journal.notices)
    assert journal.store.query("SELECT sum(stored) FROM blobs")[0][0] <= 1_000_000
    journal.close()


async def test_a_change_that_was_dropped_says_so(root: Path, state: Path) -> None:
    async with Session(root, policy=YOLO, settings=Settings(journal_bytes=20_000)) as session:
        for number in range(20):
            await session.call("write", {"path": "f", "content": os.urandom(2_000).hex()}, id=f"c{number}")
        refused = await session.undo("c0")
        assert refused.error is not None
        assert "cannot be undone any more" in refused.error.message
        assert session.journal_notices
        assert (await session.undo("c19")).ok


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from nbtools.core.settings import Settings
    from nbtools.workspace.history import changes, operations as steps
    from nbtools.workspace.history.journal import Journal

    root, moment = Path(sys.argv[1]), sys.argv[2]
    journal = Journal(root, Settings())

    class Killed(steps.Write):
        def make_alone(self):
            if moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            super().make_alone()
            os.kill(os.getpid(), signal.SIGKILL)

    changes.make_change(journal, Killed(root / "f", "f", b"before\\n", b"after\\n"))
"""


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_killed_between_record_and_change_the_files_tell_how_far_it_came(
    root: Path, state: Path, moment: str
) -> None:
    path = root / "f"
    path.write_text("before\n")
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(root), moment], check=False, timeout=30
    )
    assert ended.returncode == -9
    assert path.read_text() == f"{moment}\n"
    async with Session(root, policy=YOLO) as session:
        (change,) = session.changes
        undone = await session.undo(change.id)
        assert undone.ok, undone.error
        assert [file.outcome for file in undone.data.files] == [
            "restored" if moment == "after" else "as before"
        ]
        assert path.read_text() == "before\n"


def test_several_sessions_write_at_once(root: Path, state: Path) -> None:
    program = """
        import sys
        from pathlib import Path
        from nbtools.core.settings import Settings
        from nbtools.workspace.history.changes import make_change
        from nbtools.workspace.history.journal import Journal
        from nbtools.workspace.history.operations import Write
        root, name = Path(sys.argv[1]), sys.argv[2]
        journal, before = Journal(root, Settings()), None
        for number in range(50):
            after = b"%d" % number
            make_change(journal, Write(root / name, name, before, after))
            before = after
        journal.close()
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(root)]
    started = [subprocess.Popen([*command, name]) for name in "abcd"]
    assert [process.wait(60) for process in started] == [0, 0, 0, 0]
    journal = journal_of(root)
    entries = journal.entries()
    assert len(entries) == 200
    assert all(entry.status == "made" for entry in entries)
    assert journal.store.query("PRAGMA integrity_check")[0][0] == "ok"
    journal.close()


async def test_two_sessions_on_one_file_never_overwrite_each_other_silently(root: Path, state: Path) -> None:
    path = root / "f"
    path.write_text("".join(f"line {number}\n" for number in range(60)))

    async def edit(session: Session, number: int) -> bool:
        return (
            await session.call("edit", {"path": "f", "old": f"line {number}\n", "new": f"LINE {number}\n"})
        ).ok

    async with Session(root, policy=YOLO) as one, Session(root, policy=YOLO) as other:
        done = await asyncio.gather(
            *(edit(one if number % 2 else other, number) for number in range(0, 60, 3))
        )
        expected = ("LINE" if number % 3 == 0 and done[number // 3] else "line" for number in range(60))
        assert path.read_text() == "".join(f"{word} {number}\n" for number, word in enumerate(expected))
        assert len(one.changes) == sum(done)
        undone = await other.undo(merge=True)
        assert undone.ok, undone.error


def test_without_shared_memory_it_works_as_well(root: Path, state: Path) -> None:
    journal = journal_of(root)
    journal.folder.mkdir(parents=True)
    sqlite3.connect(journal.folder / DATABASE_NAME).close()
    with sqlite3.connect(journal.folder / DATABASE_NAME) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    (root / "f").write_bytes(b"0")
    wrote(journal, root / "f", b"0", b"1")
    assert len(journal.entries()) == 1
    journal.close()
