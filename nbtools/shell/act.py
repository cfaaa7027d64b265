"""Data model: what each simple command of a command line does, as far as that is known before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Act(NamedTuple):
    """One program that would be started, by the shell itself or by another program (``env``, ``xargs``, ``find -exec``, ``sh -c`` …).

    Paths are seen from where the command line starts: behind ``cd sub &&`` the path ``x`` is ``sub/x``; where the ``cd`` may have failed
    or been skipped, both stand here.  A path that the shell only works out when it runs stands as written, ``$F`` or ``*.py``.
    """

    text: str
    """The command as a person reads it."""
    words: tuple[str, ...]
    """The program and its arguments, quotes removed; empty for a bare redirect or assignment."""
    assignments: tuple[str, ...] = ()
    """``NAME=value`` before it, also those that ``env`` sets; one that could change which programs run is a ``risk``."""
    dynamic: tuple[int, ...] = ()
    """Positions in ``words`` that the shell only works out when it runs; with 0 among them nobody knows the program."""
    via: tuple[str, ...] = ()
    """The programs that start it, outermost first; empty where the shell does."""
    transparent: bool = False
    """Whether it does nothing itself but start what follows as an act of its own (``env``, ``nice``, ``timeout`` …): allowed when that is.
    Also a bare assignment or redirect: only ``writes`` and ``risk`` count there."""
    risk: str = ""
    """Why only a rule that spells out this very command, assignments included, may allow it; empty where an open-ended rule may."""
    spelled: int = 0
    """So many of its first words say what it runs: a rule that spells those out may allow it, whatever comes after."""
    reads: tuple[str, ...] = ()
    """Files and folders that it is known to read."""
    writes: tuple[str, ...] = ()
    """Files and folders that it is known to write, by redirects or by what it does (``tee``, ``cp``, ``rm``, ``sed -i`` …)."""
    removes: tuple[str, ...] = ()
    """Files and folders that it removes or moves away with all that is in them, or whose access rights it changes so."""
    redirected: tuple[str, ...] = ()
    """Those of ``writes`` that a redirect writes: a rule on the program says nothing of them."""
    named: tuple[str, ...] = ()
    """Those of ``writes`` that its program is not there for, as an option names them: only a rule that spells the words, or one on that
    file, has said so."""
    rewrites: tuple[str, ...] = ()
    """The options that make it write what it is else only given to read: a rule that spells one of them has said so."""
    links: tuple[str, ...] = ()
    """Where it may make links, or write whatever it is given."""
    unclear: tuple[str, ...] = ()
    """Those of ``reads`` and ``writes`` that are only known when it runs, and may be any path."""
    folders: tuple[str, ...] = ("",)
    """The folders that it may run in, from where the command line starts."""
    critical: str = ""
    """Why it needs approval in every mode: it deletes something essential (``/``, the home folder, the workspace …)."""
    harmless: bool = False
    """Whether it is known to change nothing at all."""
    launched: tuple[str, ...] = ()
    """All words with which a program of the project's started it, as a rule may also name it: ``uv run pytest -q``."""
    plain: tuple[str, ...] = ()
    """Its words without harmless options before its sub-command, where there are such: ``git log`` of ``git --no-pager log``."""
    entry: str = ""
    """The entry of the table of programs that tells what it does; empty where there is none, and nothing is known of it."""
    place: str = ""
    """Why it is another program, or runs others, in another folder; empty for one that does not depend on that."""
    edits: bool = False
    """Whether it is an ordinary change of files, which goes with edits being allowed."""
    note: str = ""
    """What it does, in a few words for a person."""
    warn: bool = False
    """Whether the note is a warning."""


@dataclass(frozen=True, slots=True)
class Acts:
    """All that a command line does.  ``doubt`` says why nothing may be concluded from that; hidden characters are a doubt, too.

    ``unverified`` says why the line is outside the small language that is understood completely: it is explained and held against rules
    that deny or ask, but only a rule that spells out the whole line may allow it.
    """

    acts: tuple[Act, ...]
    doubt: str = ""
    unverified: str = ""
    of_names: bool = False
    """Whether names of files in the workspace become words of a program: as long as none of them looks like an option."""

    @property
    def harmless(self) -> bool:
        """Whether the whole line is known to change nothing."""
        if self.doubt or self.unverified:
            return False
        return all(act.harmless or (act.transparent and not (act.writes or act.risk)) for act in self.acts)
