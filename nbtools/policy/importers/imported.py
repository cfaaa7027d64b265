"""The result of importing another agent's permission settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.policy.layers import Policy, is_plain
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule

ToolNameLookup: TypeAlias = Callable[[str], str]
"""Returns the canonical tool for an agent's tool name; the name itself where it is unknown."""


@dataclass(frozen=True, slots=True)
class ImportedPolicy:
    """The imported policy, and in ``not_carried`` a sentence for each setting that it does not express.

    It never allows more than the original:
    an allow rule with a condition that cannot be expressed is left out.
    """

    policy: Policy
    not_carried: tuple[str, ...]


@dataclass(slots=True)
class ImportBuilder:
    """Collects rules and remarks while a file is read, each once, in their order."""

    mode: Mode | None = None
    rules: dict[str, dict[Rule, None]] = field(default_factory=lambda: {"allow": {}, "ask": {}, "deny": {}})
    remarks: dict[str, None] = field(default_factory=dict)

    def add(self, verb: str, *rules: Rule) -> None:
        self.rules[verb].update(dict.fromkeys(rules))

    def remark(self, sentence: str) -> None:
        self.remarks[sentence] = None

    def build(self) -> ImportedPolicy:
        lists = {
            verb: tuple(plain_rule(rule, Action(verb)) for rule in rules)
            for verb, rules in self.rules.items()
        }
        policy = Policy(self.mode or "", lists["allow"], lists["ask"], lists["deny"])
        return ImportedPolicy(policy, tuple(self.remarks))


def plain_rule(rule: Rule, action: Action) -> str | Rule:
    """Returns the rule as text where the text expresses all of it."""
    return str(rule) if is_plain(rule, action) else rule


def is_available(tool: str) -> bool:
    """Whether the name can be that of a tool in nbtools: a canonical one, or one of an MCP server."""
    return tool in CANONICAL_NAMES or tool == "*" or tool.startswith("mcp__")


def rules_or_problem(make: Callable[[], Iterable[Rule]]) -> tuple[Rule, ...] | str:
    """Returns the rules that ``make`` creates, or the message of its ``PolicyError``."""
    try:
        return tuple(make())
    except PolicyError as error:
        return str(error)
