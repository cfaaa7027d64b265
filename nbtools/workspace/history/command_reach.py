"""Determines whether a command may change more than the saved files of the workspace.

Undo restores saved files only.  A command's changes are known to be all saved if the analysis understands
each of its programs, they change nothing but the files they are given, and these are saved files.  Of any
other command, undo says that it may have changed more.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Container, Iterable
from pathlib import Path

from nbtools import shell

NOT_SAVED = (
    "files outside the workspace or ignored by git, links and empty folders are not saved before a command"
)
STILL_RAN = "it still ran when it was undone"
_FILE_PROGRAMS = frozenset({"chmod", "cp", "mkdir", "mv", "rm", "sed", "tee", "touch"})
"""Programs that change only the files they are given, as far as the analysis understands them."""
_BACKGROUND = re.compile(r"(?<![&<>|])&(?![&>])")
"""A ``&`` after which a part of the line may run on when the command has ended."""
_NO_FILES = re.compile(r"/dev/(?:null|tty|stdout|stderr|fd/[12])")


def written_paths(command: str, folder: Path, root: Path) -> tuple[Path, ...] | None:
    """Returns what a command in ``folder`` may change, with links in folders resolved; None if not known.

    Empty for a command that is known to change nothing.
    """
    analysis = shell.analyse(command)
    if analysis.doubt or analysis.unverified or (_BACKGROUND.search(command) and not analysis.harmless):
        return None
    if not all(_is_understood(act, is_moved=folder != root) for act in analysis.commands):
        return None
    paths = (path for act in analysis.commands for path in (*act.writes, *act.removes))
    return tuple(dict.fromkeys(_resolved(folder / path) for path in paths if not _NO_FILES.fullmatch(path)))


def unsaved_reason(paths: Iterable[Path], root: Path, saved: Container[str]) -> str:
    """Returns why changes of ``paths`` are not all in ``saved`` (relative paths of files), else ""."""
    for path in paths:
        if path == root or not path.is_relative_to(root):
            return f"{path} is outside the workspace"
        relative = path.relative_to(root).as_posix()
        try:
            mode = path.lstat().st_mode
        except OSError:  # nothing is there
            continue
        if not stat.S_ISREG(mode):
            return f"{relative} is a folder or a link"
        if relative not in saved:
            return f"{relative} is ignored by git"
    return ""


def _is_understood(act: shell.AnalysedCommand, *, is_moved: bool) -> bool:
    """Whether nothing is changed but the known ``writes`` and ``removes``."""
    if act.folder_risk and (is_moved or act.folders != ("",)):
        return False
    if act.harmless or (act.transparent and not (act.writes or act.risk)):
        return True
    if act.risk or act.unclear or act.via:
        return False
    if act.transparent:  # a redirect
        return True
    entry = shell.included_table().find(act.words[0])
    only_reads = entry is not None and entry.harmless and entry.name == act.entry
    return bool(act.writes) and (only_reads or (act.entry in _FILE_PROGRAMS and not act.dynamic))


def _resolved(path: Path) -> Path:
    """Returns the path with all links resolved but the last name: a command may change the link itself."""
    if path.name not in ("", ".."):
        return Path(os.path.realpath(path.parent), path.name)
    return Path(os.path.realpath(path))
