"""Writes one HTML file for each learner, without secrets and without the names of the others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import normalize

from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.errors import TraceError
from nbtools.traces.explorer.reviewing.reviewer import SIGNAL_NAMES
from nbtools.traces.export.removal import Patterns
from nbtools.traces.formats import open_log
from nbtools.traces.reviews.review import review
from nbtools.traces.reviews.signals import DEFINITIONS
from nbtools.traces.sharing.model import SharedLog
from nbtools.traces.sharing.page import (
    About,
    ShareOptions,
    facts_page,
    options_of,
    shared_page,
    write_page,
)
from nbtools.traces.submissions.folder import refuse_outside
from nbtools.traces.submissions.learner import Learner
from nbtools.traces.submissions.learner_set import LearnerSet
from nbtools.traces.submissions.marks import Marks
from nbtools.traces.submissions.table import NUMBERS, notebook_facts_text, number_texts
from nbtools.traces.trace import Trace

_SHORT_NAME = 3
"""Letters and digits without which a name is not removed: it may be a word, or a step's number."""
_LONG_NAME = 6
"""Characters from which on a name is removed within words, too."""
_TEXT = 100
"""Characters of names."""
_MAX_LEFT_OUT = 200


def share_learners(
    found: LearnerSet, folder: Path, redact: Patterns, keep: Collection[str], *, home: bool
) -> list[Path]:
    """Writes the files, and returns their paths in the order of the learners. Raises ``TraceError``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(f"{folder}: {error.strerror or error}.") from error
    marks = found.marks()
    own = options_of(redact).patterns
    words = _words_of_files()
    names = {one.name: _pattern(one.name, words) for one in found if _is_name(one.name)}
    paths = []
    for learner in found:
        mine = marks[learner.name]
        others = [pattern for name, pattern in names.items() if name != learner.name]
        options = options_of([*own, *others], keep, home=home, notes=not mine.hidden)
        page = _page(learner, mine, found, options)
        paths.append(write_page(page, folder / f"{_file_name(learner.name)}.html"))
    return paths


def _page(learner: Learner, marks: Marks, found: LearnerSet, options: ShareOptions) -> str:
    """Returns the page of a learner; where the logs have changed since they were read, one without them that
    says so.
    """
    problem = ""
    try:
        if learner.logs:
            return shared_page(_trace_of(learner, found), options, _about(learner, marks, found))[0]
    except TraceError as error:
        problem = str(error)
    return facts_page(_about(learner, marks, found, problem), options)


def _trace_of(learner: Learner, found: LearnerSet) -> Trace:
    """Loads the sessions of a learner."""
    logs = [open_log(log.session.path) for log in learner.logs]
    for log in logs:
        refuse_outside(log, learner.folder)
    trace = Trace(logs)
    reviewed = review(trace)
    reviewed.file, reviewed.reviewer = found.review.file, found.review.reviewer
    return trace


def _about(learner: Learner, marks: Marks, found: LearnerSet, problem: str = "") -> About:
    """Returns the facts about a learner, without what concerns others."""
    criteria = [
        {
            "name": one_line(code.name, _TEXT),
            "value": "\n".join(
                filter(None, (seen(code.description), _names(marks.labels.get(code.name, ()))))
            ),
        }
        for code in found.rubric.codes
    ]
    names = {code.name for code in found.rubric.codes}
    labels = [
        {"name": one_line(name, _TEXT), "value": _names(who)}
        for name, who in marks.labels.items()
        if name not in names
    ]
    verdicts = [
        {"name": f"verdict of {one_line(name, _TEXT)}", "value": one_line(value)}
        for name, value in marks.verdicts.items()
    ]
    numbers = [f"{NUMBERS[name]} {text}" for name, text in number_texts(learner).items() if text]
    notes = [{"name": "notes", "value": f"{marks.notes:,}, beside their steps"}] if marks.notes else []
    tables = {
        "Marks": [*(criteria if any(marks.labels.values()) or verdicts else []), *labels, *verdicts, *notes],
        "Sessions": [{"name": "all of them", "value": " · ".join(numbers)}] if learner.logs else [],
        "Signals": [
            {"name": f"{count:,} × {SIGNAL_NAMES[kind]}", "value": DEFINITIONS[kind]}
            for kind, count in sorted(learner.signals.items())
        ],
        "Notebooks": [
            {"name": one_line(one.path, _TEXT), "value": one.problem or notebook_facts_text(one)}
            for one in learner.notebooks
        ],
        "Not read": [
            {
                "name": one_line(str(one.path.relative_to(learner.folder)), _TEXT),
                "value": one_line(one.reason),
            }
            for one in learner.left_out[:_MAX_LEFT_OUT]
        ],
    }
    more = len(learner.left_out) - _MAX_LEFT_OUT
    if more > 0:
        tables["Not read"].append({"name": f"{more:,} more", "value": ""})
    if problem:
        tables["Not read"].append({"name": "The sessions", "value": one_line(problem)})
    return About(
        one_line(learner.name, _TEXT),
        tuple({"title": title, "rows": rows} for title, rows in tables.items() if rows),
    )


def _names(reviewers: Iterable[str]) -> str:
    return ", ".join(f"✓ {one_line(name, _TEXT)}" for name in reviewers)


def _is_name(name: str) -> bool:
    """Returns whether the name of a folder tells a person: a number and one or two letters do not."""
    letters = [character for character in name if character.isalnum()]
    return len(letters) >= _SHORT_NAME and not all(map(str.isdigit, letters))


def _pattern(name: str, words: Collection[str]) -> re.Pattern[str]:
    """Returns the expression of a learner's name: with any separators between its parts, in any case.
    Raises ``TraceError`` for one that is a word of which the file's data consists.
    """
    # A folder of macOS may have the letters and accents of a name apart, which logs have in one character.
    forms = dict.fromkeys(_spaced(normalize(form, name)) for form in ("NFC", "NFD"))
    text = f"(?:{'|'.join(forms)})"
    if sum(map(str.isalnum, normalize("NFC", name))) < _LONG_NAME:
        text = rf"(?<![^\W_]){text}(?![^\W_])"
    pattern = re.compile(text, re.IGNORECASE)
    word = next(filter(pattern.search, words), None)
    if word is not None:
        raise TraceError(
            f"The learner's name {name!r} cannot be removed from the files of others, because their data"
            f" contains the word {word!r}. Rename the folder."
        )
    return pattern


def _spaced(name: str) -> str:
    parts = [re.escape(part) for part in re.split(r"[\W_]+", name) if part] or [re.escape(name)]
    return r"[\W_]*".join(parts)


@cache
def _words_of_files() -> frozenset[str]:
    """Returns the fixed texts of a file's data, without which it cannot be read."""
    found: set[str] = set()

    def collect(schema: Any) -> None:
        if isinstance(schema, dict):
            words = [*schema.get("enum", ()), schema.get("const")]
            found.update(word for word in words if isinstance(word, str))
            for part in schema.values():
                collect(part)
        elif isinstance(schema, list):
            for part in schema:
                collect(part)

    collect(SharedLog.model_json_schema())
    return frozenset(found)


def _file_name(name: str) -> str:
    """Returns the name of a learner as the name of a file anywhere."""
    return re.sub(r"[^\w\-.]+", "_", name).strip("._")[:_TEXT] or "learner"
