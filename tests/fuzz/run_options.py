"""Looks for options that programs parse otherwise than the table says:
``python tests/fuzz/run_options.py --seconds N``.

Puts each option of each installed program before and after ``--``, operands and options that write, at the
end without its value, and into words with other letters.  Runs the lines that nothing asks about under
strace, and reports those that do more than the analysis says.
"""

from __future__ import annotations

import argparse
import random
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from nbtools.shell import analyse
from nbtools.shell.program_table import Entry
from tests.shell.test_differential import LEAVES, Judge, Lines, is_asked, make_folder, make_repository
from tests.shell.tracing import run_traced

_WRITING = (
    "-o",
    "-i",
    "-O",
    "-w",
    "--output",
    "--output-file",
    "--in-place",
    "--write",
    "--pre",
    "--exec",
    "--out",
    "--log-file",
)


def lines(name: str, entry: Entry) -> Iterator[str]:
    """Yields the lines of one program."""
    known = Lines(name, entry)
    cores = [core for core in known.cores if "<" not in core]
    writing = sorted({*_WRITING, *entry.writes, *entry.rewrites, *known.risky})
    dangers = [
        *([option, "n1"] for option in writing),
        *([f"{option}=n1"] for option in writing if option.startswith("--")),
    ]
    dangers += [[f"{option}n1"] for option in writing if len(option) == 2]
    letters = sorted(option[1] for option in writing if re.fullmatch(r"-[A-Za-z0-9]", option))
    options = sorted(entry.flags | entry.values | entry.optional)
    for core in cores:
        yield from (
            _line(name, *words)
            for danger in dangers
            for words in (["--", *core, *danger], [*core, "--", *danger], [*core, *danger])
        )
        for option in options:
            yield _line(name, *core, option)
            for danger in dangers:
                yield _line(name, option, "--", *danger, *core)
                yield _line(name, *core, option, *danger)
                yield _line(name, option, *danger, *core)
                yield _line(name, option, "1", *danger, *core)
            if re.fullmatch(r"-[A-Za-z0-9]", option):
                for letter in letters:
                    for words in (
                        [option + letter, "1", "n1"],
                        [option + letter, "n1"],
                        [option + letter + "n1"],
                        [f"-{letter}{option[1]}", "n1"],
                    ):
                        yield _line(name, *words, *core)
                        yield _line(name, *core, *words)


def _line(name: str, *words: str) -> str:
    return " ".join([name, *map(shlex.quote, words)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=300, help="ends after this time, for all programs together"
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument(
        "--programs",
        default="",
        help="only these, with spaces between them; a sub-command's name has its program's before it",
    )
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    chosen = {
        name: entry
        for name, entry in LEAVES.items()
        if not options.programs or name.split()[0] in options.programs.split()
    }
    folder = Path(tempfile.mkdtemp(prefix="nbtools-options-"))
    try:
        for part in ("template", "repository", "runs"):
            (folder / part).mkdir()
        template, repository = make_folder(folder / "template"), make_repository(folder / "repository")
        return _search(chosen, template, repository, folder / "runs", seed, options.seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _search(
    chosen: dict[str, Entry], template: Path, repository: Path, runs: Path, seed: int, seconds: float
) -> int:
    made = run = bad = 0
    end = time.monotonic() + seconds
    for at, (name, entry) in enumerate(chosen.items()):
        mine = list(dict.fromkeys(lines(name, entry)))
        random.Random(f"{seed}/{name}").shuffle(mine)
        until = time.monotonic() + (end - time.monotonic()) / (len(chosen) - at)
        for line in mine:
            if time.monotonic() > until:
                break
            made += 1
            if is_asked(analyse(line), ()):
                continue
            run += 1
            traced = run_traced(line, repository if name.startswith("git") else template, runs)
            if found := Judge(line, traced).surprises():
                bad += 1
                print(f"{line}: {', '.join(found)}", flush=True)
    print(f"seed {seed}: {made:,} lines, {run:,} runs, {bad:,} that do more than is understood", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
