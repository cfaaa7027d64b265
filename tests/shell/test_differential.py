"""The programs themselves as judge of the table:
lines that nothing asks about run under strace, and do no more than ``understand`` says.

A line for each program and sub-command, two for each program in ``make fuzz``;
``NBTOOLS_DIFFERENTIAL=n`` runs n times as many.
"""

from __future__ import annotations

import os
import posixpath
import random
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from nbtools.shell import CommandAnalysis, analyse
from nbtools.shell.program_table import Entry, included_table
from tests.shell.tracing import Run, is_device, run_traced, why_not, without_network

pytestmark = [pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"), pytest.mark.timeout(3600)]

TIMES = int(os.environ.get("NBTOOLS_DIFFERENTIAL", "1"))

_DATA = tomllib.loads(
    Path(__file__).with_suffix(".toml").with_stem("differential").read_text(encoding="utf-8")
)
OPERANDS: dict[str, str] = _DATA["operands"]
OPERANDS |= {other: OPERANDS[one] for one, others in _DATA["like"].items() for other in others.split(", ")}
ANY = "a; a b; d; ; n1; -; a n1; ."
NEEDS_NO_NETWORK = frozenset(
    "curl wget ip ss netstat ifconfig arp hostname sysctl dmesg lsof getent findmnt lsblk chattr".split()  # noqa: SIM905
)
ENDLESS = frozenset("-f -F --follow --retry --pid --repeat -r --watch --loop".split())  # noqa: SIM905
"""Options of tail and shuf with which they do not end."""

HELPERS = {
    # the editor of a commit or a rebase is git's own, and its bisect and submodule are scripts
    "git": r"git.*|started-editor|basename|sed|gettext|envsubst|uname|expr|cat|rm",
    "yq": "jq",
    "locale": "gzip",
    "xargs": "echo",
    "lsb_release": "getopt|cut|tr",
    "ctags|etags": "sort",
    "tar": r"gzip|bzip2|xz|zstd|lzma|lzip|lzop|compress",
    "z(?:cat|grep|egrep|fgrep)|gunzip|(?:bz|xz|zstd)e?f?grep|xzcat|lzcat|bzcat|egrep|fgrep": (
        r".*grep|gzip|zcat|bzip2|xz|zstd|zstdcat|sed|cat|rm|expr|mktemp|sh|bash|basename|dirname|uname"
    ),
    "diff3|sdiff": "diff",
    "gcc|cc": ".*",
    "dpkg": "dpkg-query",
}
"""Programs that others start by their nature."""
IMPLIED = {
    "split": "x.+",
    "csplit": r"(?:xx|-)\d+",
    "ctags|etags": "tags|TAGS",
    "gcc|cc": r"a\.out|(?:a-)?x\.[ods]",
    "patch": r".*\.(?:rej|orig)",
}
"""Files that programs write where they stand, as their ``note`` says."""
RESOLVING = frozenset({"netstat", "lsof", "last", "who"})
"""Programs that ask for the names of the addresses they show."""
PREFIXES = frozenset({"split", "csplit", "mktemp"})
"""Programs whose written files only begin with the name in ``writes``."""
VALUES = "1 0 2 x a b d n1 1,2 never always auto all none %s : = +1 -1 1K 644 u+x utf-8 name time 5".split()  # noqa: SIM905
ATTACKS = "-o -i -n1 -on1 -in1 --output=n1 --output n1 -w -C -f -e -s -- --help -x -d".split()  # noqa: SIM905


def _leaves() -> Iterator[tuple[str, Entry]]:
    """The programs that are installed here, each sub-command by itself."""
    table = included_table()
    for program in _DATA["programs"].split():
        entry = table.find(program)
        if (
            entry is None
            or not (shutil.which(program) or program == "time")
            or (program in NEEDS_NO_NETWORK and not without_network())
        ):
            continue
        yield from _below(program, entry)


def _below(name: str, entry: Entry) -> Iterator[tuple[str, Entry]]:
    if not (entry.asks or entry.project):
        yield name, entry
    for word, command in entry.commands.items():
        yield from _below(f"{name} {word}", command)


LEAVES = dict(_leaves()) if not why_not() else {}


@cache
def _of_help(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Options that the program's own help names, and of these those that write files,
    judged by their names.
    """
    words = name.split()
    asked = [*words, "-h" if words[0] == "git" and len(words) > 1 else "--help"]
    try:
        done = subprocess.run(
            asked,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=20,
            cwd="/",
            env={"PATH": os.environ["PATH"]},
        )
    except (OSError, subprocess.TimeoutExpired):
        return (), ()
    found = re.findall(
        r"(?<![\w-])(--[a-z][\w-]+|-[A-Za-z0-9])\b", (done.stdout + done.stderr).decode(errors="replace")
    )
    options = tuple(sorted(set(found)))
    return options, tuple(
        option
        for option in options
        if re.search(r"out|file|save|log|dump|exec|prog|command|suffix|backup|temp", option)
    )


class Lines:
    """Lines of one program, at random and always the same ones;
    ``extra`` of a line are names of files that its ``*`` finds.
    """

    def __init__(self, name: str, entry: Entry) -> None:
        self.name = name
        self.entry = entry
        self.random = random.Random(name)
        self.style = entry.style
        flags = entry.flags | entry.rewrites | entry.shows
        self.flags = sorted(flags - ENDLESS if name in ("tail", "shuf", "jq") else flags)
        self.values = sorted(entry.values - {"-S", "--split-string"} if name == "env" else entry.values)
        self.optional = sorted(entry.optional - ENDLESS)
        self.cores = [
            [word.replace("&", " ") for word in core.split()]
            for core in re.split(r";\s+", OPERANDS.get(name, ANY))
        ]

    @property
    def helped(self) -> tuple[str, ...]:
        return _of_help(self.name)[0]

    @property
    def risky(self) -> tuple[str, ...]:
        return _of_help(self.name)[1]

    def option(self) -> list[str]:
        kinds = [kind for kind in (self.flags, self.values, self.optional) if kind]
        weights = [max(2, min(len(kind), 12)) for kind in kinds]
        if not kinds or self.random.random() < 0.04:
            return [self.random.choice(["--", "---x", "-", *self.helped, *self.abbreviations()])]
        kind = self.random.choices(kinds, weights)[0]
        option = self.random.choice(kind)
        if kind is self.flags:
            return [self.cluster(option) if self.random.random() < 0.3 else option]
        value = self.value(option)
        if self.name == "dd":
            return [f"{option}={value}"]
        if kind is self.optional:
            return [
                self.random.choice(
                    [
                        option,
                        option,
                        f"{option}={value}"
                        if option.startswith("--") or self.style == "words"
                        else f"{option}{value}",
                    ]
                )
            ]
        if self.random.random() < 0.5:
            return [option, value]
        return [f"{option}={value}" if option.startswith("--") else self.cluster(option) + value]

    def cluster(self, option: str) -> str:
        """The short option behind others in one word,
        flags or ones with a value that is then the rest of the word.
        """
        letters = [flag for flag in (*self.flags, *self.optional) if re.fullmatch("-[A-Za-z0-9]", flag)]
        if not re.fullmatch("-[A-Za-z0-9]", option) or self.style == "words" or not letters:
            return option
        before = "".join(self.random.choice(letters)[1] for _ in range(self.random.randint(0, 2)))
        return f"-{before}{option[1]}"

    def value(self, option: str) -> str:
        entry, chance = self.entry, self.random.random()
        if chance < 0.2:
            return self.random.choice([*ATTACKS, *self.risky, *(f"{risky}=n1" for risky in self.risky)])
        if option in entry.only:
            fitting = [
                value
                for value in (*VALUES, "https", "no:x", "ort", "true", "color.ui=never", "%H", "a=b", "..")
                if entry.only[option].fullmatch(value)
            ]
            if fitting:
                return self.random.choice(fitting)
        if option in entry.folder:
            return self.random.choice(["d", ".", "d/", "n1"])
        if option in entry.writes | entry.removes:
            return self.random.choice(["n1", "a", "d/n2", "d", "-"])
        if option in entry.reads:
            return self.random.choice(["a", "b", "names", "-", "d"])
        return self.random.choice(VALUES)

    def abbreviations(self) -> list[str]:
        return [
            option[: self.random.randint(4, len(option))]
            for option in (*self.helped, *self.flags)
            if len(option) > 5 and option.startswith("--")
        ]

    def line(self, at: int) -> tuple[str, tuple[str, ...]]:
        core = list(self.random.choice(self.cores))
        core = [
            self.random.choice(["-e", "--", "-o"]) if word and self.random.random() < 0.02 else word
            for word in core
        ]
        options = [self.option() for _ in range(self.random.choice([0, 1, 1, 2, 2, 3]) if at else 0)]
        singles = [[flag] for flag in self.flags]
        if TIMES > 4 and at % 3 == 1 and at // 3 < len(singles):
            options = [singles[at // 3]]
        if options and self.random.random() < 0.1:
            options.append(options[0])
        stop = 0 if self.style == "first" or self.name.split()[0] in ("find", "xargs") else len(core)
        words = core
        for option in options:
            place = (
                self.random.randint(0, stop)
                if self.name != "find"
                else self.random.randint(min(1, len(core)), len(core))
            )
            words = [*words[:place], *option, *words[place:]]
        extra: tuple[str, ...] = ()
        tail = ""
        if "<" in words:
            words, tail = (
                words[: words.index("<")],
                " < " + words[words.index("<") + 1] if words[-1] != "<" else "",
            )
        if self.random.random() < 0.08 and self.name not in ("rm", "shred", "chmod", "chown"):
            tail = self.random.choice([" *", " ./*", " a*", ' "$HOME"/*'])
            hostile = [
                *self.risky,
                *(f"{risky}=n1" for risky in self.risky),
                "-o",
                "-on1",
                "-i",
                *self.flags,
                *self.helped,
            ]
            extra = tuple(sorted({option for option in self.random.sample(hostile, 3) if "/" not in option}))
        head = "printf 'a\\nb\\n' | " if self.name == "xargs" or self.random.random() < 0.03 else ""
        return head + " ".join([self.name, *map(shlex.quote, words)]) + tail, extra

    def unasked(self, count: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        seen: set[str] = set()
        for at in range(count * 30):
            line, extra = self.line(at)
            if line in seen or is_asked(analyse(line), extra):
                continue
            seen.add(line)
            yield line, extra
            if len(seen) >= count:
                return


def is_asked(acts: CommandAnalysis, extra: tuple[str, ...]) -> bool:
    odd_names = acts.uses_file_names and any(name.startswith("-") for name in extra)
    return bool(acts.doubt or acts.unverified or odd_names) or any(
        act.risk or act.critical for act in acts.commands
    )


class Judge:
    """Holds what a line did against its acts."""

    def __init__(self, line: str, run: Run) -> None:
        self.run = run
        self.acts = analyse(line)
        self.writes = [self._path(path) for act in self.acts.commands for path in act.writes]
        self.names = [posixpath.basename(act.words[0]) for act in self.acts.commands if act.words]
        self.changes_repository = any(
            act.words[:1] == ("git",) and not act.harmless for act in self.acts.commands
        )

    def _path(self, path: str) -> str:
        home = posixpath.join(posixpath.dirname(self.run.folder), "home")
        path = path.replace('"$HOME"', home)
        path = home + path[1:] if path.startswith("~/") else path
        return posixpath.normpath(posixpath.join(self.run.folder, path))

    def surprises(self) -> list[str]:
        found = []
        for event in self.run.events:
            if event.kind == "execute":
                fine = self._may_start(posixpath.basename(event.path))
            elif event.kind == "connect":
                fine = not self.acts.harmless or bool(RESOLVING & set(self.names))
            else:
                fine = is_device(event.path) or self._may_write(event.path, event.kind)
            if not fine:
                found.append(f"{event.kind} {event.path.replace(self.run.folder, '.')}")
        return found

    def _may_start(self, program: str) -> bool:
        if program == "sh" or program in self.names:
            return True
        if program == "started-editor" and not self.changes_repository:
            return False
        return any(
            re.fullmatch(helper, program)
            for name in self.names
            for own, helper in HELPERS.items()
            if re.fullmatch(own, name)
        )

    def _may_write(self, path: str, kind: str) -> bool:
        return self._is_own(path) or any(self._covers(known, path, kind) for known in self.writes)

    def _is_own(self, path: str) -> bool:
        """A file of its own: a temporary one, what git keeps of the files it looked at,
        or what its ``note`` speaks of.
        """
        folder, temporary = self.run.folder, self.run.temporary
        if path.startswith(temporary + "/"):
            return not os.path.lexists(path) or self.names[:1] == ["mktemp"]
        inside = posixpath.relpath(path, folder)
        if "git" in self.names and inside in (".git/index", ".git/index.lock"):
            return True
        if self.changes_repository and (path + "/").startswith(folder + "/"):
            return True
        implied = (
            file for own, file in IMPLIED.items() if any(re.fullmatch(own, name) for name in self.names)
        )
        return not self.acts.harmless and any(re.fullmatch(file, inside) for file in implied)

    def _covers(self, known: str, path: str, kind: str) -> bool:
        """Whether the path is one that an act says, in a folder that it says, above one that is made,
        or a passing file beside it.
        """
        if path == known or path.startswith(known.rstrip("/") + "/"):
            return True
        if "*" in known and path.startswith(known[: known.index("*")]):
            return True
        if kind == "write" and (
            known.startswith(path + "/")
            or (path.startswith(known.rstrip("X")) and PREFIXES & set(self.names))
        ):
            return True
        inside = posixpath.relpath(path, self.run.folder)
        passing = inside not in self.run.before | self.run.after
        return passing and posixpath.dirname(path) == posixpath.dirname(known)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("template"))


def make_folder(folder: Path) -> Path:
    """Files to work on, and packed ones as far as the packers are there."""
    for name, text in {
        "a": "1 x\n2 y\n",
        "b": "1 x\n3 z\n",
        "c.json": '{"a": 1}\n',
        "d/e": "x\n",
        "names": "a\nb\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "d/empty").mkdir()
    (folder / "empty/x").mkdir(parents=True)
    (folder / "p.diff").write_text("--- a\n+++ a\n@@ -1,2 +1,2 @@\n-1 x\n+1 w\n 2 y\n")
    (folder / "x.py").write_text("import os\nx = 1\n")
    (folder / "x.c").write_text("int main(void){return 0;}\n")
    for line in (
        "tar cf t.tar a d",
        "tar czf t.tgz a d",
        "gzip -k a",
        "cp a.gz a2.gz",
        "xz -k a",
        "bzip2 -k a",
        "zstd -qk a",
        "lz4 -q a a.lz4",
        "zip -q a.zip a",
    ):
        subprocess.run(["sh", "-c", line], cwd=folder, check=False, capture_output=True, timeout=60)
    return folder


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("repository"))


def make_repository(folder: Path) -> Path:
    """Makes a git repository with a changed file, a new one, two branches, a stash,
    a tag and a signed commit.
    """
    make_folder(folder)
    block = "-----BEGIN PGP SIGNATURE-----\\n{0}\\n{0}x\\n{0}-----END PGP SIGNATURE-----"
    script = f"""
        git init -q -b main --template= && git add a b d && git commit -qm one && git tag one && git checkout -q -b other
        echo 4 >> b && git commit -qam two && git checkout -q main && echo 5 >> a && git commit -qam three
        git cat-file commit HEAD | sed '/^committer/a gpgsig {block.format(" ")}' | git hash-object -t commit -w --stdin > ../hash
        git branch signed "$(cat ../hash)"
        printf 'object %s\\ntype commit\\ntag s\\ntagger a <a@b> 1 +0000\\n\\nx\\n{block.format("")}\\n' "$(git rev-parse HEAD)" > ../tag
        git tag s "$(git hash-object -t tag -w ../tag)"
        echo 6 >> b && git stash -q && echo 7 >> a && echo 8 > new
    """
    identity = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **identity}
    subprocess.run(
        ["sh", "-c", script], cwd=folder, check=True, capture_output=True, timeout=60, env=environment
    )
    return folder


@pytest.mark.parametrize("name", LEAVES)
def test_no_line_does_more_than_is_understood(
    name: str, template: Path, repository: Path, tmp_path: Path, all_rounds: bool
) -> None:
    of_git = name.startswith("git")
    lines = list(Lines(name, LEAVES[name]).unasked(2 * TIMES if all_rounds and " " not in name else TIMES))

    def surprises(line: tuple[str, tuple[str, ...]]) -> list[str]:
        run = run_traced(line[0], repository if of_git else template, tmp_path, line[1])
        return (
            [f"{line[0]}   {line[1] or ''}: {', '.join(found)}"]
            if (found := Judge(line[0], run).surprises())
            else []
        )

    with ThreadPoolExecutor(2) as pool:
        found = [text for texts in pool.map(surprises, lines) for text in texts]
    assert not found, "\n" + "\n".join(found)


def test_the_judge_sees_writes_removals_and_programs(template: Path, tmp_path: Path) -> None:
    def surprises(line: str, understood: str) -> list[str]:
        return Judge(understood, run_traced(line, template, tmp_path)).surprises()

    assert surprises("sort -o n1 a", "sort a") == ["write ./n1"]
    assert {"remove ./d/e", "write ./d/n1"} <= set(surprises("cd d && mv e n1", "cat a"))
    assert "execute /usr/bin/touch" in surprises("timeout 5 touch n1", "timeout 5 cat a")
    assert surprises("sort -o n1 a", "sort -o n1 a") == []
    assert surprises("sed -i p a", "sed -i p a") == []
