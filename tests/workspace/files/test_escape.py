"""Nothing leaves the workspace: not by a path that is made for it,
and not while links are swapped underneath.
"""

import asyncio
import contextlib
import itertools
import os
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from nbtools import Policy, Session, Settings
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.cancellation import CancellationFlag
from nbtools.workspace.files.atomic_write import WriteOptions, make_folders, remove_folders, replace_content
from nbtools.workspace.files.copy_move import move, remove_tree
from nbtools.workspace.files.listing import count_contents, list_folder
from nbtools.workspace.files.no_follow import status_or_none
from nbtools.workspace.files.read import read_bytes, size_of
from nbtools.workspace.search.tree import read_tree as tree_of
from nbtools.workspace.search.tree import walk
from nbtools.workspace.workspace import Workspace
from tests.waiting import DEADLINE

SECRET = "the-secret-of-outside"
QUICK = WriteOptions(sync=False)

SWAPPER = """
import ctypes, os, random, sys
os.chdir(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)

def exchange(one, other):
    if hasattr(libc, "renameat2") and libc.renameat2(-100, one.encode(), -100, other.encode(), 2) == 0:
        return
    os.rename(one, "between"); os.rename(other, one); os.rename("between", other)

pace, swaps = random.Random(7), 0
print("ready", flush=True)
while not os.path.exists("../stop"):
    exchange("door", "bait")
    try:
        exchange("face", "mask")
        if swaps % 64 == 0 and not os.path.islink("face") and not os.path.islink("mask"):
            os.unlink("mask"); os.symlink("../outside/file", "mask")
    except OSError:
        pass
    swaps += 1
    for _ in range(pace.choice((0, 0, 30, 300, 1000))):
        pass
print(swaps, flush=True)
"""


class Field:
    """A workspace where ``door`` is a folder and then a link out, again and again,
    and ``face`` a file and then a link out.
    """

    def __init__(self, root: Path) -> None:
        self.outside, self.root = root / "outside", root / "inside"
        for folder, text in ((self.outside, SECRET), (self.root / "door", "inside")):
            (folder / "sub").mkdir(parents=True)
            for name in ("file", "one", "sub/deep", "gone", f"only-{text}"):
                (folder / name).write_text(f"{text}\n")
        (self.root / "bait").symlink_to("../outside")
        (self.root / "face").write_text("inside\n")
        (self.root / "mask").symlink_to("../outside/file")
        self.workspace = Workspace(self.root)
        self.door = self.workspace.root / "door"
        self.seen: dict[str, Counter[str]] = {}

    def picture(self) -> dict[str, object]:
        """All that can be known of what is outside, but for when it was last read."""
        found = {}
        for path in (self.outside, *sorted(self.outside.rglob("*"))):
            info = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (
                info.st_ino,
                info.st_mode,
                info.st_nlink,
                info.st_size,
                info.st_mtime_ns,
                info.st_ctime_ns,
                data,
            )
        return found

    def note(self, kind: str, outcome: str) -> None:
        self.seen.setdefault(kind, Counter())[outcome] += 1

    def done_and_refused_except(self, kinds: set[str]) -> tuple[int, int]:
        """Returns how many accesses of the other kinds were done, and how many refused."""
        others = [outcomes for kind, outcomes in self.seen.items() if kind not in kinds]
        return sum(each["done"] for each in others), sum(each["refused"] for each in others)

    def tried(self, kind, access) -> None:
        try:
            told = access()
            outcome = "done"
        except (ToolFailure, FileNotFoundError) as failure:
            told, outcome = failure, "refused"
        assert SECRET not in repr(told), kind
        self.note(kind, outcome)

    async def called(self, session: Session, name: str, **arguments) -> None:
        result = await session.call(name, arguments)
        assert SECRET not in repr((result.llm_content, result.return_display, result.data)), name
        assert result.error is None or result.error.code not in (
            ErrorCode.UNHANDLED_EXCEPTION,
            ErrorCode.UNKNOWN,
        ), result.error
        self.note(f"call {name}", "done" if result.ok else "refused")


