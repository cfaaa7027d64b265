"""What an *always* would allow: offered beside the question, for the parts of a command rather than its letter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from nbtools.core.decision import Decision
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, CommandTarget, Kind, PathTarget
from nbtools.policy.coverage import coverage
from nbtools.policy.protected import CRITICAL, DOUBT, PROTECTED, is_protected_name

if TYPE_CHECKING:
    from nbtools.shell import Act, Table

_PLAIN_WORD = re.compile(r"[\w./:@%+,=-]+")
_PLAIN_PATH = re.compile(r"[\w.@%+,=-][\w./@%+,=-]*")
_RUN_ANYTHING = "sudo doas env xargs sh bash zsh dash eval exec nohup time timeout find ssh awk perl ruby node"
_DESTROY = "rm rmdir dd mkfs chmod chown mv kill pkill tee"
_LITERALLY = frozenset(f"{_RUN_ANYTHING} {_DESTROY}".split())
_VERBS = "git npm pnpm yarn pip uv cargo go docker make poetry hatch jupyter gh kubectl apt just task invoke nox tox"
_HAS_VERBS = frozenset(_VERBS.split())
_ALWAYS_ASKED = frozenset({PROTECTED, CRITICAL, DOUBT})


def offers(tool: AnyToolBuilder, invocation: AnyToolInvocation, table: Table | None = None) -> tuple[str, ...]:
    """The rules that *always* adds, none where only the whole call can be approved each time, or where asking is what it is for.

    ``table``: the programs that are known, those that nbtools brings if none is given.
    """
    if tool.asks == "always" or goes_further(tool, invocation.kind or tool.kind):
        return ()
    target = invocation.target()
    if not isinstance(target, CommandTarget):
        # What is fetched is named by its host: yes to one is no yes to all of the web.
        return tuple(f"{tool.name}({host})" for host in target.paths) if tool.kind is Kind.FETCH and target.paths else (tool.name,)
    return _of_commands(tool.name, target, table)


def covered_by(tool: AnyToolBuilder, invocation: AnyToolInvocation, rules: Iterable[str], table: Table | None = None) -> tuple[str, ...]:
    """For rules about commands, what each covers and what it does not, in words; empty for other rules."""
    if not isinstance(invocation.target(), CommandTarget):
        return ()
    return tuple(" ".join(coverage(rule, table).sentences) for rule in rules if rule.startswith(f"{tool.name}("))


def narrower(tool: AnyToolBuilder, invocation: AnyToolInvocation) -> tuple[str, ...]:
    """The rules for just the folders of the files that an edit is about: a second thing for *always* to add.  None where there are none."""
    if tool.kind is not Kind.EDIT or tool.asks == "always" or goes_further(tool, invocation.kind or tool.kind):
        return ()
    target = invocation.target()
    if not isinstance(target, PathTarget) or not all(map(_PLAIN_PATH.fullmatch, target.paths)):
        return ()
    folders = dict.fromkeys(path.rstrip("/").rpartition("/")[0] for path in target.paths)
    if any(map(is_protected_name, "/".join(folders).split("/"))):  # no rule takes the question away there
        return ()
    return tuple(f"edit({folder}/**)" for folder in folders) if all(folders) and ".." not in "/".join(folders).split("/") else ()


def can_be_allowed(decision: Decision) -> bool:
    """Whether a rule that allows would change the answer: not where another rule asks, nor what is asked in every mode."""
    return not decision.source and decision.rule not in _ALWAYS_ASKED


def goes_further(tool: AnyToolBuilder, kind: Kind) -> bool:
    """Whether a call changes the world in another way than its tool is there for, as the cell that is run by a tool that edits cells.

    Nobody who allowed the tool has allowed that: no rule does, and each such call is asked.
    """
    return kind is not tool.kind and not kind.changes_nothing


def _of_commands(tool: str, target: CommandTarget, table: Table | None) -> tuple[str, ...]:
    from nbtools.shell import understand  # noqa: PLC0415 - knows hundreds of programs: only commands pay for it

    acts = understand(target.command, table)
    if acts.doubt or any(act.critical for act in acts.acts):
        return ()
    if acts.unverified:
        line = target.command.strip()
        fixed = target.directory == "." and not any(0 in act.dynamic for act in acts.acts)
        return (f"{tool}({line})",) if fixed and "*" not in line and not line.startswith("!") else ()
    rules = [rule for act in acts.acts for rule in _grants(tool, target.directory, act)]
    return tuple(dict.fromkeys(rules)) if all(rules) else ()


def _grants(tool: str, directory: str, act: Act) -> Iterator[str]:
    """A rule for the command, and one for each file that it writes without naming it among its words; empty where no rule can say it."""
    if act.risk or not act.transparent:
        grant = _grant(act)
        yield f"{tool}({grant})" if grant else ""
    for path in act.redirected:
        if path != "/dev/null":
            written = path if directory == "." else f"{directory}/{path}"
            yield f"edit(/{written})" if _PLAIN_PATH.fullmatch(written) and ".." not in written.split("/") else ""


def _grant(act: Act) -> str:
    """``git log:*`` and ``ls:*`` for programs and sub-commands that the table knows, the very words for all others.

    Empty where no rule could say it.
    """
    if not act.words or 0 in act.dynamic or not _PLAIN_WORD.fullmatch(act.words[0]):
        return ""
    program, words = act.words[0], act.plain or act.words
    known = words[: act.entry.count(" ") + 1] if act.entry else ()
    if not known or program in _LITERALLY or program.startswith("python") or act.risk or set(act.writes) - set(act.redirected):
        return _exactly(act)
    if len(known) == 1 and len(words) > 1 and (program in _HAS_VERBS):
        verb = words[1]
        return f"{program} {verb}:*" if _PLAIN_WORD.fullmatch(verb) and not verb.startswith("-") else _exactly(act)
    return f"{' '.join(known)}:*" if all(map(_PLAIN_WORD.fullmatch, known)) else ""


def _exactly(act: Act) -> str:
    whole = (*act.assignments, *act.words) if act.risk else act.words
    return " ".join(whole) if all(map(_PLAIN_WORD.fullmatch, whole)) else ""
