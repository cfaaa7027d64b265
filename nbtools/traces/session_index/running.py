"""Tells which sessions run now.

A session runs if its log changed within the last minute, or if its agent says that a living process has it
open: Claude Code in ``sessions/<pid>.json``, Copilot CLI in ``inuse.<pid>.lock`` beside the log.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from nbtools.traces.json_access import mapping
from nbtools.traces.session_index.scan import LogStat

RECENT = 60.0
"""Seconds after its last change for which a log counts as growing."""
_LOCK_AGE = 7 * 86_400.0
"""Seconds after its last change for which a log's lock is looked for."""
_LOCK = re.compile(r"inuse\.(\d{1,9})\.lock")
_MAX_FILES = 200
_MAX_BYTES = 64 << 10


def running_logs(logs: Iterable[LogStat]) -> set[str]:
    """Returns the paths of the logs whose sessions run now."""
    now = time.time()
    found: set[str] = set()
    claude: dict[str, list[LogStat]] = {}
    for log in logs:
        age = now - log.mtime_ns / 1e9
        if age < RECENT or (
            log.place.agent == "copilot-cli" and age < _LOCK_AGE and _is_locked(Path(log.path).parent)
        ):
            found.add(log.path)
        if log.place.agent == "claude-code":
            claude.setdefault(str(log.place.folder), []).append(log)
    for folder, ours in claude.items():
        open_sessions = set(_claude_sessions(Path(folder) / "sessions"))
        found.update(log.path for log in ours if open_sessions and Path(log.path).stem in open_sessions)
    return found


def _claude_sessions(folder: Path) -> Iterator[str]:
    """Yields the ids of the sessions that living processes have open."""
    for path in _files(folder):
        if not path.stem.isdecimal() or path.suffix != ".json" or not _lives(int(path.stem), b"claude"):
            continue
        try:
            with path.open("rb") as file:
                record = mapping(msgspec.json.decode(file.read(_MAX_BYTES)))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(session := record.get("sessionId"), str):
            yield session


def _is_locked(folder: Path) -> bool:
    return any(
        (lock := _LOCK.fullmatch(path.name)) and _lives(int(lock[1]), b"copilot") for path in _files(folder)
    )


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [
                Path(entry.path)
                for entry, _ in zip(entries, range(_MAX_FILES), strict=False)
                if entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []


def _lives(pid: int, program: bytes) -> bool:
    """Returns whether the process lives and, where its command line can be read, is of this program:
    numbers are used again.
    """
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (OSError, OverflowError):
        return False
    try:
        return program in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return not Path("/proc/self").exists()