@contextlib.contextmanager
def swapping(field: Field):
    with subprocess.Popen(
        [sys.executable, "-c", SWAPPER, str(field.root)], stdout=subprocess.PIPE, text=True
    ) as swapper:
        assert swapper.stdout.readline() == "ready\n"
        swaps: list[int] = []
        try:
            yield swaps
        finally:
            (field.root.parent / "stop").touch()
            swaps.append(int(swapper.stdout.readline()))


def _cheap(field: Field, count: int) -> set[str]:
    """Each on a path that was resolved before: it is a link half of the time.  Returns the kinds of access."""
    workspace, door, face = field.workspace, field.door, field.workspace.root / "face"
    accesses = {
        "read": lambda: read_bytes(door / "file", "f"),
        "read below": lambda: read_bytes(door / "sub" / "deep", "f"),
        "read a file": lambda: read_bytes(face, "f"),
        "resolve and read": lambda: read_bytes(workspace.resolve("door/file"), "f"),
        "stat": lambda: status_or_none(door / f"only-{SECRET}") and SECRET,
        "size": lambda: size_of(door / "file", "f") == len(SECRET) + 1 and SECRET,
    }
    for kind in random.Random(3).choices(list(accesses), k=count):
        field.tried(kind, accesses[kind])
    return set(accesses)


def _dear(field: Field, count: int) -> None:
    door, workspace = field.door, field.workspace
    numbers = itertools.count()

    def text() -> bytes:
        return f"inside {next(numbers)}\n".encode()

    accesses = {
        "create": lambda: replace_content(door / "new", text(), None, "new", QUICK),
        "write": lambda: replace_content(door / "file", text(), read_bytes(door / "file", "f"), "f", QUICK),
        "move": lambda: move(door / "one", door / "two", "two", overwrite=True),
        "move back": lambda: move(door / "two", door / "one", "one", overwrite=True),
        "make folders": lambda: remove_folders(make_folders(door / "x" / "y" / "z", "z")),
        "fill a tree": lambda: replace_content(_made(door / "tree" / "gone"), text(), None, "gone", QUICK),
        "delete a tree": lambda: remove_tree(door / "tree"),
        "delete": lambda: remove_tree(door / "new"),
        "list": lambda: list_folder(door, workspace),
        "tree": lambda: list(walk(tree_of(str(door), None, CancellationFlag()))),
        "count": lambda: count_contents(door, CancellationFlag()),
    }
    for _ in range(count):
        for kind, access in accesses.items():
            field.tried(kind, access)


def _made(path: Path) -> Path:
    make_folders(path, "f")
    return path


async def _calls(field: Field, count: int) -> None:
    policy = Policy(mode="yolo")
    async with Session(field.root, policy=policy, settings=Settings(journal=False)) as session:
        for number in range(count):
            await field.called(session, "read", path="door/file")
            await field.called(session, "read", path="face")
            await field.called(session, "read_many", paths=["door", "face"])
            await field.called(session, "ls", path="door")
            await field.called(session, "tree")
            await field.called(session, "glob", pattern="**/*")
            await field.called(session, "glob", pattern="door/*")
            await field.called(session, "grep", pattern="inside|secret", path=("." if number % 2 else "door"))
            await field.called(session, "write", path="door/written", content=f"{number}\n")
            await field.called(session, "edit", path="door/file", old="inside", new="inside")
            await field.called(session, "edit", path="door/sub/deep", old="inside", new="inside inside")
            await field.called(session, "move", path="door/written", to="door/moved", overwrite=True)
            await field.called(session, "delete", path="door/moved")
            await field.called(session, "replace_in_files", pattern="the-secret", replacement="x", apply=True)


def test_accesses_while_links_are_swapped_reach_nothing_outside(tmp_path, all_rounds):
    rounds, cheap, dear, calls = (4, 22_500, 250, 50) if all_rounds else (1, 11_250, 50, 10)
    field = Field(tmp_path)
    before = field.picture()
    with swapping(field) as swaps:
        for _ in range(rounds):
            often = _cheap(field, cheap)
            _dear(field, dear)
            assert field.picture() == before
        asyncio.run(_calls(field, calls))
        # Refusing is quicker than writing: while the door is a link, more accesses fit in than while it is
        # a folder.  So no number of rounds contains a certain number of accesses that are done.
        end = time.monotonic() + DEADLINE
        while min(field.done_and_refused_except(often)) <= 100:
            assert time.monotonic() < end, field.seen
            _dear(field, 5)
    assert field.picture() == before
    assert sum(sum(outcomes.values()) for outcomes in field.seen.values()) >= rounds * cheap
    assert swaps[0] > rounds * cheap // 9
    assert len(often) == 6
    for kind in often:
        assert sum(field.seen[kind].values()) >= rounds * cheap // 9
        assert field.seen[kind]["done"], field.seen
        assert field.seen[kind]["refused"], field.seen


