"""Collects the records of a rollout's calls and emits each call once it is complete.

Calls are made by the model, by a script that it wrote, or by the person.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from nbtools.traces.model import NOWHERE, PREVIEW, Call, FileChange, Op, Origin, Ref, Status, StatusSource
from nbtools.traces.readers.codex import detail
from nbtools.traces.readers.codex.call_text import (
    Outcome,
    arguments_of,
    calls_in,
    command_of,
    op_of,
    outcome_of,
    patch_of,
    paths_of,
    subject_of,
)
from nbtools.traces.readers.codex.records import Payload, completed_event, object_of, string_of, text_of
from nbtools.traces.readers.codex.row_emitter import RowEmitter

_BILLION = 1e9


class PendingCall(msgspec.Struct, gc=False):
    """A call that is not complete: what the model requested, then what events and the output add."""

    session: str
    id: str
    seq: int
    name: str
    op: Op
    ref: Ref
    native: str = ""
    level: Literal["model", "nested"] = "model"
    parent: str = ""
    subject: str = ""
    paths: tuple[str, ...] = ()
    patch: str = ""
    script: str = ""
    at: float | None = None
    ended: float | None = None
    duration: float | None = None
    permission: str = ""
    child: str = ""
    turn: int = 0
    live: bool = True
    counted: bool = True
    outcome: Outcome | None = None
    result_ref: Ref = NOWHERE
    failure_source: StatusSource | None = None
    success_source: StatusSource | None = None
    stopped: Status | None = None
    exit_code: int | None = None
    changed: list[FileChange] | None = None
    script_calls: tuple[PendingCall, ...] = ()
    """The calls that its script names."""
    recorded_ops: frozenset[Op] = frozenset()
    """Operations of calls within it that have events of their own, which are the better record."""

    def set_arguments(self, arguments: dict[str, Any], name: str, namespace: str = "") -> None:
        self.name = name
        if name == "exec_command" and isinstance(command := arguments.get("cmd"), str):
            self.op, self.subject = "shell", command[:PREVIEW]
        else:
            self._parse_arguments(arguments, namespace)
        if arguments.get("sandbox_permissions") == "require_escalated" or arguments.get("with_escalated_permissions") is True:
            self.permission = f"{self.permission}; escalation asked".lstrip("; ")

    def _parse_arguments(self, arguments: dict[str, Any], namespace: str) -> None:
        name = self.name
        self.op = op_of(name, namespace)
        self.patch = patch_of(name, arguments)
        self.op = "patch" if self.patch else self.op
        self.subject = subject_of(arguments, self.patch)
        self.paths = paths_of(name, arguments, self.patch)
        self.script = string_of(arguments.get("input")) if name == "exec" else ""

    def set_result(self, outcome: Outcome, at: float | None, ref: Ref) -> None:
        self.outcome, self.ended, self.result_ref = outcome, at, ref
        self.child = outcome.child or self.child

    def add_end(self, payload: Payload) -> None:
        """Adds an event about the end of the call, by the event's type."""
        if self.duration is None:
            self.duration = _seconds(payload.duration)
        kind = payload.type
        if kind == "exec_command_end":
            self._command_ended(payload)
        elif kind == "patch_apply_end":
            self._set_outcome("flag", good=bool(payload.success))
            self.changed = [
                *(self.changed or ()),
                *detail.recorded_changes(self.session, self.id, payload.changes, applied=bool(payload.success)),
            ]
        elif kind == "mcp_tool_call_end":
            answer = _answer(payload.result)
            self._set_outcome("flag", good=None if answer is None else answer.Err is msgspec.UNSET)
            if answer is not None and answer.Ok is not None and answer.Ok.isError is True:
                self.success_source, self.stopped = None, "unknown"
        elif kind == "dynamic_tool_call_response":
            self._set_outcome("flag", good=payload.success if isinstance(payload.success, bool) else None)
        self.child = string_of(payload.new_thread_id) or self.child

    def _command_ended(self, payload: Payload) -> None:
        code = payload.exit_code
        if isinstance(code, int) and not isinstance(code, bool):
            self.exit_code = code
        if payload.status == "declined":
            self.stopped = "denied"
        self._set_outcome("exit_code", good=None if code is None else code == 0)
        if isinstance(payload.parsed_cmd, list) and not self.paths:
            self.paths = tuple(path for one in payload.parsed_cmd if (path := string_of(object_of(one).get("path"))))

    def _set_outcome(self, source: StatusSource, *, good: bool | None) -> None:
        if good is False:
            self.failure_source = source
        elif good is True:
            self.success_source = source

    @property
    def is_complete(self) -> bool:
        """Whether no later record is expected."""
        return self.outcome is not None and (
            self.failure_source is not None or self.success_source is not None or self.name == "update_plan"
        )

    def status(self) -> tuple[Status, StatusSource]:
        """Returns the status and its source.  Events take precedence over texts, failures over successes."""
        found = self.outcome
        if self.failure_source or (found is not None and found.failed):
            return "error", self.failure_source or (found.source if found is not None else "none")
        if found is not None and found.stopped:
            return found.stopped, "text"
        if self.stopped and (found is None or self.stopped != "interrupted"):
            return self.stopped, "flag"
        if self.success_source:
            return "ok", self.success_source
        if found is None:
            return "unanswered", "none"
        return ("unknown", "text") if found.running else ("ok", found.source)

    def rows(self, origin: Origin) -> list[Call | FileChange]:
        status, source = self.status()
        found = self.outcome or _NO_OUTCOME
        call = Call(  # positional arguments are ten times as fast as keywords
            self.session,
            self.id,
            self.seq,
            self.name,
            self.op,
            origin,
            self.native,
            self.level,
            self.parent,
            self.subject,
            self.paths,
            self.at,
            self.ended,
            found.duration if self.duration is None else self.duration,
            status,
            source,
            found.exit_code if self.exit_code is None else self.exit_code,
            self.outcome is not None,
            found.size,
            self.permission,
            self.child,
            self.turn,
            self.live,
            self.counted,
            self.ref,
            self.result_ref,
        )
        if self.changed is not None:
            return [call, *self.changed]
        if self.patch and self.level == "model":
            applied = self.outcome is not None and status in ("ok", "unknown")
            return [call, *detail.intended_changes(self.session, self.id, self.patch, applied=applied)]
        return [call]


