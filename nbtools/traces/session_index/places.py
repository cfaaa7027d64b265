"""Tells where agents store their session logs:
the table ``agents.toml``, the environment, and folders that the person added.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from nbtools.core.browser import IN_BROWSER
from nbtools.core.decoders import converted
from nbtools.core.errors import TraceError
from nbtools.core.message import did_you_mean
from nbtools.storage.state_folder import BROWSER_STORAGE, config_folder, private_folder, state_path

FOLDERS_VARIABLE = "NBTOOLS_LOG_FOLDERS"
"""Environment variable with more folders, separated like ``PATH``."""
OTHER = "other"
"""The agent of a log in an added folder, until a reader tells which agent wrote it."""
_LIST = "log_folders.txt"
_VARIABLE = re.compile(r"\$\{(\w+):-((?:[^${}]|\$\{\w+:-[^${}]*\})*)\}")
_ADDED_DATABASES = ("*.db", "*.sqlite", "*.vscdb")
ADDED_ENDINGS = (".jsonl", ".json", ".eval", ".traj", ".ndjson", ".log", ".txt")
"""Ends of the names of files in added folders that may be logs."""
_ADDED_LOGS = tuple(f"**/*{ending}" for ending in ADDED_ENDINGS)


class Place(Struct, frozen=True):
    """Logs below ``folder`` that match one of the patterns ``logs``; see ``agents.toml``.
    ``formats`` are the readers to try first, ``databases`` patterns of files that may hold sessions, too.
    """

    agent: str
    folder: Path
    logs: tuple[str, ...]
    formats: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    folders: bool = False
    databases: tuple[str, ...] = ()


_BROWSER_FILES = Place(OTHER, BROWSER_STORAGE, _ADDED_LOGS, excluded=("labels.jsonl",))
"""All logs among JupyterLite's files, where no agent has a folder. The page's samples end in ``.log``."""


class _Folder(Struct, rename={"excluded": "except"}):
    folder: str
    logs: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    folders: bool = False
    databases: tuple[str, ...] = ()


class Agent(Struct):
    """An agent of the table. ``words`` are the names that people type besides ``agent``."""

    agent: str
    label: str
    words: tuple[str, ...]
    format: tuple[str, ...]
    places: tuple[_Folder, ...]


class _Editors(Struct):
    names: tuple[str, ...]
    servers: tuple[str, ...]
    linux: str
    darwin: str
    win32: str


class _Table(Struct):
    agents: tuple[Agent, ...]
    editors: _Editors


@cache
def _table() -> _Table:
    data = tomllib.loads((Path(__file__).parent / "agents.toml").read_text(encoding="utf-8"))
    return converted(data, _Table)


def agents() -> Mapping[str, Agent]:
    """Returns the known agents by name."""
    return {agent.agent: agent for agent in _table().agents}


def label_of(agent: str) -> str:
    """Returns the name that people know an agent by."""
    known = agents().get(agent)
    return known.label if known else agent


def agent_named(word: str) -> str:
    """Returns the agent that a person means by ``word``; empty if none."""
    low = word.lower()
    return next(
        (one.agent for one in _table().agents if low in {one.agent, one.label.lower(), *one.words}), ""
    )


def agent_words() -> tuple[str, ...]:
    """Returns the words by which people name agents."""
    return tuple(word for one in _table().agents for word in (one.agent, *one.words))


def known_agent(word: str) -> str:
    """Returns the agent that a person means by ``word``. Raises ``TraceError`` if there is none."""
    name = agent_named(word)
    if not name:
        near = did_you_mean(word, agent_words())
        raise TraceError(f"{word!r} is no known agent.{near} Known agents: {', '.join(agents())}.")
    return name


def places(more: Iterable[str | Path] = ()) -> list[Place]:
    """Returns where logs may be, whether the folders exist or not:
    the agents' usual folders, added ones, and ``more``.
    """
    usual = [
        Place(agent.agent, Path(folder), one.logs, agent.format, one.excluded, one.folders, one.databases)
        for agent in _table().agents
        for one in agent.places
        for folder in _folders(one.folder)
    ]
    added = map(_absolute, (*added_folders(), *more))
    return [
        *([_BROWSER_FILES] if IN_BROWSER else usual),
        *(place for folder in dict.fromkeys(added) for place in _added_places(folder)),
    ]


def _absolute(folder: str | Path) -> Path:
    """Returns the absolute path of a folder that a person names, as the paths of its logs begin."""
    return Path(os.path.abspath(os.path.expanduser(folder)))  # noqa: PTH100, PTH111 - links stay


def _added_places(folder: Path) -> tuple[Place, ...]:
    """Returns the places of logs in a folder that the person added: files, and folders of events."""
    return (
        Place(OTHER, folder, ("**/events",), ("openhands",), folders=True),
        Place(OTHER, folder, _ADDED_LOGS, databases=_ADDED_DATABASES),
    )


def database_places(known: Iterable[Place]) -> list[Place]:
    """Returns where databases of agents may be, as places whose logs are the databases."""
    return [Place(one.agent, one.folder, one.databases) for one in known if one.databases]


def added_folders() -> tuple[str, ...]:
    """Returns the folders that the person added:
    from ``$NBTOOLS_LOG_FOLDERS`` and from the list in the configuration folder.
    """
    variable = (folder for folder in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if folder)
    try:
        lines = (config_folder() / _LIST).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        lines = []
    return tuple(dict.fromkeys([*variable, *(line for line in lines if line.strip())]))


def add_log_folder(folder: str | Path) -> Path:
    """Adds a folder whose session logs are listed from now on, and returns its absolute path.
    Raises ``TraceError`` if it is no folder.
    """
    path = _absolute(folder)
    if not path.is_dir():
        raise TraceError(f"{path} is not a folder.")
    if str(path).splitlines() != [str(path)]:  # the list has one folder a line
        raise TraceError(
            f"{str(path)!r} has a line break in its name. Name it in ${FOLDERS_VARIABLE} instead."
        )
    if str(path) not in added_folders():
        with (private_folder(config_folder()) / _LIST).open(
            "a", encoding="utf-8", errors="surrogateescape"
        ) as file:
            file.write(f"{path}\n")
    return path


def _folders(text: str) -> Iterator[str]:
    editors = _table().editors
    if text == "$EDITORS":
        folder = {"darwin": editors.darwin, "win32": editors.win32}.get(sys.platform, editors.linux)
        yield from (expand(folder.replace("/{}/", f"/{name}/")) for name in editors.names)
        yield from map(expand, editors.servers)
    else:
        yield str(state_path()) if text == "$STATE" else expand(text)


def expand(text: str) -> str:
    """Returns an absolute path: ``${NAME:-DEFAULT}`` is replaced by the variable,
    or by the default if it is unset or empty.
    """
    while (found := _VARIABLE.search(text)) is not None:
        text = text[: found.start()] + (os.environ.get(found[1]) or found[2]) + text[found.end() :]
    return os.path.abspath(os.path.expanduser(text))  # noqa: PTH100, PTH111 - links stay
