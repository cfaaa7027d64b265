"""The sub-commands of ``%tools`` that add, list, save and remove rules and grants,
and descriptions of rules in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from nbtools.cards.tables import Sheet
from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.core.message import did_you_mean
from nbtools.notebook.magics.flags import Parameter, refused, switch, word_list
from nbtools.notebook.magics.sub_commands import SubCommand, inside, sheet_of_lines
from nbtools.policy.coverage import RUN_COMMANDS, coverage
from nbtools.policy.grants import Grant
from nbtools.policy.importers.void import Switch, approval_rules
from nbtools.policy.layers import check_rule
from nbtools.policy.path_rules import rooted_pattern
from nbtools.policy.policy_file import VERBS
from nbtools.policy.rules import Rule, read_rule
from nbtools.workspace.files.read_filter import ReadFilter
from nbtools.workspace.paths import printable_path

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.policy.layers import Policy
    from nbtools.session.session import Session

_STAYS_INSIDE = frozenset({"read", "read_many", "grep", "glob", "ls", "tree", "diagnostics", "cells"})
"""Tools that reach the workspace only.  A rule for ``edit`` also covers what commands write,
which may be outside.
"""
_ON = {"on": True, "off": False}
SWITCHES: tuple[str, ...] = get_args(Switch)


class RuleCommands:
    """The sub-commands about rules and grants."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        self.commands = (
            self._taking_rules(
                "allow",
                "allows calls without approval in this session; with --save also in later sessions in this"
                " workspace",
                self._allow,
                lambda session: session.tools,
                switch("save"),
            ),
            self._taking_rules(
                "ask",
                "requires approval for these calls",
                lambda rules: self._add("ask", rules),
                lambda session: session.tools,
            ),
            self._taking_rules(
                "deny",
                "never allows these calls",
                lambda rules: self._add("deny", rules),
                lambda session: session.tools,
            ),
            SubCommand(
                "grants",
                "lists what is allowed without approval, for this session or saved",
                self._grants,
                hint="takes no arguments. %tools allow, save and revoke change the grants.",
            ),
            self._taking_rules(
                "save",
                "saves grants of this session for later sessions in this workspace",
                self._save,
                lambda session: session.grants,
            ),
            self._taking_rules(
                "revoke",
                "removes rules and grants, also saved ones; * removes all grants",
                self._revoke,
                all_rules,
            ),
            SubCommand(
                "approve",
                f"allows a whole kind of calls without approval, as in Void: {', '.join(SWITCHES)}",
                self._approve,
                (word_list("what", required=False, offers=lambda before, _: _ON if before else SWITCHES),),
                usage="WHAT on|off",
            ),
        )

    def _taking_rules(
        self,
        name: str,
        about: str,
        run: Callable[..., Sheet],
        known: Callable[[Session], Iterable[str]],
        *flags: Parameter,
    ) -> SubCommand:
        hint = f'needs a rule, as in %tools {name} edit or %tools {name} "shell(git status)".'
        rules = word_list("rules", offers=lambda *_: known(self._session))
        return SubCommand(name, about, run, (*flags, rules), hint)

    @property
    def _session(self) -> Session:
        return self._runtime.session

    def _allow(self, rules: list[str], *, save: bool = False) -> Sheet:
        self._check(rules, "allow")
        self._check_inside(rules)
        inside(self._runtime, lambda session: _grant(session, rules, save=save))
        how_long = "for this and later sessions in this workspace" if save else "for this session"
        return sheet_of_lines(
            f"Allowed {how_long}: {', '.join(rules)}.",
            *self._covered(rules),
            "%tools revoke RULE removes it.",
        )

    def _check(self, rules: list[str], verb: str) -> None:
        """Raises ``PolicyError`` also for a rule that names no tool:
        it would have no effect, and nobody would notice.
        """
        check_rules(rules, verb)
        for rule in rules:
            if problem := self._session.unknown_tool(read_rule(rule).tool):
                raise PolicyError(f"The rule {rule} has no effect. {problem}")

    def _check_inside(self, rules: list[str]) -> None:
        """Raises ``PolicyError`` for a rule about a file tool and files outside the workspace,
        which no rule lets these tools reach.
        """
        session, root = self._session, self._session.workspace.root
        for text in rules:
            rule = read_rule(text)
            if (
                not rule.spec
                or session.tool_named(rule.tool) not in _STAYS_INSIDE
                or ReadFilter(str(root), (rooted_pattern(rule),))
            ):
                continue
            raise PolicyError(
                f"The rule {text} has no effect: file tools stay inside {printable_path(str(root))}, whatever"
                " the rules allow. %tools workspace FOLDER switches to another one; a command can read"
                " there, with a rule such as 'shell(cat:*)'."
            )

    def _covered(self, rules: list[str]) -> Iterator[str]:
        """Yields what each rule about commands covers, and what it does not."""
        session = self._session
        for rule in rules:
            if session.tool_named(read_rule(rule).tool) in RUN_COMMANDS:
                yield " ".join(coverage(rule, session.programs).sentences)

    def _add(self, verb: str, rules: list[str]) -> Sheet:
        self._check(rules, verb)
        policy = self._session.policy
        listed = tuple(dict.fromkeys((*getattr(policy, verb), *rules)))
        inside(self._runtime, lambda session: setattr(session, "policy", _with(policy, {verb: listed})))
        return sheet_of_lines(f"{verb} rules of this session: {', '.join(map(str, listed))}.")

    def _grants(self) -> Sheet:
        granted = self._session.granted
        if not granted:
            return sheet_of_lines(
                "There are no grants.",
                "“Always allow” on a card or %tools allow RULE adds one; %tools save keeps it for later"
                " sessions.",
            )
        lines = ("%tools revoke RULE removes a grant, %tools save RULE keeps it for later sessions.",)
        return Sheet("", tuple(map(_row, granted)), lines, ("rule", "duration", "since", "granted for"))

    def _save(self, rules: list[str]) -> Sheet:
        check_rules(rules, "save")
        session = self._session
        unknown = [rule for rule in rules if rule not in (*session.grants, *session.saved_grants)]
        if unknown:
            near = did_you_mean(unknown[0], session.grants) if session.grants else ""
            written = f'"{unknown[0]}"' if "(" in unknown[0] or " " in unknown[0] else unknown[0]
            how = f"%tools allow --save {written} adds and saves it."
            raise PolicyError(f"{unknown[0]} is not a grant of this session.{near} {how}")
        inside(self._runtime, lambda there: _grant(there, rules, save=True))
        return sheet_of_lines(
            f"Saved for later sessions in this workspace: {', '.join(rules)}.",
            "%tools revoke RULE removes it.",
        )

    def _revoke(self, rules: list[str]) -> Sheet:
        session = self._session
        if rules == ["*"]:
            rules = [*session.grants, *session.saved_grants]
        else:
            check_rules(rules, "revoke")
        unknown = inside(self._runtime, lambda there: [rule for rule in rules if not _removed(there, rule)])
        if unknown:
            raise PolicyError(
                "There is no rule or grant"
                f" {', '.join(unknown)}.{did_you_mean(unknown[0], all_rules(session))}"
            )
        return sheet_of_lines(f"Removed: {', '.join(rules)}." if rules else "There are no grants to remove.")

    def _approve(self, what: Sequence[str] = ()) -> Sheet:
        if not what:
            granted = {*self._session.grants, *self._session.saved_grants}
            rules_of = {switch: approval_rules(switch) for switch in SWITCHES}
            return Sheet(
                "",
                tuple(
                    (switch, "on" if granted.issuperset(rules) else "off", ", ".join(rules))
                    for switch, rules in rules_of.items()
                ),
                ("%tools approve edits on allows all edits without approval in this session.",),
                ("switch", "", "rules"),
            )
        *kinds, state = what
        if not kinds or state not in _ON:
            raise refused("%tools approve takes a switch and on or off, as in %tools approve edits on.")
        named = " ".join(kinds)
        kind = next((one for one in SWITCHES if one.lower() == named.lower()), named)
        rules = approval_rules(kind)
        inside(
            self._runtime,
            lambda session: _grant(session, rules) if _ON[state] else _revoke_all(session, rules),
        )
        effect = "allowed without approval" if _ON[state] else "the mode and the rules decide"
        return sheet_of_lines(f"{kind}: {effect} ({', '.join(rules)}).")


