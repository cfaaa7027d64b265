"""Adds the events of a run of OpenHands, and finds its model requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from nbtools.traces.conversation import tokens_of
from nbtools.traces.json_access import (
    counts_in,
    epoch_seconds,
    first_string,
    float_of,
    id_text,
    integer_of,
    items,
    mapping,
    mappings,
    names,
    string,
)
from nbtools.traces.model import NOWHERE, Call, EventKind, FileChange, Problem, Ref
from nbtools.traces.readers.openhands.events import (
    arguments_of,
    changes_of,
    extras_of,
    has_ended,
    is_answer,
    is_call,
    is_call_of_acp,
    is_counted,
    kind_of,
    name_of_call,
    native_id,
    op_of,
    outcome_of,
    response_id,
    response_of,
    result_of,
    text_of_event,
    thought_of,
    type_of,
)
from nbtools.traces.session_builder import SessionBuilder, duration_of

_SUBJECTS = names(
    "command path code pattern url browser_actions query task final_thought message thought name"
)
_WORKSPACE_KEYS = ("working_dir", "repo_name", "repo_branch")
_THOUGHTS: tuple[EventKind, EventKind] = ("thinking", "assistant_text")
_TOKEN_NAMES = {
    "prompt_tokens": "input",
    "completion_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write",
    "reasoning_tokens": "reasoning",
}


class Run:
    """Adds the events of a run.

    Calls wait for their results until the end, as a result may be followed by another; an observation names
    the event that caused it, by an id that is unique in the run.
    """

    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self.calls: dict[str, tuple[Call, Mapping[str, Any]]] = {}
        self.changes: dict[str, FileChange] = {}
        self.metrics: Mapping[str, Any] = {}
        self.workspace: dict[str, str] = {}
        self.version = "0"
        self.usage = _RunUsage(session)

    def record(self, record: Any, ref: Ref) -> None:
        if isinstance(record, list):
            self._pair(event_of_pair(record, 0), event_of_pair(record, 1), ref)
        elif isinstance(record, dict):
            self._event(record, ref)
        else:
            self.session.add(Problem(ref, "This record is not an event."))

    def _pair(self, action: Mapping[str, Any], observation: Mapping[str, Any], ref: Ref) -> None:
        """Adds a pair of older histories: an action and its observation, without ids."""
        position = f"pair.{self.session.records}"
        self._event({**action, "id": position}, ref)
        if observation.get("observation") is not None:
            self._event({**observation, "cause": position}, ref)
        else:
            self.session.records += 1

    def _event(self, event: Mapping[str, Any], ref: Ref) -> None:
        at, first = epoch_seconds(event.get("timestamp")), self.session.log.seq + 1
        self.session.records += 1
        totals = self._note(event, at)
        if is_call_of_acp(event):
            self._call_of_acp(event, at, ref)
        elif is_call(event):
            self._call(event, at, ref)
        elif is_answer(event) and (waiting := self._answered_call(event)) is not None:
            self._answer(waiting, event, at, ref)
        else:
            self._message(kind_of(event), text_of_event(event), event, at, ref)
        self.usage.add(event, totals, first, at, ref)

    def _note(self, event: Mapping[str, Any], at: float | None) -> Mapping[str, Any]:
        """Notes what an event says about the run, and returns the running totals in it."""
        self.session.see(at, string(response_of(event).get("model")))
        totals = mapping(event.get("llm_metrics")) or metrics_of_state(event)
        self.metrics = totals or self.metrics
        self.version = "1" if "kind" in event else self.version
        if event.get("observation") == "recall":
            extras = extras_of(event)
            self.workspace |= {key: extras[key] for key in _WORKSPACE_KEYS if string(extras.get(key))}
        return totals

    def _message(
        self, kind: EventKind, text: str, event: Mapping[str, Any], at: float | None, ref: Ref
    ) -> None:
        role, type_ = string(event.get("source")), type_of(event)
        self.session.message(kind, text, ref, at, role, type=type_, key=response_id(event))

    def _call(self, event: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        for kind, text in zip(_THOUGHTS, thought_of(event), strict=True):
            if text:
                self._message(kind, text, event, at, ref)
        own = id_text(event.get("id"))
        id_ = own if own and own not in self.calls else f"{own or 'event'}#{self.session.records - 1}"
        arguments, op = arguments_of(event), op_of(event)
        path = string(arguments.get("path"))
        call = self.session.call(
            id_,
            name_of_call(event),
            ref,
            op=op,
            native_id=native_id(event),
            subject=_subject(op, arguments, path),
            paths=(path,) if path else (),
            at=at,
            permission=string(arguments.get("confirmation_state")),
            counted=is_counted(event) and id_ == (own or id_),
        )
        self.calls[id_] = (call, event)

    def _call_of_acp(self, event: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        """Adds a call of another agent. A later record of it has its result."""
        native = native_id(event)
        same = (
            id_
            for id_, (call, request) in self.calls.items()
            if call.native_id == native and is_call_of_acp(request)
        )
        known = next(same, None)
        if known is None:
            self._call(event, at, ref)
            known = next(reversed(self.calls))
        if has_ended(event):
            self._answer(known, event, at, ref)

    def _answered_call(self, event: Mapping[str, Any]) -> str | None:
        """Returns the id of the call that an event answers: its causing event.

        Version 1's errors name the tool call only, which is the last open one of that id.
        """
        cause = id_text(event.get("action_id") if "kind" in event else event.get("cause"))
        if cause in self.calls:
            return cause
        native = native_id(event)
        if cause or "kind" not in event or not native:
            return None
        for id_, (call, _) in reversed(self.calls.items()):
            if call.native_id == native and not call.answered:
                return id_
        return None

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
            duration=duration_of(call.at, at),
            result_size=len(result_of(event)),
            result_ref=ref,
        )
        self.calls[id_] = (call, request)
        self.changes.pop(id_, None)
        if _edits(request, call):
            self.changes[id_] = _change(call, arguments_of(request), extras_of(event))

    def end(self, metrics: Mapping[str, Any], ref: Ref) -> None:
        """Adds the calls and the session.

        ``metrics`` are those that an evaluation records; without them, the totals in events are used.
        """
        for id_, (call, _) in self.calls.items():
            self.session.complete(call, changes=[self.changes[id_]] if id_ in self.changes else ())
        usage = mapping(metrics.get("accumulated_token_usage"))
        native = {name: integer_of(usage[key]) or 0 for key, name in _TOKEN_NAMES.items() if key in usage}
        native.pop("reasoning", None)
        totals = metrics or self.metrics
        for one in mappings(metrics.get("token_usages")):
            self.session.see(None, string(one.get("model")))
        self.usage.finish(metrics)
        self.session.end(
            format_version=self.version,
            agent="openhands",
            cwd=self.workspace.get("working_dir", ""),
            repository=self.workspace.get("repo_name", ""),
            branch=self.workspace.get("repo_branch", ""),
            tokens=tokens_of(_token_counts(totals.get("accumulated_token_usage"))),
            native_tokens=native,
            cost=float_of(totals.get("accumulated_cost")),
            ref=ref,
        )


def metrics_of_state(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the totals in an update of version 1's state, summed over the uses of models;
    empty for other events.
    """
    value = mapping(event.get("value")) if event.get("kind") == "ConversationStateUpdateEvent" else {}
    stats = value if event.get("key") == "stats" else mapping(value.get("stats"))
    uses = [mapping(one) for one in mapping(stats.get("usage_to_metrics")).values()]
    if not uses:
        return {}
    counts: Counter[str] = Counter()
    for use in uses:
        counts.update(_token_counts(use.get("accumulated_token_usage")))
    keys = {name: key for key, name in _TOKEN_NAMES.items()}
    totals = {"accumulated_token_usage": {keys[name]: count for name, count in counts.items()}}
    costs = [cost for use in uses if (cost := float_of(use.get("accumulated_cost"))) is not None]
    listed = [one for use in uses for one in mappings(use.get("token_usages"))]
    found = {**totals, "accumulated_cost": sum(costs) if costs else None}
    return {**found, "token_usages": listed} if listed else found


