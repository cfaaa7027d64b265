"""Policies and the layers they come from: the person's file, the project's, saved grants, the session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from nbtools import shell
from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.core.parameters import nearest
from nbtools.policy.modes import Mode, stricter
from nbtools.policy.own_programs import check_programs
from nbtools.policy.rules import Rule, read_rule

if TYPE_CHECKING:
    from nbtools.shell import ProgramTable

SESSION = "session"
"""The layer of a session's own rules, the only one that may set mode ``yolo``, which ends with the session."""
SAVED = "saved"
"""The layer of grants that are saved for later sessions."""


@dataclass(frozen=True)
class Policy:
    """A permission mode and three lists of rules, each a text or a ``Rule``.  An empty mode means that of the layers below.

    ``programs`` adds entries to the table of programs, by name (see ``docs/programs.md``).  Raises ``PolicyError`` for an invalid mode,
    rule or program.
    """

    mode: str = ""
    allow: tuple[str | Rule, ...] = ()
    ask: tuple[str | Rule, ...] = ()
    deny: tuple[str | Rule, ...] = ()
    programs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.mode and self.mode not in list(Mode):
            raise PolicyError(f"There is no mode {self.mode!r}. Did you mean {' or '.join(nearest(self.mode, Mode))}?")
        for action in Action:
            rules = getattr(self, action)
            listed = (rules,) if isinstance(rules, str | Rule) else tuple(rules)
            for rule in listed:
                as_rule(rule)
            object.__setattr__(self, action, listed)
        if self.programs:
            check_programs(self.programs)

    def rules(self, action: Action) -> tuple[str | Rule, ...]:
        """Returns the rules of one action."""
        listed: tuple[str | Rule, ...] = getattr(self, action)
        return listed


@dataclass(frozen=True, slots=True)
class Layer:
    """A policy with the name of its source: ``user``, ``project``, ``saved``, ``session``.

    Of a layer that is not ``trusted``, only deny and ask rules and a stricter mode take effect.
    """

    name: str
    policy: Policy
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class SourcedRule:
    """A rule with the layer it comes from; ``name`` is the rule as it was written."""

    rule: Rule
    source: str
    name: str


def as_rule(rule: str | Rule) -> Rule:
    return rule if isinstance(rule, Rule) else read_rule(rule)


def effective_mode(layers: Iterable[Layer]) -> Mode:
    """Returns the mode of the last layer that sets one.  Untrusted layers, and ``yolo`` outside a session, cannot loosen it."""
    mode, strict = Mode.DEFAULT, []
    for layer in layers:
        own = layer.policy.mode
        if own and not layer.trusted:
            strict.append(Mode(own))
        elif own and (own != Mode.YOLO or layer.name == SESSION):
            mode = Mode(own)
    return stricter(mode, *strict)


def effective_programs(layers: Iterable[Layer]) -> ProgramTable | None:
    """Returns the table of programs with the additions of trusted layers; None where there are no additions."""
    added = [layer.policy.programs for layer in layers if layer.trusted and layer.policy.programs]
    if not added:
        return None
    return shell.ProgramTable(*shell.included_tables(), *added)


def sourced_rules(layers: Iterable[Layer], action: Action, mode: Mode, tool_named: Callable[[str], str]) -> Iterator[SourcedRule]:
    """Yields the rules of one action that apply in ``mode``, with canonical tool names."""
    for layer in layers:
        if action is Action.ALLOW and not layer.trusted:
            continue
        for written in layer.policy.rules(action):
            rule = as_rule(written)
            if rule.applies_in(mode):
                tool = tool_named(rule.tool)
                yield SourcedRule(rule if tool == rule.tool else replace(rule, tool=tool), layer.name, str(written))
