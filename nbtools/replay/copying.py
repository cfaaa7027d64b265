"""A copy of a repository or folder, to be thrown away."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from nbtools.core.errors import ToolFailure, TraceError
from nbtools.replay.rooms import Room
from nbtools.workspace.commands.capture import Captured, capture
from nbtools.workspace.replicating import replicate

MOST = 2_000_000_000
"""Bytes of files that are copied at most."""
_SECONDS = 300
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "credential.helper": "",
    "protocol.allow": "never",
    "advice.detachedHead": "false",
    "gc.auto": "0",
}
_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
}
"""Nothing of the repository's own runs while it is copied: no hook, no monitor, and no transport.

For an object that a partial clone lacks, git would ask the remote with the program and the protocol that the repository's settings name.
"""
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE")
"""Variables that make git work on another repository than the folder's."""


@dataclass(frozen=True, slots=True)
class Copy:
    """``root`` stands for the folder that was copied; ``basis`` says in words what it has: a commit, or the files as they were.

    ``moved`` are folders of the original, by their names, and what stands for them in the copy.
    """

    root: Path
    basis: str
    room: Room
    moved: tuple[tuple[str, str], ...]

    def remove(self) -> None:
        """Nothing is left of it then.  May be called again."""
        self.room.close()


@asynccontextmanager
async def copied(folder: Path, commit: str = "", recorded: str = "") -> AsyncIterator[Copy]:
    """A copy as ``make_copy`` makes it, gone at the end."""
    copy = await make_copy(folder, commit, recorded)
    try:
        yield copy
    finally:
        await asyncio.to_thread(copy.remove)


async def make_copy(folder: Path, commit: str = "", recorded: str = "") -> Copy:
    """``folder`` at ``commit``; at the commit ``recorded`` in a log where the repository has that; else as it is, without what git ignores.

    A repository's copy has a ``.git`` of its own: branches, tags and history, whose objects are read where they are.  Nothing that is done
    in it reaches the repository (a worktree would share its branches, stashes and settings), and there is no remote.  A link that leads
    into the original leads into the copy.  Raises ``TraceError`` for a commit that is not there, and for what cannot be copied.
    """
    room = await asyncio.to_thread(Room)
    try:
        return await _copy(await asyncio.to_thread(folder.resolve), room, commit, recorded)
    except BaseException:
        await asyncio.to_thread(room.close)
        raise


async def _copy(folder: Path, room: Room, commit: str, recorded: str) -> Copy:
    root = await asyncio.to_thread(_empty, folder, room)
    repository = await _top_of(folder)
    whole = folder if repository is None else repository
    found, basis = await _filled(folder, repository, root, commit, recorded)
    await asyncio.to_thread(_turn_links, root, whole)
    return Copy(found, basis, room, ((str(folder), str(found)), (str(whole), str(root))))


def _empty(folder: Path, room: Room) -> Path:
    """An empty folder of the same name."""
    root = room.path / (folder.name or "root")
    root.mkdir()
    return root


def _turn_links(root: Path, original: Path) -> None:
    """Links that lead into the original by an absolute path would let a command write there; they lead into the copy instead."""
    for at, folders, files in os.walk(root):
        for name in (*folders, *files):
            link = Path(at, name)
            if link.is_symlink() and link.readlink().is_absolute() and (target := link.readlink().resolve()).is_relative_to(original):
                link.unlink()
                link.symlink_to(root / target.relative_to(original))
        folders[:] = [name for name in folders if name != ".git"]


