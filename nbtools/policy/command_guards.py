"""Guards of command lines in every mode: essential and protected files, changes known only at run time.

The table of programs cannot list every way to name a file, so a command that mentions a path hidden from
reading needs approval, however the path is written (``--file=a``, ``@a``, ``HEAD:a``, ``'read a'``).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from nbtools import shell
from nbtools.core.decision import Action, Decision
from nbtools.policy.patches import patched_names
from nbtools.policy.path_rules import ResolvedPath
from nbtools.policy.protected import (
    DOUBT,
    critical_deletion,
    critical_question,
    is_critical,
    is_in,
    protected_question,
    protection_reason,
    repository_question,
)
from nbtools.policy.rule_matching import CallMatcher
from nbtools.shell.critical import critical_write
from nbtools.shell.path_text import is_open_file

if TYPE_CHECKING:
    from nbtools.shell import AnalysedCommand, CommandAnalysis, ProgramTable

_BETWEEN = re.compile(r"[\s=:@,;|<>(){}\"'`$]+")
_BEFORE = re.compile(r"(?i:file:/*)?\$(?:PWD|\{PWD\})/+|~\+/+|(?i:\bfile://(?:localhost)?)(?=/)")
_WHOLE = re.compile(r"[\w./][\w./+-]*")
"""A word that is taken as one path, without splitting."""
_PLAIN = re.compile(r"[\w./*?\[\]-]*")
_NO_PATH = re.compile(r"--[\w-]*|-\w?|\d+")
_BLANK = re.compile(r"\s")
_HERE = ("",)
_ONLY_SAY = frozenset({"echo", "printf"})
_HAVE_MESSAGES = frozenset({"git", "gh", "hg", "svn"})


def mentioned_paths(act: AnalysedCommand) -> Iterable[str]:
    """Yields every part of the command that may be a path, relative to where the command line starts."""
    pieces = dict.fromkeys(
        piece
        for word in _words(act)
        for piece in ((word,) if _WHOLE.fullmatch(word) else _pieces(word))
        if piece
    )
    if act.folders == _HERE:
        return pieces
    return [posixpath.join(folder, piece) if folder else piece for piece in pieces for folder in act.folders]


def _words(act: AnalysedCommand) -> Iterable[str]:
    """Returns the words without operands of ``echo`` and commit messages, and here-documents' code."""
    program, words = act.words[:1], act.words[1:]
    if program and program[0] in _ONLY_SAY:
        words = ()
    elif program and program[0] in _HAVE_MESSAGES:
        words = tuple(word for word in words if not _BLANK.search(word))
    if act.assignments or act.code:
        return (
            *(assignment.partition("=")[2] for assignment in act.assignments),
            *words,
            *filter(None, [act.code]),
        )
    return words


def _pieces(word: str) -> Iterator[str]:
    if _NO_PATH.fullmatch(word):
        return
    if _PLAIN.fullmatch(word) and not word.startswith("-"):
        yield word
        return
    text = _BEFORE.sub("", word)
    for piece in (text, *_BETWEEN.split(text)):
        yield from filter(None, (piece, piece[2:] if piece.startswith("-") else ""))


_APPLY_PATCHES = frozenset({"git apply", "git am"})
_INTO = re.compile(r"--directory(?:=|\Z)")
_WITHOUT_PATCH = frozenset(
    "--check --stat --numstat --summary --cached --continue --resolved --skip --abort --quit"  # noqa: SIM905
    " --show-current-patch".split()
)
"""Options with which these write no file, or go on with patches that were decided on before."""
UNKNOWN_TARGET = "commands that change what is only known when they run need approval"
_WRITTEN_BY_SED = re.compile(r"[wW][ \t]*([^\s;}]+)")
_WILDCARD = re.compile(r"[*?\[{]")
_OUTPUT_BY_DASH = frozenset({"tar", "bsdtar", "gtar", "curl", "wget", "zip", "touch"})
_REMOVES = re.compile(
    r"(?<![\w./-])(?:\S*/)?(?:rm|rmdir|unlink|shred|mv|dd|mkfs[.\w]*|wipefs|truncate|rsync|chmod|chown|find|fd|git\s+clean|eval|xargs)(?![\w-])"
    r"|\$'|:\s*\(\)|>\s*/dev/"
)
"""Programs and constructs that may delete essential files, for lines that are not understood."""
_NO_WRITE = re.compile(r"/dev/(?:null|zero|full|tty|stdout|stderr)|-")
"""Devices that a write does not change.  Descriptors by number are missing, as they may be any open file."""
_NO_FILE = re.compile(r"/dev/(?:null|zero|full|tty|stdin|stdout|stderr|fd/\d+)|-")


