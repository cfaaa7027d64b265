"""Matches a command line against the rules: its programs, the files they read and write, and what is only known at run time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from nbtools.core.decision import Action, Decision
from nbtools.policy.cases import Case, by_rule, by_rules, unclear
from nbtools.policy.commands import WordRule
from nbtools.policy.concerning import Rules
from nbtools.policy.coverage import unknown_program
from nbtools.policy.layers import Sourced
from nbtools.policy.mentions import mentioned
from nbtools.policy.modes import AUTO_EDIT_RUNS
from nbtools.policy.paths import Spot
from nbtools.policy.protected import DOUBT, ask_critical, ask_protected, ask_repository, critical_spot, protection

if TYPE_CHECKING:
    from nbtools.shell import Act, Acts, Table

UNCOVERED = "commands ask"
_LOOKERS = "ls dir vdir find tree du df stat cd pushd pwd dirname basename realpath readlink test [ [["
_NAMES_ONLY = frozenset(_LOOKERS.split())
"""Programs that look at names and never into files: above what may not be read they do no harm."""
_OUTPUT_BY_DASH = frozenset({"tar", "bsdtar", "gtar", "curl", "wget", "zip", "touch"})
_HERE = ("",)
_REMOVES = re.compile(
    r"(?<![\w./-])(?:\S*/)?(?:rm|rmdir|unlink|shred|mv|dd|mkfs[.\w]*|wipefs|truncate|rsync|chmod|chown|find|fd|git\s+clean|eval|xargs)(?![\w-])"
    r"|\$'|:\s*\(\)|>\s*/dev/"
)
"""Programs and constructs that may delete essential files, for lines that are not understood."""
_NO_WRITE = re.compile(r"/dev/(?:null|zero|full|tty|stdout|stderr)|-")
"""A descriptor by its number, and the input, may be any file that is open."""
_NO_FILE = re.compile(r"/dev/(?:null|zero|full|tty|stdin|stdout|stderr|fd/\d+)|-")


@dataclass(frozen=True)
class CommandCase(Case):
    """A call that runs ``command`` in ``directory``, relative to the workspace; ``moving``: or in another one (see ``CommandTarget``).

    ``edits_run``: whether the mode lets files in the workspace be changed without a question; ``table``: the programs that are known.
    """

    command: str = ""
    directory: str = "."
    moving: bool = False
    edits_run: bool = False
    table: Table | None = None

    @cached_property
    def acts(self) -> Acts:
        from nbtools.shell import understand  # noqa: PLC0415 - knows hundreds of programs: only commands pay for it

        return understand(self.command, self.table)

    @cached_property
    def written(self) -> tuple[tuple[Act, str, Spot], ...]:
        """What is written: by which act, the path as it stands there, and where that is; through a link, both ends of it."""
        named = (
            (act, path, "./-" if path == "-" and not _writes_to_output(act) else path) for act in self.acts.acts for path in act.writes
        )
        return tuple((act, path, spot) for act, path, file in named if not _NO_WRITE.fullmatch(file) for spot in self._spots(act, file))

    @cached_property
    def read(self) -> tuple[tuple[Act, Spot], ...]:
        read = ((act, path) for act in self.acts.acts for path in act.reads if not _NO_FILE.fullmatch(path))
        return tuple((act, spot) for act, path in read for spot in self._spots(act, path))

    @cached_property
    def mentioned(self) -> dict[str, tuple[Act, tuple[Spot, ...]]]:
        """What its words name that a rule keeps from being read, by which act first, and where that is; through a link, both ends of it."""
        named: dict[str, Act] = {}
        for act in self.acts.acts:
            for path in mentioned(act):
                named.setdefault(path, act)
        kept = [rules for rules in (self.rules.deny.reads, self.rules.ask.reads) if rules]
        found = {}
        for path, act in named.items() if kept else ():
            spots = self._named(path)
            if any(rules.touching(spot) for rules in kept for spot in spots):
                found[path] = act, spots
        return found

    def _named(self, path: str) -> tuple[Spot, ...]:
        spot = self.grounds.spot_in_command(path, self.directory)
        led = self.grounds.led(spot)
        return (spot,) if led is None else (spot, led)

    def _spots(self, act: Act, path: str) -> Iterator[Spot]:
        known = path not in act.unclear and not (self.moving and not path.startswith(("/", "~")))
        spot = self.grounds.spot_in_command(path, self.directory, known=known)
        yield spot
        if (led := self.grounds.led(spot)) is not None:
            yield led

    def pressing(self) -> Decision | None:
        """Removals beyond repair, protected files, and what was not understood."""
        if critical := next(self._removals(), None):
            return critical
        if protected := next(self._protected(), None):
            return protected
        if repository := ask_repository((spot for _, _, spot in self.written), self.grounds):
            return repository
        if doubt := self.acts.doubt or self._moved():
            return Decision(Action.ASK, f"the command could not be fully analysed ({doubt})", DOUBT)
        if self.acts.unverified and (found := _REMOVES.search(self.command)):
            why = f"it may remove something with {found[0]}, and is not understood completely: {self.acts.unverified}"
            return Decision(Action.ASK, why, DOUBT)
        return None

    def _protected(self) -> Iterator[Decision]:
        """Writes of what makes programs run or loosens rules, also by what is unpacked over it."""
        for act, path, spot in self.written:
            if why := protection(spot, self.grounds):
                yield ask_protected(spot, why)
            if spot.relative == "." and path in act.named and path in act.links:
                yield ask_protected(spot, "what is unpacked there may be what makes programs run")

    def _removals(self) -> Iterator[Decision]:
        """Critical deletions, and writes to devices."""
        for act in self.acts.acts:
            if act.critical:
                yield ask_critical(act.text, act.critical)
            for path in filter(None, act.removes):
                spot = critical_spot(path, self.directory, self.grounds, known=path not in act.unclear)
                if spot is not None:
                    yield ask_critical(act.text, f"{path} is {spot.absolute}")

    def _moved(self) -> str:
        """Why a program of the line is another one, or runs others, because it does not run in the workspace's own folder."""
        for act in self.acts.acts:
            if act.place and (self.directory != "." or self.moving or act.folders != _HERE):
                for folder in act.folders:
                    if self.moving or "/" in act.words[0] or not self._same_repository(folder):
                        return act.place
        return ""

    def _same_repository(self, folder: str) -> bool:
        """Whether git finds the workspace's own repository from that folder: nothing on the way is another one, or may become one."""
        spot = self.grounds.spot_in_command(folder or ".", self.directory)
        if not spot.inside or spot.unclear or self.grounds.led(spot) is not None:
            return False
        way = spot.absolute
        while len(way) > len(self.grounds.root):
            if any(self.grounds.exists(f"{way}/{name}") for name in (".git", "HEAD", "commondir")):
                return False
            if any(written.absolute == way or written.absolute.startswith(f"{way}/") for _, _, written in self.written):
                return False
            way = way.rpartition("/")[0]
        return True

    def _touched(self, rules: Rules, action: Action) -> Decision | None:
        found = next(self._programs_touched(rules), None) if rules.commands else None
        found = found or (next(self._paths_touched(rules), None) if rules.reads or rules.writes else None)
        if found is None:
            return None
        one, act = found
        return by_rule(action, one, act.text, "grammar" if self.acts.unverified or act not in self.acts.acts else "strict", act.entry)

    def _programs_touched(self, rules: Rules) -> Iterator[tuple[Sourced, Act]]:
        for act in self.acts.acts:
            if (one := rules.commands.touching(act)) is not None:
                yield one, act
        if rules.commands.occurring(self.command) is not None:
            yield from ((one, act) for act in self._otherwise_read if (one := rules.commands.touching(act)) is not None)

    def _paths_touched(self, rules: Rules) -> Iterator[tuple[Sourced, Act]]:
        for act, spot in self.read if rules.reads else ():
            if (one := rules.reads.touching(spot)) is not None:
                yield one, act
        for act, _, spot in self.written if rules.writes else ():
            if (one := rules.writes.touching(spot) or rules.writes.below(spot)) is not None:
                yield one, act

    @cached_property
    def _otherwise_read(self) -> tuple[Act, ...]:
        """The commands as the grammar sees them: rules that deny or ask go by whatever either reading finds."""
        from nbtools.shell import Act, parse_shell  # noqa: PLC0415 - as above

        return tuple(
            Act(command.text, command.argv, command.assignments, command.dynamic) for command in parse_shell(self.command).commands
        )

    def _perhaps(self) -> Decision | None:
        return next(self._doubtful(), None) or self._hidden()

    def _hidden(self) -> Decision | None:
        """In a line that is not understood completely, whatever a rule is about may stand where no reading finds it."""
        why = self.acts.unverified or next((act.risk for act in self.acts.acts if act.risk and act.words), "")
        for rules in (self.rules.deny, self.rules.ask) if why else ():
            if rules.commands and (one := rules.commands.occurring(self.command)) is not None:
                return unclear(one, f"the command is not understood completely: {why}", reading="text")
        return None

    def _doubtful(self) -> Iterator[Decision]:
        """Words and paths that are only known when the command runs, and folders, may be what a rule is about."""
        for rules in (self.rules.deny, self.rules.ask):
            for act in self.acts.acts if rules.commands else ():
                if (one := rules.commands.perhaps(act)) is not None:
                    yield unclear(one, f"what {act.text} runs is only known when it runs", act.text)
            for act, spot in self.read if rules.reads else ():
                if not _looks_at_names(act) and (one := rules.reads.perhaps(spot)) is not None:
                    yield unclear(one, spot.unclear or f"{spot.relative or spot.absolute} may hold what it is about", act.text)
            for path, (act, spots) in self.mentioned.items() if rules.reads else ():
                if (one := next(filter(None, map(rules.reads.touching, spots)), None)) is not None:
                    yield unclear(one, f"it names {path}", act.text)
            for act, _, spot in self.written if rules.writes else ():
                if (one := rules.writes.perhaps(spot)) is not None:
                    yield unclear(one, spot.unclear or f"{spot.relative or spot.absolute} may hold what it is about", act.text)

    def _covered(self) -> Decision | None:
        """Every act has its rule; one that only starts others is carried by them."""
        allow = self.rules.allow.commands
        if not (allow or self.edits_run):
            return None
        if self.directory == "." and not self.moving and (spelled := allow.spelling(self.command.strip())):
            return by_rule(Action.ALLOW, spelled, "", "text")
        if why := self._not_whole():
            return Decision(Action.ASK, why, UNCOVERED)
        used: list[Sourced] = []
        for act in sorted(self.acts.acts, key=_is_carried):
            found = self._covers_writes(act) if _is_carried(act) else self._cover(act)
            if isinstance(found, str):
                why = f"no rule allows {act.text}" + (f": {found}" if found else "")
                return Decision(Action.ASK, why, UNCOVERED, act.text) if used or found else None
            used += found
        if not used and self.edits_run:
            why = "it only changes files in the workspace (mode auto_edit)"
            return Decision(Action.ALLOW, why, AUTO_EDIT_RUNS, reading="strict", entry=self._entries)
        return by_rules(used, "strict", self._entries)

    @property
    def _entries(self) -> str:
        """The entries of the table of programs that tell what the acts do, each once."""
        acts = self.acts.acts
        return acts[0].entry if len(acts) == 1 else ", ".join(dict.fromkeys(act.entry for act in acts if act.entry))

    def remark(self) -> str:
        """Names the program that is in no table: a rule that allows it allows whatever it does."""
        for act in () if self.acts.unverified else self.acts.acts:
            words = act.plain or act.words
            if words and 0 not in act.dynamic and (name := unknown_program(words, self.table)):
                return f"{name} is not in the table of programs: a rule for it would allow whatever it does"
        return ""

    def _not_whole(self) -> str:
        """Why no rules on its programs allow the line, whatever they say."""
        if self.acts.unverified:
            return f"only a rule with exactly this line allows it, as it is not understood completely: {self.acts.unverified}"
        odd = self._odd_names() if self.acts.of_names else ""
        return f"names of files become words of a program, and {odd}" if odd else ""

    def _odd_names(self) -> str:
        """Why names of files that are found may be taken for options, empty where none of them can."""
        if any(not act.via and (not spot.inside or spot.unclear) for act, spot in self.read):
            return "they are looked for outside of the workspace"
        return "the line itself makes files" if self.written else self.grounds.odd_name()

    def _cover(self, act: Act) -> list[Sourced] | str:
        """The rules that allow an act, or what hinders the one that would: empty where there is none."""
        why = ""
        away = "" if act.harmless else self._away(act)
        if self.edits_run and act.edits and not act.risk and not away and self._stays_inside(act):
            return []
        for rule in self.rules.allow.commands.allowing(act):
            if away:
                return f"it runs in {away}, and the rule {rule.sourced.name} is for this workspace"
            if act.risk and not (rule.exact or rule.spells(act.spelled)):
                why = why or act.risk
                continue
            if rule.sourced.rule.redirects:
                return [rule.sourced]
            writes = self._covers_writes(act, rule=rule)
            if not isinstance(writes, str):
                return [rule.sourced, *writes]
            why = why or writes
        return why

    def _stays_inside(self, act: Act) -> bool:
        read = all(spot.inside and not spot.unclear for owner, spot in self.read if owner is act)
        return read and all(spot.inside and not spot.unclear for owner, _, spot in self.written if owner is act)

    def _away(self, act: Act) -> str:
        """Outside of the workspace the same words run another project's code."""
        folders = (folder or "." for folder in act.folders if folder or self.directory != ".")
        spots = (self.grounds.spot_in_command(folder, self.directory) for folder in folders)
        return next((spot.absolute for spot in spots if not spot.inside or spot.unclear or self._leads_out(spot)), "")

    def _leads_out(self, spot: Spot) -> bool:
        led = self.grounds.led(spot)
        return led is not None and not led.inside

    def _covers_writes(self, act: Act, *, rule: WordRule | None = None) -> list[Sourced] | str:
        """The rules that allow what the act writes, or what they do not.

        A rule on the program allows what the program writes inside the workspace; one with all its words has said what those name.
        Of redirects no rule on a program says anything, and of files that options name only one with all the words.
        """
        used: list[Sourced] = []
        for owner, path, spot in self.written:
            if owner is not act:
                continue
            own = rule is not None and path not in act.redirected
            if own and rule is not None and (rule.exact or (spot.inside and not spot.unclear and _said(rule, act, path))):
                continue
            one = self._edit(spot)
            if one is None and not (self.edits_run and spot.inside and not spot.unclear):
                return spot.unclear or f"it writes {path}"
            used += [one] if one else []
        return used

    def _edit(self, spot: Spot) -> Sourced | None:
        if spot.unclear:
            return None
        return self.rules.allow.writes.covering(spot) or (self.rules.allow.edits if spot.inside else None)


def _is_carried(act: Act) -> bool:
    """Whether it does nothing itself but start others, so that the rules on these carry it."""
    return act.transparent and not act.risk


def _said(rule: WordRule, act: Act, path: str) -> bool:
    """Whether a rule on the program speaks of such a write: it is there for that, or the rule spells the option that makes it write."""
    return path not in act.named or any(option in rule.words for option in act.rewrites)


def _writes_to_output(act: Act) -> bool:
    """Whether ``-`` is the standard output to the program; to others, as ``tee`` and ``cp``, it is a file."""
    return bool(act.words) and act.words[0].rpartition("/")[2] in _OUTPUT_BY_DASH


def _looks_at_names(act: Act) -> bool:
    return bool(act.words) and act.words[0].rpartition("/")[2] in _NAMES_ONLY
