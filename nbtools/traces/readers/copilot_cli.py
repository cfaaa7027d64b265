"""Reads the sessions of GitHub Copilot CLI (``~/.copilot/session-state/*/events.jsonl``): one event per line.

An answer requests calls; events then say when each began and how it ended.
Calls of sub-agents name the call that started the sub-agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from nbtools.traces.conversation import tokens_of
from nbtools.traces.display_builders import detail_of, exit_code_of_result, media_of
from nbtools.traces.json_access import (
    arguments,
    counts_in,
    epoch_seconds,
    first_text,
    id_text,
    integer_of,
    mapping,
    mappings,
    names,
    string,
    text_of,
)
from nbtools.traces.line_reading import LineReading
from nbtools.traces.model import Call, Detail, EventKind, Origin, Ref, Status, StatusSource, Tokens
from nbtools.traces.reader import Format, Head
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, duration_of, status_of_flag
from nbtools.traces.source import Source

_RECOGNISED = names(
    "session.start session.resume user.message assistant.message assistant.turn_start"
    " tool.execution_start tool.execution_complete"
)
_KINDS: dict[str, EventKind] = {
    "assistant.reasoning": "thinking",
    "session.error": "error",
    "session.warning": "error",
    "session.compaction_complete": "compaction",
    "abort": "error",
}
_STATE = frozenset(
    names(
        "session.start session.resume session.shutdown session.model_change session.usage_checkpoint"
        " session.usage_info session.usage_record session.auto_mode_resolved session.mode_changed"
        " session.compaction_start session.idle session.title_changed assistant.turn_start assistant.turn_end"
        " assistant.intent assistant.usage hook.start hook.end permission.requested permission.completed"
        " tool.execution_progress tool.execution_partial_result"
    )
)
"""Events of the application's state, in which nobody said or did anything."""
_TEXTS = names("content message summaryContent summary reason agentDescription agentName name")
_USAGE = {
    "inputTokens": "input",
    "outputTokens": "output",
    "cacheReadTokens": "cache_read",
    "cacheWriteTokens": "cache_write",
}
_RECORDED_USAGE = {**_USAGE, "reasoningTokens": "reasoning"}


class CopilotCli(Format):
    name = "copilot-cli"

    def recognises(self, head: Head) -> bool:
        return any(_is_event(record) for record in head.records)

    def begin(self, source: Source, origin: Origin) -> LineReading:
        log = LogBuilder(self.name, origin)
        name = source.path.parent.name if source.path.name == "events.jsonl" else source.path.stem
        reading = _SessionReader(SessionBuilder(log, name))
        decode = msgspec.json.Decoder(dict).decode
        return LineReading(log.rows, decode, reading.event, lambda: reading.end(source.whole()))

    def detail(self, source: Source, call: Call) -> Detail:
        data = mapping(mapping(source.record(call.ref)).get("data"))
        listed = mappings(data.get("toolRequests"))
        requests = [one for one in listed if id_text(one.get("toolCallId")) == call.native_id]
        answer = mapping(mapping(source.record(call.result_ref)).get("data")) if call.answered else {}
        result = mapping(answer.get("result"))
        args = arguments((requests[0] if requests else data).get("arguments"))
        extra = {"detailedContent": result["detailedContent"]} if result.get("detailedContent") else {}
        return detail_of(call, args, _result(answer), tuple(media_of(result.get("contents"))), extra)


def _is_event(record: Mapping[str, Any]) -> bool:
    return (
        string(record.get("type")) in _RECOGNISED
        and isinstance(record.get("data"), dict)
        and {"id", "timestamp", "parentId"} <= record.keys()
    )


