"""Runs what the policy allows: ``python run_allowed.py --seconds 3600 --seed 1``.

Derives random command lines from a grammar, puts random tokens into them, asks the policy about each line,
and runs those that it allows under dash, bash, busybox and zsh.  The rules allow a few harmless programs;
every name in reach is a stub that logs its arguments.  It is a violation when a program, or a command of git,
starts that no rule allows, and when a file is written.

Lines are made in blocks, so that a seed, a block and a number name a line however many processes there are.
A process runs the allowed lines of a block in batches: one shell evaluates many lines, each in a subshell and
in a folder of its own that inotify watches.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import random
import re
import resource
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from zlib import crc32

from nbtools import Policy, Session
from nbtools.shell.reader import parse_strictly

HARMLESS = ("ls", "cat", "git", "grep", "wc", "sort")
"""Stubs with rules that allow them."""
WRAPPERS = ("env", "timeout", "nice", "xargs")
"""Real programs that start what stands in their arguments."""
BUILTINS = (
    "echo",
    "printf",
    "test",
    "[",
    "[[",
    "cd",
    "read",
    "export",
    "unset",
    "set",
    "wait",
    "eval",
    "trap",
    "command",
)
MARK = "mark"
"""The stub that no rule allows."""
POLICY = Policy(
    allow=tuple(
        f"shell({name}:*)" for name in ("ls", "cat", "git log", "git status", "grep", "wc", "sort", *BUILTINS)
    ),
)
SHELLS = {"bash": ["bash", "--norc"], "dash": ["dash"], "busybox": ["busybox", "ash"], "zsh": ["zsh", "-f"]}
DATA = Path(__file__).parent / "data"
BLOCK = 2_000
"""How many lines are derived from one random state."""
_BATCH = 64
_MEMORY = Path("/dev/shm")
_LONGEST = 1_000
_DEEPEST = 4
_STALL = 1.0
"""Seconds without a finished line after which the line that runs counts as endless."""
_CPU_SECONDS = 5
_TRACED = 1 / 1_000
_REFUSED_SAMPLE = 50
"""The policy is asked about one in so many lines that the strict reader refuses."""
_EXAMPLES = 4
"""How many lines are printed for each kind of difference."""
_ESCAPE = re.compile(r"\\(?:[\\tnrfv]|x[0-9a-f]{2}|u[0-9a-f]{4})")


def table(name: str) -> tuple[str, ...]:
    """The lines of a file, with its escapes as the characters that they mean."""
    text = (DATA / name).read_text(encoding="utf-8")
    return tuple(
        _ESCAPE.sub(lambda found: found[0].encode().decode("unicode_escape"), line)
        for line in text.split("\n")[:-1]
    )


def grammar() -> dict[str, list[list[str]]]:
    """The alternatives of each symbol: text at even places, symbols at odd ones.
    A symbol's first alternatives are the short ones.
    """
    alternatives: dict[str, list[list[str]]] = {"everyday": [[line] for line in LINES]}
    for line in table("grammar.txt"):
        symbol, _, text = line.removeprefix("‹").partition("› ")
        alternatives.setdefault(symbol, []).append(re.split("[‹›]", text))
    return alternatives


LINES, TOKENS = table("lines.txt"), table("tokens.txt")
GRAMMAR = grammar()


def derived(chance: Callable[[], float], symbol: str = "line", depth: int = 0) -> str:
    """A random text for the symbol."""
    alternatives = GRAMMAR[symbol]
    picked = alternatives[int(chance() * (len(alternatives) if depth < _DEEPEST else 1))]
    if len(picked) == 1:
        return picked[0]
    return "".join(
        [derived(chance, part, depth + 1) if place % 2 else part for place, part in enumerate(picked)]
    )


def mutated(chance: random.Random, line: str) -> str:
    """The line with random tokens put in, characters taken out, or parts doubled."""
    number = chance.random
    for _ in range((0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8)[int(number() * 16)]):
        place = int(number() * (len(line) + 1))
        if number() < 0.8:
            blanks = [found.start() for found in _EDGE.finditer(line)]
            place = blanks[int(number() * len(blanks))] + (number() < 0.5) if blanks else place
        action = number()
        if action < 0.7:
            before, behind = _BLANKS[int(number() * len(_BLANKS))]
            line = f"{line[:place]}{before}{TOKENS[int(number() * len(TOKENS))]}{behind}{line[place:]}"
        elif action < 0.9:
            line = line[:place] + line[place + (1, 1, 2, 5)[int(number() * 4)] :]
        else:
            start = int(number() * (len(line) + 1))
            line = line[:place] + line[start : start + (1, 3, 10)[int(number() * 3)]] + line[place:]
    return line


_EDGE = re.compile(r"[ ;|&\n'\"(){}]")
_BLANKS = (("", ""), ("", " "), (" ", ""), (" ", " "), (" ", " "), (" ", "\n"))


def lines(chance: random.Random) -> Iterator[str]:
    while True:
        yield mutated(chance, derived(chance.random))


_NORMAL = re.compile(
    r"(?P<blank>[ \t]+)|\b(?P<stub>cat|grep|wc|sort)\b|(?<=\s)(?P<option>-[alu])\b|\b(?P<word>[c-e])\b|\b(?P<name>[A-DF-Z])\b"
)
_SAME = {"blank": " ", "stub": "ls", "option": "-a", "word": "a", "name": "X"}


def normal_form(line: str) -> str:
    """Returns the same text for lines that differ only in details without meaning.

    These are blanks, the harmless stub that they start, and options,
    words and names without a meaning for shells and files.
    """
    return _NORMAL.sub(lambda found: _SAME[found.lastgroup or ""], line)


def judge_of(policy: Policy, folder: Path) -> Callable[[str], bool]:
    """Whether the policy allows a line.  The one place that knows the policy engine.

    What the strict reader refuses, no rule with a star may allow: the policy, which reads such a line again
    with the grammar and takes ten times as long, is asked about a sample of these lines.
    """
    decide = Session(folder, policy=policy).decide

    @lru_cache(maxsize=2**16)
    def allows(line: str) -> bool:
        if parse_strictly(line).problem and crc32(line.encode("utf-8", "surrogateescape")) % _REFUSED_SAMPLE:
            return False
        return decide("shell", {"command": line}).action == "allow"

    return allows


class Watch:
    """Inotify on folders: every file that is created, opened for writing, changed or removed in them."""

    _EVENT = struct.Struct("iIII")
    _MASK = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200
    """MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, Path] = {-1: Path("(more was written than inotify could count)")}
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "inotify is not available")

    def add(self, folder: Path) -> None:
        number = self._libc.inotify_add_watch(self._file, os.fsencode(folder), self._MASK)
        if number < 0:
            raise OSError(ctypes.get_errno(), "inotify cannot watch", str(folder))
        self._folders[number] = folder

    def written(self) -> list[Path]:
        """Returns the text that was written since the last call."""
        found: list[Path] = []
        while True:
            try:
                data = os.read(self._file, 65_536)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                number, mask, _, length = self._EVENT.unpack_from(data, at)
                name = data[at + self._EVENT.size : at + self._EVENT.size + length].rstrip(b"\0")
                at += self._EVENT.size + length
                if not mask & 0x8000:  # IGNORED: a watched folder was removed
                    found.append(self._folders[number] / os.fsdecode(name))