async def _filled(folder: Path, repository: Path | None, root: Path, commit: str, recorded: str) -> tuple[Path, str]:
    if repository is None:
        if commit:
            raise TraceError(f"{folder} is in no git repository, so there is no commit {commit}.")
        return await _files(folder, root), "the folder as it is"
    known = await _named(repository, commit or recorded)
    if commit and not known:
        raise TraceError(f"{repository} has no commit {commit}. Fetch it first, or leave the commit out to copy the folder as it is.")
    if known:
        await _linked(repository, root)
        await _git(root, "checkout", "-q", "--detach", known)
        head = (await _git(root, "rev-parse", "--short", "HEAD")).stdout.strip()
        return _inside(root, folder, repository), f"commit {head}"
    missing = f"the folder as it is: the recorded commit {recorded[:12]} is not in its repository" if recorded else "the folder as it is"
    head = (await _git(repository, "rev-parse", "-q", "--verify", "HEAD", ok=(0, 1, 128))).stdout.strip()
    await _linked(repository, root)
    await _files(repository, root)
    if head:
        branch = (await _run(repository, "symbolic-ref", "-q", "HEAD")).stdout.strip()
        await _git(root, *(("symbolic-ref", "HEAD", branch) if branch else ("update-ref", "--no-deref", "HEAD", head)))
        await _git(root, "reset", "-q", "--mixed")
    return _inside(root, folder, repository), missing


def _inside(root: Path, folder: Path, repository: Path) -> Path:
    found = root / folder.relative_to(repository)
    if not found.is_dir():
        raise TraceError(f"the commit has no folder {folder.relative_to(repository)}.")
    return found


async def _files(folder: Path, root: Path) -> Path:
    try:
        await asyncio.to_thread(replicate, folder, root, most=MOST)
    except OSError as error:
        raise TraceError(f"{folder} cannot be copied: {error.filename or ''} {error.strerror or error}.") from error
    except ToolFailure as failure:
        raise TraceError(failure.message) from failure
    return root


async def _top_of(folder: Path) -> Path | None:
    """The checkout that the folder is in; None where it is in none, or git is not installed."""
    found = await _run(folder, "rev-parse", "--show-toplevel")
    named = found.stdout.rstrip("\n")
    return await asyncio.to_thread(Path(named).resolve) if found.ok and named else None


async def _named(repository: Path, commit: str) -> str:
    """The whole name of a commit; empty where there is none like it."""
    if not commit or commit.startswith("-"):
        return ""
    return (await _run(repository, "rev-parse", "-q", "--verify", f"{commit}^{{commit}}")).stdout.strip()


async def _linked(repository: Path, root: Path) -> None:
    """Branches and tags of ``repository`` in a new one at ``root`` that borrows its objects, a shallow one's end included."""
    objects, shallow = [await _path_of(repository, name) for name in ("objects", "shallow")]
    await _git(root, "init", "-q", "--template=")
    await asyncio.to_thread(_borrow, root / ".git", objects, shallow)
    await _git(root, "symbolic-ref", "HEAD", "refs/nbtools/none")
    heads = (await _git(repository, "for-each-ref", "--format=create %(refname) %(objectname)", "refs/heads", "refs/tags")).stdout
    await _git(root, "update-ref", "--stdin", given=heads)


def _borrow(git: Path, objects: Path, shallow: Path) -> None:
    """What lies in ``/tmp`` is copied: commands in a sandbox have a ``/tmp`` of their own."""
    if objects.resolve().is_relative_to("/tmp"):  # noqa: S108 - the place is meant
        shutil.copytree(objects, git / "objects", dirs_exist_ok=True)
    else:
        (git / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (git / "objects" / "info" / "alternates").write_text(f"{objects.resolve()}\n")
    if shallow.is_file():
        shutil.copyfile(shallow, git / "shallow")


async def _path_of(repository: Path, name: str) -> Path:
    return Path(repository, (await _git(repository, "rev-parse", "--git-path", name)).stdout.rstrip("\n"))


async def _git(folder: Path, *words: str, given: str = "", ok: tuple[int, ...] = (0,)) -> Captured:
    done = await _run(folder, *words, given=given)
    if done.ended.exit_code not in ok:
        said = done.stderr.strip().splitlines()
        raise TraceError(f"git {words[0]}: {said[-1] if said else f'it ended with {done.ended.exit_code}'}")
    return done


async def _run(folder: Path, *words: str, given: str = "") -> Captured:
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    plain = ["env", *(f"-u{name}" for name in _ELSEWHERE), "git", *settings]
    return await capture([*plain, *words], cwd=folder, given=given, seconds=_SECONDS, env=_ENVIRONMENT)
