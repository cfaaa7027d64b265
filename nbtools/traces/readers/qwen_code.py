"""Reads the chats of Qwen Code: JSON lines in ``~/.qwen/projects/*/chats/``.

A record has the fields of Claude Code's records around a message of Gemini's API, and the tools are named as
Gemini CLI names them. Results are records of their own, with the status and what was displayed beside the
function response. Older versions wrote Gemini CLI's session format, which its reader reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from nbtools.traces.conversation import CallPart, ResultPart, TextPart, parts_of_message
from nbtools.traces.json_access import (
    epoch_seconds,
    first_string,
    id_text,
    integer_of,
    mapping,
    mappings,
    string,
    text_of,
)
from nbtools.traces.known_tools import op_of as op_of_known_tool
from nbtools.traces.lineage import Lineage, lineage_of
from nbtools.traces.model import Call, Detail, EventKind, FileChange, Origin, Ref, Row, Status
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.claude_code.branches import abandoned_records
from nbtools.traces.readers.gemini_cli.messages import (
    EDITS,
    change_of,
    exit_code_of,
    op_of,
    paths_of,
    response_of,
    subject_of,
)
from nbtools.traces.readers.gemini_cli.messages import tokens_of_native as tokens_of
from nbtools.traces.readers.gemini_cli.results import detail_of
from nbtools.traces.readers.qwen_recognition import is_qwen_code
from nbtools.traces.session_builder import (
    LogBuilder,
    SessionBuilder,
    call_number,
    duration_of,
    status_of_exit_code,
)
from nbtools.traces.source import Source

_STATUSES: dict[str, Status] = {"success": "ok", "error": "error", "cancelled": "cancelled"}
_PROMPTS = {"", "mid_turn_user_message", "realtime_message"}
"""Subtypes of user records that a person wrote."""
_KINDS: dict[str, EventKind] = {"chat_compression": "compaction", "at_command": "attachment"}
_STATE = {
    "ui_telemetry",
    "custom_title",
    "attribution_snapshot",
    "file_history_snapshot",
    "session_artifact_snapshot",
    "turn_result",
}
"""Subtypes of system records of the application's state, in which nobody said or did anything."""
_TOKENS = {
    "promptTokenCount": "input",
    "candidatesTokenCount": "output",
    "cachedContentTokenCount": "cached",
    "thoughtsTokenCount": "thoughts",
}
_SYSTEM_TEXTS = ("displayText", "rawCommand", "userText", "message", "content")


class QwenCode(Format):
    name = "qwen-code"
    first_line = 0

    def recognises(self, head: Head) -> bool:
        return head.start.lstrip().startswith(b"{") and is_qwen_code(head)

    def lineage(self, head: Head) -> Lineage | None:
        return lineage_of(
            [string(record.get("sessionId")) for record in head.records], (), head.records, "uuid"
        )

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        reading = _ChatReader(SessionBuilder(log, source.path.stem), abandoned_records(source, 0))
        yield from log.read(source.lines(msgspec.json.Decoder(dict).decode), reading.record)
        reading.end(source.whole())
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        calls = [part for part in _parts(source.record(call.ref)) if "functionCall" in part]
        named = [part for part in calls if id_text(mapping(part["functionCall"]).get("id")) == call.native_id]
        number = 0 if call.native_id else call_number(call)
        if number >= len(named):
            raise source.outdated()
        answer = mapping(source.record(call.result_ref)) if call.answered else {}
        return detail_of(_as_gemini(mapping(named[number]["functionCall"]), answer, call.native_id))


