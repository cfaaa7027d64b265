"""Changes by commands are noticed from the metadata of the files, whatever the commands do to hide them."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtools.core.settings import Settings
from nbtools.workspace.history.file_scanner import (
    FileScan,
    FileScanner,
    LimitExceeded,
    may_change_undetected,
    stamp_of,
)
from nbtools.workspace.history.journal import Journal
from nbtools.workspace.history.snapshots import FileSnapshot
from nbtools.workspace.history.store import Record
from nbtools.workspace.search.file_search import find_files
from tests.examples import examples
from tests.waiting import comes_true

MANY = 10_000
LARGE = 100_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for path in ("a.txt", "dir/b.txt", "dir/deep/c.txt", "other/d.txt"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{path}\n")
        os.utime(root / path, (1_000_000_000, 1_000_000_000))
    (root / ".gitignore").write_text("*.log\n")
    return root


@pytest.fixture
def snapshot(root: Path) -> FileSnapshot:
    return FileSnapshot(Journal(root, Settings()), root)


def settle(root: Path) -> None:
    """Returns when no file is so new that it may change and look the same."""
    files = [path for path in root.rglob("*") if path.is_file()]
    assert comes_true(
        lambda: not any(may_change_undetected(stamp_of(path.lstat()), time.time_ns()) for path in files)
    )


def looked(snapshot: FileSnapshot) -> FileScan:
    now = snapshot.scan(MANY, LARGE)
    assert isinstance(now, FileScan)
    return now


def records(snapshot: FileSnapshot, root: Path, change: Callable[[Path], object]) -> tuple[Record, ...]:
    """Returns the record of a command that makes ``change``."""
    entry = snapshot.begin(looked(snapshot), lambda _: None)
    change(root)
    snapshot.end(entry, looked(snapshot))
    return snapshot._journal.records(entry)


def same_tick(root: Path) -> None:
    """Writes a text of the same length, immediately after the snapshot, and again."""
    path = root / "a.txt"
    for letter in "AB":
        path.write_text(f"{letter}.txt\n")


def set_back(root: Path) -> None:
    """Writes a text of the same length in place and restores the time of the file."""
    before = (root / "a.txt").stat()
    (root / "a.txt").write_text("A.txt\n")
    os.utime(root / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(root: Path) -> None:
    """By another file of the same length and time."""
    before = (root / "a.txt").stat()
    (root / "new").write_text("A.txt\n")
    os.utime(root / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (root / "new").rename(root / "a.txt")


CHANGES: dict[str, tuple[Callable[[Path], object], set[tuple[str, str]]]] = {
    "the same tick": (same_tick, {("write", "a.txt")}),
    "time set back": (set_back, {("write", "a.txt")}),
    "replaced": (replaced, {("write", "a.txt")}),
    "created": (lambda root: (root / "dir" / "new.txt").write_text("new\n"), {("write", "dir/new.txt")}),
    "deleted": (lambda root: (root / "dir" / "b.txt").unlink(), {("write", "dir/b.txt")}),
    "a folder deleted": (
        lambda root: shutil.rmtree(root / "dir"),
        {("write", "dir/b.txt"), ("write", "dir/deep/c.txt")},
    ),
    "moved": (lambda root: (root / "a.txt").rename(root / "z.txt"), {("write", "a.txt"), ("write", "z.txt")}),
    "a folder moved": (
        lambda root: (root / "other").rename(root / "o"),
        {("write", "other/d.txt"), ("write", "o/d.txt")},
    ),
    "mode": (lambda root: (root / "a.txt").chmod(0o751), {("mode", "a.txt")}),
    "a link instead": (
        lambda root: ((root / "a.txt").unlink(), (root / "a.txt").symlink_to("dir/b.txt")),
        {("write", "a.txt")},
    ),
    "a folder instead": (
        lambda root: ((root / "a.txt").unlink(), (root / "a.txt").mkdir()),
        {("write", "a.txt")},
    ),
    "touched": (lambda root: (root / "a.txt").touch(), set()),
    "ignored": (lambda root: (root / "dir" / "x.log").write_text("x"), set()),
    "git's own": (lambda root: ((root / ".git").mkdir(), (root / ".git" / "HEAD").write_text("x")), set()),
    "ours for a moment": (lambda root: (root / ".nbtools-1.tmp").write_text("x"), set()),
    "nothing": (lambda _: None, set()),
}


@pytest.mark.parametrize("quick", [True, False], ids=["at once", "later"])
@pytest.mark.parametrize("what", CHANGES)
def test_changes_by_a_command_are_noticed(root: Path, snapshot: FileSnapshot, what: str, quick: bool) -> None:
    """Also where everything is known already, and longer than a tick ago."""
    change, expected = CHANGES[what]
    assert records(snapshot, root, lambda _: None) == ()
    if not quick:
        settle(root)
        assert records(snapshot, root, lambda _: None) == ()
    assert {
        (record.kind, record.path.relative_to(root).as_posix()) for record in records(snapshot, root, change)
    } == expected
    assert records(snapshot, root, lambda _: None) == ()


def test_each_of_many_quick_changes_is_noticed(root: Path, snapshot: FileSnapshot) -> None:
    for number in range(30):
        (record,) = records(
            snapshot, root, lambda root, number=number: (root / "a.txt").write_text(f"{number:05}\n")
        )
        kept = snapshot._journal.content(record.before)
        assert kept == (f"{number - 1:05}\n".encode() if number else b"a.txt\n")


def test_another_sessions_snapshot_is_seen(root: Path, snapshot: FileSnapshot) -> None:
    other = FileSnapshot(Journal(root, Settings()), root)
    records(snapshot, root, lambda _: None)
    records(other, root, lambda root: (root / "a.txt").write_text("other's\n"))
    (record,) = records(snapshot, root, lambda root: (root / "a.txt").write_text("ours\n"))
    assert snapshot._journal.content(record.before) == b"other's\n"


def test_files_dropped_for_their_size_do_not_count_as_new(root: Path) -> None:
    """Undoing would remove it."""
    (root / ".gitignore").unlink()
    snapshot = FileSnapshot(Journal(root, Settings(journal_bytes=10)), root)
    for number in range(3):
        assert (
            records(snapshot, root, lambda root, number=number: (root / "a.txt").write_text(f"{number:05}\n"))
            == ()
        )
    roomy = FileSnapshot(Journal(root, Settings()), root)
    (record,) = records(roomy, root, lambda root: (root / "a.txt").unlink())
    assert roomy._journal.content(record.before) == b"00002\n"


def test_nothing_is_written_where_nothing_changed(root: Path, snapshot: FileSnapshot) -> None:
    records(snapshot, root, lambda _: None)
    settle(root)
    records(snapshot, root, lambda _: None)
    before = snapshot._journal.store.query("SELECT path, mtime, ctime, key FROM files ORDER BY path")
    assert len(before) == 5
    assert list(snapshot._changes(looked(snapshot), lambda _: None, recorded=True)) == []
    records(snapshot, root, lambda _: None)
    assert snapshot._journal.store.query("SELECT path, mtime, ctime, key FROM files ORDER BY path") == before
    assert snapshot._journal.entries() == ()


@pytest.mark.parametrize("quick", [True, False], ids=["at once", "later"])
def test_ignore_files_hold_from_when_they_are_changed(root: Path, quick: bool) -> None:
    looking = FileScanner(root)
    (root / "dir" / "x.log").write_text("x")

    def seen() -> set[str]:
        if not quick:
            settle(root)
        now = looking.scan(root / "none", MANY, LARGE)
        assert isinstance(now, FileScan)
        return set(now.files)

    everything = {".gitignore", "a.txt", "dir/b.txt", "dir/deep/c.txt", "other/d.txt"}
    assert seen() == everything
    (root / ".gitignore").write_text("*.txt\n")
    assert seen() == {".gitignore", "dir/x.log"}
    (root / "dir" / ".gitignore").write_text("!deep/*.txt\n")
    assert seen() == {".gitignore", "dir/.gitignore", "dir/x.log", "dir/deep/c.txt"}
    (root / "dir" / "deep" / ".ignore").write_text("c*\n")
    assert seen() == {".gitignore", "dir/.gitignore", "dir/x.log", "dir/deep/.ignore"}
    (root / "dir" / "deep" / ".ignore").unlink()
    (root / "dir" / ".gitignore").unlink()
    (root / ".gitignore").unlink()
    assert seen() == everything - {".gitignore"} | {"dir/x.log"}
    (root / ".git" / "info").mkdir(parents=True)
    (root / ".git" / "info" / "exclude").write_text("other/\n")
    assert seen() == everything - {".gitignore", "other/d.txt"} | {"dir/x.log"}


def test_ignore_files_above_the_workspace_count_up_to_the_repository(root: Path) -> None:
    looking = FileScanner(root / "dir")
    (root / ".git").mkdir()
    assert set(_files(looking)) == {"b.txt", "deep/c.txt"}
    (root / ".gitignore").write_text("deep/\n")
    assert set(_files(looking)) == {"b.txt"}
    (root / "dir" / ".git").mkdir()
    assert set(_files(looking)) == {"b.txt", "deep/c.txt"}


def _files(looking: FileScanner) -> dict[str, object]:
    now = looking.scan(Path("/none"), MANY, LARGE)
    assert isinstance(now, FileScan)
    return dict(now.files)


def test_too_many_files_are_reported_without_reading_all(root: Path) -> None:
    looking = FileScanner(root)
    many, large = looking.scan(root / "none", 4, LARGE), looking.scan(root / "none", 5, 10)
    assert isinstance(many, LimitExceeded)
    assert many.why.startswith("the workspace has more than 4 files")
    assert isinstance(large, LimitExceeded)
    assert large.why.startswith("the workspace's files have more than 10 bytes")


def test_the_journals_own_folder_links_and_pipes_are_left_out(root: Path) -> None:
    (root / "link").symlink_to("a.txt")
    (root / "linked").symlink_to("dir")
    os.mkfifo(root / "pipe")
    now = FileScanner(root).scan(root / "other", MANY, LARGE)
    assert isinstance(now, FileScan)
    assert set(now.files) == {".gitignore", "a.txt", "dir/b.txt", "dir/deep/c.txt"}


def test_a_folder_that_cannot_be_entered_counts_as_unchanged(root: Path, snapshot: FileSnapshot) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may enter every folder")
    records(snapshot, root, lambda _: None)
    try:
        assert records(snapshot, root, lambda root: (root / "dir").chmod(0)) == ()
    finally:
        (root / "dir").chmod(0o755)
    assert records(snapshot, root, lambda _: None) == ()


NAMES = st.sampled_from(["a", "b", "x.log", "build", "src", ".hid", "dir"])
PATTERNS = st.sampled_from(
    [
        "a",
        "/a",
        "*.log",
        "!x.log",
        "build/",
        "src/*",
        "!src/a",
        "**/b",
        "dir/**",
        "dir/a",
        "/dir/src",
        ".hid",
        "*",
        "!*/",
        "!a",
        "a/**/b",
        "**/src/",
        "# no",
        "[ab]",
    ]
)


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    paths=st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8),
    rules=st.dictionaries(
        st.sampled_from(["", "dir/", "src/", "dir/src/"]),
        st.tuples(st.sampled_from([".gitignore", ".ignore", ".rgignore"]), st.lists(PATTERNS, max_size=3)),
        max_size=3,
    ),
)
async def test_the_same_files_are_seen_as_by_ripgrep(
    tmp_path: Path, paths: list[str], rules: dict[str, tuple[str, list[str]]]
) -> None:
    root = tmp_path / "w"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path in [*paths, *(f"{way}{kind}" for way, (kind, _) in rules.items())]:
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("x")
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    for way, (kind, patterns) in rules.items():
        if (root / way / kind).is_file():
            (root / way / kind).write_text("".join(f"{pattern}\n" for pattern in patterns))
    assert set(_files(FileScanner(root))) == set((await find_files(root, ".", "**/*", hidden=True)).paths)


def test_git_sees_the_same(root: Path) -> None:
    for path in ("x.log", "dir/y.log", "dir/keep.log"):
        (root / path).write_text("x")
    (root / "dir" / ".gitignore").write_text("!keep.log\n/deep\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True
    )
    assert set(_files(FileScanner(root))) == set(listed.stdout.split())
