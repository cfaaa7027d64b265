"""Builds the rows of one OpenHands run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from nbtools.traces.json_access import epoch_seconds, float_of, id_text, integer_of, mapping, mappings, string
from nbtools.traces.model import PREVIEW, Call, Event, EventKind, FileChange, Origin, Ref, Row, Session, Tokens
from nbtools.traces.readers.openhands.events import (
    arguments_of,
    changes_of,
    extras_of,
    is_answer,
    is_call,
    is_counted,
    kind_of,
    name_of_call,
    native_id,
    op_of,
    outcome_of,
    result_of,
    text_of_event,
    thought_of,
    type_of,
)

_SUBJECTS = ("command", "path", "code", "pattern", "url", "browser_actions", "query", "task", "final_thought", "message", "thought", "name")
_WORKSPACE_KEYS = ("working_dir", "repo_name", "repo_branch")
_USAGE = {
    "prompt_tokens": "input",
    "completion_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write",
}


class Run:
    """Collects the events of a run.

    Calls wait for their results; an observation names the event that caused it, by an id that is unique in the run.
    """

    def __init__(self, id: str, origin: Origin) -> None:  # noqa: A002 - the field's name
        self.id, self.origin = id, origin
        self.seq = self.turn = self.records = 0
        self.calls: dict[str, tuple[Call, Mapping[str, Any]]] = {}
        self.ids: set[str] = set()
        self.changes: dict[str, FileChange] = {}
        self.first: float | None = None
        self.last: float | None = None
        self.models: dict[str, None] = {}
        self.metrics: Mapping[str, Any] = {}
        self.workspace: dict[str, str] = {}
        self.version = "0"

    def pair(self, action: Mapping[str, Any], observation: Mapping[str, Any], ref: Ref) -> Iterator[Row]:
        """Yields the rows of a pair in older histories: an action and its observation, without ids."""
        position = f"pair.{self.records}"
        yield from self.event({**action, "id": position}, ref)
        if observation.get("observation") is not None:
            yield from self.event({**observation, "cause": position}, ref)
        else:
            self.records += 1

    def event(self, event: Mapping[str, Any], ref: Ref) -> Iterator[Row]:
        self.records += 1
        at = epoch_seconds(event.get("timestamp"))
        self._note(event, at)
        if is_call(event):
            yield from self._call(event, at, ref)
        elif is_answer(event) and (waiting := self._answered_call(event)) is not None:
            self._answer(waiting, event, at, ref)
        else:
            yield self._event(kind_of(event), text_of_event(event), event, at, ref)

    def _note(self, event: Mapping[str, Any], at: float | None) -> None:
        if at is not None:
            self.first = at if self.first is None else min(self.first, at)
            self.last = at if self.last is None else max(self.last, at)
        model = string(mapping(mapping(event.get("tool_call_metadata")).get("model_response")).get("model"))
        self.models |= {model: None} if model else {}
        self.metrics = mapping(event.get("llm_metrics")) or self.metrics
        self.version = "1" if "kind" in event else self.version
        extras = extras_of(event)
        if event.get("observation") == "recall":
            self.workspace |= {key: extras[key] for key in _WORKSPACE_KEYS if string(extras.get(key))}

    def _call(self, event: Mapping[str, Any], at: float | None, ref: Ref) -> Iterator[Row]:
        reasoning, message = thought_of(event)
        if reasoning:
            yield self._event("thinking", reasoning, event, at, ref)
        if message:
            yield self._event("assistant_text", message, event, at, ref)
        own = id_text(event.get("id"))
        id_ = own if own and own not in self.ids else f"{own or 'event'}#{self.records - 1}"
        arguments = arguments_of(event)
        path = string(arguments.get("path"))
        call = Call(
            session=self.id,
            id=id_,
            seq=self._next(),
            name=name_of_call(event),
            op=op_of(event),
            origin=self.origin,
            native_id=native_id(event),
            subject=_subject(op_of(event), arguments, path),
            paths=(path,) if path else (),
            at=at,
            status="unanswered",
            permission=string(arguments.get("confirmation_state")),
            turn=self.turn,
            counted=is_counted(event) and id_ == (own or id_),
            ref=ref,
        )
        self.ids.add(id_)
        self.calls[id_] = (call, event)

    def _answered_call(self, event: Mapping[str, Any]) -> str | None:
        """Returns the id of the call that an event answers: its causing event.

        Version 1's errors name the tool call only, which is the last open one of that id.
        """
        cause = id_text(event.get("action_id") if "kind" in event else event.get("cause"))
        if cause in self.calls:
            return cause
        if cause or "kind" not in event:
            return None
        native = native_id(event)
        same = [id_ for id_, (call, _) in self.calls.items() if native and call.native_id == native]
        return next((id_ for id_ in reversed(same) if not self.calls[id_][0].answered), None)

    def _answer(self, id_: str, event: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        call, request = self.calls[id_]
        outcome = outcome_of(event)
        call = replace(
            call,
            status=outcome.status,
            status_source=outcome.source,
            exit_code=outcome.exit_code,
            answered=True,
            ended=at,
            duration=at - call.at if at is not None and call.at is not None and at >= call.at else None,
            result_size=len(result_of(event)),
            result_ref=ref,
        )
        self.calls[id_] = (call, request)
        self.changes.pop(id_, None)
        if _edits(request, call):
            self.changes[id_] = _change(call, arguments_of(request), extras_of(event))

    def _event(self, kind: EventKind, text: str, event: Mapping[str, Any], at: float | None, ref: Ref) -> Event:
        self.turn += kind == "user"
        return Event(
            session=self.id,
            seq=self._next(),
            kind=kind,
            text=text[:PREVIEW],
            size=len(text),
            at=at,
            role=string(event.get("source")),
            turn=self.turn,
            key=string(event.get("llm_response_id"))
            or string(mapping(mapping(event.get("tool_call_metadata")).get("model_response")).get("id")),
            type=type_of(event),
            ref=ref,
        )

    def _next(self) -> int:
        self.seq += 1
        return self.seq - 1

    def end(self, metrics: Mapping[str, Any], ref: Ref) -> Iterator[Row]:
        """Yields the calls and the session.

        ``metrics`` are those that an evaluation records; without them, the totals in events are used.
        """
        for id_, (call, _) in self.calls.items():
            yield call
            if id_ in self.changes:
                yield self.changes[id_]
        usage = mapping(metrics.get("accumulated_token_usage"))
        native = {name: integer_of(usage[key]) or 0 for key, name in _USAGE.items() if key in usage}
        totals = metrics or self.metrics
        models = [string(one.get("model")) for one in mappings(metrics.get("token_usages"))]
        yield Session(
            id=self.id,
            format="openhands",
            format_version=self.version,
            agent="openhands",
            cwd=self.workspace.get("working_dir", ""),
            repository=self.workspace.get("repo_name", ""),
            branch=self.workspace.get("repo_branch", ""),
            models=tuple(dict.fromkeys([*self.models, *filter(None, models)])),
            started=self.first,
            ended=self.last,
            records=self.records,
            tokens=_tokens(mapping(totals.get("accumulated_token_usage"))),
            native_tokens=native,
            cost=float_of(totals.get("accumulated_cost")),
            ref=ref,
        )


def _subject(op: str, arguments: Mapping[str, Any], path: str) -> str:
    if op in {"read", "write", "edit"} and path:
        return path[:PREVIEW]
    found = next((string(arguments[key]) for key in _SUBJECTS if string(arguments.get(key))), "")
    return found.strip().partition("\n")[0][:PREVIEW]


def _edits(request: Mapping[str, Any], call: Call) -> bool:
    if call.status in {"error", "denied"}:
        return False
    if "kind" in request:
        return call.op in {"edit", "write"}
    return string(request.get("action")) in {"edit", "write"} and mapping(request.get("args")).get("command") != "view"


def _change(call: Call, arguments: Mapping[str, Any], extras: Mapping[str, Any]) -> FileChange:
    diff = next(changes_of(arguments, extras), None)
    recorded = isinstance(extras.get("new_content"), str) and diff is not None
    new = extras.get("prev_exist") is False or (arguments.get("command") == "create" and extras.get("prev_exist") is not True)
    patch = bool(string(extras.get("diff"))) and not recorded
    return FileChange(
        session=call.session,
        call=call.id,
        path=string(arguments.get("path")),
        kind="add" if new else "modify",
        added=diff.diff_stat.model_added_lines if diff else None,
        removed=diff.diff_stat.model_removed_lines if diff else None,
        basis="none" if diff is None else "recorded_texts" if recorded else "recorded_patch" if patch else "arguments",
    )


def _tokens(usage: Mapping[str, Any]) -> Tokens:
    """Returns the token usage. ``prompt_tokens`` includes tokens read from and written to a cache."""
    prompt, read, written = (integer_of(usage.get(key)) for key in ("prompt_tokens", "cache_read_tokens", "cache_write_tokens"))
    rest = None if prompt is None else max(prompt - (read or 0) - (written or 0), 0)
    return Tokens(rest, read, written, integer_of(usage.get("completion_tokens")), integer_of(usage.get("reasoning_tokens")))
