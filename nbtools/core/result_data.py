"""The data of the results that cards, dialects and the panel look at, without the tools that return them.

Whoever shows results must tell these types apart, and need not load the tools:
a card of a search loads no terminal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

UndoOutcome: TypeAlias = Literal["restored", "as before", "merged", "mergeable", "conflict"]
"""``as before``: nothing to do.  ``mergeable``: changed since, and both changes can be combined.
``conflict``: they cannot.
"""


@dataclass(frozen=True, slots=True)
class ShellData:
    """The outcome of a command.

    ``exit_code`` is None if ``signal`` ended the command.  ``full_output`` is the file with the whole output,
    empty if ``text`` has all of it.  ``stopped`` names the limit that ended the command; ``meaning`` explains
    an exit code of 1 that is not a failure; ``text`` is the output for a model.  ``sandbox`` describes the
    sandbox, or why there was none; empty if the settings ask for none.  In a sandbox, a signal that ends a
    command becomes an exit code: 128 plus its number.  ``left`` are the pids of processes that it started and
    that still run, as the background command ``id``.  ``folder`` is where a command with ``carry`` ended:
    relative to the workspace, absolute if it is outside and so does not carry over, empty if it did not
    change.
    """

    exit_code: int | None
    signal: str
    lines: int
    bytes: int
    seconds: float
    full_output: str
    stopped: Literal["", "time", "silence"] = ""
    meaning: str = ""
    text: str = ""
    sandbox: str = ""
    left: tuple[int, ...] = ()
    id: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class ShellBackgroundData:
    """A background command: started there (``seconds`` is 0), or moved there at its timeout (``seconds``),
    with ``text`` printed so far.

    ``ended`` says how it has ended already, such as ``exited with 0 after 3 s``; empty while it runs.
    """

    id: str
    pid: int
    full_output: str
    seconds: float = 0
    text: str = ""
    sandbox: str = ""
    ended: str = ""


@dataclass(frozen=True, slots=True)
class TerminalState:
    """The state of a terminal.

    ``running``: its bash is running; otherwise ``exit_code`` is that of bash (None: a signal ended it).
    ``screen`` is the text of the window; ``new`` is the text printed since the last call, without colours,
    with unwrapped lines; a full-screen program adds none.  ``path`` is bash's working directory.  ``sandbox``
    describes the sandbox, or why there is none; empty if the settings ask for none.
    """

    id: str
    running: bool
    exit_code: int | None
    screen: str
    new: str
    path: str
    sandbox: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class TerminalRunData(TerminalState):
    """The state of a terminal after typing.

    ``finished``: bash waits for the next command, or has exited; ``exit_code`` is then that of the command.
    """

    finished: bool


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem on the lines ``line`` to ``end_line`` (from 1, inclusive) of a file or, in a notebook,
    of its ``cell`` (from 1).
    """

    severity: Literal["error", "warning"]
    message: str
    line: int
    end_line: int
    column: int | None = None
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """The problems that the check found, at most 100.

    ``checked`` names what was checked (``Python``, ``JSON`` …), empty where there is no check for the type of
    file; ``programs`` are command lines that check more, without the file's name.
    """

    path: str
    checked: str
    problems: tuple[Diagnostic, ...]
    programs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileCount:
    """The number of replacements in a file."""

    path: str
    places: int


@dataclass(frozen=True, slots=True)
class ReplaceInFilesData:
    """The files by path; ``places``: all replacements; ``applied``: whether they were made or previewed."""

    files: tuple[FileCount, ...]
    places: int
    applied: bool


@dataclass(frozen=True, slots=True)
class FileUndo:
    """The outcome for one path; ``why`` is the reason for a conflict.

    ``same_lines``: the conflict is only in lines of a text,
    and can be resolved with ``keep`` or ``take_back``.
    """

    path: str
    outcome: UndoOutcome
    why: str = ""
    same_lines: bool = False


@dataclass(frozen=True, slots=True)
class UndoData:
    """The outcome of an undo: the call that was undone, or could not be,
    and the outcome for each of its files.

    ``unsaved`` says why the call, a command, may have changed more than undo restores;
    empty if it is known that it did not.
    """

    call: str
    tool: str
    files: tuple[FileUndo, ...]
    unsaved: str = ""

    @property
    def hindered(self) -> tuple[FileUndo, ...]:
        """The files that were changed since, because of which nothing was undone."""
        return tuple(file for file in self.files if file.outcome in ("mergeable", "conflict"))

    @property
    def has_same_lines(self) -> bool:
        """Whether a refused undo is possible once a person chooses among lines changed twice."""
        conflicts = [file for file in self.hindered if file.outcome == "conflict"]
        return bool(conflicts) and all(file.same_lines for file in conflicts)
