"""Names the files in the agents' folders that are not in the list of sessions, with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from nbtools.traces.session_index.listing import IN_FOUND, IS_PART, SessionCatalog

_UNKNOWN = f"format = '' AND size > 0 AND {IN_FOUND}"
_PARTS = f"format <> '' AND {IS_PART} AND {IN_FOUND}"


class LeftOut(Struct, frozen=True):
    """A file that is not listed. ``agent`` is the one in whose folder it is; ``other`` in an added folder."""

    path: Path
    agent: str
    reason: str


def left_out(folders: Iterable[str | Path] = ()) -> list[LeftOut]:
    """Returns the files in the agents' folders, and in ``folders``, that ``sessions`` does not list: in no
    format that is read, sessions that another one started, and databases. Empty files are not named.
    """
    catalog = SessionCatalog(folders)
    try:
        catalog.refresh()
        return left_out_files(catalog)
    finally:
        catalog.close()


def left_out_files(catalog: SessionCatalog) -> list[LeftOut]:
    """Returns the files that the last look at the folders found and that are not listed, by path."""
    values = {"found": catalog.found.numbers}
    unknown = catalog.index.read(f"SELECT path, agent, problem FROM logs WHERE {_UNKNOWN}", values)  # noqa: S608 - constants
    parts = catalog.index.read(f"SELECT path, agent, parent FROM logs WHERE {_PARTS}", values)  # noqa: S608 - as above
    found = [LeftOut(Path(os.fsdecode(path)), agent, problem) for path, agent, problem in unknown]
    found += [
        LeftOut(
            Path(os.fsdecode(path)),
            agent,
            f"It is a sub-agent's session, started by the session {parent}. Open it by its path.",
        )
        for path, agent, parent in parts
    ]
    found += [LeftOut(Path(one.path), one.agent, one.reason) for one in catalog.found.databases]
    return sorted(found, key=lambda one: one.path)


def left_out_count(catalog: SessionCatalog) -> int:
    """Returns the number of files that are not listed."""
    query = f"SELECT count(*) FROM logs WHERE ({_UNKNOWN}) OR ({_PARTS})"  # noqa: S608 - constants
    count: int = catalog.index.read(query, {"found": catalog.found.numbers})[0][0]
    return count + len(catalog.found.databases)
