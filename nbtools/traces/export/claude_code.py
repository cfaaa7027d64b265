"""Exports a session in the layout of Claude Code.

One JSON line per content block; sub-agents are in separate files beside it.

Calls of our own tools get the names and arguments of Claude Code's corresponding tools;
calls of other agents keep theirs.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.export.claude_tools import (
    ClaudeCall,
    content_of,
    is_error,
    to_claude_call,
    tool_use_result,
)
from nbtools.traces.export.lineage import EventText, rows_of_session, session_with_subagents
from nbtools.traces.export.removal import Patterns, removal_for, without_secrets
from nbtools.traces.model import Call, Session
from nbtools.traces.trace import Trace

_NO_USAGE = {"input_tokens": 0, "output_tokens": 0}
_OUR_FORMAT = "nbtools"


def write_claude_code(
    trace: Trace,
    path: str | os.PathLike[str],
    session: str = "",
    *,
    redact: Patterns = (),
    keep: Collection[str] = (),
    home: bool = False,
) -> Path:
    """Writes the session with this id, or the only one that no other session started, with its sub-agents.
    Returns the file's path.

    ``path`` is a file, or a folder such as ``~/.claude/projects/<project>``, where the file is named after
    the session, as Claude Code does. Secrets are removed as by ``write_atif``, which explains ``redact``,
    ``keep`` and ``home``.

    Raises ``TraceError`` where the session is ambiguous, a log has changed since it was read, or the folder
    has a log of that name; ``OSError`` where the file cannot be written.
    """
    first, *others = session_with_subagents(trace, session)
    name = _uuid(first.id)
    target = Path(path).expanduser()
    if target.is_dir():
        target = target / f"{name}.jsonl"
        if target.exists():
            raise TraceError(
                f"{target} exists already and would be overwritten. Name a file to write to, or move that log"
                " first."
            )
    agents = {one.id: _agent_id(one.id) for one in others}
    files = {target: list(_Lines(trace, first, name, agents).all())}
    for one in others:
        file = target.with_suffix("") / "subagents" / f"agent-{agents[one.id]}.jsonl"
        meta = {
            "agentType": one.agent or "general-purpose",
            "description": one.title,
            "toolUseId": _starting_call_id(trace, one),
        }
        files |= {file: list(_Lines(trace, one, name, agents).all()), file.with_suffix(".meta.json"): [meta]}
    # All records are complete before a file is cut: it may be read here.
    cleaned = without_secrets([*files.values()], removal_for(trace.sessions, redact, keep, home=home))
    for file, records in zip(files, cleaned, strict=True):
        file.parent.mkdir(parents=True, exist_ok=True)
        ending = b"" if file.suffix == ".json" else b"\n"
        file.write_bytes(b"".join(msgspec.json.encode(record) + ending for record in records))
    return target


@dataclass
class _Lines:
    """The records of one session; each refers to the one before it as its parent."""

    trace: Trace
    session: Session
    name: str
    agents: dict[str, str]
    last: str | None = None
    count: int = 0
    ids: set[str] = field(default_factory=set)

    def all(self) -> Iterator[dict[str, Any]]:
        rows = list(rows_of_session(self.trace, self.session.id))
        if not any(isinstance(row, EventText) and row.event.kind == "user" for row in rows):
            text = self.session.title or f"Calls from a session of {self.session.agent or 'an agent'}."
            yield self._record(
                "user", self.session.started, message={"role": "user", "content": text}, isMeta=True
            )
        for row in rows:
            yield from self._call(row) if isinstance(row, Call) else (self._message(row),)

    def _message(self, item: EventText) -> dict[str, Any]:
        event = item.event
        if event.kind == "user":
            return self._record("user", event.at, message={"role": "user", "content": item.text})
        if event.kind == "assistant_text":
            return self._assistant({"type": "text", "text": item.text}, event.at, event.model)
        if event.kind == "thinking":
            return self._assistant(
                {"type": "thinking", "thinking": item.text, "signature": ""}, event.at, event.model
            )
        subtype = "compact_boundary" if event.kind == "compaction" else "informational"
        level = "error" if event.kind == "error" else "info"
        return self._record("system", event.at, subtype=subtype, content=item.text, level=level, isMeta=False)

    def _call(self, call: Call) -> Iterator[dict[str, Any]]:
        detail = call.detail
        is_ours = self.session.format == _OUR_FORMAT
        claude_call = (
            to_claude_call(call.name, detail.args, self.session.cwd)
            if is_ours
            else ClaudeCall(call.name, dict(detail.args))
        )
        native = self._id_of(call)
        request = self._assistant(
            {"type": "tool_use", "id": native, "name": claude_call.name, "input": claude_call.input}, call.at
        )
        yield request
        if not call.answered:
            return
        result = {
            "tool_use_id": native,
            "type": "tool_result",
            "content": content_of(call, detail),
            "is_error": is_error(call),
        }
        outcome = tool_use_result(call, detail, claude_call, self.session.cwd)
        if call.child in self.agents:
            outcome = {
                "status": "completed",
                "agentId": self.agents[call.child],
                "content": [{"type": "text", "text": detail.result}],
            }
        result_fields = {} if outcome is None else {"toolUseResult": outcome}
        at = call.at if call.ended is None else call.ended
        message = {"role": "user", "content": [result]}
        yield self._record(
            "user", at, message=message, **result_fields, sourceToolAssistantUUID=request["uuid"]
        )

    def _id_of(self, call: Call) -> str:
        """Returns the call's own id where no other call has it, otherwise a new one."""
        unique_id = (
            call.native_id
            if call.native_id and call.native_id not in self.ids
            else f"toolu_{self._id(call.id).replace('-', '')[:24]}"
        )
        self.ids.add(unique_id)
        return unique_id

    def _assistant(self, block: dict[str, Any], at: float | None, model: str = "") -> dict[str, Any]:
        model = model or next(iter(self.session.models), "")
        usage = {} if model else {"usage": _NO_USAGE}
        message = {
            "id": f"msg_{self._id(f'message {self.count}').replace('-', '')[:24]}",
            "type": "message",
            "role": "assistant",
            "model": model or "<synthetic>",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            **usage,
        }
        return self._record("assistant", at, message=message)

    def _record(self, kind: str, at: float | None, **fields: Any) -> dict[str, Any]:
        parent, self.last = self.last, self._id(str(self.count))
        self.count += 1
        agent = self.agents.get(self.session.id)
        return {
            "parentUuid": parent,
            "isSidechain": agent is not None,
            "userType": "external",
            "cwd": self.session.cwd,
            "sessionId": self.name,
            **({"agentId": agent} if agent else {}),
            "version": self.session.agent_version or "0.0.0",
            "gitBranch": self.session.branch,
            "type": kind,
            **fields,
            "uuid": self.last,
            **({} if at is None else {"timestamp": _iso(at)}),
        }

    def _id(self, name: str) -> str:
        """Returns an id that is the same each time the same session is exported."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"nbtools:{self.name}/{self.session.id}/{name}"))


def _starting_call_id(trace: Trace, session: Session) -> str:
    """Returns the native id of the call that started the session."""
    found = (
        call
        for call in trace.calls
        if call.child == session.id or (call.session, call.id) == (session.parent, session.parent_call)
    )
    call = next(found, None)
    return call.native_id if call else ""


def _uuid(session: str) -> str:
    """Returns the session's id as a UUID, the only form that Claude Code accepts."""
    try:
        return str(uuid.UUID(session))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"nbtools:{session}"))


def _agent_id(session: str) -> str:
    plain = session.removeprefix("agent-")
    return (
        plain
        if plain != session and plain.isalnum()
        else uuid.uuid5(uuid.NAMESPACE_URL, f"nbtools:{session}").hex[:17]
    )


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
