"""Files beside a session's log: those of its sub-agents, and results that were too large for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.formats.claude_code.records import line
from nbtools.traces.loose import mapping, string
from nbtools.traces.source import UNREADABLE, Source, decoded

_FIRST = 256 << 10
"""Bytes in which the first record of a sub-agent, its prompt, is looked for."""
_NAMED = 8 << 10
"""Bytes in which it says whose it is: there may be thousands of these files."""
JOURNAL = "journal.jsonl"
"""Of a workflow, next to its agents' logs."""
_BELOW = ("agent-*.jsonl", JOURNAL)


@dataclass(frozen=True)
class Agent:
    """A sub-agent's log: file ``file`` of the source.  ``call`` is the id of the call that started it, where that is recorded."""

    file: int
    id: str
    kind: str
    title: str
    call: str
    prompt: str


class _First(msgspec.Struct, rename="camel"):
    is_sidechain: Any = None
    agent_id: Any = None


def beside(path: Path) -> list[Path]:
    """Logs of sub-agents, and journals of workflows: below the session's folder, or (2.0) next to it in the project's.

    A sub-agent's own log has none: what is next to it belongs to its session.
    """
    name = first_session(path)
    folders = {path.with_suffix(""), path.with_name(name or path.stem)} - {path}
    below = [file for folder in folders for pattern in _BELOW for file in (folder / "subagents").rglob(pattern)]
    if not name or _is_agents(path):
        return sorted({*below} - {path})
    mark = f'"{name}"'.encode()
    near = [file for file in path.parent.glob("agent-*.jsonl") if file != path and mark in _start(file, _NAMED)]
    return sorted({*below, *near} - {path})


def agents(source: Source) -> list[Agent]:
    return [_agent(number, path) for number, path in enumerate(source.files) if number and path.name != JOURNAL]


def journals(source: Source) -> list[int]:
    """Which files of the source they are."""
    return [number for number, path in enumerate(source.files) if number and path.name == JOURNAL]


def spilled(source: Source, file: int, recorded: str) -> str:
    """Where the whole of a result is now: the recorded path, or the same name beside the log, which may have been moved."""
    if not recorded:
        return ""
    log = source.files[file]
    name = PurePosixPath(recorded.replace("\\", "/")).name
    homes = (log.with_suffix(""), source.path.with_suffix(""), *log.parents[:3])
    return next((str(path) for path in (Path(recorded), *(home / "tool-results" / name for home in homes)) if _is_file(path)), recorded)


def _agent(number: int, path: Path) -> Agent:
    meta = _meta(path.with_suffix(".meta.json"))
    return Agent(
        number,
        path.stem,
        string(meta.get("agentType")),
        string(meta.get("description")),
        string(meta.get("toolUseId")),
        _prompt(path),
    )


def _meta(path: Path) -> Any:
    try:
        return mapping(decoded(path.read_bytes()))
    except (OSError, TraceError):
        return {}


def _prompt(path: Path) -> str:
    try:
        first = line(_start(path).split(b"\n", 1)[0])
    except UNREADABLE:
        return ""
    content = first.message.content if first.message else ""
    return content if isinstance(content, str) else "".join(block.text or "" for block in content or ())


def _is_agents(path: Path) -> bool:
    """Whether it is a sub-agent's log, by its first record."""
    try:
        first = msgspec.json.decode(_start(path).split(b"\n", 1)[0], type=_First)
    except UNREADABLE:
        return False
    return first.is_sidechain is True and isinstance(first.agent_id, str)


def first_session(path: Path) -> str:
    for one in _lines(_start(path)):
        try:
            found = line(one).session_id
        except UNREADABLE:
            continue
        if found and found == PurePosixPath(found).name:
            return found
    return ""


def _lines(start: bytes) -> Sequence[bytes]:
    return [one for one in start.split(b"\n") if one.strip()][:50]


def _start(path: Path, size: int = _FIRST) -> bytes:
    try:
        with path.open("rb") as opened:
            return opened.read(size)
    except OSError:
        return b""


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
