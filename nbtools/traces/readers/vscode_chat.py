"""Reads the chat sessions of VS Code (Copilot Chat), in ``workspaceStorage/*/chatSessions/``.

A session is a JSON document, or a log of changes to one: ``kind`` 0 sets the document, 1 sets the value at
the path ``k``, 2 appends to the list there, 3 deletes. A request has the prompt and the parts of its
response; a call is a part, repeated whenever it changed. Arguments and results are in the request's
``result.metadata``, if the agent kept them there; otherwise only what was displayed is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from nbtools.traces.display_builders import detail_of
from nbtools.traces.json_access import (
    arguments,
    epoch_seconds,
    first_string,
    id_text,
    integer_of,
    items,
    mapping,
    mappings,
    string,
    text_of,
)
from nbtools.traces.json_document import NULL, decode_items, is_json_lines, open_document, raw_items
from nbtools.traces.model import NOWHERE, Call, Detail, Origin, Problem, Ref, Row, Status, StatusSource
from nbtools.traces.reader import Format, Head
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, status_of_exit_code, status_of_flag
from nbtools.traces.source import Source

_CALL = "toolInvocationSerialized"
_MAX_DEPTH = 12


class _Document(msgspec.Struct):
    requests: msgspec.Raw = NULL


class VsCodeChat(Format):
    name = "vscode-chat"

    def recognises(self, head: Head) -> bool:
        if any(_is_change(record) for record in head.records[:1]):
            return True
        first = mapping(head.first)
        if first:
            requests, named = first.get("requests"), {"responderUsername", "requesterUsername"} & first.keys()
            if not named or not isinstance(requests, list):
                return False
            return all("requestId" in mapping(one) for one in requests)
        return head.start.lstrip()[:1] == b"{" and head.has("requests", "requestId", "responderUsername")

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        if is_json_lines(source) and _has_changes(source):
            changes = _Changes()
            yield from changes.read(source)
            reading = _SessionReader(log, mapping(changes.document), source.path.stem, changes.places)
            for request in mappings(reading.about.get("requests")):
                place = "request", id_text(request.get("requestId"))
                reading.request(request, changes.places.get(place, changes.last))
        else:
            text = source.read_file()
            document, about = open_document(text, _Document), open_document(text, dict[str, Any]).value
            yield from document.problems
            reading = _SessionReader(log, about or {}, source.path.stem, {})
            requests = raw_items(document.value.requests) if document.value else []
            yield from log.read(
                decode_items(document, requests), lambda request, ref: reading.request(mapping(request), ref)
            )
        reading.end(source.whole())
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        """Finds the call's last version in the record, and its round where that has its own record."""
        record = source.record(call.ref)
        calls = (part for part in _objects(record) if part.get("kind") == _CALL)
        found = [part for part in calls if id_text(part.get("toolCallId")) == call.native_id]
        other = source.record(call.result_ref) if call.answered and call.result_ref.length else record
        rounds = _Rounds()
        for part in _objects(other):
            rounds.add(part)
        part = found[-1] if found else {}
        args, result = _arguments(part, rounds, call.native_id), _result(part, rounds, call.native_id)
        messages = ("invocationMessage", "pastTenseMessage")
        extra = {key: _message(part[key]) for key in messages if part.get(key)}
        return detail_of(call, args, result, extra=extra)


def _is_change(record: Mapping[str, Any]) -> bool:
    value = mapping(record.get("v"))
    return record.get("kind") == 0 and isinstance(value.get("requests"), list) and "sessionId" in value


def _has_changes(source: Source) -> bool:
    for line in source.lines(msgspec.json.Decoder(dict).decode):
        if not isinstance(line, Problem):
            return "requests" not in line[1] and "kind" in line[1]
    return False


