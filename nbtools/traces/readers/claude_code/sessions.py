"""Collects the facts of a session while its records are read, and links sub-agents to the calls that started them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from nbtools.traces.model import Ref, Session, Tokens
from nbtools.traces.readers.claude_code.calls import PendingCall
from nbtools.traces.readers.claude_code.files import AgentLog
from nbtools.traces.readers.claude_code.records import AGENTS, Line, Message, Outcome, Usage

_NO_MODEL = "<synthetic>"
_FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class MessageUsage(Struct, gc=False):
    """Token usage of an API message.  Its records repeat the usage, so ``numbers`` are the maxima."""

    last: Usage
    most: tuple[int, int, int, int] | None = None
    finished: bool = False

    def add(self, usage: Usage) -> None:
        a, b, c, d = self.numbers
        self.last = usage
        e, f, g, h = _numbers(usage)
        self.most = (max(a, e), max(b, f), max(c, g), max(d, h))

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        return self.most or _numbers(self.last)


def _numbers(usage: Usage) -> tuple[int, int, int, int]:
    return (
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_creation_input_tokens or 0,
        usage.cache_read_input_tokens or 0,
    )


class SessionBuilder:
    """A session under construction.  ``echoes`` maps ids of calls in progress records to tool names."""

    def __init__(self, session: str, ref: Ref) -> None:
        self.id, self.ref = session, ref
        self.parent = self.parent_call = ""
        self.started, self.ended = math.inf, -math.inf
        self.records = self.sidechain = self.images = self.compactions = self.turn = 0
        self.cwd = self.branch = self.version = self.title = ""
        self.named = 0
        self.model = ""
        self.models: dict[str, None] = {}
        self.messages: list[MessageUsage] = []
        self.echoes: dict[str, str] = {}
        self.flags: dict[str, None] = {}
        self.counts: dict[str, Any] = {}
        self.cost: float | None = None

    def count_record(self, at: float | None) -> None:
        self.records += 1
        if at is not None:
            if at > self.ended:  # noqa: PLR1730 - runs for every line: max() takes three times as long
                self.ended = at
            if at < self.started:  # noqa: PLR1730
                self.started = at

    def describe(self, line: Line) -> None:
        self.version = line.version or self.version
        self.branch = line.git_branch or self.branch
        self.cwd = self.cwd or line.cwd or ""

    def set_title(self, title: str, weight: int) -> None:
        """Sets the title; one that the person chose outweighs a generated one."""
        if title and weight >= self.named:
            self.title, self.named = title, weight

    def add_usage(self, message: Message, known: dict[str, MessageUsage]) -> None:
        model, usage = message.model, message.usage
        if usage is None or not message.id or model == _NO_MODEL:
            return
        if model != self.model and model:
            self.model = model
            self.models[model] = None
        spent = known.get(message.id)
        if spent is None:
            spent = known[message.id] = MessageUsage(usage)
            self.messages.append(spent)
        elif usage != spent.last:
            spent.add(usage)
        if message.stop_reason:
            spent.finished = True

    def session(self, calls: set[str]) -> Session:
        uncached, out, written, cached = (sum(spent.numbers[field] for spent in self.messages) for field in range(len(_FIELDS)))
        timed = self.ended > -math.inf
        unfinished = sum(not spent.finished for spent in self.messages)
        if 2 * unfinished > len(self.messages):
            self.flags["tokens_placeholder"] = None
        counts = {
            "api_messages": len(self.messages),
            "sidechain_records": self.sidechain,
            "images": self.images,
            "compactions": self.compactions,
            "nested_by_name": dict(sorted(Counter(name for call, name in self.echoes.items() if call not in calls).items())),
        }
        return Session(
            id=self.id,
            format="claude-code",
            format_version=self.version,
            agent="claude-code",
            agent_version=self.version,
            parent=self.parent,
            parent_call=self.parent_call,
            title=self.title,
            cwd=self.cwd,
            branch=self.branch,
            models=tuple(self.models),
            started=self.started if timed else None,
            ended=self.ended if timed else None,
            records=self.records,
            tokens=Tokens(input=uncached, cache_read=cached, cache_write=written, output=out),
            native_tokens={"input": uncached, "output": out, "cache_write": written, "cache_read": cached},
            cost=self.cost,
            flags=tuple(self.flags),
            counts={**counts, **self.counts},
            ref=self.ref,
        )


class SubAgentLinks:
    """Links between calls and sub-agents.  ``parents`` maps a sub-agent with a file to the session and call that started it."""

    def __init__(self, agents: Sequence[AgentLog]) -> None:
        self.agents = agents
        self.parents: dict[str, tuple[str, str]] = {}
        self._ids = {agent.id for agent in agents}
        self._only: dict[str, str] = {}
        self._prompts: dict[str, str] = {}
        self._chains: dict[str, str] = {}

    def has_file(self, agent: str | None) -> bool:
        """Returns whether the sub-agent has a file."""
        return f"agent-{agent}" in self._ids

    def add_call(self, call: PendingCall) -> None:
        if call.block.input and isinstance(call.block.input.prompt, str):
            self._prompts[call.block.input.prompt] = call.id

    def follow(self, line: Line) -> None:
        """Follows a sub-agent's records in the session's own file (until 2.0): its first prompt is that of the call that started it."""
        prompt = line.message.content if line.message else ""
        known = self._chains.get(line.parent_uuid or "")
        self._chains[line.uuid or ""] = known or (self._prompts.get(prompt, "") if isinstance(prompt, str) else "")

    def call_around(self, line: Line) -> str:
        """Returns the call that started the sub-agent of this record; empty for the session's own records."""
        return self._chains.get(line.uuid or "", "") if self._chains else ""

    def next_file(self) -> None:
        self._chains.clear()

    def child(self, call: PendingCall, outcome: Outcome | None) -> str:
        """Returns the sub-agent's session, found by the call its file names, by the agent the result names, or by its first prompt."""
        prompt = call.block.input.prompt if call.block.input else None
        named = f"agent-{outcome.agent_id}" if outcome and outcome.agent_id else ""
        tests: tuple[Callable[[AgentLog], bool], ...] = (
            lambda agent: bool(call.native) and agent.call == call.native,
            lambda agent: agent.id == named,
            lambda agent: bool(agent.prompt) and agent.prompt == prompt and agent.id not in self.parents,
        )
        found = next((agent.id for fits in tests for agent in self.agents if fits(agent)), self._only.get(call.id, ""))
        if found and found != call.session:
            self.parents.setdefault(found, (call.session, call.id))
        return found

    def link_last_pair(self, waiting: Sequence[PendingCall]) -> None:
        """Links one remaining call and one remaining sub-agent, even if nothing is recorded that connects them."""
        left = [call for call in waiting if call.block.name in AGENTS]
        free = [agent for agent in self.agents if agent.id not in self.parents]
        if len(left) == len(free) == 1:
            self._only[left[0].id] = free[0].id
