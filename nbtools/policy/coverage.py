"""Describes what a rule about commands covers, and an example that it does not, by the program table."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtools import shell
from nbtools.core.decision import Action
from nbtools.policy.command_rules import CommandRules
from nbtools.policy.layers import SourcedRule, as_rule
from nbtools.policy.rules import Rule

if TYPE_CHECKING:
    from nbtools.shell import AnalysedCommand, CommandAnalysis, Entry, ProgramTable

RUN_COMMANDS = frozenset({"shell", "terminal_run"})
"""The canonical names of the tools whose rules are about command lines."""
_REDIRECT = "files written by redirects"
_EXACTLY = "Only a rule with exactly the words of the command allows it"
_UNLISTED_OPTION = "an option that the table of programs does not list"
_STARTING = frozenset({"program", "assignments", "line", "package"})
_WRITING = frozenset({"write", "remove", "copy", "move", "output"})
_PROBES = ((), ("x",), ("5",), ("5", "x"))
"""Words to try after those of a rule.  A rule that covers none of these lines covers nothing."""
_FILLED = {
    "text": "5",
    "assignments": "NAME=VALUE",
    "program": "PROGRAM",
    "line": "PROGRAM",
    "package": "PACKAGE",
}
"""An example word for each role of an operand before a started program."""
_UNLISTED = {
    "git": "-c alias.x=!PROGRAM x",
    "git log": "--output=FILE",
    "git diff": "--output=FILE",
    "git show": "--output=FILE",
    "git grep": "--open-files-in-pager=PROGRAM",
    "git commit": "--template=FILE",
    "git push": "--receive-pack=PROGRAM",
    "git fetch": "--upload-pack=PROGRAM",
    "git pull": "--upload-pack=PROGRAM",
    "git clone": "--upload-pack=PROGRAM",
    "git ls-remote": "--upload-pack=PROGRAM",
    "rg": "--pre=PROGRAM",
    "find": "FOLDER -exec PROGRAM {} ;",
    "fd": "--exec PROGRAM",
    "tar": "--to-command=PROGRAM",
    "rsync": "--rsh=PROGRAM",
    "man": "--pager=PROGRAM",
    "pytest": "-p PLUGIN",
    "make": "SHELL=PROGRAM",
    "python": "-c CODE",
    "perl": "-e CODE",
    "ruby": "-e CODE",
    "node": "-e CODE",
    "bash": "-c PROGRAM",
}
"""Known options that the table omits on purpose; each is an example only while it needs approval."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The calls that a rule covers, and an ``example`` that it does not: a command line or kind of words."""

    rule: str
    covers: str
    example: str = ""
    complete: bool = False
    """Whether redirects need no mention, because the rule covers them too or covers nothing."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence on what it covers, and one on what it does not."""
        return f"{self.rule} covers {self.covers}.", *(
            [f"It does not cover {self.excluded}."] if self.excluded else []
        )

    @property
    def excluded(self) -> str:
        """The example, and redirects where the rule does not cover them."""
        redirect = "" if self.complete else _REDIRECT
        if self.example and redirect:
            return f"{self.example}, for instance, or {redirect}"
        return self.example or redirect


def coverage(rule: str | Rule, table: ProgramTable | None = None) -> Coverage:
    """Returns the coverage of a rule that allows commands, by ``table`` (None: the included one).

    Raises ``PolicyError`` for an invalid rule.
    """
    parsed, name = as_rule(rule, Action.ALLOW), str(rule)
    if parsed.is_bare:
        return Coverage(
            name,
            "every command, whatever it does",
            "what needs approval in every mode (rm -r ~, writing .git)",
            complete=True,
        )
    if not parsed.spec:
        why = f"commands that match the regular expression {parsed.command or parsed.arguments}"
        return Coverage(name, why, _UNLISTED_OPTION, parsed.redirects)
    beginning = (
        parsed.spec.removesuffix(":*") if parsed.spec.endswith(":*") else parsed.spec.removesuffix(" *")
    )
    if "*" in beginning:
        why = f"commands like {parsed.spec}, where a star alone matches one word"
        return Coverage(name, why, _UNLISTED_OPTION, parsed.redirects)
    if beginning == parsed.spec:
        return Coverage(
            name,
            f"exactly this line: {parsed.spec}",
            f"the same with a further word, such as {parsed.spec} x",
            complete=True,
        )
    return _PrefixRule(name, parsed, beginning, table or shell.included_table()).coverage()