_NO_OUTCOME = Outcome()


def describe_nested(pending: PendingCall, payload: Payload) -> None:
    """Fills in a call of which only the end is recorded."""
    kind = payload.type
    pending.level = "nested"
    if kind == "patch_apply_end":
        pending.name, pending.op = "apply_patch", "patch"
        pending.paths = tuple(object_of(payload.changes))
        pending.subject = ", ".join(pending.paths)[:PREVIEW]
    elif kind == "mcp_tool_call_end":
        invocation = object_of(payload.invocation)
        pending.set_arguments(object_of(invocation.get("arguments")), string_of(invocation.get("tool")) or "?")
        pending.name, pending.op = f"mcp__{string_of(invocation.get('server'))}__{pending.name}", "mcp"
    elif kind == "dynamic_tool_call_response":
        pending.set_arguments(object_of(payload.arguments), string_of(payload.tool) or "?")
    else:
        pending.name, pending.op = "exec_command", "shell"
        pending.subject = command_of({"command": payload.command})[:PREVIEW]


class _Ok(msgspec.Struct):
    isError: Any = None  # noqa: N815 - as MCP names it


class _Answer(msgspec.Struct):
    Ok: _Ok | None = None
    Err: Any = msgspec.UNSET


_decode_answer = msgspec.json.Decoder(_Answer).decode


def _answer(result: msgspec.Raw) -> _Answer | None:
    """Decodes the result of an MCP server; None if the record has none."""
    try:
        return _decode_answer(result)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _seconds(duration: Any) -> float | None:
    if isinstance(duration, dict):
        whole, nanos = duration.get("secs"), duration.get("nanos")
        if isinstance(whole, int) and isinstance(nanos, int) and abs(whole) < _BILLION:
            return whole + nanos / _BILLION
    return None


HOSTED_ITEMS = {"web_search_call", "image_generation_call", "tool_search_call", "mcp_call", "code_interpreter_call", "file_search_call"}
"""Calls that the provider runs: there is no id to link a result by, and counting rules leave them out."""
CALL_ITEMS = {"function_call", "custom_tool_call", "local_shell_call"}
OUTPUT_ITEMS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output", "mcp_tool_call_output"}
END_EVENTS = {"exec_command_end", "patch_apply_end", "mcp_tool_call_end", "dynamic_tool_call_response"}


