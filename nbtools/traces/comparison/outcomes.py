"""The table of outcomes: what each check finds in each run. What a log does not say is unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from nbtools.core.errors import TraceError
from nbtools.core.extension_points import extension
from nbtools.core.message import counted
from nbtools.traces.comparison.checks import DEFAULT_CHECKS, Check, CheckKind, parse_check
from nbtools.traces.comparison.file_contents import FileContent, file_content
from nbtools.traces.comparison.run import Run, main_sessions
from nbtools.traces.model import PREVIEW, Call, Event
from nbtools.traces.reviews.commands import LOOKUPS, commands_of, is_test_command
from nbtools.traces.reviews.runner_output import TestResult, result_of_tests
from nbtools.traces.reviews.statistics import Rate, rate_of
from nbtools.traces.reviews.visible_labels import visible_labels
from nbtools.traces.row_texts import text_of_event
from nbtools.traces.trace import Trace

State: TypeAlias = Literal["passed", "failed", "unknown", ""]
MAX_CHECKS = 12
_EDITORS = {"echo", "printf", "man", "less", "vim", "nano", "sed", "touch", "rm"}
_READERS = LOOKUPS | _EDITORS | {"install", "add", "uninstall", "remove"}
"""Words before a command by which it is not run but read, installed or named."""
_SILENT = {"cd", "export", "set", "source", ".", "true", ":", "mkdir", "sleep", "unset", "ulimit", "rm"}
"""Commands that write nothing where they succeed."""
_DOES_NOTHING = {"true", ":"}
_PASSES_ON_THE_END = re.compile(r"cat|tail(?: -n? ?\d+| --lines[= ]\d+)?|tee(?: -a)?(?: [^\s>-]\S*)?")
"""Commands after a pipe that write the end of what they read, in whole lines."""
_WRITES_ELSEWHERE = re.compile(r"(?<!2)>")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The finding of a check in a run. ``state`` is empty where there is nothing to pass, as for an answer;
    ``text`` says what was found.

    ``row`` is the call or message that says so, None where it is no single one. ``inferred``: the log does
    not say so itself, but the closing lines of the test runner, which ``text`` quotes. ``note`` says why.
    """

    state: State
    text: str
    row: Call | Event | None = None
    inferred: bool = False
    note: str = ""


