"""Finds out in which folder a command line ends, so that the next one can start there."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from nbtools.workspace.paths import is_inside
from nbtools.workspace.workspace import Workspace

_MAY_CHANGE = re.compile(r"\b(?:cd|pushd|popd|eval|source)\b|(?:^|[\s;&|(])\.\s")
_MOST_BYTES = 1 << 16


def reset_note(root: str) -> str:
    """Says where later commands start after one that ended outside of the workspace."""
    return f"later commands start in {root} again: this one ended outside of the workspace"


class FolderReport:
    """A pipe through which bash reports its working directory after a command line that succeeded.

    A line that fails, exits, is ended or goes on in the background reports nothing, as in Claude Code.
    Programs that the line starts do not inherit the pipe.  What is reported is not trusted: a caller must
    check that the folder is one in which commands may run.  Inactive where no report is wanted, or the line
    names no command that changes the folder.
    """

    def __init__(self, command: str, *, wanted: bool) -> None:
        self._command = command
        self._pipe: tuple[int, int] | None = os.pipe() if wanted and _MAY_CHANGE.search(command) else None
        if self._pipe:
            os.set_blocking(self._pipe[0], False)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors that bash must inherit."""
        return self._pipe[1:] if self._pipe else ()

    @property
    def script(self) -> str:
        """The command line, followed by the report;
        exit codes, ``set -e`` and positional parameters are those of the line alone.
        """
        if not self._pipe:
            return self._command
        into = self._pipe[1]
        report = f"{{ \\builtin pwd -P >&{into} || : ; }} 2>/dev/null"
        return (
            f"eval {shlex.quote(self._command)} {into}>&-; case $? in 0) {report} ;; *) \\builtin exit ;;"
            " esac"
        )

    def folder(self) -> str:
        """Returns the absolute path that bash has reported; empty if it has reported none."""
        if not self._pipe:
            return ""
        try:
            reported = os.fsdecode(os.read(self._pipe[0], _MOST_BYTES))
        except BlockingIOError:
            return ""
        path = reported.removesuffix("\n")
        return path if path.startswith("/") and "\0" not in path else ""

    def carry(self, workspace: Workspace, started_in: Path) -> str:
        """Lets later commands start where this one ended, or at the workspace's root if that is outside.

        Returns where it ended: relative to the workspace, absolute if it is outside,
        empty if it is where it started or not known.
        """
        reported = self.folder()
        ended_in = Path(os.path.realpath(reported)) if reported else started_in
        if ended_in == started_in or not ended_in.is_dir():
            return ""
        workspace.command_folder = ended_in if is_inside(workspace.root, ended_in) else workspace.root
        return workspace.relative(ended_in)

    def close(self) -> None:
        for descriptor in self._pipe or ():
            os.close(descriptor)
        self._pipe = None
