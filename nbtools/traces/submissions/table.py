"""Learners as a table: script-free HTML for notebooks, and text for terminals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.cards.style import BLUE, GREEN, GREY
from nbtools.cards.tables import Sheet
from nbtools.core.message import counted
from nbtools.traces.explorer.export.static_html import render
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.reviewing.reviewer import SIGNAL_NAMES
from nbtools.traces.explorer.summary import short_number
from nbtools.traces.reviews.signals import DEFINITIONS as SIGNALS
from nbtools.traces.session_index.left_out import LeftOut
from nbtools.traces.submissions.learner import LEARNER_DEFINITIONS, DayOfWork, Learner
from nbtools.traces.submissions.learner_set import LearnerSet, Overlap
from nbtools.traces.submissions.marks import Marks
from nbtools.traces.submissions.notebooks import NOTEBOOK_DEFINITIONS, NotebookFacts

_MAX_DAYS = 60
"""Days in the picture: the last ones."""
_MAX_NOTEBOOKS = 3
"""Notebooks of a learner that have a line each; more of them are added up."""
_MAX_LINES = 500
_NAME, _PATH = 80, 300
_SIGNALS = "; ".join(f"{SIGNAL_NAMES[kind]}: {text}" for kind, text in SIGNALS.items())
_NOTEBOOKS = "; ".join(f"{name.replace('_', ' ')}: {text}" for name, text in NOTEBOOK_DEFINITIONS.items())
_HIDDEN = "…"


class Column(NamedTuple):
    """A column of the table: its head, its definition, and whether it has numbers."""

    label: str
    title: str
    is_number: bool = True


class Bar(NamedTuple):
    """A day in the picture; ``height`` is a percentage."""

    height: int
    colour: str
    title: str


def learners_html(found: LearnerSet) -> str:
    """Returns the learners as a table with a picture of their days."""
    columns, rows = table_of(found)
    bars, about = _pictures(found)
    return render(
        "learners",
        title=_title(found),
        about=about,
        columns=columns,
        rows=[(one_line(one.name, _NAME), bars[one.name], row) for one, row in zip(found, rows, strict=True)],
        overlaps=[overlap_text(one) for one in found.overlaps[:_MAX_LINES]],
        left_out=_by_reason(found),
        more=max(len(found.left_out) - _MAX_LINES, 0),
        not_read=len(found.left_out),
        hint=_hint(found),
    )


def learners_text(found: LearnerSet) -> str:
    """Returns the learners as a table of text, with what is not read below."""
    columns, rows = table_of(found, short=True)
    head = ("Learner", *(column.label for column in columns))
    cells = [(one_line(one.name, _NAME), *map("; ".join, row)) for one, row in zip(found, rows, strict=True)]
    lines = [overlap_text(one) for one in found.overlaps]
    lines += [
        text for reason, paths in _by_reason(found) for text in (reason, *(f"  {path}" for path in paths))
    ]
    more = len(found.left_out) - _MAX_LINES
    if more > 0:
        lines.append(f"{more:,} more (.left_out has all)")
    lines += filter(None, [_hint(found)])
    return Sheet(_title(found), tuple(cells), tuple(lines), head if cells else (), frozenset()).text()


def table_of(found: LearnerSet, *, short: bool = False) -> tuple[list[Column], list[list[list[str]]]]:
    """Returns the columns that are in use, and the lines of each cell, learner by learner.  If ``short``,
    notebooks are added up.
    """
    marks = found.marks()
    columns = [
        *(
            Column(one_line(code.name, 60), one_line(code.description), is_number=False)
            for code in found.rubric.codes
        ),
        Column("Other labels", "Labels that are not in the rubric", is_number=False),
        Column("Verdict", "The verdict of each reviewer on the sessions", is_number=False),
        Column("Notes", "Notes of reviewers"),
        *(Column(label, _DEFINITIONS[name]) for name, label in NUMBERS.items()),
        Column("Signals", _SIGNALS, is_number=False),
        Column("Notebooks", _NOTEBOOKS, is_number=False),
        Column("Not read", "Entries that are no session log and no notebook, or cannot be read"),
    ]
    rows = [_cells(one, marks[one.name], found, short=short) for one in found]
    criteria = len(found.rubric.codes) if found.shows_rubric else 0
    used = [at for at in range(len(columns)) if at < criteria or any(row[at] for row in rows)]
    return [columns[at] for at in used], [[row[at] for at in used] for row in rows]


NUMBERS = {
    "sessions": "Sessions",
    "prompts": "Prompts",
    "calls": "Calls",
    "failed_calls": "Failed",
    "edits": "Edits",
    "lines": "Lines",
    "test_runs": "Test runs",
    "edits_after_tests": "Edits after tests",
    "session_time": "Time",
    "tokens": "Tokens",
}
_DEFINITIONS = {
    **LEARNER_DEFINITIONS,
    "lines": f"{LEARNER_DEFINITIONS['added_lines']}, and removed",
    "tokens": "Tokens sent to models, those from a cache included, and written by them",
}


def number_texts(learner: Learner) -> dict[str, str]:
    """Returns the numbers of a learner as they are displayed, by name; empty where they are not recorded."""
    counts, has_logs = learner.counts, bool(learner.logs)
    numbers = {
        "sessions": len(learner.logs),
        "prompts": learner.prompts,
        "calls": counts.calls,
        "failed_calls": counts.failed_calls,
        "edits": counts.edits,
        "test_runs": learner.test_runs,
        "edits_after_tests": learner.edits_after_tests,
    }
    texts = {
        name: "" if number is None or not (has_logs or name == "sessions") else f"{number:,}"
        for name, number in numbers.items()
    }
    added, removed = counts.added_lines, counts.removed_lines
    if added is not None or removed is not None:
        texts["lines"] = f"+{added or 0:,} −{removed or 0:,}"
    if learner.session_time is not None:
        texts["session_time"] = elapsed(learner.session_time)
    tokens = [one for one in (counts.input_tokens, counts.output_tokens) if one is not None]
    if tokens:
        texts["tokens"] = short_number(sum(tokens))
    return {name: texts.get(name, "") for name in NUMBERS}


def _cells(learner: Learner, marks: Marks, found: LearnerSet, *, short: bool) -> list[list[str]]:
    criteria = [code.name for code in found.rubric.codes]
    others = [f"{name} ({', '.join(who)})" for name, who in marks.labels.items() if name not in criteria]
    verdicts = [f"{name}: {value}" for name, value in marks.verdicts.items()]
    return [
        *([f"✓ {one_line(who, _NAME)}" for who in marks.labels.get(name, ())] for name in criteria),
        [one_line(text, _PATH) for text in others],
        [one_line(text, _NAME) for text in (*verdicts, *([_HIDDEN] if marks.hidden else []))],
        [f"{marks.notes:,}"] if marks.notes else [],
        *([text] if text else [] for text in number_texts(learner).values()),
        [f"{count:,} × {SIGNAL_NAMES[kind]}" for kind, count in sorted(learner.signals.items())],
        _notebook_lines(learner.notebooks, short=short),
        [f"{len(learner.left_out):,}"] if learner.left_out else [],
    ]


def _notebook_lines(notebooks: Sequence[NotebookFacts], *, short: bool) -> list[str]:
    if len(notebooks) > (1 if short else _MAX_NOTEBOOKS):
        return [f"{len(notebooks):,}: {notebook_facts_text(_sum_of(notebooks))}"]
    return [notebook_text(one) for one in notebooks]


def _sum_of(notebooks: Sequence[NotebookFacts]) -> NotebookFacts:
    orders = [one.in_order for one in notebooks if one.in_order is not None]
    return NotebookFacts(
        "",
        code_cells=sum(one.code_cells for one in notebooks),
        executed=sum(one.executed for one in notebooks),
        in_order=all(orders) if orders else None,
        errors=sum(one.errors for one in notebooks),
        empty=sum(one.empty for one in notebooks),
    )


def notebook_text(one: NotebookFacts) -> str:
    """Returns the facts about a notebook as one line."""
    name = one_line(redacted(one.path), _PATH)
    return f"{name}: {one_line(one.problem) if one.problem else notebook_facts_text(one)}"


def notebook_facts_text(one: NotebookFacts) -> str:
    """Returns the facts without the notebook's name."""
    names = ", ".join(one_line(redacted(name), 40) for name in one.error_names)
    order = {None: "", True: "in order", False: "not in order"}[one.in_order]
    errors = counted(one.errors, "error") if one.errors else "no error"
    facts = (
        f"{one.executed:,} of {counted(one.code_cells, 'code cell')} run",
        order,
        errors + (f" ({names})" if names else ""),
        f"{one.empty:,} empty" if one.empty else "",
    )
    return ", ".join(filter(None, facts))


