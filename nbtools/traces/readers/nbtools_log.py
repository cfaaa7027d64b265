"""Reads our own session logs.

``traces.recording.recorder`` writes them, and ``traces.recording.log_records`` defines their records.

Calls are in the log in the order in which they ended, and numbered in the order of their requests. The log of an agent also has its
messages and model requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from nbtools.core.errors import TraceError
from nbtools.core.result import CommandOutput, Media
from nbtools.traces.display_json import diffs_of, display_from_json
from nbtools.traces.json_access import mapping
from nbtools.traces.model import PREVIEW, Call, Detail, Event, EventKind, FileChange, Op, Origin, Problem, Ref, Row, Session, Status, Tokens
from nbtools.traces.reader import Head
from nbtools.traces.recording.log_records import (
    CallRecord,
    EndRecord,
    FullRecord,
    MessageRecord,
    RequestRecord,
    SessionRecord,
    texts_folder,
)
from nbtools.traces.source import Source, decode_json

_MESSAGE_KINDS: dict[str, EventKind] = {"user": "user", "assistant_text": "assistant_text", "thinking": "thinking"}
_COUNTED = ("input", "cache_read", "cache_write", "output")


class Conversation:
    """The messages and model requests of an agent's session so far.

    ``turn`` counts the prompts, ``title`` is the beginning of the first prompt.
    """

    def __init__(self) -> None:
        self.turn = 0
        self.title = ""
        self.requests: list[RequestRecord] = []

    def message_event(self, record: MessageRecord, ref: Ref) -> Event:
        kind = _MESSAGE_KINDS.get(record.kind, "system")
        if kind == "user":
            self.turn += 1
            self.title = self.title or record.text[:PREVIEW]
        size = max(len(record.text), record.size)
        role = "user" if kind == "user" else "assistant"
        return self._event(record, ref, kind=kind, text=record.text[:PREVIEW], size=size, role=role, type="said")

    def end_event(self, record: EndRecord, ref: Ref) -> Event:
        return self._event(record, ref, kind="error", text=record.why[:PREVIEW], size=len(record.why), type="end")

    def _event(self, record: MessageRecord | EndRecord, ref: Ref, **fields: Any) -> Event:
        return Event(session=record.session, seq=record.number, at=record.at, turn=self.turn, ref=ref, **fields)

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.model for one in self.requests))

    @property
    def native_tokens(self) -> dict[str, int]:
        return {name: sum(getattr(one, name) for one in self.requests) for name in _COUNTED} if self.requests else {}

    @property
    def tokens(self) -> Tokens:
        return Tokens(**self.native_tokens)

    @property
    def cost(self) -> float | None:
        """The total cost; None where the cost of any request is not known."""
        costs = [one.cost for one in self.requests if one.cost is not None]
        return sum(costs) if costs and len(costs) == len(self.requests) else None

    def counts(self, header: SessionRecord) -> dict[str, Any]:
        """Returns the counts that only an agent's log has."""
        requests = {"requests": len(self.requests)} if self.requests else {}
        return {**requests, "calls_of": header.calls_of} if header.calls_of else requests


_OPS: dict[str, Op] = {
    **dict.fromkeys(("read", "read_many"), "read"),
    **dict.fromkeys(("ls", "tree"), "list"),
    **dict.fromkeys(("glob", "grep"), "search"),
    **dict.fromkeys(("edit", "replace_in_files", "revise"), "edit"),
    **dict.fromkeys(("shell", "shell_output", "shell_kill"), "shell"),
    **dict.fromkeys(("terminal_open", "terminal_run", "terminal_output", "terminal_kill"), "shell"),
    "write": "write",
    "patch": "patch",
    "fetch": "fetch",
    "todo": "plan",
    "ask": "ask",
    "cells": "notebook",
}
_OPS_OF_KINDS: dict[str, Op] = {"read": "read", "edit": "edit", "search": "search", "execute": "shell", "fetch": "fetch"}
"""Operations of third-party tools, by their kind."""
_DENIED = {"policy_violation", "confirmation_required", "confirmation_denied"}


class _Other(msgspec.Struct):
    """A record of an unknown type or form."""

    type: str = ""