def unknown_program(words: Sequence[str], table: ProgramTable | None = None) -> str:
    """Returns the program or sub-command that is not in the table; empty where the words name a known one."""
    found, name = find_entries(words, table or shell.included_table())
    return "" if found else name


def find_entries(words: Sequence[str], table: ProgramTable) -> tuple[tuple[Entry, ...], str]:
    """Returns the entries of the program and its sub-commands, and the words that name them.

    Without entries where the program or sub-command is not in the table; the words then name the missing one.
    """
    entry, name = table.find(words[0]), words[0]
    if entry is None:
        return (), name
    entries = [entry]
    for word in words[1:]:
        subcommand = entry.commands.get(word)
        if subcommand is None:
            without = bool(entry.commands) and not entry.operands and word[:1] != "-"
            return ((), f"{name} {word}") if without else (tuple(entries), name)
        entry, name = subcommand, f"{name} {word}"
        entries.append(entry)
    return tuple(entries), name


class _PrefixRule:
    """Determines the coverage of a rule whose words are literal except for a star at the end."""

    def __init__(self, name: str, rule: Rule, beginning: str, table: ProgramTable) -> None:
        self._name = name
        self._rule = rule
        self._text = beginning
        self._table = table
        self._rules = CommandRules((SourcedRule(rule, "", name),), narrow=True)

    def coverage(self) -> Coverage:
        act = self._last()
        if act is None:
            return self._covering(f"commands that begin with {self._text}", _UNLISTED_OPTION)
        entries, name = find_entries(act.plain or act.words, self._table)
        if nothing := self._launcher_problem(act) or self._exact_rule_reason(entries, name):
            return Coverage(self._name, nothing, complete=True)
        if not entries:
            return self._covering(
                f"whatever {name} does, with any arguments: {name} is not in the table of programs, so its"
                " effects are not known"
            )
        covers = _about_starting(name, entries[-1]) if _is_launcher(entries[-1]) else self._words(entries)
        return self._covering(covers, self._example(entries[-1], name))

    def _launcher_problem(self, act: AnalysedCommand) -> str:
        """Returns that a launcher's rule does not cover the program it starts; empty if not applicable."""
        if not act.via or any(self._rules.find_allowing(act)):
            return ""
        words = shlex.join(word for at, word in enumerate(act.words) if at not in act.dynamic)
        own = f"{self._rule.tool}({words}:*)"
        return f"nothing on its own: the program that {act.via[-1]} starts needs its own rule, {own}"

    def _exact_rule_reason(self, entries: tuple[Entry, ...], name: str) -> str:
        """Returns why only a rule with exactly these words could allow them; empty where others can."""
        if not entries:
            return ""
        entry = entries[-1]
        if entry.asks:
            return f"nothing: {name} always needs approval, because {entry.asks}. {_EXACTLY}"
        if entry.shell_options.intersection(self._text.split()):
            return f"nothing on its own: the programs that {name} starts need their own rules"
        risk = "" if _is_launcher(entry) else self._risk()
        return f"nothing, because {risk}. {_EXACTLY}" if risk else ""

    def _covering(self, covers: str, example: str = "") -> Coverage:
        return Coverage(self._name, covers, example, self._rule.redirects)

    def _acts(self, words: Sequence[str] = ()) -> CommandAnalysis:
        return shell.analyse(" ".join((self._text, *map(shlex.quote, words))), self._table)

    def _last(self) -> AnalysedCommand | None:
        """Returns the program that the rule's words finally start; None if not a single known one."""
        parsed = self._acts()
        named = [act for act in parsed.commands if act.words]
        started_by = [act for act in named if not act.via]
        if parsed.unverified or parsed.doubt or len(started_by) != 1 or 0 in named[-1].dynamic:
            return None
        return named[-1]

    def _words(self, entries: tuple[Entry, ...]) -> str:
        entry, project = entries[-1], any(one.project for one in entries)
        options = (
            "options that are known to be harmless"
            if entry.harmless
            else "the options that the table of programs lists"
        )
        options = (
            "the sub-commands and the options that the table of programs lists" if entry.commands else options
        )
        options = "any arguments" if entry.style == "text" else options
        writes = (
            ", and what it writes inside the workspace, protected files excepted" if _writes(entry) else ""
        )
        files = "; it runs code of the project" if project else ""
        scripts = (
            "; it runs the scripts named in its arguments, whatever they do"
            if "script" in entry.operands
            else ""
        )
        return f"{self._text} with {options}{writes}{files or scripts}"

    def _risk(self) -> str:
        """Returns why the rule covers nothing; empty where it covers something."""
        why = ""
        for words in _PROBES:
            found = self._why_not_covered(words)
            if found is None:
                return ""
            why = why or found
        return why

    def _example(self, entry: Entry, name: str) -> str:
        """Returns a line that begins with the words of the rule but is not covered."""
        for words in _candidates(entry, name):
            if self._why_not_covered(words) is not None:
                return f"{self._text} {' '.join(words)}"
        if _writes(entry):
            return f"{self._text} on files outside the workspace"
        if self._why_not_covered(("--not-in-the-table",)) is not None:
            return f"{self._text} with {_UNLISTED_OPTION}"
        return ""

    def _why_not_covered(self, words: Sequence[str]) -> str | None:
        """Returns why the rule does not cover its words followed by ``words``; None where it does."""
        parsed = self._acts(words)
        if parsed.unverified or parsed.doubt:
            return parsed.unverified or parsed.doubt
        for act in parsed.commands:
            rules = () if act.transparent and not act.risk else tuple(self._rules.find_allowing(act))
            if not act.transparent and not rules:
                return f"{act.text} needs its own rule"
            if act.risk and not any(rule.spells_out(act.spelled) for rule in rules):
                return act.risk
            if act.critical:
                return act.critical
            if act.named and not any(option in rule.words for rule in rules for option in act.rewrites):
                return f"it writes {act.named[0]}"
        return None


