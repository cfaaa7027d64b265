"""Where a recorded call ran, and what stands for that here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from posixpath import isabs, join, normpath
from typing import TYPE_CHECKING

from nbtools.core.errors import TraceError
from nbtools.traces.format import Reading
from nbtools.traces.model import Call, Session

if TYPE_CHECKING:
    from nbtools.replay.copying import Copy

_HOME = re.compile(r"/home/[^/]+|/Users/[^/]+|/root(?=/|$)")


@dataclass(frozen=True)
class Ground:
    """``cwd`` is the recorded folder, absolute, empty where none is recorded; ``agent`` the dialect of its calls, empty for none of ours.

    ``commit`` is what was checked out then, empty where that is not recorded.  ``places`` are folders, by the names that commands may have
    for them, and what stands for each in the copy.
    """

    cwd: str = ""
    commit: str = ""
    agent: str = ""
    places: tuple[tuple[str, str], ...] = ()

    def on(self, copy: Copy) -> Ground:
        """The same where there is a copy: names of the recorded folder, of the copied one, and of the repositories around them."""
        (folder, root), (whole, top) = copy.moved
        places = [(self.cwd, root), (folder, root), (whole, top)]
        below = folder.removeprefix(whole)
        if self.cwd.endswith(below):
            places.insert(1, (self.cwd.removesuffix(below), top))
        return replace(self, places=tuple(dict(reversed([one for one in places if one[0] not in {"", "/"}])).items())[::-1])

    def within(self, path: str, folder: str = "") -> str:
        """A recorded path as one relative to the recorded folder; ``folder`` is where a relative one starts.

        Raises ``TraceError`` for what lies outside of it.
        """
        whole = normpath(join(folder or self.cwd, path))
        if not isabs(whole):
            return whole
        if not self.cwd:
            raise TraceError(f"{path} is an absolute path and the log does not say in which folder the session ran. Say it with cwd=….")
        if whole == self.cwd:
            return "."
        inside = whole.removeprefix(self.cwd.rstrip("/") + "/")
        if inside == whole:
            raise TraceError(f"{path} lies outside of the session's folder, {self.cwd}; there is no copy of it to work on.")
        return inside

    def moved(self, text: str, root: str) -> str:
        """A command with the recorded folder named ``root`` in it, and other names of what is copied as they are in the copy."""
        named = {spelled: new for old, new in reversed(self.places or ((self.cwd, root),)) for spelled in _spellings(old)}
        if not named:
            return text
        longest = sorted(named, key=len, reverse=True)
        pattern = rf"(?:(?<![\w./-])|(?<=\s-\w)|(?<=file://))(?:{'|'.join(map(re.escape, longest))})(?![\w.-])"
        return re.sub(pattern, lambda found: named[found[0]], text)

    def named(self, text: str, root: str) -> str:
        """What a tool said, with the copy named as the session's folder was."""
        for old, new in self.places or ((self.cwd, root),):
            text = text.replace(new, old or ".")
        return text


def _spellings(folder: str) -> Iterator[str]:
    """As it is, and from the home folder that it is in."""
    if folder in {"", "/"}:
        return
    yield folder
    homes = [home[0] for home in [_HOME.match(folder)] if home]
    for home in (*homes, str(Path.home())):
        if folder == home or folder.startswith(f"{home}/"):
            yield from (f"{name}{folder.removeprefix(home)}" for name in ("~", "$HOME", "${HOME}"))


def ground_of(call: Call, cwd: str = "", sessions: Mapping[str, Session] | None = None) -> Ground:
    """What the log says of the session of ``call``, a sub-agent's taken from above where it says nothing.

    ``cwd`` in place of the recorded folder.  Without its ``sessions`` the log is read once more, the first time that it is asked of it.
    """
    if sessions is None:
        sessions = _sessions(call.origin) if isinstance(call.origin, Reading) else {}
    chain = _upwards(call.session, sessions)
    recorded = next((one.cwd for one in chain if one.cwd), "") or call.detail.cwd
    folder = normpath(cwd or recorded) if cwd or recorded else ""
    return Ground(folder if isabs(folder) else "", next((one.commit for one in chain if one.commit), ""), _agent(chain))


def folder_of(ground: Ground, folder: str | Path | None) -> Path:
    """The folder to copy.  Raises ``TraceError`` where none is given and the recorded one is not here."""
    if folder is None and not ground.cwd:
        raise TraceError("the log does not say in which folder the session ran; name the folder to copy.")
    found = Path(ground.cwd if folder is None else folder).expanduser()
    if not found.is_dir():
        said = f"{found} is no folder here" if folder is not None else f"the session ran in {found}, which is not on this machine"
        raise TraceError(f"{said}; name the folder or repository to copy.")
    return found.resolve()


@lru_cache(maxsize=4)
def _sessions(origin: Reading) -> dict[str, Session]:
    return {row.id: row for row in origin.rows() if isinstance(row, Session)}


def _upwards(session: str, sessions: Mapping[str, Session]) -> list[Session]:
    """The session, the one that started it, and so on; no cycle is walked twice."""
    chain: list[Session] = []
    while (found := sessions.get(session)) is not None and found not in chain:
        chain.append(found)
        session = found.parent
    return chain


def _agent(chain: list[Session]) -> str:
    """By the format, else by the agent that an interchange format names."""
    said = " ".join(f"{one.format} {one.agent}" for one in chain[:1]).lower()
    if said.startswith("nbtools"):
        return "nbtools"
    return next((name for name in ("claude", "gemini") if name in said), "")
