"""Matches one call against the rules: which deny it, which ask, which allow it.

A rule about hosts is ``domain:example.org`` or just the host;
``*.example.org`` covers every host below it, not itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from nbtools.core.decision import Action, Decision
from nbtools.core.tool import Kind
from nbtools.policy.layers import SourcedRule
from nbtools.policy.path_rules import PathContext, ResolvedPath
from nbtools.policy.patterns import TextTooLong, expression
from nbtools.policy.protected import (
    critical_question,
    is_critical,
    protected_question,
    protection_reason,
    repository_question,
)
from nbtools.policy.rule_index import Rules, ToolRules
from nbtools.policy.rules import arguments_text


def covers_host(spec: str, host: str) -> bool:
    """Whether the rule covers the host.  Upper case and a dot at the end make no difference."""
    return _pattern(spec).fullmatch(_plain(host)) is not None


@lru_cache(maxsize=4096)
def _pattern(spec: str) -> re.Pattern[str]:
    """Compiles a pattern: a star in front is any number of labels, others stay in their label."""
    host = _plain(spec.removeprefix("domain:"))
    if host == "*":
        return re.compile(".*", re.DOTALL)
    deep, rest = (r"(?:[^.]+\.)+", host[2:]) if host.startswith("*.") else ("", host)
    return re.compile(deep + r"[^.]*".join(map(re.escape, re.split(r"\*+", rest))))


def _plain(host: str) -> str:
    host = host.strip().lower().removesuffix(".")
    if host.isascii():
        return host
    import idna  # noqa: PLC0415 - few hosts are written so

    try:
        return idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        return host


_EFFECTS = {Action.DENY: "denies it", Action.ASK: "asks for approval", Action.ALLOW: "allows it"}
_READING = frozenset({Kind.READ, Kind.SEARCH, Kind.THINK})
_UNKNOWN = frozenset({Kind.OTHER, Kind.EXECUTE})
_FILE = re.compile(r"[^/]\.[A-Za-z]\w*\Z")
"""A search in a path of this form is one in a file; any other path is taken for a folder."""


@dataclass(frozen=True)
class CallMatcher:
    """Matches a call that has no target; subclasses match hosts, paths and commands."""

    rules: ToolRules
    grounds: PathContext
    arguments: Mapping[str, Any]

    def deny_decision(self) -> Decision | None:
        """Returns the denial by a deny rule, or None."""
        return (
            self._whole(self.rules.deny, Action.DENY)
            or self._by_arguments(self.rules.deny, Action.DENY)
            or self._touched(self.rules.deny, Action.DENY)
        )

    def required_question(self) -> Decision | None:
        """Returns the question that is asked in every mode and whatever the rules allow, or None."""
        return None

    def unknown_target(self) -> Decision | None:
        """Asks before changes only known at run time, or None; no mode and no wide rule allows them."""
        return None

    def ask_decision(self) -> Decision | None:
        """Returns the question by an ask rule, or by a rule that possibly applies; or None."""
        by_rule = (
            self._whole(self.rules.ask, Action.ASK)
            or self._by_arguments(self.rules.ask, Action.ASK)
            or self._touched(self.rules.ask, Action.ASK)
        )
        return by_rule or self._perhaps()

    def allow_decision(self) -> Decision | None:
        """Returns the permission by allow rules, the question where they cover only a part, or None."""
        if self.rules.exceeds_kind:
            return None
        return (
            self._whole(self.rules.allow, Action.ALLOW)
            or self._by_arguments(self.rules.allow, Action.ALLOW)
            or self._covered()
        )

    def path_outside_workspace(self) -> str:
        """Returns a path of the call that is outside the workspace; empty where all are inside."""
        return ""

    def is_read_by_edit_rule(self) -> bool:
        """Whether the call only reads, and is allowed by a rule for edits."""
        return False

    def remark(self) -> str:
        """Returns an addition to the reason where no rule allows the call; else empty."""
        return ""

    def _touched(self, rules: Rules, action: Action) -> Decision | None:
        return None

    def _perhaps(self) -> Decision | None:
        """Returns a question where a deny or ask rule possibly applies."""
        return None

    def _covered(self) -> Decision | None:
        """Returns the permission if allow rules cover every part of the call."""
        return None

    def _whole(self, rules: Rules, action: Action) -> Decision | None:
        return rule_decision(action, rules.whole) if rules.whole is not None else None

    def _by_arguments(self, rules: Rules, action: Action) -> Decision | None:
        """Decides by a rule about arguments; those too long to match need approval."""
        text = arguments_text(self.arguments) if rules.arguments else ""
        for one in rules.arguments:
            try:
                if expression(one.rule.arguments).matches_anywhere(text):
                    return rule_decision(action, one)
            except TextTooLong:
                if action is not Action.ALLOW:
                    return possible_rule_question(one, "the arguments are too long to match")
        return None


@dataclass(frozen=True)
class HostMatcher(CallMatcher):
    """Matches a call that fetches from hosts."""

    hosts: tuple[str, ...] = ()

    def _touched(self, rules: Rules, action: Action) -> Decision | None:
        pairs = ((one, host) for host in self.hosts for one in rules.narrowed)
        return next(
            (rule_decision(action, one, host) for one, host in pairs if covers_host(one.rule.spec, host)),
            None,
        )

    def _covered(self) -> Decision | None:
        used = [
            next((one for one in self.rules.allow.narrowed if covers_host(one.rule.spec, host)), None)
            for host in self.hosts
        ]
        return joint_permission(used)


@dataclass(frozen=True)
class PathMatcher(CallMatcher):
    """Matches a call on files and folders.  Several spellings of one path count as several paths."""

    paths: tuple[str, ...] = ()

    @cached_property
    def resolved_paths(self) -> tuple[ResolvedPath, ...]:
        return tuple(map(self.grounds.resolve, self.paths))

    @property
    def _writes(self) -> bool:
        return self.rules.kind not in _READING

    def required_question(self) -> Decision | None:
        if not self._writes:
            return None
        if self.rules.kind is Kind.DELETE and (
            gone := next(
                (resolved for resolved in self.resolved_paths if is_critical(resolved, self.grounds)), None
            )
        ):
            return critical_question(gone.relative or gone.absolute, gone.absolute)
        found = ((resolved, protection_reason(resolved, self.grounds)) for resolved in self.resolved_paths)
        return next(
            (protected_question(resolved, why) for resolved, why in found if why), None
        ) or repository_question(self.resolved_paths, self.grounds)

    def _touched(self, rules: Rules, action: Action) -> Decision | None:
        about = rules.writes if self._writes else rules.reads
        if not (rules.narrowed or about.rules):
            return None
        for resolved in self.resolved_paths:
            one = rules.paths.find_touching(resolved) or about.find_touching(resolved)
            if one is None and self._writes and self.rules.kind not in _UNKNOWN:
                one = about.find_below(resolved)
            if one is not None:
                return rule_decision(action, one, resolved.relative or resolved.absolute)
        return None

    def _perhaps(self) -> Decision | None:
        """Asks where a folder may contain what a rule covers; searches skip files that deny rules hide."""
        about = (self.rules.deny.writes, self.rules.ask.writes) if self._writes else (self.rules.ask.reads,)
        listed = [rules for rules in about if rules.rules]
        reach = self._writes or (self.rules.kind is Kind.SEARCH and not self.rules.names_only)
        for resolved in self.resolved_paths if reach and listed else ():
            place = (
                resolved
                if self._writes or resolved.folder or _FILE.search(resolved.absolute)
                else replace(resolved, folder=True)
            )
            one = next(filter(None, (rules.find_possible(place) for rules in listed)), None)
            if one is not None:
                path = resolved.relative or resolved.absolute
                return possible_rule_question(one, f"{path} may contain what the rule covers", path)
        return None

    def _covered(self) -> Decision | None:
        return joint_permission([self._cover(resolved) for resolved in self.resolved_paths])

    def _cover(self, resolved: ResolvedPath) -> SourcedRule | None:
        own = self.rules.allow.paths.find_covering(resolved)
        if own is None and self.rules.kind is Kind.EDIT:
            return self.rules.allow.writes.find_covering(resolved)
        if own is None and self.rules.kind in (Kind.READ, Kind.SEARCH):
            reads = self.rules.allow.reads
            if self.rules.kind is Kind.SEARCH:
                return reads.find_touching(resolved)
            return reads.find_covering(resolved)
        return own

    def is_read_by_edit_rule(self) -> bool:
        covering = () if self._writes else map(self._cover, self.resolved_paths)
        return any(one is not None and one.rule.tool == "edit" for one in covering)

    def path_outside_workspace(self) -> str:
        return next(
            (
                path
                for path, resolved in zip(self.paths, self.resolved_paths, strict=True)
                if not resolved.inside
            ),
            "",
        )


def rule_decision(
    action: Action, one: SourcedRule, part: str = "", reading: str = "", entry: str = ""
) -> Decision:
    """Returns the decision that a rule makes."""
    message = f": {one.rule.message}" if one.rule.message and action is not Action.ALLOW else ""
    return Decision(
        action, f"the rule {one.name} {_EFFECTS[action]}{message}", one.name, part, one.source, reading, entry
    )


def joint_permission(
    used: Iterable[SourcedRule | None], reading: str = "", entry: str = ""
) -> Decision | None:
    """Returns the permission by a rule for every part, which may differ; None if one has none."""
    listed = list(used)
    rules = [one for one in listed if one is not None]
    if not rules or len(rules) < len(listed):
        return None
    if len(rules) == 1:
        return rule_decision(Action.ALLOW, rules[0], "", reading, entry)
    names = ", ".join(dict.fromkeys(one.name for one in rules))
    sources = ", ".join(dict.fromkeys(one.source for one in rules))
    single = len({one.name for one in rules}) == 1
    reason = f"the rule {names} allows it" if single else f"the rules {names} allow it"
    return Decision(Action.ALLOW, reason, names, "", sources, reading, entry)


def possible_rule_question(one: SourcedRule, why: str, part: str = "", reading: str = "") -> Decision:
    """Returns a question where a rule possibly applies; ``why`` says what is uncertain."""
    return Decision(Action.ASK, f"the rule {one.name} may apply: {why}", one.name, part, one.source, reading)
