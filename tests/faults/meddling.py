"""A program: at each system call of an operation somebody else changes the files under it,
and it must end with a report.

``python -m tests.faults.meddling OPERATION FOLDER MOST`` prints as JSON, for each meddler,
what was broken and how the operation ended how often.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from nbtools.session import Session
from nbtools.workspace.history.content import digest
from tests.faults.killing import Killer, evenly, open_journal, operation_named, unsound
from tests.faults.operations import LEFTOVER, Tree, tree, without_leftovers
from tests.faults.tracing import trace

THEIRS = b"somebody else's, all of it\n"
NOBODY = 65534


def remove_everything(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def replace_files(folder: Path) -> None:
    """Saves by renaming, as some editors do."""
    for path in [path for path in folder.rglob("*") if path.is_file() and LEFTOVER not in path.name]:
        new = path.with_name("editor's new")
        new.write_bytes(THEIRS)
        new.replace(path)


def write_into_files(folder: Path) -> None:
    """Saves in place, as some editors do."""
    for path in [path for path in folder.rglob("*") if path.is_file() and LEFTOVER not in path.name]:
        path.write_bytes(THEIRS)


def forbid(folder: Path) -> None:
    """Nobody but root may change a name in any folder."""
    for place in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        os.chown(place, 0, 0)
        place.chmod(0o755)


MEDDLERS: Mapping[str, Callable[[Path], None]] = {
    "folder removed": remove_everything,
    "file replaced": replace_files,
    "file written": write_into_files,
    "permission lost": forbid,
}


def meddle_everywhere(
    killer: Killer, meddle: Callable[[Path], None], calls: Sequence[int]
) -> tuple[Counter[str], list[str]]:
    ends: Counter[str] = Counter()
    said: list[str] = []
    for at in calls:
        report, there, now = meddle_at(killer, meddle, at)
        ends[report.partition(":")[0]] += 1
        said += [f"at call {at} ({report}): {what}" for what in judged(killer, meddle, report, there, now)]
    return ends, said


def meddle_at(killer: Killer, meddle: Callable[[Path], None], at: int) -> tuple[str, Tree, Tree]:
    """Returns the report, the files when the other one was done, and the files at the end."""
    session = killer.prepare()
    there: Tree = {}

    def stop(k: int, _: int) -> bool:
        if k == at:
            meddle(killer.folder)
            there.update(tree(killer.folder))
        return False

    if meddle is forbid:
        _give_away(killer.folder.parent)
    ended = trace(lambda: killer.call(session), stop, lambda: _first(session, nobody=meddle is forbid))
    return ended.told.decode() or "nothing told", there, tree(killer.folder)


def judged(
    killer: Killer, meddle: Callable[[Path], None], report: str, there: Tree, now: Tree
) -> Iterator[str]:
    if report == "nothing told" or "unhandled" in report or "raised" in report:
        yield "it did not come to its end"
    contents = {entry[1] for known in (killer.before, killer.after, there) for entry in known.values()} | {
        THEIRS
    }
    contents.update(killer.operation.passing.values())
    for name, (_, content) in without_leftovers(now).items():
        if content not in contents:
            yield f"{name} has {len(content)} bytes that nobody wrote"
    if meddle in (replace_files, write_into_files):
        lost = [
            name
            for name, entry in without_leftovers(there).items()
            if entry[1] == THEIRS and _is_lost(name, report, killer, now)
        ]
        if lost:
            yield f"lost without a word: {lost}"
    yield from unsound(killer.state)


def _is_lost(name: str, report: str, killer: Killer, now: Tree) -> bool:
    """Whether the other one's text is gone although the operation reported success,
    and no undo would restore it.
    """
    if report != "made" or name not in now or now[name][1] == THEIRS:
        return False
    journal = killer.session().workspace.journal
    kept = journal.content(digest(THEIRS))
    journal.close()
    return kept != THEIRS


def _give_away(folder: Path) -> None:
    for place in [folder, *folder.rglob("*")]:
        os.chown(place, NOBODY, NOBODY, follow_symlinks=False)
    for above in folder.parents:
        with contextlib.suppress(OSError):
            above.chmod(above.stat().st_mode | 0o055)
        if above.parent == above.parent.parent:
            break


def _first(session: Session, *, nobody: bool) -> None:
    if nobody:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    open_journal(session)


if __name__ == "__main__":
    name, place, most = sys.argv[1:]
    with contextlib.redirect_stdout(sys.stderr):
        killer = Killer(operation_named(name), Path(place))
        calls = evenly(killer.calls(), int(most))
        found = {name: meddle_everywhere(killer, meddle, calls) for name, meddle in MEDDLERS.items()}
    print(json.dumps({name: {"ends": ends, "broken": said} for name, (ends, said) in found.items()}))
