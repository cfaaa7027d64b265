"""A program: kills one operation at each system call it makes, and says what was broken then.

``python -m tests.faults.killing OPERATION FOLDER MOST`` prints a ``Kills`` as JSON.  It is a process of its
own, without threads, as forks need it; what an operation imports is there before the first fork, so that a
kill takes a few milliseconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from nbtools.core.result import ToolResult
from nbtools.core.settings import Settings
from nbtools.policy.decide import Policy
from nbtools.session import Session
from nbtools.workspace.history.undo import change_state
from tests.faults.operations import (
    LEFTOVER,
    OPERATIONS,
    Operation,
    Tree,
    broken,
    tree,
    without_folders,
    without_leftovers,
)
from tests.faults.tracing import Ended, trace

EARLIER = "earlier-call"
TO_UNDO = "call-to-undo"


@dataclass(slots=True)
class Kills:
    """The outcomes of ``kills`` of an operation that makes ``calls`` system calls.

    ``told``: how often it had been told as made by then.  ``before``, ``after``, ``leftovers``: how often all
    was old, all was new, and how often something was left beside the files.  ``how_far``: what the journal
    said of it.  ``broken``: a sentence for each broken promise.
    """

    calls: int = 0
    kills: int = 0
    told: int = 0
    before: int = 0
    after: int = 0
    leftovers: int = 0
    how_far: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


class Killer:
    """``place`` has the workspace, the state folder, and both as they are before the operation,
    after an earlier change.
    """

    def __init__(self, operation: Operation, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        self.operation = operation
        self.folder, self.state, self._template = place / "files", place / "state", place / "template"
        os.environ["NBTOOLS_STATE"] = str(self.state)
        self.settings = Settings(journal=operation.journal)
        self.known = asyncio.run(self._make_template())
        self.before, self.after = self._whole()
        gc.freeze()

    def session(self) -> Session:
        return Session(self.folder, policy=Policy(mode="yolo"), settings=self.settings)

    def prepare(self) -> Session:
        """Everything as it is before the operation; a session that has read nothing."""
        for folder in (self.folder, self.state):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._template / "files", self.folder)
        if self.operation.journal and not self.operation.first:
            shutil.copytree(self._template / "state", self.state)
        return self.session()

    def call(self, session: Session) -> bytes:
        """Returns the report of the finished operation."""
        result = asyncio.run(self._call(session))
        return f"failed: {result.error}".encode() if result.error else b"made"

    def calls(self) -> int:
        """The fewest of three times: threads that wait for each other make some more or less."""
        return min(self.kill(0)[0].calls for _ in range(3))

    def kill(self, at: int) -> tuple[Ended, Tree]:
        """``at``: the system call that is not made any more; 0: it is left alone."""
        session = self.prepare()
        ended = trace(
            lambda: self.call(session),
            lambda k, _: k == at,
            None if self.operation.first else lambda: open_journal(session),
        )
        return ended, tree(self.folder)

    async def _call(self, session: Session) -> ToolResult:
        if self.operation.undoes:
            return await session.undo(TO_UNDO)
        return await session.call(self.operation.tool, self.operation.arguments)

    async def _make_template(self) -> set[str]:
        """The calls made before the operation:
        one, and for an operation that undoes the one that it undoes.
        """
        undone = OPERATIONS.get(self.operation.undoes)
        self.folder.mkdir(parents=True)
        (undone or self.operation).fill(self.folder)
        async with self.session() as session:
            await session.call("write", {"path": "earlier", "content": "earlier\n"}, id=EARLIER)
            if undone is not None:
                await session.call(undone.tool, undone.arguments, id=TO_UNDO)
        shutil.copytree(self.folder, self._template / "files")
        if self.operation.journal:
            shutil.copytree(self.state, self._template / "state")
        return {EARLIER, TO_UNDO} if undone is not None else {EARLIER}

    def _whole(self) -> tuple[Tree, Tree]:
        """The operation in this process: it imports what it needs, and shows what is there after it."""
        session = self.prepare()
        before = tree(self.folder)
        told = self.call(session)
        asyncio.run(session.close())
        after = tree(self.folder)
        if before == after:
            raise SystemExit(f"nothing was changed: {told!r}")
        return before, after


def open_journal(session: Session) -> None:
    """It is open already, as in a session that has changed something before."""
    if session.settings.journal:
        session.workspace.journal.entries(last=1)


def kill_everywhere(killer: Killer, most: int) -> Kills:
    """At each system call, or at ``most`` of them evenly where there are more."""
    kills = Kills(killer.calls())
    for at in evenly(kills.calls, most):
        ended, now = killer.kill(at)
        kills.kills += ended.killed
        kills.told += bool(ended.told)
        kills.before += without_leftovers(now) == killer.before
        kills.after += without_leftovers(now) == killer.after
        kills.leftovers += any(LEFTOVER in name for name in now)
        said = [
            *_judged(killer, ended, now),
            *(_recovered(killer, ended, kills) if killer.operation.journal else ()),
        ]
        kills.broken += [f"killed at call {at}: {what}" for what in said]
    return kills


def _judged(killer: Killer, ended: Ended, now: Tree) -> Iterator[str]:
    """Before anybody looks at what was left."""
    yield from broken(killer.operation, killer.before, killer.after, now)
    if ended.told and ended.told != b"made":
        yield ended.told.decode()
    if ended.told == b"made" and now != killer.after:
        yield f"it was told as made, but there is {_differing(now, killer.after)}"


def _recovered(killer: Killer, ended: Ended, kills: Kills) -> Iterator[str]:
    """The next session: the journal can be read and has what was acknowledged, nothing is left over,
    and all can be undone.
    """
    session = killer.session()
    journal = session.workspace.journal
    entries = journal.entries()
    now = tree(killer.folder)
    yield from broken(killer.operation, killer.before, killer.after, now)
    if journal.notices:
        yield f"the journal says: {journal.notices}"
    if any(LEFTOVER in name for name in now):
        yield f"left over: {[name for name in now if LEFTOVER in name]}"
    if not killer.operation.first and (lost := killer.known - {entry.call for entry in entries}):
        yield f"entries are lost: {lost}"
    recorded = [entry for entry in entries if entry.call not in killer.known]
    far = change_state(journal, recorded[0]) if recorded else "not recorded"
    kills.how_far[far] = kills.how_far.get(far, 0) + 1
    if not recorded and (ended.told or now != killer.before):
        yield f"it is not in the journal, but there is {_differing(now, killer.before)}"
    if now == killer.after and far != "made":
        yield f"all is made, but the journal says {far}"
    if recorded:
        yield from asyncio.run(_undone(killer, session, recorded[0].call, far, now))
    asyncio.run(session.close())
    yield from unsound(killer.state)


async def _undone(killer: Killer, session: Session, call: str, far: str, now: Tree) -> list[str]:
    """An undo brings the old state, whatever the call had made of it;
    undone in turn, all is as the call had left it.
    """
    undo = await session.undo(call)
    if undo.error is not None:
        return [f"undone ({far} before): {undo.error}"]
    if (back := tree(killer.folder)) != killer.before:
        return [f"undone ({far} before), there is {_differing(back, killer.before)}"]
    again = await session.undo(session.changes[-1].id)
    if far == "made" and without_folders(there := tree(killer.folder)) != without_folders(now):
        return [f"undone twice ({again.llm_content}), there is {_differing(there, now)}"]
    return []


def unsound(state: Path) -> Iterator[str]:
    for file in state.rglob("*.sqlite"):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            if (said := connection.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
                yield f"{file.name}: {said}"
        if "broken" in file.name:
            yield f"the journal was set aside as {file.name}"


def _differing(one: Tree, other: Tree) -> str:
    return repr(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))


def evenly(calls: int, most: int) -> list[int]:
    return (
        sorted({round(1 + step * (calls - 1) / (most - 1)) for step in range(most)})
        if calls > most
        else list(range(1, calls + 1))
    )


def operation_named(name: str) -> Operation:
    """``… without journal``: the same, with nothing kept."""
    plain = name.removesuffix(" without journal")
    return OPERATIONS[plain] if plain == name else replace(OPERATIONS[plain], journal=False)


if __name__ == "__main__":
    name, place, most = sys.argv[1:]
    with contextlib.redirect_stdout(sys.stderr):
        found = kill_everywhere(Killer(operation_named(name), Path(place)), int(most))
    print(json.dumps(asdict(found)))
