"""Reader of Gemini CLI's sessions: ``chats/session-*.json``, a document, or ``.jsonl``,
a log of changes to one.

Sub-agents are in a folder beside it.  Call and result are one object.  The ``input`` tokens include cached
ones.  Diffs are in ``resultDisplay``, unless they were removed.

In a log of changes, a message's line replaces the one with its id; ``{"$set": {…}}`` sets fields of the
session, also all ``messages`` at once (after compression); ``{"$rewindTo": id}`` drops that message and all
later ones.  Dropped messages are kept, marked as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict

from nbtools.core.decoders import decoder_of
from nbtools.core.errors import TraceError
from nbtools.traces.json_access import epoch_seconds, items, mapping, mappings, string
from nbtools.traces.json_document import NULL, JsonDocument, decode_items, open_document, raw_items
from nbtools.traces.model import Call, Detail, EventKind, Origin, Problem, Ref, Row, Tokens
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.gemini_cli.messages import add_call, add_events, kind_of
from nbtools.traces.readers.gemini_cli.records import Record, TokenCounts, decode_record
from nbtools.traces.readers.gemini_cli.results import detail_of
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, call_number
from nbtools.traces.source import DECODE_ERRORS, Source, decode_json, read_json, read_start


class _Line(msgspec.Struct):
    id: Any = msgspec.UNSET
    type: Any = msgspec.UNSET
    rewind: Any = msgspec.field(default=msgspec.UNSET, name="$rewindTo")
    set: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="$set")


class _Message(msgspec.Struct):
    id: Any = None


class _FirstLine(msgspec.Struct):
    messages: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_LINE = msgspec.json.Decoder(_Line)
_MESSAGE = msgspec.json.Decoder(_Message)


@dataclass
class StoredMessage:
    """A message.  ``replaced``: a later record has a newer version of it."""

    id: Any
    ref: Ref
    live: bool = True
    replaced: bool = False


class MessageLog:
    """Applies the changes of a file.  Of messages only their positions are kept in memory."""

    def __init__(self) -> None:
        self.session: dict[str, Any] = {}
        self._text = b""
        """The text of a document, which is read as a whole."""
        self._order: list[StoredMessage] = []
        self._live: list[StoredMessage] = []
        self._at: dict[Any, int] = {}

    def messages(self, source: Source, file: int = 0) -> Iterator[tuple[StoredMessage, Record]]:
        """Yields all messages in reading order, dropped ones included, each with its content."""
        at = 0
        with source.open_file(file) as opened:
            for message in self._order:
                start, length = message.ref.offset, message.ref.length
                if self._text:
                    yield message, decode_record(self._text[start : start + length])
                elif not message.replaced:
                    if start != at:
                        opened.seek(start)
                    at = start + length
                    yield message, decode_record(opened.read(length))

    def read(self, source: Source, file: int = 0) -> Iterator[Problem]:
        if _is_document(source, file):
            yield from self._document(source.read_file(file), file)
            return
        for line in source.lines(lambda line: (line, _LINE.decode(line)), file):
            if isinstance(line, Problem):
                yield line
                continue
            ref, (text, changes) = line
            try:
                yield from self._line(text, changes, ref)
            except (TraceError, *DECODE_ERRORS) as error:
                yield Problem(ref, str(error))

    def _document(self, text: bytes, file: int) -> Iterator[Problem]:
        document = open_document(text, dict[str, msgspec.Raw], file)
        yield from document.problems
        if document.value is None:
            return
        self._text = document.text
        self.session = {
            name: decode_json(bytes(value)) for name, value in document.value.items() if name != "messages"
        }
        whole = Ref(0, len(text), 0, file)
        messages = document.value.get("messages", NULL)
        if bytes(memoryview(messages)[:1]) != b"[":
            yield Problem(whole, "it has no list of messages")
            return
        yield from self._append_all(document, messages, whole)

    def _append_all(
        self, document: JsonDocument[Any], messages: msgspec.Raw, within: Ref
    ) -> Iterator[Problem]:
        """Adds the messages of a list in a document."""
        for part in decode_items(document, raw_items(messages), within, _MESSAGE.decode):
            if isinstance(part, Problem):
                yield part
            else:
                self._append(part[1].id, part[0])

    def _line(self, text: bytes, line: _Line, ref: Ref) -> Iterator[Problem]:
        if line.rewind is not msgspec.UNSET:
            self._rewind(line.rewind)
        elif bytes(line.set)[:1] == b"{":
            yield from self._set(text, line.set, ref)
        elif line.id is not msgspec.UNSET and line.type is not msgspec.UNSET:
            self._put(line.id, ref)
        else:
            self.session.update(decode_json(text))

    def _set(self, text: bytes, changes: msgspec.Raw, ref: Ref) -> Iterator[Problem]:
        fields = msgspec.json.decode(changes, type=dict[str, msgspec.Raw])
        messages = fields.pop("messages", None)
        self.session.update({name: decode_json(bytes(value)) for name, value in fields.items()})
        if messages is None or bytes(messages)[:1] != b"[":
            return
        before, self._live, self._at = self._live, [], {}
        yield from self._append_all(JsonDocument(None, text, len(text)), messages, ref)
        for message in before:
            message.live, message.replaced = False, _key(message.id) in self._at

    def _put(self, id_: Any, ref: Ref) -> None:
        at = self._at.get(_key(id_))
        if at is None:
            self._append(id_, ref)
        else:
            self._live[at].ref = ref

    def _append(self, id_: Any, ref: Ref) -> None:
        message = StoredMessage(id_, ref)
        self._at.setdefault(_key(id_), len(self._live))
        self._live.append(message)
        self._order.append(message)

    def _rewind(self, to: Any) -> None:
        at = self._at.get(_key(to))
        if at is None:
            return
        for message in self._live[at:]:
            message.live = False
            if self._at.get(_key(message.id), -1) >= at:
                del self._at[_key(message.id)]
        del self._live[at:]


def _key(value: Any) -> Any:
    """Returns a hashable key for an id of any type."""
    return value if isinstance(value, str | int) else repr(value)


def _is_document(source: Source, file: int) -> bool:
    """Returns whether the file is one object over many lines, or one that contains its messages."""
    for line in source.lines(_begins_document, file):
        return isinstance(line, Problem) or line[1]
    return True


def _begins_document(line: bytes) -> bool:
    if line.strip() == b"{":
        return True
    try:
        return decoder_of(_FirstLine).decode(line).messages is not msgspec.UNSET
    except DECODE_ERRORS:
        return line.lstrip()[:1] == b"{" and (not line.startswith(b'{"') or b'"messages"' in line[:4096])


_TYPES = {"user", "gemini", "qwen", "info", "error", "warning"}
_ID = re.compile(rb'"sessionId"\s*:\s*"(\w[\w.-]{0,200})"')
_START = 64 << 10
_TABLE_DEPTH = 5
"""Levels from a session, or a sub-agent's below it, to the folder of the table."""