def _subject(op: str, arguments: Mapping[str, Any], path: str) -> str:
    if op in {"read", "write", "edit"} and path:
        return path
    return first_string(arguments, _SUBJECTS).strip().partition("\n")[0]


def _edits(request: Mapping[str, Any], call: Call) -> bool:
    if call.status in {"error", "denied"}:
        return False
    if "kind" in request:
        return call.op in {"edit", "write"}
    views = mapping(request.get("args")).get("command") == "view"
    return string(request.get("action")) in {"edit", "write"} and not views


def _change(call: Call, arguments: Mapping[str, Any], extras: Mapping[str, Any]) -> FileChange:
    diff = next(changes_of(arguments, extras), None)
    new = extras.get("prev_exist") is False or (
        arguments.get("command") == "create" and extras.get("prev_exist") is not True
    )
    basis: Any = "arguments"
    if diff is None:
        basis = "none"
    elif isinstance(extras.get("new_content"), str):
        basis = "recorded_texts"
    elif string(extras.get("diff")):
        basis = "recorded_patch"
    return FileChange(
        session=call.session,
        call=call.id,
        path=string(arguments.get("path")),
        kind="add" if new else "modify",
        added=diff.diff_stat.model_added_lines if diff else None,
        removed=diff.diff_stat.model_removed_lines if diff else None,
        basis=basis,
    )


