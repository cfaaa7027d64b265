"""Parses the names of logs on a command line: patterns, the latest session, several logs to compare.

Both ``%trace`` and ``nbtools trace`` use it; it loads no reader of logs.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure

LATEST = "latest"
CHECK = "check"
LIST_FLAGS = {
    "agent": "list only the sessions of an agent, such as claude",
    "since": "list only sessions that changed since then: 7d, 12h, yesterday, 2026-11-01",
    "search": "list only the sessions in which a text occurs",
    "limit": "list so many sessions",
    "all": "list all sessions",
    "left_out": "list the files in the agents' folders that are no session of the list, with the reason",
}
"""The options that select sessions of the list, with their help."""
LETTERS = "ABCDEFGHIJKLMNOPQRST"
"""The names of compared runs."""


@dataclass(frozen=True, slots=True)
class CompareLogs:
    """Compares several logs. ``baseline`` is the index of one of them."""

    logs: tuple[str, ...]
    checks: tuple[str, ...] = ()
    baseline: int | None = None


def comparison_command(logs: list[str], flags: dict[str, Any]) -> CompareLogs:
    """Returns what several logs with flags mean. Raises ``ToolFailure``."""
    if len(logs) > len(LETTERS):
        raise argument_error(
            f"{len(logs)} logs cannot be compared side by side: name at most {len(LETTERS)}, or a pattern"
            " that matches fewer. nbtools.traces.load_many and Corpus query any number in SQL."
        )
    stray = next((name for name in flags if name not in {CHECK, "baseline"}), None)
    if stray is not None:
        raise argument_error(
            f"--{stray} takes a single log, and {len(logs)} are named. Put a path with spaces in quotes."
        )
    baseline = LETTERS.find(flags.get("baseline", "").upper()) if flags.get("baseline") else None
    if baseline is not None and not 0 <= baseline < len(logs):
        raise argument_error(
            f"--baseline {flags['baseline']} is none of the logs: they are A to {LETTERS[len(logs) - 1]}, in"
            " the order named."
        )
    return CompareLogs(tuple(logs), tuple(flags.get(CHECK, ())), baseline)


def listed_rows(limit: int | None, default: int, *, all_rows: bool) -> int:
    """Returns how many sessions to list; -1 for all. Raises ``ToolFailure``."""
    if limit is not None and (all_rows or limit < 1):
        problem = "use either --limit or --all" if all_rows else f"--limit must be at least 1, not {limit}"
        raise argument_error(f"{problem}.")
    return -1 if all_rows else limit or default


def refuse_list_flags(flags: Mapping[str, object], log: str) -> None:
    """Raises ``ToolFailure`` for a flag of the list of sessions that is set, where a log was named."""
    stray = next((name for name, value in flags.items() if value), None)
    if stray is not None:
        raise argument_error(f"--{stray} is for the list of sessions, and {log} names a log.")


def refuse_with_left_out(words: Sequence[str], flags: Mapping[str, object]) -> None:
    """Raises ``ToolFailure`` for words and set flags beside ``--left-out``, which takes none."""
    stray = next((f"--{name}" for name, value in flags.items() if value not in (None, False, "", [])), None)
    if words or stray:
        raise argument_error(
            f"--left-out names the files of all folders that are not listed: it takes no"
            f" {stray or repr(words[0])}."
        )


def expanded(log: str) -> list[str]:
    """Returns the files that match a pattern; anything else, and an existing path, as it is.
    Raises ``ToolFailure`` without a match.
    """
    if not is_pattern(log):
        return [log]
    found = sorted(glob.glob(str(Path(log).expanduser()), recursive=True))  # noqa: PTH207 - it may be absolute
    if not found:
        raise argument_error(f"no log matches {log}.")
    return found


def is_pattern(log: str) -> bool:
    return any(character in log for character in "*?[") and not path_exists(log)


def argument_error(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"%trace: {message}")


def path_exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # too long, or not a valid file name
        return False
