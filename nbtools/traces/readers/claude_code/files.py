"""Finds the files that belong to a session's log:
sub-agents' logs, workflow journals, and results that were too large for the log.

A journal line is ``{"type": "started" | "result", "key": …, "agentId": …, "result": …}``, without a time: the
runtime reads it to resume.  The calls of a workflow's agents are in files of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct

from nbtools.core.decoders import decoder_of
from nbtools.core.errors import TraceError
from nbtools.traces.json_access import mapping, string, text_of
from nbtools.traces.model import Problem
from nbtools.traces.readers.claude_code.records import decode_line
from nbtools.traces.session_builder import SessionBuilder
from nbtools.traces.source import DECODE_ERRORS, Source, decode_json, open_regular, read_regular

_PROMPT_BYTES = 256 << 10
"""Bytes in which the first record of a sub-agent, its prompt, is searched for."""
_ID_BYTES = 8 << 10
"""Bytes in which a sub-agent's session id is searched for: there may be thousands of these files."""
JOURNAL = "journal.jsonl"
"""Name of a workflow's journal, which is next to its agents' logs."""
_FOLDER_NAME = re.compile(r"[^./\0][^/\0]{0,62}")
"""Ids of sessions that can be the name of a folder."""
_BELOW = ("agent-*.jsonl", JOURNAL)


@dataclass(frozen=True)
class AgentLog:
    """A sub-agent's log: file number ``file`` of the source.
    ``call`` is the id of the call that started it, if recorded.
    """

    file: int
    id: str
    kind: str
    title: str
    call: str
    prompt: str


class _FirstRecord(msgspec.Struct, rename="camel"):
    is_sidechain: Any = None
    agent_id: Any = None


def related_files(path: Path) -> list[Path]:
    """Returns logs of sub-agents and journals of workflows:
    below the session's folder, or (2.0) next to it in the project's folder.

    A sub-agent's own log has none: the files next to it belong to its session.
    Pipes, devices and folders with such names are left out.
    """
    name = first_session(path)
    folders = {path.with_suffix(""), path.with_name(name or path.stem)} - {path}
    below = [
        file
        for folder in folders
        for pattern in _BELOW
        for file in (folder / "subagents").rglob(pattern)
        if _is_file(file)
    ]
    if not name or _is_sub_agent_log(path):
        return sorted({*below} - {path})
    mark = f'"{name}"'.encode()
    near = [
        file for file in path.parent.glob("agent-*.jsonl") if file != path and mark in _start(file, _ID_BYTES)
    ]
    return sorted({*below, *near} - {path})


def agent_logs(source: Source) -> list[AgentLog]:
    """Returns the sub-agents' logs of the source."""
    return [
        _agent(number, path) for number, path in enumerate(source.files) if number and path.name != JOURNAL
    ]


def journals(source: Source) -> list[int]:
    """Returns the file numbers of the source's journals."""
    return [number for number, path in enumerate(source.files) if number and path.name == JOURNAL]


def spilled_path(source: Source, file: int, recorded: str) -> str:
    """Returns the current path of a full result:
    the recorded path, or the same name beside the log, which may have been moved.
    """
    if not recorded:
        return ""
    log = source.files[file]
    name = PurePosixPath(recorded.replace("\\", "/")).name
    homes = (log.with_suffix(""), source.path.with_suffix(""), *log.parents[:3])
    return next(
        (
            str(path)
            for path in (Path(recorded), *(home / "tool-results" / name for home in homes))
            if _is_file(path)
        ),
        recorded,
    )


def _agent(number: int, path: Path) -> AgentLog:
    meta = _meta(path.with_suffix(".meta.json"))
    return AgentLog(
        number,
        path.stem,
        string(meta.get("agentType")),
        string(meta.get("description")),
        string(meta.get("toolUseId")),
        _prompt(path),
    )


def _meta(path: Path) -> Any:
    try:
        return mapping(decode_json(read_regular(path)))
    except (OSError, TraceError):
        return {}


def _prompt(path: Path) -> str:
    try:
        first = decode_line(_start(path).split(b"\n", 1)[0])
    except DECODE_ERRORS:
        return ""
    content = first.message.content if first.message else ""
    return content if isinstance(content, str) else "".join(block.text or "" for block in content or ())


def _is_sub_agent_log(path: Path) -> bool:
    """Returns whether it is a sub-agent's log, judged by its first record."""
    try:
        first = decoder_of(_FirstRecord).decode(_start(path).split(b"\n", 1)[0])
    except DECODE_ERRORS:
        return False
    return first.is_sidechain is True and isinstance(first.agent_id, str)


def first_session(path: Path) -> str:
    for one in _lines(_start(path)):
        try:
            found = decode_line(one).session_id
        except DECODE_ERRORS:
            continue
        if found and _FOLDER_NAME.fullmatch(found):
            return found
    return ""


def _lines(start: bytes) -> Sequence[bytes]:
    return [one for one in start.split(b"\n") if one.strip()][:50]


def _start(path: Path, size: int = _PROMPT_BYTES) -> bytes:
    try:
        with open_regular(path) as opened:
            return opened.read(size)
    except OSError:
        return b""


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


class _Entry(Struct, rename="camel", gc=False):
    type: Any = None
    agent_id: Any = None
    result: Any = None


_decode = msgspec.json.Decoder(_Entry).decode


def add_journal(
    source: Source, file: int, main: SessionBuilder, sessions: Mapping[str, SessionBuilder]
) -> None:
    """Adds an event for each journal entry, in the session of its agent,
    or in the ``main`` one if that has no file.
    """
    for item in source.lines(_decode, file):
        if isinstance(item, Problem):
            main.add(item)
            continue
        ref, entry = item
        session = sessions.get(f"agent-{string(entry.agent_id)}", main)
        session.event(
            "system",
            "" if entry.result is None else text_of(entry.result),
            ref,
            type=f"workflow/{string(entry.type) or 'entry'}",
        )
