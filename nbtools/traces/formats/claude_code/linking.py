"""Which call started which sub-agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nbtools.traces.formats.claude_code.calls import Asked
from nbtools.traces.formats.claude_code.files import Agent
from nbtools.traces.formats.claude_code.names import AGENTS
from nbtools.traces.formats.claude_code.records import Line, Outcome


class Links:
    """``parents`` are the session and the call in it that started each agent that has a file."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.agents = agents
        self.parents: dict[str, tuple[str, str]] = {}
        self._ids = {agent.id for agent in agents}
        self._only: dict[str, str] = {}
        self._prompts: dict[str, str] = {}
        self._chains: dict[str, str] = {}

    def knows(self, agent: str | None) -> bool:
        """Whether it has a file."""
        return f"agent-{agent}" in self._ids

    def remember(self, asked: Asked) -> None:
        if asked.block.input and isinstance(asked.block.input.prompt, str):
            self._prompts[asked.block.input.prompt] = asked.id

    def follow(self, line: Line) -> None:
        """A sub-agent's records inside of the session's (until 2.0): its first prompt is that of the call that started it."""
        prompt = line.message.content if line.message else ""
        known = self._chains.get(line.parent_uuid or "")
        self._chains[line.uuid or ""] = known or (self._prompts.get(prompt, "") if isinstance(prompt, str) else "")

    def around(self, line: Line) -> str:
        """The call that started the sub-agent whose record this is; of the session's own, none."""
        return self._chains.get(line.uuid or "", "") if self._chains else ""

    def next_file(self) -> None:
        self._chains.clear()

    def child(self, asked: Asked, outcome: Outcome | None) -> str:
        """The sub-agent's session: by the call that its file names, by the agent that the result names, by its first prompt."""
        prompt = asked.block.input.prompt if asked.block.input else None
        named = f"agent-{outcome.agent_id}" if outcome and outcome.agent_id else ""
        tests: tuple[Callable[[Agent], bool], ...] = (
            lambda agent: bool(asked.native) and agent.call == asked.native,
            lambda agent: agent.id == named,
            lambda agent: bool(agent.prompt) and agent.prompt == prompt and agent.id not in self.parents,
        )
        found = next((agent.id for fits in tests for agent in self.agents if fits(agent)), self._only.get(asked.id, ""))
        if found and found != asked.session:
            self.parents.setdefault(found, (asked.session, asked.id))
        return found

    def the_only_one(self, waiting: Sequence[Asked]) -> None:
        """Where one call and one sub-agent are left over, they belong together, whatever is not recorded."""
        left = [asked for asked in waiting if asked.block.name in AGENTS]
        free = [agent for agent in self.agents if agent.id not in self.parents]
        if len(left) == len(free) == 1:
            self._only[left[0].id] = free[0].id