def check_rules(rules: list[str], verb: str) -> None:
    """Raises ``PolicyError`` unless all are valid."""
    for rule in rules:
        read_rule(rule)
        if verb in VERBS:
            check_rule(rule, Action(verb))


def all_rules(session: Session) -> tuple[str, ...]:
    """Returns all rules that can be revoked."""
    policy = session.policy
    return (*session.grants, *session.saved_grants, *map(str, (*policy.allow, *policy.ask, *policy.deny)))


def described(rule: str | Rule) -> str:
    """Returns a rule with the conditions that its text does not contain."""
    if isinstance(rule, str):
        return rule
    only = [f"only in {', '.join(rule.modes)}"] if rule.modes else []
    only += [f"only where {name} is {'true' if value else 'false'}" for name, value in rule.annotations]
    only += ["including redirections"] if rule.redirects else []
    only += ["only as written"] if rule.literal else []
    return f"{rule} ({'; '.join(only)})" if only else str(rule)


def _row(grant: Grant) -> tuple[str, str, str, str]:
    since = datetime.fromtimestamp(grant.at).astimezone()
    return (
        grant.rule,
        "saved" if grant.saved else "this session",
        f"{since:%Y-%m-%d %H:%M}",
        grant.by or "by hand",
    )


def _grant(session: Session, rules: Iterable[str], *, save: bool = False) -> None:
    for rule in rules:
        session.allow(rule, save=save)


