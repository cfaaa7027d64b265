"""One command line held against the rules: every program in it, what those read and write, and what cannot be told before it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from nbtools.core.decision import Action, Decision
from nbtools.policy.cases import Case, by_rule, by_rules, unclear
from nbtools.policy.concerning import Rules
from nbtools.policy.layers import Sourced
from nbtools.policy.mentions import mentioned
from nbtools.policy.paths import Spot
from nbtools.policy.protected import DOUBT, ask_critical, ask_protected, protection

if TYPE_CHECKING:
    from nbtools.core.shell_acts import Act, Acts

UNCOVERED = "commands ask"
_LOOKERS = "ls dir vdir find tree du df stat cd pushd pwd dirname basename realpath readlink test [ [["
_NAMES_ONLY = frozenset(_LOOKERS.split())
"""Programs that look at names and never into files: above what may not be read they do no harm."""
_NO_FILE = re.compile(r"/dev/(?:null|zero|full|tty|stdin|stdout|stderr|fd/\d+)|-")


@dataclass(frozen=True)
class CommandCase(Case):
    """A call that runs ``command`` in ``directory``, relative to the workspace."""

    command: str = ""
    directory: str = "."

    @cached_property
    def acts(self) -> Acts:
        from nbtools.core.shell_acts import understand  # noqa: PLC0415 - knows hundreds of programs: only commands pay for it

        return understand(self.command)

    @cached_property
    def written(self) -> tuple[tuple[Act, str, Spot], ...]:
        """What is written: by which act, the path as it stands there, and where that is; through a link, both ends of it."""
        return tuple((act, path, spot) for act in self.acts.acts for path in act.writes for spot in self._spots(act, path))

    @cached_property
    def read(self) -> tuple[tuple[Act, Spot], ...]:
        return tuple((act, spot) for act in self.acts.acts for path in act.reads for spot in self._spots(act, path))

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
        if not _NO_FILE.fullmatch(path):
            spot = self.grounds.spot_in_command(path, self.directory, known=path not in act.unclear)
            yield spot
            if (led := self.grounds.led(spot)) is not None:
                yield led

    def pressing(self) -> Decision | None:
        """Removals beyond repair, protected files, and what was not understood."""
        for act in self.acts.acts:
            if act.critical:
                return ask_critical(act.text, act.critical)
        for _, _, spot in self.written:
            if why := protection(spot, self.grounds):
                return ask_protected(spot, why)
        if self.acts.doubt:
            return Decision(Action.ASK, f"the command could not be read whole ({self.acts.doubt})", DOUBT)
        return None

    def _touched(self, rules: Rules, action: Action) -> Decision | None:
        if rules.commands:
            for act in self.acts.acts:
                if (one := rules.commands.touching(act)) is not None:
                    return by_rule(action, one, act.text)
        if rules.reads:
            for act, spot in self.read:
                if (one := rules.reads.touching(spot)) is not None:
                    return by_rule(action, one, act.text)
        if rules.writes:
            for act, _, spot in self.written:
                if (one := rules.writes.touching(spot) or rules.writes.below(spot)) is not None:
                    return by_rule(action, one, act.text)
        return None

    def _perhaps(self) -> Decision | None:
        return next(self._doubtful(), None)

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
        if not self.rules.allow.commands:
            return None
        used: list[Sourced] = []
        carried = []
        for act in self.acts.acts:
            if act.transparent and not act.risk:
                carried.append(act)
                continue
            found = self._cover(act)
            if isinstance(found, str):
                why = f"no rule allows {act.text}" + (f": {found}" if found else "")
                return Decision(Action.ASK, why, UNCOVERED, act.text) if used or found else None
            used += found
        for act in carried:
            written = self._covers_writes(act)
            if isinstance(written, str):
                return Decision(Action.ASK, f"no rule allows {act.text}: {written}", UNCOVERED, act.text)
            used += written
        return by_rules(used)

    def _cover(self, act: Act) -> list[Sourced] | str:
        """The rules that allow an act, or what hinders the one that would: empty where there is none."""
        why = ""
        away = "" if act.harmless else self._away(act)
        for rule in self.rules.allow.commands.allowing(act):
            if away:
                return f"it runs in {away}, and the rule {rule.sourced.name} is for this workspace"
            if act.risk and not (rule.exact or rule.spells(act.spelled)):
                why = why or act.risk
                continue
            if rule.sourced.rule.redirects:
                return [rule.sourced]
            writes = self._covers_writes(act, spelled=rule.exact)
            if not isinstance(writes, str):
                return [rule.sourced, *writes]
            why = why or writes
        return why

    def _away(self, act: Act) -> str:
        """Outside of the workspace the same words run another project's code."""
        spots = ((folder, self.grounds.spot_in_command(folder, self.directory)) for folder in act.folders if folder)
        return next((folder for folder, spot in spots if not spot.inside), "")

    def _covers_writes(self, act: Act, *, spelled: bool = False) -> list[Sourced] | str:
        """The rules that allow what the act writes, or what they do not; a rule with all its words has said what those name."""
        used: list[Sourced] = []
        for owner, path, spot in self.written:
            if owner is not act or (spelled and path not in act.redirected):
                continue
            one = self._edit(spot)
            if one is None:
                return spot.unclear or f"it writes {path}"
            used.append(one)
        return used

    def _edit(self, spot: Spot) -> Sourced | None:
        if spot.unclear:
            return None
        return self.rules.allow.writes.covering(spot) or (self.rules.allow.edits if spot.inside else None)


def _looks_at_names(act: Act) -> bool:
    return bool(act.words) and act.words[0].rpartition("/")[2] in _NAMES_ONLY
