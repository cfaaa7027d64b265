"""The sub-commands of ``%tools`` about rules: to give, to see, to take back, to keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from nbtools.core.errors import PolicyError
from nbtools.core.parameters import did_you_mean
from nbtools.notebook.sheets import Sheet
from nbtools.notebook.sub_commands import SubCommand, inside, refused, said, without_flags
from nbtools.policy.coverage import RUN_COMMANDS, coverage
from nbtools.policy.granted import Grant
from nbtools.policy.policy_file import VERBS
from nbtools.policy.rules import Rule, read_rule
from nbtools.policy.void_switches import Switch, approvals

if TYPE_CHECKING:
    from nbtools.notebook.workbench import Workbench
    from nbtools.policy.layers import Policy
    from nbtools.session import Session

_ON = {"on": True, "off": False}
SWITCHES: tuple[str, ...] = get_args(Switch)


class RuleCommands:
    """The sub-commands.  Raises ``NbtoolsError`` in one clear line."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.commands = {
            "allow": SubCommand("[--save] RULE …", "let calls run unasked, for this session; saved: in later ones here, too", self._allow),
            "ask": SubCommand("RULE …", "always ask before these calls", lambda rules: self._add("ask", rules)),
            "deny": SubCommand("RULE …", "never run these calls", lambda rules: self._add("deny", rules)),
            "grants": SubCommand("", "what has been allowed: for this session, or saved", self._grants),
            "save": SubCommand("RULE …", "keep grants of this session for later ones on this workspace", self._save),
            "revoke": SubCommand("RULE …", "take rules back, saved ones too; all grants with *", self._revoke),
            "approve": SubCommand("WHAT on|off", f"run a whole kind unasked, as Void does: {', '.join(SWITCHES)}", self._approve),
        }

    @property
    def _session(self) -> Session:
        return self._bench.session

    def _allow(self, rest: list[str]) -> Sheet:
        words, flags = without_flags(rest, "allow", "--save")
        rules, save = checked(words, "allow"), bool(flags)
        inside(self._bench, lambda session: _grant(session, rules, save=save))
        how_long = "here from now on, in later sessions too" if save else "for this session"
        return said(f"Allowed {how_long}: {', '.join(rules)}.", *self._covered(rules), "%tools revoke takes it back.")

    def _covered(self, rules: list[str]) -> Iterator[str]:
        """What each rule about commands covers, and what it does not."""
        session = self._session
        for rule in rules:
            if session.tool_named(read_rule(rule).tool) in RUN_COMMANDS:
                yield " ".join(coverage(rule, session.programs).sentences)

    def _add(self, verb: str, rules: list[str]) -> Sheet:
        policy = self._session.policy
        listed = tuple(dict.fromkeys((*getattr(policy, verb), *checked(rules, verb))))
        inside(self._bench, lambda session: setattr(session, "policy", _with(policy, {verb: listed})))
        return said(f"{verb}: {', '.join(map(str, listed))}.")

    def _grants(self, rest: list[str]) -> Sheet:
        if rest:
            raise refused("%tools grants takes nothing; %tools allow, save and revoke change what it shows.")
        granted = self._session.granted
        if not granted:
            return said(
                "Nothing has been allowed.", "Always on a card or %tools allow RULE adds a grant; %tools save keeps it for later sessions."
            )
        lines = ("%tools revoke RULE takes one back, %tools save RULE keeps one for later sessions.",)
        return Sheet("", tuple(map(_row, granted)), lines, ("rule", "holds", "since", "given for"))

    def _save(self, rest: list[str]) -> Sheet:
        rules, session = checked(rest, "save"), self._session
        unknown = [rule for rule in rules if rule not in (*session.grants, *session.saved_grants)]
        if unknown:
            near = did_you_mean(unknown[0], session.grants) if session.grants else ""
            how = f"%tools allow --save {_quoted(unknown[0])} gives and keeps it."
            raise PolicyError(f"{unknown[0]} is no grant of this session.{near} {how}")
        inside(self._bench, lambda there: _grant(there, rules, save=True))
        return said(f"Kept for later sessions on this workspace: {', '.join(rules)}.", "%tools revoke takes it back.")

    def _revoke(self, rest: list[str]) -> Sheet:
        session = self._session
        wanted = [*session.grants, *session.saved_grants] if rest == ["*"] else checked(rest, "revoke")
        unknown = inside(self._bench, lambda there: [rule for rule in wanted if not _taken_back(there, rule)])
        if unknown:
            raise PolicyError(f"There is no rule {', '.join(unknown)} to take back.{did_you_mean(unknown[0], all_rules(session))}")
        return said(f"Taken back: {', '.join(wanted)}." if wanted else "There was nothing to take back.")

    def _approve(self, rest: list[str]) -> Sheet:
        if not rest:
            rows = tuple((switch, "on" if self._is_on(switch) else "off", ", ".join(approvals(switch))) for switch in SWITCHES)
            return Sheet("", rows, ("%tools approve edits on lets all of them run unasked in this session.",), ("switch", "", "rules"))
        *words, state = rest
        if not words or state not in _ON:
            raise refused("%tools approve takes a switch and on or off, as in %tools approve edits on.")
        switch = next((one for one in SWITCHES if one.lower() == " ".join(words).lower()), " ".join(words))
        rules = approvals(switch)
        inside(self._bench, lambda session: _grant(session, rules) if _ON[state] else _take_back(session, rules))
        return said(f"{switch}: {'run unasked' if _ON[state] else 'asked as the mode and the rules say'} ({', '.join(rules)}).")

    def _is_on(self, switch: str) -> bool:
        return set(approvals(switch)) <= {*self._session.grants, *self._session.saved_grants}