class _ChatReader:
    """Adds the records of a chat. ``abandoned`` are the offsets of records before a rewind."""

    def __init__(self, session: SessionBuilder, abandoned: frozenset[int]) -> None:
        self.session, self.abandoned = session, abandoned
        self.title = self.cwd = self.version = self.branch = ""

    def record(self, record: Mapping[str, Any], ref: Ref) -> None:
        session = self.session
        self._describe(record)
        session.records += 1
        session.live = ref.offset not in self.abandoned
        at, model = epoch_seconds(record.get("timestamp")), string(record.get("model"))
        session.see(at, model)
        kind, first = string(record.get("type")), session.log.seq + 1
        if kind == "system":
            self._system(record, ref, at)
        elif kind == "user":
            self._prompt(record, ref, at)
        else:
            if kind not in {"assistant", "tool_result"}:
                session.flags["unknown_records"] = None
            self._message(record, ref, at, model)
        recorded = mapping(record.get("usageMetadata"))
        used = {kind: integer_of(recorded[name]) or 0 for name, kind in _TOKENS.items() if name in recorded}
        if session.spend(used):
            session.request(tokens_of(used), ref, first, id=string(record.get("uuid")), model=model, at=at)

    def _describe(self, record: Mapping[str, Any]) -> None:
        if not self.session.records:  # no row has the session's id yet
            self.session.id = string(record.get("sessionId")) or self.session.id
        self.cwd = self.cwd or string(record.get("cwd"))
        self.version = string(record.get("version")) or self.version
        self.branch = string(record.get("gitBranch")) or self.branch
        if record.get("subtype") == "custom_title":
            self.title = string(mapping(record.get("systemPayload")).get("customTitle")) or self.title

    def _system(self, record: Mapping[str, Any], ref: Ref, at: float | None) -> None:
        kind, payload = string(record.get("subtype")), mapping(record.get("systemPayload"))
        if kind not in _STATE:
            text = first_string(payload, _SYSTEM_TEXTS)
            self.session.event(_KINDS.get(kind, "system"), text, ref, at, "system", "", kind or "system")

    def _prompt(self, record: Mapping[str, Any], ref: Ref, at: float | None) -> None:
        kind = string(record.get("subtype"))
        text = "\n".join(string(part.get("text")) for part in _parts(record) if "text" in part)
        event: EventKind = "user" if kind in _PROMPTS else "system"
        key = string(record.get("uuid"))
        self.session.message(event, text, ref, at, "user", type=kind or "user", key=key)

    def _message(self, record: Mapping[str, Any], ref: Ref, at: float | None, model: str) -> None:
        session, type_, key = self.session, string(record.get("type")), string(record.get("uuid"))
        without_id = 0
        for part in parts_of_message({"role": "model", **mapping(record.get("message"))}):
            if isinstance(part, TextPart):
                session.event(part.kind, part.text, ref, at, part.role, model, type_, key)
            elif isinstance(part, CallPart):
                id_ = session.unique_id(part.id or f"{session.records}.{without_id}")
                without_id += not part.id
                args = mapping(part.args)
                op = op_of(part.name)
                call = session.call(
                    id_,
                    part.name,
                    ref,
                    op=op_of_known_tool(part.name, args) if op == "other" else op,
                    subject=subject_of(args),
                    paths=paths_of(args),
                    native_id=part.id,
                    at=at,
                    counted=session.live,
                )
                session.wait(call, args)
            else:
                self._result(part, record, ref, at)

    def _result(self, part: ResultPart, record: Mapping[str, Any], ref: Ref, at: float | None) -> None:
        session, call = self.session, self.session.waiting(part.id, part.name)
        if call is None:
            session.event("tool_result", text_of(part.content), ref, at, "tool", key=part.id)
            return
        recorded = _as_gemini({"name": call.name, "args": session.take(call)}, record, part.id)
        answer, state = response_of(recorded), string(recorded.get("status"))
        code = exit_code_of(answer) if call.op == "shell" else None
        status, source = status_of_exit_code(code)
        if state in _STATUSES:
            status, source = _STATUSES[state], "flag"
        elif part.status == "error":
            status, source = "error", "flag"
        changes: tuple[FileChange, ...] = ()
        if call.name in EDITS:
            answered = msgspec.structs.replace(call, status=status)
            display = mapping(recorded.get("resultDisplay"))
            changes = (change_of(answered, recorded["args"], display, answer),)
        taken = duration_of(call.at, at)
        session.result(call, ref, len(answer), at, status, source, changes, taken, exit_code=code)

    def end(self, ref: Ref) -> None:
        self.session.end(
            format_version=self.version,
            agent="qwen-code",
            agent_version=self.version,
            title=self.title,
            cwd=self.cwd,
            branch=self.branch,
            ref=ref,
        )


def _parts(record: Any) -> list[Mapping[str, Any]]:
    return mappings(mapping(mapping(record).get("message")).get("parts"))


def _as_gemini(call: Mapping[str, Any], answer: Mapping[str, Any], native: str) -> dict[str, Any]:
    """Returns a call and its result as Gemini CLI records both: in one object."""
    about = mapping(answer.get("toolCallResult"))
    responses = [part for part in _parts(answer) if "functionResponse" in part]
    mine = [part for part in responses if id_text(mapping(part["functionResponse"]).get("id")) == native]
    known = {
        key: about[key]
        for key in ("status", "resultDisplay")
        if key in about and about.get("callId", native) == native
    }
    return {"name": call.get("name"), "args": mapping(call.get("args")), "result": mine or responses, **known}
