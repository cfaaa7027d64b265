"""A model that plays a recorded session:
it says and calls what was recorded, and the tools really run, in a copy of the project.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from nbtools.agents.events import AgentEvent, Remark
from nbtools.agents.playback import PREFIX, Playback
from nbtools.core.errors import AgentError, ErrorCode, ToolFailure, TraceError
from nbtools.lesson.place import NotRun, Place, RecordedResultTool, ToRun
from nbtools.lesson.recording import Recording, Step, Words, read_recording
from nbtools.replay import Copy, Replayed, WorkingDirectory
from nbtools.replay.copy import make_copy
from nbtools.replay.working_directory import folder_to_copy
from nbtools.session import Session

if TYPE_CHECKING:
    from nbtools.lesson.pydantic_ai_playback import RecordedReplies, RecordedToolset

Equip: TypeAlias = Callable[[Session, Copy], object]
CONTINUE = "Continue."
"""The prompt of a run that goes on in the middle of a turn, if nothing is typed."""


class RecordedModel(Playback):
    """``Agent(session, RecordedModel("session.jsonl",
    project="shop"))`` plays a log of any agent that nbtools reads.

    Calls run with nbtools' tools under the session's rules and approvals, in a temporary copy of ``project``
    (by default of the recorded folder) at ``commit``, else at the recorded commit if the repository has it,
    else as it is.  ``cwd`` is the session's folder if the log does not record it; ``session`` chooses one of
    several.  ``pace`` is the number of seconds before each step, or ``step``: a run ends after each call.  A
    run also ends where a result differs from the recorded one; the next run goes on.  ``root`` is the copy.
    """

    def __init__(
        self,
        log: str | Path,
        *,
        project: str | Path | None = None,
        commit: str = "",
        cwd: str = "",
        session: str = "",
        pace: float | str = 0.0,
    ) -> None:
        self.log = Path(log).expanduser()
        self.name = f"{PREFIX}{self.log.name}"
        self.project = project
        self.pace = pace
        self.equip: Equip = lambda *_: None
        self._commit, self._cwd, self._session = commit, cwd, session
        self._recording: Recording | None = None
        self._place: Place | None = None
        self._announced = self._rewound = False
        self._turn = self._step = 0
        self._heard: Callable[[AgentEvent], None] = lambda _: None
        self.pending: ToRun | NotRun | None = None
        """The call that the model has made and that has not finished."""

    @property
    def is_over(self) -> bool:
        return self._recording is not None and not self._rewound and self._turn >= len(self._recording.turns)

    @property
    def root(self) -> Path | None:
        """The copy in which the calls run; None before the first run."""
        return self._place.copy.root if self._place else None

    @property
    def place(self) -> Place:
        if self._place is None:
            raise AgentError("The recording is not being played.")
        return self._place

    async def open(self, session: Session) -> Session:
        if self._rewound:
            await self.close()
        if self._place is not None:
            self._place.follow(session)
            return self._place.session
        try:
            return await self._open(session)
        except TraceError as error:
            raise AgentError(f"The model {self.name} cannot be played: {error}") from error

    async def _open(self, own: Session) -> Session:
        recording = self._recording = await asyncio.to_thread(
            read_recording, self.log, self._session, self._cwd
        )
        if not recording.calls:
            return own
        folder = await asyncio.to_thread(self._folder, recording.ground)
        copy = await make_copy(folder, self._commit, recording.ground.commit)
        weakref.finalize(self, copy.remove)
        self._place = Place(own, copy, recording.ground)
        self._place.session.tools.register(RecordedResultTool(self._not_run), replace=True)
        self.equip(self._place.session, copy)
        return self._place.session

    def _folder(self, ground: WorkingDirectory) -> Path:
        try:
            return folder_to_copy(ground, self.project)
        except TraceError as error:
            raise TraceError(
                f"{error} In a notebook: agent.project = FOLDER; in code: RecordedModel(…, project=FOLDER)."
            ) from error

    def begin(self, prompt: str, heard: Callable[[AgentEvent], None]) -> str:
        recording = self._recording
        if recording is None:
            raise AgentError("The recording has not been opened.")
        if self.is_over:
            raise AgentError("The recording has ended: every prompt was played. agent.new() starts it again.")
        self._heard = heard
        if not self._announced:
            self._announced = True
            heard(Remark(self._announcement(recording)))
        if self._step:
            return prompt.strip() or CONTINUE
        recorded = recording.turns[self._turn].prompt
        number = f"prompt {self._turn + 1} of {len(recording.turns)}"
        if not recorded:
            return prompt.strip() or CONTINUE
        if prompt.strip() == recorded.strip():
            heard(Remark(f"This is {number} of the recording."))
        elif prompt.strip():
            heard(Remark(f"A recorded model cannot read your text. It plays {number}:\n{recorded}"))
        else:
            heard(Remark(f"Plays {number}:\n{recorded}"))
        return recorded

    def _announcement(self, recording: Recording) -> str:
        agent = recording.session.agent or recording.session.format
        calls = f"{recording.calls} call{'' if recording.calls == 1 else 's'}"
        where = (
            f" The calls run in a copy of {self._place.copy.basis}: {self._place.copy.root}"
            if self._place
            else ""
        )
        return f"Plays {self.log.name}, a session of {agent} with {calls}. No model is asked.{where}"

    def model(self) -> RecordedReplies:
        from nbtools.lesson.pydantic_ai_playback import (  # noqa: PLC0415 - pydantic-ai takes seconds to load
            RecordedReplies,
        )

        return RecordedReplies(self)

    def toolset(self, session: Session, on_call: Callable[[str, str], None]) -> RecordedToolset:
        from nbtools.lesson.pydantic_ai_playback import RecordedToolset  # noqa: PLC0415 - as above

        return RecordedToolset(session, self, on_call)

    async def advance(self) -> tuple[Sequence[Words], ToRun | NotRun | None]:
        """Waits for the pace, and returns what the model says next, and its call;
        None where it calls nothing, which ends its turn.
        """
        if not isinstance(self.pace, str) and self.pace > 0:
            await asyncio.sleep(self.pace)
        step = self._next()
        words = () if self.pending else step.words  # an interrupted call is made again, without its words
        if step.call is None:
            self._turn, self._step, self.pending = self._turn + 1, 0, None
            return words, None
        call = step.call
        try:
            self.pending = await asyncio.to_thread(lambda: self.place.meaning_of(call, call.detail))
        except TraceError as error:
            raise AgentError(f"Call {step.number} of {self.name} cannot be read: {error}") from error
        return words, self.pending

    def _next(self) -> Step:
        if self._recording is None:
            raise AgentError("The recording has not been opened.")
        return self._recording.turns[self._turn].steps[self._step]

    def _not_run(self) -> NotRun:
        if not isinstance(self.pending, NotRun):
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, "No recorded result is waiting to be shown.")
        return self.pending

    def finish(self, replayed: Replayed | None) -> str:
        """Ends the call that the model has made; ``replayed`` is None where nothing was run.
        Returns why the run stops here, or empty.
        """
        number, self.pending = self._next().number, None
        self._step += 1
        if replayed is None or replayed.same:
            return f"call {number} is done" if self.pace == "step" else ""
        error = replayed.result.error
        difference = _DIFFERENCES.get(
            error.code if error else None, "has another result than the recorded one"
        )
        self._heard(Remark(f"Call {number} {difference}.\n{replayed}", about=replayed))
        return f"call {number} {difference}"

    def rewind(self) -> None:
        self._rewound = True

    async def close(self) -> None:
        place, self._place = self._place, None
        self._rewound = self._announced = False
        self._turn = self._step = 0
        self._recording, self.pending = None, None
        if place is not None:
            await place.session.close()
            await asyncio.to_thread(place.copy.remove)


_DIFFERENCES: dict[ErrorCode | None, str] = {
    ErrorCode.CONFIRMATION_DENIED: "was denied; the recording goes on as if it had run",
    ErrorCode.CONFIRMATION_REQUIRED: (
        "needs an approval, and nobody can answer; the recording goes on as if it had run"
    ),
    ErrorCode.POLICY_VIOLATION: "is denied by a rule; the recording goes on as if it had run",
}
