"""Reads sessions of opencode: exports, its storage, and the output of ``opencode run --format json``.

An export (``opencode export``) has the session and its messages, each with its parts. The storage has a file
for each: ``session/*/ID.json`` is the log, and the files of ``message/ID/`` and ``part/MESSAGE/`` belong to
it; formerly, it was ``session/info/ID.json`` with ``session/message/ID/`` and ``session/part/ID/MESSAGE/``. A
tool's part has the call and its result.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.core.result import DiffStat, FileDiff
from nbtools.traces.display_builders import (
    changes_of,
    detail_of,
    diff_display,
    diff_of_texts,
    media_of_data_url,
)
from nbtools.traces.json_access import epoch_seconds, float_of, id_text, integer_of, mapping, mappings, string
from nbtools.traces.json_document import decode_items, is_json_lines, open_document, raw_items
from nbtools.traces.model import (
    NOWHERE,
    Call,
    Detail,
    EventKind,
    FileChange,
    Origin,
    Problem,
    Ref,
    Row,
    Status,
    StatusSource,
    Tokens,
)
from nbtools.traces.reader import Format, Head
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, duration_of
from nbtools.traces.source import Source, decode_json, read_regular

_NULL = msgspec.Raw(b"null")
_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{|\s*\[\s*\{\s*"info"\s*:\s*\{')
_SESSION = {"id", "directory", "time"}
_LINES = {"step_start", "text", "reasoning", "tool_use", "step_finish", "error"}
_KINDS: dict[str, EventKind] = {
    "text": "assistant_text",
    "reasoning": "thinking",
    "file": "attachment",
    "compaction": "compaction",
    "retry": "error",
    "subtask": "system",
    "agent": "system",
}
_STATE = {"step-start", "step-finish", "snapshot", "patch", "tool"}
"""Parts without a text."""
_TOKENS = ("input", "output", "reasoning")
_CHANGE_KINDS = {"add": "add", "delete": "delete", "move": "rename"}
_OPENING = re.compile(r"<(?:file|content)>\n")
_CONTENT = re.compile(r"<(file|content)>\n(.*?)\n(?:\n\([^\n]*\)\n)?</\1>", re.DOTALL)
_MAX_SESSION_BYTES = 1 << 20
_NAME = re.compile(r"\w[\w.-]*")


class _Export(msgspec.Struct):
    info: Any = None
    messages: msgspec.Raw = _NULL


class OpenCode(Format):
    name = "opencode"

    def recognises(self, head: Head) -> bool:
        if _EXPORT.match(head.start) and head.is_json:
            return head.has("sessionID") or head.has("projectID") or b'"ses_' in head.start
        first = mapping(head.first)
        if string(first.get("type")) in _LINES:
            return {"sessionID", "timestamp"} <= first.keys()
        return _is_session(first)

    def files(self, path: Path) -> Sequence[Path]:
        """Returns the files of the messages and their parts in the storage, each message before its parts."""
        session = _session_in_file(path)
        if session is None or not _NAME.fullmatch(session):
            return ()
        storage, former = path.parent.parent.parent, path.parent.parent
        found: list[Path] = []
        for messages, parts in (
            (storage / "message" / session, storage / "part"),
            (former / "message" / session, former / "part" / session),
        ):
            for message in sorted(messages.glob("*.json")):
                name = _id_in_file(message)
                found += [message, *(sorted((parts / name).glob("*.json")) if _NAME.fullmatch(name) else ())]
        return found

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        reading = _SessionReader(SessionBuilder(log, source.path.stem))
        if len(source.files) > 1 or _session_in_file(source.path) is not None:
            yield from log.read((_file(source, file) for file in range(len(source.files))), reading.file)
        elif is_json_lines(source) and not _starts_like_export(source):
            yield from log.read(source.lines(msgspec.json.Decoder(dict).decode), reading.line)
        else:
            yield from _export(source, log, reading)
        reading.end(Ref(0, source.path.stat().st_size))
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        record = mapping(source.record(call.ref))
        parts = (
            mappings(record.get("parts")) if "parts" in record else [mapping(record.get("part")) or record]
        )
        part = next(
            (
                one
                for one in parts
                if one.get("type") == "tool" and id_text(one.get("callID")) == call.native_id
            ),
            {},
        )
        state = mapping(part.get("state"))
        args, about, result = mapping(state.get("input")), mapping(state.get("metadata")), _result(state)
        pictures = tuple(
            media
            for one in mappings(state.get("attachments"))
            if (media := media_of_data_url(string(one.get("url"))))
        )
        opening = _OPENING.search(result) if call.op == "read" else None
        content = _CONTENT.match(result, opening.start()) if opening else None
        detail = detail_of(
            call,
            args,
            content[2] if content else result,
            pictures,
            {"title": state.get("title"), "metadata": about},
        )
        changes = tuple(_diffs(args, about)) or detail.changes
        display = diff_display(changes, result) if changes and call.status == "ok" else detail.display
        return dataclasses.replace(detail, result=result, changes=changes, display=display)


def _is_session(value: Any) -> bool:
    fields = mapping(value)
    return (
        fields.keys() >= _SESSION
        and "messages" not in fields
        and ("projectID" in fields or string(fields["id"]).startswith("ses_"))
    )


def _session_in_file(path: Path) -> str | None:
    """Returns the id of the session in a file of the storage; None where it is not one."""
    try:
        if path.stat().st_size > _MAX_SESSION_BYTES:
            return None
        found = mapping(decode_json(read_regular(path)))
    except (OSError, TraceError):
        return None
    return string(found["id"]) if _is_session(found) else None


def _id_in_file(path: Path) -> str:
    try:
        return string(mapping(decode_json(read_regular(path))).get("id"))
    except (OSError, TraceError):
        return ""


def _starts_like_export(source: Source) -> bool:
    with source.open_file(0) as file:
        return _EXPORT.match(file.read(4096)) is not None


def _file(source: Source, file: int) -> tuple[Ref, Any] | Problem:
    ref = NOWHERE
    try:
        data = source.read_file(file)
        ref = Ref(0, len(data), 0, file)
        return ref, decode_json(data)
    except TraceError as error:
        return Problem(ref, str(error))


def _export(source: Source, log: LogBuilder, reading: _SessionReader) -> Iterator[Row]:
    text = source.read_file()
    if text.lstrip()[:1] == b"[":
        bare = open_document(text, list[msgspec.Raw])
        yield from bare.problems
        yield from log.read(decode_items(bare, bare.value or []), reading.message)
        return
    document = open_document(text, _Export)
    yield from document.problems
    if document.value is not None:
        reading.describe(mapping(document.value.info))
        yield from log.read(decode_items(document, raw_items(document.value.messages)), reading.message)


class _SessionReader:
    """Adds the messages of a session and their parts.
    A message of the storage applies to the parts after it.
    """

    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self.about: Mapping[str, Any] = {}
        self.current: Mapping[str, Any] = {}
        self.native: dict[str, int] = {}
        self.cost: float | None = None
        self.first = 0
        """The first step after the last request of a log that records steps."""
        self._request: Callable[[], None] | None = None

    def describe(self, info: Mapping[str, Any]) -> None:
        """Notes the session's own record, which precedes its messages."""
        self.about = info
        if not self.session.records:  # no row has the session's id yet
            self.session.id = string(info.get("id")) or self.session.id

    def file(self, record: Any, ref: Ref) -> None:
        fields = mapping(record)
        if ref.file == 0:
            self.describe(fields)
        elif "role" in fields:
            self._message(fields, ref)
        else:
            self._part(fields, self.current, ref)

    def line(self, record: Any, ref: Ref) -> None:
        fields = mapping(record)
        self.describe({"id": fields.get("sessionID")})
        part, at = mapping(fields.get("part")), epoch_seconds(fields.get("timestamp"))
        self.session.records += 1
        self.session.see(at)
        if fields.get("type") == "error":
            self._error(fields.get("error"), ref, at)
        if part:
            self._part(part, {"role": "assistant", "time": {"created": fields.get("timestamp")}}, ref)
        if spent := self._spend(part):
            self.session.request(
                spent[0], ref, self.first, at=at, cost=spent[1], id=string(part.get("messageID"))
            )
            self.first = self.session.log.seq + 1

    def message(self, record: Any, ref: Ref) -> None:
        fields = mapping(record)
        info = mapping(fields.get("info"))
        if not self.about:
            self.describe({"id": info.get("sessionID")})
        self._message(info, ref)
        for part in mappings(fields.get("parts")):
            self._part(part, info, ref)

    def _message(self, info: Mapping[str, Any], ref: Ref) -> None:
        time, model = (
            mapping(info.get("time")),
            string(info.get("modelID")) or string(mapping(info.get("model")).get("modelID")),
        )
        self.current = info
        self.session.records += 1
        self.session.see(epoch_seconds(time.get("created")), model if info.get("role") == "assistant" else "")
        self.session.see(epoch_seconds(time.get("completed")))
        self._add_request()
        if spent := self._spend(info):
            first, turn, session = self.session.log.seq + 1, self.session.turn, self.session
            about: dict[str, Any] = {
                "id": string(info.get("id")),
                "model": model,
                "at": epoch_seconds(time.get("created")),
                "cost": spent[1],
                "turn": turn,
            }
            self._request = lambda: session.request(spent[0], ref, first, **about)
        self._error(info.get("error"), ref, epoch_seconds(time.get("created")))

    def _add_request(self) -> None:
        """Adds the request of the last message: its steps are those of the parts after it."""
        if self._request is not None:
            self._request()
            self._request = None

    def _spend(self, record: Mapping[str, Any]) -> tuple[Tokens, float | None] | None:
        """Adds the token usage and the cost of a message, or of a step where only steps are recorded,
        and returns them.
        """
        tokens = mapping(record.get("tokens"))
        cache = mapping(tokens.get("cache"))
        counts = {name: tokens.get(name) for name in _TOKENS} | {
            f"cache_{name}": cache.get(name) for name in ("read", "write")
        }
        used = {name: count for name, value in counts.items() if (count := integer_of(value)) is not None}
        self.native |= {name: self.native.get(name, 0) + count for name, count in used.items()}
        if (cost := float_of(record.get("cost"))) is not None:
            self.cost = (self.cost or 0.0) + cost
        return (Tokens(**used), cost) if used or cost is not None else None

    def _error(self, error: Any, ref: Ref, at: float | None) -> None:
        if isinstance(error, dict):
            text = string(mapping(error.get("data")).get("message")) or string(error.get("message"))
            self.session.event(
                "error", f"{string(error.get('name'))}: {text}".strip(": "), ref, at, type="error"
            )

    def _part(self, part: Mapping[str, Any], info: Mapping[str, Any], ref: Ref) -> None:
        kind, role = string(part.get("type")), string(info.get("role"))
        at = epoch_seconds(mapping(part.get("time")).get("start")) or epoch_seconds(
            mapping(info.get("time")).get("created")
        )
        if kind == "tool":
            self._call(part, at, ref)
        elif kind not in _STATE:
            event: EventKind = _KINDS.get(kind, "system")
            if role == "user" and kind == "text":
                event = "system" if part.get("synthetic") is True or part.get("ignored") is True else "user"
            text = next(
                (
                    text
                    for name in ("text", "filename", "prompt", "name", "url")
                    if (text := string(part.get(name)))
                ),
                "",
            )
            self.session.message(
                event, text, ref, at, role, string(info.get("modelID")), kind, string(info.get("id"))
            )

    def _call(self, part: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        state, native = mapping(part.get("state")), id_text(part.get("callID"))
        args, about, time = (
            mapping(state.get("input")),
            mapping(state.get("metadata")),
            mapping(state.get("time")),
        )
        started, ended = epoch_seconds(time.get("start")) or at, epoch_seconds(time.get("end"))
        status, source = _status(state)
        answered = status != "unanswered"
        self.session.see(ended)
        call = self.session.call(
            self.session.unique_id(native),
            string(part.get("tool")) or "?",
            ref,
            args,
            native_id=native,
            at=started,
            ended=ended,
            duration=duration_of(started, ended),
            status=status,
            status_source=source,
            exit_code=integer_of(about.get("exit")),
            answered=answered,
            result_size=len(_result(state)),
            child=string(about.get("sessionId")) if part.get("tool") == "task" else "",
            result_ref=ref if answered else NOWHERE,
        )
        self.session.complete(call, changes=[*_changes(call, args, about)] if status == "ok" else ())

    def end(self, ref: Ref) -> None:
        info, native = self.about, self.native
        self._add_request()
        self.session.end(
            format_version=string(info.get("version")),
            agent="opencode",
            agent_version=string(info.get("version")),
            parent=string(info.get("parentID")),
            title=string(info.get("title")),
            cwd=string(info.get("directory")) or string(mapping(self.current.get("path")).get("cwd")),
            native_tokens=native,
            cost=self.cost,
            ref=ref,
        )


def _status(state: Mapping[str, Any]) -> tuple[Status, StatusSource]:
    """Returns how a call ended. A refusal and an interruption are errors that only their words tell apart."""
    kind, error = state.get("status"), string(state.get("error")).lower()
    if kind == "completed":
        return "ok", "flag"
    if kind != "error":
        return "unanswered", "none"
    if "rejected permission" in error or "prevents you from using" in error:
        return "denied", "text"
    return ("interrupted", "text") if "aborted" in error else ("error", "flag")


def _result(state: Mapping[str, Any]) -> str:
    return string(state.get("error")) if state.get("status") == "error" else string(state.get("output"))


def _recorded_files(args: Mapping[str, Any], about: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the changes that a tool recorded: of one file, or of each file of a patch."""
    one = mapping(about.get("filediff"))
    if one:
        return [{"path": string(one.get("file")) or string(args.get("filePath")), **one}]
    files = [
        file
        for file in mappings(about.get("files"))
        if string(file.get("type")) in {"add", "update", "delete", "move"}
    ]
    return [
        {"path": string(file.get("filePath")) or string(file.get("relativePath")), **file} for file in files
    ]


def _changes(call: Call, args: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[FileChange]:
    recorded = _recorded_files(args, about)
    for file in recorded:
        added, removed = integer_of(file.get("additions")), integer_of(file.get("deletions"))
        kind: Any = _CHANGE_KINDS.get(string(file.get("type")), "modify")
        basis: Any = "none" if added is None else "recorded_patch"
        yield FileChange(
            session=call.session,
            call=call.id,
            path=string(file["path"]),
            kind=kind,
            added=added,
            removed=removed,
            basis=basis,
        )
    if not recorded:
        new = about.get("exists") is False
        for change in changes_of(call, args):
            yield msgspec.structs.replace(change, kind="add") if new and change.kind == "unknown" else change


def _diffs(args: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[FileDiff]:
    for file in _recorded_files(args, about):
        before, after = file.get("before"), file.get("after")
        if isinstance(before, str) and isinstance(after, str):
            diff = diff_of_texts(file["path"], None if file.get("type") == "add" else before, after)
        else:
            patch, counts = string(file.get("diff")) or string(about.get("diff")), ("additions", "deletions")
            diff = FileDiff(
                patch, file["path"], None, "", DiffStat(*(integer_of(file.get(name)) or 0 for name in counts))
            )
        if diff is not None:
            yield diff
