"""Our own sessions, as ``traces.recorder`` writes them (``traces.log_records`` says how): a line a finished call.

Calls stand in the log in the order in which they ended and are numbered in the order in which they were asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from nbtools.core.errors import TraceError
from nbtools.core.result import CommandOutput, Media
from nbtools.traces.displays import diffs_of, from_json
from nbtools.traces.format import Head
from nbtools.traces.formats.nbtools_conversation import Conversation
from nbtools.traces.log_records import CallRecord, EndRecord, FullRecord, RequestRecord, SaidRecord, SessionRecord, texts_folder
from nbtools.traces.loose import mapping
from nbtools.traces.model import PREVIEW, Call, Detail, Event, FileChange, Op, Origin, Problem, Ref, Row, Session, Status
from nbtools.traces.source import Source, decoded

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
"""For tools of somebody else's."""
_DENIED = {"policy_violation", "confirmation_required", "confirmation_denied"}


class _Other(msgspec.Struct):
    """A line of a type, or in a form, that is not known here."""

    type: str = ""


_Known: TypeAlias = SessionRecord | CallRecord | FullRecord | SaidRecord | RequestRecord | EndRecord
_KNOWN: msgspec.json.Decoder[_Known] = msgspec.json.Decoder(_Known)
_OTHER = msgspec.json.Decoder(_Other)


class NbtoolsLog:
    name = "nbtools"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        first = head.first
        return isinstance(first, dict) and first.get("type") == "session" and first.get("format") == "nbtools"

    def files(self, path: Path) -> Sequence[Path]:
        return sorted(texts_folder(path).glob("*.*"))

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        reading = _Reading(origin)
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
        display = from_json(texts.whole(record.get("display")), record.get("message", ""))
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
            truncated=texts.left_out,
            extra=_extra(record, texts),
        )


def _extra(record: Mapping[str, Any], texts: _Texts) -> dict[str, Any]:
    names = ("spoken", "kind", "error", "message", "summary", "decision", "approval", "started", "unwritten")
    whole = {name: texts.whole(record.get(name)) for name in ("ran", "data", "notes")}
    kept = {name: record[name] for name in names if record.get(name)}
    return {**kept, **{name: value for name, value in whole.items() if value is not None}}


def _record(line: bytes) -> _Known | _Other:
    try:
        return _KNOWN.decode(line)
    except msgspec.ValidationError:
        return _OTHER.decode(line)


def _text(content: Any) -> str:
    """What a model read of it."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content or () if isinstance(part, dict) and "text" in part)


class _Texts:
    """The long texts beside a log; ``left_out`` counts the characters of those that are not there any more."""

    def __init__(self, source: Source) -> None:
        self.left_out = 0
        self._source = source
        self._numbers = {path.name: number for number, path in enumerate(source.files[1:], 1)}

    def whole(self, value: Any) -> Any:
        """``value`` with every text in its place."""
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
        self.left_out += chars - len(text)
        return text

    def _json(self, name: str, chars: int) -> Any:
        data = self._file(name)
        if data is not None:
            return decoded(data)
        self.left_out += chars
        return None

    def _file(self, name: str) -> bytes | None:
        try:
            return self._source.document(self._numbers[name])
        except (KeyError, TraceError):
            return None


class _Reading:
    """A log on its way into rows.  Sessions may stand in one file one after the other."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.flags: set[str] = set()
        self._header: SessionRecord | None = None
        self._start = Ref(0, 0)
        self._records = 0
        self._ended: float | None = None
        self._next = 0
        self._conversation = Conversation()

    def line(self, ref: Ref, record: _Known | _Other) -> Iterator[Row]:
        if isinstance(record, SessionRecord):
            yield from self.end()
            self._header, self._start = record, ref
        self._records += 1
        match record:
            case CallRecord():
                yield from self._call(record, ref)
            case SaidRecord() | EndRecord():
                yield self._spoken(record, ref)
            case RequestRecord():
                self._conversation.used.append(record)
            case FullRecord() | _Other():
                yield self._other(record, ref)

    def end(self) -> Iterator[Session]:
        """The session that was read, if any line of it was."""
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
                kind=change.kind if change.kind in _KINDS else "unknown",  # type: ignore[arg-type]
                added=change.added,
                removed=change.removed,
                basis="none" if change.added is None else "recorded_texts",
            )

    def _relative(self, path: str) -> str:
        """As seen from the workspace, where it is in there."""
        workspace = self._header.workspace if self._header else ""
        return path.removeprefix(f"{workspace}/") if workspace else path

    def _spoken(self, record: SaidRecord | EndRecord, ref: Ref) -> Event:
        self._ended = max(record.at, self._ended or 0)
        self._next = max(self._next, record.number + 1)
        return self._conversation.said(record, ref) if isinstance(record, SaidRecord) else self._conversation.ended(record, ref)

    def _other(self, record: FullRecord | _Other, ref: Ref) -> Event:
        full = isinstance(record, FullRecord)
        self.flags.add("truncated" if full else "unknown_records")
        self._next += 1
        name = "full" if full else record.type  # type: ignore[union-attr]
        text = "The log reached its size; what came after is not in it." if full else ""
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


_KINDS = {"add", "modify", "delete", "rename"}


def _status(record: CallRecord) -> Status:
    if record.state == "success":
        return "ok"
    if record.error in _DENIED:
        return "denied"
    return "cancelled" if record.state == "cancelled" else "error"


def _permission(record: CallRecord) -> str:
    """What was decided, by which rule, and what a person said."""
    decision, approval = record.decision, record.approval
    decided = "" if decision is None else f"{decision.action}: {decision.rule or decision.reason}"
    return decided if approval is None else f"{decided}; {approval.outcome} by {approval.by}".removeprefix("; ")
