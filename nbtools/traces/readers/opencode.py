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
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.result import DiffStat, FileDiff
from nbtools.traces.display_builders import (
    changes_of,
    detail_of,
    diff_display,
    diff_of_texts,
    media_of_data_url,
)
from nbtools.traces.json_access import (
    counts_in,
    epoch_seconds,
    first_string,
    float_of,
    id_text,
    integer_of,
    mapping,
    mappings,
    string,
)
from nbtools.traces.json_document import (
    NULL,
    decode_file,
    decode_items,
    is_json_lines,
    open_document,
    raw_items,
)
from nbtools.traces.model import (
    NOWHERE,
    Call,
    Detail,
    EventKind,
    FileChange,
    Origin,
    Ref,
    Row,
    Status,
    StatusSource,
    Tokens,
)
from nbtools.traces.reader import Format, Head
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, duration_of
from nbtools.traces.source import Source, read_json

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
_TOKENS = {name: name for name in ("input", "output", "reasoning")}
_CACHE_TOKENS = {"read": "cache_read", "write": "cache_write"}
_PATCH_TYPES = {"add", "update", "delete", "move"}
_CHANGE_KINDS = {"add": "add", "delete": "delete", "move": "rename"}
_OPENING = re.compile(r"<(?:file|content)>\n")
_CONTENT = re.compile(r"<(file|content)>\n(.*?)\n(?:\n\([^\n]*\)\n)?</\1>", re.DOTALL)
_MAX_SESSION_BYTES = 1 << 20
_NAME = re.compile(r"\w[\w.-]*")


class _Export(msgspec.Struct):
    info: Any = None
    messages: msgspec.Raw = NULL


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
                name = string(mapping(read_json(message)).get("id"))
                found += [message, *(sorted((parts / name).glob("*.json")) if _NAME.fullmatch(name) else ())]
        return found

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        reading = _SessionReader(SessionBuilder(log, source.path.stem))
        if len(source.files) > 1 or _session_in_file(source.path) is not None:
            yield from log.read(
                (decode_file(source, file) for file in range(len(source.files))), reading.file
            )
        elif is_json_lines(source) and not _starts_like_export(source):
            yield from log.read(source.lines(msgspec.json.Decoder(dict).decode), reading.line)
        else:
            yield from _export(source, log, reading)
        reading.end(source.whole())
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        record = mapping(source.record(call.ref))
        parts = [mapping(record.get("part")) or record]
        if "parts" in record:
            parts = mappings(record["parts"])
        tools = (one for one in parts if one.get("type") == "tool")
        part = next((one for one in tools if id_text(one.get("callID")) == call.native_id), {})
        state = mapping(part.get("state"))
        args, about, result = mapping(state.get("input")), mapping(state.get("metadata")), _result(state)
        urls = [string(one.get("url")) for one in mappings(state.get("attachments"))]
        pictures = tuple(filter(None, map(media_of_data_url, urls)))
        opening = _OPENING.search(result) if call.op == "read" else None
        content = _CONTENT.match(result, opening.start()) if opening else None
        extra = {"title": state.get("title"), "metadata": about}
        detail = detail_of(call, args, content[2] if content else result, pictures, extra)
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
    with suppress(OSError):
        if path.stat().st_size <= _MAX_SESSION_BYTES and _is_session(found := mapping(read_json(path))):
            return string(found["id"])
    return None


def _starts_like_export(source: Source) -> bool:
    with source.open_file(0) as file:
        return _EXPORT.match(file.read(4096)) is not None


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
    """Adds a session's messages and their parts. A message of the storage applies to the parts after it."""

    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self.about: Mapping[str, Any] = {}
        self.current: Mapping[str, Any] = {}
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
            key = string(part.get("messageID"))
            self.session.request(spent[0], ref, self.first, at=at, cost=spent[1], id=key)
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
        time = mapping(info.get("time"))
        model = string(info.get("modelID")) or string(mapping(info.get("model")).get("modelID"))
        created = epoch_seconds(time.get("created"))
        self.current = info
        self.session.records += 1
        self.session.see(created, model if info.get("role") == "assistant" else "")
        self.session.see(epoch_seconds(time.get("completed")))
        self._add_request()
        if spent := self._spend(info):
            first, session = self.session.log.seq + 1, self.session
            about: dict[str, Any] = {"id": string(info.get("id")), "model": model, "at": created}
            about |= {"cost": spent[1], "turn": session.turn}
            self._request = lambda: session.request(spent[0], ref, first, **about)
        self._error(info.get("error"), ref, created)

    def _add_request(self) -> None:
        """Adds the request of the last message: its steps are those of the parts after it."""
        if self._request is not None:
            self._request()
            self._request = None

    def _spend(self, record: Mapping[str, Any]) -> tuple[Tokens, float | None] | None:
        """Adds token usage and cost of a message, or of a step if only steps are recorded."""
        tokens, cost = mapping(record.get("tokens")), float_of(record.get("cost"))
        used = counts_in(tokens, _TOKENS) | counts_in(mapping(tokens.get("cache")), _CACHE_TOKENS)
        return (Tokens(**used), cost) if self.session.spend(used, cost) else None

    def _error(self, error: Any, ref: Ref, at: float | None) -> None:
        if isinstance(error, dict):
            text = string(mapping(error.get("data")).get("message")) or string(error.get("message"))
            problem = f"{string(error.get('name'))}: {text}".strip(": ")
            self.session.event("error", problem, ref, at, type="error")

    def _part(self, part: Mapping[str, Any], info: Mapping[str, Any], ref: Ref) -> None:
        kind, role = string(part.get("type")), string(info.get("role"))
        at = epoch_seconds(mapping(part.get("time")).get("start"))
        at = at or epoch_seconds(mapping(info.get("time")).get("created"))
        if kind == "tool":
            self._call(part, at, ref)
        elif kind not in _STATE:
            event: EventKind = _KINDS.get(kind, "system")
            if role == "user" and kind == "text":
                event = "system" if part.get("synthetic") is True or part.get("ignored") is True else "user"
            text = first_string(part, ("text", "filename", "prompt", "name", "url"))
            model, key = string(info.get("modelID")), string(info.get("id"))
            self.session.message(event, text, ref, at, role, model, kind, key)

    def _call(self, part: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        state, native = mapping(part.get("state")), id_text(part.get("callID"))
        args, about = mapping(state.get("input")), mapping(state.get("metadata"))
        time = mapping(state.get("time"))
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
        info = self.about
        self._add_request()
        self.session.end(
            format_version=string(info.get("version")),
            agent="opencode",
            agent_version=string(info.get("version")),
            parent=string(info.get("parentID")),
            title=string(info.get("title")),
            cwd=string(info.get("directory")) or string(mapping(self.current.get("path")).get("cwd")),
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
    files = [file for file in mappings(about.get("files")) if string(file.get("type")) in _PATCH_TYPES]
    return [{"path": first_string(file, ("filePath", "relativePath")), **file} for file in files]


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
            patch = string(file.get("diff")) or string(about.get("diff"))
            counts = (integer_of(file.get(name)) or 0 for name in ("additions", "deletions"))
            diff = FileDiff(patch, file["path"], None, "", DiffStat(*counts))
        if diff is not None:
            yield diff
