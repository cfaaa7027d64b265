"""What passes between the walk over a command line and the tables of programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

_DASH = re.compile(r"""["']*(?:[-$`*?\[{]|[@+!]\()""")


@dataclass(frozen=True, slots=True)
class Started:
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

    def part(self, start: int, end: int | None = None, assignments: tuple[str, ...] = ()) -> Started:
        """The program that the words from ``start`` to before ``end`` are."""
        last = len(self.words) if end is None else end
        if not self.dynamic:
            return Started(self.words[start:last], assignments=assignments, fed=self.fed)

        def moved(places: frozenset[int]) -> frozenset[int]:
            return frozenset(place - start for place in places if start <= place < last)

        return Started(self.words[start:last], moved(self.dynamic), moved(self.splits), moved(self.dashes), assignments, self.fed)

    def with_found(self, words: tuple[str, ...], found: frozenset[int], *, several: bool) -> Started:
        """The same with words that another program fills in at the positions ``found``; paths, unless they may be ``several`` of "
        "anything.
        """
        more = found if several else frozenset[int]()
        return Started(words, self.dynamic | found, self.splits | more, self.dashes | more, self.assignments, self.fed)


def dashes_of(words: tuple[str, ...], dynamic: frozenset[int]) -> frozenset[int]:
    """The positions of words that may begin with a dash, by their source."""
    return frozenset(place for place in dynamic if _DASH.match(words[place]))


@dataclass(frozen=True, slots=True)
class Script:
    """A text that a shell would run.  ``known``: it is that very text, with nothing the outer shell still puts in."""

    text: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Effects:
    """What a program does with the words it was given."""

    starts: tuple[Started | Script, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    """What must not be the root or the home folder: removed, or changed with all that is in it."""
    risk: str = ""
    spelled: int = 0
    """A rule with this many words of it spelled out may allow it in spite of the ``risk``; none may where it is 0."""
    critical: str = ""
    transparent: bool = False
    harmless: bool = False
    folder: str = ""
    """Where it goes before it starts anything."""
    unclear: tuple[str, ...] = ()
    """Of the paths, those that nobody knows."""
    launched: tuple[str, ...] = ()
    """Its words where a rule may name what it starts together with them: ``uv run pytest``."""


Handler: TypeAlias = Callable[[Started], Effects]
NOTHING = Effects()


def names(text: str) -> frozenset[str]:
    """The words of a table that is written as text."""
    return frozenset(text.split())
