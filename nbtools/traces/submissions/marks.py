"""The marks that reviewers gave to learners' sessions: criteria of a rubric, verdicts and notes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import msgspec
from msgspec import Struct

from nbtools.core.decoders import converted
from nbtools.core.errors import TraceError
from nbtools.traces.reviews.code_book import CodeBook, load_code_book
from nbtools.traces.reviews.records import Record, in_force
from nbtools.traces.reviews.review_set import ReviewSet
from nbtools.traces.reviews.session_verdicts import records_of
from nbtools.traces.reviews.statistics import Agreement, agreement_of

Rubric: TypeAlias = str | Path | CodeBook | Mapping[str, str] | Sequence[str]
_KEYS = 9


def code_book_of(rubric: Rubric | None) -> CodeBook:
    """Returns a rubric as a code book: one from a file, or criteria, of which the first nine get a key; by
    default the code book of the project or the person. Raises ``TraceError``.
    """
    if isinstance(rubric, CodeBook):
        return rubric
    if rubric is None or isinstance(rubric, str | Path):
        return load_code_book(rubric)
    about = rubric if isinstance(rubric, Mapping) else dict.fromkeys(rubric, "")
    codes = [
        {"name": name, "key": str(number) if number <= _KEYS else "", "description": text}
        for number, (name, text) in enumerate(about.items(), 1)
    ]
    try:
        return converted({"name": "rubric", "codes": codes}, CodeBook)
    except msgspec.ValidationError as error:
        raise TraceError(f"The rubric is not a code book: {error}.") from error


class Marks(Struct, frozen=True):
    """The marks of one learner, as a reviewer sees them: for each label the reviewers who applied it to a
    session or a step, the verdict of each (``mixed`` for different ones on several sessions), and the number
    of notes.

    ``hidden``: the reader is blind, and so the marks of others on some sessions are not in it yet.
    """

    labels: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    verdicts: Mapping[str, str] = MappingProxyType({})
    notes: int = 0
    hidden: bool = False


class SetMarks:
    """The marks in the label file of a review set, as they are now.  Raises ``TraceError``."""

    def __init__(self, reviews: ReviewSet) -> None:
        records = in_force(reviews.file.records())
        found = records_of(records, reviews.logs)
        self._reviews = reviews
        self._rows = {row.session.path: row for row in reviews.rows}
        self._by_log: dict[Path, list[tuple[str, Record]]] = {
            session.path: rows for session, rows in zip(reviews.sessions, found, strict=True)
        }

    def on(self, paths: Iterable[Path]) -> Marks:
        """Returns the marks on the logs of a learner."""
        labels: dict[str, dict[str, None]] = defaultdict(dict)
        verdicts: dict[str, dict[str, None]] = defaultdict(dict)
        notes, hidden = 0, False
        for path in paths:
            row = self._rows[path]
            hidden = hidden or row.hidden
            for _, record in self._by_log[path]:
                if row.hidden and record.reviewer != self._reviews.reviewer:
                    continue
                if record.kind in {"label", "code"}:
                    labels[record.value][record.reviewer] = None
                notes += record.kind == "note"
            if row.mine:
                verdicts[self._reviews.reviewer][row.mine] = None
            for name, value in row.others.items():
                verdicts[name][value] = None
        return Marks(
            {name: tuple(sorted(reviewers)) for name, reviewers in labels.items()},
            {name: next(iter(values)) if len(values) == 1 else "mixed" for name, values in verdicts.items()},
            notes,
            hidden,
        )

    def agreement(self, a: str, b: str, criterion: str, confidence: float = 0.95) -> Agreement:
        """Returns how far two reviewers agree on which sessions meet a criterion. Only sessions count on
        which both gave a verdict, and, where the set is blind, which the reviewer has judged.
        """
        pairs = []
        for path, row in self._rows.items():
            judged = {*row.others, *([self._reviews.reviewer] if row.mine else [])}
            if row.hidden or not {a, b} <= judged:
                continue
            met = {
                record.reviewer
                for _, record in self._by_log[path]
                if record.kind in {"label", "code"} and record.value == criterion
            }
            pairs.append((a in met, b in met))
        return agreement_of(a, b, pairs, confidence)


def checked_criterion(book: CodeBook, name: str) -> str:
    """Returns the name of a criterion. Raises ``TraceError`` for another one."""
    found = next((code.name for code in book.codes if name == code.name), None)
    if found is None:
        names = ", ".join(code.name for code in book.codes) or "none"
        raise TraceError(f"{name!r} is no criterion of the rubric. Criteria: {names}.")
    return found
