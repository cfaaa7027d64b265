"""Reads our own session logs.

``traces.recording.recorder`` writes them, and ``traces.recording.log_records`` defines their records.

Calls are in the log in the order in which they ended, and numbered in the order of their requests.
The log of an agent also has its messages and model requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from nbtools.core.errors import TraceError
from nbtools.core.result import CommandOutput, Media
from nbtools.traces.display_json import diffs_of, display_from_json
from nbtools.traces.json_access import mapping
from nbtools.traces.known_tools import ops_by_name
from nbtools.traces.line_reading import LineReading
from nbtools.traces.model import (
    PREVIEW,
    Call,
    Detail,
    EventKind,
    FileChange,
    Op,
    Origin,
    Problem,
    Ref,
    RequestUsage,
    Status,
    Tokens,
)
from nbtools.traces.reader import Format, Head
from nbtools.traces.recording.log_records import (
    CallRecord,
    EndRecord,
    FullRecord,
    MessageRecord,
    RequestRecord,
    SessionRecord,
    texts_folder,
)
from nbtools.traces.session_builder import LogBuilder, SessionBuilder
from nbtools.traces.source import Source, decode_json

_MESSAGE_KINDS: dict[str, EventKind] = {
    "user": "user",
    "assistant_text": "assistant_text",
    "thinking": "thinking",
}
_COUNTED = ("input", "cache_read", "cache_write", "output")
_OPS = ops_by_name(
    {
        "read": "read read_many diagnostics",
        "list": "ls tree",
        "search": "glob grep",
        "edit": "edit replace_in_files revise",
        "shell": ("shell shell_output shell_kill terminal_open terminal_run terminal_output terminal_kill"),
        "write": "write",
        "patch": "patch",
        "fetch": "fetch",
        "plan": "todo",
        "ask": "ask",
        "notebook": "cells",
    }
)
_OPS_OF_KINDS: dict[str, Op] = {
    "read": "read",
    "edit": "edit",
    "search": "search",
    "execute": "shell",
    "fetch": "fetch",
}
"""Operations of third-party tools, by their kind."""
_NO_HEADER = SessionRecord(format="", version=0, id="", at=0)
_TITLE_PARTS = 3
"""Tools that the title of a session without a prompt names."""
_TITLE_SUBJECT = 40
"""Characters of a subject in such a title."""
_DENIED = {"policy_violation", "confirmation_required", "confirmation_denied"}


class _Other(msgspec.Struct):
    """A record of an unknown type or form."""

    type: str = ""


_KnownRecord: TypeAlias = SessionRecord | CallRecord | FullRecord | MessageRecord | RequestRecord | EndRecord
_KNOWN_DECODER: msgspec.json.Decoder[_KnownRecord] = msgspec.json.Decoder(_KnownRecord)
_OTHER_DECODER = msgspec.json.Decoder(_Other)


class NbtoolsLog(Format):
    name = "nbtools"

    def recognises(self, head: Head) -> bool:
        first = head.first
        return isinstance(first, dict) and first.get("type") == "session" and first.get("format") == "nbtools"

    def files(self, path: Path) -> Sequence[Path]:
        return sorted(texts_folder(path).glob("*.*"))

    def begin(self, source: Source, origin: Origin) -> LineReading:
        log = LogBuilder(self.name, origin)
        reading = _LogReader(log)
        return LineReading(log.rows, _record, reading.record, reading.end, reading.problem)

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
    """The long texts beside a log; ``missing_characters`` counts the characters of those that are gone."""

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
    """Adds the records of a log. A file may have several sessions in sequence;
    the rows have the numbers that were recorded.
    """

    def __init__(self, log: LogBuilder) -> None:
        self.log = log
        self._begin(_NO_HEADER, Ref(0, 0))

    def _begin(self, header: SessionRecord, ref: Ref) -> None:
        self.session = SessionBuilder(self.log, header.id)
        self.header, self.start = header, ref
        self.next = 0
        self.title = ""
        self.work = _FirstWork()
        self.requests: list[RequestRecord] = []
        self.answers: dict[tuple[int, int], tuple[int, int]] = {}
        """The first and the last step of each answer, by turn and request."""

    def problem(self, _: Problem) -> None:
        self.session.flags["malformed"] = None

    def record(self, record: _KnownRecord | _Other, ref: Ref) -> None:
        if isinstance(record, SessionRecord):
            self.end()
            self._begin(record, ref)
        self.session.records += 1
        match record:
            case CallRecord():
                self._call(record, ref)
            case MessageRecord() | EndRecord():
                self._message(record, ref)
            case RequestRecord():
                self.requests.append(record)
                self.session.models[record.model] = None
                tokens = Tokens(record.input, record.cache_read, record.cache_write, record.output)
                self.session.request(
                    tokens, ref, id=str(record.step), model=record.model, at=record.at, cost=record.cost
                )
            case FullRecord() | _Other():
                self._other(record, ref)

    def _call(self, record: CallRecord, ref: Ref) -> None:
        session = self.session
        self.work.add(record)
        session.see(record.ended)
        self.next = max(self.next, record.number + 1)
        call = session.call(
            record.id,
            record.name,
            ref,
            op=_op(record),
            native_id=record.id,
            subject=record.command or record.subject,
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
            result_ref=ref,
        )
        changes = (
            FileChange(
                session=record.session,
                call=record.id,
                path=self._relative(change.path),
                kind=change.kind if change.kind in _CHANGE_KINDS else "unknown",  # type: ignore[arg-type]
                added=change.added,
                removed=change.removed,
                basis="none" if change.added is None else "recorded_texts",
            )
            for change in record.changes
        )
        session.complete(replace(call, session=record.session, seq=record.number), changes=changes)

    def _relative(self, path: str) -> str:
        """Returns the path relative to the workspace, where it is inside."""
        workspace = self.header.workspace
        return path.removeprefix(f"{workspace}/") if workspace else path

    def _message(self, record: MessageRecord | EndRecord, ref: Ref) -> None:
        self.session.see(record.at)
        self.next = max(self.next, record.number + 1)
        if isinstance(record, MessageRecord):
            kind = _MESSAGE_KINDS.get(record.kind, "system")
            if kind == "user":
                self.title = self.title or record.text[:PREVIEW]
            role = "user" if kind == "user" else "assistant"
            self._event(kind, record.text, ref, record, role, "said", max(len(record.text), record.size))
        else:
            self._event("error", record.why, ref, record, "", "end")

    def _event(
        self,
        kind: EventKind,
        text: str,
        ref: Ref,
        record: MessageRecord | EndRecord,
        role: str,
        type_: str,
        size: int = 0,
    ) -> None:
        self.session.message(kind, text, ref, record.at, role, type=type_, size=size)
        self.log.rows[-1] = replace(self.log.rows[-1], session=record.session, seq=record.number)
        if isinstance(record, MessageRecord) and record.step:
            answer = self.session.turn, record.step
            self.answers[answer] = self.answers.get(answer, (record.number,))[0], record.number

    def _other(self, record: FullRecord | _Other, ref: Ref) -> None:
        if isinstance(record, FullRecord):
            self.session.flags["truncated"] = None
            text, type_ = "The log reached its size limit; later calls are not in it.", "full"
        else:
            self.session.flags["unknown_records"] = None
            text, type_ = "", record.type
        self.session.event("system", text, ref, type=type_)
        self.log.rows[-1] = replace(self.log.rows[-1], seq=self.next)
        self.next += 1

    def _with_answer(self, request: RequestUsage) -> RequestUsage:
        first, last = self.answers.get((request.turn, int(request.id)), (None, None))
        return replace(request, seq=first, last=last)

    def end(self) -> None:
        """Adds the session read so far, if it has any records."""
        session, header = self.session, self.header
        if not session.records:
            return
        session.requests = [self._with_answer(request) for request in session.requests]
        native: dict[str, int] = {}
        if self.requests:
            native = {name: sum(getattr(one, name) for one in self.requests) for name in _COUNTED}
        costs = [one.cost for one in self.requests if one.cost is not None]
        counts: dict[str, Any] = {"dialect": header.dialect}
        if self.requests:
            counts["requests"] = len(self.requests)
        if header.calls_of:
            counts["calls_of"] = header.calls_of
        ended = max(session.ended, 0.0)
        session.end(
            format_version=str(header.version),
            agent="nbtools",
            agent_version=header.nbtools,
            cwd=header.workspace,
            branch=header.branch,
            commit=header.commit,
            started=header.at or None,
            ended=ended or header.at or None,
            flags=tuple(sorted(session.flags)),
            title=self.title or self.work.title(header),
            tokens=Tokens(**native),
            native_tokens=native,
            cost=sum(costs) if costs and len(costs) == len(self.requests) else None,
            counts=counts,
            ref=self.start,
        )


class _FirstWork:
    """The title of a session without a prompt, such as that of a notebook: it tells what was done first."""

    def __init__(self) -> None:
        self._parts: list[tuple[str, dict[str, None]]] = []
        """The tools in their order, with the different subjects of their calls one after another."""

    def add(self, record: CallRecord) -> None:
        if not self._parts or self._parts[-1][0] != record.name:
            if len(self._parts) > _TITLE_PARTS:
                return
            self._parts.append((record.name, {}))
        subjects = self._parts[-1][1]
        if len(self._parts) <= _TITLE_PARTS and len(subjects) < 1_000:
            subjects[" ".join((record.command or record.subject).split())] = None

    def title(self, header: SessionRecord) -> str:
        """Returns for example ``analysis.ipynb: grep TODO, edit 3 files``; empty without a call."""
        parts = [_work_text(name, [*subjects]) for name, subjects in self._parts[:_TITLE_PARTS]]
        more = ", …" if len(self._parts) > _TITLE_PARTS else ""
        where = f"{header.notebook}: " if header.notebook and parts else ""
        return f"{where}{', '.join(parts)}{more}"


def _work_text(name: str, subjects: Sequence[str]) -> str:
    first = subjects[0]
    short = first if len(first) <= _TITLE_SUBJECT else f"{first[:_TITLE_SUBJECT]}…"
    more = len(subjects) - 1
    if more and _OPS.get(name) in _FILE_OPS:
        return f"{name} {len(subjects):,} files"
    return f"{name} {short}".strip() + (f" and {more:,} more" if more else "")


_FILE_OPS = {"read", "edit", "write"}
_CHANGE_KINDS = {"add", "modify", "delete", "rename"}


def _op(record: CallRecord) -> Op:
    if record.name.startswith("mcp__"):
        return "mcp"
    return _OPS.get(record.name) or _OPS_OF_KINDS.get(record.kind, "other")


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