OK = ""
OUT = ErrorCode.PATH_NOT_IN_WORKSPACE
NONE = ErrorCode.FILE_NOT_FOUND
BAD = ErrorCode.INVALID_TOOL_PARAMS
FOLDER = ErrorCode.TARGET_IS_DIRECTORY
NO_FILE = ErrorCode.READ_CONTENT_FAILURE
NO_FOLDER = ErrorCode.PATH_IS_NOT_A_DIRECTORY


@dataclass(frozen=True)
class Row:
    """The results of reading and writing such a path, and why;
    ``{root}`` and ``{out}`` are the folders, ``{name}`` the root's own name.
    """

    path: str
    read: str
    write: str
    why: str


ROWS = [
    Row("../outside/secret", OUT, OUT, "goes up and out"),
    Row("sub/../../outside/secret", OUT, OUT, "goes out by way of a folder"),
    Row("sub/../inside.txt", OK, OK, "goes up and stays"),
    Row("../{name}/inside.txt", OK, OK, "goes out and comes back"),
    Row("../" * 40 + "etc/passwd", OUT, OUT, "more steps up than there are folders"),
    Row("../" * 5000 + "etc/passwd", OUT, OUT, "so many steps that a buffer would end"),
    Row("missing/../inside.txt", NONE, NONE, "the kernel goes through no folder that is not there"),
    Row("inside.txt/../inside.txt", NO_FOLDER, NO_FOLDER, "nor through a file"),
    Row("inside.txt/x", NO_FOLDER, NO_FOLDER, "a file has nothing in it"),
    Row("/etc/passwd", OUT, OUT, "absolute"),
    Row("//etc/passwd", OUT, OUT, "absolute with two slashes"),
    Row("///etc//./passwd", OUT, OUT, "absolute with many"),
    Row("{root}/inside.txt", OK, OK, "absolute and inside"),
    Row("/{root}/./sub/..//inside.txt", OK, OK, "the same in a roundabout way"),
    Row("{root}/../outside/secret", OUT, OUT, "begins with the root and leaves it"),
    Row("{root}-twin/secret", OUT, OUT, "a neighbour whose name begins with the root's"),
    Row("../{name}-twin/secret", OUT, OUT, "the same from inside"),
    Row("~", OUT, OUT, "the home folder"),
    Row("~/.ssh/id_rsa", OUT, OUT, "in the home folder"),
    Row("~root/x.txt", NONE, OK, "no home but a folder of that name"),
    Row("$HOME/x.txt", NONE, OK, "variables are not looked at"),
    Row("`id`", NONE, OK, "nor commands"),
    Row("-rf", NONE, OK, "nor options"),
    Row("file:///etc/passwd", NONE, OK, "nor addresses: a folder called file:"),
    Row("%2e%2e/outside/secret", NONE, OK, "nor escapes of the web"),
    Row("..\\outside\\secret", NONE, OK, "a backslash is a letter"),
    Row("\u2024\u2024/outside/secret", NONE, OK, "dots that only look like dots"),
    Row("\uff0e\uff0e/outside/secret", NONE, OK, "wide ones"),
    Row("..\u2215outside\u2215secret", NONE, OK, "a slash that only looks like one"),
    Row("ins\u0456de.txt", NONE, OK, "a letter of another alphabet"),
    Row("inside.txt\u200b", NONE, OK, "a space without width"),
    Row("\u202etxt.edisni", NONE, OK, "written from right to left"),
    Row("inside.txt ", NONE, OK, "a space at the end is part of the name"),
    Row("inside.txt.", NONE, OK, "so is a dot"),
    Row("INSIDE.TXT", NONE, OK, "capitals are other letters here"),
    Row(
        "inside.txt/", OK, BAD, "a slash at the end adds nothing for reading, and means a folder for writing"
    ),
    Row("inside.txt/.", OK, OK, "nor does a dot"),
    Row("", BAD, BAD, "empty"),
    Row(".", FOLDER, FOLDER, "the root itself"),
    Row("..", OUT, OUT, "the folder above"),
    Row("/", OUT, BAD, "the root of the disk"),
    Row("sub", FOLDER, FOLDER, "a folder"),
    Row("inside.txt\0", BAD, BAD, "a NUL at the end"),
    Row("inside.txt\0/../../outside/secret", BAD, BAD, "a NUL that would hide the rest"),
    Row("in\nside", NONE, OK, "two lines are a name"),
    Row("\x1b[2Jinside", NONE, OK, "so are characters that clear a screen"),
    Row("\ud800", BAD, BAD, "half a character"),
    Row("n" * 256, BAD, BAD, "a name that is too long"),
    Row("n/" * 3000, BAD, BAD, "a path that is too long"),
    Row("out_file", OUT, OUT, "a link to a file outside"),
    Row("out_relative", OUT, OUT, "a relative one"),
    Row("out_folder/secret", OUT, OUT, "through a link to a folder outside"),
    Row("out_folder/new", OUT, OUT, "something new there"),
    Row("out_folder/../inside.txt", OUT, OUT, "up from where the link leads, not from where it is"),
    Row("chain", OUT, OUT, "a link to a link to the outside"),
    Row("in_file", OK, OK, "a link to a file inside"),
    Row("in_folder/x.txt", OK, OK, "through a link to a folder inside"),
    Row("dangling", NONE, OK, "a link to nothing inside: writing makes it"),
    Row("dangling_out", OUT, OUT, "a link to nothing outside"),
    Row("loop", OUT, OUT, "a link to itself"),
    Row("loop/x", OUT, OUT, "through it"),
    Row("ring", OUT, OUT, "two links that lead to each other"),
    Row("parent/outside/secret", OUT, OUT, "through a link to the folder above"),
    Row("parent/{name}/inside.txt", OK, OK, "through it and back"),
    Row("self/self/self/inside.txt", OK, OK, "through a link to where it is"),
    Row("self/" * 60 + "inside.txt", OUT, OUT, "more links than the kernel follows"),
    Row("hard", OK, OK, "a second name of a file is the file: who made it could read it"),
    Row("fifo", NO_FILE, NO_FILE, "a named pipe"),
    Row("socket", NO_FILE, NO_FILE, "a socket"),
    Row("/dev/null", OUT, OUT, "a device"),
    Row("/dev/zero", OUT, OUT, "a device without end"),
    Row("to_zero", OUT, OUT, "a link to it"),
    Row("/dev/stdin", OUT, OUT, "what this process has open"),
    Row("/dev/fd/0", OUT, OUT, "the same by number"),
    Row("/proc/self/environ", OUT, OUT, "the variables of this process"),
    Row("/proc/1/environ", OUT, OUT, "those of another one"),
    Row("/proc/self/root/etc/passwd", OUT, OUT, "the disk by another name"),
    Row("/proc/self/root/{root}/inside.txt", OUT, OUT, "even where that leads inside"),
    Row("/proc/self/cwd/inside.txt", OUT, OUT, "where this process is"),
    Row("/proc/thread-self/fd/0", OUT, OUT, "what this thread has open"),
    Row("magic/inside.txt", OUT, OUT, "a link into /proc"),
]
ONLY_HERE = {"INSIDE.TXT"} if sys.platform == "darwin" else set()


