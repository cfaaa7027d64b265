"""Index of the rules: finds those that apply to one tool, grouped by what they match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from nbtools.core.decision import Action, Decision
from nbtools.core.tool import AnyToolBuilder, Asks, Kind
from nbtools.policy.command_rules import CommandRules
from nbtools.policy.layers import SourcedRule
from nbtools.policy.path_rules import PathContext, PathRules

COMMANDS = "shell"
"""The tool name in rules about commands; its deny and ask rules apply to all tools that run them."""


@dataclass(frozen=True)
class Rules:
    """The rules of one action that apply to one tool.

    ``whole`` is the first that covers every call.  ``reads`` and ``writes`` are about paths and apply to
    every tool; ``narrowed`` are about the targets of this tool alone.  ``edits`` is a bare rule for edits,
    which also covers files that allowed commands write.
    """

    whole: SourcedRule | None
    reads: PathRules
    writes: PathRules
    narrowed: tuple[SourcedRule, ...]
    arguments: tuple[SourcedRule, ...]
    edits: SourcedRule | None
    grounds: PathContext
    narrow: bool

    @cached_property
    def paths(self) -> PathRules:
        """The rules of this tool that are path_rules paths."""
        return PathRules((one for one in self.narrowed if one.rule.spec), self.grounds, narrow=self.narrow)

    @cached_property
    def commands(self) -> CommandRules:
        """The rules of this tool that are path_rules commands."""
        return CommandRules(self.narrowed, narrow=self.narrow)

    @property
    def depends_on_target(self) -> bool:
        """Whether any of the rules depends on the target or the arguments of a call."""
        return bool(self.narrowed or self.arguments)


@dataclass(frozen=True, slots=True)
class ToolRules:
    """The rules for the calls of one tool that have one kind.

    ``exceeds_kind``: the calls exceed the tool's own kind, so no allow rule for the tool covers them.
    ``names_only``: the calls show no more of files than names and sizes.  ``is_mcp_tool``: an MCP server
    provides the tool.  ``has_no_target``: the calls have no target.  ``fixed_decision`` is the decision where
    it is the same for all of these calls.
    """

    deny: Rules
    ask: Rules
    allow: Rules
    tool: AnyToolBuilder
    kind: Kind
    asks: Asks
    exceeds_kind: bool
    names_only: bool
    is_mcp_tool: bool
    has_no_target: bool
    fixed_decision: Decision | None = None

    @property
    def decides_alike(self) -> bool:
        """Whether all calls get the same decision; a change's target matters: it may be protected."""
        if self.deny.whole is not None:
            return True
        if any(rules.depends_on_target for rules in (self.deny, self.ask, self.allow)):
            return False
        if self.has_no_target:
            return True
        if not self.kind.changes_nothing:
            return False
        reads = self.kind in (Kind.READ, Kind.SEARCH, Kind.THINK)
        return not (reads and any(rules.reads for rules in (self.deny, self.ask, self.allow)))


@dataclass(frozen=True, slots=True)
class ActionRules:
    """All rules of one action. Those about paths are indexed at once, others at their tool's first call."""

    action: Action
    rules: tuple[SourcedRule, ...]
    grounds: PathContext
    reads: PathRules = field(init=False)
    writes: PathRules = field(init=False)
    edits: SourcedRule | None = field(init=False)
    _by_tool: dict[str, list[SourcedRule]] = field(init=False, default_factory=dict)
    _by_pattern: list[SourcedRule] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Indexes the rules. What may not be read may not be written; what may be written may be read."""
        allows = self.action is Action.ALLOW
        path_rules = [one for one in self.rules if one.rule.is_about_paths and not one.rule.annotations]
        read, edit = ([one for one in path_rules if one.rule.tool == tool] for tool in ("read", "edit"))
        object.__setattr__(
            self, "reads", PathRules([*read, *edit] if allows else read, self.grounds, narrow=allows)
        )
        object.__setattr__(
            self, "writes", PathRules(edit if allows else [*edit, *read], self.grounds, narrow=allows)
        )
        object.__setattr__(
            self,
            "edits",
            next((one for one in self.rules if one.rule.is_bare and one.rule.applies_to("edit")), None),
        )
        for one in self.rules:
            if any(sign in one.rule.tool for sign in "*?["):
                self._by_pattern.append(one)
            else:
                self._by_tool.setdefault(one.rule.tool, []).append(one)

    def for_tool(self, tool: str, annotations: Mapping[str, object] | None, *, runs_commands: bool) -> Rules:
        """Returns the rules that apply to a tool.

        ``annotations`` are None where they are not trusted; then rules that require annotations do not apply.
        """
        own = [one for one in self._of(tool) if one.rule.fits_annotations(annotations)]
        narrowed = [
            one
            for one in own
            if one.rule.command or (one.rule.spec and (one.rule.annotations or not one.rule.is_about_paths))
        ]
        if runs_commands and self.action is not Action.ALLOW and tool != COMMANDS:
            narrowed += [one for one in self._of(COMMANDS) if one.rule.command or one.rule.spec]
        return Rules(
            whole=next((one for one in own if one.rule.is_bare), None),
            reads=self.reads,
            writes=self.writes,
            narrowed=tuple(dict.fromkeys(narrowed)),
            arguments=tuple(one for one in own if one.rule.arguments),
            edits=self.edits,
            grounds=self.grounds,
            narrow=self.action is Action.ALLOW,
        )

    def _of(self, tool: str) -> Iterable[SourcedRule]:
        """Yields the rules for the tool: those with its name first, then patterns."""
        return (*self._by_tool.get(tool, ()), *(one for one in self._by_pattern if one.rule.applies_to(tool)))
