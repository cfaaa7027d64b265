"""Displays a run in a cell, in the order of events:
a head that is kept up to date, messages, the calls' cards, a foot.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from nbtools.agents.events import AgentEvent, Answer, CallStarted, Remark, StepFinished, TextReceived
from nbtools.agents.usage import Limits, Usage
from nbtools.cards.blocks import text_block
from nbtools.cards.card_model import CardAction, State
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.call import FINISHED, AwaitingApprovalCall, CallEvent, OutputEvent
from nbtools.notebook.agent.overview import final_figures, running_figures, whole_seconds
from nbtools.notebook.agent.representations import bundle, remark_bundle
from nbtools.notebook.agent.run_messages import RunAction, RunFile, RunFoot, RunHead, RunMessage
from nbtools.notebook.display_target import Bundle, DisplayTarget
from nbtools.notebook.grouped_screen import GroupedScreen
from nbtools.notebook.live_display import LiveDisplay

if TYPE_CHECKING:
    from nbtools.notebook.state.state_messages import FileChange

SPLIT_LENGTH = 4_000
"""Characters from which a message continues in another display, at the end of a paragraph:
only the last display grows.
"""
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})", re.MULTILINE)


class MessageDisplay:
    """Displays the model's messages and thoughts.  Used in the session's event loop only."""

    def __init__(self, target: DisplayTarget) -> None:
        self._target = target
        self._display: LiveDisplay | None = None
        self._text = ""
        self._thinking = False
        self._since = 0.0

    def write(self, piece: str, *, thinking: bool) -> None:
        if self._display is None or thinking is not self._thinking:
            self.end()
            self._display, self._thinking, self._since = _new_display(self._target), thinking, _now()
        self._text += piece
        if not thinking and len(self._text) > SPLIT_LENGTH:
            self._split()
        if self._text.strip():
            self._display.update(lambda: bundle(self._part(ended=False)))

    def end(self) -> None:
        """Finishes the current message."""
        if self._display is not None and self._text.strip():
            self._display.finish(bundle(self._part(ended=True)))
        self._display, self._text = None, ""

    def _split(self) -> None:
        """Leaves the finished paragraphs in their display; the rest continues in a new one."""
        at = self._text.rfind("\n\n")
        if at > 0 and self._display is not None and len(_FENCE.findall(self._text, 0, at)) % 2 == 0:
            rest, self._text = self._text[at + 2 :], self._text[:at]
            self.end()
            self._display, self._text, self._since = _new_display(self._target), rest, _now()

    def _part(self, *, ended: bool) -> RunMessage:
        block = text_block(self._text.strip(), markdown=True)
        if not self._thinking:
            return RunMessage(block=block)
        seconds = _now() - self._since
        if not ended:
            return RunMessage(block=block, thought="Thinking")
        return RunMessage(
            block=block, thought=f"Thought for {whole_seconds(seconds)}" if seconds >= 1 else "Thought"
        )


def _new_display(target: DisplayTarget) -> LiveDisplay:
    """Returns another display in the cell."""
    return LiveDisplay(target.another(), live=target.is_live)


def _now() -> float:
    return asyncio.get_running_loop().time()


TICK = 1.0
"""Seconds between updates of the head's clock."""
WAITING_TICK = 5.0
"""The same while an approval is pending: the page assumes that a silent run is gone."""
ACTIONS: tuple[RunAction, ...] = ("continue", "open-trace")
MAX_FILES = 100
"""Changed files that the foot lists."""
STOPPING = "Stopping"
Changes: TypeAlias = Callable[[frozenset[str]], Sequence["FileChange"]]
"""Returns the changes of calls that are not undone, oldest first."""


