"""Several files changed as one: all or none, whatever goes wrong."""

import asyncio
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.history.changes import Move, Remove, Write, apply_all
from tests.examples import examples


def tree(folder):
    """Every path with its content, kind and number."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes() if path.is_file() else None,
            path.lstat().st_mode,
            path.lstat().st_ino,
        )
        for path in sorted(folder.rglob("*"))
    }


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def files(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text(f"{name}\n")
    (tmp_path / "a").chmod(0o640)
    return tmp_path


def steps(folder):
    """One of each kind."""
    return [
        Write(folder / "a", "a", b"a\n", b"A\n"),
        Write(folder / "new" / "deep" / "d", "new/deep/d", None, b"d\n"),
        Remove(folder / "b", "b", b"b\n"),
        Move(folder / "c", folder / "other" / "c", "other/c"),
        Write(folder / "other" / "c", "other/c", b"c\n", b"C\n"),
    ]


async def test_all_steps_are_made(files):
    told = []
    made = await apply_all(steps(files), told.append)
    await asyncio.sleep(0)
    assert names(files) == ["a", "new", "new/deep", "new/deep/d", "other", "other/c"]
    assert ((files / "a").read_text(), (files / "other/c").read_text()) == ("A\n", "C\n")
    assert (files / "a").stat().st_mode & 0o777 == 0o640
    assert made == (files / "new", files / "new" / "deep", files / "other")
    assert told == [1, 2, 3, 4, 5]


BROKEN = {
    "changed meanwhile": lambda folder: Write(folder / "x", "x", b"before\n", b"after\n"),
    "gone meanwhile": lambda folder: Remove(folder / "nothing", "nothing", b""),
    "there already": lambda folder: Write(folder / "x", "x", None, b""),
    "a folder": lambda folder: Write(folder / "sub", "sub", b"", b"x"),
    "below a file": lambda folder: Write(folder / "x" / "y", "x/y", None, b""),
    "over a file": lambda folder: Move(folder / "x", folder / "sub", "sub"),
    "nothing to move": lambda folder: Move(folder / "nothing", folder / "free" / "place", "free/place"),
    "too long a name": lambda folder: Write(folder / ("n" * 300), "n", None, b""),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("after", range(6))
async def test_a_failure_at_any_step_leaves_everything_as_it_was(files, what, after):
    (files / "x").write_text("x\n")
    (files / "sub").mkdir()
    before = tree(files)
    all_steps = steps(files)
    all_steps.insert(after, BROKEN[what](files))
    with pytest.raises(ToolFailure) as caught:
        await apply_all(all_steps)
    assert tree(files) == before
    assert "Nothing was changed" in caught.value.message
    assert ("reverted" in caught.value.message) == (after > 0)


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_any_plan_that_fails_anywhere_leaves_everything_as_it_was(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    state = {}
    for name in data.draw(st.sets(st.sampled_from("abcdef"), min_size=1)):
        state[name] = data.draw(st.binary(max_size=5))
        (folder / name).write_bytes(state[name])
    before, plan, now = tree(folder), [], dict(state)
    for _ in range(data.draw(st.integers(0, 6))):
        step = data.draw(st.sampled_from(possible(folder, now)))
        plan.append(step())
    plan.append(Remove(folder / "none", "none", b""))
    with pytest.raises(ToolFailure):
        asyncio.run(apply_all(plan))
    assert tree(folder) == before
    asyncio.run(apply_all(plan[:-1]))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == now


def possible(folder, now):
    """Steps that can be made on the files as they are by then; each says what it leaves."""

    def write(name, after):
        before, now[name] = now.get(name), after
        return Write(folder / name, name, before, after)

    def remove(name):
        return Remove(folder / name, name, now.pop(name))

    def move(name, to):
        now[to] = now.pop(name)
        return Move(folder / name, folder / to, to)

    free = [name for name in "abcdefgh" if name not in now]
    return [
        *(lambda name=name: write(name, b"new " + name.encode()) for name in [*now, *free]),
        *(lambda name=name: remove(name) for name in now),
        *(lambda name=name: move(name, free[0]) for name in (now if free else ())),
    ]


async def test_a_full_disk_leaves_everything_as_it_was(tiny_disk):
    for name in "abc":
        (tiny_disk / name).write_bytes(b"x" * 12_000)
    before = tree(tiny_disk)
    plan = [Write(tiny_disk / name, name, b"x" * 12_000, b"y" * 16_000) for name in "abc"]
    with pytest.raises(ToolFailure) as caught:
        await apply_all(plan)
    assert caught.value.code is ErrorCode.NO_SPACE_LEFT
    assert tree(tiny_disk) == before


def test_a_limit_on_the_size_of_files_leaves_everything_as_it_was(files):
    program = """
        import asyncio, resource, signal, sys
        from pathlib import Path
        from nbtools.core.errors import ToolFailure
        from nbtools.workspace.history.changes import Write, apply_all
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        folder = Path(sys.argv[1])
        plan = [Write(folder / "a", "a", b"a\\n", b"A\\n"), Write(folder / "b", "b", b"b\\n", b"B" * 2000)]
        try:
            asyncio.run(apply_all(plan))
        except ToolFailure as failure:
            print(failure.code)
    """
    before = tree(files)
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(files)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path.cwd(),
    )
    assert ended.stdout == "file_too_large\n"
    assert tree(files) == before


async def test_a_folder_that_takes_nothing_leaves_everything_as_it_was(open_folder, as_nobody):
    with as_nobody():
        closed = open_folder / "closed"
        closed.mkdir()
        (open_folder / "a").write_text("a\n")
        closed.chmod(0o555)
        before = tree(open_folder)
        made = asyncio.ensure_future(
            apply_all(
                [Write(open_folder / "a", "a", b"a\n", b"A\n"), Write(closed / "b", "closed/b", None, b"b\n")]
            )
        )
        with pytest.raises(ToolFailure) as caught:
            await made
        assert caught.value.code is ErrorCode.PERMISSION_DENIED
        assert tree(open_folder) == before
        closed.chmod(0o755)


async def test_a_file_with_two_names_keeps_both_and_is_put_back(files):
    os.link(files / "a", files / "twin")
    before = tree(files)
    with pytest.raises(ToolFailure):
        await apply_all([Write(files / "a", "a", b"a\n", b"AAAA\n"), Remove(files / "none", "none", b"")])
    assert tree(files) == before
    await apply_all([Write(files / "a", "a", b"a\n", b"AAAA\n")])
    assert (files / "twin").read_bytes() == b"AAAA\n"


async def test_a_change_that_cannot_be_rolled_back_is_reported(files):
    class Spoiler(Remove):
        """Somebody else writes into the first file before the last step fails."""

        def make(self, *, sync):
            (files / "a").write_text("somebody else's\n")
            return super().make(sync=sync)

    plan = [
        Write(files / "a", "a", b"a\n", b"A\n"),
        Remove(files / "b", "b", b"b\n"),
        Spoiler(files / "none", "none", b""),
    ]
    with pytest.raises(ToolFailure) as caught:
        await apply_all(plan)
    assert caught.value.code is ErrorCode.FILE_WRITE_FAILURE
    assert "Not everything could be restored: a was changed" in caught.value.message
    assert (files / "a").read_text() == "somebody else's\n"
    assert (files / "b").read_text() == "b\n"
    (kept,) = files.glob(".nbtools-*")
    assert kept.name in caught.value.message
    assert kept.read_text() == "a\n"


@pytest.mark.parametrize("after", [1, 5, 50, 100])
async def test_cancelled_it_puts_everything_back(tmp_path, after):
    for number in range(100):
        (tmp_path / str(number)).write_text("x")
    before = tree(tmp_path)
    plan = [Write(tmp_path / str(number), str(number), b"x", b"y") for number in range(100)]
    work = asyncio.ensure_future(apply_all(plan, lambda done: done == after and work.cancel()))
    with pytest.raises(asyncio.CancelledError):
        await work
    assert tree(tmp_path) == before


async def test_cancelled_twice_it_still_puts_everything_back(tmp_path):
    for number in range(50):
        (tmp_path / str(number)).write_text("x")
    before = tree(tmp_path)
    plan = [Write(tmp_path / str(number), str(number), b"x", b"y") for number in range(50)]
    loop = asyncio.get_running_loop()

    def cancel(done):
        if done == 5:
            work.cancel()
            loop.call_soon(work.cancel)
            loop.call_later(0.001, work.cancel)

    work = asyncio.ensure_future(apply_all(plan, cancel))
    with pytest.raises(asyncio.CancelledError):
        await work
    assert tree(tmp_path) == before


async def test_another_file_system(tmp_path, tiny_disk):
    (tmp_path / "f").write_text("f\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "in it").write_text("x")
    (folder / "link").symlink_to("in it")
    await apply_all(
        [Move(tmp_path / "f", tiny_disk / "f", "f"), Move(folder, tiny_disk / "folder", "folder")]
    )
    assert names(tiny_disk) == ["f", "folder", "folder/in it", "folder/link"]
    assert (tiny_disk / "folder/link").readlink() == Path("in it")
    assert not folder.exists()
    big = tmp_path / "big"
    big.write_bytes(b"x" * 100_000)
    with pytest.raises(ToolFailure) as caught:
        await apply_all([Move(tiny_disk / "f", tmp_path / "f", "f"), Move(big, tiny_disk / "big", "big")])
    assert caught.value.code is ErrorCode.NO_SPACE_LEFT
    assert (tiny_disk / "f").read_text() == "f\n"
    assert names(tiny_disk) == ["f", "folder", "folder/in it", "folder/link"]
    assert big.exists()