_KnownRecord: TypeAlias = SessionRecord | CallRecord | FullRecord | MessageRecord | RequestRecord | EndRecord
_KNOWN_DECODER: msgspec.json.Decoder[_KnownRecord] = msgspec.json.Decoder(_KnownRecord)
_OTHER_DECODER = msgspec.json.Decoder(_Other)


class NbtoolsLog:
    name = "nbtools"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        first = head.first
        return isinstance(first, dict) and first.get("type") == "session" and first.get("format") == "nbtools"

    def files(self, path: Path) -> Sequence[Path]:
        return sorted(texts_folder(path).glob("*.*"))

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        reading = _LogReader(origin)
        for line in source.lines(_record):
            if isinstance(line, Problem):
                reading.flags.add("malformed")
                yield line
            else:
                yield from reading.line(*line)
        yield from reading.end()

    def detail(self, source: Source, call: Call) -> Detail:
        record = source.record(call.ref)
        texts = _Texts(source)
        display = display_from_json(texts.whole(record.get("display")), record.get("message", ""))
        content = texts.whole(record.get("content"))
        diffs = diffs_of(display)
        return Detail(
            args=mapping(texts.whole(record.get("arguments"))),
            result=_text(content),
            display=display,
            command=record.get("command", ""),
            cwd=record.get("directory", ""),
            stdout=display.text if isinstance(display, CommandOutput) else "",
            changes=diffs,
            media=(display,) if isinstance(display, Media) else (),
            full=display.full_output if isinstance(display, CommandOutput) else "",
            truncated=texts.missing_characters,
            extra=_extra(record, texts),
        )


def _extra(record: Mapping[str, Any], texts: _Texts) -> dict[str, Any]:
    names = ("spoken", "kind", "error", "message", "summary", "decision", "approval", "started", "unwritten")
    long_fields = {name: texts.whole(record.get(name)) for name in ("ran", "data", "notes")}
    short_fields = {name: record[name] for name in names if record.get(name)}
    return {**short_fields, **{name: value for name, value in long_fields.items() if value is not None}}


def _record(line: bytes) -> _KnownRecord | _Other:
    try:
        return _KNOWN_DECODER.decode(line)
    except msgspec.ValidationError:
        return _OTHER_DECODER.decode(line)