class Calls:
    """The calls of a rollout.  ``open`` are those that later records may add to; ``hosted`` counts the provider's searches."""

    def __init__(self, rows: RowEmitter) -> None:
        self.rows = rows
        self.open: dict[str, PendingCall] = {}
        self.hosted = 0
        self._known: set[str] = set()
        self._early: dict[str, tuple[Outcome, float | None, Ref]] = {}
        self._script: PendingCall | None = None

    def on_call(self, payload: Payload, at: float | None, ref: Ref) -> None:
        native = string_of(payload.call_id) or (string_of(payload.id) if payload.type == "local_shell_call" else "")
        name = string_of(payload.name) or ("local_shell" if payload.type == "local_shell_call" else "?")
        earlier = self.open.get(native)
        if native in self._known and (earlier is None or earlier.level == "model"):
            self.rows.event("tool_call", payload.type, at, ref, name)
            return
        pending = earlier if earlier is not None else self._pending(native, at, ref)
        if earlier is not None:
            pending.level, pending.parent, pending.at, pending.ref, pending.outcome = "model", "", at, ref, None
        if native in self._early:
            pending.set_result(*self._early.pop(native))
        pending.set_arguments(arguments_of(payload), name, string_of(payload.namespace))
        if pending.script:
            self._script = pending
            self._add_script_calls(pending)

    def _pending(self, native: str, at: float | None, ref: Ref) -> PendingCall:
        rows = self.rows
        seq = rows.next()
        pending = PendingCall(rows.session.id, native or f"call.{seq}", seq, "?", "other", ref, native, at=at, permission=rows.permission)
        pending.turn, pending.live = rows.turn, rows.live
        self.open[pending.id] = pending
        self._known.add(pending.id)
        return pending

    def _add_script_calls(self, script: PendingCall) -> None:
        """Adds the calls that a script names, for those without events."""
        written: list[PendingCall] = []
        for number, named in enumerate(calls_in(script.script)):
            seq = self.rows.next()
            one = PendingCall(script.session, f"{script.id}.{number}", seq, named.name, "other", script.ref)
            one.set_arguments({"input": named.quoted[0]} if named.quoted else {"arguments": named.arguments}, named.name)
            one.level, one.parent, one.turn, one.live, one.script = "nested", script.id, script.turn, script.live, ""
            written.append(one)
        script.script, script.script_calls = "", tuple(written)

    def on_output(self, payload: Payload, at: float | None, ref: Ref) -> None:
        native = string_of(payload.call_id)
        pending = self.open.get(native)
        result = outcome_of(payload.output)
        if result.cut:
            self.rows.session.flags["truncated"] = None
        if pending is None or pending.level == "nested":
            if pending is not None or native not in self._known:
                self._early[native] = (result, at, ref)
            self.rows.event("tool_result", payload.type, at, ref, text_of(payload.output), "tool")
            return
        if pending.outcome is None or (result.failed and not pending.outcome.failed):
            pending.set_result(result, at, ref)
        if pending.is_complete and pending is not self._script:
            self._emit(pending)

    def on_end(self, payload: Payload, at: float | None, ref: Ref) -> None:
        native = string_of(payload.call_id)
        self.rows.progress(payload, at, ref)
        pending = self.open.get(native)
        if pending is None and native in self._known:
            return
        if pending is None:
            pending = self._add_nested(native, payload, at, ref)
        pending.add_end(payload)
        if pending.is_complete and pending is not self._script and pending.level == "model":
            self._emit(pending)

    def _add_nested(self, native: str, payload: Payload, at: float | None, ref: Ref) -> PendingCall:
        """Adds a call that the model did not make itself: its script did, or the person."""
        pending = self._pending(native, None, ref)
        describe_nested(pending, payload)
        pending.outcome, pending.ended, pending.result_ref = Outcome(), at, ref
        if payload.source == "user_shell":
            pending.permission = "user"
        elif self._script is not None:
            pending.parent = self._script.id
            self._script.recorded_ops |= {pending.op}
        return pending

    def on_item_completed(self, payload: Payload, at: float | None, ref: Ref) -> None:
        """Handles an ``item_completed`` event, in which later logs record the ends of calls."""
        end = completed_event(object_of(payload.item))
        if end is None:
            self.rows.event("progress", "item_completed", at, ref, string_of(object_of(payload.item).get("type")))
        else:
            self.on_end(end, at, ref)

    def on_hosted_call(self, payload: Payload, at: float | None, ref: Ref) -> None:
        kind = payload.type
        self.hosted += kind == "web_search_call"
        pending = self._pending(string_of(payload.call_id), at, ref)
        pending.set_arguments(arguments_of(payload), kind)
        pending.counted = False
        if payload.status is not None and pending.native == "":
            pending.outcome, pending.result_ref = Outcome(), ref
            pending.success_source, pending.failure_source = ("flag", None) if payload.status == "completed" else (None, "flag")
            self._emit(pending)

    def on_spawn(self, payload: Payload, at: float | None, ref: Ref) -> None:
        if (pending := self.open.get(string_of(payload.call_id))) is not None:
            pending.child = string_of(payload.new_thread_id) or pending.child
        self.rows.progress(payload, at, ref)

    def on_abort(self) -> None:
        for pending in self.open.values():
            if pending.outcome is None and not pending.stopped:
                pending.stopped = "interrupted"

    def flush(self, *, everything: bool = False) -> None:
        """Emits calls at the end of a turn: those with results are complete, unless a command is still running."""
        for pending in [*self.open.values()]:
            if everything or (pending.outcome is not None and not pending.outcome.running):
                self._emit(pending)
        if self._script is not None and self._script.id not in self.open:
            self._script = None

    def _emit(self, pending: PendingCall) -> None:
        del self.open[pending.id]
        self.rows.out += pending.rows(self.rows.origin)
        for one in pending.script_calls:
            if one.op not in pending.recorded_ops:
                self.rows.out += one.rows(self.rows.origin)
