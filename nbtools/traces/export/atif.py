"""Exports a session as ATIF 1.8, the Agent Trajectory Interchange Format of Harbor.

A message is a step. A call is part of the step of the message before it, together with calls requested at the
same time; otherwise it is a step of its own. Status, times, exit code and diff, for which ATIF has no fields,
are stored under ``extra.nbtools`` (``traces.atif_extra``); Harbor's own ``extra.metadata.is_error`` is set,
too. Sub-agents are embedded trajectories.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from nbtools.traces.atif_extra import KEY, CallExtra, ChangeExtra, ResultExtra, SessionExtra
from nbtools.traces.display_json import display_to_json
from nbtools.traces.export.lineage import (
    EventText,
    ExportRow,
    changes_by_call,
    is_exported,
    rows_of_session,
    session_with_subagents,
)
from nbtools.traces.export.removal import Patterns, removal_for, without_secrets
from nbtools.traces.model import Call, FileChange, Session, Tokens
from nbtools.traces.reviews.atif_labels import NO_LABELS, ExportedLabels, labels_by_row
from nbtools.traces.trace import Trace

VERSION = "ATIF-v1.8"
_SOURCES = {"user": "user", "assistant_text": "agent", "thinking": "agent"}


# Fields with their default are omitted: Harbor does not accept null for a list.
class _ToolCall(Struct, kw_only=True, omit_defaults=True):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class _Result(Struct, kw_only=True, omit_defaults=True):
    source_call_id: str
    content: str
    subagent_trajectory_ref: list[dict[str, str]] | None = None
    extra: dict[str, Any] | None = None


class _Observation(Struct, kw_only=True, omit_defaults=True):
    results: list[_Result]


class _Step(Struct, kw_only=True, omit_defaults=True):
    step_id: int
    timestamp: str | None = None
    source: str
    model_name: str | None = None
    message: str
    reasoning_content: str | None = None
    tool_calls: list[_ToolCall] | None = None
    observation: _Observation | None = None
    extra: dict[str, Any] | None = None


class _Trajectory(Struct, kw_only=True, omit_defaults=True):
    schema_version: str
    session_id: str
    trajectory_id: str
    agent: dict[str, str]
    steps: list[_Step]
    final_metrics: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None
    subagent_trajectories: list[_Trajectory] | None = None


def write_atif(
    trace: Trace,
    path: str | os.PathLike[str],
    session: str = "",
    *,
    labels: bool = False,
    redact: Patterns = (),
    keep: Collection[str] = (),
    home: bool = False,
) -> Path:
    """Writes the session with this id, or the only one that no other session started, with its sub-agents.
    Returns the file's path.

    ``labels``: also the notes, labels and verdicts about it, under ``extra.nbtools.labels``.

    Secrets are removed, as by ``traces.share``: ``traces.find_secrets`` lists them, ``redact`` are regular
    expressions of further ones, ``keep`` the ids of those that stay. With ``home``, home folders and the
    names of their owners become ``~``.

    Raises ``TraceError`` where the session is ambiguous, or a log has changed since it was read;
    ``OSError`` where the file cannot be written.
    """
    first, *others = session_with_subagents(trace, session)
    about = _About(changes_by_call(trace), labels_by_row(trace, is_exported) if labels else NO_LABELS)
    document = _trajectory(trace, first, about)
    document.subagent_trajectories = [_trajectory(trace, one, about) for one in others] or None
    removal = removal_for(trace.sessions, redact, keep, home=home)
    [cleaned] = without_secrets([msgspec.json.decode(msgspec.json.encode(document))], removal)
    target = Path(path).expanduser()
    target.write_bytes(msgspec.json.encode(cleaned) + b"\n")
    return target


@dataclass(frozen=True)
class _About:
    """The file changes by session and id of their call, and the labels."""

    changes: Mapping[tuple[str, str], Sequence[FileChange]]
    labels: ExportedLabels


def _trajectory(trace: Trace, session: Session, about: _About) -> _Trajectory:
    steps = [*_steps(rows_of_session(trace, session.id), about)] or [
        _Step(step_id=1, source="system", message="")
    ]
    agent = {"name": session.agent or "unknown", "version": session.agent_version or "unknown"}
    return _Trajectory(
        schema_version=VERSION,
        session_id=session.id,
        trajectory_id=session.id,
        agent={**agent, "model_name": session.models[0]} if session.models else agent,
        steps=steps,
        final_metrics=_metrics(session, len(steps)),
        extra={KEY: {**msgspec.to_builtins(_session_extra(session)), **about.labels.fields(session)}},
    )


def _steps(rows: Iterator[ExportRow], about: _About) -> Iterator[_Step]:
    """Yields finished steps; the current step collects the calls that belong to it."""
    step: _Step | None = None
    last: Call | None = None
    count = 0
    for row in rows:
        if isinstance(row, Call):
            if step is None or not _belongs_to_step(row, step, last):
                yield from (step,) if step else ()
                count += 1
                step = _Step(step_id=count, timestamp=_iso(row.at), source="agent", message="")
            last = row
            _add_call(step, row, about)
        elif row.event.kind == "assistant_text" and step is not None and _has_only_thinking(step):
            step.message = row.text
            _add_labels(step, about.labels.fields(row.event))
        else:
            yield from (step,) if step else ()
            count += 1
            step = _message_step(row, count)
            _add_labels(step, about.labels.fields(row.event))
    yield from (step,) if step else ()


def _has_only_thinking(step: _Step) -> bool:
    return step.reasoning_content is not None and not step.message and not step.tool_calls


def _belongs_to_step(call: Call, step: _Step, last: Call | None) -> bool:
    """Returns whether the call was requested in this step:
    right after its message, or at the same time as the call before.
    """
    if step.source != "agent":
        return False
    return not step.tool_calls or (last is not None and last.at is not None and last.at == call.at)


def _message_step(item: EventText, number: int) -> _Step:
    event = item.event
    source = _SOURCES.get(event.kind, "system")
    thinking = event.kind == "thinking"
    kind = {} if event.kind in _SOURCES else {"kind": event.kind, "type": event.type}
    fields = {**kind, **({} if event.live else {"live": False})}
    return _Step(
        step_id=number,
        timestamp=_iso(event.at),
        source=source,
        model_name=event.model or None if source == "agent" else None,
        message="" if thinking else item.text,
        reasoning_content=item.text if thinking else None,
        extra={KEY: fields} if fields else None,
    )


def _add_labels(step: _Step, fields: Mapping[str, Sequence[Any]]) -> None:
    for name, added in fields.items():
        ours = (step.extra or {}).get(KEY, {})
        step.extra = {**(step.extra or {}), KEY: {**ours, name: [*ours.get(name, ()), *added]}}


def _add_call(step: _Step, call: Call, about: _About) -> None:
    detail = call.detail
    step.tool_calls = step.tool_calls or []
    used_ids = {one.tool_call_id for one in step.tool_calls}
    native = call.native_id if call.native_id and call.native_id not in used_ids else call.id
    extra = {KEY: _call_extra(call, detail.cwd, about)}
    step.tool_calls.append(
        _ToolCall(tool_call_id=native, function_name=call.name, arguments=dict(detail.args), extra=extra)
    )
    if not call.answered:
        return
    display = display_to_json(detail.display)
    extra_fields: dict[str, Any] = {
        KEY: ResultExtra(plain=True) if display == detail.result else ResultExtra(display=display)
    }
    if call.status != "unknown":
        extra_fields["metadata"] = {
            "is_error": call.status in {"error", "denied", "cancelled", "interrupted"}
        }
    child = [{"trajectory_id": call.child, "session_id": call.child}] if call.child else None
    result = _Result(
        source_call_id=native, content=detail.result, subagent_trajectory_ref=child, extra=extra_fields
    )
    step.observation = step.observation or _Observation(results=[])
    step.observation.results.append(result)


def _call_extra(call: Call, cwd: str, about: _About) -> CallExtra:
    return CallExtra(
        op=call.op,
        native_id=call.native_id,
        level=call.level,
        by_sub_agent=call.by_sub_agent,
        parent=call.parent,
        subject=call.subject,
        paths=call.paths,
        started=call.at,
        ended=call.ended,
        duration=call.duration,
        status=call.status,
        status_source=call.status_source,
        exit_code=call.exit_code,
        permission=call.permission,
        child=call.child,
        cwd=cwd,
        live=call.live,
        changes=tuple(
            ChangeExtra(
                path=one.path,
                kind=one.kind,
                added=one.added,
                removed=one.removed,
                basis=one.basis,
                applied=one.applied,
            )
            for one in about.changes.get((call.session, call.id), ())
        ),
        **about.labels.fields(call),
    )


def _session_extra(session: Session) -> SessionExtra:
    return SessionExtra(
        format=session.format,
        parent=session.parent,
        parent_call=session.parent_call,
        title=session.title,
        cwd=session.cwd,
        repository=session.repository,
        branch=session.branch,
        commit=session.commit,
        flags=session.flags,
    )


def _metrics(session: Session, steps: int) -> dict[str, Any]:
    """Returns the final metrics. Prompt tokens of ATIF include tokens read from and written to a cache."""
    tokens = session.tokens
    metrics = {
        "total_prompt_tokens": _prompt(tokens),
        "total_completion_tokens": tokens.output,
        "total_cached_tokens": tokens.cache_read,
        "total_cost_usd": session.cost,
        "total_steps": steps,
    }
    return {name: value for name, value in metrics.items() if value is not None}


def _prompt(tokens: Tokens) -> int | None:
    parts = [one for one in (tokens.input, tokens.cache_read, tokens.cache_write) if one is not None]
    return sum(parts) if parts else None


def _iso(at: float | None) -> str | None:
    return (
        None
        if at is None
        else datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    )