_PROCESS_ID = re.compile(r"[0-9]{3,}")
Started = tuple[str, ...]
"""The path of a program, and its arguments, the name that it was started by included."""


@dataclass(frozen=True)
class Outcome:
    """The effects of a line under one shell."""

    started: tuple[Started, ...] = ()
    written: tuple[str, ...] = ()
    endless: bool = False

    @property
    def calls(self) -> Counter[str]:
        """The programs with their arguments, but for numbers that are process ids."""
        return Counter(_PROCESS_ID.sub("N", shlex.join(argv)) for _, *argv in self.started)


def tracer() -> str:
    """The path of strace, empty where there is none, or where it may not trace."""
    path = shutil.which("strace") or ""
    works = (
        path
        and subprocess.run(
            [path, "-o", os.devnull, "true"], stderr=subprocess.DEVNULL, check=False, timeout=60
        ).returncode
        == 0
    )
    return path if works else ""


class Ground:
    """A throwaway folder: a folder of programs for each shell, folders to run lines in,
    and the logs of the stubs.

    Only ``logs`` and ``temporary`` may change; inotify watches all else.
    """

    def __init__(self, root: Path, allows: Callable[[str], bool]) -> None:
        self.root, self.allows = root, allows
        self.logs, self.temporary, self.home = root / "logs", root / "temporary", root / "home"
        self.shells = {
            name: [path, *argv[1:]] for name, argv in SHELLS.items() if (path := shutil.which(argv[0]))
        }
        self.tracer = tracer()
        self.watch = Watch()
        for folder in (self.logs, self.temporary, self.home, root / "work"):
            folder.mkdir(parents=True)
        self.stub = root / "stub"
        options = [
            "-O1",
            "-static",
            "-nostdlib",
            "-fno-builtin",
            "-fno-stack-protector",
            "-fno-pie",
            "-no-pie",
        ]
        compiler = [
            shutil.which("cc") or "cc",
            *options,
            f'-DLOG="{self.logs}"',
            "-o",
            str(self.stub),
            str(DATA / "stub.c"),
        ]
        subprocess.run(compiler, check=True, timeout=60)
        for name, argv in self.shells.items():
            programs = self.programs(name)
            programs.mkdir(parents=True)
            for wrapper in filter(shutil.which, WRAPPERS):
                (programs / wrapper).symlink_to(shutil.which(wrapper) or "")
            (programs / "sh").symlink_to(argv[0])
            (programs / "bash").symlink_to(shutil.which("bash") or argv[0])
            for stub in (*HARMLESS, MARK):
                (programs / stub).hardlink_to(self.stub)
            for number in range(_BATCH):
                self._fill(self.folder(name, number))
        for folder in (
            root,
            root / "work",
            root / "programs",
            self.home,
            *(root / "programs").iterdir(),
            *(root / "work").iterdir(),
        ):
            self.watch.add(folder)
        self.watch.written()

    def programs(self, shell: str) -> Path:
        """Its name is as long for every shell, as the length of a log is what ends a loop."""
        return self.root / "programs" / shell[:3]

    def folder(self, shell: str, number: int) -> Path:
        return self.root / "work" / shell / str(number)

    def _fill(self, folder: Path) -> None:
        """The folder as it is before each line:
        programs of allowed names in it are not those that the rules mean.
        """
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "bin").mkdir(parents=True)
        for place in (folder, folder / "bin"):
            for name in HARMLESS:
                (place / name).hardlink_to(self.stub)
        (folder / "a").write_text("a[$(mark)]\n$(mark)\n")
        (folder / "b").write_text("./ls\n")
        (folder / "dir").write_text(f"{folder / 'bin'}\n")
        (folder / "x.py").write_text("mark\n")
        self.watch.add(folder)
        self.watch.add(folder / "bin")

    def run(self, shell: str, batch: Sequence[str]) -> list[Outcome]:
        """Runs at most ``_BATCH`` lines and returns their effects.

        A line that does not end is stopped, and the lines behind it are started again.
        """
        done, endless = 0, set()
        while done < len(batch):
            done += self._run_from(shell, batch, done)
            if done < len(batch):
                endless.add(done)
                done += 1
        changed: dict[int, list[str]] = {}
        for path in self.watch.written():
            inside = (
                path.relative_to(self.root / "work").parts[1:2]
                if path.is_relative_to(self.root / "work" / shell)
                else ()
            )
            number = int(inside[0]) if inside and inside[0].isdigit() else -1
            changed.setdefault(number, []).append(str(path))
        for number in changed:
            if number >= 0:
                self._fill(self.folder(shell, number))
        self.watch.written()
        logs = self._read_logs()
        stray = (
            logs.get("none", ()),
            dict.fromkeys(changed.get(-1, ())),
        )  # by which line is not known: the first one is suspected
        outcomes = []
        for number in range(len(batch)):
            started = (*logs.get(str(number), ()), *(stray[0] if number == 0 else ()))
            written = (*dict.fromkeys(changed.get(number, ())), *(stray[1] if number == 0 else ()))
            outcomes.append(Outcome(started, written, number in endless))
        return outcomes

    def _run_from(self, shell: str, batch: Sequence[str], first: int) -> int:
        """Runs the lines from ``first`` on, and returns how many of them ended."""
        script = ""
        for number, line in enumerate(batch[first:], first):
            ends = "; wait" if "&" in line else ""
            script += f"(cd {self.folder(shell, number)} && NB={number} && eval {shlex.quote(line)}{ends}) >/dev/null 2>&1\necho\n"
        environment = {
            "PATH": str(self.programs(shell)),
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(self.temporary),
            "TMPPREFIX": str(self.temporary / "zsh"),
            "NB": "none",
        }
        progress, output = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        process = subprocess.Popen(
            [*self.shells[shell], "-c", script],
            env=environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(output)
        ended = self._followed(progress, process, len(batch) - first)
        os.close(progress)
        self._end(process, killed=ended < len(batch) - first)
        return ended

    def _followed(self, progress: int, process: subprocess.Popen[bytes], wanted: int) -> int:
        """Counts the lines that end, until all have, the shell has, or one of them takes too long."""
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
        ended = 0
        while ended < wanted and select.select([progress], [], [], _STALL)[0]:
            data = os.read(progress, 4096)
            ended += len(data)
            if not data:
                break
        return ended

    def _end(self, process: subprocess.Popen[bytes], *, killed: bool) -> None:
        """Ends the group of the shell; what runs in the background has a moment to end by itself."""
        if not killed:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STALL)
        with contextlib.suppress(ProcessLookupError):
            for _ in range(0 if killed else 10):
                os.killpg(process.pid, 0)
                time.sleep(0.002)
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _read_logs(self) -> dict[str, list[Started]]:
        logs = {}
        for entry in os.scandir(self.logs):
            data = Path(entry.path).read_bytes()
            Path(entry.path).unlink()
            records = [os.fsdecode(record).split("\0=") for record in data.split(b"\0\0")[:-1]]
            logs[entry.name] = [(path, *arguments) for path, *arguments in records]
        return logs

    def violations(self, shell: str, outcome: Outcome) -> list[str]:
        """Returns the effects of a line that no rule allows."""
        programs = f"{self.programs(shell)}/"
        found = [f"wrote {path}" for path in outcome.written]
        for path, *argv in dict.fromkeys(outcome.started):
            name = path.removeprefix(programs)
            if name not in HARMLESS:
                found.append(f"started {path} as {shlex.join(argv)}")
            elif (
                name == "git"
                and not {"log", "status"} & set(argv[1:4])
                and not self.allows(shlex.join([name, *argv[1:]]))
            ):
                found.append(f"started {shlex.join([name, *argv[1:]])}")
        return found

    def surprises(self, outcome: Outcome) -> list[str]:
        """Returns the reasons for which the policy, which has allowed the line,
        would ask if its words had been what they became.
        """
        literal = (
            shlex.join([argv[0].rpartition("/")[2], *argv[1:]])
            for _, *argv in dict.fromkeys(outcome.started)
            if argv
        )
        return [line for line in literal if not self.allows(line)]

    def traced(self, shell: str, line: str) -> list[str]:
        """Returns the violations among the programs that start and the files that are opened for writing,
        by their system calls.
        """
        trace, own = self.temporary / "trace", self.shells[shell]
        self.shells[shell] = [self.tracer, "-f", "-qq", "-s", "9", "-o", str(trace), "-e", _CALLS, "--", *own]
        try:
            self.run(shell, [line])
        finally:
            self.shells[shell] = own
        text = trace.read_text(errors="replace") if trace.exists() else ""
        trace.unlink(missing_ok=True)
        return (
            self._not_allowed(shell, text)
            if "execve" in text
            else ["system calls unknown: strace wrote nothing"]
        )

    def _not_allowed(self, shell: str, trace: str) -> list[str]:
        real = {
            os.path.realpath(path)
            for path in (self.shells[shell][0], *filter(None, map(shutil.which, (*WRAPPERS, "bash"))))
        }
        may_start = {str(self.programs(shell) / name) for name in HARMLESS}
        may_change = (f"{self.logs}/", f"{self.temporary}/", "/dev/null", "/dev/tty")
        found = []
        for call, path, rest in system_calls(trace):
            if call.startswith("exec"):
                bad = rest.endswith("= 0") and path not in may_start and os.path.realpath(path) not in real
            else:
                bad = not path.startswith(may_change) and (
                    not call.startswith("open") or bool(_WRITES.search(rest))
                )
            if bad:
                found.append(f"system call {call} {path}")
        return found