def _revoke_all(session: Session, rules: Iterable[str]) -> None:
    for rule in rules:
        session.revoke(rule)


def _removed(session: Session, rule: str) -> bool:
    """Removes a rule from the grants or the session's policy; returns whether it was there."""
    if session.revoke(rule):
        return True
    policy = session.policy
    changed = _with(
        policy, {verb: tuple(one for one in getattr(policy, verb) if str(one) != rule) for verb in VERBS}
    )
    session.policy = changed
    return changed != policy


def _with(policy: Policy, lists: Mapping[str, tuple[object, ...]]) -> Policy:
    """Returns the policy with its lists of rules replaced, by their names."""
    return replace(policy, **lists)  # type: ignore[arg-type]


_EVERYTHING = {
    "shell": "every command",
    "read": "reading every file",
    "edit": "every change to a file by edit",
    "*": "every call of every tool",
}

_ABOUT = {"edit": "changing", "read": "reading", "fetch": "fetching from"}


def in_words(rule: str | Rule, tool_named: Callable[[str], str]) -> str:
    """Describes a rule: ``every command that begins with git``.
    ``tool_named`` converts any agent's tool name to the canonical one.
    """
    parsed = rule if isinstance(rule, Rule) else read_rule(rule)
    tool = tool_named(parsed.tool)
    if parsed.is_bare:
        return _EVERYTHING.get(tool, f"every call of {parsed.tool}")
    if not parsed.spec:
        return f"calls of {parsed.tool} that match the expression"
    if tool == "shell":
        return _commands(parsed.spec)
    action = _ABOUT.get(tool, f"calls of {parsed.tool} on")
    return f"{action} {parsed.spec.removeprefix('domain:')}"


def _commands(spec: str) -> str:
    beginning = spec.removesuffix(":*")
    if beginning == spec and spec.endswith(" *") and "*" not in spec[:-1]:
        beginning = spec.removesuffix(" *")
    if beginning != spec:
        return f"every command that begins with {beginning}"
    return f"every command that matches {spec}" if "*" in spec else f"exactly the command {spec}"
