"""Finds the files that belong to a session's log:
sub-agents' logs, workflow journals, and results that were too large for the log.

A journal line is ``{"type": "started" | "result", "key": …, "agentId": …, "result": …}``, without a time: the
runtime reads it to resume.  The calls of a workflow's agents are in files of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct

from nbtools.core.decoders import decoder_of
from nbtools.traces.json_access import mapping, string, text_of
from nbtools.traces.model import Problem
from nbtools.traces.readers.claude_code.records import decode_line
from nbtools.traces.session_builder import SessionBuilder
from nbtools.traces.source import DECODE_ERRORS, Source, read_json, read_start

_PROMPT_BYTES = 256 << 10
"""Bytes in which the first record of a sub-agent, its prompt, is searched for."""
_FIRST_LINES = 50
"""Lines in which the session's id is searched for."""
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
    found = {
        file for folder in folders for pattern in _BELOW for file in (folder / "subagents").rglob(pattern)
    }
    found = {file for file in found if _is_file(file)}
    if name and not _is_sub_agent_log(path):
        mark, near = f'"{name}"'.encode(), {*path.parent.glob("agent-*.jsonl")} - {path}
        found |= {file for file in near if mark in read_start(file, _ID_BYTES)}
    return sorted(found - {path})


def agent_logs(source: Source) -> list[AgentLog]:
    """Returns the sub-agents' logs of the source."""
    files = [(number, path) for number, path in enumerate(source.files) if number]
    return [_agent(number, path) for number, path in files if path.name != JOURNAL]


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
    candidates = (Path(recorded), *(home / "tool-results" / name for home in homes))
    return next((str(path) for path in candidates if _is_file(path)), recorded)


def _agent(number: int, path: Path) -> AgentLog:
    meta = mapping(read_json(path.with_suffix(".meta.json")))
    kind, title, call = (string(meta.get(key)) for key in ("agentType", "description", "toolUseId"))
    return AgentLog(number, path.stem, kind, title, call, _prompt(path))


def _prompt(path: Path) -> str:
    try:
        first = decode_line(read_start(path, _PROMPT_BYTES).split(b"\n", 1)[0])
    except DECODE_ERRORS:
        return ""
    content = first.message.content if first.message else ""
    return content if isinstance(content, str) else "".join(block.text or "" for block in content or ())


def _is_sub_agent_log(path: Path) -> bool:
    """Returns whether it is a sub-agent's log, judged by its first record."""
    try:
        first = decoder_of(_FirstRecord).decode(read_start(path, _PROMPT_BYTES).split(b"\n", 1)[0])
    except DECODE_ERRORS:
        return False
    return first.is_sidechain is True and isinstance(first.agent_id, str)


def first_session(path: Path) -> str:
    lines = [line for line in read_start(path, _PROMPT_BYTES).split(b"\n") if line.strip()]
    for one in lines[:_FIRST_LINES]:
        try:
            found = decode_line(one).session_id
        except DECODE_ERRORS:
            continue
        if found and _FOLDER_NAME.fullmatch(found):
            return found
    return ""


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
    """Adds an event for each journal entry, in its agent's session, or in ``main`` if that has no file."""
    for item in source.lines(_decode, file):
        if isinstance(item, Problem):
            main.add(item)
            continue
        ref, entry = item
        session = sessions.get(f"agent-{string(entry.agent_id)}", main)
        text = "" if entry.result is None else text_of(entry.result)
        session.event("system", text, ref, type=f"workflow/{string(entry.type) or 'entry'}")
