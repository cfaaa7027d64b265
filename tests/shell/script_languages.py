"""Random scripts of sed, awk, jq and SQLite,
and a run of those that count as plain with the programs themselves.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nbtools.shell.scripts import (
    awk_program_is_plain,
    jq_filter_is_plain,
    sed_script_is_plain,
    sql_only_queries,
)

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_PIECES = {name: tuple(text.strip("\n").split("\n")) for name, text in _DATA.items()}
_GLUE = ("", "", " ", " ", "\n", ";")


class Language(NamedTuple):
    """A language with the pieces of its random scripts,
    and the commands that run a script with the programs of this machine.
    """

    name: str
    pieces: tuple[str, ...]
    is_plain: Callable[[str], bool]
    commands: tuple[tuple[str, ...], ...]
    """``%`` is the script."""

    def installed(self) -> list[tuple[str, ...]]:
        return [command for command in self.commands if shutil.which(command[0])]


LANGUAGES = (
    Language(
        "sed",
        _PIECES["sed"],
        sed_script_is_plain,
        (("sed", "%", "a"), ("sed", "-nE", "%", "a"), ("sed", "--posix", "%", "a")),
    ),
    Language(
        "awk",
        _PIECES["awk"],
        awk_program_is_plain,
        (
            ("mawk", "%", "a"),
            ("gawk", "%", "a"),
            ("gawk", "--posix", "%", "a"),
            ("gawk", "--traditional", "%", "a"),
            ("original-awk", "%", "a"),
            ("busybox", "awk", "%", "a"),
        ),
    ),
    Language("jq", _PIECES["jq"], jq_filter_is_plain, (("jq", "-n", "%"), ("jq", "%", "j"))),
    Language(
        "sql",
        _PIECES["sql"],
        sql_only_queries,
        (("sqlite3", "-safe", ":memory:", "%"), ("sqlite3", "-safe", "t.db", "%")),
    ),
)
SECRET = "known-only-to-the-file"


def make_ground(folder: Path) -> Path:
    """Makes a folder with files to work on, and files with a secret that no script names."""
    (folder / "a").write_text("a b\nb >m\n>m\n", encoding="utf-8")
    (folder / "j").write_text('{"a": [1, {"b": "c"}]}\n', encoding="utf-8")
    for name in ("k", "k.json", "k.jq"):
        (folder / name).write_text(f'"{SECRET}"\n', encoding="utf-8")
    (folder / "t.db").write_bytes(b"")
    return folder


def scripts(language: Language, chance: random.Random) -> Iterator[str]:
    """Makes scripts at random without end;
    some consist of several ``-e`` parts, joined by a newline as sed does.
    """
    while True:
        count = chance.randint(1, 7)
        yield "".join(f"{chance.choice(language.pieces)}{chance.choice(_GLUE)}" for _ in range(count))


_RUNNER = r"""
ulimit -f 200; ulimit -t 2; ulimit -v 2000000
while IFS= read -r -d '' script; do
    timeout 2 @COMMAND@ >out 2>&1 </dev/null
    set -- *
    shown=$(tr -d '\0' <out)
    if test $# != @COUNT@ || [[ $shown == *@SECRET@* ]]; then
        printf '%s\0' "$script" >>../found
        find . -maxdepth 1 -newer ../mark ! -name out ! -name t.db -type f -delete
    fi
done
"""


def violations(command: Sequence[str], plain: Sequence[str], folder: Path) -> list[str]:
    """Runs the scripts, and returns those that left a file or printed what no command names."""
    ground = folder / "ground"
    shutil.rmtree(ground, ignore_errors=True)
    ground.mkdir(parents=True)
    make_ground(ground)
    (ground / "out").touch()
    for path in ground.iterdir():
        os.utime(path, (1, 1))
    (folder / "mark").touch()
    (folder / "found").unlink(missing_ok=True)
    words = " ".join('"$script"' if word == "%" else f"'{word}'" for word in command)
    text = (
        _RUNNER.replace("@COMMAND@", words)
        .replace("@SECRET@", SECRET)
        .replace("@COUNT@", str(len(list(ground.iterdir()))))
    )
    data = b"".join(script.encode() + b"\0" for script in plain)
    subprocess.run(
        ["bash", "-c", text], input=data, cwd=ground, check=False, capture_output=True, timeout=3600
    )
    found = folder / "found"
    return (
        [script for script in found.read_text(encoding="utf-8").split("\0") if script]
        if found.exists()
        else []
    )


@cache
def plain_scripts(language: Language, seed: str, count: int) -> list[str]:
    """Returns the different plain scripts among ``count`` random ones."""
    chance = random.Random(seed)
    made = (script for script, _ in zip(scripts(language, chance), range(count), strict=False))
    return list(
        dict.fromkeys(script for script in made if not script.startswith("-") and language.is_plain(script))
    )