class RunDisplay:
    """Displays one run.  All methods but ``__init__`` are called in the session's loop.
    ``set_target`` sets a call's display target.
    """

    def __init__(
        self,
        run: str,
        model: str,
        limits: Limits,
        target: DisplayTarget,
        set_target: Callable[[str, DisplayTarget], None],
        actions: Callable[[], tuple[RunAction, ...]] = lambda: ACTIONS,
        changes: Changes = lambda _: (),
    ) -> None:
        self._run = run
        self._model = one_line(model, 100)
        self._limits = limits
        screen = target.screen
        self._target = target
        self._frame = (
            replace(target, screen=screen.ungrouped) if isinstance(screen, GroupedScreen) else target
        )
        """Where head and foot are displayed:
        not in a group, because the page updates the one and acts on the other.
        """
        self._set_target = set_target
        self._actions = actions
        self._changes = changes
        self._head = _new_display(self._frame)
        self._texts = MessageDisplay(self._target)
        self._status = "Starting"
        self._asking: set[str] = set()
        self._calls: set[str] = set()
        self._made: set[str] = set()
        self._step = 0
        self._usage = Usage()

    def open(self) -> None:
        self._since = _now()
        if self._head.is_live:
            self._update_head()
        else:  # without a state, because it stays
            self._head.finish(bundle(RunHead(run=self._run, model=self._model, state="scheduled", status="")))

    def set_status(self, status: str) -> None:
        """Sets the status in the head."""
        if status != self._status:
            self._status = status
            self._update_head()

    def on_event(self, event: AgentEvent) -> None:
        match event:
            case TextReceived(step=step, text=text, thinking=thinking):
                self._step = step
                self._texts.write(text, thinking=thinking)
                self.set_status("Thinking" if thinking else "Writing")
            case CallStarted(step=step, call_id=call_id):
                self._step = step
                self._texts.end()
                self._calls.add(call_id)
                self._made.add(call_id)
                self._set_target(call_id, replace(self._target.another(), early=self._head.is_live))
                self.set_status("Working")
            case StepFinished(step=step, usage=usage):
                self._step, self._usage = step, usage
                self._update_head()
            case Remark(text=text, about=about):
                self._texts.end()
                _new_display(self._target).finish(remark_bundle(text, about))

    def notice(self, event: CallEvent) -> None:
        """Follows a call: the head says when an approval is pending, and when the model continues."""
        call = event.call if isinstance(event, OutputEvent) else event
        if call.request.id not in self._calls:
            return
        was_asking = bool(self._asking)
        if isinstance(event, AwaitingApprovalCall):
            self._asking.add(call.request.id)
        else:
            self._asking.discard(call.request.id)
        if isinstance(event, FINISHED):
            self._calls.discard(call.request.id)
            if not self._calls:
                self.set_status("Thinking")
        if was_asking is not bool(self._asking):
            self._update_head()

    def close(self, answer: Answer) -> None:
        """Displays the end of the run, with or without an answer."""
        done: State = "success" if answer.ok else "cancelled"
        self._usage = answer.usage
        why = "Done" if answer.ok else one_line(answer.stopped[:1].upper() + answer.stopped[1:], 200)
        self._end(done, "Done" if answer.ok else "Stopped", why, "")

    def fail(self, problem: str) -> None:
        """Displays a failure.  If the run made no request yet, the reason is the status."""
        if self._usage.requests:
            self._end("error", "Failed", "Failed", seen(problem, keep="\t\n"))
        else:
            self._end("error", "Failed", one_line(problem), "")

    def _end(self, state: State, status: str, why: str, problem: str) -> None:
        self._texts.end()
        if self._head.is_live:
            self._head.finish(bundle(RunHead(run=self._run, model=self._model, state=state, status=status)))
        figures = final_figures(self._usage, self._seconds) if self._usage.requests else ()
        changes = self._changes(frozenset(self._made)) if self._made else ()
        calls = " ".join(change.id for change in reversed(changes))  # the last is undone first
        undo = CardAction(verb="undo", id=calls, label="undo all", magic=f"%tools undo {calls}")
        foot = RunFoot(
            state=state,
            status=why,
            figures=figures,
            problem=problem,
            files=_changed_files(changes)[:MAX_FILES],
            undo=undo if calls else None,
            actions=self._actions() if self._step else (),
        )
        if isinstance(self._target.screen, GroupedScreen):
            self._target.screen.flush()
        _new_display(self._frame).finish(bundle(foot))

    @property
    def _seconds(self) -> float:
        return _now() - self._since

    def _update_head(self) -> None:
        self._head.update(self._draw_head)

    def _draw_head(self) -> Bundle:
        self._head.update(self._draw_head, after=WAITING_TICK if self._asking else TICK)
        return bundle(
            RunHead(
                run=self._run,
                model=self._model,
                state="awaiting_approval" if self._asking else "executing",
                status="Needs your answer" if self._asking else self._status,
                figures=running_figures(self._step, self._limits, self._usage, self._seconds),
                can_stop=self._status != STOPPING,
            )
        )


def _changed_files(changes: Sequence[FileChange]) -> tuple[RunFile, ...]:
    """Returns each changed file once, with the sums of its lines."""
    files: dict[str, RunFile] = {}
    for file in (file for change in changes for file in change.files):
        before = files.get(file.path, RunFile(path=file.path, added=0, removed=0))
        files[file.path] = RunFile(
            path=file.path, added=_sum(before.added, file.added), removed=_sum(before.removed, file.removed)
        )
    return tuple(files.values())


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
