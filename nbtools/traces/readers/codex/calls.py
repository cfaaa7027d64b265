"""Collects the records of a rollout's calls and emits each call once it is complete.

Calls are made by the model, by a script that it wrote, or by the person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from nbtools.traces.json_access import mapping, names, string
from nbtools.traces.model import NOWHERE, PREVIEW, Call, FileChange, Op, Ref, Status, StatusSource
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
from nbtools.traces.readers.codex.records import Payload, completed_event, text_of
from nbtools.traces.session_builder import SessionBuilder

_BILLION = 1e9


class PendingCall(msgspec.Struct, gc=False):
    """An incomplete call: what the model requested (``call``), then what events and the output add."""

    call: Call
    patch: str = ""
    ended: float | None = None
    duration: float | None = None
    child: str = ""
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
            self.set_outcome("flag", good=bool(payload.success))
            applied = bool(payload.success)
            found = detail.recorded_changes(self.call.session, self.call.id, payload.changes, applied=applied)
            self.changed = [*(self.changed or ()), *found]
        elif kind == "mcp_tool_call_end":
            answer = _answer(payload.result)
            self.set_outcome("flag", good=None if answer is None else answer.Err is msgspec.UNSET)
            if answer is not None and answer.Ok is not None and answer.Ok.isError is True:
                self.success_source, self.stopped = None, "unknown"
        elif kind == "dynamic_tool_call_response":
            self.set_outcome("flag", good=payload.success if isinstance(payload.success, bool) else None)
        self.child = string(payload.new_thread_id) or self.child

    def _command_ended(self, payload: Payload) -> None:
        code = payload.exit_code
        if isinstance(code, int) and not isinstance(code, bool):
            self.exit_code = code
        if payload.status == "declined":
            self.stopped = "denied"
        self.set_outcome("exit_code", good=None if code is None else code == 0)
        if isinstance(payload.parsed_cmd, list) and not self.call.paths:
            paths = (string(mapping(one).get("path")) for one in payload.parsed_cmd)
            self.call = replace(self.call, paths=tuple(filter(None, paths)))

    def set_outcome(self, source: StatusSource, *, good: bool | None) -> None:
        if good is False:
            self.failure_source = source
        elif good is True:
            self.success_source = source

    @property
    def is_complete(self) -> bool:
        """Whether no later record is expected."""
        is_known = self.failure_source is not None or self.success_source is not None
        return self.outcome is not None and (is_known or self.call.name == "update_plan")

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

    def rows(self) -> Iterator[Call | FileChange]:
        status, source = self.status()
        found = self.outcome or _NO_OUTCOME
        call = replace(
            self.call,
            ended=self.ended,
            duration=found.duration if self.duration is None else self.duration,
            status=status,
            status_source=source,
            exit_code=found.exit_code if self.exit_code is None else self.exit_code,
            answered=self.outcome is not None,
            result_size=found.size,
            child=self.child,
            result_ref=self.result_ref,
        )
        yield call
        if self.changed is not None:
            yield from self.changed
        elif self.patch and call.level == "model":
            applied = self.outcome is not None and status in ("ok", "unknown")
            yield from detail.intended_changes(call.session, call.id, self.patch, applied=applied)


_NO_OUTCOME = Outcome()


class _Request(NamedTuple):
    """The tool that a record calls, and what it is called with."""

    name: str
    op: Op
    subject: str = ""
    paths: tuple[str, ...] = ()
    patch: str = ""
    escalated: bool = False


def _request(name: str, arguments: Mapping[str, Any], namespace: str = "") -> _Request:
    escalated = (
        arguments.get("sandbox_permissions") == "require_escalated"
        or arguments.get("with_escalated_permissions") is True
    )
    if name == "exec_command" and isinstance(command := arguments.get("cmd"), str):
        return _Request(name, "shell", command, (), "", escalated)
    patch = patch_of(name, arguments)
    op = "patch" if patch else op_of(name, namespace)
    subject, paths = subject_of(arguments, patch), paths_of(name, arguments, patch)
    return _Request(name, op, subject, paths, patch, escalated)


def _nested_request(payload: Payload) -> _Request:
    """Returns what was called, for a call of which only the end is recorded."""
    kind = payload.type
    if kind == "patch_apply_end":
        paths = tuple(mapping(payload.changes))
        return _Request("apply_patch", "patch", ", ".join(paths), paths)
    if kind == "mcp_tool_call_end":
        invocation = mapping(payload.invocation)
        tool = _request(string(invocation.get("tool")) or "?", mapping(invocation.get("arguments")))
        return tool._replace(name=f"mcp__{string(invocation.get('server'))}__{tool.name}", op="mcp")
    if kind == "dynamic_tool_call_response":
        return _request(string(payload.tool) or "?", mapping(payload.arguments))
    return _Request("exec_command", "shell", command_of({"command": payload.command}))


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


HOSTED_ITEMS = names(
    "web_search_call image_generation_call tool_search_call mcp_call code_interpreter_call file_search_call"
)
"""Calls that the provider runs: there is no id to link a result by, and counting rules leave them out.
A search for tools may have one.
"""
CALL_ITEMS = names("function_call custom_tool_call local_shell_call")
OUTPUT_ITEMS = names(
    "function_call_output custom_tool_call_output local_shell_call_output tool_search_output"
    " mcp_tool_call_output"
)
END_EVENTS = names("exec_command_end patch_apply_end mcp_tool_call_end dynamic_tool_call_response")


class Calls:
    """The calls of a rollout.  ``open`` are those that later records may add to;
    ``hosted`` counts the provider's searches.
    """

    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self.permission = ""
        self.open: dict[str, PendingCall] = {}
        self.hosted = 0
        self._known: set[str] = set()
        self._early: dict[str, tuple[Outcome, float | None, Ref]] = {}
        self._script: PendingCall | None = None

    def add_progress(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.session.event("progress", "", ref, at, type=string(payload.type))

    def on_call(self, payload: Payload, at: float | None, ref: Ref) -> None:
        native = string(payload.call_id) or (string(payload.id) if payload.type == "local_shell_call" else "")
        name = string(payload.name) or ("local_shell" if payload.type == "local_shell_call" else "?")
        earlier = self.open.get(native)
        if native in self._known and (earlier is None or earlier.call.level == "model"):
            self.session.event("tool_call", name, ref, at, type=string(payload.type))
            return
        arguments = arguments_of(payload)
        request = _request(name, arguments, string(payload.namespace))
        pending = self._pending(native, request, at, ref, earlier)
        if native in self._early:
            pending.set_result(*self._early.pop(native))
        if name == "exec" and (script := string(arguments.get("input"))) and pending.call.op != "patch":
            self._script = pending
            self._add_script_calls(pending, script)

    def _pending(
        self,
        native: str,
        request: _Request,
        at: float | None,
        ref: Ref,
        earlier: PendingCall | None = None,
        *,
        counted: bool = True,
    ) -> PendingCall:
        """Begins a call; ``earlier`` is the same call, of which only the end was recorded so far."""
        permission = self.permission
        if request.escalated:
            permission = f"{permission}; escalation asked".lstrip("; ")
        name, op, subject, paths, patch, _ = request
        if earlier is not None:
            earlier.call = replace(
                earlier.call,
                level="model",
                parent="",
                at=at,
                ref=ref,
                name=name,
                op=op,
                subject=subject[:PREVIEW],
                paths=paths or earlier.call.paths,
            )
            earlier.outcome, earlier.patch = None, patch
            return earlier
        call = self.session.call(
            native,
            name,
            ref,
            op=op,
            native_id=native,
            subject=subject,
            paths=paths,
            at=at,
            permission=permission,
            counted=counted,
        )
        pending = PendingCall(call if native else replace(call, id=f"call.{call.seq}"), patch)
        self.open[pending.call.id] = pending
        self._known.add(pending.call.id)
        return pending

    def _add_script_calls(self, script: PendingCall, text: str) -> None:
        """Adds the calls that a script names, for those without events."""
        written: list[PendingCall] = []
        call = script.call
        for number, named in enumerate(calls_in(text)):
            arguments = {"input": named.quoted[0]} if named.quoted else {"arguments": named.arguments}
            request = _request(named.name, arguments)
            one = self.session.call(
                f"{call.id}.{number}",
                named.name,
                call.ref,
                op=request.op,
                subject=request.subject,
                paths=request.paths,
                level="nested",
                parent=call.id,
                permission="escalation asked" if request.escalated else "",
            )
            written.append(PendingCall(one, request.patch))
        script.script_calls = tuple(written)

    def on_output(self, payload: Payload, at: float | None, ref: Ref) -> None:
        native = string(payload.call_id)
        pending = self.open.get(native)
        result = outcome_of(payload.output)
        if result.cut:
            self.session.flags["truncated"] = None
        if pending is None or pending.call.level == "nested":
            if pending is not None or native not in self._known:
                self._early[native] = (result, at, ref)
            text, type_ = text_of(payload.output), string(payload.type)
            self.session.event("tool_result", text, ref, at, "tool", type=type_)
            return
        if pending.outcome is None or (result.failed and not pending.outcome.failed):
            pending.set_result(result, at, ref)
        if pending.is_complete and pending is not self._script:
            self._emit(pending)

    def on_end(self, payload: Payload, at: float | None, ref: Ref) -> None:
        native = string(payload.call_id)
        self.add_progress(payload, at, ref)
        pending = self.open.get(native)
        if pending is None and native in self._known:
            return
        if pending is None:
            pending = self._add_nested(native, payload, at, ref)
        pending.add_end(payload)
        if pending.is_complete and pending is not self._script and pending.call.level == "model":
            self._emit(pending)

    def _add_nested(self, native: str, payload: Payload, at: float | None, ref: Ref) -> PendingCall:
        """Adds a call that the model did not make itself: its script did, or the person."""
        pending = self._pending(native, _nested_request(payload), None, ref)
        pending.outcome, pending.ended, pending.result_ref = Outcome(), at, ref
        fields: dict[str, Any] = {"level": "nested"}
        if payload.source == "user_shell":
            fields["permission"] = "user"
        elif self._script is not None:
            fields["parent"] = self._script.call.id
            self._script.recorded_ops |= {pending.call.op}
        pending.call = replace(pending.call, **fields)
        return pending

    def on_item_completed(self, payload: Payload, at: float | None, ref: Ref) -> None:
        """Handles an ``item_completed`` event, in which later logs record the ends of calls."""
        end = completed_event(mapping(payload.item))
        if end is None:
            text = string(mapping(payload.item).get("type"))
            self.session.event("progress", text, ref, at, type="item_completed")
        else:
            self.on_end(end, at, ref)

    def on_hosted_call(self, payload: Payload, at: float | None, ref: Ref) -> None:
        kind = payload.type
        self.hosted += kind == "web_search_call"
        native = string(payload.call_id)
        counted = kind == "tool_search_call" and bool(native)  # the agent runs it and answers by its id
        pending = self._pending(native, _request(kind, arguments_of(payload)), at, ref, counted=counted)
        if payload.status is not None and not pending.call.native_id:
            pending.outcome, pending.result_ref = Outcome(), ref
            pending.set_outcome("flag", good=payload.status == "completed")
            self._emit(pending)

    def on_spawn(self, payload: Payload, at: float | None, ref: Ref) -> None:
        if (pending := self.open.get(string(payload.call_id))) is not None:
            pending.child = string(payload.new_thread_id) or pending.child
        self.add_progress(payload, at, ref)

    def on_abort(self) -> None:
        for pending in self.open.values():
            if pending.outcome is None and not pending.stopped:
                pending.stopped = "interrupted"

    def flush(self) -> None:
        """Emits calls at the end of a turn: those with results are complete, unless a command still runs."""
        for pending in [*self.open.values()]:
            if pending.outcome is not None and not pending.outcome.running:
                self._emit(pending)
        if self._script is not None and self._script.call.id not in self.open:
            self._script = None

    def add_open(self) -> None:
        """Adds the calls that later records may add to, as they are now."""
        for pending in self.open.values():
            self._add(pending)

    def _emit(self, pending: PendingCall) -> None:
        del self.open[pending.call.id]
        self._add(pending)

    def _add(self, pending: PendingCall) -> None:
        nested = [one for one in pending.script_calls if one.call.op not in pending.recorded_ops]
        for one in (pending, *nested):
            for row in one.rows():
                self.session.add(row)
