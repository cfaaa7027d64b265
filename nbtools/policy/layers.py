"""Rules with their sources: the person's file, the project's, saved grants, the session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.core.parameters import nearest
from nbtools.policy.modes import Mode, stricter
from nbtools.policy.own_programs import checked
from nbtools.policy.rules import Rule, read_rule

if TYPE_CHECKING:
    from nbtools.shell import Table

SESSION = "session"
"""The layer of a session's own rules, the only one that may set the mode ``yolo``: that ends with the session."""
SAVED = "saved"
"""The layer of grants that are kept for later sessions."""


@dataclass(frozen=True)
class Policy:
    """A mode and three lists of rules, each a text or a ``Rule``.  An empty mode leaves it to the layers below, in the end ``default``.

    ``programs`` adds to the table of programs: by name, what each does with its words (see ``docs/programs.md``).  Raises ``PolicyError``
    for a mode, a rule or a program that cannot be read.
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
            checked(self.programs)

    def rules(self, action: Action) -> tuple[str | Rule, ...]:
        """The rules of one kind."""
        listed: tuple[str | Rule, ...] = getattr(self, action)
        return listed


@dataclass(frozen=True, slots=True)
class Layer:
    """Rules with the name of their source: ``user``, ``project``, ``saved``, ``session``.

    Of one that is not ``trusted`` only what forbids or asks counts, and a mode that is stricter.
    """

    name: str
    policy: Policy
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class Sourced:
    """A rule and where it stands; ``name`` is the rule as it was written."""

    rule: Rule
    source: str
    name: str


def as_rule(rule: str | Rule) -> Rule:
    return rule if isinstance(rule, Rule) else read_rule(rule)


def mode_of(layers: Iterable[Layer]) -> Mode:
    """The mode of the last layer that has one; a layer without trust, and ``yolo`` outside of a session, make nothing freer."""
    mode, strict = Mode.DEFAULT, []
    for layer in layers:
        said = layer.policy.mode
        if said and not layer.trusted:
            strict.append(Mode(said))
        elif said and (said != Mode.YOLO or layer.name == SESSION):
            mode = Mode(said)
    return stricter(mode, *strict)


def programs_of(layers: Iterable[Layer]) -> Table | None:
    """The table of programs with those that trusted layers add; None where that is the one that nbtools brings."""
    added = [layer.policy.programs for layer in layers if layer.trusted and layer.policy.programs]
    if not added:
        return None
    from nbtools.shell.table import Table, reviewed_tables  # noqa: PLC0415 - few have programs of their own

    return Table(*reviewed_tables(), *added)


def sourced(layers: Iterable[Layer], action: Action, mode: Mode, tool_named: Callable[[str], str]) -> Iterator[Sourced]:
    """The rules of one kind that hold in ``mode``, tools by their canonical names."""
    for layer in layers:
        if action is Action.ALLOW and not layer.trusted:
            continue
        for written in layer.policy.rules(action):
            rule = as_rule(written)
            if rule.holds_in(mode):
                tool = tool_named(rule.tool)
                yield Sourced(rule if tool == rule.tool else replace(rule, tool=tool), layer.name, str(written))