@dataclass(frozen=True)
class Outcomes:
    """``cells`` has the outcomes of each run, in the order of ``runs``, one for each of ``checks``."""

    runs: tuple[Run, ...]
    checks: tuple[Check, ...]
    cells: tuple[tuple[Outcome, ...], ...]

    def rates(self, task: str | None = None) -> tuple[Rate | None, ...]:
        """Returns for each check how many of the runs passed, with Wilson's interval;
        of one task where it is named.

        Unknown outcomes do not count. None for a check that nothing passes or fails.
        """
        rows = [
            cells
            for run, cells in zip(self.runs, self.cells, strict=True)
            if task is None or run.task == task
        ]
        return tuple(
            _rate(check, [cells[at].state for cells in rows]) for at, check in enumerate(self.checks)
        )

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, each once, if at least one has several runs and there is more than one; else nothing."""
        names = tuple(dict.fromkeys(run.task for run in self.runs))
        return names if 1 < len(names) < len(self.runs) else ()

    def inferred(self, task: str | None = None) -> tuple[int, ...]:
        """Returns for each check how many of the outcomes that count are inferred; of one task where it is
        named.
        """
        rows = [
            cells
            for run, cells in zip(self.runs, self.cells, strict=True)
            if task is None or run.task == task
        ]
        return tuple(sum(cells[at].inferred for cells in rows) for at in range(len(self.checks)))

    def records(self) -> list[dict[str, Any]]:
        """Returns one record for each run and check, for a data frame."""
        return [
            {
                "run": run.name,
                "log": run.log,
                "task": run.task,
                "check": check.source,
                "state": cell.state,
                "outcome": cell.text,
                "inferred": cell.inferred,
            }
            for run, cells in zip(self.runs, self.cells, strict=True)
            for check, cell in zip(self.checks, cells, strict=True)
        ]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = extension("traces.outcomes_bundle")(self)
        return bundle


def parse_checks(checks: Sequence[str]) -> tuple[Check, ...]:
    """Parses checks, by default ``DEFAULT_CHECKS``. Raises ``TraceError`` for an invalid one, or too many."""
    parsed = tuple(dict.fromkeys(parse_check(check) for check in checks or DEFAULT_CHECKS))
    if len(parsed) > MAX_CHECKS:
        raise TraceError(f"{len(parsed)} checks are too many: give at most {MAX_CHECKS}.")
    return parsed


def outcomes_of(
    traces: Sequence[Trace], runs: Sequence[Run], checks: Sequence[Check], baseline: int
) -> Outcomes:
    columns = [_column(check, traces, baseline) for check in checks]
    return Outcomes(tuple(runs), tuple(checks), tuple(zip(*columns, strict=True)))


def _rate(check: Check, states: Sequence[State]) -> Rate | None:
    passed, failed = states.count("passed"), states.count("failed")
    return rate_of(check.source, passed, passed + failed) if passed + failed else None


def _column(check: Check, traces: Sequence[Trace], baseline: int) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for trace in traces:
        try:
            outcomes.append(_EVALUATORS[check.kind](trace, check))
        except TraceError as error:
            outcomes.append(Outcome("unknown", str(error)))
    return _same_contents(outcomes, baseline) if check.kind == "file_same" else outcomes


def _command(trace: Trace, check: Check) -> Outcome:
    """The last command line that runs the command, or tests."""
    words = check.text.split()
    runs_it = (lambda part: _runs(part, words)) if words else is_test_command
    for call in reversed(_commands(trace)):
        parts = commands_of(_command_line(call))
        places = [at for at, (part, _) in enumerate(parts) if runs_it(part)]
        if places:
            return _ending(trace, call, parts, places[-1])
    return Outcome("unknown", "not run")


def _commands(trace: Trace) -> list[Call]:
    """Returns the commands of all sessions of the log in order;
    without times, only those of the main session, whose order is known.
    """
    calls = [call for call in trace.calls if call.op == "shell" and call.live]
    if all(call.at is not None for call in calls):
        return sorted(calls, key=lambda call: call.at or 0.0)
    main = {one.id for one in main_sessions(trace)}
    return [call for call in calls if call.session in main]


def _command_line(call: Call) -> str:
    is_cut = len(call.subject) >= PREVIEW - 1 or call.subject.endswith("…")
    return (call.detail.command if is_cut else "") or call.subject


def _runs(part: str, words: Sequence[str]) -> bool:
    """Whether a command runs these words, and does not only look at them or install them."""
    have = part.split()
    for at in range(len(have) - len(words) + 1):
        names = [have[at].rpartition("/")[2], *have[at + 1 : at + len(words)]]
        if all(map(fnmatchcase, names, words)):
            return _READERS.isdisjoint(word.rpartition("/")[2] for word in have[:at])
    return False


def _ending(trace: Trace, call: Call, parts: Sequence[tuple[str, str]], place: int) -> Outcome:
    succeeded, reason = _succeeded(call), ""
    operators = {operator for _, operator in parts[place:]} - {"", "&&"}
    is_pipe = operators == {"|"} and any(part == "set -o pipefail" for part, _ in parts)
    if succeeded is None:
        reason = "the log does not say how it ended"
    elif operators and not is_pipe and parts[place + 1 :]:
        last = parts[-1][0].split()[0]
        reason = f"its own exit code is not recorded, only that of {last[:30]} after it"
    edits = _edits_after(trace, call)
    later = f", {counted(edits, 'edit')} after it" if edits else ""
    if not reason:
        code = "succeeded" if succeeded else "failed"
        code = code if call.exit_code is None else f"exit code {call.exit_code}"
        return Outcome("passed" if succeeded else "failed", f"{code}{later}", call)
    found = _inferred(call, parts, place)
    if found is None:
        return Outcome("unknown", reason, call)
    note = f"Inferred from the last lines of {found.runner}: {reason}"
    return Outcome("passed" if found.passed else "failed", f"{found.line}{later}", call, True, note)


def _inferred(call: Call, parts: Sequence[tuple[str, str]], place: int) -> TestResult | None:
    """Returns what the output of a command that runs tests says, if nothing else can have written its end:
    the only other commands write nothing, or pass on the end of what they read.
    """
    before, (tests, operator), after = parts[:place], parts[place], parts[place + 1 :]
    if not all(part.split()[0] in _SILENT for part, _ in before) or _WRITES_ELSEWHERE.search(tests):
        return None
    for part, following in after:
        if operator == "|" and not _PASSES_ON_THE_END.fullmatch(part):
            return None
        if operator in {"||", ";", "\n"} and part not in _DOES_NOTHING:
            return None
        if operator not in {"|", "||", ";", "\n"}:
            return None
        operator = following
    detail = call.detail
    if operator or detail.truncated or detail.full:
        return None
    return result_of_tests(
        tests, [text for text in (detail.stdout, detail.stderr) if text] or [detail.result]
    )


def _succeeded(call: Call) -> bool | None:
    if call.exit_code is not None:
        return call.exit_code == 0
    if call.status_source == "none":
        return None
    return {"ok": True, "error": False}.get(call.status)


def _edits_after(trace: Trace, call: Call) -> int:
    changed = {one.call for one in trace.file_changes if one.applied and one.session == call.session}
    return sum(
        one.session == call.session and one.seq > call.seq and one.live and one.id in changed
        for one in trace.calls
    )


def _answer(trace: Trace, check: Check) -> Outcome:
    main = {one.id for one in main_sessions(trace)}
    rows = zip(trace.events, trace.events.log_files, strict=True)
    said = [
        (one, log)
        for one, log in rows
        if one.kind == "assistant_text" and one.live and one.session in main and one.text.strip()
    ]
    if not said:
        return Outcome("unknown", "no message of the model is recorded")
    event, log = said[-1]
    if not check.text:
        return Outcome("", " ".join(event.text.split()), event)
    contains = check.text in text_of_event(event, log)
    return Outcome("passed" if contains else "failed", "contained" if contains else "not contained", event)


def _label(trace: Trace, check: Check) -> Outcome:
    found = [
        label
        for label in visible_labels(trace)[0]
        if label.kind in {"label", "code"} and label.value == check.text and label.placed
    ]
    if found:
        return Outcome("passed", f"at step {found[0].step}" if found[0].step else "the session")
    if any(
        label.kind == "verdict" and label.whole_session and label.value != "defer"
        for label in visible_labels(trace)[0]
    ):
        return Outcome("failed", "reviewed without it")
    return Outcome("unknown", "not reviewed")


def _verdict(trace: Trace, _: Check) -> Outcome:
    main = {one.id for one in main_sessions(trace)}
    given = [
        one
        for one in visible_labels(trace)[0]
        if one.kind == "verdict" and one.whole_session and one.session in main
    ]
    if not given:
        return Outcome("unknown", "not reviewed")
    values = {one.value for one in given}
    if len(values) > 1:
        return Outcome("unknown", f"reviewers differ: {', '.join(sorted(values))}")
    states: dict[str, State] = {"pass": "passed", "fail": "failed"}
    return Outcome(states.get(given[0].value, "unknown"), given[0].value)


def _file_changed(trace: Trace, check: Check) -> Outcome:
    changes = file_content(trace, check.path).changes
    if not changes:
        return Outcome("failed", "no recorded change")
    return Outcome("passed", counted(len(changes), "change"), changes[-1])


def _file_contains(trace: Trace, check: Check) -> Outcome:
    content = file_content(trace, check.path)
    last = content.changes[-1] if content.changes else None
    if content.text is not None and check.text in content.text:
        return Outcome("passed", "contained", last)
    return Outcome("failed", "not contained", last) if content.whole else _unknown_content(content)


def _unknown_content(content: FileContent) -> Outcome:
    if not content.changes:
        return Outcome("unknown", "no recorded change")
    return Outcome("unknown", "the log has only a part of the file", content.changes[-1])


def _file_digest(trace: Trace, check: Check) -> Outcome:
    """Returns the digest of the file's content at the end; ``_same_contents`` compares it."""
    content = file_content(trace, check.path)
    if content.text is None or not content.whole:
        return _unknown_content(content)
    digest = blake2b(content.text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return Outcome("", digest, content.changes[-1] if content.changes else None)


def _same_contents(digests: Sequence[Outcome], baseline: int) -> list[Outcome]:
    base = digests[baseline]
    outcomes: list[Outcome] = []
    for at, one in enumerate(digests):
        if one.state == "unknown":
            outcomes.append(one)
        elif base.state == "unknown":
            outcomes.append(Outcome("unknown", f"{one.text}, the baseline's is unknown", one.row))
        elif at == baseline:
            outcomes.append(Outcome("", f"{one.text}, the baseline", one.row))
        else:
            outcomes.append(Outcome("passed" if one.text == base.text else "failed", one.text, one.row))
    return outcomes


_EVALUATORS: dict[CheckKind, Callable[[Trace, Check], Outcome]] = {
    "tests": _command,
    "command": _command,
    "answer": _answer,
    "label": _label,
    "verdict": _verdict,
    "file_changed": _file_changed,
    "file_contains": _file_contains,
    "file_same": _file_digest,
}
