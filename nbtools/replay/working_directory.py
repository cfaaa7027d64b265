"""The working directory of recorded calls, and how its paths map to a copy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from posixpath import isabs, join, normpath
from typing import TYPE_CHECKING

from nbtools.core.browser import IN_BROWSER, NO_TOOLS
from nbtools.core.errors import TraceError
from nbtools.traces.model import Call, Session
from nbtools.traces.working_directory import recorded_folder, with_ancestors

if TYPE_CHECKING:
    from nbtools.replay.copy import Copy

_HOME = re.compile(r"/home/[^/]+|/Users/[^/]+|/root(?=/|$)")


@dataclass(frozen=True)
class WorkingDirectory:
    """The recorded working directory of a session.

    ``cwd`` is absolute, empty if not recorded; ``agent`` is the dialect of its calls, empty if not supported;
    ``commit`` is the recorded checkout, empty if unknown.  ``first_line`` is the number of a file's first
    line in the agent's ``offset``.  ``path_pairs`` are pairs of an original folder and its counterpart in the
    copy.
    """

    cwd: str = ""
    commit: str = ""
    agent: str = ""
    first_line: int = 1
    path_pairs: tuple[tuple[str, str], ...] = ()

    def in_copy(self, copy: Copy) -> WorkingDirectory:
        """Returns it with the paths of a copy:
        of the recorded folder, the copied one, and their repositories.
        """
        (folder, root), (whole, top) = copy.moved
        places = [(self.cwd, root), (folder, root), (whole, top)]
        below = folder.removeprefix(whole)
        if self.cwd.endswith(below):
            places.insert(1, (self.cwd.removesuffix(below), top))
        return replace(
            self,
            path_pairs=tuple(dict(reversed([one for one in places if one[0] not in {"", "/"}])).items())[
                ::-1
            ],
        )

    def relative(self, path: str, folder: str = "") -> str:
        """Returns a recorded path relative to the recorded folder; ``folder`` is the base of relative paths.

        Raises ``TraceError`` for a path outside of it.
        """
        full = normpath(join(folder or self.cwd, path))
        if not isabs(full):
            return full
        if not self.cwd:
            raise TraceError(
                f"{path} is an absolute path, but the log does not record the session's folder. Pass it as"
                " cwd=…."
            )
        if full == self.cwd:
            return "."
        inside = full.removeprefix(self.cwd.rstrip("/") + "/")
        if inside == full:
            raise TraceError(f"{path} is outside of the session's folder, {self.cwd}, and was not copied.")
        return inside

    def map_paths(self, text: str, root: str) -> str:
        """Returns a command with paths of the recorded folder replaced by ``root``,
        and of other copied folders by the copy's.
        """
        new_names = {
            spelled: new
            for old, new in reversed(self.path_pairs or ((self.cwd, root),))
            for spelled in _spellings(old)
        }
        if not new_names:
            return text
        longest = sorted(new_names, key=len, reverse=True)
        pattern = (
            rf"(?:(?<![\w./-])|(?<=\s-\w)|(?<=file://))(?:{'|'.join(map(re.escape, longest))})(?![\w.-])"
        )
        return re.sub(pattern, lambda match: new_names[match[0]], text)

    def restore_paths(self, text: str, root: str) -> str:
        """Returns a tool's output with the copy's paths replaced by the recorded ones."""
        for old, new in self.path_pairs or ((self.cwd, root),):
            text = text.replace(new, old or ".")
        return text


def _spellings(folder: str) -> Iterator[str]:
    """Yields the ways to write a folder: as it is, and relative to the home folder (``~``, ``$HOME``)."""
    if folder in {"", "/"}:
        return
    yield folder
    homes = [home[0] for home in [_HOME.match(folder)] if home]
    for home in (*homes, str(Path.home())):
        if folder == home or folder.startswith(f"{home}/"):
            yield from (f"{name}{folder.removeprefix(home)}" for name in ("~", "$HOME", "${HOME}"))


def working_directory_of(
    call: Call, cwd: str = "", sessions: Mapping[str, Session] | None = None
) -> WorkingDirectory:
    """Returns the working directory of a call's session;
    a sub-agent inherits missing values from its parents.

    ``cwd`` replaces the recorded folder.  Without ``sessions`` the log is read again, once.
    """
    chain = with_ancestors(call, sessions)
    folder = normpath(cwd) if cwd else recorded_folder(call, sessions)
    if cwd and not isabs(folder):
        folder = ""
    commit = next((one.commit for one in chain if one.commit), "")
    # the log's format, else the agent that an interchange format names
    named = " ".join(f"{one.format} {one.agent}" for one in chain[:1]).lower()
    dialects = ("nbtools",) if named.startswith("nbtools") else ("claude", "gemini", "codex")
    agent = next((name for name in dialects if name in named), "")
    return WorkingDirectory(folder, commit, agent, call.origin.first_line)


def folder_to_copy(ground: WorkingDirectory, folder: str | Path | None) -> Path:
    """Returns the folder to copy.  Raises ``TraceError`` in a browser, if it does not exist,
    or none is given and none recorded.
    """
    if IN_BROWSER:
        raise TraceError(NO_TOOLS)
    if folder is None and not ground.cwd:
        raise TraceError("the log does not record the session's folder. Name the folder to copy.")
    found = Path(ground.cwd if folder is None else folder).expanduser()
    if not found.is_dir():
        problem = (
            f"{found} is not a folder"
            if folder is not None
            else f"the session ran in {found}, which does not exist on this machine"
        )
        raise TraceError(f"{problem}. Name the folder or repository to copy.")
    return found.resolve()