class _SessionReader:
    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self.context: Mapping[str, Any] = {}
        self.version = ""
        self.output = 0
        self.recorded: dict[str, int] = {}
        """The places in the session's requests of those with their own record, by the request's id."""
        self.began: dict[str, float | None] = {}
        self.calls: dict[str, str] = {}
        """The ids of all calls by the log's own ids."""
        self.decisions: dict[str, str] = {}
        self.kinds = {
            "user.message": self._prompt,
            "assistant.message": self._answer,
            "tool.execution_start": self._start,
            "tool.user_requested": self._start,
            "tool.execution_complete": self._complete,
            "permission.completed": self._decide,
            "session.usage_record": self._usage,
        }

    def event(self, record: Mapping[str, Any], ref: Ref) -> None:
        session, kind, data = self.session, string(record.get("type")), mapping(record.get("data"))
        at = epoch_seconds(record.get("timestamp"))
        session.see(at, string(data.get("model")) if kind == "assistant.message" else "")
        if kind in {"session.start", "session.resume"}:
            self._begin(data)
        session.records += 1
        if kind == "session.shutdown":
            self._total(mapping(data.get("modelMetrics")))
        if kind in self.kinds:
            self.kinds[kind](data, ref, at)
        elif kind not in _STATE:
            event, key = _KINDS.get(kind, "system"), id_text(record.get("id"))
            session.event(event, first_text(data, _TEXTS), ref, at, type=kind, key=key)

    def _begin(self, data: Mapping[str, Any]) -> None:
        if not self.session.records:  # no row has the session's id yet
            self.session.id = string(data.get("sessionId")) or self.session.id
        self.context = mapping(data.get("context")) or self.context
        self.version = string(data.get("copilotVersion")) or self.version

    def _total(self, models: Mapping[str, Any]) -> None:
        """Takes the totals of a shutdown; where the session was resumed, the last one counts."""
        found: Counter[str] = Counter()
        for model, metrics in models.items():
            usage = mapping(mapping(metrics).get("usage"))
            self.session.see(None, model if usage else "")
            found.update(counts_in(usage, _USAGE))
        self.session.native = dict(found) or self.session.native

    def _prompt(self, data: Mapping[str, Any], ref: Ref, at: float | None) -> None:
        by_agent = string(data.get("source")).startswith("agent-")  # a sub-agent's task
        kind: EventKind = "system" if by_agent else "user"
        self.session.message(kind, text_of(data.get("content")), ref, at, "user", type="user.message")
        for one in mappings(data.get("attachments")):
            name = string(one.get("path")) or string(one.get("displayName"))
            self.session.event("attachment", name, ref, at, "user", type=string(one.get("type")))

    def _answer(self, data: Mapping[str, Any], ref: Ref, at: float | None) -> None:
        model, key = string(data.get("model")), id_text(data.get("messageId"))
        first, output = self.session.log.seq + 1, integer_of(data.get("outputTokens"))
        self.output += output or 0
        texts: dict[EventKind, str] = {"thinking": "reasoningText", "assistant_text": "content"}
        for kind, name in texts.items():
            if text := text_of(data.get(name)):
                self.session.event(kind, text, ref, at, "assistant", model, "assistant.message", key)
        for request in mappings(data.get("toolRequests")):
            self._call(request, string(request.get("name")), string(data.get("parentToolCallId")), ref, at)
        place = self.recorded.get(id_text(data.get("apiCallId")))
        if place is not None:  # the request's record comes before its answer
            requests, last = self.session.requests, self.session.log.seq
            if first <= last:
                requests[place] = replace(requests[place], seq=first, last=last, turn=self.session.turn)
        elif output is not None:
            self.session.request(Tokens(output=output), ref, first, id=key, model=model, at=at)

    def _usage(self, data: Mapping[str, Any], ref: Ref, at: float | None) -> None:
        """Adds a request to a model, which later versions record with all its tokens."""
        usage = mapping(data.get("usage"))
        model, key = string(usage.get("model")), id_text(usage.get("apiCallId"))
        counts = counts_in(usage, _RECORDED_USAGE)
        if counts and (not key or key not in self.recorded):
            if key:
                self.recorded[key] = len(self.session.requests)
            self.session.see(None, model)
            self.session.request(tokens_of(counts), ref, id=key, model=model, at=at)

    def _start(self, data: Mapping[str, Any], ref: Ref, at: float | None) -> None:
        """Notes when a call began; one that no answer requested begins here."""
        native = id_text(data.get("toolCallId"))
        self.began[native] = at
        if native not in self.calls:
            self._call(data, string(data.get("toolName")), string(data.get("parentToolCallId")), ref, at)

    def _call(self, data: Mapping[str, Any], name: str, parent: str, ref: Ref, at: float | None) -> None:
        native, args = id_text(data.get("toolCallId")), arguments(data.get("arguments"))
        if native and native in self.calls:  # an event of a call that began before its answer was written
            return
        id_ = self.session.unique_id(native)
        self.calls[native] = id_
        call = self.session.call(
            id_,
            name or "?",
            ref,
            args,
            native_id=native,
            level="nested" if parent else "model",
            by_sub_agent=bool(parent),
            parent=self.calls.get(parent, parent),
            at=at,
        )
        self.session.wait(call, args)

    def _complete(self, data: Mapping[str, Any], ref: Ref, at: float | None) -> None:
        native, text = id_text(data.get("toolCallId")), _result(data)
        call = self.session.waiting(native) if native else None
        if call is None:
            self.session.event("tool_result", text, ref, at, "tool", key=native)
            return
        status, source = _outcome(data)
        code = exit_code_of_result(text) if call.op == "shell" else None
        taken = duration_of(self.began.get(native, call.at), at)
        call = replace(call, permission=self.decisions.get(native, ""))
        self.session.result(call, ref, len(text), at, status, source, duration=taken, exit_code=code)

    def _decide(self, data: Mapping[str, Any], _ref: Ref, _at: float | None) -> None:
        if native := id_text(data.get("toolCallId")):
            self.decisions[native] = string(mapping(data.get("result")).get("kind"))

    def end(self, ref: Ref) -> None:
        native = self.session.native or ({"output": self.output} if self.output else {})
        self.session.end(
            format_version=self.version,
            agent="copilot-cli",
            agent_version=self.version,
            cwd=string(self.context.get("cwd")),
            repository=string(self.context.get("repository")),
            branch=string(self.context.get("branch")),
            commit=string(self.context.get("headCommit")),
            tokens=tokens_of(native),
            native_tokens=native,
            ref=ref,
        )


def _outcome(data: Mapping[str, Any]) -> tuple[Status, StatusSource]:
    code = string(mapping(data.get("error")).get("code"))
    if code in {"denied", "rejected"}:
        return "denied", "flag"
    success = data.get("success")
    return status_of_flag(not success if isinstance(success, bool) else None)


def _result(data: Mapping[str, Any]) -> str:
    """Returns what the model read of a call that ended."""
    result = data.get("result")
    text = string(mapping(result).get("content")) or text_of(result)
    return text or string(mapping(data.get("error")).get("message"))
