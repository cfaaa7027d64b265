"""The records of a rollout on their way into rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from nbtools.traces.formats.codex.calls import ANSWERS, ASKED, ENDS, HOSTED, Calls
from nbtools.traces.formats.codex.prompts import folder, injected, rules, title
from nbtools.traces.formats.codex.records import ENVELOPES, Line, Payload, text, value, word
from nbtools.traces.formats.codex.sessions import Owners
from nbtools.traces.formats.codex.telling import Telling
from nbtools.traces.model import PREVIEW, Origin, Problem, Ref
from nbtools.traces.stamps import seconds

_HEADS = ("session_meta", "turn_context")
_TURNS = ("task_started", "turn_started")
_NONE = msgspec.Raw(b"[]")
_COMPACTIONS = {"compaction", "context_compaction", "compaction_summary"}
_SILENT = {"ghost_snapshot", "agent_message", "additional_tools", "compaction_trigger", "other"}
_Take = Callable[[Payload, float | None, Ref], None]


class Reading(Telling):
    """Of one log.  ``rewound`` are the turns that are taken back later; ``taken_back`` those that were so far."""

    def __init__(self, origin: Origin, name: str, rewound: frozenset[int]) -> None:
        super().__init__(origin)
        self.rewound = rewound
        self.owners = Owners(name)
        self.calls = Calls(self)
        self.turns: list[int] = []
        self.taken_back: set[int] = set()
        self.compactions = 0
        self._events: dict[Any, _Take] = {
            "token_count": self._tokens,
            "task_started": self._turn,
            "turn_started": self._turn,
            "turn_aborted": self._aborted,
            "thread_rolled_back": self._rolled_back,
            "thread_name_updated": self._named,
            "item_completed": self.calls.item,
            "error": self._error,
            "stream_error": self._error,
            "collab_agent_spawn_end": self.calls.spawned,
            **dict.fromkeys(ENDS, self.calls.ended),
        }
        self._items: dict[Any, _Take] = {
            "message": self._message,
            "reasoning": self._reasoning,
            **dict.fromkeys(ASKED, self.calls.asked),
            **dict.fromkeys(ANSWERS, self.calls.answered),
            **dict.fromkeys(HOSTED, self.calls.provider),
            **dict.fromkeys(_COMPACTIONS, self._compaction),
            **dict.fromkeys(_SILENT, self._silent),
        }

    def problem(self, problem: Problem) -> None:
        self.owner = self.owners.ensure()
        self.owner.flags["malformed"] = None
        self.out.append(problem)

    def line(self, ref: Ref, line: Line) -> None:
        at, kind, payload = seconds(line.timestamp), line.type, line.payload
        if not isinstance(payload, Payload):
            self._belongs("", None, at, ref)
            self._other(kind, at, ref)
            return
        type_ = payload.type if isinstance(payload.type, str) else ""
        if self.owners.uncertain or kind in _HEADS or type_ in _TURNS:
            self._belongs(kind, payload, at, ref)
        else:
            self._saw(at)
        if kind == "response_item":
            self._items.get(type_, self._strange)(payload, at, ref)
        elif kind == "event_msg":
            self._events.get(type_, self.progress)(payload, at, ref)
        else:
            self._record(kind, payload, at, ref)

    def _saw(self, at: float | None) -> None:
        owner = self.owner
        owner.records += 1
        if at is not None and (owner.ended is None or not owner.started <= at <= owner.ended):  # type: ignore[operator]
            owner.saw(at)

    def _belongs(self, kind: Any, payload: Payload | None, at: float | None, ref: Ref) -> None:
        if kind == "session_meta" and payload is not None:
            self.owners.head(payload, at, ref)
        elif payload is not None and (kind in _HEADS or payload.type in _TURNS):
            self.owners.turn(payload)
        self.owner = self.owners.record(at)
        self._saw(at)
        self._lives()

    def _lives(self) -> None:
        self.live = not self.owner.copied and self.turn not in self.rewound

    def finish(self) -> None:
        self.calls.flush(everything=True)
        self.out += self.owners.rows({"hosted_calls": self.calls.hosted, "compactions": self.compactions})

    def _reasoning(self, payload: Payload, at: float | None, ref: Ref) -> None:
        """What is encrypted is not shown."""
        said = text(payload.content) if payload.summary == _NONE else text(value(payload.summary)) or text(payload.content)
        self.say("thinking", "reasoning", at, ref, said, "assistant")

    def _compaction(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.say("compaction", payload.type, at, ref)

    def _silent(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.say("system", payload.type, at, ref)

    def _strange(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.unknown(word(payload.type), at, ref)

    def _record(self, kind: Any, payload: Payload, at: float | None, ref: Ref) -> None:
        if kind == "compacted":
            self.compactions += 1
            self.say("compaction", kind, at, ref, text(value(payload.message)))
            return
        if kind == "turn_context":
            self._context(payload)
        self._other(kind, at, ref)

    def _other(self, kind: Any, at: float | None, ref: Ref) -> None:
        if kind == "compacted":
            self.compactions += 1
        self.owner.generation = self.owner.generation or ("bare" if kind == "state" else "")
        self.unknown(word(kind), at, ref, known=isinstance(kind, str) and (kind in ENVELOPES or kind == "state"))

    def _context(self, payload: Payload) -> None:
        self.model = word(payload.model)
        if self.model:
            self.owner.models[self.model] = None
        self.owner.cwd = self.owner.cwd or word(payload.cwd)
        self.permission = rules(payload.approval_policy, payload.sandbox_policy)

    def _message(self, payload: Payload, at: float | None, ref: Ref) -> None:
        role, said = word(payload.role), text(payload.content)
        if role == "assistant":
            self.say("assistant_text", "message", at, ref, said, role, word(payload.id))
        elif role == "user" and not injected(said):
            self._prompt(said)
            self.say("user", "message", at, ref, said, role, word(payload.id))
        else:
            self.owner.cwd = self.owner.cwd or folder(said)
            self.say("system", "message", at, ref, said, role, word(payload.id))

    def _prompt(self, said: str) -> None:
        self.calls.flush()
        self.turn += 1
        self.turns.append(self.turn)
        self._lives()
        if not self.owner.title:
            self.owner.title = title(said)

    def _tokens(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.owner.used(payload.info)
        self.progress(payload, at, ref)

    def _turn(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.calls.flush()
        self.progress(payload, at, ref)

    def _aborted(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.calls.aborted()
        self.say("system", payload.type, at, ref, word(payload.reason))

    def _rolled_back(self, payload: Payload, at: float | None, ref: Ref) -> None:
        count = payload.num_turns if isinstance(payload.num_turns, int) else 0
        while count > 0 and self.turns:
            self.taken_back.add(self.turns.pop())
            count -= 1
        self.say("system", payload.type, at, ref)

    def _named(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.owner.title = word(payload.thread_name)[:PREVIEW] or self.owner.title
        self.say("progress", payload.type, at, ref, word(payload.thread_name))

    def _error(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.say("error", payload.type, at, ref, text(value(payload.message)))