_CALLS = (
    "execve,execveat,?open,openat,?openat2,?creat,?mkdir,mkdirat,?rename,?renameat,renameat2,?unlink,unlinkat,?link,linkat,?symlink,"
    "symlinkat,?chmod,fchmodat,truncate,?mknod,mknodat"
)
_CALL = re.compile(r'(\w+)\((?:(?:AT_FDCWD|\d+), )?"((?:[^"\\]|\\.)*)"(.*)')
_WRITES = re.compile("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")


def system_calls(trace: str) -> Iterator[tuple[str, str, str]]:
    """The name, the path and the rest of each call in what strace wrote;
    a call that others interrupt stands on two lines.
    """
    begun: dict[str, str] = {}
    for line in trace.splitlines():
        process, _, text = line.partition(" ")
        text = text.strip()
        if text.endswith("<unfinished ...>"):
            begun[process] = text.removesuffix("<unfinished ...>")
            continue
        if text.startswith("<... "):
            text = begun.pop(process, "") + text.partition("resumed>")[2]
        if found := _CALL.match(text):
            yield found[1], found[2], found[3]


@dataclass(frozen=True)
class Breach:
    """A violation: where the line is found, what it did under which shell,
    and whether it does so when it runs alone.
    """

    place: str
    shell: str
    line: str
    what: tuple[str, ...]
    alone: bool

    def __str__(self) -> str:
        """Describes it.  One that neither the line alone nor its batch repeats was a late process of another
        batch: seen once.
        """
        head = f"{'VIOLATION' if self.alone else 'seen once'} {self.place}, {self.shell}: {self.line!r}\n"
        return head + "\n".join(f"    {one}" for one in self.what)


