"""A call of which not everything has been read yet."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from nbtools.traces.formats.codex import changes
from nbtools.traces.formats.codex.asked import command_of, op_of, patch_of, paths_of, subject_of
from nbtools.traces.formats.codex.outcome import Outcome
from nbtools.traces.formats.codex.records import Payload, table, word
from nbtools.traces.model import NOWHERE, PREVIEW, Call, FileChange, Op, Origin, Ref, Status, StatusSource

_BILLION = 1e9


class Pending(msgspec.Struct, gc=False):
    """Mutable: what the model asked, then what events and the output say of it."""

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
    bad: StatusSource | None = None
    good: StatusSource | None = None
    stopped: Status | None = None
    exit_code: int | None = None
    changed: list[FileChange] | None = None
    written: tuple[Pending, ...] = ()
    """The calls that its script names."""
    told: frozenset[Op] = frozenset()
    """What the calls in it did that events tell of: those are the better record of them."""

    def ask(self, arguments: dict[str, Any], name: str, namespace: str = "") -> None:
        self.name = name
        if name == "exec_command" and isinstance(command := arguments.get("cmd"), str):
            self.op, self.subject = "shell", command[:PREVIEW]
        else:
            self._understand(arguments, namespace)
        if arguments.get("sandbox_permissions") == "require_escalated" or arguments.get("with_escalated_permissions") is True:
            self.permission = f"{self.permission}; escalation asked".lstrip("; ")

    def _understand(self, arguments: dict[str, Any], namespace: str) -> None:
        name = self.name
        self.op = op_of(name, namespace)
        self.patch = patch_of(name, arguments)
        self.op = "patch" if self.patch else self.op
        self.subject = subject_of(arguments, self.patch)
        self.paths = paths_of(name, arguments, self.patch)
        self.script = word(arguments.get("input")) if name == "exec" else ""

    def answer(self, outcome: Outcome, at: float | None, ref: Ref) -> None:
        self.outcome, self.ended, self.result_ref = outcome, at, ref
        self.child = outcome.child or self.child

    def end(self, payload: Payload) -> None:
        """An event that says how it ended, by the event's type."""
        if self.duration is None:
            self.duration = _seconds(payload.duration)
        kind = payload.type
        if kind == "exec_command_end":
            self._command_ended(payload)
        elif kind == "patch_apply_end":
            self._judge("flag", good=bool(payload.success))
            self.changed = [*(self.changed or ()), *changes.recorded(self.session, self.id, payload.changes, applied=bool(payload.success))]
        elif kind == "mcp_tool_call_end":
            answer = _answer(payload.result)
            self._judge("flag", good=None if answer is None else answer.Err is msgspec.UNSET)
            if answer is not None and answer.Ok is not None and answer.Ok.isError is True:
                self.good, self.stopped = None, "unknown"
        elif kind == "dynamic_tool_call_response":
            self._judge("flag", good=payload.success if isinstance(payload.success, bool) else None)
        self.child = word(payload.new_thread_id) or self.child

    def _command_ended(self, payload: Payload) -> None:
        code = payload.exit_code
        if isinstance(code, int) and not isinstance(code, bool):
            self.exit_code = code
        if payload.status == "declined":
            self.stopped = "denied"
        self._judge("exit_code", good=None if code is None else code == 0)
        if isinstance(payload.parsed_cmd, list) and not self.paths:
            self.paths = tuple(path for one in payload.parsed_cmd if (path := word(table(one).get("path"))))

    def _judge(self, source: StatusSource, *, good: bool | None) -> None:
        if good is False:
            self.bad = source
        elif good is True:
            self.good = source

    @property
    def settled(self) -> bool:
        """Whether no later record is to be expected."""
        return self.outcome is not None and (self.bad is not None or self.good is not None or self.name == "update_plan")

    def status(self) -> tuple[Status, StatusSource]:
        """What an event says counts before what a text says; a failure before a success."""
        found = self.outcome
        if self.bad or (found is not None and found.failed):
            return "error", self.bad or (found.source if found is not None else "none")
        if found is not None and found.stopped:
            return found.stopped, "text"
        if self.stopped and (found is None or self.stopped != "interrupted"):
            return self.stopped, "flag"
        if self.good:
            return "ok", self.good
        if found is None:
            return "unanswered", "none"
        return ("unknown", "text") if found.running else ("ok", found.source)

    def rows(self, origin: Origin) -> list[Call | FileChange]:
        status, source = self.status()
        found = self.outcome or _NOTHING
        call = Call(  # by place: by name it takes ten times as long
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
            return [call, *changes.meant(self.session, self.id, self.patch, applied=applied)]
        return [call]


_NOTHING = Outcome()


def nested(pending: Pending, payload: Payload) -> None:
    """Names a call that only its end tells of."""
    kind = payload.type
    pending.level = "nested"
    if kind == "patch_apply_end":
        pending.name, pending.op = "apply_patch", "patch"
        pending.paths = tuple(table(payload.changes))
        pending.subject = ", ".join(pending.paths)[:PREVIEW]
    elif kind == "mcp_tool_call_end":
        asked = table(payload.invocation)
        pending.ask(table(asked.get("arguments")), word(asked.get("tool")) or "?")
        pending.name, pending.op = f"mcp__{word(asked.get('server'))}__{pending.name}", "mcp"
    elif kind == "dynamic_tool_call_response":
        pending.ask(table(payload.arguments), word(payload.tool) or "?")
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
    """Of an MCP server; None where the record has none."""
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
