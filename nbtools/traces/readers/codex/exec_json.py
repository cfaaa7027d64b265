"""Reader of the output of ``codex exec --json``: items that start, change and end, without times.

An item's id is unique within its run; a run begins with ``thread.started``.
The usage of a turn covers the whole run so far.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from nbtools.core.decoders import decoder_of
from nbtools.core.result import CommandOutput
from nbtools.traces.conversation import tokens_of
from nbtools.traces.display_builders import diff_display, todo_list
from nbtools.traces.json_access import first_string, mapping, string
from nbtools.traces.line_reading import LineReading
from nbtools.traces.model import (
    NOWHERE,
    PREVIEW,
    Call,
    Detail,
    EventKind,
    Op,
    Origin,
    Problem,
    Ref,
    Status,
    StatusSource,
)
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.codex import detail as codex_detail
from nbtools.traces.readers.codex.call_text import command_of, subject_of
from nbtools.traces.readers.codex.records import changes_by_path, text_of
from nbtools.traces.session_builder import LogBuilder, SessionBuilder
from nbtools.traces.source import Source
from nbtools.traces.usage.requests import tokens_between

_LINE = re.compile(
    rb'^\s*\{"type"\s*:\s*"(?:thread\.started|turn\.started|item\.(?:started|updated|completed))"',
    re.MULTILINE,
)
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
_STATUS: dict[str, Status] = {
    "completed": "ok",
    "failed": "error",
    "declined": "denied",
    "in_progress": "unanswered",
}


class _Line(msgspec.Struct):
    type: Any = ""
    item: Any = None
    thread_id: Any = None
    usage: Any = None
    message: Any = None
    error: Any = None


class CodexExec(Format):
    """Reads the output of ``codex exec --json``."""

    name = "codex-exec"

    def recognises(self, head: Head) -> bool:
        return head.is_json and _LINE.search(head.start) is not None

    def begin(self, source: Source, origin: Origin) -> LineReading:
        log = LogBuilder(self.name, origin)
        reading = _RunReader(log, source.path.stem)
        return LineReading(log.rows, decoder_of(_Line).decode, reading.line, reading.end, reading.problem)

    def detail(self, source: Source, call: Call) -> Detail:
        item = mapping(mapping(source.record(call.ref)).get("item"))
        if call.answered:
            item = {**item, **mapping(mapping(source.record(call.result_ref)).get("item"))}
        diffs = codex_detail.recorded_diffs(changes_by_path(item.get("changes")))
        output = string(item.get("aggregated_output"))
        result = output or text_of(mapping(item.get("result")).get("content"))
        result = result or string(mapping(item.get("error")).get("message"))
        display: Any = result
        if call.op == "shell":
            display = CommandOutput(output, len(output.splitlines()), call.exit_code)
        elif call.op == "plan" and isinstance(item.get("items"), list):
            steps = map(mapping, item["items"])
            display = todo_list(
                {**one, "status": "completed" if one.get("completed") else "pending"} for one in steps
            )
        elif diffs:
            display = diff_display(diffs, "")
        arguments = mapping(item.get("arguments")) or {
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


_NAMES = {"input_tokens": "input", "cached_input_tokens": "cache_read", "output_tokens": "output"}


class _RunReader:
    """Adds the items of runs. ``open`` are the calls that have not ended, with the items that began them."""

    def __init__(self, log: LogBuilder, name: str) -> None:
        self.log, self.name = log, name
        self.session = SessionBuilder(log, name)
        self.thread = ""
        self.run = 0
        self.open: dict[str, tuple[Call, Mapping[str, Any]]] = {}
        self.usage: dict[str, int] = {}
        self.turn_start = 0
        self.malformed = False

    def line(self, line: _Line, ref: Ref) -> None:
        kind, item = string(line.type), mapping(line.item)
        if kind == "thread.started":
            self._begin(string(line.thread_id))
        session = self.session
        session.records += 1
        if kind == "turn.started":
            session.turn += 1
            self.turn_start = self.log.seq + 1
        if kind == "turn.completed":
            self._turn_completed(mapping(line.usage), ref)
        type_ = string(item.get("type"))
        if kind.startswith("item.") and type_ in _OPS:
            self._item(kind, item, ref)
        elif kind == "item.completed":
            event, role = _TEXTS.get(type_, ("system", ""))
            text = first_string(item, ("text", "message"))
            session.event(event, text, ref, role=role, type=type_)
        elif kind in ("error", "turn.failed"):
            text = string(line.message) or string(mapping(line.error).get("message"))
            session.event("error", text, ref, type=kind)
        else:
            session.event("progress", "", ref, type=kind)

    def _turn_completed(self, usage: Mapping[str, Any], ref: Ref) -> None:
        before = tokens_of(self._native())
        for key, count in usage.items():
            if isinstance(count, int) and not isinstance(count, bool):
                self.usage[key] = max(count, self.usage.get(key, 0))
        grown = tokens_between(before, tokens_of(self._native()))
        self.session.request(grown, ref, self.turn_start, scope="turn")

    def _native(self) -> dict[str, int]:
        return {name: self.usage[key] for key, name in _NAMES.items() if key in self.usage}

    def problem(self, _: Problem) -> None:
        self.malformed = True

    def end(self) -> None:
        opened = dict(self.open)
        self._add_open()
        self.open = opened
        native = self._native()
        flags = ("malformed",) if self.malformed else ()
        self.session.end(agent="codex", tokens=tokens_of(native), native_tokens=native, flags=flags)

    def _begin(self, thread: str) -> None:
        """Begins a run; a file may contain several."""
        if self.thread and thread != self.thread:
            self.end()
            self.open.clear()
            self.session.records, self.usage, self.session.requests = 0, {}, []
        else:
            self._add_open()
        self.run += 1
        self.thread = thread or self.thread
        self.session.id = self.thread or self.name

    def _item(self, kind: str, item: Mapping[str, Any], ref: Ref) -> None:
        name = string(item.get("id"))
        if name not in self.open:
            call = self.session.call("", "", ref, op=_OPS[string(item.get("type"))])
            name = name or f"item.{call.seq}"
            id_ = name if self.run <= 1 else f"{self.run}.{name}"
            self.open[name] = replace(call, id=id_, native_id=name), item
        if kind == "item.completed":
            self._add(name, item, ref)

    def _add_open(self) -> None:
        for name in [*self.open]:
            self._add(name)

    def _add(self, name: str, end_item: Mapping[str, Any] | None = None, ref: Ref = NOWHERE) -> None:
        call, item = self.open.pop(name)
        item = item if end_item is None else {**item, **end_item}
        op = _OPS[string(item.get("type"))]
        code = item.get("exit_code") if isinstance(item.get("exit_code"), int) else None
        status, source = _status(item, code) if end_item is not None else ("unanswered", "none")
        changes = changes_by_path(item.get("changes"))
        paths = tuple(changes)
        subject = ", ".join(paths) or subject_of({**mapping(item.get("arguments")), **item}, "")
        call = replace(
            call,
            session=self.session.id,
            name=string(item.get("tool")) or string(item.get("type")),
            op=op,
            subject=subject[:PREVIEW] if op != "plan" else "",
            paths=paths,
            status=status,
            status_source=source,
            exit_code=code,
            answered=end_item is not None,
            result_size=len(string(item.get("aggregated_output"))),
            child=next((one for one in item.get("receiver_thread_ids") or () if isinstance(one, str)), ""),
            turn=self.session.turn,
            result_ref=ref,
        )
        applied = status == "ok"
        found = codex_detail.recorded_changes(call.session, call.id, changes, applied=applied)
        self.session.complete(call, changes=found)


def _status(item: Mapping[str, Any], code: int | None) -> tuple[Status, StatusSource]:
    if code:
        return ("denied", "flag") if item.get("status") == "declined" else ("error", "exit_code")
    if item.get("error"):
        return "error", "flag"
    status = item.get("status")
    return (_STATUS.get(status, "unknown"), "flag") if isinstance(status, str) else ("ok", "flag")
