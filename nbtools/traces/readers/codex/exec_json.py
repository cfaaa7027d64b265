"""Reader of the output of ``codex exec --json``: items that start, change and end, without times.

An item's id is unique within its run; a run begins with ``thread.started``.  The usage of a turn covers the whole run so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.result import CommandOutput, TodoItem, TodoList
from nbtools.traces.model import (
    PREVIEW,
    Call,
    Detail,
    Event,
    EventKind,
    Op,
    Origin,
    Problem,
    Ref,
    Row,
    Session,
    Status,
    StatusSource,
    Tokens,
)
from nbtools.traces.reader import Head
from nbtools.traces.readers.codex import detail as codex_detail
from nbtools.traces.readers.codex.call_text import command_of, subject_of
from nbtools.traces.readers.codex.records import changes_by_path, object_of, string_of, text_of
from nbtools.traces.source import Source

_LINE = re.compile(rb'^\s*\{"type"\s*:\s*"(?:thread\.started|turn\.started|item\.(?:started|updated|completed))"', re.MULTILINE)
_OPS: dict[str, Op] = {
    "command_execution": "shell",
    "file_change": "patch",
    "mcp_tool_call": "mcp",
    "collab_tool_call": "agent",
    "web_search": "web_search",
    "todo_list": "plan",
}
_TEXTS: dict[str, tuple[EventKind, str]] = {
    "agent_message": ("assistant_text", "assistant"),
    "reasoning": ("thinking", "assistant"),
    "plan": ("assistant_text", "assistant"),
    "error": ("error", ""),
}
_STATUS: dict[str, Status] = {"completed": "ok", "failed": "error", "declined": "denied", "in_progress": "unanswered"}


class _Line(msgspec.Struct):
    type: Any = ""
    item: Any = None
    thread_id: Any = None
    usage: Any = None
    message: Any = None
    error: Any = None


class CodexExec:
    """Reads the output of ``codex exec --json``."""

    name = "codex-exec"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        return head.is_json and _LINE.search(head.start) is not None

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        reading = _RunReader(origin, source.path.stem)
        for item in source.lines(msgspec.json.Decoder(_Line).decode):
            if isinstance(item, Problem):
                reading.malformed = True
                yield item
            else:
                yield from reading.line(*item)
        yield from reading.finish()

    def detail(self, source: Source, call: Call) -> Detail:
        started = object_of(object_of(source.record(call.ref)).get("item"))
        item = {**started, **object_of(object_of(source.record(call.result_ref)).get("item"))} if call.answered else started
        diffs = codex_detail.recorded_diffs(changes_by_path(item.get("changes")))
        output = string_of(item.get("aggregated_output"))
        result = output or text_of(object_of(item.get("result")).get("content")) or string_of(object_of(item.get("error")).get("message"))
        display: Any = result
        if call.op == "shell":
            display = CommandOutput(output, len(output.splitlines()), call.exit_code)
        elif call.op == "plan" and isinstance(item.get("items"), list):
            steps = [object_of(one) for one in item["items"]]
            display = TodoList(
                tuple(TodoItem(string_of(one.get("text")), "completed" if one.get("completed") else "pending") for one in steps)
            )
        elif diffs:
            display = codex_detail.display(diffs)
        arguments = object_of(item.get("arguments")) or {
            key: item[key] for key in ("command", "changes", "query", "prompt", "items") if key in item
        }
        return Detail(
            args=arguments,
            result=result,
            display=display,
            command=command_of(item),
            stdout=output if call.op == "shell" else "",
            changes=diffs,
        )


class _RunReader:
    def __init__(self, origin: Origin, otherwise: str) -> None:
        self.origin, self.otherwise = origin, otherwise
        self.thread = ""
        self.run = self.turn = self.seq = self.records = 0
        self.open: dict[str, tuple[int, Ref, dict[str, Any]]] = {}
        self.usage: dict[str, int] = {}
        self.malformed = False

    def line(self, ref: Ref, line: _Line) -> Iterator[Row]:
        kind, item = string_of(line.type), object_of(line.item)
        if kind == "thread.started":
            yield from self._begin(string_of(line.thread_id))
        self.records += 1
        if kind == "turn.started":
            self.turn += 1
        if kind == "turn.completed":
            self._add_usage(object_of(line.usage))
        if kind.startswith("item.") and string_of(item.get("type")) in _OPS:
            yield from self._item(kind, item, ref)
        elif kind == "item.completed":
            yield self._text(item, ref)
        elif kind in ("error", "turn.failed"):
            yield self._event("error", ref, kind, string_of(line.message) or string_of(object_of(line.error).get("message")))
        else:
            yield self._event("progress", ref, kind)

    def finish(self) -> Iterator[Row]:
        for name in [*self.open]:
            yield from self._emit(name)
        native = {
            name: self.usage[key]
            for key, name in (("input_tokens", "input"), ("cached_input_tokens", "cache_read"), ("output_tokens", "output"))
            if key in self.usage
        }
        cached = native.get("cache_read")
        yield Session(
            id=self.thread or self.otherwise,
            format="codex-exec",
            agent="codex",
            records=self.records,
            tokens=Tokens(
                input=max(0, native["input"] - (cached or 0)) if "input" in native else None,
                cache_read=cached,
                output=native.get("output"),
            ),
            native_tokens=native,
            flags=("malformed",) if self.malformed else (),
        )

    def _begin(self, thread: str) -> Iterator[Row]:
        """Begins a run; a file may contain several."""
        if self.thread and thread != self.thread:
            yield from self.finish()
            self.records, self.usage = 0, {}
        else:
            for name in [*self.open]:
                yield from self._emit(name)
        self.run += 1
        self.thread = thread or self.thread

    def _item(self, kind: str, item: dict[str, Any], ref: Ref) -> Iterator[Row]:
        name = string_of(item.get("id")) or f"item.{self.seq}"
        if name not in self.open:
            self.open[name] = (self._next(), ref, item)
        if kind == "item.completed":
            yield from self._emit(name, item, ref)

    def _emit(self, name: str, end_item: dict[str, Any] | None = None, ref: Ref | None = None) -> Iterator[Row]:
        seq, start_ref, item = self.open.pop(name)
        item = item if end_item is None else {**item, **end_item}
        op = _OPS[string_of(item.get("type"))]
        code = item.get("exit_code") if isinstance(item.get("exit_code"), int) else None
        status, source = _status(item, code) if end_item is not None else ("unanswered", "none")
        paths = tuple(changes_by_path(item.get("changes")))
        call = Call(
            session=self.thread or self.otherwise,
            id=name if self.run <= 1 else f"{self.run}.{name}",
            seq=seq,
            name=string_of(item.get("tool")) or string_of(item.get("type")),
            op=op,
            origin=self.origin,
            native_id=name,
            subject=(", ".join(paths) or subject_of({**object_of(item.get("arguments")), **item}, ""))[:PREVIEW] if op != "plan" else "",
            paths=paths,
            status=status,
            status_source=source,
            exit_code=code,
            answered=end_item is not None,
            result_size=len(string_of(item.get("aggregated_output"))),
            child=next((one for one in item.get("receiver_thread_ids") or () if isinstance(one, str)), ""),
            turn=self.turn,
            ref=start_ref,
            result_ref=ref or Ref(0, 0),
        )
        yield call
        yield from codex_detail.recorded_changes(call.session, call.id, changes_by_path(item.get("changes")), applied=status == "ok")

    def _text(self, item: dict[str, Any], ref: Ref) -> Event:
        kind, role = _TEXTS.get(string_of(item.get("type")), ("system", ""))
        return self._event(kind, ref, string_of(item.get("type")), string_of(item.get("text")) or string_of(item.get("message")), role)

    def _event(self, kind: EventKind, ref: Ref, type_: str, text: str = "", role: str = "") -> Event:
        session = self.thread or self.otherwise
        return Event(
            session=session,
            seq=self._next(),
            kind=kind,
            text=text[:PREVIEW],
            size=len(text),
            role=role,
            turn=self.turn,
            type=type_,
            ref=ref,
        )

    def _add_usage(self, usage: dict[str, Any]) -> None:
        for key, count in usage.items():
            if isinstance(count, int) and not isinstance(count, bool):
                self.usage[key] = max(count, self.usage.get(key, 0))

    def _next(self) -> int:
        self.seq += 1
        return self.seq - 1


def _status(item: dict[str, Any], code: int | None) -> tuple[Status, StatusSource]:
    if code:
        return ("denied", "flag") if item.get("status") == "declined" else ("error", "exit_code")
    if item.get("error"):
        return "error", "flag"
    status = item.get("status")
    return (_STATUS.get(status, "unknown"), "flag") if isinstance(status, str) else ("ok", "flag")