class _Changes:
    """Applies a log of changes.

    ``places`` are the positions of the records that have, as their last versions, each request, call and
    call's round. ``last`` is the position of the last record.
    """

    def __init__(self) -> None:
        self.document: Any = {}
        self.last = NOWHERE
        self.places: dict[tuple[str, str], Ref] = {}

    def read(self, source: Source) -> Iterator[Problem]:
        for line in source.lines(msgspec.json.Decoder(dict).decode):
            if isinstance(line, Problem):
                yield line
                continue
            ref, change = line
            self.last = ref
            if not self._apply(change):
                yield Problem(ref, "This record is not a change of the session.")
            for part in _objects(change.get("v")):
                if part.get("kind") == _CALL:
                    self.places["call", id_text(part.get("toolCallId"))] = ref
                if "requestId" in part:
                    self.places["request", id_text(part["requestId"])] = ref
                for call in mappings(part.get("toolCalls")):
                    self.places["round", _key(call.get("id"))] = ref

    def _apply(self, change: Mapping[str, Any]) -> bool:
        kind, path, value = integer_of(change.get("kind")), items(change.get("k")), change.get("v")
        if kind == 0:
            self.document = value
            return True
        target = self.document
        for key in path[:-1]:
            target = _child(target, key)
        key = path[-1] if path else None
        if kind == 2 and isinstance(found := _child(target, key), list):
            at = integer_of(change.get("i"))
            at = len(found) if at is None else max(0, min(at, len(found)))
            found[at:at] = items(value)
            return True
        if isinstance(target, dict) and isinstance(key, str):
            target.pop(key, None)
            if kind in {1, 2}:
                target[key] = list(items(value)) if kind == 2 else value
            return kind in {1, 2, 3}
        at = integer_of(key)
        if kind != 1 or not isinstance(target, list) or at is None or not 0 <= at <= len(target):
            return False
        target[at : at + 1] = [value]
        return True


def _child(value: Any, key: Any) -> Any:
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    at = integer_of(key)
    return value[at] if isinstance(value, list) and at is not None and 0 <= at < len(value) else None