def _is_launcher(entry: Entry) -> bool:
    return not _STARTING.isdisjoint(map(str, entry.operands))


def _writes(entry: Entry) -> bool:
    """Whether the program writes files named by its operands."""
    return not _WRITING.isdisjoint(map(str, entry.operands))


def _about_starting(name: str, entry: Entry) -> str:
    if "package" in entry.operands:
        return (
            f"{name} with the options that the table of programs lists; the rule must also name the package"
            " that it fetches and runs"
        )
    return (
        f"{name} with the options that the table of programs lists; the programs that it starts need their"
        " own rules"
    )


def _candidates(entry: Entry, name: str) -> Iterator[Sequence[str]]:
    """Yields words that are probably not covered: they write, change in place, or start a program."""
    if known := _UNLISTED.get(name):
        yield known.split()
    for option in sorted(entry.writes, key=lambda one: (not one.startswith("--out"), one[:2] != "--", one)):
        yield (option, "FILE") if option[:1] == "-" and option[:2] != "--" else (f"{option}=FILE",)
    for option in sorted(entry.rewrites - {"always"}, key=lambda one: (len(one), one)):
        yield option, *(("s/a/b/",) if entry.special == "sed" else ()), "FILE"
    for option in sorted(entry.shell_options, key=lambda one: (len(one), one)):
        yield option, "PROGRAM"
    roles = [role for role in entry.operands if isinstance(role, str)]
    if starting := [at for at, role in enumerate(roles) if role in _STARTING - {"assignments"}]:
        yield [_FILLED.get(role, "5") for role in roles[: starting[0] + 1] if role != "assignments"]
    yield from ((command,) for command, below in sorted(entry.commands.items()) if below.asks)
