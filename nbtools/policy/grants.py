"""Grants: the rules that an *always* answer adds, and which of them to offer with an approval request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtools import shell
from nbtools.core.decision import Decision
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, CommandTarget, Kind
from nbtools.policy.coverage import coverage
from nbtools.policy.protected import CRITICAL, DOUBT, PROTECTED, is_protected_name

if TYPE_CHECKING:
    from nbtools.shell import AnalysedCommand, ProgramTable

_PLAIN_WORD = re.compile(r"[\w./:@%+,=-]+")
_PLAIN_PATH = re.compile(r"[\w.@%+,=-][\w./@%+,=-]*")
_RUN_ANYTHING = (
    "sudo doas env xargs sh bash zsh dash eval exec nohup time timeout find ssh awk perl ruby node"
)
_DESTROY = "rm rmdir dd mkfs chmod chown mv kill pkill tee"
_LITERALLY = frozenset(f"{_RUN_ANYTHING} {_DESTROY}".split())
_VERBS = (
    "git npm pnpm yarn pip uv cargo go docker make poetry hatch jupyter gh kubectl apt just task invoke"
    " nox tox"
)
_HAS_VERBS = frozenset(_VERBS.split())
_ALWAYS_ASKED = frozenset({PROTECTED, CRITICAL, DOUBT})


@dataclass(frozen=True, slots=True)
class GrantOffers:
    """The rules that an *always* answer may add.

    ``rules`` are the usual ones; none where each call has to be approved on its own.  ``folders`` are a
    narrower choice, for only the folders of the edited files.  ``covered`` has a text for each rule about
    commands on what it covers and does not cover.
    """

    rules: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()


def offered_grants(
    tool: AnyToolBuilder, invocation: AnyToolInvocation, table: ProgramTable | None = None
) -> GrantOffers:
    """Returns the rules to offer with an approval request; ``table`` None: the included programs."""
    if tool.asks == "always" or exceeds_tool_kind(tool, invocation.kind or tool.kind):
        return GrantOffers()
    target = invocation.target()
    if isinstance(target, CommandTarget):
        rules = _of_commands(tool.name, target, table)
        covered = tuple(
            " ".join(coverage(rule, table).sentences) for rule in rules if rule.startswith(f"{tool.name}(")
        )
        return GrantOffers(rules, covered=covered)
    if tool.kind is Kind.FETCH and target.paths:
        # A grant for a fetch names the host, so that approving one host does not approve the whole web.
        return GrantOffers(tuple(f"{tool.name}({host})" for host in target.paths))
    return GrantOffers((tool.name,), _of_folders(target.paths) if tool.kind is Kind.EDIT else ())


def _of_folders(paths: Sequence[str]) -> tuple[str, ...]:
    """Returns the rules for only the folders of the edited files; empty where there are none."""
    if not all(map(_PLAIN_PATH.fullmatch, paths)):
        return ()
    folders = dict.fromkeys(path.rstrip("/").rpartition("/")[0] for path in paths)
    if any(map(is_protected_name, "/".join(folders).split("/"))):
        return ()  # protected paths need approval whatever the rules say
    if all(folders) and ".." not in "/".join(folders).split("/"):
        return tuple(f"edit({folder}/**)" for folder in folders)
    return ()


def can_be_allowed(decision: Decision) -> bool:
    """Whether an allow rule changes the decision: not under an ask rule, or if every mode asks."""
    return not decision.source and decision.rule not in _ALWAYS_ASKED


def exceeds_tool_kind(tool: AnyToolBuilder, kind: Kind) -> bool:
    """Whether a call's changes are of another kind than its tool, as running a cell for one that edits.

    An allow rule for the tool does not cover such a call, so each one needs approval.
    """
    return kind is not tool.kind and not kind.changes_nothing


def _of_commands(tool: str, target: CommandTarget, table: ProgramTable | None) -> tuple[str, ...]:
    acts = shell.analyse(target.command, table)
    if acts.doubt or any(act.critical or act.language for act in acts.commands):
        return ()  # a rule for a program that runs its input would cover any other code, too
    if acts.unverified:
        line = target.command.strip()
        fixed = target.directory == "." and not any(0 in act.dynamic for act in acts.commands)
        return (f"{tool}({line})",) if fixed and "*" not in line and not line.startswith("!") else ()
    rules = [rule for act in acts.commands for rule in _grants(tool, target.directory, act)]
    return tuple(dict.fromkeys(rules)) if all(rules) else ()


def _grants(tool: str, directory: str, act: AnalysedCommand) -> Iterator[str]:
    """Yields rules for the command and each redirect's file; empty where no rule can express it."""
    if act.risk or not act.transparent:
        grant = _grant(act)
        yield f"{tool}({grant})" if grant else ""
    for path in act.redirected:
        if path != "/dev/null":
            written = path if directory == "." else f"{directory}/{path}"
            yield (
                f"edit(/{written})"
                if _PLAIN_PATH.fullmatch(written) and ".." not in written.split("/")
                else ""
            )


def _grant(act: AnalysedCommand) -> str:
    """Returns a rule's spec: ``git log:*`` for programs and sub-commands in the table, else the exact words.

    Empty where no rule could express it.
    """
    if not act.words or 0 in act.dynamic or not _PLAIN_WORD.fullmatch(act.words[0]):
        return ""
    program, words = act.words[0], act.plain or act.words
    known = words[: act.entry.count(" ") + 1] if act.entry else ()
    if (
        not known
        or program in _LITERALLY
        or program.startswith("python")
        or act.risk
        or set(act.writes) - set(act.redirected)
    ):
        return _exactly(act)
    if len(known) == 1 and len(words) > 1 and (program in _HAS_VERBS):
        verb = words[1]
        if _PLAIN_WORD.fullmatch(verb) and not verb.startswith("-"):
            return f"{program} {verb}:*"
        return _exactly(act)
    return f"{' '.join(known)}:*" if all(map(_PLAIN_WORD.fullmatch, known)) else ""


def _exactly(act: AnalysedCommand) -> str:
    whole = (*act.assignments, *act.words) if act.risk else act.words
    return " ".join(whole) if all(map(_PLAIN_WORD.fullmatch, whole)) else ""


@dataclass(frozen=True, slots=True)
class Grant:
    """A rule that the person allowed at the time ``at`` (seconds since the epoch).

    ``saved``: it also applies to later sessions on this workspace.  ``by`` describes the call that was
    approved; empty for a rule that the person added directly.
    """

    rule: str
    saved: bool
    at: float
    by: str = ""
