"""Disks that are full, out of inodes, read-only or limited:
no change is partial, the reason is reported, the journal stays readable.
"""

import contextlib
import os
import resource
import shutil
import signal
import sqlite3
import subprocess

import pytest

from nbtools.core.errors import ErrorCode
from nbtools.policy.decide import Policy
from nbtools.session import Session
from tests.faults.operations import OPERATIONS, tree, without_folders

NAMES = [
    "write new",
    "write over",
    "edit",
    "patch",
    "move",
    "move over",
    "move folder",
    "delete",
    "delete folder",
    "replace_in_files",
]
FULL = {ErrorCode.NO_SPACE_LEFT, ErrorCode.FILE_WRITE_FAILURE}


@pytest.fixture
def mounted(tmp_path):
    """Mounts a small file system in memory; ``options`` as for ``mount``."""
    places = []

    def mount(name, options):
        place = tmp_path / name
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"{options},mode=0777", "tmpfs", str(place)]
        if (
            shutil.which("mount") is None
            or subprocess.run(command, capture_output=True, check=False).returncode != 0
        ):
            pytest.skip("no tmpfs can be mounted here: that needs root")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Returns the folder of the journal."""
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def fill(disk, leave=0):
    """Leaves so many bytes free, in whole pages."""
    with contextlib.suppress(OSError), (disk / "ballast").open("wb") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()
    size = (disk / "ballast").stat().st_size
    os.truncate(disk / "ballast", max(0, (size - leave) // 4096 * 4096))


def take_inodes(disk, leave=0):
    made = []
    with contextlib.suppress(OSError):
        for number in range(100_000):
            (disk / f"ballast{number}").touch()
            made.append(disk / f"ballast{number}")
    for path in made[: leave or 0]:
        path.unlink()


def check_journal(session, state):
    """The next process can read it."""
    assert [change.id for change in session.changes][:1] == ["earlier"]
    for file in state.rglob("journal.sqlite"):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert not list(state.rglob("broken-*"))


async def try_it(operation, session, folder, codes):
    """The operation is done completely or not at all, with a reason; returns whether it was done."""
    before = tree(folder)
    result = await session.call(operation.tool, operation.arguments)
    now = tree(folder)
    assert not [name for name in now if ".nbtools-" in name]
    if result.error is None:
        assert now != before
        return True
    assert result.error.code in codes, result.error
    assert "\n" not in result.error.message
    assert now == before
    return False


async def started(operation, folder):
    """A session with one change in its journal."""
    folder.mkdir(exist_ok=True)
    operation.fill(folder)
    session = Session(folder, policy=Policy(mode="yolo"))
    assert (
        await session.call("write", {"path": "earlier", "content": "earlier\n"}, id="earlier")
    ).error is None
    return session


@pytest.mark.parametrize("leave", [0, 4096, 12_288, 65_536])
@pytest.mark.parametrize("name", NAMES)
async def test_a_full_disk(name, leave, mounted, state):
    disk = mounted("disk", "size=1m")
    folder = disk / "workspace"
    session = await started(OPERATIONS[name], folder)
    fill(disk, leave)
    made = await try_it(OPERATIONS[name], session, folder, FULL)
    check_journal(session, state)
    (disk / "ballast").unlink()
    if not made:
        assert await try_it(OPERATIONS[name], session, folder, ())
    await session.close()


@pytest.mark.parametrize("leave", [0, 1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
async def test_no_inodes_left(name, leave, mounted, state):
    disk = mounted("disk", "size=4m,nr_inodes=60")
    folder = disk / "workspace"
    session = await started(OPERATIONS[name], folder)
    take_inodes(disk, leave)
    await try_it(OPERATIONS[name], session, folder, FULL)
    check_journal(session, state)
    await session.close()


@pytest.mark.parametrize("leave", [0, 4096, 16_384, 65_536])
@pytest.mark.parametrize("name", NAMES)
async def test_a_full_disk_under_the_journal(name, leave, mounted, tmp_path, monkeypatch):
    """A file whose old content cannot be stored is not changed, and the message names a way to continue."""
    disk = mounted("disk", "size=1m")
    monkeypatch.setenv("NBTOOLS_STATE", str(disk / "state"))
    folder = tmp_path / "workspace"
    session = await started(OPERATIONS[name], folder)
    fill(disk, leave)
    made = await try_it(OPERATIONS[name], session, folder, FULL)
    (disk / "ballast").unlink()
    check_journal(session, disk / "state")
    if not made:
        assert await try_it(OPERATIONS[name], session, folder, ())
    await session.close()


async def test_a_session_ends_on_a_full_disk(mounted, tmp_path, monkeypatch):
    disk = mounted("disk", "size=1m")
    monkeypatch.setenv("NBTOOLS_STATE", str(disk / "state"))
    session = await started(OPERATIONS["edit"], tmp_path / "workspace")
    assert (await session.call("write", {"path": "new", "content": "new\n"})).error is None
    fill(disk)
    await session.close()
    async with Session(tmp_path / "workspace") as other:
        (disk / "ballast").unlink()
        assert len(other.changes) == 2


@pytest.mark.parametrize("name", NAMES)
async def test_a_disk_that_becomes_read_only(name, mounted, state):
    disk = mounted("disk", "size=1m")
    session = await started(OPERATIONS[name], disk / "workspace")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    codes = {ErrorCode.PERMISSION_DENIED}
    assert not await try_it(OPERATIONS[name], session, disk / "workspace", codes)
    check_journal(session, state)
    undone = await session.undo("earlier")
    assert undone.error.code in codes
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert await try_it(OPERATIONS[name], session, disk / "workspace", ())
    assert (await session.undo("earlier")).error is None
    await session.close()


@pytest.mark.parametrize("name", NAMES)
async def test_a_read_only_disk_under_the_journal(name, mounted, tmp_path, monkeypatch):
    disk = mounted("disk", "size=1m")
    monkeypatch.setenv("NBTOOLS_STATE", str(disk / "state"))
    session = await started(OPERATIONS[name], tmp_path / "workspace")
    await session.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    session = Session(tmp_path / "workspace", policy=Policy(mode="yolo"))
    assert not await try_it(
        OPERATIONS[name], session, tmp_path / "workspace", {*FULL, ErrorCode.PERMISSION_DENIED}
    )
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert await try_it(OPERATIONS[name], session, tmp_path / "workspace", ())
    check_journal(session, disk / "state")
    await session.close()


@pytest.mark.parametrize(
    "name", ["undo of a patch", "undo of a write", "undo of a move", "undo of a deletion"]
)
@pytest.mark.parametrize("leave", [0, 4096])
async def test_an_undo_on_a_full_disk(name, leave, mounted, state):
    disk = mounted("disk", "size=1m")
    folder = disk / "workspace"
    operation = OPERATIONS[OPERATIONS[name].undoes]
    session = await started(operation, folder)
    old = tree(folder)
    assert (await session.call(operation.tool, operation.arguments, id="call")).error is None
    new = tree(folder)
    fill(disk, leave)
    undone = await session.undo("call")
    now = tree(folder)
    if undone.error is not None:
        assert undone.error.code in FULL
        assert without_folders(now) == without_folders(new)
        (disk / "ballast").unlink()
        assert (await session.undo("call")).error is None
        now = tree(folder)
    assert now == old
    await session.close()


@pytest.mark.parametrize("limit", [0, 1, 1000, 9000])
@pytest.mark.parametrize("name", ["write new", "write over", "edit", "patch", "replace_in_files"])
async def test_a_limit_on_the_size_of_files(name, limit, tmp_path, state):
    """The journal's file is under it, too."""
    session = await started(OPERATIONS[name], tmp_path / "workspace")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        made = await try_it(
            OPERATIONS[name], session, tmp_path / "workspace", {*FULL, ErrorCode.FILE_TOO_LARGE}
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    check_journal(session, state)
    if not made:
        assert await try_it(OPERATIONS[name], session, tmp_path / "workspace", ())
    await session.close()


async def test_a_clock_that_goes_back(tmp_path, state, monkeypatch):
    """Entries keep the order in which they were made, whatever the clock said."""
    session = await started(OPERATIONS["edit"], tmp_path / "workspace")
    session._scheduler.clock = lambda: 0.0
    for step in range(3):
        monkeypatch.setattr("time.time", lambda step=step: 1_000_000_000.0 - step * 86_400)
        assert (
            await session.call("write", {"path": "f", "content": f"{step}\n"}, id=f"call {step}")
        ).error is None
    assert [change.id for change in session.changes] == ["earlier", "call 0", "call 1", "call 2"]
    assert (await session.undo()).error is None
    assert (tmp_path / "workspace" / "f").read_text() == "1\n"
    await session.close()
