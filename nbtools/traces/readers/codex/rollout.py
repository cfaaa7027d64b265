"""Reader of Codex rollouts: converts their records into rows.

A call has several records: the model's request, events about its end, and the output.  Events that repeat an
item (messages, prompts) become progress rows; a session's text comes from its items.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from nbtools.traces.json_access import epoch_seconds, mapping, string, strings
from nbtools.traces.line_reading import LineReading
from nbtools.traces.lineage import Lineage, lineage_of
from nbtools.traces.model import PREVIEW, Call, Detail, EventKind, Origin, Problem, Ref
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.codex.calls import CALL_ITEMS, END_EVENTS, HOSTED_ITEMS, OUTPUT_ITEMS, Calls
from nbtools.traces.readers.codex.detail import detail
from nbtools.traces.readers.codex.prompts import Prompts, agent_message, title, working_directory
from nbtools.traces.readers.codex.records import ENVELOPES, Line, Payload, decode, decode_raw, text_of
from nbtools.traces.readers.codex.sessions import CodexSession, SessionAssigner, permission_text
from nbtools.traces.session_builder import LogBuilder
from nbtools.traces.source import Source, read_start

_HEADS = ("session_meta", "turn_context")
_TURNS = ("task_started", "turn_started")
_NONE = msgspec.Raw(b"[]")
_COMPACTIONS = {"compaction", "context_compaction", "compaction_summary"}
_ANSWERS = {"reasoning", *CALL_ITEMS, *HOSTED_ITEMS}
"""Items that the model wrote, besides its messages."""
_SILENT = {"ghost_snapshot", "additional_tools", "compaction_trigger", "other"}
_Handler = Callable[[Payload, float | None, Ref], None]


class RolloutReader:
    """Reads one log.  ``rewound`` are turns rolled back later; ``rolled_back`` those rolled back so far."""

    def __init__(self, origin: Origin, name: str, rewound: frozenset[int], prompts: Prompts) -> None:
        self.log = LogBuilder("codex", origin)
        self.prompts = prompts
        self.rewound = rewound
        self.owners = SessionAssigner(self.log, name)
        self.session = self.owners.current
        self.calls = Calls(self.session)
        self.model = ""
        self.turns: list[int] = []
        self.rolled_back: set[int] = set()
        self.compactions = 0
        self._events: dict[Any, _Handler] = {
            "token_count": self._tokens,
            "task_started": self._turn,
            "turn_started": self._turn,
            "turn_aborted": self._aborted,
            "thread_rolled_back": self._rolled_back,
            "thread_name_updated": self._title,
            "item_completed": self._item_completed,
            "user_message": self._recorded_prompt,
            "exited_review_mode": self._review,
            "error": self._error,
            "stream_error": self._error,
            "collab_agent_spawn_end": self.calls.on_spawn,
            **dict.fromkeys(END_EVENTS, self.calls.on_end),
        }
        self._items: dict[Any, _Handler] = {
            "message": self._message,
            "reasoning": self._reasoning,
            "agent_message": self._agent_message,
            **dict.fromkeys(CALL_ITEMS, self.calls.on_call),
            **dict.fromkeys(OUTPUT_ITEMS, self.calls.on_output),
            **dict.fromkeys(HOSTED_ITEMS, self.calls.on_hosted_call),
            **dict.fromkeys(_COMPACTIONS, self._compaction),
            **dict.fromkeys(_SILENT, self._silent_item),
        }

    def problem(self, _: Problem) -> None:
        self._switch(self.owners.ensure())
        self.session.flags["malformed"] = None

    def line(self, line: Line, ref: Ref) -> None:
        at, kind, payload = epoch_seconds(line.timestamp), line.type, line.payload
        if not isinstance(payload, Payload):
            self._assign_session("", None, at, ref)
            self._other(kind, at, ref)
            return
        type_ = payload.type if isinstance(payload.type, str) else ""
        if self.owners.uncertain or kind in _HEADS or type_ in _TURNS:
            self._assign_session(kind, payload, at, ref)
        else:
            session = self.session
            session.records += 1
            session.see(at)
        if kind == "response_item":
            if self.session.answer is None and (type_ in _ANSWERS or payload.role == "assistant"):
                self.session.answer = self.log.seq + 1
            self._items.get(type_, self._unknown_item)(payload, at, ref)
        elif kind == "event_msg":
            self._events.get(type_, self.calls.add_progress)(payload, at, ref)
        else:
            self._record(kind, payload, at, ref)

    def _assign_session(self, kind: Any, payload: Payload | None, at: float | None, ref: Ref) -> None:
        if kind == "session_meta" and payload is not None:
            self.owners.head(payload, at, ref)
        elif payload is not None and (kind in _HEADS or payload.type in _TURNS):
            self.owners.turn(payload)
        self._switch(self.owners.record(at))
        self.session.records += 1
        self.session.see(at)
        self._update_live()

    def _switch(self, session: CodexSession) -> None:
        """Continues with another session; turns are numbered over all of them."""
        if session is not self.session:
            session.turn = self.session.turn
            self.session = self.calls.session = session

    def _update_live(self) -> None:
        self.session.live = not self.session.copied and self.session.turn not in self.rewound

    @property
    def changes_rows(self) -> bool:
        """Whether a line changed earlier rows:
        it rolled a turn back, or recorded a prompt, that was not known when reading began.
        """
        return self.prompts.changes_rows or not self.rolled_back <= self.rewound

    def finish(self) -> None:
        self.calls.add_open()
        self.owners.finish({"hosted_calls": self.calls.hosted, "compactions": self.compactions})

    def _event(
        self,
        kind: EventKind,
        text: str,
        payload: Payload,
        at: float | None,
        ref: Ref,
        role: str = "",
        key: str = "",
    ) -> None:
        model = self.model if role == "assistant" else ""
        self.session.event(kind, text, ref, at, role, model, string(payload.type), key)

    def _reasoning(self, payload: Payload, at: float | None, ref: Ref) -> None:
        """Emits reasoning; encrypted reasoning has no text."""
        summary = "" if payload.summary == _NONE else text_of(decode_raw(payload.summary))
        content = summary or text_of(payload.content)
        self._event("thinking", content, payload, at, ref, "assistant")

    def _compaction(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self._event("compaction", "", payload, at, ref)

    def _silent_item(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self._event("system", "", payload, at, ref)

    def _unknown_item(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.session.flags["unknown_records"] = None
        self._event("system", "", payload, at, ref)

    def _record(self, kind: Any, payload: Payload, at: float | None, ref: Ref) -> None:
        if kind == "compacted":
            self.compactions += 1
            self.session.event("compaction", text_of(decode_raw(payload.message)), ref, at, type=kind)
            return
        if kind == "turn_context":
            self._context(payload)
        elif kind == "session_meta":
            self.session.event("system", _instructions(payload), ref, at, type=kind)
            return
        elif kind == "token_usage_record":  # from 0.170 on; a token count with the same total follows
            total, latest = mapping(payload.thread_token_usage), mapping(payload.usage)
            self.session.set_usage(total, latest, self.model, at, ref, string(payload.response_id))
        self._other(kind, at, ref)

    def _other(self, kind: Any, at: float | None, ref: Ref) -> None:
        if kind == "compacted":
            self.compactions += 1
        self.session.generation = self.session.generation or ("bare" if kind == "state" else "")
        if not isinstance(kind, str) or (kind not in ENVELOPES and kind != "state"):
            self.session.flags["unknown_records"] = None
        self.session.event("system", "", ref, at, type=string(kind))

    def _context(self, payload: Payload) -> None:
        self.model = string(payload.model)
        if self.model:
            self.session.models[self.model] = None
        self.session.cwd = self.session.cwd or string(payload.cwd)
        self.calls.permission = permission_text(payload.approval_policy, payload.sandbox_policy)

    def _message(self, payload: Payload, at: float | None, ref: Ref) -> None:
        role, content = string(payload.role), text_of(payload.content)
        if role == "assistant":
            self.prompts.answered()
            self._event("assistant_text", content, payload, at, ref, role, string(payload.id))
        elif role == "user" and self.prompts.is_typed(payload, content, ref):
            self._prompt(content)
            self._event("user", content, payload, at, ref, role, string(payload.id))
        else:
            self.session.cwd = self.session.cwd or working_directory(content)
            self._event("system", content, payload, at, ref, role, string(payload.id))

    def _prompt(self, prompt: str) -> None:
        self.calls.flush()
        self.session.turn += 1
        self.turns.append(self.session.turn)
        self._update_live()
        if not self.session.title:
            self.session.title = title(prompt)

    def _recorded_prompt(self, payload: Payload, at: float | None, ref: Ref) -> None:
        """Adds a prompt that only this event has; usually it repeats a message."""
        if text := self.prompts.record(payload):
            self._prompt(text)
            self._event("user", text, payload, at, ref, "user")
        else:
            self.calls.add_progress(payload, at, ref)

    def _item_completed(self, payload: Payload, at: float | None, ref: Ref) -> None:
        kind = mapping(payload.item).get("type")
        if kind == "UserMessage":
            self._recorded_prompt(payload, at, ref)
        elif kind == "ExitedReviewMode":
            self._event("system", string(mapping(payload.item).get("review")), payload, at, ref)
        else:
            self.calls.on_item_completed(payload, at, ref)

    def _agent_message(self, payload: Payload, at: float | None, ref: Ref) -> None:
        """Adds a message from one agent to another."""
        self._event("system", agent_message(payload), payload, at, ref, "agent", string(payload.id))

    def _review(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self._event("system", "\n\n".join(strings(payload.review_output)), payload, at, ref)

    def _tokens(self, payload: Payload, at: float | None, ref: Ref) -> None:
        info = mapping(payload.info)
        total, latest = mapping(info.get("total_token_usage")), mapping(info.get("last_token_usage"))
        self.session.set_usage(total, latest, self.model, at, ref)
        self.calls.add_progress(payload, at, ref)

    def _turn(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.calls.flush()
        self.calls.add_progress(payload, at, ref)

    def _aborted(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.calls.on_abort()
        self._event("system", string(payload.reason), payload, at, ref)

    def _rolled_back(self, payload: Payload, at: float | None, ref: Ref) -> None:
        count = payload.num_turns if isinstance(payload.num_turns, int) else 0
        while count > 0 and self.turns:
            self.rolled_back.add(self.turns.pop())
            count -= 1
        self._event("system", "", payload, at, ref)

    def _title(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.session.title = string(payload.thread_name)[:PREVIEW] or self.session.title
        self._event("progress", string(payload.thread_name), payload, at, ref)

    def _error(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self._event("error", text_of(decode_raw(payload.message)), payload, at, ref)


def _instructions(payload: Payload) -> str:
    """Returns the system prompt, which the head of a session has."""
    given = payload.base_instructions
    return string(mapping(given).get("text")) or string(given) or string(payload.instructions)


_ENVELOPE = re.compile(
    rb'"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context|compacted|world_state|token_usage_record)"'
)
_STATE = re.compile(rb'^\s*\{\s*"record_type"\s*:\s*"state"', re.MULTILINE)
_SESSION_ID = re.compile(rb'"type"\s*:\s*"session_meta".{0,400}?"id"\s*:\s*"([^"\\]+)"', re.DOTALL)
_START = 1 << 20


class Codex(Format):
    """Reads Codex rollouts."""

    name = "codex"

    def recognises(self, head: Head) -> bool:
        if head.has("payload") and _ENVELOPE.search(head.start):
            return True
        first = mapping(head.first)
        bare = "type" not in first and {"id", "timestamp", "instructions"} <= first.keys()
        return bare or (head.is_json and _STATE.search(head.start) is not None)

    def lineage(self, head: Head) -> Lineage | None:
        first = mapping(head.first)
        payload = mapping(first.get("payload"))
        if first.get("type") != "session_meta" or "subagent" in mapping(payload.get("source")):
            return None
        origins = [string(payload.get("forked_from_id"))]
        return lineage_of([string(payload.get("id"))], origins, [payload], "id")

    def begin(self, source: Source, origin: Origin) -> LineReading:
        name = _name(source)
        prompts = Prompts.of(source)
        reading = RolloutReader(origin, name, _rewound(source, origin, name, prompts), prompts)
        add, end, problem = reading.line, reading.finish, reading.problem
        return LineReading(reading.log.rows, decode, add, end, problem, lambda: reading.changes_rows)

    def detail(self, source: Source, call: Call) -> Detail:
        return detail(source, call)


def _name(source: Source) -> str:
    """Returns the session's id, also for records before the line that contains it."""
    found = _SESSION_ID.search(read_start(source.path, _START))
    return found[1].decode("utf-8", "replace") if found else source.path.stem


def _rewound(source: Source, origin: Origin, name: str, prompts: Prompts) -> frozenset[int]:
    """Returns the turns that were rolled back later.  Few logs have any; only those are read twice."""
    if not prompts.rolls_back:
        return frozenset()
    reading = RolloutReader(origin, name, frozenset(), Prompts.of(source))
    for item in source.lines(decode):
        if not isinstance(item, Problem):
            reading.line(item[1], item[0])
        reading.log.rows.clear()
    return frozenset(reading.rolled_back)
