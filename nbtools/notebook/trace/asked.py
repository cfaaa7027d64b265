"""A ``%trace`` line: the logs, what is to be done with them, and what may continue the word at the cursor."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.notebook.command_line import parse, words
from nbtools.notebook.flags import grammar_from

_MOST = 200
_RANGE = re.compile(r"([\d.]+)\s*(?:-|–|—|\.\.)\s*([\d.]+)")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
FLAGS = {
    "step": "the step to begin at: 46, 48.1",
    "replay": "run this step again in a copy that is thrown away; 46-52 steps through a range",
    "in": "with --replay: the folder or checkout that stands for the session's",
    "at": "with --replay: the commit that is checked out in the copy",
    "cwd": "with --replay: the session's folder, where the log does not say it",
}
_GRAMMAR = grammar_from(
    "%trace",
    {
        "required": ["logs"],
        "properties": {
            "logs": {"type": "array", "items": {"type": "string"}},
            **{name: {"type": "string", "description": text} for name, text in FLAGS.items()},
        },
    },
)


@dataclass(frozen=True, slots=True)
class Look:
    """Open one log; ``step`` is empty for its beginning."""

    log: str
    step: str = ""


@dataclass(frozen=True, slots=True)
class Compare:
    """Two logs beside each other."""

    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Replay:
    """Run the step ``first`` again or, where ``last`` is not empty, those from one to the other."""

    log: str
    first: str
    last: str = ""
    folder: str = ""
    commit: str = ""
    cwd: str = ""


Asked: TypeAlias = Look | Compare | Replay


def asked(line: str) -> Asked | None:
    """What a line asks for; None for an empty one.  Raises ``ToolFailure`` in one line that says how it is meant."""
    given = _given(line.strip())
    logs = given.pop("logs", [])
    if not logs and not given:
        return None
    if not logs:
        raise _refused("which log? Its path comes first, as in %trace session.jsonl --step 46.")
    return _several(logs, given) if len(logs) > 1 else _one(logs[0], given)


def _several(logs: list[str], given: dict[str, Any]) -> Compare:
    if len(logs) > 2 or given:
        raise _refused("it opens one log, or compares two: a path with spaces stands in quotes.")
    return Compare(*logs)


def _one(log: str, given: dict[str, Any]) -> Asked:
    replay = given.get("replay")
    if replay is None:
        lone = next((name for name in ("in", "at", "cwd") if name in given), None)
        if lone is not None:
            raise _refused(f"--{lone} goes with --replay STEP.")
        return Look(log, _number(given["step"]) if "step" in given else "")
    if "step" in given:
        raise _refused("--step opens the log and --replay runs a step again: take one of them.")
    found = _RANGE.fullmatch(replay.strip())
    first, last = (found[1], found[2]) if found else (replay, "")
    where = {name: given.get(flag, "") for name, flag in (("folder", "in"), ("commit", "at"), ("cwd", "cwd"))}
    return Replay(log, _number(first), _number(last) if last else "", **where)


def _number(text: str) -> str:
    if not _NUMBER.fullmatch(text.strip()):
        raise _refused(f"{text!r} is no step: their numbers are as the list has them, 46 or 48.1, a range is 46-52.")
    return text.strip()


def _given(line: str) -> dict[str, Any]:
    """The arguments.  A path with spaces needs no quotes where it is the only one and exists."""
    head, tail = _before_flags(line)
    if " " in head and _exists(head):
        return {**parse(_GRAMMAR, tail), "logs": [head]}
    return parse(_GRAMMAR, line)


def _before_flags(line: str) -> tuple[str, str]:
    try:
        flag = next((word.start for word in words(line) if word.bare and word.text.startswith("--")), len(line))
    except ToolFailure:  # a quote is not closed: perhaps it is an apostrophe in a name
        flag = len(line)
    return line[:flag].strip(), line[flag:]


def _refused(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"%trace: {message}")


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # too long, or no name of a file at all
        return False


def offered(given: list[str], fragment: str) -> Iterator[tuple[str, str]]:
    """What may continue ``fragment`` behind the words ``given``, and of what kind it is: flags, and paths as seen from the notebook."""
    if fragment.startswith("-"):
        yield from ((f"--{name}", "param") for name in FLAGS if f"--{name}" not in given)
    elif not given or given[-1] not in {"--step", "--replay", "--at"}:
        yield from ((path, "path") for path in _continued(fragment))


def _continued(fragment: str) -> Iterator[str]:
    """Hidden ones only when a dot asks for them."""
    folder, slash, start = fragment.rpartition("/")
    try:
        with os.scandir(Path(folder + slash or ".").expanduser()) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(start))
    except (OSError, RuntimeError):  # no such folder, no such user
        return
    visible = (one for one in found if start.startswith(".") or not one[0].startswith("."))
    for name, is_folder in islice(visible, _MOST):
        yield f"{folder}{slash}{name}{'/' if is_folder else ''}"
