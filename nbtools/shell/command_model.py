"""Data model of the analysis: programs with their words, their effects, and the commands of a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nbtools.shell.path_text import normal_path

RUNS_INPUT = "it runs its input as code"
_DEVICES = re.compile(r"(?:/|(?:\.\./)+)(?:dev|proc)/")
_DASH = re.compile(r"""["']*(?:[-$`*?\[{]|[@+!]\()""")


class StartedProgram(NamedTuple):
    """A program with its words.  Words at ``dynamic`` positions are source text, others what it gets."""

    words: tuple[str, ...]
    dynamic: frozenset[int] = frozenset()
    splits: frozenset[int] = frozenset()
    """The dynamic positions that may become several words or none."""
    dashes: frozenset[int] = frozenset()
    """The dynamic positions whose word may begin with a dash."""
    assignments: tuple[str, ...] = ()
    has_input: bool = False
    """Whether its input comes from a pipe, a here-document or a file."""
    input_names: tuple[str, ...] = ()
    """Patterns of the file names that its input consists of; empty where it may be any text."""
    found: tuple[str, ...] = ()
    """Patterns of the file names that ``{}`` in its words stands for; empty where it may be any text."""

    @property
    def name(self) -> str:
        """The program without its folder."""
        return self.words[0].rpartition("/")[2]

    def is_literal(self, position: int) -> bool:
        """Whether the word is literal."""
        return position not in self.dynamic

    def is_one_word(self, position: int) -> bool:
        """Whether the word remains a single word that is not an option, however the shell expands it."""
        return position not in self.splits and position not in self.dashes

    def may_be_option(self, position: int) -> bool:
        """Whether it may expand to a word with a dash; names that match a wildcard begin like it."""
        if position in self.dashes:
            return True
        return position in self.splits and re.search(r"[$`]", self.words[position]) is not None

    def part(self, start: int, end: int | None = None, assignments: tuple[str, ...] = ()) -> StartedProgram:
        """Returns the program formed by the words from ``start`` to before ``end``."""
        last = len(self.words) if end is None else end
        moved = {place: place - start for place in range(start, last)}
        part = self.with_words(self.words[start:last], moved)
        return part._replace(assignments=assignments, input_names=())

    def with_words(self, words: tuple[str, ...], moved: Mapping[int, int]) -> StartedProgram:
        """Returns the program with other words; ``moved`` has the new position of each word that stays."""
        if not self.dynamic:
            return self._replace(words=words)

        def places(old: frozenset[int]) -> frozenset[int]:
            return frozenset(moved[place] for place in old if place in moved)

        dynamic, splits, dashes = places(self.dynamic), places(self.splits), places(self.dashes)
        return self._replace(words=words, dynamic=dynamic, splits=splits, dashes=dashes)

    def with_found(
        self,
        words: tuple[str, ...],
        found: frozenset[int],
        names: tuple[str, ...] = (),
        *,
        several: bool,
        options: bool = True,
    ) -> StartedProgram:
        """Returns the program with words that another program fills in at the positions ``found``.

        ``names``: patterns of what it fills in.  With ``several``, each may be any number of words.
        ``options``: whether they may be options.
        """
        split_positions = found if several else frozenset[int]()
        dashes = self.dashes | split_positions if options else self.dashes
        splits = self.splits | split_positions
        dynamic = self.dynamic | found
        return self._replace(
            words=words, dynamic=dynamic, splits=splits, dashes=dashes, input_names=(), found=names
        )


def dashes_of(words: tuple[str, ...], dynamic: frozenset[int]) -> frozenset[int]:
    """Returns the positions of words that may begin with a dash, judging by their source."""
    return frozenset(place for place in dynamic if _DASH.match(words[place]))


class Script(NamedTuple):
    """A text for a shell.  ``known``: the text is literal, with no expansion by the outer shell."""

    text: str
    known: bool = True


