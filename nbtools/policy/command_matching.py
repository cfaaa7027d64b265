"""Matches a command line against the rules: programs, files, and what is only known at run time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from nbtools import shell
from nbtools.core.decision import Action, Decision
from nbtools.policy.command_guards import GuardedCommand, mentioned_paths
from nbtools.policy.command_rules import WordRule
from nbtools.policy.coverage import unknown_program
from nbtools.policy.layers import SourcedRule
from nbtools.policy.modes import AUTO_EDIT_RUNS
from nbtools.policy.path_rules import ResolvedPath
from nbtools.policy.rule_index import Rules
from nbtools.policy.rule_matching import joint_permission, possible_rule_question, rule_decision
from nbtools.shell.path_text import normal_path

if TYPE_CHECKING:
    from nbtools.shell import AnalysedCommand

UNCOVERED = "commands need approval"
_ENVIRONMENT = re.compile(
    r"/proc(?:/(?:\d+|self|thread-self|[^/]*[$*?`\[][^/]*)(?:/task(?:/[^/]*)?)?)?(?:/(?:environ|[^/]*[$*?`\[].*))?",
    re.DOTALL,
)
"""``/proc/*/environ``, a folder that contains it, or a path of ``/proc`` that is only known at run time."""
_LOOKERS = "ls dir vdir find tree du df stat cd pushd pwd dirname basename realpath readlink test [ [["
_NAMES_ONLY = frozenset(_LOOKERS.split())
"""Programs that show names but no contents of files, so they may look at folders above hidden files."""
_HERE = ("",)


@dataclass(frozen=True)
class CommandMatcher(GuardedCommand):
    """Matches a call that runs a command."""

    @cached_property
    def mentioned(self) -> dict[str, tuple[AnalysedCommand, tuple[ResolvedPath, ...]]]:
        """Mentioned paths that a rule hides, each with the first such command and the resolved paths."""
        candidates: dict[str, AnalysedCommand] = {}
        for act in self.analysis.commands:
            for path in mentioned_paths(act):
                candidates.setdefault(path, act)
        rule_lists = [rules for rules in (self.rules.deny.reads, self.rules.ask.reads) if rules]
        found = {}
        for path, act in candidates.items() if rule_lists else ():
            resolved_paths = self._named(path)
            if any(rules.find_touching(resolved) for rules in rule_lists for resolved in resolved_paths):
                found[path] = act, resolved_paths
        return found

    def _named(self, path: str) -> tuple[ResolvedPath, ...]:
        resolved = self.grounds.resolve_in_command(path, self.directory)
        led = self.grounds.follow_links(resolved)
        return (resolved,) if led is None else (resolved, led)

    def _touched(self, rules: Rules, action: Action) -> Decision | None:
        found = next(self._programs_touched(rules), None) if rules.commands else None
        found = found or (next(self._paths_touched(rules), None) if rules.reads or rules.writes else None)
        if found is None:
            return None
        one, act = found
        return rule_decision(
            action,
            one,
            act.text,
            "grammar" if self.analysis.unverified or act not in self.analysis.commands else "strict",
            act.entry,
        )

    def _programs_touched(self, rules: Rules) -> Iterator[tuple[SourcedRule, AnalysedCommand]]:
        for act in self.analysis.commands:
            if (one := rules.commands.find_touching(act)) is not None:
                yield one, act
        if rules.commands.find_mentioned(self.command) is not None:
            yield from (
                (one, act)
                for act in self._otherwise_read
                if (one := rules.commands.find_touching(act)) is not None
            )

    def _paths_touched(self, rules: Rules) -> Iterator[tuple[SourcedRule, AnalysedCommand]]:
        for act, resolved in self.read if rules.reads else ():
            if (one := rules.reads.find_touching(resolved)) is not None:
                yield one, act
        for act, _, resolved in self.written if rules.writes else ():
            if (one := rules.writes.find_touching(resolved) or rules.writes.find_below(resolved)) is not None:
                yield one, act
        for act, resolved in self.patched if rules.writes else ():
            if (one := rules.writes.find_touching(resolved)) is not None:
                yield one, act

    @cached_property
    def _otherwise_read(self) -> tuple[AnalysedCommand, ...]:
        """The commands as the grammar parses them: deny and ask rules apply to what either parser finds."""
        return tuple(
            shell.AnalysedCommand(command.text, command.argv, command.assignments, command.dynamic)
            for command in shell.parse_shell(self.command).commands
        )

    def _perhaps(self) -> Decision | None:
        return next(self._doubtful(), None) or self._hidden()

    def _hidden(self) -> Decision | None:
        """Asks where a line not fully analysed mentions a program that a deny or ask rule covers."""
        why = self.analysis.unverified or next((act.risk for act in self.analysis.commands if act.risk), "")
        for rules in (self.rules.deny, self.rules.ask) if why else ():
            if rules.commands and (one := rules.commands.find_mentioned(self.command)) is not None:
                return possible_rule_question(
                    one, f"the command could not be fully analysed: {why}", reading="text"
                )
        return None

    def _doubtful(self) -> Iterator[Decision]:
        """Yields a question for each word, path or folder that a deny or ask rule possibly covers."""
        for rules in (self.rules.deny, self.rules.ask):
            for act in self.analysis.commands if rules.commands else ():
                if (one := rules.commands.find_possible(act)) is not None:
                    yield possible_rule_question(
                        one, f"what “{act.text}” runs is only known when it runs", act.text
                    )
            for act, resolved in self.read if rules.reads else ():
                if not _looks_at_names(act) and (one := rules.reads.find_possible(resolved)) is not None:
                    yield possible_rule_question(
                        one,
                        resolved.unclear
                        or f"{resolved.relative or resolved.absolute} may contain what the rule covers",
                        act.text,
                    )
            for path, (act, resolved_paths) in self.mentioned.items() if rules.reads else ():
                if (
                    one := next(filter(None, map(rules.reads.find_touching, resolved_paths)), None)
                ) is not None:
                    yield possible_rule_question(one, f"the command mentions {path}", act.text)
            yield from self._possibly_written(rules) if rules.writes else ()

    def _possibly_written(self, rules: Rules) -> Iterator[Decision]:
        """Asks for each path of a rule about writes that a command may write, by unknown effects too."""
        for act in self.analysis.commands:
            why_unknown = self._undetermined(act)
            for path in self._possibly_changed(act) if why_unknown else ():
                if (
                    one := next(filter(None, map(rules.writes.find_touching, self._named(path))), None)
                ) is not None:
                    yield possible_rule_question(one, f"the command mentions {path}: {why_unknown}", act.text)
        for act, _, resolved in self.written:
            if (one := rules.writes.find_possible(resolved)) is not None:
                yield possible_rule_question(
                    one,
                    resolved.unclear
                    or f"{resolved.relative or resolved.absolute} may contain what the rule covers",
                    act.text,
                )

    def _covered(self) -> Decision | None:
        """Returns the permission if each command has a rule; those that only start others need none."""
        allow = self.rules.allow.commands
        if not (allow or self.edits_run):
            return None
        if self.directory == "." and not self.moving and (spelled := allow.find_exact(self.command.strip())):
            return rule_decision(Action.ALLOW, spelled, "", "text")
        if why := self._not_whole():
            return Decision(Action.ASK, why, UNCOVERED)
        used: list[SourcedRule] = []
        for act in sorted(self.analysis.commands, key=_is_carried):
            found = self._covers_writes(act) if _is_carried(act) else self._cover(act)
            if isinstance(found, str):
                why = f"no rule allows {act.text}" + (f": {found}" if found else "")
                return Decision(Action.ASK, why, UNCOVERED, act.text) if used or found else None
            used += found
        if not used and self.edits_run:
            why = "mode auto_edit allows commands that only change files in the workspace"
            return Decision(Action.ALLOW, why, AUTO_EDIT_RUNS, reading="strict", entry=self._entries)
        why = self._not_as_written(used)
        return (
            Decision(Action.ASK, why, UNCOVERED) if why else joint_permission(used, "strict", self._entries)
        )

    def _not_as_written(self, used: Sequence[SourcedRule]) -> str:
        """Returns why literal rules among the used ones do not cover the line; empty where they do."""
        literal = [one for one in used if one.rule.literal]
        if not literal:
            return ""
        allow, line = self.rules.allow.commands, shell.parse_shell(self.command)
        if line.parse_error:
            return f"the line has an error: {line.parse_error}"
        if line.has_redirection and not self.edits_run and not all(one.rule.redirects for one in literal):
            return f"it has a redirect, and the rule {literal[0].name} covers none"
        others = tuple(
            act.text
            for act in self.analysis.commands
            if any(not one.sourced.rule.literal for one in allow.find_allowing(act))
        )
        parts = (*(command.text for command in line.commands), *(act.text for act in self.analysis.commands))
        texts = (self.command.strip(), *parts)
        odd = next((text for text in texts if not (text.startswith(others) or allow.find_literal(text))), "")
        if odd:
            return f"the rule {literal[0].name} covers commands that are written so, and no rule covers {odd}"
        return ""

    @property
    def _entries(self) -> str:
        """The entries of the table of programs that were used, each once."""
        acts = self.analysis.commands
        if len(acts) == 1:
            return acts[0].entry
        return ", ".join(dict.fromkeys(act.entry for act in acts if act.entry))

    def remark(self) -> str:
        """Names the first program not in the table: a rule for it would allow whatever it does."""
        for act in () if self.analysis.unverified else self.analysis.commands:
            words = act.plain or act.words
            if words and 0 not in act.dynamic and (name := unknown_program(words, self.table)):
                return f"{name} is not in the table of programs: a rule for it would allow whatever it does"
        return ""

    def _not_whole(self) -> str:
        """Returns why rules for single programs cannot allow the line; empty where they can."""
        if self.analysis.unverified:
            return (
                "only a rule with exactly this line allows it, because it could not be fully analysed:"
                f" {self.analysis.unverified}"
            )
        odd = self._odd_names() if self.analysis.uses_file_names else ""
        return f"file names become arguments of a program, and {odd}" if odd else ""

    def _odd_names(self) -> str:
        """Returns why file names may be taken for options; empty where none of them can."""
        if any(not act.via and (not resolved.inside or resolved.unclear) for act, resolved in self.read):
            return "they come from outside the workspace"
        return "the line itself creates files" if self.written else self.grounds.option_like_name()

    def _cover(self, act: AnalysedCommand) -> list[SourcedRule] | str:
        """Returns the rules that allow a command, or why a matching one does not; empty without match."""
        why = ""
        away = "" if act.harmless else self._away(act)
        if secrets := self._reads_environment(act):
            return secrets
        if self.edits_run and act.edits and not act.risk and not away and self._stays_inside(act):
            return []
        for rule in self.rules.allow.commands.find_allowing(act):
            if away:
                return f"it runs in {away}, and the rule {rule.sourced.name} applies to this workspace"
            if act.risk and not (rule.exact or rule.spells_out(act.spelled)):
                why = why or act.risk
                continue
            if rule.sourced.rule.redirects:
                return [rule.sourced]
            writes = self._covers_writes(act, rule=rule)
            if not isinstance(writes, str):
                return [rule.sourced, *writes]
            why = why or writes
        return why

    def _reads_environment(self, act: AnalysedCommand) -> str:
        """Returns that the command may show a process's environment, with its secrets; else empty."""
        values = (value for path, listed in act.values if path in act.reads for value in listed)
        paths = [*(resolved.absolute for owner, resolved in self.read if owner is act), *values]
        for path in map(normal_path, paths):
            if _ENVIRONMENT.fullmatch(path) and not (_looks_at_names(act) and not path.endswith("environ")):
                return f"{path} may be the environment of a process, with its secrets"
        return ""

    def _stays_inside(self, act: AnalysedCommand) -> bool:
        read = all(resolved.inside and not resolved.unclear for owner, resolved in self.read if owner is act)
        return read and all(
            resolved.inside and not resolved.unclear for owner, _, resolved in self.written if owner is act
        )

    def _away(self, act: AnalysedCommand) -> str:
        """Returns an outside folder where the command runs: its words may run another project's code."""
        folders = (folder or "." for folder in act.folders if folder or self.directory != ".")
        resolved_paths = (self.grounds.resolve_in_command(folder, self.directory) for folder in folders)
        outside = (
            resolved
            for resolved in resolved_paths
            if not resolved.inside or resolved.unclear or self._leads_out(resolved)
        )
        return next((resolved.absolute for resolved in outside), "")

    def _leads_out(self, resolved: ResolvedPath) -> bool:
        led = self.grounds.follow_links(resolved)
        return led is not None and not led.inside

    def _covers_writes(
        self, act: AnalysedCommand, *, rule: WordRule | None = None
    ) -> list[SourcedRule] | str:
        """Returns the rules that allow the files a command writes, or why one of them is not covered.

        A rule for the program covers what the program writes inside the workspace.  Files named by options
        need a rule that spells out the option or the whole command.  Redirects need a rule of their own.
        """
        used: list[SourcedRule] = []
        for owner, path, resolved in self.written:
            if owner is not act:
                continue
            if rule is not None and path not in act.redirected:
                is_plain = resolved.inside and not resolved.unclear
                # The write is the program's purpose, or the rule spells out the option that causes it.
                covered = path not in act.named or any(option in rule.words for option in act.rewrites)
                if rule.exact or (is_plain and covered):
                    continue
            one = self._edit(resolved)
            if one is None and not (self.edits_run and resolved.inside and not resolved.unclear):
                return resolved.unclear or f"it writes {path}"
            used += [one] if one else []
        return used

    def _edit(self, resolved: ResolvedPath) -> SourcedRule | None:
        if resolved.unclear:
            return None
        return self.rules.allow.writes.find_covering(resolved) or (
            self.rules.allow.edits if resolved.inside else None
        )


def _is_carried(act: AnalysedCommand) -> bool:
    """Whether the command only starts others, so that the rules for these are enough."""
    return act.transparent and not act.risk


def _looks_at_names(act: AnalysedCommand) -> bool:
    return bool(act.words) and act.words[0].rpartition("/")[2] in _NAMES_ONLY