@dataclass(frozen=True)
class GuardedCommand(CallMatcher):
    """A call of ``command`` in ``directory``, in the workspace; ``moving``: or elsewhere (``CommandTarget``).

    ``table``: the table of programs, None for the included one.
    """

    command: str = ""
    directory: str = "."
    moving: bool = False
    edits_run: bool = False
    """Whether the mode allows edits in the workspace."""
    table: ProgramTable | None = None

    @cached_property
    def analysis(self) -> CommandAnalysis:
        return shell.analyse(self.command, self.table)

    @cached_property
    def written(self) -> tuple[tuple[AnalysedCommand, str, ResolvedPath], ...]:
        """Every written path: its command, as written, resolved; through links also where they lead."""
        files = (
            (
                act,
                path,
                "./-" if path == "-" and not _writes_to_output(act) else path,
            )
            for act in self.analysis.commands
            for path in act.writes
        )
        written = (file for file in files if not _NO_WRITE.fullmatch(file[2]))
        return tuple(
            (act, path, resolved) for act, path, file in written for resolved in self._resolve(act, file)
        )

    @cached_property
    def read(self) -> tuple[tuple[AnalysedCommand, ResolvedPath], ...]:
        read = (
            (act, path)
            for act in self.analysis.commands
            for path in act.reads
            if not _NO_FILE.fullmatch(path)
        )
        return tuple((act, resolved) for act, path in read for resolved in self._resolve(act, path))

    @cached_property
    def _links(self) -> tuple[tuple[int, str], ...]:
        """Absolute paths at which the line may create links, each with the position of the command."""
        links = (
            (at, link) for at, act in enumerate(self.analysis.commands) for link in act.links if link != "."
        )
        return tuple(
            (at, self.grounds.resolve_in_command(link, self.directory).absolute) for at, link in links
        )

    def _is_through_link(self, act: AnalysedCommand, path: str) -> bool:
        """Whether an absolute path may lead through a link that an earlier command of the line creates."""
        before = next(at for at, other in enumerate(self.analysis.commands) if other is act)
        return any(at < before and is_in(path, link) for at, link in self._links)

    def _may_lead_away(self, act: AnalysedCommand, path: str) -> bool:
        """Whether a path known only at run time may lead through a link in its literal folder."""
        resolved = self.grounds.resolve_in_command(literal_folder(path) or ".", self.directory)
        if self._links and (
            self._is_through_link(act, resolved.absolute) or self._has_new_link(act, resolved.absolute)
        ):
            return True
        if not literal_folder(path) or resolved.relative == ".":
            return False
        resolved = self.grounds.follow_links(resolved) or resolved
        return bool(protection_reason(resolved, self.grounds)) or (
            _may_follow_links(act, path) and self.grounds.has_links(resolved.absolute)
        )

    def _has_new_link(self, act: AnalysedCommand, folder: str) -> bool:
        """Whether an earlier command of the line may create a link in a folder."""
        before = next(at for at, other in enumerate(self.analysis.commands) if other is act)
        return any(at < before and is_in(link, folder) for at, link in self._links)

    def _resolve(self, act: AnalysedCommand, path: str) -> Iterator[ResolvedPath]:
        known = path not in act.unclear and not (self.moving and not path.startswith(("/", "~")))
        resolved = self.grounds.resolve_in_command(path, self.directory, known=known)
        if self._links and self._is_through_link(act, resolved.absolute):
            resolved = replace(resolved, unclear=f"{path} leads through a link that the line creates")
        yield resolved
        if (led := self.grounds.follow_links(resolved)) is not None:
            yield led
        if path not in act.unclear and (led := self.grounds.follow_parents(path, self.directory)) is not None:
            yield led

    def required_question(self) -> Decision | None:
        """Returns the question for critical deletions, protected paths, and lines not analysed."""
        if critical := next(self._removals(), None):
            return critical
        if protected := next(self._protected(), None):
            return protected
        if repository := repository_question((resolved for _, _, resolved in self.written), self.grounds):
            return repository
        if doubt := self.analysis.doubt or self._moved():
            return Decision(Action.ASK, f"the command could not be fully analysed ({doubt})", DOUBT)
        if self.analysis.unverified and (found := _REMOVES.search(self.command)):
            why = (
                f"the command may delete something with {found[0]}, and could not be fully analysed:"
                f" {self.analysis.unverified}"
            )
            return Decision(Action.ASK, why, DOUBT)
        return None

    def unknown_target(self) -> Decision | None:
        """Asks before a command writes or removes what is only known when it runs; None where all is known.

        A path counts as known where the line says what its variables are, or where it begins with a literal
        folder, which is neither essential nor above the workspace.  A rule with exactly this line allows it.
        """
        if self.rules.allow.commands and self.rules.allow.commands.find_exact(self.command.strip()):
            return None
        for act in self.analysis.commands:
            if found := next(filter(None, (self._unknown_target_of(act), self._mentions_protected(act))), ""):
                return Decision(Action.ASK, found, UNKNOWN_TARGET, act.text)
        return None

    def _unknown_target_of(self, act: AnalysedCommand) -> str:
        known = dict(act.values)
        for path in act.unclear:
            if path not in act.writes and path not in act.removes:
                continue
            values = [value for value in known.get(path, ()) if _WILDCARD.search(value)]
            clear = (
                not any(self._may_lead_away(act, value) for value in values)
                if path in known
                else self._begins_clearly(act, path)
            )
            if not clear:
                verb = "removes" if path in act.removes else "writes"
                return (
                    f"what {act.text} {verb} is only known when it runs: {path}. A literal folder at its"
                    " beginning would tell"
                )
        if self._patched(act) is None:
            return (
                f"which files {act.text} writes is only known when it runs. Put the patch into a file first,"
                " and name the file"
            )
        opened = (
            path for owner, path, resolved in self.written if owner is act and is_open_file(resolved.absolute)
        )
        return f"which file is behind {path} is only known when it runs" if (path := next(opened, "")) else ""

    def _mentions_protected(self, act: AnalysedCommand) -> str:
        """Returns that a command not wholly known names a protected file; empty where it does not."""
        why_unknown = self._undetermined(act)
        for path in self._possibly_changed(act) if why_unknown else ():
            resolved = self.grounds.resolve_in_command(path, self.directory)
            if why := protection_reason(self.grounds.follow_links(resolved) or resolved, self.grounds):
                return f"{act.text} may write {path}, which is protected ({why}): {why_unknown}"
        return ""

    def _undetermined(self, act: AnalysedCommand) -> str:
        """Returns why it is not known what the command does with the files that it names; empty where it is.

        That is so for a risk, for a program that is not in the table, and for the arguments of a script.
        """
        if not act.words or 0 in act.dynamic:
            return ""
        if act.risk:
            return act.risk
        table = self.table or shell.included_table()
        entry = table.find(act.words[0])
        if entry is None:
            return f"{act.words[0]} is not in the table of programs"
        return "what its script does is not known" if "script" in entry.operands else ""

    def _possibly_changed(self, act: AnalysedCommand) -> Iterator[str]:
        """Yields paths that an undetermined command names, but not its script and files it only reads."""
        yield from (path for path in mentioned_paths(act) if act.risk or path not in act.reads)
        if act.words[0].endswith("sed"):
            yield from (found for word in act.words[1:] for found in _WRITTEN_BY_SED.findall(word))

    def _begins_clearly(self, act: AnalysedCommand, path: str) -> bool:
        """Whether a path known only at run time begins with a folder in which it may be anything."""
        folder = literal_folder(path)
        if not folder:
            return False
        resolved = self.grounds.resolve_in_command(folder, self.directory)
        if self._may_lead_away(act, path):
            return False
        resolved = self.grounds.follow_links(resolved) or resolved
        if (
            resolved.unclear
            or resolved.above
            or resolved.relative == "."
            or resolved.absolute in self.grounds.homes
        ):
            return False
        return path not in act.removes or not is_critical(resolved, self.grounds)

    @cached_property
    def _possible(self) -> tuple[tuple[AnalysedCommand, str, ResolvedPath], ...]:
        """The resolved values of written paths that the line itself says; they may have wildcards."""
        values = (
            (act, value)
            for act in self.analysis.commands
            for path, listed in act.values
            if path in act.writes
            for value in listed
        )
        found = []
        for act, value in values:
            resolved = self.grounds.resolve_in_command(
                value, self.directory, known=not _WILDCARD.search(value)
            )
            led = self.grounds.follow_links(resolved)
            found += [(act, value, one) for one in (resolved, led) if one is not None]
        return tuple(found)

    def _patched(self, act: AnalysedCommand) -> tuple[str, ...] | None:
        """Returns the files that patches of ``git apply`` and ``am`` name; None where one is unreadable."""
        if act.entry not in _APPLY_PATCHES or (
            "--apply" not in act.words and not _WITHOUT_PATCH.isdisjoint(act.words)
        ):
            return ()
        names: list[str] = []
        patches = [
            (path, resolved) for owner, resolved in self.read if owner is act for path in (resolved.absolute,)
        ]
        for path, resolved in patches:
            text = (
                None
                if resolved.unclear or any(is_in(path, one.absolute) for _, _, one in self.written)
                else self.grounds.text(path)
            )
            found = None if text is None else patched_names(text)
            if found is None:
                return None
            names += found
        names += [
            word.partition("=")[2] or after
            for word, after in zip(act.words, (*act.words[1:], ""), strict=True)
            if _INTO.match(word)
        ]
        return tuple(names) if patches and "-" not in act.words else None

    @cached_property
    def patched(self) -> tuple[tuple[AnalysedCommand, ResolvedPath], ...]:
        """The files that patches of the line name, as written and without folders that ``-p`` removes."""
        return tuple(
            (act, self.grounds.resolve_in_command(name, self.directory))
            for act in self.analysis.commands
            for header in self._patched(act) or ()
            for name in _stripped(header, any_depth=any(word.startswith("-p") for word in act.words))
        )

    def _protected(self) -> Iterator[Decision]:
        """Yields questions for writes to protected paths, and unpacking or linking over the workspace."""
        for _, resolved in self.patched:
            if why := protection_reason(resolved, self.grounds):
                yield protected_question(resolved, why)
        for act, path, resolved in (*self.written, *self._possible):
            if why := protection_reason(resolved, self.grounds):
                yield protected_question(resolved, why)
            if resolved.relative == "." and path in act.named and path in act.links:
                yield protected_question(resolved, "files unpacked or linked there may start programs")

    def _removals(self) -> Iterator[Decision]:
        """Yields a question for each critical deletion and each write to a device."""
        for act, _, resolved in (*self.written, *self._possible):
            if why := critical_write(resolved.absolute):
                yield critical_question(act.text, why)
        for act in self.analysis.commands:
            if act.critical:
                yield critical_question(act.text, act.critical)
            for path in filter(None, act.removes):
                values = (
                    (value, not _WILDCARD.search(value))
                    for listed, found in act.values
                    if listed == path
                    for value in found
                )
                for removed, known in ((path, path not in act.unclear), *values):
                    gone = critical_deletion(removed, self.directory, self.grounds, known=known)
                    if gone is not None:
                        yield critical_question(act.text, f"{path} means {gone.absolute}")

    def _moved(self) -> str:
        """Returns why a program may be or run others outside the workspace's root; empty if it may not."""
        for act in self.analysis.commands:
            if act.folder_risk and (self.directory != "." or self.moving or act.folders != _HERE):
                for folder in act.folders:
                    if self.moving or "/" in act.words[0] or not self._same_repository(folder):
                        return act.folder_risk
        return ""

    def _same_repository(self, folder: str) -> bool:
        """Whether git finds the workspace's own repository from there, with no other in between."""
        resolved = self.grounds.resolve_in_command(folder or ".", self.directory)
        if not resolved.inside or resolved.unclear or self.grounds.follow_links(resolved) is not None:
            return False
        way = resolved.absolute
        while len(way) > len(self.grounds.root):
            if any(self.grounds.exists(f"{way}/{name}") for name in (".git", "HEAD", "commondir")):
                return False
            if any(
                written.absolute == way or written.absolute.startswith(f"{way}/")
                for _, _, written in self.written
            ):
                return False
            way = way.rpartition("/")[0]
        return True


