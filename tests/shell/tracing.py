"""Runs a command line under strace in a throwaway copy of a folder, and returns what it wrote, removed,
executed and connected to.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CALLS = """execve openat open creat rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir mknod mknodat link linkat symlink
    symlinkat truncate chmod fchmodat fchmodat2 chown lchown fchownat utimensat chdir fchdir connect""".split()  # noqa: SIM905
_STRACE = (
    "strace",
    "-f",
    "-qq",
    "-y",
    "-s",
    "4096",
    "--seccomp-bpf",
    "-e",
    "signal=none",
    "-e",
    f"trace={','.join(f'?{call}' for call in _CALLS)}",
)
_NO_NETWORK = ("unshare", "--user", "--map-root-user", "--net")
_DEVICES = re.compile(
    r"/dev/(?:null|zero|full|tty|ptmx|console|stdin|stdout|stderr|fd/.*|pts/.*)|/proc/(?:self|thread-self|\d+)/.*"
)


@dataclass(frozen=True, slots=True)
class Event:
    """``kind`` is ``write`` (also: created, linked, renamed to, changed), ``remove`` (also:
    renamed from), ``execute`` or ``connect``.
    """

    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class Run:
    """``before`` and ``after`` are the files and folders in the copy, relative to ``folder``."""

    folder: str
    temporary: str
    events: tuple[Event, ...]
    before: frozenset[str]
    after: frozenset[str]
    timed_out: bool
    output: str


@cache
def why_not() -> str:
    """Why command lines cannot be traced here, empty where they can."""
    if shutil.which("strace") is None:
        return "there is no strace"
    tried = subprocess.run([*_STRACE, "true"], check=False, capture_output=True, timeout=60)
    return "strace is not permitted, or too old" if tried.returncode else ""


@cache
def without_network() -> bool:
    """Whether lines can run without a network, and without rights over the system."""
    if shutil.which("unshare") is None:
        return False
    return (
        subprocess.run([*_NO_NETWORK, "true"], check=False, capture_output=True, timeout=60).returncode == 0
    )


def run_traced(
    line: str, template: Path, parent: Path, extra: tuple[str, ...] = (), seconds: float = 5
) -> Run:
    """Runs the line in a copy of ``template`` in which empty files named ``extra`` lie, too;
    the copy is deleted afterwards.
    """
    base = Path(tempfile.mkdtemp(dir=parent))
    try:
        folder, temporary, home = base / "folder", base / "temporary", base / "home"
        shutil.copytree(template, folder, symlinks=True)
        temporary.mkdir()
        home.mkdir()
        for program in ("started-gpg", "started-editor"):
            (home / program).symlink_to("/bin/true")
        (home / ".gitconfig").write_text(
            "[gpg]\n program=started-gpg\n[core]\n editor=started-editor\n[user]\n name=a\n email=a@b\n[color]\n ui=never\n"
        )
        for name in extra:
            (folder / name).touch()
        return _run(line, base, folder, seconds)
    finally:
        shutil.rmtree(base, ignore_errors=True)
        if base.exists():
            subprocess.run(["chmod", "-R", "u+rwx", str(base)], check=False, capture_output=True)
            shutil.rmtree(base, ignore_errors=True)


def _run(line: str, base: Path, folder: Path, seconds: float) -> Run:
    before = _listing(folder)
    log, out = base / "log", base / "out"
    environment = {
        "PATH": f"/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:{base / 'home'}",
        "HOME": str(base / "home"),
        "TMPDIR": str(base / "temporary"),
    }
    environment |= {"LC_ALL": "C", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1"}
    argv = (
        *(_NO_NETWORK if without_network() else ()),
        *_STRACE,
        "-o",
        str(log),
        "sh",
        "-c",
        f"ulimit -f 20000; ulimit -t 3; {line}",
    )
    argv = ("timeout", "-s", "KILL", str(seconds), *argv)  # waits without polling
    with out.open("wb") as sink:
        code = subprocess.call(
            argv,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    text = log.read_text(errors="replace") if log.exists() else ""
    with out.open(errors="replace") as shown:
        output = shown.read(2000)
    events = tuple(dict.fromkeys(_events(text, str(folder))))
    return Run(
        str(folder), str(base / "temporary"), events, before, _listing(folder), code in (137, -9), output
    )


def _listing(folder: Path) -> frozenset[str]:
    found = (
        posixpath.join(root, name) for root, folders, files in os.walk(folder) for name in (*folders, *files)
    )
    return frozenset(posixpath.relpath(path, folder) for path in found)


_LINE = re.compile(r"(?P<pid>\d+) +(?P<rest>.*)")
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+|\?)(?: (?P<error>E\w+))?")
_FOLDER = re.compile(r'["<]((?:[^">\\]|\\.)*)[">]')
_HERE = re.compile(r"AT_FDCWD<((?:[^>\\]|\\.)*)>")
_AT = re.compile(r'(?:(?:AT_FDCWD|\d+)<((?:[^>\\]|\\.)*)>, )?"((?:[^"\\]|\\.)*)"')
_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
_SOURCES = frozenset({"rename", "renameat", "renameat2"})
_REMOVING = frozenset({"unlink", "unlinkat", "rmdir"})


def _calls(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    started: dict[str, str] = {}
    for line in text.splitlines():
        if not (parts := _LINE.match(line)):
            continue
        pid, rest = parts["pid"], parts["rest"]
        if rest.endswith("<unfinished ...>"):
            started[pid] = rest.removesuffix("<unfinished ...>").rstrip()
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", rest):
            rest = started.pop(pid, "") + resumed[1]
        if call := _CALL.match(rest):
            yield pid, call


def _events(text: str, folder: str) -> Iterator[Event]:
    places: dict[str, str] = {}
    for pid, call in _calls(text):
        arguments, name = call["arguments"], call["name"]
        if here := _HERE.search(arguments):
            places[pid] = _unescaped(here[1])
        if name in ("chdir", "fchdir"):
            if call["result"] == "0" and (to := _FOLDER.search(arguments)):
                places[pid] = posixpath.join(places.get(pid, folder), _unescaped(to[1]))
            continue
        yield from _of_call(name, arguments, call["error"] or "", places.get(pid, folder))


def _of_call(name: str, arguments: str, error: str, place: str) -> Iterator[Event]:
    if name == "connect":
        if to := re.search(r'sa_family=AF_INET6?.*?"([^"]*)"', arguments):
            yield Event("connect", to[1])
        return
    if name == "execve":
        arguments = arguments.partition("[")[0]
    paths = [
        posixpath.normpath(posixpath.join(place, _unescaped(at), _unescaped(path)))
        for at, path in _AT.findall(arguments)
    ]
    if name == "execve":
        yield Event("execute", paths[0])
        return
    if error in ("EEXIST", "ENOENT", "ENOTDIR", "EINVAL", "ENOTEMPTY", "EISDIR") or not paths:
        return
    if name in ("openat", "open") and not _WRITING.search(arguments):
        return
    if name in _REMOVING or name in _SOURCES:
        yield Event("remove", paths[0])
    if name not in _REMOVING:
        # of two paths, the second one is made;
        # the text of a symbolic link is a path only to those who follow it
        yield Event("write", paths[-1])


def _unescaped(text: str) -> str:
    return (
        text.encode().decode("unicode_escape").encode("latin-1").decode(errors="replace")
        if "\\" in text
        else text
    )


def is_device(path: str) -> bool:
    return _DEVICES.fullmatch(path) is not None
