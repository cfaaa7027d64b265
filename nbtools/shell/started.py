"""Data model: a program with its words, and the effects that it is known to have."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

RUNS_INPUT = "it runs what it is given to read"
_DASH = re.compile(r"""["']*(?:[-$`*?\[{]|[@+!]\()""")


class Started(NamedTuple):
    """A program with its words.  ``dynamic`` positions hold source text, the others what the program gets."""

    words: tuple[str, ...]
    dynamic: frozenset[int] = frozenset()
    splits: frozenset[int] = frozenset()
    """Those of them that may be several words, or none."""
    dashes: frozenset[int] = frozenset()
    """Those of them that may begin with a dash."""
    assignments: tuple[str, ...] = ()
    fed: bool = False
    """Whether its input comes from a pipe, a here-document or a file."""
    names: bool = False
    """Whether that is the names of files in the workspace, and nothing else."""

    @property
    def name(self) -> str:
        """The program without its folder."""
        return self.words[0].rpartition("/")[2]

    def fixed(self, position: int) -> bool:
        """Whether the word is known, and is one."""
        return position not in self.dynamic

    def one_word(self, position: int) -> bool:
        """Whether the word is one word to the program and no option, whatever the shell makes of it."""
        return position not in self.splits and position not in self.dashes

    def may_be_option(self, position: int) -> bool:
        """Whether the word, or one of several that it may turn out to be, may begin with a dash; files that are found begin as it does."""
        return position in self.dashes or (position in self.splits and re.search(r"[$`]", self.words[position]) is not None)

    def part(self, start: int, end: int | None = None, assignments: tuple[str, ...] = ()) -> Started:
        """The program that the words from ``start`` to before ``end`` are."""
        last = len(self.words) if end is None else end
        if not self.dynamic:
            return Started(self.words[start:last], assignments=assignments, fed=self.fed)

        def moved(places: frozenset[int]) -> frozenset[int]:
            return frozenset(place - start for place in places if start <= place < last)

        return Started(self.words[start:last], moved(self.dynamic), moved(self.splits), moved(self.dashes), assignments, self.fed)

    def with_found(self, words: tuple[str, ...], found: frozenset[int], *, several: bool, options: bool = True) -> Started:
        """The same with words that another program fills in at the positions ``found``: paths, or where ``several`` any number of words.

        ``options``: whether those may be options.
        """
        more = found if several else frozenset[int]()
        dashes = self.dashes | more if options else self.dashes
        return Started(words, self.dynamic | found, self.splits | more, dashes, self.assignments, self.fed)


def dashes_of(words: tuple[str, ...], dynamic: frozenset[int]) -> frozenset[int]:
    """The positions of words that may begin with a dash, by their source."""
    return frozenset(place for place in dynamic if _DASH.match(words[place]))


class Script(NamedTuple):
    """A text that a shell would run.  ``known``: it is that very text, with nothing the outer shell still puts in."""

    text: str
    known: bool = True


class Effects(NamedTuple):
    """What a program does with the words it was given."""

    starts: tuple[Started | Script, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    """Files that it writes beside what it is there for, as an option names them: these are in ``writes``, too."""
    rewrites: tuple[str, ...] = ()
    """The options that make it write what it is else only given to read: a rule that spells one allows these writes."""
    removes: tuple[str, ...] = ()
    """What must not be the root or the home folder: removed, or changed with all that is in it."""
    links: tuple[str, ...] = ()
    """Where it may make links that lead elsewhere."""
    lists: bool = False
    """Whether it prints the names of files, and nothing else."""
    of_names: bool = False
    """Whether what it starts gets such names as words."""
    risk: str = ""
    spelled: int = 0
    """A rule with this many words of it spelled out may allow it in spite of the ``risk``; none may where it is 0."""
    critical: str = ""
    transparent: bool = False
    harmless: bool = False
    folder: str = ""
    """Where it works, if it goes elsewhere by itself."""
    unclear: tuple[str, ...] = ()
    """Of the paths, those that nobody knows."""
    launched: tuple[str, ...] = ()
    """Its words where a rule may name what it starts together with them: ``uv run pytest``."""
    plain: tuple[str, ...] = ()
    """Its words without harmless options before its sub-command; empty where there are none."""
    entry: str = ""
    """The table entry that tells this; empty for a program that is in no table."""
    repository: bool = False
    """Whether it takes its configuration from the repository around the folder it works in."""
    project: bool = False
    """Whether it runs the project's own code by its nature."""
    edits: bool = False
    """Whether it is an ordinary change of files, which goes with edits being allowed."""
    reads_commands: bool = False
    """Whether it is a shell, which reads its commands from its input where it has no other."""
    note: str = ""
    warn: bool = False


NOTHING = Effects()


def is_input(word: str) -> bool:
    """Whether a file is what a program is given to read, by whatever spelling of its path."""
    path = re.sub(r"/+", "/", posixpath.normpath(word))
    return word == "-" or path.startswith(("/dev/", "/proc/"))