def _objects(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yields the objects in a value, outer ones first."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else items(value):
        yield from _objects(one, depth + 1)


class _Rounds:
    """Arguments and results that the agent kept about its calls, by their ids."""

    def __init__(self) -> None:
        self.calls: dict[str, Mapping[str, Any]] = {}
        self.results: dict[str, Any] = {}

    def add(self, part: Mapping[str, Any]) -> None:
        self.calls |= {_key(call.get("id")): call for call in mappings(part.get("toolCalls"))}
        self.results |= {
            _key(native): result for native, result in mapping(part.get("toolCallResults")).items()
        }


def _key(native: Any) -> str:
    """Returns the id of a call without the suffix that VS Code adds to make it unique."""
    return id_text(native).partition("__vscode-")[0]


class _SessionReader:
    """Adds the requests of a session. ``places`` are empty where the whole request is one record."""

    def __init__(
        self, log: LogBuilder, about: Mapping[str, Any], stem: str, places: Mapping[tuple[str, str], Ref]
    ) -> None:
        self.about, self.places = about, places
        self.session: SessionBuilder = log.session(string(about.get("sessionId")) or stem)

    def request(self, request: Mapping[str, Any], ref: Ref) -> None:
        session, model = self.session, string(request.get("modelId"))
        at = epoch_seconds(request.get("timestamp"))
        session.records += 1
        session.see(at, model)
        key, message = id_text(request.get("requestId")), mapping(request.get("message"))
        prompt = string(message.get("text")) or text_of(request.get("message"))
        session.message("user", prompt, ref, at, "user", key=key)
        rounds = _Rounds()
        for part in _objects(mapping(request.get("result")).get("metadata")):
            rounds.add(part)
        text: list[str] = []
        for part in _last_versions(mappings(request.get("response"))):
            kind = string(part.get("kind"))
            if kind == "inlineReference":
                text.append(string(part.get("name")) or _path(part.get("inlineReference")).rpartition("/")[2])
            elif not kind or kind == "markdownContent":
                text.append(_message(part.get("value") if "value" in part else part.get("content")))
            else:
                self._say(text, ref, at, model, key)
                if kind == _CALL:
                    self._call(part, rounds, ref, at)
                elif kind == "thinking" and (thought := text_of(part.get("value"))):
                    session.event("thinking", thought, ref, at, "assistant", model, kind, key)
        self._say(text, ref, at, model, key)
        if error := text_of(mapping(mapping(request.get("result")).get("errorDetails")).get("message")):
            session.event("error", error, ref, at, "assistant", model, "errorDetails", key)

    def _say(self, text: list[str], ref: Ref, at: float | None, model: str, key: str) -> None:
        """Adds the text so far, which is recorded in many pieces."""
        if said := "".join(text).strip():
            self.session.event("assistant_text", said, ref, at, "assistant", model, "markdown", key)
        text.clear()

    def _call(self, part: Mapping[str, Any], rounds: _Rounds, ref: Ref, at: float | None) -> None:
        native = id_text(part.get("toolCallId"))
        args, result = _arguments(part, rounds, native), _result(part, rounds, native)
        state = mapping(mapping(part.get("toolSpecificData")).get("terminalCommandState"))
        code = integer_of(state.get("exitCode"))
        status, source = _status(part, code)
        answered = bool(result) or (part.get("isComplete") is True and status != "denied")
        place = self.places.get(("call", native), ref)
        call = self.session.call(
            self.session.unique_id(native),
            string(mapping(rounds.calls.get(_key(native))).get("name")) or string(part.get("toolId")) or "?",
            place,
            args,
            native_id=native,
            level="nested" if part.get("subAgentInvocationId") else "model",
            by_sub_agent=bool(part.get("subAgentInvocationId")),
            parent=id_text(part.get("subAgentInvocationId")),
            at=epoch_seconds(state.get("timestamp")) or at,
            duration=None if (taken := integer_of(state.get("duration"))) is None else taken / 1000,
            status=status if answered or status == "denied" else "unanswered",
            status_source=source if answered or status == "denied" else "none",
            exit_code=code,
            answered=answered,
            result_size=len(result),
            permission=_permission(part),
            result_ref=self.places.get(("round", _key(native)), place) if answered else NOWHERE,
        )
        self.session.complete(call, args)

    def end(self, ref: Ref) -> None:
        about = self.about
        self.session.see(epoch_seconds(about.get("creationDate")))
        self.session.see(epoch_seconds(about.get("lastMessageDate")))
        self.session.end(
            format_version=id_text(about.get("version")),
            agent="vscode-copilot",
            title=string(about.get("customTitle")),
            ref=ref,
        )


def _last_versions(parts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the parts of a response, each call once, at its first place and in its last version."""
    latest = {id_text(part.get("toolCallId")): part for part in parts if part.get("kind") == _CALL}
    found: list[Mapping[str, Any]] = []
    for part in parts:
        native = id_text(part.get("toolCallId"))
        if part.get("kind") != _CALL or not native:
            found.append(part)
        elif native in latest:
            found.append(latest.pop(native))
    return found


def _arguments(part: Mapping[str, Any], rounds: _Rounds, native: str) -> Mapping[str, Any]:
    """Returns the recorded arguments; else those of the display, which has commands and task lists."""
    call = rounds.calls.get(_key(native))
    if call is not None:
        return arguments(call.get("arguments"))
    displayed = mapping(part.get("toolSpecificData"))
    line = displayed.get("commandLine") or displayed.get("command")
    if command := string(line) or first_string(mapping(line), ("userEdited", "toolEdited", "original")):
        return {"command": command}
    details = mapping(part.get("resultDetails"))
    if "input" in details:
        return arguments(details.get("input"))
    if recorded := mapping(displayed.get("rawInput")):
        return recorded
    todos = displayed.get("todoList")
    return {"todos": todos} if isinstance(todos, list) else {}


def _result(part: Mapping[str, Any], rounds: _Rounds, native: str) -> str:
    """Returns what the model read, if it is recorded; else what was displayed."""
    recorded = rounds.results.get(_key(native))
    if recorded is not None:
        texts = (text_of(one.get("value")) for one in mappings(mapping(recorded).get("content")))
        return "\n".join(filter(None, texts))
    displayed = mapping(mapping(part.get("toolSpecificData")).get("terminalCommandOutput"))
    if displayed:
        return string(displayed.get("text"))
    return text_of(mapping(part.get("resultDetails")).get("output"))


def _status(part: Mapping[str, Any], exit_code: int | None) -> tuple[Status, StatusSource]:
    if part.get("isConfirmed") is False or mapping(part.get("isConfirmed")).get("type") == 0:
        return "denied", "flag"
    failed = mapping(part.get("resultDetails")).get("isError")
    return status_of_flag(failed) if isinstance(failed, bool) else status_of_exit_code(exit_code)


_CONFIRMATIONS = {
    0: "denied",
    1: "not needed",
    2: "by a setting",
    3: "by a rule",
    4: "by the person",
    5: "skipped",
}


def _permission(part: Mapping[str, Any]) -> str:
    if not (confirmed := mapping(part.get("isConfirmed"))):
        return ""
    return _CONFIRMATIONS.get(integer_of(confirmed.get("type")) or 0, "")


def _message(value: Any) -> str:
    return string(mapping(value).get("value")) or string(value)


def _path(uri: Any) -> str:
    """Returns the path of a URI, as a text or as an object, or of a location in one."""
    if isinstance(uri, str):
        return unquote(urlsplit(uri).path)
    fields = mapping(uri)
    return string(fields.get("path")) or string(mapping(fields.get("uri")).get("path"))
