"""The arguments of ``%trace``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from nbtools.core.errors import ToolFailure
from nbtools.notebook.magics.command_line import comment_start, parse, words
from nbtools.notebook.magics.flags import declared, flag, switch, word_list
from nbtools.traces.log_arguments import (
    CHECK,
    LATEST,
    LIST_FLAGS,
    CompareLogs,
    argument_error,
    comparison_command,
    expanded,
    listed_rows,
    path_exists,
    refuse_list_flags,
    refuse_with_left_out,
)
from nbtools.traces.session_index.places import agent_words

if TYPE_CHECKING:
    from nbtools.traces.session_list.session_messages import SessionFilter

_MAX_COMPLETIONS = 200
_RANGE = re.compile(r"([\d.]+)\s*(?:-|–|—|\.\.)\s*([\d.]+)")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class OpenLog:
    """Opens one log; ``step`` is empty to begin at its start."""

    log: str
    step: str = ""


@dataclass(frozen=True, slots=True)
class ReplayLog:
    """Runs the step ``first`` again, or the range to ``last`` if that is not empty."""

    log: str
    first: str
    last: str = ""
    folder: str = ""
    commit: str = ""
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class ListSessions:
    """Lists sessions of this machine. ``limit`` is the number of rows where no page lists them all: None for
    the usual one, -1 for all.
    """

    chosen: SessionFilter
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ListLeftOut:
    """Names the files in the agents' folders that are not listed."""


TraceCommand: TypeAlias = OpenLog | CompareLogs | ReplayLog | ListSessions | ListLeftOut


def parse_line(line: str) -> TraceCommand:
    """Parses a line.  Raises ``ToolFailure`` with a one-line message that says how to write it,
    ``TraceError`` if nothing is the latest.
    """
    from nbtools.traces.session_list.session_words import selected  # noqa: PLC0415 - reads logs

    arguments = _parsed(line[: comment_start(line)].strip())
    logs = arguments.pop("logs", [])
    chosen = {name: arguments.pop(name) for name in ("agent", "since", "search") if name in arguments}
    if arguments.pop("left_out", False):
        refuse_with_left_out(logs, chosen | arguments)
        return ListLeftOut()
    limit, all_rows = arguments.pop("limit", None), arguments.pop("all", False)
    if not logs and arguments:
        raise argument_error("no log was named. Its path comes first, as in %trace session.jsonl --step 46.")
    found = selected(
        logs, agent=chosen.get("agent", ""), since=chosen.get("since", ""), text=chosen.get("search", "")
    )
    if found is not None and not isinstance(found, tuple):
        if arguments:
            raise argument_error(f"--{next(iter(arguments))} takes a log, and {' '.join(logs)} is none.")
        rows = listed_rows(limit, 0, all_rows=all_rows)
        return ListSessions(found, rows or None)
    given = {"search": chosen.get("search"), "limit": limit is not None, "all": all_rows}
    refuse_list_flags(given, logs[0])
    logs = [*found] if found else [path for log in logs for path in expanded(log)]
    return comparison_command(logs, arguments) if len(logs) > 1 else _single_log(logs[0], arguments)


def _single_log(log: str, flags: dict[str, Any]) -> TraceCommand:
    stray = next((name for name in (CHECK, "baseline") if name in flags), None)
    if stray is not None:
        raise argument_error(f"--{stray} compares logs: name at least two.")
    replay = flags.get("replay")
    if replay is None:
        stray = next((name for name in ("in", "at", "cwd") if name in flags), None)
        if stray is not None:
            raise argument_error(f"--{stray} only works together with --replay STEP.")
        return OpenLog(log, _step_number(flags["step"]) if "step" in flags else "")
    if "step" in flags:
        raise argument_error(
            "use either --step (opens the log at a step) or --replay (runs a step again), not both."
        )
    range_match = _RANGE.fullmatch(replay.strip())
    first, last = (range_match[1], range_match[2]) if range_match else (replay, "")
    options = {
        name: flags.get(flag, "") for name, flag in (("folder", "in"), ("commit", "at"), ("cwd", "cwd"))
    }
    return ReplayLog(log, _step_number(first), _step_number(last) if last else "", **options)


def _step_number(text: str) -> str:
    if not _NUMBER.fullmatch(text.strip()):
        raise argument_error(
            f"{text!r} is not a step number. Write it as in the list, 46 or 48.1, and a range as 46-52."
        )
    return text.strip()


def _parsed(line: str) -> dict[str, Any]:
    """Returns the parsed arguments.  A single path with spaces needs no quotes if it exists."""
    head, tail = _before_flags(line)
    if " " in head and path_exists(head):
        return {**parse(TRACE, tail), "logs": [head]}
    return parse(TRACE, line)


def _before_flags(line: str) -> tuple[str, str]:
    try:
        flag = next(
            (word.start for word in words(line) if word.bare and word.text.startswith("--")), len(line)
        )
    except ToolFailure:  # an unclosed quote may be an apostrophe in a file name
        flag = len(line)
    return line[:flag].strip(), line[flag:]


def _matching_paths(fragment: str) -> Iterator[str]:
    """Yields the paths that begin with ``fragment``;
    hidden ones only if their name begins with a dot there.
    """
    folder, slash, start = fragment.rpartition("/")
    try:
        with os.scandir(Path(folder + slash or ".").expanduser()) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(start))
    except (OSError, RuntimeError):  # no such folder, no such user
        return
    visible = (one for one in found if start.startswith(".") or not one[0].startswith("."))
    for name, is_folder in islice(visible, _MAX_COMPLETIONS):
        yield f"{folder}{slash}{name}{'/' if is_folder else ''}"


def _logs(before: list[str], fragment: str) -> Iterator[str]:
    if not before and fragment:
        yield LATEST
    yield from _matching_paths(fragment)


TRACE = declared(
    "%trace",
    word_list("logs", required=False, offers=_logs, kind="path"),
    flag(
        "agent",
        LIST_FLAGS["agent"],
        offers=lambda *_: agent_words(),
    ),
    flag("since", LIST_FLAGS["since"], offers=lambda *_: ("today", "yesterday", "7d", "30d")),
    flag("search", LIST_FLAGS["search"]),
    flag("limit", f"{LIST_FLAGS['limit']}, where no page lists them all", type="integer"),
    switch("all", LIST_FLAGS["all"]),
    switch("left_out", LIST_FLAGS["left_out"]),
    flag("step", "the step to begin at: 46, 48.1"),
    flag("replay", "run this step again in a temporary copy; 46-52 steps through a range"),
    flag(
        "in",
        "with --replay: the folder or checkout to copy in place of the session's folder",
        offers=lambda _, fragment: _matching_paths(fragment),
        kind="path",
    ),
    flag("at", "with --replay: the commit to check out in the copy"),
    flag(
        "cwd",
        "with --replay: the session's folder, if the log does not record it",
        offers=lambda _, fragment: _matching_paths(fragment),
        kind="path",
    ),
    flag(
        "baseline",
        "with several logs: the letter of the one with which the others are aligned, A for the first",
    ),
    flag(CHECK, "with several logs: a column of outcomes", type="array"),
)