def event_of_pair(record: Any, index: int) -> Mapping[str, Any]:
    """Returns the event itself, or the one at ``index`` of a pair."""
    pair = items(record)
    if not pair:
        return mapping(record)
    return mapping(pair[index]) if index < len(pair) else {}


class _Answer(NamedTuple):
    seq: int
    last: int
    turn: int
    at: float | None
    ref: Ref


class _RunUsage:
    """Finds the model requests of a run: those that an evaluation lists,
    or else how the running totals in the events have grown.
    """

    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self._counts: dict[str, int] = {}
        self._cost = 0.0
        self._answers: dict[str, _Answer] = {}
        """The steps of each answer, by the id of the provider's response."""

    def add(
        self, event: Mapping[str, Any], totals: Mapping[str, Any], first: int, at: float | None, ref: Ref
    ) -> None:
        """Notes an event whose steps begin at ``first``, and the running ``totals`` that it has."""
        key, last = response_id(event), self.session.log.seq
        if key and last >= first:
            begun = self._answers.get(key, _Answer(first, last, self.session.turn, at, ref))
            self._answers[key] = begun._replace(last=last)
        if not totals:
            return
        counts = _token_counts(totals.get("accumulated_token_usage"))
        cost = float_of(totals.get("accumulated_cost")) or 0.0
        grown = {name: count - self._counts.get(name, 0) for name, count in counts.items()}
        if min(grown.values(), default=0) < 0:  # another conversation's totals
            grown = counts
        spent = cost - self._cost if cost >= self._cost else cost
        if any(grown.values()) or spent:
            place = first if event.get("kind") != "ConversationStateUpdateEvent" else None
            known: dict[str, Any] = {"id": key, "model": string(response_of(event).get("model")), "at": at}
            self.session.request(tokens_of(grown), ref, place, cost=spent or None, **known)
        self._counts, self._cost = counts, cost

    def finish(self, metrics: Mapping[str, Any]) -> None:
        """Replaces the requests by those that the ``metrics`` of an evaluation list, if there are any."""
        listed = [one for one in mappings(metrics.get("token_usages")) if _token_counts(one)]
        if listed:
            self.session.requests.clear()
        for one in listed:
            key = string(one.get("response_id"))
            place: dict[str, Any] = {"ref": NOWHERE}
            if (answer := self._answers.get(key)) is not None:
                place = answer._asdict()
            tokens = tokens_of(_token_counts(one))
            self.session.request(tokens, id=key, model=string(one.get("model")), **place)


def _token_counts(usage: Any) -> dict[str, int]:
    return counts_in(mapping(usage), _TOKEN_NAMES)