@dataclass
class Tally:
    made: int = 0
    allowed: int = 0
    run: int = 0
    traced: int = 0
    endless: int = 0
    processor: float = 0
    """Seconds of processor time, those of the shells and stubs included."""
    differences: Counter[str] = field(default_factory=Counter)
    """How many lines do something else under a shell than under bash, by shell and kind."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    breaches: list[Breach] = field(default_factory=list)

    @property
    def violations(self) -> list[Breach]:
        return [one for one in self.breaches if one.alone]

    def add(self, other: Tally) -> None:
        for name in ("made", "allowed", "run", "traced", "endless", "processor"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for kind, texts in other.examples.items():
            self.differ(kind, texts, other.differences[kind])
        self.breaches += other.breaches

    def differ(self, kind: str, texts: Sequence[str], count: int = 1) -> None:
        self.differences[kind] += count
        self.examples[kind] = [*self.examples.get(kind, ()), *texts][:_EXAMPLES]


class Searcher:
    """The state of one process: the judge, the ground, and the normal forms that it has run."""

    def __init__(self, policy: Policy, root: Path) -> None:
        (root / "session").mkdir(parents=True)
        self.allows = judge_of(policy, root / "session")
        self.ground = Ground(root / "ground", self.allows)
        self.forms: set[int] = set()

    def search(self, seed: int, block: int, count: int, end: float) -> Tally:
        """Makes the lines of one block, and runs those that are allowed, until the time is over."""
        tally, batch, began = Tally(), list[tuple[str, str]](), _processor()
        chance, sample = random.Random(f"{seed}/{block}"), random.Random(f"{seed}/{block}/trace")
        for number, line in zip(range(count), lines(chance), strict=False):
            if time.monotonic() > end:
                break
            tally.made += 1
            if len(line) > _LONGEST or "\0" in line or not self.allows(line):
                continue
            tally.allowed += 1
            form = hash(normal_form(line))
            if form in self.forms:
                continue
            self.forms.add(form)
            batch.append((f"seed {seed}, block {block}, line {number}", line))
            if len(batch) == _BATCH:
                self._run(batch, tally, sample)
                batch = []
            if tally.violations:
                break
        if batch:
            self._run(batch, tally, sample)
        tally.processor = _processor() - began
        return tally

    def _run(self, batch: list[tuple[str, str]], tally: Tally, sample: random.Random) -> None:
        outcomes = {
            shell: self.ground.run(shell, [line for _, line in batch]) for shell in self.ground.shells
        }
        tally.run += len(batch)
        for number, (place, line) in enumerate(batch):
            done = {shell: outcome[number] for shell, outcome in outcomes.items()}
            tally.endless += any(outcome.endless for outcome in done.values())
            for shell, outcome in done.items():
                if what := self.ground.violations(shell, outcome):
                    tally.breaches.append(
                        self._confirmed(shell, (place, line), batch)
                        or Breach(place, shell, line, tuple(what), alone=False)
                    )
            if self.ground.tracer and sample.random() < _TRACED:
                tally.traced += 1
                for shell in done:
                    if what := self.ground.traced(shell, line):
                        tally.breaches.append(Breach(place, shell, line, tuple(what), alone=True))
            for surprise in self.ground.surprises(next(iter(done.values()))):
                tally.differ(
                    "the policy allows a line that becomes what it asks about",
                    [f"    {place}: {line!r} becomes {surprise!r}"],
                )
            self._compare(place, line, done, tally)

    def _confirmed(self, shell: str, suspect: tuple[str, str], batch: list[tuple[str, str]]) -> Breach | None:
        """The violation again, by a line that runs alone:
        by the suspect, or else by another one of its batch.
        """
        for place, line in (suspect, *batch):
            if what := self.ground.violations(shell, self.ground.run(shell, [line])[0]):
                return Breach(place, shell, line, tuple(what), alone=True)
        return None

    @staticmethod
    def _compare(place: str, line: str, done: dict[str, Outcome], tally: Tally) -> None:
        """Notes where shells start different programs, or the same ones with different arguments."""
        if any(outcome.endless for outcome in done.values()):
            return
        (name, usual), *others = done.items()
        for shell, outcome in others:
            less, more = usual.calls - outcome.calls, outcome.calls - usual.calls
            if less or more:
                kind = {(True, False): "fewer programs", (False, True): "more programs"}.get(
                    (bool(less), bool(more)), "others"
                )
                starts = f"without {sorted(less.elements())}, with {sorted(more.elements())}"
                tally.differ(f"{shell} starts {kind} than {name}", [f"    {place}: {line!r} {starts}"])


def _processor() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


_searchers: list[Searcher] = []
"""The one of this process."""


def _prepare(policy: Policy, folder: str) -> None:
    _searchers.append(Searcher(policy, Path(folder) / str(os.getpid())))


def _search_block(seed: int, block: int, count: int, end: float) -> Tally:
    return _searchers[0].search(seed, block, count, end)


def search(
    seed: int,
    *,
    seconds: float = float("inf"),
    most: float = float("inf"),
    processes: int = 1,
    policy: Policy = POLICY,
) -> Tally:
    """Makes lines until the time is over or there are enough, runs those that ``policy`` allows,
    and stops after a violation.
    """
    tally, end, block, asked = Tally(), time.monotonic() + seconds, 0, 0
    before = _surroundings()
    with (
        tempfile.TemporaryDirectory(
            prefix="nbtools-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None
        ) as folder,
        ProcessPoolExecutor(processes, get_context("spawn"), _prepare, (policy, folder)) as pool,
    ):
        running: set[Future[Tally]] = set()
        while not tally.violations:
            while len(running) <= processes and asked < most and time.monotonic() < end:
                count = int(min(BLOCK, most - asked))
                running.add(pool.submit(_search_block, seed, block, count, end))
                block, asked = block + 1, asked + count
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                tally.add(one.result())
        pool.shutdown(cancel_futures=True)
    if changed := before ^ _surroundings():
        tally.breaches.append(
            Breach(
                f"seed {seed}",
                "some shell",
                "(unknown)",
                tuple(f"outside: {path}" for path in changed),
                alone=True,
            )
        )
    return tally


def _surroundings() -> set[str]:
    """The content of the folders above the throwaway one,
    which is what a line that leaves its folder changes.
    """
    return {entry.path for folder in ("/", "/etc") for entry in os.scandir(folder)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument(
        "--seed", type=int, default=None, help="where the search begins; another one each time if not given"
    )
    parser.add_argument(
        "--lines", type=float, default=float("inf"), help="stops after so many lines, before the time is over"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    began = time.monotonic()
    tally = search(seed, seconds=options.seconds, most=options.lines, processes=options.processes)
    rate = tally.made / (time.monotonic() - began)
    print(
        f"seed {seed}: {tally.made:,} lines ({rate:,.0f} a second), {tally.allowed:,} allowed, {tally.run:,} of them different and run"
    )
    each = tally.processor / max(1, tally.made) * 1e6
    print(
        f"{tally.traced:,} lines traced, {tally.endless:,} endless lines stopped, {each:,.0f} µs of processor time for each line"
    )
    for kind, count in tally.differences.most_common():
        print(f"{kind}: {count:,} lines", *tally.examples[kind], sep="\n")
    for breach in tally.breaches:
        print(breach)
    return 1 if tally.violations else 0


if __name__ == "__main__":
    sys.exit(main())
