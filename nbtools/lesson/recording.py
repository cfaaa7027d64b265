"""Reads a session log as what a model said and called, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nbtools.core.errors import TraceError
from nbtools.replay import WorkingDirectory, working_directory_of
from nbtools.replay.steps import select_calls
from nbtools.traces import Trace, load
from nbtools.traces.model import Call, Event, Session
from nbtools.traces.prompts import typed_text
from nbtools.traces.row_texts import text_of_event

NO_ANSWER = "*The recording of this turn ends here, without an answer.*"
"""What is said at the end of a turn whose last step is a call."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text of the model or, with ``thinking``, of its reasoning."""

    text: str
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a model: what it said, then one call, if any.
    ``number`` counts the calls of the recording from 1; 0 without a call.
    """

    words: tuple[Words, ...] = ()
    call: Call | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt, empty where the log has none, and the steps until the next one.
    The last step has no call.
    """

    prompt: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A session as turns; ``ground`` is where its calls were made."""

    session: Session
    turns: tuple[Turn, ...]
    ground: WorkingDirectory

    @property
    def calls(self) -> int:
        return sum(step.call is not None for turn in self.turns for step in turn.steps)


def read_recording(path: str | Path, session: str = "", cwd: str = "") -> Recording:
    """Reads the session ``session`` of a log, by default its only one that is not a sub-agent's.

    ``cwd`` is the session's folder if the log does not record it.  Raises ``TraceError``.
    """
    trace = load(path)
    chosen = _choose(trace, session)
    known = {one.id: one for one in trace.sessions}
    calls = [call for call in select_calls(trace.calls, known) if call.session == chosen.id]
    ground = (
        working_directory_of(calls[0], cwd, known)
        if calls
        else WorkingDirectory(cwd or chosen.cwd, chosen.commit)
    )
    turns = tuple(_turns(_items(_events(trace, chosen), calls)))
    if not turns:
        raise TraceError(
            f"The session {chosen.id} has no messages and no calls, so there is nothing to play."
        )
    return Recording(chosen, _numbered(turns), ground)


def _choose(trace: Trace, session: str) -> Session:
    main = [
        one
        for one in trace.sessions
        if (one.id == session if session else not one.parent and "repeated" not in one.flags)
    ]
    if len(main) == 1:
        return main[0]
    if session:
        raise TraceError(f"The log has no session {session}. It has {_listed(trace.sessions)}.")
    raise TraceError(
        f"The log has {len(main)} sessions. Choose one with RecordedModel(…, session=…): {_listed(main)}."
    )


def _listed(sessions: Iterable[Session]) -> str:
    names = [one.id for one in sessions]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _events(trace: Trace, session: Session) -> Iterator[tuple[Event, str]]:
    """Yields prompts, texts and thoughts with their full texts."""
    for event, log in zip(trace.events, trace.events.log_files, strict=True):
        if (
            event.session == session.id
            and event.live
            and event.kind in {"user", "assistant_text", "thinking"}
        ):
            yield event, text_of_event(event, log)


def _items(events: Iterable[tuple[Event, str]], calls: Iterable[Call]) -> list[Call | tuple[Event, str]]:
    """Returns events and calls in the order of the log."""
    both: list[Call | tuple[Event, str]] = [*events, *calls]
    return sorted(both, key=lambda item: item.seq if isinstance(item, Call) else item[0].seq)


def _turns(items: Iterable[Call | tuple[Event, str]]) -> Iterator[Turn]:
    """Yields the turns.  Prompts that follow each other without an answer are one."""
    prompts: list[str] = []
    words: list[Words] = []
    steps: list[Step] = []
    for item in items:
        if isinstance(item, Call):
            steps.append(Step(tuple(words), item))
            words = []
            continue
        event, text = item
        if event.kind != "user":
            words += [Words(text, event.kind == "thinking")] if text.strip() else []
            continue
        if words or steps:
            yield _turn(prompts, steps, words)
            prompts, words, steps = [], [], []
        prompts += [typed] if (typed := typed_text(text)) else []
    if words or steps:
        yield _turn(prompts, steps, words)


def _turn(prompts: list[str], steps: list[Step], words: list[Words]) -> Turn:
    said = tuple(words) if any(not one.thinking for one in words) else (*words, Words(NO_ANSWER))
    return Turn("\n\n".join(prompts), (*steps, Step(said)))


def _numbered(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    number, result = 0, []
    for turn in turns:
        steps = []
        for step in turn.steps:
            number += step.call is not None
            steps.append(replace(step, number=number) if step.call else step)
        result.append(replace(turn, steps=tuple(steps)))
    return tuple(result)