class GeminiCli(Format):
    """Reads Gemini CLI's sessions."""

    name = "gemini-cli"

    def recognises(self, head: Head) -> bool:
        first = head.first
        if not isinstance(first, dict):
            return head.has("sessionId", "projectHash") and not head.has("parentUuid")
        if {"sessionId", "projectHash"} <= first.keys() or "$set" in first or "$rewindTo" in first:
            return True
        has_fields = {"id", "timestamp", "content"} <= first.keys() and "message" not in first
        return has_fields and string(first.get("type")) in _TYPES

    def files(self, path: Path) -> Sequence[Path]:
        """Returns sub-agents' sessions, from a folder that is named after the session's id."""
        found = _ID.search(read_start(path, _START))
        folder = path.parent / found[1].decode("utf-8", "replace") if found else path
        if not folder.is_dir():
            return ()
        return sorted(child for child in folder.iterdir() if child.suffix in {".json", ".jsonl"})

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        children: dict[str, str] = {}
        main = ""
        for file, path in enumerate(source.files):
            changes = MessageLog()
            yield from changes.read(source, file)
            project = _project(source.path, changes.session)
            reading = _SessionReader(log, changes.session, path, children, project)
            main = main or reading.session.id
            for number, (message, record) in enumerate(changes.messages(source, file)):
                reading.message(record, message.ref, number, live=message.live)
                yield from log.rows
                log.rows.clear()
            reading.end(main if file else "", source.whole(file))
            yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        calls = mappings(mapping(source.record(call.ref)).get("toolCalls"))
        if call.native_id:
            mine = [recorded for recorded in calls if recorded.get("id") == call.native_id]
        else:
            mine = calls[call_number(call) :]
        if not mine:
            raise source.outdated()
        return detail_of(mine[0])


