"""The policy engine: decides about each call by rules (deny before ask before allow), then by the mode.

The decision is pure, except for what ``PathContext`` looks up on the disk.
"""

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
    approval_preference,
    has_no_target,
    is_mcp_tool,
    names_only,
)
from nbtools.policy.command_matching import CommandMatcher
from nbtools.policy.grants import exceeds_tool_kind
from nbtools.policy.layers import (
    SESSION,
    Layer,
    Policy,
    effective_mode,
    effective_programs,
    grant_policy,
    sourced_rules,
)
from nbtools.policy.modes import ALWAYS_ASKS, Mode, default_decision, deny_instead_of_asking, plan_denial
from nbtools.policy.path_rules import PathContext, rooted_pattern
from nbtools.policy.rule_index import ActionRules, ToolRules
from nbtools.policy.rule_matching import CallMatcher, HostMatcher, PathMatcher

__all__ = ["Policy", "PolicyEngine"]

GRANT = "grant"
"""The layer of grants that an *always* answer has added."""
_NO_ARGUMENTS: Mapping[str, Any] = {}
_NOWHERE = PathTarget(())


class PolicyEngine:
    """Decides about calls by layers of rules and a session's grants.

    ``tool_named`` returns the canonical tool for a name in a rule, which may be an agent's;
    ``grounds`` resolves paths.
    """

    def __init__(
        self,
        layers: Policy | Iterable[Layer],
        grants: Iterable[str] = (),
        tool_named: Callable[[str], str] = str,
        grounds: PathContext | None = None,
    ) -> None:
        rule_layers = (Layer(SESSION, layers),) if isinstance(layers, Policy) else tuple(layers)
        all_layers = (*rule_layers, Layer(GRANT, grant_policy(grants)))
        self.mode = effective_mode(rule_layers)
        self._asks = Mode.DONT_ASK not in (
            self.mode,
            effective_mode(layer for layer in rule_layers if layer.trusted),
        )
        self.path_context = grounds or PathContext()
        self.table = effective_programs(rule_layers)
        """The table of programs; None for the one that nbtools includes."""
        self._books = {
            action: ActionRules(
                action, tuple(sourced_rules(all_layers, action, self.mode, tool_named)), self.path_context
            )
            for action in Action
        }
        self._concerning: dict[tuple[str, Kind, Asks, type], ToolRules] = {}

    @property
    def hidden_patterns(self) -> tuple[str, ...]:
        """The gitignore patterns of paths that may not be read, for tools that list and search."""
        return tuple(
            dict.fromkeys(
                rooted_pattern(one.rule)
                for one in self._books[Action.DENY].reads.rules
                if one.rule.tool == "read"
            )
        )

    def decide(
        self,
        tool: AnyToolBuilder,
        invocation: AnyToolInvocation,
        arguments: Mapping[str, Any] = _NO_ARGUMENTS,
    ) -> Decision:
        """Returns the decision on one call, with its rule and reason.  ``arguments`` are canonical."""
        kind = invocation.kind or tool.kind
        rules = self._concerning.get((tool.name, kind, invocation.asks, type(invocation)))
        if rules is None or rules.tool is not tool:  # another tool may have been registered under this name
            rules = self._rules_on(tool, invocation, kind)
        return rules.fixed_decision or self._weighed(rules, self._case(rules, invocation.target(), arguments))

    def deny_for_person(self, tool: AnyToolBuilder, invocation: AnyToolInvocation) -> Decision | None:
        """Returns the denial of a person's own call by a deny rule or mode ``plan``; None without."""
        kind = invocation.kind or tool.kind
        rules = self._rules_on(tool, invocation, kind)
        denied = self._case(rules, invocation.target(), _NO_ARGUMENTS).deny_decision()
        if denied is None and self.mode is Mode.PLAN and not kind.changes_nothing:
            return plan_denial(kind, of_server=is_mcp_tool(tool))
        return denied

    def _weighed(self, rules: ToolRules, case: CallMatcher) -> Decision:
        denied = case.deny_decision()
        if denied is not None:
            return denied
        if self.mode is Mode.PLAN and not rules.kind.changes_nothing:
            return plan_denial(rules.kind, of_server=rules.is_mcp_tool)
        always = ALWAYS_ASKS if rules.asks == "always" else None
        decision = case.required_question() or always or case.ask_decision() or self._allowed(rules, case)
        if decision.action is Action.ALLOW:
            decision = case.unknown_target() or decision
        return decision if self._asks else deny_instead_of_asking(Mode.DONT_ASK, decision)

    def _allowed(self, rules: ToolRules, case: CallMatcher) -> Decision:
        """Returns the decision of the allow rules, else that of the mode.

        Where both ask, the reason comes from the rules: it says which part no rule covers.  Where both allow
        reading, and the rule is one for edits, the reason comes from the mode: nobody would look for reading
        in that rule.
        """
        by_rules = case.allow_decision()
        allowed = by_rules is not None and by_rules.action is Action.ALLOW
        if by_rules is not None and allowed and not case.is_read_by_edit_rule():
            return by_rules
        default = self._default(rules, case)
        if by_rules is not None and allowed:
            return default if default.action is Action.ALLOW else by_rules
        if default.action is not Action.ASK:
            return default
        question = default if by_rules is None else replace(by_rules, rule=default.rule)
        remark = case.remark() if self._asks else ""
        if remark:
            return replace(question, reason=f"{question.reason}; {remark}", reading="", entry="")
        return question

    def _default(self, rules: ToolRules, case: CallMatcher) -> Decision:
        """Returns the decision of the mode.  ``auto_edit`` allows edits in the workspace only."""
        decision = default_decision(self.mode, rules.asks, rules.kind, of_server=rules.is_mcp_tool)
        outside = (
            ""
            if self.mode is not Mode.AUTO_EDIT or decision.action is not Action.ALLOW
            else case.path_outside_workspace()
        )
        if outside and rules.kind is Kind.EDIT and rules.asks is None:
            return Decision(
                Action.ASK,
                f"mode {self.mode} asks before edits outside the workspace, and {outside} is outside",
                "edits outside the workspace need approval",
                outside,
            )
        return decision

    def _case(self, rules: ToolRules, target: Target, arguments: Mapping[str, Any]) -> CallMatcher:
        match target:
            case CommandTarget(command, directory, moving):
                edits_run = self.mode is Mode.AUTO_EDIT and rules.asks is None
                return CommandMatcher(
                    rules, self.path_context, arguments, command, directory, moving, edits_run, self.table
                )
            case PathTarget(hosts) if rules.kind is Kind.FETCH:
                return HostMatcher(rules, self.path_context, arguments, hosts)
            case PathTarget(paths):
                return PathMatcher(rules, self.path_context, arguments, paths)

    def _rules_on(self, tool: AnyToolBuilder, invocation: AnyToolInvocation, kind: Kind) -> ToolRules:
        annotations = getattr(tool, "annotations", None) or {}
        believed = annotations if getattr(tool, "believed", True) else None
        runs_commands = isinstance(invocation.target(), CommandTarget)
        deny, ask, allow = (
            self._books[action].for_tool(
                tool.name, believed if action is Action.ALLOW else annotations, runs_commands=runs_commands
            )
            for action in (Action.DENY, Action.ASK, Action.ALLOW)
        )
        concerning = ToolRules(
            deny,
            ask,
            allow,
            tool,
            kind,
            approval_preference(tool, invocation),
            exceeds_kind=exceeds_tool_kind(tool, kind),
            names_only=names_only(tool),
            is_mcp_tool=is_mcp_tool(tool),
            has_no_target=has_no_target(type(invocation)),
        )
        if concerning.decides_alike:
            case = self._case(concerning, _NOWHERE, _NO_ARGUMENTS)
            concerning = replace(concerning, fixed_decision=self._weighed(concerning, case))
        self._concerning[tool.name, kind, invocation.asks, type(invocation)] = concerning
        return concerning
