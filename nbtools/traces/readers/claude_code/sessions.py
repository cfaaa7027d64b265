"""Sums up a session while its records are read, and links sub-agents to the calls that started them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from nbtools.traces.model import Call, Ref, RequestUsage, SentRequest, Tokens
from nbtools.traces.readers.claude_code.files import AgentLog
from nbtools.traces.readers.claude_code.records import AGENTS, Block, Line, Message, Outcome, Usage
from nbtools.traces.session_builder import LogBuilder, SessionBuilder

_NO_MODEL = "<synthetic>"
_FIELDS = ("input", "output", "cache_write", "cache_read")


class MessageUsage(Struct, gc=False):
    """Token usage of an API message.  Its records repeat the usage, so ``numbers`` are the maxima.

    Its steps are those from ``first_seq`` to ``last_seq``, if it has any; ``ref`` is its first record.
    ``request`` is the id of the request that it answers, ``sent`` that request where the log has all of it.
    """

    last: Usage
    id: str
    model: str
    first_seq: int
    last_seq: int
    turn: int
    live: bool
    at: float | None
    ref: Ref
    request: str = ""
    sent: SentRequest | None = None
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


class ClaudeSession(SessionBuilder):
    """A session under construction.  ``echoes`` maps ids of calls in progress records to tool names."""

    def __init__(self, log: LogBuilder, name: str, ref: Ref) -> None:
        super().__init__(log, name)
        self.ref = ref
        self.parent = self.cwd = self.branch = self.version = self.title = self.model = ""
        self.sidechain = self.images = self.compactions = self.title_weight = 0
        self.messages: list[MessageUsage] = []
        self.echoes: dict[str, str] = {}
        self.cost: float | None = None

    def describe(self, line: Line) -> None:
        self.version = line.version or self.version
        self.branch = line.git_branch or self.branch
        self.cwd = self.cwd or line.cwd or ""

    def set_title(self, title: str, weight: int) -> None:
        """Sets the title; one that the person chose outweighs a generated one."""
        if title and weight >= self.title_weight:
            self.title, self.title_weight = title, weight

    def add_usage(
        self,
        message: Message,
        known: dict[str, MessageUsage],
        at: float | None,
        ref: Ref,
        *,
        nested: bool = False,
    ) -> MessageUsage | None:
        """Returns the usage of the message, to which the record's steps are added; None where it has none.

        ``nested``: a sub-agent's message in a progress record, whose model is not the session's.
        """
        model, usage = message.model, message.usage
        if usage is None or not message.id or model == _NO_MODEL:
            return None
        if model != self.model and model and not nested:
            self.model = model
            self.models[model] = None
        spent = known.get(message.id)
        if spent is None:
            seq = self.log.seq
            spent = known[message.id] = MessageUsage(
                usage, message.id, model or "", seq + 1, seq, self.turn, self.live, at, ref
            )
            self.messages.append(spent)
        elif usage != spent.last:
            spent.add(usage)
        if message.stop_reason:
            spent.finished = True
        return spent

    def finish(self, calls: set[str], parent: str, parent_call: str) -> None:
        """Adds the session's row; ``calls`` are the ids of all calls in the log."""
        numbers = [spent.numbers for spent in self.messages]
        tokens = {name: sum(one[index] for one in numbers) for index, name in enumerate(_FIELDS)}
        self.requests = [self._request(spent) for spent in self.messages]
        nested = Counter(name for call, name in self.echoes.items() if call not in calls)
        flags = dict(self.flags)
        if 2 * sum(not spent.finished for spent in self.messages) > len(self.messages):
            flags["tokens_placeholder"] = None
        self.end(
            flags=tuple(flags),
            format_version=self.version,
            agent="claude-code",
            agent_version=self.version,
            parent=parent,
            parent_call=parent_call,
            title=self.title,
            cwd=self.cwd,
            branch=self.branch,
            tokens=Tokens(**tokens),
            native_tokens=tokens,
            cost=self.cost,
            counts={
                "api_messages": len(self.messages),
                "sidechain_records": self.sidechain,
                "images": self.images,
                "compactions": self.compactions,
                "nested_by_name": dict(sorted(nested.items())),
            },
            ref=self.ref,
        )

    def _request(self, spent: MessageUsage) -> RequestUsage:
        fresh, output, written, read = spent.numbers
        has_steps = spent.first_seq <= spent.last_seq
        return RequestUsage(
            self.id,
            spent.first_seq if has_steps else None,
            spent.last_seq if has_steps else None,
            "request",
            spent.id,
            spent.model,
            spent.at,
            spent.turn,
            spent.live,
            Tokens(fresh, read, written, output),
            None,
            () if spent.finished else ("placeholder",),
            spent.ref,
            spent.sent,
        )


class PendingCall(Struct, gc=False):
    """A call without its result; ``record`` is the id of the record that makes it."""

    call: Call
    block: Block
    record: str


class SubAgentLinks:
    """Links between calls and sub-agents.
    ``parents`` maps a sub-agent with a file to the session and call that started it.
    """

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
            self._prompts[call.block.input.prompt] = call.call.id

    def follow(self, line: Line) -> None:
        """Follows a sub-agent's records in the session's own file (until 2.0):
        its first prompt is that of the call that started it.
        """
        prompt = line.message.content if line.message else ""
        known = self._chains.get(line.parent_uuid or "")
        if not known:
            known = self._prompts.get(prompt, "") if isinstance(prompt, str) else ""
        self._chains[line.uuid or ""] = known

    def call_around(self, line: Line) -> str:
        """Returns the call that started the sub-agent of this record; empty for the session's own records."""
        return self._chains.get(line.uuid or "", "") if self._chains else ""

    def next_file(self) -> None:
        self._chains.clear()

    def child(self, pending: PendingCall, outcome: Outcome | None) -> str:
        """Returns the sub-agent's session, found by the call its file names, by the agent the result names,
        or by its first prompt.
        """
        call = pending.call
        prompt = pending.block.input.prompt if pending.block.input else None
        named = f"agent-{outcome.agent_id}" if outcome and outcome.agent_id else ""
        tests: tuple[Callable[[AgentLog], bool], ...] = (
            lambda agent: bool(call.native_id) and agent.call == call.native_id,
            lambda agent: agent.id == named,
            lambda agent: bool(agent.prompt) and agent.prompt == prompt and agent.id not in self.parents,
        )
        found = next(
            (agent.id for fits in tests for agent in self.agents if fits(agent)), self._only.get(call.id, "")
        )
        if found and found != call.session:
            self.parents.setdefault(found, (call.session, call.id))
        return found

    def link_last_pair(self, waiting: Sequence[PendingCall]) -> None:
        """Links one remaining call and one remaining sub-agent, even if no record connects them."""
        left = [call for call in waiting if call.block.name in AGENTS]
        free = [agent for agent in self.agents if agent.id not in self.parents]
        if len(left) == len(free) == 1:
            self._only[left[0].call.id] = free[0].id