def _project(path: Path, about: Mapping[str, Any]) -> str:
    """Returns the project's folder, whose hash a session records:
    one that Gemini CLI's table names (``~/.gemini/projects.json``).
    """
    hash_, parents = string(about.get("projectHash")), [*path.absolute().parents][:_TABLE_DEPTH]
    for folder in parents if hash_ else ():
        if (table := read_json(folder / "projects.json")) is not None:
            names = mapping(mapping(table).get("projects"))
            return next((name for name in names if sha256(name.encode()).hexdigest() == hash_), "")
    return ""


class _SessionReader:
    """Adds a file's messages.  ``children`` maps sub-agents' ids to the calls that started them;
    ``project`` is the working directory.
    """

    def __init__(
        self, log: LogBuilder, about: Mapping[str, Any], path: Path, children: dict[str, str], project: str
    ) -> None:
        self.about, self.path, self.children, self.project = about, path, children, project
        self.session = SessionBuilder(log, string(about.get("sessionId")) or path.stem)
        self.agent = "gemini-cli"
        self.cancelled = 0
        self.ids: set[str] = set()
        self.messages: set[str] = set()

    def message(self, record: Record, ref: Ref, number: int, *, live: bool) -> None:
        session, calls, kind = self.session, record.tool_calls, kind_of(record)
        at = epoch_seconds(record.timestamp)
        session.live = live
        first = session.log.seq + 1
        tokens = self._count(record, kind, at) if live else None
        if kind == "tool_result":
            responses = (mapping(part.get("functionResponse")) for part in mappings(record.content))
            if {
                string(response.get("id")) for response in responses
            } <= self.ids:  # the calls have the results
                session.event("progress", "", ref, at, type="functionResponse", key=record.id)
                return
        add_events(session, record, kind, at, ref)
        for position, recorded in enumerate(calls):
            native = recorded.id
            id_ = native if native and native not in self.ids else f"{native or 'call'}#{number}.{position}"
            self.ids.add(id_)
            if child := recorded.agent_id:
                self.children.setdefault(child, id_)
            add_call(session, recorded, id_, at, ref)
        if tokens is not None:
            cached, counted = tokens.cached, tokens.input
            used = Tokens(max(counted - cached, 0), cached, None, tokens.output, tokens.thoughts)
            session.request(used, ref, first, id=record.id, model=record.model, at=at)

    def _count(self, record: Record, kind: EventKind | None, at: float | None) -> TokenCounts | None:
        """Adds a live message to the session's totals; returns its tokens, which count once for each id."""
        session, tokens = self.session, record.tokens
        session.records += 1
        session.turn += kind == "user"
        session.see(at, record.model)
        if kind is None:
            session.flags["unknown_records"] = None
        if record.type == "qwen":  # the first versions of Qwen Code wrote this format
            self.agent = "qwen-code"
        for call in record.tool_calls:
            self.cancelled += call.status == "cancelled"
        key = record.number or record.id
        if key in self.messages:
            return None
        self.messages.add(key)
        if tokens is not None:
            session.spend(asdict(tokens))
        return tokens

    def end(self, parent: str, ref: Ref) -> None:
        started_by = self.children.get(self.session.id) or self.children.get(self.path.stem, "")
        self.session.end(
            agent=self.agent,
            parent=parent,
            parent_call=started_by if parent else "",
            title=string(self.about.get("summary")),
            cwd=next(map(string, items(self.about.get("directories"))), "") or self.project,
            counts={"cancelled": self.cancelled},
            ref=ref,
        )
