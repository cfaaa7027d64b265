"""A set of learners' work beside a rubric: numbers, marks, and what two learners have in common."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.core.message import did_you_mean
from nbtools.traces.export.removal import Patterns
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.reviews.review_set import ReviewSet
from nbtools.traces.reviews.signals import DEFINITIONS
from nbtools.traces.reviews.statistics import Agreement
from nbtools.traces.reviews.store import LabelFile
from nbtools.traces.session_index.left_out import LeftOut
from nbtools.traces.submissions.folder import LearnerFolder, learner_folders, left_out
from nbtools.traces.submissions.learner import Learner, read_learner
from nbtools.traces.submissions.marks import Marks, Rubric, SetMarks, checked_criterion, code_book_of

if TYPE_CHECKING:
    from nbtools.traces.session_list.view import SessionList

_COUNTS = (
    *("calls", "failed_calls", "edits", "edited_files", "added_lines", "removed_lines"),
    *("input_tokens", "output_tokens"),
)


class Overlap(Struct, frozen=True):
    """A log of a learner that has something in common with those of ``others``: the id of its session
    (``same_id``), the bytes of its first records (``same_start``), or ``records`` of its ``of`` messages,
    calls and requests, by time and content.
    """

    learner: str
    path: Path
    others: tuple[str, ...]
    same_id: bool
    same_start: bool
    records: int
    of: int


class LearnerSet(Sequence[Learner]):
    """The learners of a folder, by name, beside a rubric.  ``others`` are the entries of the folder that are
    no learner's.  ``review`` is the set of all their sessions, in which reviewers mark them.
    ``shows_rubric``: criteria are listed before anybody has applied them.
    """

    def __init__(
        self,
        folder: Path,
        learners: Sequence[Learner],
        others: Sequence[LeftOut] = (),
        *,
        rubric: Rubric | None = None,
        reviewer: str = "",
        blind: bool = False,
        file: LabelFile | None = None,
    ) -> None:
        self.folder = folder
        self.others = tuple(others)
        self.rubric = code_book_of(rubric)
        self.shows_rubric = rubric is not None
        self._learners = tuple(learners)
        logs = [log for learner in learners for log in learner.logs]
        self.review = ReviewSet(
            [log.session for log in logs],
            reviewer,
            file=file,
            blind=blind,
            starts={log.session.id: log.starts for log in logs},
            book=self.rubric,
        )
        self.overlaps = tuple(_overlaps(self._learners))

    def __len__(self) -> int:
        return len(self._learners)

    def __getitem__(self, name: Any) -> Any:
        """Returns the learner of this name or position. Raises ``TraceError`` for another name."""
        if not isinstance(name, str):
            return self._learners[name]
        found = next((one for one in self._learners if one.name == name), None)
        if found is None:
            names = [one.name for one in self._learners]
            raise TraceError(f"{self.folder} has no learner {name!r}.{did_you_mean(name, names)}")
        return found

    @property
    def left_out(self) -> list[LeftOut]:
        """Everything in the folder that is no session log and no notebook, or cannot be read, with the
        reasons.
        """
        return [*self.others, *(one for learner in self._learners for one in learner.left_out)]

    def marks(self) -> dict[str, Marks]:
        """Returns the marks by the names of learners, as the reviewer sees them now. Raises ``TraceError``
        where the label file cannot be read.
        """
        marks = SetMarks(self.review)
        return {one.name: marks.on(session.path for session in one.sessions) for one in self._learners}

    def agreement(self, a: str, b: str, criterion: str = "", confidence: float = 0.95) -> Agreement:
        """Returns how far two reviewers agree on verdicts, or on which sessions meet a criterion of the
        rubric: Cohen's κ with its confidence interval. Raises ``TraceError`` for an unknown criterion.
        """
        if not criterion:
            return self.review.agreement(a, b, confidence)
        return SetMarks(self.review).agreement(a, b, checked_criterion(self.rubric, criterion), confidence)

    def records(self) -> list[dict[str, Any]]:
        """Returns a row for each learner: the numbers of ``LEARNER_DEFINITIONS``, the number of each signal,
        sums over the notebooks, for each criterion the reviewers who applied it, and verdicts.
        """
        marks = self.marks()
        return [_record(one, marks[one.name], self) for one in self._learners]

    def to_pandas(self) -> Any:
        """Returns the rows as a ``pandas.DataFrame``."""
        return import_library("pandas").DataFrame(self.records())

    def review_these(self) -> SessionList:
        """Makes the sessions those that are reviewed in the list of sessions, with the rubric's criteria as
        labels, and returns the list: *Continue* there, or ``u``, opens the first one without a verdict.

        The folder is listed from now on, as with ``add_log_folder``. Raises ``TraceError``.
        """
        from nbtools.traces.submissions.reviewing import (  # noqa: PLC0415 - loads the explorer
            review_learners,
        )

        return review_learners(self)

    def share(
        self, folder: str | Path, *, redact: Patterns = (), keep: Collection[str] = (), home: bool = True
    ) -> list[Path]:
        """Writes one HTML file for each learner into ``folder``: the sessions with all steps, the facts about
        the notebooks, the marks and notes, and what was removed. Returns the paths.

        Secrets are removed as by ``nbtools.traces.share``, and the names of the other learners, too. A blind
        reader's files have no notes before all verdicts are given. Raises ``TraceError``.
        """
        from nbtools.traces.submissions.shared_files import (  # noqa: PLC0415 - as above
            share_learners,
        )

        return share_learners(self, Path(folder).expanduser(), redact, keep, home=home)

    def _repr_html_(self) -> str:
        from nbtools.traces.submissions.table import learners_html  # noqa: PLC0415 - as above

        return learners_html(self)

    def __repr__(self) -> str:
        from nbtools.traces.submissions.table import learners_text  # noqa: PLC0415 - as above

        return learners_text(self)


def learners(
    folder: str | Path,
    *,
    rubric: Rubric | None = None,
    reviewer: str = "",
    blind: bool = False,
    file: str | Path | None = None,
) -> LearnerSet:
    """Reads the work of learners: each folder in ``folder`` is one learner's, with session logs of any agent
    and notebooks. Nothing is run, and links are not followed.

    ``rubric`` are the criteria by which sessions are marked: names with descriptions, or a code book or its
    file; by default the code book of the project or the person. ``reviewer``, ``blind`` and ``file`` are as
    for ``review_set``. Raises ``TraceError`` where the folder or the rubric cannot be read.
    """
    root = Path(os.path.abspath(os.path.expanduser(folder)))  # noqa: PTH100, PTH111 - links stay, as in the list
    book = None if rubric is None else code_book_of(rubric)
    found, others = learner_folders(root)
    return LearnerSet(
        root,
        list(_read(found)),
        others,
        rubric=book,
        reviewer=reviewer,
        blind=blind,
        file=LabelFile(file),
    )


def _read(folders: Sequence[LearnerFolder]) -> Iterator[Learner]:
    """Yields the learners in the order of the folders. Large ones are read in processes of their own, where
    what ends a process concerns its learner only.
    """
    from nbtools.traces.corpus.parallel import TaskFailure, map_files  # noqa: PLC0415 - loads the corpus

    read: dict[str, Learner] = {}
    for folder, outcome in map_files(folders, read_learner):
        if isinstance(outcome, TaskFailure):
            reason = left_out(folder.path, f"It cannot be read: {outcome.why}")
            read[folder.name] = Learner(folder.name, folder.path, left_out=(reason,))
        else:
            read[folder.name] = outcome
    yield from (read[folder.name] for folder in folders)


def _overlaps(learners: Sequence[Learner]) -> Iterator[Overlap]:
    """Yields the logs that have something in common with a log of another learner."""
    owners: dict[object, int] = defaultdict(int)  # what identifies a record: a bit for each learner
    for number, learner in enumerate(learners):
        for log in learner.logs:
            for key in (*log.ids, *log.firsts, *log.records):
                owners[key] |= 1 << number
    for number, learner in enumerate(learners):
        for log in learner.logs:
            ids, firsts, records = (
                [others for key in keys if (others := owners[key] & ~(1 << number))]
                for keys in (log.ids, log.firsts, log.records)
            )
            found = 0
            for others in (*ids, *firsts, *records):
                found |= others
            if found:
                names = tuple(one.name for at, one in enumerate(learners) if found >> at & 1)
                yield Overlap(
                    learner.name,
                    log.session.path,
                    names,
                    bool(ids),
                    bool(firsts),
                    len(records),
                    len(log.records),
                )


def _record(learner: Learner, marks: Marks, found: LearnerSet) -> dict[str, Any]:
    notebooks = learner.notebooks
    has_logs = bool(learner.logs)
    counts = {name: getattr(learner.counts, name) if has_logs else None for name in _COUNTS}
    return {
        "learner": learner.name,
        "sessions": len(learner.logs),
        "prompts": learner.prompts if has_logs else None,
        **counts,
        "test_runs": learner.test_runs if has_logs else None,
        "edits_after_tests": learner.edits_after_tests,
        "session_time": learner.session_time,
        "started": learner.counts.started,
        "ended": learner.counts.ended,
        **{kind: learner.signals.get(kind, 0) if has_logs else None for kind in DEFINITIONS},
        "notebooks": len(notebooks),
        **{
            f"notebook_{name}": sum(getattr(one, name) for one in notebooks)
            for name in ("cells", "code_cells", "executed", "errors", "empty")
        },
        "notebooks_in_order": sum(bool(one.in_order) for one in notebooks),
        **{f"mark {code.name}": ", ".join(marks.labels.get(code.name, ())) for code in found.rubric.codes},
        "verdicts": ", ".join(f"{name}: {value}" for name, value in marks.verdicts.items()),
        "notes": marks.notes,
        "also_in": ", ".join(
            dict.fromkeys(
                name for one in found.overlaps if one.learner == learner.name for name in one.others
            )
        ),
        "not_read": len(learner.left_out),
    }
