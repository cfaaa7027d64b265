"""Finds the sessions that words such as ``latest``, an agent or the name of a project mean,
and prints those of ``nbtools trace``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import asdict

from nbtools.cards.hidden_characters import one_line
from nbtools.core.errors import TraceError
from nbtools.core.message import counted, did_you_mean
from nbtools.traces.log_arguments import LATEST, LETTERS, is_pattern, path_exists
from nbtools.traces.session_index.left_out import left_out_count, left_out_files
from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery
from nbtools.traces.session_index.places import (
    ADDED_ENDINGS,
    add_log_folder,
    agent_named,
    agent_words,
    agents,
    known_agent,
)
from nbtools.traces.session_index.times import since_time
from nbtools.traces.session_list.match_text import matches_text
from nbtools.traces.session_list.session_messages import MAX_TEXT, SessionFilter
from nbtools.traces.session_list.session_text import left_out_text, sessions_text
from nbtools.traces.session_list.view import SessionList, query_of, session_catalog

DEFAULT_ROWS = 40
"""Sessions that the command line prints."""
_READING = 2.0
"""Seconds in which whole logs are read before the table is printed."""
_NUMBER = re.compile(r"[0-9]{1,9}")
_ENDINGS = (".jsonl", ".json", ".eval", ".ndjson", ".traj", ".zip")


def selected(
    words: Sequence[str], *, agent: str = "", since: str = "", text: str = ""
) -> SessionFilter | tuple[str, ...] | None:
    """Returns what the words and options of a line mean: the sessions to list, the paths of the one that
    changed last or of those with the numbers in the list, or None where the words are the paths of logs.
    Raises ``TraceError``.

    Numbers come last, after what selects the list that they are from. A file or a project that is named like
    a number is named by a path, such as ``./41``.
    """
    if words[:1] == [LATEST]:
        return _latest(words[1:], _filter(agent, since))
    if not words:
        return _filter(agent, since, text)
    found: SessionFilter | tuple[str, ...] | None = None
    names, numbers = _numbers(words)
    if len(words) <= len(LETTERS) and not any(map(_is_path, names)):
        session_catalog().refresh()
        chosen = _named(names, _filter(agent, since, "" if numbers else text))
        found = _numbered(chosen, numbers) if numbers and chosen else chosen
    if found is None and (agent or since):
        raise TraceError(
            f"--{'agent' if agent else 'since'} selects sessions of the list, and {words[0]} is a log."
        )
    return found


def _numbers(words: Sequence[str]) -> tuple[Sequence[str], list[int]]:
    """Returns the words before those that are numbers in the list, and these numbers."""
    first = len(words)
    while first and _NUMBER.fullmatch(words[first - 1]):
        first -= 1
    return words[:first], [int(word) for word in words[first:]]


def _numbered(chosen: SessionFilter, numbers: Sequence[int]) -> tuple[str, ...]:
    """Returns the paths of the sessions with these numbers in a list."""
    listed = session_catalog().page(query_of(chosen))
    wrong = next((number for number in numbers if not 0 < number <= len(listed)), None)
    if wrong is not None:
        numbered = f": their numbers are 1 to {len(listed):,}" if listed else ""
        raise TraceError(
            f"There is no number {wrong:,} in the list of {counted(len(listed), 'session')}{numbered}."
        )
    return tuple(str(listed[number - 1].path) for number in numbers)


def _filter(agent: str = "", since: str = "", text: str = "") -> SessionFilter:
    if len(text) > MAX_TEXT:
        raise TraceError(f"--search takes at most {MAX_TEXT:,} characters, and these are {len(text):,}.")
    return SessionFilter(agent=known_agent(agent) if agent else "", since=since_time(since), text=text)


def _is_path(word: str) -> bool:
    """Returns whether a word is the path of a file, a pattern, or looks like one."""
    if is_pattern(word) or word.lower().endswith(_ENDINGS):
        return True
    try:
        return Path(word).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):  # too long, or not a valid file name
        return False


def _named(words: Sequence[str], chosen: SessionFilter) -> SessionFilter | None:
    """Returns the sessions of the agent and the project that the words name;
    None where the first that names neither is a path. Raises ``TraceError``.
    """
    catalog = session_catalog()
    for word in words:
        agent = "" if chosen.agent else agent_named(word)
        project = "" if agent else _project(word, catalog)
        if agent:
            chosen = chosen.model_copy(update={"agent": agent})
        elif not project:
            if path_exists(word) or "/" in word or "\\" in word:
                return None
            raise _one_too_many(word) if agent_named(word) else _unknown(word, catalog)
        elif chosen.project:
            raise _one_too_many(word)
        else:
            chosen = chosen.model_copy(update={"project": project})
    return chosen


def _one_too_many(word: str) -> TraceError:
    return TraceError(f"{word!r} is one name too many: name an agent ({', '.join(agents())}) and a project.")


def _project(word: str, catalog: SessionCatalog) -> str:
    """Returns the name or the folder of a project with sessions; empty where the word means none.
    A path that exists, such as ``.``, is not looked for in other paths.
    """
    if catalog.has_project(word):
        return word
    if path_exists(word):
        folder = str(Path(word).expanduser().resolve())
        return folder if catalog.has_project(folder) else ""
    return word if catalog.count(SessionQuery(project=word)) else ""


def _unknown(word: str, catalog: SessionCatalog) -> TraceError:
    names = [Path(project.replace("\\", "/")).name for project in catalog.projects()]
    near = did_you_mean(word, [*names, *agent_words(), LATEST])
    return TraceError(
        f"{word!r} is no file, no agent, and no part of a session's project folder.{near} nbtools trace lists"
        " all sessions, --search TEXT those in which a text occurs."
    )


def _latest(words: Sequence[str], chosen: SessionFilter) -> tuple[str]:
    """Returns the path of the session that changed last; ``words`` name an agent, a project, or both."""
    for word in words:
        if not chosen.agent and (agent := agent_named(word)):
            chosen = chosen.model_copy(update={"agent": agent})
        elif not chosen.project:
            chosen = chosen.model_copy(update={"project": word})
        else:
            raise TraceError(
                f"{word!r} is one name too many: latest takes an agent ({', '.join(agents())}) and a project."
            )
    catalog = session_catalog()
    catalog.refresh()
    found = catalog.page(query_of(chosen), 0, 1)
    if not found:
        about = "".join(f" of {word}" for word in words)
        raise TraceError(
            f"No session{about} was found on this machine. List all of them with %trace, or nbtools trace."
        )
    return (str(found[0].path),)


def session_table(
    chosen: SessionFilter, rows: int = DEFAULT_ROWS, *, as_json: bool = False, paths: bool = False
) -> str:
    """Returns the selected sessions as a table of ``rows``, with their ``paths`` if wanted, or as JSON; -1
    for all of them. With a text, those whose contents contain it.
    """
    if chosen.text:
        return matches_text(chosen, rows, as_json=as_json)
    catalog = session_catalog()
    catalog.refresh()
    catalog.read_now(_READING)
    if as_json:
        found = catalog.page(query_of(chosen), 0, rows)
        return json.dumps([one.as_json() for one in found], indent=2)
    width = shutil.get_terminal_size((140, 40)).columns
    return sessions_text(SessionList(chosen).first(rows), width, paths=paths)


def left_out_table(*, as_json: bool = False) -> str:
    """Returns the files that are not listed below their reasons, or as JSON."""
    catalog = session_catalog()
    catalog.refresh()
    files = left_out_files(catalog)
    if as_json:
        return json.dumps([{**asdict(one), "path": str(one.path)} for one in files], indent=2)
    return left_out_text(files)


def add_folder(folder: str) -> str:
    """Adds a folder whose logs are listed from now on, and returns what was found in it.
    Raises ``TraceError``.
    """
    path = add_log_folder(folder)
    catalog = session_catalog()
    catalog.refresh()
    listed, other = catalog.below(path)
    name = one_line(str(path), 1_000)
    parts = [f"Session logs in {name} are listed from now on: {counted(listed, 'session')} found."]
    if other:
        parts.append(f"{counted(other, 'file is', 'files are')} not listed; --left-out says why.")
    if not listed:
        parts.append(f"Only files whose names end in {', '.join(ADDED_ENDINGS)} are looked at.")
    return " ".join(parts)


def left_out_note() -> str:
    """Returns how many files are not listed, as far as the catalog has looked; empty if none."""
    count = left_out_count(session_catalog())
    return f"{counted(count, 'file is', 'files are')} not listed; --left-out says why." if count else ""