def _stripped(name: str, *, any_depth: bool) -> Iterator[str]:
    """Yields the name, and what remains of it without its first folder, or without any number of them."""
    yield name
    while "/" in name:
        name = name.partition("/")[2]
        yield name
        if not any_depth:
            return


def literal_folder(path: str) -> str:
    """Returns the literal folders at a path's beginning, before anything that the shell expands."""
    begin = re.split(r"[$`*?\[{]", path.replace('"', "").replace("'", ""), maxsplit=1)[0].replace("\\", "")
    folder = begin.rpartition("/")[0]
    return folder if re.search(r"[^./]", folder) else ""


_REMOVE_LINKS = frozenset({"mv", "rm", "rmdir", "unlink"})


def _may_follow_links(act: AnalysedCommand, path: str) -> bool:
    """Whether it follows a link that a path may name; removing what matches removes the link itself."""
    return (
        act.entry not in _REMOVE_LINKS
        or path not in act.removes
        or re.fullmatch(r"[^$`*?\[{]*[^$`/]*", path) is None
    )


def _writes_to_output(act: AnalysedCommand) -> bool:
    """Whether ``-`` is the standard output; to others, such as ``tee`` and ``cp``, it is a file."""
    return bool(act.words) and act.words[0].rpartition("/")[2] in _OUTPUT_BY_DASH