def _planted(tmp_path: Path) -> Path:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "sub", outside, tmp_path / "root-twin"):
        folder.mkdir(parents=True)
        (folder / "secret").write_text(SECRET)
    (root / "sub" / "secret").unlink()
    for name in ("inside.txt", "sub/x.txt"):
        (root / name).write_text("inside\n")
    (outside / "shared").write_text("inside\n")
    os.link(outside / "shared", root / "hard")
    links = {
        "out_file": outside / "secret",
        "out_relative": "../outside/secret",
        "out_folder": outside,
        "chain": "out_relative",
        "in_file": "inside.txt",
        "in_folder": root / "sub",
        "dangling": "sub/nothing",
        "dangling_out": outside / "nothing",
        "loop": "loop",
        "ring": "gnir",
        "gnir": "ring",
        "parent": "..",
        "self": ".",
        "to_zero": "/dev/zero",
        "magic": f"/proc/self/root{root}",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(root)  # such an address has room for 100 letters
        listener.bind("socket")
        os.chdir(here)
    return root


def _outside(tmp_path: Path) -> dict[str, bytes]:
    folders = (tmp_path / "outside", tmp_path / "root-twin")
    return {str(path): path.read_bytes() for folder in folders for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.path not in ONLY_HERE],
    ids=lambda row: f"{ascii(row.path)[1:40]}: {row.why}",
)
async def test_each_adversarial_path_is_decided_for_reading_and_for_writing(tmp_path, row):
    root = _planted(tmp_path)
    before = _outside(tmp_path)
    path = (
        row.path.replace("{root}", str(root))
        .replace("{name}", root.name)
        .replace("{out}", str(tmp_path / "outside"))
    )
    async with Session(root, policy=Policy(mode="yolo"), settings=Settings(journal=False)) as session:
        read = await session.call("read", {"path": path})
        written = await session.call("write", {"path": path, "content": "inside\n"})
    assert (read.error.code if read.error else OK, written.error.code if written.error else OK) == (
        row.read,
        row.write,
    ), (read, written)
    for result in (read, written):
        assert SECRET not in repr((result.llm_content, result.return_display))
        if result.error is not None:
            assert "\n" not in result.error.message
            assert result.error.message.isprintable()
    assert _outside(tmp_path) == before


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("ls", {"path": "out_folder"}, OUT),
        ("ls", {"path": "../outside"}, OUT),
        ("ls", {"path": "magic"}, OUT),
        ("ls", {"path": "loop"}, OUT),
        ("ls", {"path": "fifo"}, NO_FOLDER),
        ("tree", {"path": "out_folder"}, OUT),
        ("tree", {"path": "fifo"}, NO_FOLDER),
        ("glob", {"pattern": "out_folder/*"}, OUT),
        ("glob", {"pattern": "*", "path": "parent"}, OUT),
        ("grep", {"pattern": "secret", "path": "out_folder"}, OUT),
        ("grep", {"pattern": "secret", "path": "/proc/self/root"}, OUT),
        ("grep", {"pattern": "secret", "path": "fifo"}, ErrorCode.SEARCH_PATH_NOT_FOUND),
        ("edit", {"path": "out_file", "old": "the", "new": "x"}, OUT),
        ("edit", {"path": "fifo", "old": "the", "new": "x"}, NO_FILE),
        (
            "replace_in_files",
            {"pattern": "secret", "replacement": "x", "path": "out_folder", "apply": True},
            OUT,
        ),
        ("delete", {"path": "out_folder/secret"}, OUT),
        ("delete", {"path": "../outside", "recursive": True}, OUT),
        ("delete", {"path": "parent/outside/secret"}, OUT),
        ("delete", {"path": "n" * 256}, BAD),
        ("delete", {"path": "a\0b"}, BAD),
        ("delete", {"path": "out_file"}, OK),
        ("delete", {"path": "out_folder", "recursive": True}, OK),
        ("delete", {"path": "fifo"}, OK),
        ("move", {"path": "inside.txt", "to": "out_folder/inside.txt"}, OUT),
        ("move", {"path": "inside.txt", "to": "out_folder/"}, OUT),
        ("move", {"path": "inside.txt", "to": "../outside/inside.txt"}, OUT),
        ("move", {"path": "out_folder/secret", "to": "mine"}, OUT),
        ("move", {"path": "/proc/self/environ", "to": "mine"}, OUT),
        ("move", {"path": "out_file", "to": "still_a_link"}, OK),
        ("read_many", {"paths": ["out_folder/*"]}, OUT),
        ("read_many", {"paths": ["fifo", "socket", "to_zero"]}, OUT),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_every_tool_keeps_to_the_workspace(tmp_path, tool, arguments, code):
    root = _planted(tmp_path)
    before = _outside(tmp_path)
    async with Session(root, policy=Policy(mode="yolo"), settings=Settings(journal=False)) as session:
        result = await session.call(tool, arguments)
    assert (result.error.code if result.error else OK) == code, result
    assert SECRET not in repr((result.llm_content, result.return_display))
    assert _outside(tmp_path) == before