def overlap_text(one: Overlap) -> str:
    """Returns what a log has in common with those of other learners."""
    same = [
        "the id of its session" if one.same_id else "",
        "its first records" if one.same_start else "",
        f"{one.records:,} of its {one.of:,} messages, calls and requests" if one.records else "",
    ]
    log = f"{one_line(one.learner, _NAME)}: {one_line(one.path.name, _PATH)}"
    others = ", ".join(one_line(name, _NAME) for name in one.others)
    return f"{log} has in common with {others}: {', '.join(filter(None, same))}"


def _title(found: LearnerSet) -> str:
    sessions = sum(len(one.logs) for one in found)
    notebooks = sum(len(one.notebooks) for one in found)
    parts = (
        counted(len(found), "learner"),
        counted(sessions, "session"),
        counted(notebooks, "notebook"),
    )
    return " · ".join(parts)


def _hint(found: LearnerSet) -> str:
    if any(one.hidden for one in found.marks().values()):
        return f"{_HIDDEN} The marks of others are hidden until {found.review.reviewer} has given a verdict."
    return ""


def _pictures(found: LearnerSet) -> tuple[dict[str, list[Bar]], str]:
    """Returns a bar for each learner and day, and what the picture shows; days on which nobody worked have
    none.
    """
    days = sorted({day.day for learner in found for day in learner.days})[-_MAX_DAYS:]
    if not days:
        return {one.name: [] for one in found}, ""
    by_learner = {one.name: {day.day: day for day in one.days} for one in found}
    most = max(
        (day.prompts + day.calls for known in by_learner.values() for day in known.values()), default=1
    )
    bars = {
        name: [_bar(known.get(day) or DayOfWork(day), most) for day in days]
        for name, known in by_learner.items()
    }
    period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}, {counted(len(days), 'day')} with work"
    about = f"Bars: prompts and calls of a day, {period}. Green: tests were run. Blue: files were edited."
    return bars, about


def _bar(day: DayOfWork, most: int) -> Bar:
    steps = day.prompts + day.calls
    facts = (
        counted(day.prompts, "prompt"),
        counted(day.calls, "call"),
        counted(day.edits, "edit"),
        counted(day.test_runs, "test run"),
    )
    colour = GREY
    if day.test_runs:
        colour = GREEN
    elif day.edits:
        colour = BLUE
    height = max(round(100 * steps / most), 6) if steps else 0
    return Bar(height, colour, f"{day.day}: {', '.join(facts)}" if steps else f"{day.day}: nothing")


def _by_reason(found: LearnerSet) -> list[tuple[str, list[str]]]:
    """Returns the paths that are not read, below the folder, by reason."""
    paths: dict[str, list[str]] = defaultdict(list)
    for one in found.left_out[:_MAX_LINES]:
        paths[one_line(redacted(one.reason), _PATH)].append(_path_below(one, found))
    return [
        (f"{reason} ({counted(len(named), 'entry', 'entries')})", named) for reason, named in paths.items()
    ]


def _path_below(one: LeftOut, found: LearnerSet) -> str:
    return one_line(redacted(str(one.path.relative_to(found.folder))), _PATH)
