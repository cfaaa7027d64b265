"""The rules that speak of one tool, sorted by what they look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from nbtools.core.decision import Action, Decision
from nbtools.core.tool import AnyToolBuilder, Asks, Kind
from nbtools.policy.commands import CommandRules
from nbtools.policy.layers import Sourced
from nbtools.policy.paths import Grounds, PathRules

COMMANDS = "shell"
"""The word for rules about commands: what they forbid or ask holds for every tool that runs some."""


@dataclass(frozen=True)
class Rules:
    """Of one action, on one tool.  ``whole``: the first that speaks of every call; ``reads`` and ``writes`` are about paths, with whatever
    tool; ``narrowed`` about what this tool alone acts on; ``edits``: a bare rule for edits, which counts for what allowed commands write.
    """

    whole: Sourced | None
    reads: PathRules
    writes: PathRules
    narrowed: tuple[Sourced, ...]
    arguments: tuple[Sourced, ...]
    edits: Sourced | None
    grounds: Grounds
    narrow: bool

    @cached_property
    def paths(self) -> PathRules:
        """Those narrowed to paths."""
        return PathRules((one for one in self.narrowed if one.rule.spec), self.grounds, narrow=self.narrow)

    @cached_property
    def commands(self) -> CommandRules:
        """Those narrowed to commands."""
        return CommandRules(self.narrowed, narrow=self.narrow)

    @property
    def looks_closer(self) -> bool:
        """Whether any of them speaks of more than the tool."""
        return bool(self.narrowed or self.arguments)


@dataclass(frozen=True, slots=True)
class Concerning:
    """The rules on the calls of one tool that are of one kind; ``further``: they do more than the tool is there for, so no rule
    that allows the tool allows them; ``names_only``: they look into no file; ``of_server``: an MCP server has the tool;
    ``acts_on_nothing``: none names what it acts on; ``settled``: the decision, where all are decided alike.
    """

    deny: Rules
    ask: Rules
    allow: Rules
    tool: AnyToolBuilder
    kind: Kind
    asks: Asks
    further: bool
    names_only: bool
    of_server: bool
    acts_on_nothing: bool
    settled: Decision | None = None

    @property
    def always(self) -> bool:
        return self.asks == "always"

    @property
    def decides_alike(self) -> bool:
        """Whether nothing depends on what a call acts on.  What changes something may change what is protected."""
        if self.deny.whole is not None:
            return True
        if any(rules.looks_closer for rules in (self.deny, self.ask, self.allow)):
            return False
        if self.acts_on_nothing:
            return True
        if not self.kind.changes_nothing:
            return False
        reads = self.kind in (Kind.READ, Kind.SEARCH, Kind.THINK)
        return not (reads and any(rules.reads for rules in (self.deny, self.ask, self.allow)))


@dataclass(frozen=True, slots=True)
class Book:
    """All rules of one action: the shared ones made ready once, those of a tool when it is first called."""

    action: Action
    listed: tuple[Sourced, ...]
    grounds: Grounds
    reads: PathRules = field(init=False)
    writes: PathRules = field(init=False)
    edits: Sourced | None = field(init=False)
    _by_tool: dict[str, list[Sourced]] = field(init=False, default_factory=dict)
    _by_pattern: list[Sourced] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """A path that may not be read may not be written either; one that may be written may be read."""
        allows = self.action is Action.ALLOW
        about = [one for one in self.listed if one.rule.is_about_paths and not one.rule.annotations]
        read, edit = ([one for one in about if one.rule.tool == tool] for tool in ("read", "edit"))
        object.__setattr__(self, "reads", PathRules([*read, *edit] if allows else read, self.grounds, narrow=allows))
        object.__setattr__(self, "writes", PathRules(edit if allows else [*edit, *read], self.grounds, narrow=allows))
        object.__setattr__(self, "edits", next((one for one in self.listed if one.rule.is_bare and one.rule.concerns("edit")), None))
        for one in self.listed:
            if any(sign in one.rule.tool for sign in "*?["):
                self._by_pattern.append(one)
            else:
                self._by_tool.setdefault(one.rule.tool, []).append(one)

    def on(self, tool: str, annotations: Mapping[str, object] | None, *, runs_commands: bool) -> Rules:
        """The rules that a call of this tool has to be held against; of annotations that are None nothing is believed."""
        own = [one for one in self._of(tool) if one.rule.fits(annotations)]
        narrowed = [one for one in own if one.rule.command or (one.rule.spec and (one.rule.annotations or not one.rule.is_about_paths))]
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

    def _of(self, tool: str) -> Iterable[Sourced]:
        """In the order of the list where it matters: named ones first, then patterns."""
        return (*self._by_tool.get(tool, ()), *(one for one in self._by_pattern if one.rule.concerns(tool)))
