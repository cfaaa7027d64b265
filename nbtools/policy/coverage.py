"""What a rule about commands covers, and an example of what it does not cover, from the table of programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtools.policy.commands import CommandRules
from nbtools.policy.layers import Sourced
from nbtools.policy.rules import Rule, read_rule

if TYPE_CHECKING:
    from nbtools.shell import Act, Acts, Table
    from nbtools.shell.table import Entry

RUN_COMMANDS = frozenset({"shell", "terminal_run"})
"""The tools, by their canonical names, whose rules are about command lines."""
_REDIRECT = "what a redirect writes"
_EXACTLY = "A rule with exactly the words of a line allows that line"
_UNLISTED_OPTION = "an option that the table of programs does not list"
_STARTING = frozenset({"program", "assignments", "line", "package"})
_WRITING = frozenset({"write", "remove", "copy", "move", "output"})
_PROBES = ((), ("x",), ("5",), ("5", "x"))
"""Words behind those of a rule: one that covers none of these lines covers nothing."""
_FILLED = {"text": "5", "assignments": "NAME=VALUE", "program": "PROGRAM", "line": "PROGRAM", "package": "PACKAGE"}
"""A word for each role that an operand in front of a started program may have."""
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
"""Options that the table leaves out on purpose, and that people know.  Each is only shown while it is asked."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a rule covers; ``example`` is one of the things that it does not cover, a command line or a kind of words."""

    rule: str
    covers: str
    example: str = ""
    complete: bool = False
    """Whether no word on redirects is needed: it covers them, too, or it covers nothing."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it covers, and what it does not."""
        return f"{self.rule} covers {self.covers}.", *([f"It does not cover {self.excluded}."] if self.excluded else [])

    @property
    def excluded(self) -> str:
        """The example, and what redirects write."""
        redirect = "" if self.complete else _REDIRECT
        return f"{self.example}, for instance, nor {redirect}" if self.example and redirect else self.example or redirect


def coverage(rule: str | Rule, table: Table | None = None) -> Coverage:
    """The coverage of a rule that allows commands, by the programs of ``table``: those that nbtools brings if none is given.

    Raises ``PolicyError`` for what is no rule.
    """
    read, name = (rule, str(rule)) if isinstance(rule, Rule) else (read_rule(rule), rule)
    if read.is_bare:
        return Coverage(name, "every command, whatever it does", "what is asked in every mode (rm -r ~, writing .git)", complete=True)
    if not read.spec:
        why = f"commands that begin as the expression {read.command or read.arguments} says"
        return Coverage(name, why, _UNLISTED_OPTION, read.redirects)
    beginning = read.spec.removesuffix(":*") if read.spec.endswith(":*") else read.spec.removesuffix(" *")
    if "*" in beginning:
        why = f"commands like {read.spec}; a star alone is one word"
        return Coverage(name, why, _UNLISTED_OPTION, read.redirects)
    if beginning == read.spec:
        return Coverage(name, f"exactly this line: {read.spec}", f"the same with any other word, as {read.spec} x", complete=True)
    from nbtools.shell.table import reviewed  # noqa: PLC0415 - knows hundreds of programs: only commands pay for it

    return _Prefix(name, read, beginning, table or reviewed()).coverage()


def unknown_program(words: Sequence[str], table: Table | None = None) -> str:
    """The program, or the program with its sub-command, that is in no table; empty where the words are of a known one."""
    from nbtools.shell.table import reviewed  # noqa: PLC0415 - as above

    found, name = entries_of(words, table or reviewed())
    return "" if found else name


def entries_of(words: Sequence[str], table: Table) -> tuple[tuple[Entry, ...], str]:
    """The entries of the program and its sub-commands, and the words that name them.

    No entries where the program or the sub-command is in no table; the words then name that.
    """
    entry, name = table.find(words[0]), words[0]
    if entry is None:
        return (), name
    entries = [entry]
    for word in words[1:]:
        deeper = entry.commands.get(word)
        if deeper is None:
            without = bool(entry.commands) and not entry.operands and word[:1] != "-"
            return ((), f"{name} {word}") if without else (tuple(entries), name)
        entry, name = deeper, f"{name} {word}"
        entries.append(entry)
    return tuple(entries), name


