"""May it run?  Deny over ask over allow, then the mode.  Pure but for what ``Grounds`` look up on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from nbtools.core.decision import Action, Decision
from nbtools.core.tool import (
    AnyToolBuilder,
    AnyToolInvocation,
    Asks,
    CommandTarget,
    Kind,
    PathTarget,
    Target,
    acts_on_nothing,
    asks_of,
    is_of_server,
    names_only,
)
from nbtools.policy.cases import Case, HostCase, PathCase
from nbtools.policy.command_case import CommandCase
from nbtools.policy.concerning import Book, Concerning
from nbtools.policy.grants import goes_further
from nbtools.policy.layers import SESSION, Layer, Policy, mode_of, programs_of, sourced
from nbtools.policy.modes import THE_POINT, Mode, default_decision, plan_denial, without_asking
from nbtools.policy.paths import Grounds, from_the_root

__all__ = ["Judge", "Policy"]

GRANT = "grant"
"""The source of what an *always* has allowed."""
_NO_ARGUMENTS: Mapping[str, Any] = {}
_NOWHERE = PathTarget(())


class Judge:
    """Layers of rules with a session's grants, ready to decide.

    ``tool_named`` says which tool a rule means by a name of some agent's; ``grounds`` where paths start.
    """

    def __init__(
        self,
        layers: Policy | Iterable[Layer],
        grants: Iterable[str] = (),
        tool_named: Callable[[str], str] = str,
        grounds: Grounds | None = None,
    ) -> None:
        listed = (Layer(SESSION, layers),) if isinstance(layers, Policy) else tuple(layers)
        given = (*listed, Layer(GRANT, Policy(allow=tuple(grants))))
        self.mode = mode_of(listed)
        self._asks = Mode.DONT_ASK not in (self.mode, mode_of(layer for layer in listed if layer.trusted))
        self.grounds = grounds or Grounds()
        self.table = programs_of(listed)
        """The programs that are known; None for those that nbtools brings."""
        self._books = {action: Book(action, tuple(sourced(given, action, self.mode, tool_named)), self.grounds) for action in Action}
        self._concerning: dict[tuple[str, Kind, Asks, type], Concerning] = {}

    @property
    def hidden(self) -> tuple[str, ...]:
        """What may not be read, as gitignore patterns, for those who list and search folders."""
        return tuple(dict.fromkeys(from_the_root(one.rule) for one in self._books[Action.DENY].reads.rules if one.rule.tool == "read"))

    def decide(self, tool: AnyToolBuilder, invocation: AnyToolInvocation, arguments: Mapping[str, Any] = _NO_ARGUMENTS) -> Decision:
        """The decision on one call, with the rule and the reason.  ``arguments`` are the canonical ones."""
        kind = invocation.kind or tool.kind
        rules = self._concerning.get((tool.name, kind, invocation.asks, type(invocation)))
        if rules is None or rules.tool is not tool:  # another one may have come by the same name
            rules = self._rules_on(tool, invocation, kind)
        return rules.settled or self._weighed(rules, self._case(rules, invocation.target(), arguments))

    def denial(self, tool: AnyToolBuilder, invocation: AnyToolInvocation) -> Decision | None:
        """What stands in the way of a call that the person makes: a deny rule, or that nothing is to be changed.  None: nothing does."""
        kind = invocation.kind or tool.kind
        rules = self._rules_on(tool, invocation, kind)
        denied = self._case(rules, invocation.target(), _NO_ARGUMENTS).denied()
        if denied is None and self.mode is Mode.PLAN and not kind.changes_nothing:
            return plan_denial(kind, of_server=is_of_server(tool))
        return denied

    def _weighed(self, rules: Concerning, case: Case) -> Decision:
        denied = case.denied()
        if denied is not None:
            return denied
        if self.mode is Mode.PLAN and not rules.kind.changes_nothing:
            return plan_denial(rules.kind, of_server=rules.of_server)
        decision = case.pressing() or (THE_POINT if rules.always else None) or case.asked() or self._allowed(rules, case)
        return decision if self._asks else without_asking(Mode.DONT_ASK, decision)

    def _allowed(self, rules: Concerning, case: Case) -> Decision:
        """By rules, else by the mode; what rules leave open is a better reason to ask, and no reason where the mode would not."""
        by_rules = case.allowed()
        if by_rules is not None and by_rules.action is Action.ALLOW:
            return by_rules
        default = self._default(rules, case)
        if default.action is not Action.ASK:
            return default
        asked = default if by_rules is None else replace(by_rules, rule=default.rule)
        remark = case.remark() if self._asks else ""
        return Decision(asked.action, f"{asked.reason}; {remark}", asked.rule, asked.part, asked.source) if remark else asked

    def _default(self, rules: Concerning, case: Case) -> Decision:
        """Where no rule speaks.  That edits run unasked is said of the workspace only."""
        decision = default_decision(self.mode, rules.asks, rules.kind, of_server=rules.of_server)
        outside = "" if self.mode is not Mode.AUTO_EDIT or decision.action is not Action.ALLOW else case.leaves_the_workspace()
        if outside and rules.kind is Kind.EDIT and rules.asks is None:
            return Decision(
                Action.ASK, f"{outside} is outside the workspace (mode {self.mode})", "edits outside the workspace ask", outside
            )
        return decision

    def _case(self, rules: Concerning, target: Target, arguments: Mapping[str, Any]) -> Case:
        match target:
            case CommandTarget(command, directory, moving):
                edits_run = self.mode is Mode.AUTO_EDIT and rules.asks is None
                return CommandCase(rules, self.grounds, arguments, command, directory, moving, edits_run, self.table)
            case PathTarget(hosts) if rules.kind is Kind.FETCH:
                return HostCase(rules, self.grounds, arguments, hosts)
            case PathTarget(paths):
                return PathCase(rules, self.grounds, arguments, paths)

    def _rules_on(self, tool: AnyToolBuilder, invocation: AnyToolInvocation, kind: Kind) -> Concerning:
        annotations = getattr(tool, "annotations", None) or {}
        believed = annotations if getattr(tool, "believed", True) else None
        runs_commands = isinstance(invocation.target(), CommandTarget)
        deny, ask, allow = (
            self._books[action].on(tool.name, believed if action is Action.ALLOW else annotations, runs_commands=runs_commands)
            for action in (Action.DENY, Action.ASK, Action.ALLOW)
        )
        concerning = Concerning(
            deny,
            ask,
            allow,
            tool,
            kind,
            asks_of(tool, invocation),
            further=goes_further(tool, kind),
            names_only=names_only(tool),
            of_server=is_of_server(tool),
            acts_on_nothing=acts_on_nothing(type(invocation)),
        )
        if concerning.decides_alike:
            case = self._case(concerning, _NOWHERE, _NO_ARGUMENTS)
            concerning = replace(concerning, settled=self._weighed(concerning, case))
        self._concerning[tool.name, kind, invocation.asks, type(invocation)] = concerning
        return concerning
