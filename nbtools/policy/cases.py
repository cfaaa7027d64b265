"""One call held against the rules: what forbids it, what presses for a question, what asks, what allows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from nbtools.core.decision import Action, Decision
from nbtools.core.tool import Kind
from nbtools.policy.concerning import Concerning, Rules
from nbtools.policy.hosts import host_covered
from nbtools.policy.layers import Sourced
from nbtools.policy.paths import Grounds, Spot
from nbtools.policy.patterns import TooLong, expression
from nbtools.policy.protected import ask_critical, ask_protected, ask_repository, is_critical, protection
from nbtools.policy.rules import arguments_text

_VERBS = {Action.DENY: "denies", Action.ASK: "asks for", Action.ALLOW: "allows"}
_READING = frozenset({Kind.READ, Kind.SEARCH, Kind.THINK})
_UNKNOWN = frozenset({Kind.OTHER, Kind.EXECUTE})
_FILE = re.compile(r"[^/]\.[A-Za-z]\w*\Z")
"""Who searches in what is named so searches in a file, who searches elsewhere searches in a folder."""


@dataclass(frozen=True)
class Case:
    """A call of a tool that acts on nothing in particular; the subclasses know on what."""

    rules: Concerning
    grounds: Grounds
    arguments: Mapping[str, Any]

    def denied(self) -> Decision | None:
        return (
            self._whole(self.rules.deny, Action.DENY)
            or self._by_arguments(self.rules.deny, Action.DENY)
            or self._touched(self.rules.deny, Action.DENY)
        )

    def pressing(self) -> Decision | None:
        """What is asked in every mode and whatever is allowed."""
        return None

    def asked(self) -> Decision | None:
        by_rule = (
            self._whole(self.rules.ask, Action.ASK)
            or self._by_arguments(self.rules.ask, Action.ASK)
            or self._touched(self.rules.ask, Action.ASK)
        )
        return by_rule or self._perhaps()

    def allowed(self) -> Decision | None:
        if self.rules.further:
            return None
        return self._whole(self.rules.allow, Action.ALLOW) or self._by_arguments(self.rules.allow, Action.ALLOW) or self._covered()

    def leaves_the_workspace(self) -> str:
        """What of it is outside, empty where all is inside."""
        return ""

    def remark(self) -> str:
        """What to know of it where it is asked because no rule allows it; empty where there is nothing."""
        return ""

    def _touched(self, rules: Rules, action: Action) -> Decision | None:
        return None

    def _perhaps(self) -> Decision | None:
        """A question where a rule that forbids or asks may be meant."""
        return None

    def _covered(self) -> Decision | None:
        """Whether rules allow every part."""
        return None

    def _whole(self, rules: Rules, action: Action) -> Decision | None:
        return by_rule(action, rules.whole) if rules.whole is not None else None

    def _by_arguments(self, rules: Rules, action: Action) -> Decision | None:
        """A text that is too long is asked where it could be forbidden, and allowed by nothing."""
        text = arguments_text(self.arguments) if rules.arguments else ""
        for one in rules.arguments:
            try:
                if expression(one.rule.arguments).occurs(text):
                    return by_rule(action, one)
            except TooLong:
                if action is not Action.ALLOW:
                    return unclear(one, "the arguments are too long to hold against it")
        return None


@dataclass(frozen=True)
class HostCase(Case):
    """A call that fetches from hosts."""

    hosts: tuple[str, ...] = ()

    def _touched(self, rules: Rules, action: Action) -> Decision | None:
        pairs = ((one, host) for host in self.hosts for one in rules.narrowed)
        return next((by_rule(action, one, host) for one, host in pairs if host_covered(one.rule.spec, host)), None)

    def _covered(self) -> Decision | None:
        used = [next((one for one in self.rules.allow.narrowed if host_covered(one.rule.spec, host)), None) for host in self.hosts]
        return by_rules(used)


@dataclass(frozen=True)
class PathCase(Case):
    """A call on files and folders; several spellings of one path are several paths."""

    paths: tuple[str, ...] = ()

    @cached_property
    def spots(self) -> tuple[Spot, ...]:
        return tuple(map(self.grounds.spot, self.paths))

    @property
    def _writes(self) -> bool:
        return self.rules.kind not in _READING

    def pressing(self) -> Decision | None:
        if not self._writes:
            return None
        if self.rules.kind is Kind.DELETE and (gone := next((spot for spot in self.spots if is_critical(spot, self.grounds)), None)):
            return ask_critical(gone.relative or gone.absolute, gone.absolute)
        found = ((spot, protection(spot, self.grounds)) for spot in self.spots)
        return next((ask_protected(spot, why) for spot, why in found if why), None) or ask_repository(self.spots, self.grounds)

    def _touched(self, rules: Rules, action: Action) -> Decision | None:
        about = rules.writes if self._writes else rules.reads
        for spot in self.spots:
            one = rules.paths.touching(spot) or about.touching(spot)
            if one is None and self._writes and self.rules.kind not in _UNKNOWN:
                one = about.below(spot)
            if one is not None:
                return by_rule(action, one, spot.relative or spot.absolute)
        return None

    def _perhaps(self) -> Decision | None:
        """In a folder there may be what a rule is about; what is not to be read is hidden from who reads in folders."""
        listed = (self.rules.deny.writes, self.rules.ask.writes) if self._writes else (self.rules.ask.reads,)
        reach = self._writes or (self.rules.kind is Kind.SEARCH and not self.rules.names_only)
        for spot in self.spots if reach else ():
            place = spot if self._writes or spot.folder or _FILE.search(spot.absolute) else replace(spot, folder=True)
            one = next(filter(None, (rules.perhaps(place) for rules in listed)), None)
            if one is not None:
                return unclear(one, f"{spot.relative or spot.absolute} may hold what it is about", spot.relative or spot.absolute)
        return None

    def _covered(self) -> Decision | None:
        return by_rules([self._cover(spot) for spot in self.spots])

    def _cover(self, spot: Spot) -> Sourced | None:
        own = self.rules.allow.paths.covering(spot)
        if own is None and self.rules.kind is Kind.EDIT:
            return self.rules.allow.writes.covering(spot)
        if own is None and self.rules.kind in (Kind.READ, Kind.SEARCH):
            return self.rules.allow.reads.touching(spot) if self.rules.kind is Kind.SEARCH else self.rules.allow.reads.covering(spot)
        return own

    def leaves_the_workspace(self) -> str:
        return next((path for path, spot in zip(self.paths, self.spots, strict=True) if not spot.inside), "")


def by_rule(action: Action, one: Sourced, part: str = "", reading: str = "", entry: str = "") -> Decision:
    """The decision that a rule makes."""
    told = f": {one.rule.message}" if one.rule.message and action is not Action.ALLOW else ""
    return Decision(action, f"the rule {one.name} {_VERBS[action]} it{told}", one.name, part, one.source, reading, entry)


def by_rules(used: Iterable[Sourced | None], reading: str = "", entry: str = "") -> Decision | None:
    """An allow needs a rule for every part; rules may share the work."""
    listed = list(used)
    rules = [one for one in listed if one is not None]
    if not rules or len(rules) < len(listed):
        return None
    if len(rules) == 1:
        return by_rule(Action.ALLOW, rules[0], "", reading, entry)
    names = ", ".join(dict.fromkeys(one.name for one in rules))
    sources = ", ".join(dict.fromkeys(one.source for one in rules))
    single = len({one.name for one in rules}) == 1
    reason = f"the rule {names} allows it" if single else f"the rules {names} allow it"
    return Decision(Action.ALLOW, reason, names, "", sources, reading, entry)


def unclear(one: Sourced, why: str, part: str = "", reading: str = "") -> Decision:
    """A question where a rule may be meant."""
    return Decision(Action.ASK, f"the rule {one.name} may be about it: {why}", one.name, part, one.source, reading)