def checked(rules: list[str], verb: str) -> list[str]:
    """Raises ``PolicyError`` unless there are rules, and nothing but rules."""
    if not rules:
        raise PolicyError(f'%tools {verb} needs a rule, as in %tools {verb} edit or %tools {verb} "shell(git status)".')
    for rule in rules:
        read_rule(rule)
    return rules


def all_rules(session: Session) -> tuple[str, ...]:
    """Those that can be taken back."""
    policy = session.policy
    return (*session.grants, *session.saved_grants, *map(str, (*policy.allow, *policy.ask, *policy.deny)))


def described(rule: str | Rule) -> str:
    """A rule with what its text does not say."""
    if isinstance(rule, str):
        return rule
    only = [f"only in {', '.join(rule.modes)}"] if rule.modes else []
    only += [f"only where {name} is {'true' if value else 'false'}" for name, value in rule.annotations]
    only += ["redirects, too"] if rule.redirects else []
    return f"{rule} ({'; '.join(only)})" if only else str(rule)


def _row(grant: Grant) -> tuple[str, str, str, str]:
    since = datetime.fromtimestamp(grant.at).astimezone()
    return (grant.rule, "saved" if grant.saved else "this session", f"{since:%Y-%m-%d %H:%M}", grant.by or "by hand")


def _quoted(rule: str) -> str:
    return f'"{rule}"' if "(" in rule or " " in rule else rule


def _grant(session: Session, rules: Iterable[str], *, save: bool = False) -> None:
    for rule in rules:
        session.allow(rule, save=save)


def _take_back(session: Session, rules: Iterable[str]) -> None:
    for rule in rules:
        session.revoke(rule)


def _taken_back(session: Session, rule: str) -> bool:
    """Out of the grants, or out of whichever list of the session's policy has it."""
    if session.revoke(rule):
        return True
    policy = session.policy
    changed = _with(policy, {verb: tuple(one for one in getattr(policy, verb) if str(one) != rule) for verb in VERBS})
    session.policy = changed
    return changed != policy


def _with(policy: Policy, lists: Mapping[str, tuple[object, ...]]) -> Policy:
    """The policy with other lists of rules, by their names."""
    return replace(policy, **lists)  # type: ignore[arg-type]
