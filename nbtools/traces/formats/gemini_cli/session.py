"""Sessions of Gemini CLI: ``chats/session-*.json``, a document, or ``.jsonl``, a log of changes; sub-agents in a folder beside it.

Call and result are one object.  ``input`` of its tokens has what was cached.  Diffs stand in ``resultDisplay``, where it was not taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.format import Head, is_qwen_code
from nbtools.traces.formats.gemini_cli.fold import Fold
from nbtools.traces.formats.gemini_cli.messages import Place, call_of, events_of, kind_of
from nbtools.traces.formats.gemini_cli.results import detail_of
from nbtools.traces.loose import items, mapping, mappings, string, whole
from nbtools.traces.model import Call, Detail, Origin, Ref, Row, Session, Tokens
from nbtools.traces.source import Source
from nbtools.traces.stamps import seconds

_TYPES = {"user", "gemini", "info", "error", "warning"}
_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\/]+)"')
_TOKENS = ("input", "output", "cached", "thoughts", "tool", "total")
_START = 64 << 10


class GeminiCli:
    name = "gemini-cli"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        first = head.first
        if is_qwen_code(head):
            return False
        if not isinstance(first, dict):
            return head.has("sessionId", "projectHash") and not head.has("parentUuid")
        message = string(first.get("type")) in _TYPES and {"id", "timestamp", "content"} <= first.keys() and "message" not in first
        return {"sessionId", "projectHash"} <= first.keys() or "$set" in first or "$rewindTo" in first or message

    def files(self, path: Path) -> Sequence[Path]:
        """Sub-agents' sessions stand in a folder that has the session's id for its name."""
        with path.open("rb") as opened:
            found = _ID.search(opened.read(_START))
        folder = path.parent / found[1].decode("utf-8", "replace") if found else path
        return sorted(child for child in folder.iterdir() if child.suffix in {".json", ".jsonl"}) if found and folder.is_dir() else []

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        main = ""
        children: dict[str, str] = {}
        for file, path in enumerate(source.files):
            fold = Fold()
            yield from fold.read(source, file)
            reading = _Reading(origin, fold.session, path, file, main, children)
            main = main or reading.id
            for number, (kept, record) in enumerate(fold.messages(source, file)):
                yield from reading.message(record, kept.ref, number, live=kept.live)
            yield reading.session()

    def detail(self, source: Source, call: Call) -> Detail:
        calls = mappings(mapping(source.record(call.ref)).get("toolCalls"))
        if call.native_id:
            mine = [recorded for recorded in calls if recorded.get("id") == call.native_id]
        else:
            mine = calls[int(call.id.rpartition(".")[2]) :]
        if not mine:
            raise TraceError(f"{source.path} has changed since it was read; load it again.")
        return detail_of(mine[0])


class _Reading:
    """A file's messages on their way into rows.  ``children`` are the calls that started sub-agents, by the sub-agent's id."""

    def __init__(self, origin: Origin, about: Mapping[str, Any], path: Path, file: int, main: str, children: dict[str, str]) -> None:
        self.origin, self.about = origin, about
        self.id = string(about.get("sessionId")) or path.stem
        self.path, self.file, self.main, self.children = path, file, main, children
        self.next = count().__next__
        self.turn = self.records = self.cancelled = 0
        self.first: float | None = None
        self.last: float | None = None
        self.models: dict[str, None] = {}
        self.unknown = False
        self.native: dict[str, int] = {}
        self.ids: set[str] = set()
        self.messages: set[str] = set()

    def message(self, record: Mapping[str, Any], ref: Ref, number: int, *, live: bool) -> Iterator[Row]:
        at, calls = seconds(record.get("timestamp")), mappings(record.get("toolCalls"))
        if live:
            self._counted(record, calls, at)
        place = Place(self.id, self.turn, live, at, ref)
        yield from events_of(record, place, self.next, silent=bool(calls))
        for position, recorded in enumerate(calls):
            id_ = self._unique(string(recorded.get("id")), number, position)
            if child := string(recorded.get("agentId")):
                self.children.setdefault(child, id_)
            yield from call_of(recorded, id_, place, self.next(), self.origin)

    def _unique(self, native: str, message: int, position: int) -> str:
        named = native if native and native not in self.ids else f"{native or 'call'}#{message}.{position}"
        self.ids.add(named)
        return named

    def _counted(self, record: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], at: float | None) -> None:
        """Of what was dropped nothing counts; tokens count once for an id."""
        kind, model, given = kind_of(record), string(record.get("model")), record.get("tokens")
        self.records += 1
        self.turn += kind == "user"
        self.unknown |= kind is None
        self.cancelled += sum(call.get("status") == "cancelled" for call in calls)
        if at is not None:
            self.first = at if self.first is None else min(self.first, at)
            self.last = at if self.last is None else max(self.last, at)
        if model:
            self.models[model] = None
        key = id_ if isinstance(id_ := record.get("id"), str) else repr(id_)
        if isinstance(given, dict) and key not in self.messages:
            for name in _TOKENS:
                self.native[name] = self.native.get(name, 0) + (whole(given.get(name)) or 0)
        self.messages.add(key)

    def session(self) -> Session:
        native = self.native
        parent = self.main if self.file else ""
        return Session(
            id=self.id,
            format="gemini-cli",
            agent="gemini-cli",
            parent=parent,
            parent_call=self.children.get(self.id) or self.children.get(self.path.stem, "") if parent else "",
            title=string(self.about.get("summary")),
            cwd=next(map(string, items(self.about.get("directories"))), ""),
            models=tuple(self.models),
            started=self.first,
            ended=self.last,
            records=self.records,
            tokens=Tokens(
                input=native["input"] - native["cached"],
                cache_read=native["cached"],
                output=native["output"],
                reasoning=native["thoughts"],
            )
            if native
            else Tokens(),
            native_tokens=native,
            flags=("unknown_records",) if self.unknown else (),
            counts={"cancelled": self.cancelled},
            ref=Ref(0, _size(self.path), 0, self.file),
        )


def _size(path: Path) -> int:
    return path.stat().st_size