class _Prefix:
    """The coverage of a rule whose words are spelled out, but for those at the end."""

    def __init__(self, name: str, rule: Rule, beginning: str, table: Table) -> None:
        self._name = name
        self._rule = rule
        self._text = beginning
        self._table = table
        self._rules = CommandRules((Sourced(rule, "", name),), narrow=True)

    def coverage(self) -> Coverage:
        act = self._last()
        if act is None:
            return self._covering(f"commands that begin with {self._text}", _UNLISTED_OPTION)
        entries, name = entries_of(act.plain or act.words, self._table)
        if nothing := self._started_otherwise(act) or self._always_asked(entries, name):
            return Coverage(self._name, nothing, complete=True)
        if not entries:
            return self._covering(
                f"whatever {name} does, with any words: {name} is not in the table of programs, so nothing is known of it"
            )
        covers = _about_starting(name, entries[-1]) if _is_launcher(entries[-1]) else self._words(entries)
        return self._covering(covers, self._example(entries[-1], name))

    def _started_otherwise(self, act: Act) -> str:
        """Of a rule that names a program behind one that starts it: that rules on the first do not count for the second."""
        if not act.via or any(self._rules.allowing(act)):
            return ""
        own = f"{self._rule.tool}({shlex.join(word for at, word in enumerate(act.words) if at not in act.dynamic)}:*)"
        return f"nothing by itself: the program that {act.via[-1]} starts needs a rule of its own, {own}"

    def _always_asked(self, entries: tuple[Entry, ...], name: str) -> str:
        """Why no rule but one with exactly the words of a line allows what these words do; empty where one does."""
        if not entries:
            return ""
        entry = entries[-1]
        if entry.asks:
            return f"nothing: {name} is asked, as {entry.asks}. {_EXACTLY}"
        if entry.shell_options.intersection(self._text.split()):
            return f"nothing by itself: the programs that {name} starts need rules of their own"
        risk = "" if _is_launcher(entry) else self._risk()
        return f"nothing, as {risk}. {_EXACTLY}" if risk else ""

    def _covering(self, covers: str, example: str = "") -> Coverage:
        return Coverage(self._name, covers, example, self._rule.redirects)

    def _acts(self, words: Sequence[str] = ()) -> Acts:
        from nbtools.shell import understand  # noqa: PLC0415 - as above

        return understand(" ".join((self._text, *map(shlex.quote, words))), self._table)

    def _last(self) -> Act | None:
        """The program that the words of the rule start in the end, where that is one."""
        read = self._acts()
        named = [act for act in read.acts if act.words]
        started_by = [act for act in named if not act.via]
        return None if read.unverified or read.doubt or len(started_by) != 1 or 0 in named[-1].dynamic else named[-1]

    def _words(self, entries: tuple[Entry, ...]) -> str:
        entry, project = entries[-1], any(one.project for one in entries)
        options = "options that are known to be harmless" if entry.harmless else "the options that the table of programs lists"
        options = "the sub-commands and the options that the table of programs lists" if entry.commands else options
        options = "any words" if entry.style == "text" else options
        writes = ", and what it writes inside the workspace, protected files excepted" if _writes(entry) else ""
        files = "; it runs what the project's files say" if project else ""
        scripts = "; it runs the files that it is given, whatever they do" if "script" in entry.operands else ""
        return f"{self._text} with {options}{writes}{files or scripts}"

    def _risk(self) -> str:
        """Why the rule covers nothing; empty where it covers something."""
        why = ""
        for words in _PROBES:
            found = self._hindered(words)
            if found is None:
                return ""
            why = why or found
        return why

    def _example(self, entry: Entry, name: str) -> str:
        """A line that begins with the words of the rule and that it does not cover."""
        for words in _candidates(entry, name):
            if self._hindered(words) is not None:
                return f"{self._text} {' '.join(words)}"
        if _writes(entry):
            return f"{self._text} on files outside the workspace"
        if self._hindered(("--not-in-the-table",)) is not None:
            return f"{self._text} with {_UNLISTED_OPTION}"
        return ""

    def _hindered(self, words: Sequence[str]) -> str | None:
        """Why the rule does not cover its words with these; None where it does."""
        read = self._acts(words)
        if read.unverified or read.doubt:
            return read.unverified or read.doubt
        for act in read.acts:
            rules = () if act.transparent and not act.risk else tuple(self._rules.allowing(act))
            if not act.transparent and not rules:
                return f"{act.text} needs a rule of its own"
            if act.risk and not any(rule.spells(act.spelled) for rule in rules):
                return act.risk
            if act.critical:
                return act.critical
            if act.named and not any(option in rule.words for rule in rules for option in act.rewrites):
                return f"it writes {act.named[0]}"
        return None


def _is_launcher(entry: Entry) -> bool:
    return not _STARTING.isdisjoint(map(str, entry.operands))


def _writes(entry: Entry) -> bool:
    """Whether it writes what it is given as operands."""
    return not _WRITING.isdisjoint(map(str, entry.operands))


def _about_starting(name: str, entry: Entry) -> str:
    if "package" in entry.operands:
        return f"{name} with the options that the table of programs lists; the package that it fetches and runs must be named by a rule"
    return f"{name} with the options that the table of programs lists; the programs that it starts need rules of their own"


def _candidates(entry: Entry, name: str) -> Iterator[Sequence[str]]:
    """Words that are likely not to be covered: those that write a file, change files in place, or start a program."""
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
