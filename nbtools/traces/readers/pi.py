"""Reads the sessions of Pi (``~/.pi/agent/sessions/``) and of agents built on it:
JSON lines, each an entry of a tree.

The last entry is the end of the current branch; entries that do not lead to it were left by going back.
Version 1 had no tree. A result is a message of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from nbtools.traces.conversation import CallPart, MessagePart, ResultPart, TextPart
from nbtools.traces.display_builders import detail_of, media_of
from nbtools.traces.json_access import (
    arguments,
    counts_in,
    epoch_seconds,
    first_text,
    float_of,
    id_text,
    mapping,
    mappings,
    string,
    text_of,
)
from nbtools.traces.lineage import Lineage, lineage_of
from nbtools.traces.model import Call, Detail, EventKind, Origin, Problem, Ref, Row, Tokens
from nbtools.traces.reader import Format, Head
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, call_part, status_of_flag
from nbtools.traces.source import Source

_HEADER = {"id", "timestamp", "cwd"}
_KINDS: dict[str, EventKind] = {
    "user": "user",
    "compaction": "compaction",
    "compactionSummary": "compaction",
    "branch_summary": "compaction",
    "branchSummary": "compaction",
    "bashExecution": "attachment",
}
"""Kinds of entries and messages; a command that the person ran is an attachment."""
_STATE = {"model_change", "thinking_level_change", "label", "session_info", "custom"}
"""Entries of the application's state, in which nobody said or did anything."""
_TEXTS = ("summary", "content", "output")
_USAGE = {"input": "input", "output": "output", "cacheRead": "cache_read", "cacheWrite": "cache_write"}


class _Entry(msgspec.Struct):
    id: Any = None
    parent: Any = msgspec.field(default=msgspec.UNSET, name="parentId")


_decode_entry = msgspec.json.Decoder(_Entry).decode


class Pi(Format):
    name = "pi"

    def recognises(self, head: Head) -> bool:
        return any(_is_header(record) or _is_message(record) for record in head.records)

    def lineage(self, head: Head) -> Lineage | None:
        """The header names the file of the session before it, also where nothing was copied from that:
        only copied entries count.
        """
        return lineage_of(
            [head.path.stem], (), (record for record in head.records if record.get("type") != "session"), "id"
        )

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        reading = _SessionReader(SessionBuilder(log, source.path.stem), _left_entries(source))
        yield from log.read(source.lines(msgspec.json.Decoder(dict).decode), reading.entry)
        reading.end(source.whole())
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        part = call_part(_parts(mapping(mapping(source.record(call.ref)).get("message"))), call, source)
        answer = mapping(mapping(source.record(call.result_ref)).get("message")) if call.answered else {}
        content, extra = answer.get("content"), mapping(answer.get("details"))
        return detail_of(call, arguments(part.args), text_of(content), tuple(media_of(content)), extra)


def _is_header(record: Mapping[str, Any]) -> bool:
    return record.get("type") == "session" and record.keys() >= _HEADER


def _is_message(record: Mapping[str, Any]) -> bool:
    message = mapping(record.get("message"))
    answer = message.get("role") == "assistant" and {"stopReason", "provider"} <= message.keys()
    return record.get("type") == "message" and (
        answer or (message.get("role") == "toolResult" and "toolCallId" in message)
    )


def _left_entries(source: Source) -> frozenset[int]:
    """Returns the offsets of entries that do not lead to the last one; none without parents' names."""
    offsets: dict[str, list[int]] = {}
    parents: dict[str, str] = {}
    last = ""
    for item in source.lines(_decode_entry):
        if isinstance(item, Problem):
            continue
        ref, entry = item
        if isinstance(entry.id, str) and entry.parent is not msgspec.UNSET:
            offsets.setdefault(entry.id, []).append(ref.offset)
            parents.setdefault(entry.id, string(entry.parent))
            last = entry.id
    while last in parents:
        del offsets[last]
        last = parents.pop(last)
    return frozenset(offset for found in offsets.values() for offset in found)


class _SessionReader:
    """Adds the entries of a session. ``left`` are the offsets of entries on branches that were left."""

    def __init__(self, session: SessionBuilder, left: frozenset[int]) -> None:
        self.session, self.left = session, left
        self.about: Mapping[str, Any] = {}
        self.title = ""

    def entry(self, record: Mapping[str, Any], ref: Ref) -> None:
        session, kind, at = self.session, string(record.get("type")), epoch_seconds(record.get("timestamp"))
        session.see(at)
        if kind == "session":
            self.about = self.about or record
            if not session.records:  # no row has the session's id yet
                session.id = string(record.get("id")) or session.id
        session.records += 1
        session.live = ref.offset not in self.left
        if kind == "message":
            self._message(mapping(record.get("message")), ref, at)
        elif kind == "session_info":
            self.title = string(record.get("name")) or self.title
        elif kind not in _STATE and kind != "session":
            known = kind in _KINDS or kind == "custom_message"
            session.flags.update({} if known else {"unknown_records": None})
            session.event(_KINDS.get(kind, "system"), _text(record), ref, at, type=kind)

    def _message(self, message: Mapping[str, Any], ref: Ref, at: float | None) -> None:
        session, role, model = self.session, string(message.get("role")), string(message.get("model"))
        at, first = epoch_seconds(message.get("timestamp")) or at, session.log.seq + 1
        key = string(message.get("responseId"))
        if role == "user":
            session.message("user", text_of(message.get("content")), ref, at, role, type="message")
        elif role in {"assistant", "toolResult"}:
            for number, part in enumerate(_parts(message)):
                session.part(part, f"{session.records}.{number}", ref, at, model, key)
        else:
            session.event(_KINDS.get(role, "system"), _text(message), ref, at, role, type=role)
        if text := string(message.get("errorMessage")):
            session.event("error", text, ref, at, role, model, string(message.get("stopReason")))
        usage = mapping(message.get("usage"))
        used, cost = counts_in(usage, _USAGE), float_of(mapping(usage.get("cost")).get("total"))
        if session.spend(used, cost):
            session.request(Tokens(**used), ref, first, id=key, model=model, at=at, cost=cost)

    def end(self, ref: Ref) -> None:
        self.session.end(
            format_version=id_text(self.about.get("version")) or "1",
            agent="pi",
            title=self.title,
            cwd=string(self.about.get("cwd")),
            ref=ref,
        )


def _parts(message: Mapping[str, Any]) -> Iterator[MessagePart]:
    """Yields the parts of an answer, or the result that a message is."""
    if message.get("role") == "toolResult":
        status, _ = status_of_flag(message.get("isError"))
        native, name = id_text(message.get("toolCallId")), string(message.get("toolName"))
        yield ResultPart(native, message.get("content"), name, status)
        return
    for part in mappings(message.get("content")):
        kind = string(part.get("type"))
        if kind == "toolCall":
            yield CallPart(id_text(part.get("id")), string(part.get("name")) or "?", part.get("arguments"))
        elif kind == "thinking":
            yield TextPart("thinking", string(part.get("thinking")), "assistant", kind)
        else:
            event: EventKind = "attachment" if kind == "image" else "assistant_text"
            yield TextPart(event, string(part.get("text")), "assistant", kind)


def _text(record: Mapping[str, Any]) -> str:
    text = first_text(record, _TEXTS)
    return f"{command}\n{text}" if (command := string(record.get("command"))) else text
