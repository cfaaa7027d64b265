"""Policies and the layers they come from: the person's file, the project's, saved grants, the session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from nbtools import shell
from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.core.message import did_you_mean
from nbtools.policy.claude_rules import check_allowed_name, claude_meaning, custom_parameter
from nbtools.policy.modes import Mode, stricter
from nbtools.policy.own_programs import check_programs
from nbtools.policy.patterns import is_path_pattern
from nbtools.policy.rules import PATH_RULES, Rule, read_rule

if TYPE_CHECKING:
    from nbtools.shell import ProgramTable

SESSION = "session"
"""The session's own layer, the only one that may set mode ``yolo``, which ends with the session."""
SAVED = "saved"
"""The layer of grants that are saved for later sessions."""


@dataclass(frozen=True)
class Policy:
    """A permission mode (empty: that of the layers below) and lists of rules, each a text or a ``Rule``.

    ``programs`` adds entries to the table of programs, by name (see ``docs/programs.md``).
    Raises ``PolicyError`` for an invalid mode, rule or program.
    """

    mode: str = ""
    allow: tuple[str | Rule, ...] = ()
    ask: tuple[str | Rule, ...] = ()
    deny: tuple[str | Rule, ...] = ()
    programs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.mode and self.mode not in list(Mode):
            raise PolicyError(f"There is no mode {self.mode!r}.{did_you_mean(self.mode, Mode)}")
        for action in Action:
            rules = getattr(self, action)
            listed = (rules,) if isinstance(rules, str | Rule) else tuple(rules)
            for rule in listed:
                check_rule(rule, action)
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


def as_rule(rule: str | Rule, action: Action) -> Rule:
    """Returns the rule in nbtools' terms, except tool names. Raises ``PolicyError`` if unmatchable."""
    meaning = claude_meaning(rule if isinstance(rule, Rule) else read_rule(rule), action)
    if meaning.spec and meaning.tool.lower() in PATH_RULES and not is_path_pattern(meaning.spec):
        raise PolicyError(
            f"The rule {rule} has an incomplete bracket or backslash. Write \\[ and \\\\ for these characters"
            " in a path."
        )
    return meaning


def check_rule(rule: str | Rule, action: Action) -> None:
    """Raises ``PolicyError`` for a rule that may not be in a policy's list of this action."""
    as_rule(rule, action)
    if action is Action.ALLOW and isinstance(rule, str):
        check_allowed_name(read_rule(rule))


def is_plain(rule: Rule, action: Action) -> bool:
    """Whether the rule's text in a list of this action means the whole rule."""
    if rule != Rule(rule.tool, rule.spec):
        return False
    try:
        check_rule(str(rule), action)
    except PolicyError:
        return False
    return True


def grant_policy(grants: Iterable[str]) -> Policy:
    """Returns the policy of the person's grants; one may be for all MCP servers, as Void's switch."""
    return Policy(allow=tuple(read_rule(rule) if "*" in rule.partition("(")[0] else rule for rule in grants))


def effective_mode(layers: Iterable[Layer]) -> Mode:
    """Returns the last layer's mode. Untrusted layers, and ``yolo`` elsewhere, cannot loosen it."""
    mode, strict = Mode.DEFAULT, []
    for layer in layers:
        own = layer.policy.mode
        if own and not layer.trusted:
            strict.append(Mode(own))
        elif own and (own != Mode.YOLO or layer.name == SESSION):
            mode = Mode(own)
    return stricter(mode, *strict)


def effective_programs(layers: Iterable[Layer]) -> ProgramTable | None:
    """Returns the program table with trusted layers' additions; None without additions."""
    added = [layer.policy.programs for layer in layers if layer.trusted and layer.policy.programs]
    if not added:
        return None
    return shell.ProgramTable(*shell.included_tables(), *added)


def sourced_rules(
    layers: Iterable[Layer], action: Action, mode: Mode, tool_named: Callable[[str], str]
) -> Iterator[SourcedRule]:
    """Yields the rules of one action that apply in ``mode``, with canonical tool names."""
    for layer in layers:
        if action is Action.ALLOW and not layer.trusted:
            continue
        for written in layer.policy.rules(action):
            rule = as_rule(written, action)
            if rule.applies_in(mode):
                tool = tool_named(rule.tool)
                named = custom_parameter(rule if tool == rule.tool else replace(rule, tool=tool), action)
                yield SourcedRule(named, layer.name, str(written))