class Effects(NamedTuple):
    """The effects of a program with its words."""

    starts: tuple[StartedProgram | Script, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    """Files that it writes because an option names them, not by its purpose; they are also in ``writes``."""
    rewrites: tuple[str, ...] = ()
    """Options that make it write what it otherwise only reads; a rule with one allows these writes."""
    removes: tuple[str, ...] = ()
    """Paths that it deletes, or changes recursively."""
    links: tuple[str, ...] = ()
    """Paths at which it may create links."""
    lists: tuple[str, ...] = ()
    """Patterns of the file names that it prints, with nothing else; empty where it may print any text."""
    of_names: bool = False
    """Whether a program that it starts gets file names as words."""
    risk: str = ""
    spelled: int = 0
    """A rule that spells out this many words may allow it despite the ``risk``; 0: no such rule."""
    critical: str = ""
    transparent: bool = False
    harmless: bool = False
    folder: str = ""
    """The folder it changes to by an option of its own."""
    unclear: tuple[str, ...] = ()
    """The paths that are only known at run time."""
    launched: tuple[str, ...] = ()
    """Its words, where a rule may name them together with the started program: ``uv run pytest``."""
    plain: tuple[str, ...] = ()
    """Its words without harmless options before the sub-command; empty where there are none."""
    entry: str = ""
    """The table entry used; empty for a program that is not in the table."""
    repository: bool = False
    """Whether it uses the configuration of the repository around its working directory."""
    project: bool = False
    """Whether its purpose is to run the project's code."""
    edits: bool = False
    """Whether it is an ordinary change of files, which mode ``auto_edit`` allows."""
    reads_commands: bool = False
    """Whether it is a shell that reads commands from its input."""
    language: str = ""
    """The language of the code that it reads from its input and runs; empty where it reads none."""
    note: str = ""
    warn: bool = False


NOTHING = Effects()


def is_input(word: str) -> bool:
    """Whether a file name means the program's input, in any spelling of its path."""
    return word == "-" or _DEVICES.match(normal_path(word)) is not None


class AnalysedCommand(NamedTuple):
    """A program that would be started, by the shell itself or by another program (``env``, ``xargs``,
    ``find -exec``, ``sh -c`` …).

    Paths are relative to where the command line starts: after ``cd sub &&`` the path ``x`` is ``sub/x``;
    where the ``cd`` may have failed or been skipped, both are listed.  A path that is only known at run time
    is listed as written, ``$F`` or ``*.py``.
    """

    text: str
    """The command as text for people."""
    words: tuple[str, ...]
    """The program and its arguments, quotes removed; empty for a bare redirect or assignment."""
    assignments: tuple[str, ...] = ()
    """``NAME=value`` before the program, also those set by ``env``;
    one that could change which programs run is a ``risk``.
    """
    dynamic: tuple[int, ...] = ()
    """Positions in ``words`` that are only known at run time; with 0 among them the program is not known."""
    via: tuple[str, ...] = ()
    """The programs that start it, outermost first; empty where the shell does."""
    transparent: bool = False
    """Whether it only starts a program that is listed separately (``env``, ``nice``, ``timeout`` …), so it is
    allowed when that is. Also true for a bare assignment or redirect, of which only ``writes`` and ``risk``
    count.
    """
    risk: str = ""
    """Why only a rule with exactly this command, assignments included, may allow it; often empty."""
    spelled: int = 0
    """The number of first words that determine what it runs; a rule that spells these out may allow it."""
    reads: tuple[str, ...] = ()
    """Files and folders that it is known to read."""
    writes: tuple[str, ...] = ()
    """Files and folders that it is known to write, by redirects or by what it does (``tee``, ``cp``, ``rm``,
    ``sed -i`` …).
    """
    removes: tuple[str, ...] = ()
    """Files and folders that it deletes, moves away or changes the permissions of, with all contents."""
    redirected: tuple[str, ...] = ()
    """The part of ``writes`` that redirects write; a rule for the program does not cover it."""
    named: tuple[str, ...] = ()
    """The part of ``writes`` that options name and that is not the program's purpose.
    Only a rule with these words or for the file covers it.
    """
    rewrites: tuple[str, ...] = ()
    """Options that make it write what it otherwise only reads; a rule with one covers the writes."""
    links: tuple[str, ...] = ()
    """Paths at which it may create links or arbitrary files."""
    unclear: tuple[str, ...] = ()
    """The part of ``reads`` and ``writes`` that is only known at run time and may be any path."""
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Those of ``unclear`` whose possible values the line itself says, as patterns with wildcards."""
    folders: tuple[str, ...] = ("",)
    """The folders that it may run in, relative to where the command line starts."""
    critical: str = ""
    """Why it needs approval in every mode: it deletes ``/``, the home folder, the workspace …"""
    harmless: bool = False
    """Whether it is known to change nothing."""
    launched: tuple[str, ...] = ()
    """All words including the launcher's, as a rule may also name it: ``uv run pytest -q``."""
    plain: tuple[str, ...] = ()
    """Its words without harmless options before the sub-command: ``git log`` for ``git --no-pager log``."""
    entry: str = ""
    """The entry of the table of programs that was used; empty for a program that is not in the table."""
    folder_risk: str = ""
    """Why it may be another program, or run others, in another folder; empty if it is the same."""
    edits: bool = False
    """Whether it is an ordinary change of files, which mode ``auto_edit`` allows."""
    note: str = ""
    """What it does, in a few words for people."""
    warn: bool = False
    """Whether the note is a warning."""
    language: str = ""
    """The language of the code that it reads from its input and runs; empty where it reads none."""
    code: str = ""
    """The text of its here-documents, where it runs its input as code."""


@dataclass(frozen=True, slots=True)
class CommandAnalysis:
    """The analysis of a command line.  ``doubt`` says why its result is not reliable,
    for example because of hidden characters.

    ``unverified`` says why the strict reader does not accept the line.  Deny and ask rules still apply to its
    commands, but only a rule with exactly the whole line may allow it.
    """

    commands: tuple[AnalysedCommand, ...]
    doubt: str = ""
    unverified: str = ""
    uses_file_names: bool = False
    """Whether names of files become words of a program; then no name may look like an option."""

    @property
    def harmless(self) -> bool:
        """Whether the whole line is known to change nothing."""
        if self.doubt or self.unverified:
            return False
        acts = [act for act in self.commands if not act.harmless]
        return all(act.transparent and not (act.writes or act.risk) for act in acts)
