"""Creates temporary copies of repositories and folders for replay."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from nbtools.core.errors import ToolFailure, TraceError
from nbtools.replay.temp_folders import TempFolder
from nbtools.workspace.files.copy_move import copy_project
from nbtools.workspace.processes.capture import CaptureResult, capture

MOST = 2_000_000_000
"""Maximum total size of the copied files, in bytes."""
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
"""Settings that keep git from running the repository's own hooks, monitors and transports while it is copied.

For an object missing from a partial clone,
git would contact the remote with the program that the repository's settings name.
"""
_REPOSITORY_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
)
"""Environment variables that make git use another repository than the folder's."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A temporary copy.  ``root`` corresponds to the copied folder;
    ``basis`` describes its state: a commit, or the files as they were.

    ``moved`` are pairs of an original folder and its counterpart in the copy.
    """

    root: Path
    basis: str
    temp_folder: TempFolder
    moved: tuple[tuple[str, str], ...]

    def remove(self) -> None:
        """Removes the copy.  May be called again."""
        self.temp_folder.close()


@asynccontextmanager
async def temporary_copy(folder: Path, commit: str = "", recorded: str = "") -> AsyncIterator[Copy]:
    """Yields a copy made by ``make_copy`` and removes it at the end."""
    copy = await make_copy(folder, commit, recorded)
    try:
        yield copy
    finally:
        await asyncio.to_thread(copy.remove)


async def make_copy(folder: Path, commit: str = "", recorded: str = "") -> Copy:
    """Copies ``folder`` at ``commit``, else at the ``recorded`` commit if the repository has it,
    else as it is without git-ignored files.

    A repository's copy has its own ``.git`` with branches, tags and history, which borrows the original's
    objects.  Nothing done in it affects the repository (a worktree would share its branches, stashes and
    settings), and there is no remote.  Absolute links into the original are redirected to the copy.  Raises
    ``TraceError`` for an unknown commit, and if the folder cannot be copied.
    """
    room = await asyncio.to_thread(TempFolder)
    try:
        return await _copy(await asyncio.to_thread(folder.resolve), room, commit, recorded)
    except BaseException:
        await asyncio.to_thread(room.close)
        raise


async def _copy(folder: Path, room: TempFolder, commit: str, recorded: str) -> Copy:
    root = await asyncio.to_thread(_create_root, folder, room)
    repository = await _repository_of(folder)
    top = folder if repository is None else repository
    found, basis = await _fill(folder, repository, root, commit, recorded)
    await asyncio.to_thread(_redirect_links, root, top)
    return Copy(found, basis, room, ((str(folder), str(found)), (str(top), str(root))))


def _create_root(folder: Path, room: TempFolder) -> Path:
    """Creates an empty folder of the same name."""
    root = room.path / (folder.name or "root")
    root.mkdir()
    return root


def _redirect_links(root: Path, original: Path) -> None:
    """Redirects absolute links into the original to the copy,
    so that commands cannot write to the original.
    """
    for at, folders, files in os.walk(root):
        for name in (*folders, *files):
            link = Path(at, name)
            if not link.is_symlink() or not link.readlink().is_absolute():
                continue
            target = Path(os.path.realpath(link.readlink()))  # Path.resolve raises for a loop of links
            if target.is_relative_to(original):
                link.unlink()
                link.symlink_to(root / target.relative_to(original))
        folders[:] = [name for name in folders if name != ".git"]


async def _fill(
    folder: Path, repository: Path | None, root: Path, commit: str, recorded: str
) -> tuple[Path, str]:
    if repository is None:
        if commit:
            raise TraceError(f"{folder} is not in a git repository, so it has no commit {commit}.")
        return await _copy_files(folder, root), "the folder as it is"
    found_commit = await _full_hash(repository, commit or recorded)
    if commit and not found_commit:
        raise TraceError(
            f"{repository} has no commit {commit}. Fetch it first, or leave the commit out to copy the folder"
            " as it is."
        )
    if found_commit:
        await _create_repository(repository, root)
        await _git(root, "checkout", "-q", "--detach", found_commit)
        head = (await _git(root, "rev-parse", "--short", "HEAD")).stdout.strip()
        return _counterpart(root, folder, repository), f"commit {head}"
    basis = (
        f"the folder as it is: the recorded commit {recorded[:12]} is not in its repository"
        if recorded
        else "the folder as it is"
    )
    head = (await _git(repository, "rev-parse", "-q", "--verify", "HEAD", ok=(0, 1, 128))).stdout.strip()
    await _create_repository(repository, root)
    await _copy_files(repository, root)
    if head:
        branch = (await _run(repository, "symbolic-ref", "-q", "HEAD")).stdout.strip()
        await _git(
            root,
            *(("symbolic-ref", "HEAD", branch) if branch else ("update-ref", "--no-deref", "HEAD", head)),
        )
        await _git(root, "reset", "-q", "--mixed")
    return _counterpart(root, folder, repository), basis


def _counterpart(root: Path, folder: Path, repository: Path) -> Path:
    found = root / folder.relative_to(repository)
    if not found.is_dir():
        raise TraceError(f"the commit has no folder {folder.relative_to(repository)}.")
    return found


async def _copy_files(folder: Path, root: Path) -> Path:
    try:
        await asyncio.to_thread(copy_project, folder, root, most=MOST)
    except OSError as error:
        raise TraceError(
            f"{folder} cannot be copied: {error.filename or ''} {error.strerror or error}."
        ) from error
    except ToolFailure as failure:
        raise TraceError(failure.message) from failure
    return root


async def _repository_of(folder: Path) -> Path | None:
    """Returns the top folder of the repository; None if there is none, or git is not installed."""
    found = await _run(folder, "rev-parse", "--show-toplevel")
    top = found.stdout.rstrip("\n")
    return await asyncio.to_thread(Path(top).resolve) if found.ok and top else None


async def _full_hash(repository: Path, commit: str) -> str:
    """Returns the full hash of a commit; empty if it does not exist."""
    if not commit or commit.startswith("-") or not commit.isprintable():
        return ""
    return (await _run(repository, "rev-parse", "-q", "--verify", f"{commit}^{{commit}}")).stdout.strip()


async def _create_repository(repository: Path, root: Path) -> None:
    """Creates a repository at ``root`` with the branches and tags of ``repository``,
    borrowing its objects.
    """
    objects, shallow = [await _path_of(repository, name) for name in ("objects", "shallow")]
    await _git(root, "init", "-q", "--template=")
    try:
        await asyncio.to_thread(_borrow, root / ".git", objects, shallow)
    except OSError as error:
        raise TraceError(
            f"{objects} cannot be copied: it contains what is neither a file nor a folder, or cannot be read."
        ) from error
    await _git(root, "symbolic-ref", "HEAD", "refs/nbtools/none")
    heads = (
        await _git(
            repository, "for-each-ref", "--format=create %(refname) %(objectname)", "refs/heads", "refs/tags"
        )
    ).stdout
    await _git(root, "update-ref", "--stdin", stdin=heads)


def _borrow(git: Path, objects: Path, shallow: Path) -> None:
    """Refers to the original's objects; copies those in ``/tmp``, which sandboxed commands cannot see."""
    if objects.resolve().is_relative_to("/tmp"):  # noqa: S108 - only compared
        shutil.copytree(objects, git / "objects", symlinks=True, dirs_exist_ok=True)
    else:
        (git / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (git / "objects" / "info" / "alternates").write_text(f"{objects.resolve()}\n")
    if shallow.is_file():
        shutil.copyfile(shallow, git / "shallow")


async def _path_of(repository: Path, name: str) -> Path:
    return Path(repository, (await _git(repository, "rev-parse", "--git-path", name)).stdout.rstrip("\n"))


async def _git(folder: Path, *words: str, stdin: str = "", ok: tuple[int, ...] = (0,)) -> CaptureResult:
    result = await _run(folder, *words, stdin=stdin)
    if result.ended.exit_code not in ok:
        errors = result.stderr.strip().splitlines()
        raise TraceError(
            f"git {words[0]}: {errors[-1] if errors else f'it ended with {result.ended.exit_code}'}"
        )
    return result


async def _run(folder: Path, *words: str, stdin: str = "") -> CaptureResult:
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    command = ["env", *(f"-u{name}" for name in _REPOSITORY_VARIABLES), "git", *settings]
    return await capture([*command, *words], cwd=folder, stdin=stdin, seconds=_SECONDS, env=_ENVIRONMENT)