def _text(content: Any) -> str:
    """Returns the text of the content that the model read."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content or () if isinstance(part, dict) and "text" in part)


class _Texts:
    """The long texts stored beside a log; ``missing_characters`` counts the characters of those that no longer exist."""

    def __init__(self, source: Source) -> None:
        self.missing_characters = 0
        self._source = source
        self._numbers = {path.name: number for number, path in enumerate(source.files[1:], 1)}

    def whole(self, value: Any) -> Any:
        """Returns ``value`` with all long texts inserted."""
        match value:
            case {"$text": str(name), "chars": int(chars), "start": str(start)}:
                return self._text(name, chars, start)
            case {"$json": str(name), "chars": int(chars)}:
                return self.whole(self._json(name, chars))
            case dict():
                return {key.removeprefix("$"): self.whole(item) for key, item in value.items()}
            case list():
                return [self.whole(item) for item in value]
        return value

    def _text(self, name: str, chars: int, start: str) -> str:
        data = self._file(name)
        text = start if data is None else data.decode("utf-8", "replace")
        self.missing_characters += chars - len(text)
        return text

    def _json(self, name: str, chars: int) -> Any:
        data = self._file(name)
        if data is not None:
            return decode_json(data)
        self.missing_characters += chars
        return None

    def _file(self, name: str) -> bytes | None:
        try:
            return self._source.read_file(self._numbers[name])
        except (KeyError, TraceError):
            return None


class _LogReader:
    """Builds the rows of a log. A file may have several sessions in sequence."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.flags: set[str] = set()
        self._header: SessionRecord | None = None
        self._start = Ref(0, 0)
        self._records = 0
        self._ended: float | None = None
        self._next = 0
        self._conversation = Conversation()

    def line(self, ref: Ref, record: _KnownRecord | _Other) -> Iterator[Row]:
        if isinstance(record, SessionRecord):
            yield from self.end()
            self._header, self._start = record, ref
        self._records += 1
        match record:
            case CallRecord():
                yield from self._call(record, ref)
            case MessageRecord() | EndRecord():
                yield self._message(record, ref)
            case RequestRecord():
                self._conversation.requests.append(record)
            case FullRecord() | _Other():
                yield self._other(record, ref)

    def end(self) -> Iterator[Session]:
        """Yields the session read so far, if it has any records."""
        if self._records:
            yield self._session()
        self.flags, self._header, self._records, self._ended, self._next = set(), None, 0, None, 0
        self._conversation = Conversation()

    def _call(self, record: CallRecord, ref: Ref) -> Iterator[Row]:
        self._ended = max(record.ended, self._ended or 0)
        self._next = max(self._next, record.number + 1)
        yield Call(
            session=record.session,
            id=record.id,
            seq=record.number,
            name=record.name,
            op="mcp" if record.name.startswith("mcp__") else _OPS.get(record.name) or _OPS_OF_KINDS.get(record.kind, "other"),
            origin=self.origin,
            native_id=record.id,
            subject=(record.command or record.subject)[:PREVIEW],
            paths=tuple(map(self._relative, record.paths)),
            at=record.asked,
            ended=record.ended,
            duration=record.ended - (record.started or record.asked),
            status=_status(record),
            status_source="flag",
            exit_code=record.exit_code,
            answered=True,
            result_size=record.size,
            permission=_permission(record),
            turn=self._conversation.turn,
            ref=ref,
            result_ref=ref,
        )
        for change in record.changes:
            yield FileChange(
                session=record.session,
                call=record.id,
                path=self._relative(change.path),
                kind=change.kind if change.kind in _CHANGE_KINDS else "unknown",  # type: ignore[arg-type]
                added=change.added,
                removed=change.removed,
                basis="none" if change.added is None else "recorded_texts",
            )

    def _relative(self, path: str) -> str:
        """Returns the path relative to the workspace, where it is inside."""
        workspace = self._header.workspace if self._header else ""
        return path.removeprefix(f"{workspace}/") if workspace else path

    def _message(self, record: MessageRecord | EndRecord, ref: Ref) -> Event:
        self._ended = max(record.at, self._ended or 0)
        self._next = max(self._next, record.number + 1)
        return (
            self._conversation.message_event(record, ref)
            if isinstance(record, MessageRecord)
            else self._conversation.end_event(record, ref)
        )

    def _other(self, record: FullRecord | _Other, ref: Ref) -> Event:
        full = isinstance(record, FullRecord)
        self.flags.add("truncated" if full else "unknown_records")
        self._next += 1
        name = "full" if full else record.type  # type: ignore[union-attr]
        text = "The log reached its size limit; later calls are not in it." if full else ""
        session = self._header.id if self._header else ""
        return Event(session=session, seq=self._next - 1, kind="system", text=text, size=len(text), type=name, ref=ref)

    def _session(self) -> Session:
        header = self._header or SessionRecord(format="", version=0, id="", at=0)
        return Session(
            id=header.id,
            format="nbtools",
            format_version=str(header.version),
            agent="nbtools",
            agent_version=header.nbtools,
            cwd=header.workspace,
            branch=header.branch,
            commit=header.commit,
            started=header.at or None,
            ended=self._ended or header.at or None,
            records=self._records,
            flags=tuple(sorted(self.flags)),
            title=self._conversation.title,
            models=self._conversation.models,
            tokens=self._conversation.tokens,
            native_tokens=self._conversation.native_tokens,
            cost=self._conversation.cost,
            counts={"dialect": header.dialect, **self._conversation.counts(header)},
            ref=self._start,
        )


_CHANGE_KINDS = {"add", "modify", "delete", "rename"}


def _status(record: CallRecord) -> Status:
    if record.state == "success":
        return "ok"
    if record.error in _DENIED:
        return "denied"
    return "cancelled" if record.state == "cancelled" else "error"


def _permission(record: CallRecord) -> str:
    """Describes the decision, the rule that made it, and the answer of a person."""
    decision, approval = record.decision, record.approval
    text = "" if decision is None else f"{decision.action}: {decision.rule or decision.reason}"
    return text if approval is None else f"{text}; {approval.outcome} by {approval.by}".removeprefix("; ")
