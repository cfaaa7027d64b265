"""Recorded calls that run again from a cell: in one copy, one after the other, up to the first difference,
with a card while they run, approval requests as in the notebook, and cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from nbtools.core.background import run_sync
from nbtools.core.errors import TraceError
from nbtools.notebook.call_bridge import Bridge
from nbtools.notebook.copy_cards import show_calls
from nbtools.notebook.live_display import LiveDisplay
from nbtools.policy.modes import Mode
from nbtools.replay.copy import Copy, make_copy
from nbtools.replay.replay import open_session
from nbtools.replay.replayed import Replayed, Skipped, replayed_card, skipped_card
from nbtools.replay.steps import Steps
from nbtools.replay.steps_overview import NumberedCall, StepsOverview
from nbtools.replay.working_directory import WorkingDirectory
from nbtools.traces.model import Call

if TYPE_CHECKING:
    from pathlib import Path

    from nbtools.notebook.frontend import Kernel, Terminal
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.replay.canonical_call import CanonicalCall

T = TypeVar("T")


class Rerun:
    """A copy of the folder of recorded calls, and a session in it.

    ``close`` removes both; so does the end of the notebook's runtime or of the kernel.
    """

    def __init__(self, runtime: NotebookRuntime, copy: Copy, ground: WorkingDirectory) -> None:
        self.copy = copy
        self.ground = ground.in_copy(copy)
        self._runtime = runtime
        own = runtime.session
        # edits run in each mode: the copy is temporary
        mode = own.mode if own.mode is Mode.YOLO else Mode.AUTO_EDIT
        session = open_session(copy, replace(own.policy, mode=mode), None)
        session.layers = session.store.layers()
        for rule in own.grants:
            session.allow(rule)
        self._bridge = Bridge(session.sync(), show_calls(runtime, session), runtime.frontend)
        runtime.add_source(self)

    def steps(self, calls: Iterable[Call]) -> Steps:
        return Steps(calls, self.ground, self.copy, self._bridge.blocking.session)

    def perform(self, work: Callable[[str], Coroutine[Any, Any, T]], display: LiveDisplay) -> T:
        """Runs ``work``, which makes a call with the given id, shown at ``display``, and waits.
        An interrupt cancels it and propagates.
        """
        return self._bridge.perform(work, display=display)

    def work(self) -> None:
        """Returns None: its calls are replayed one at a time, each in its own card."""

    def cancel(self, call_id: str) -> object:
        return self._bridge.cancel(call_id)

    def leave(self) -> None:
        """Does nothing: the copy is independent of the notebook's workspace."""

    def close(self) -> None:
        """Removes the session and the copy.  May be called more than once."""
        if self in self._runtime.call_sources:
            self._runtime.remove_source(self)
            self._bridge.blocking.close()
        self.copy.remove()


def open_rerun(runtime: NotebookRuntime, ground: WorkingDirectory, folder: Path, commit: str) -> Rerun:
    """Copies ``folder``.  Raises ``TraceError`` if it cannot be copied."""
    copy = run_sync(make_copy(folder, commit, ground.commit))
    try:
        return Rerun(runtime, copy, ground)
    except BaseException:
        copy.remove()
        raise


class SteppedReplay:
    """``steps = %trace LOG --replay 46-52``: the result of each call so far, and the ``next`` one.

    ``run()`` continues to the first result that differs from the recorded one, ``step()`` runs one call,
    ``step(new="…")`` with other arguments (``meaning`` has the tool and its arguments), ``again(new="…")``
    repeats the last one, ``skip()`` skips the next one.  ``root`` is the copy, to inspect and to edit;
    ``close()`` deletes it, as does the end of the kernel.  All wait, as ``tools.…`` do.
    """

    def __init__(
        self,
        rerun: Rerun,
        calls: Sequence[NumberedCall],
        frontend: Kernel | Terminal,
        remember: Callable[[object], None] = lambda _: None,
    ) -> None:
        self.calls = tuple(calls)
        self._rerun = rerun
        self._steps = rerun.steps(one.call for one in calls)
        self._frontend = frontend
        self._remember = remember
        self.is_open = True

    @property
    def done(self) -> tuple[Replayed | Skipped, ...]:
        """The results so far, in order."""
        return tuple(self._steps.done)

    @property
    def next(self) -> NumberedCall | None:
        """The call that runs next, with its step number."""
        return self.calls[len(self._steps.done)] if self._steps.next is not None else None

    @property
    def meaning(self) -> CanonicalCall:
        """The tool and arguments that ``step()`` would run.
        Raises ``TraceError`` if the next call has no counterpart, or none is left.
        """
        return self._steps.meaning

    @property
    def root(self) -> Path:
        """The copy of the session's folder."""
        return self._rerun.copy.root

    @property
    def basis(self) -> str:
        """The state of the copy at the beginning: a commit, or the current files."""
        return self._rerun.copy.basis

    def step(self, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Replayed | Skipped:
        """Runs the next call, with these arguments overriding its own; shows its card and returns the result.
        Raises ``TraceError``.
        """
        result = self._step(self._new_display(), {**(arguments or {}), **named})
        self._remember(result)
        return result

    def again(self, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Replayed | Skipped:
        """Runs the last call once more, with these arguments overriding its own,
        on the current state of the copy.

        Raises ``TraceError``.
        """
        self._must_be_open()
        number = self.calls[max(0, len(self.done) - 1)].number
        edited = {**(arguments or {}), **named}
        result = self._perform(
            lambda call_id: self._steps.again(edited, id=call_id), self._new_display(), number
        )
        self._remember(result)
        return result

    def skip(self, why: str = "skipped by you") -> Skipped:
        """Skips the next call.  Raises ``TraceError`` if none is left."""
        number = self._next_call().number
        skipped = self._steps.skip(why)
        self._new_display().show_card(skipped_card(skipped, cwd=self._steps.cwd, number=number))
        self._remember(skipped)
        return skipped

    def run(self, overview: LiveDisplay | None = None) -> Replayed | None:
        """Continues to the first result that differs from the recorded one and returns it;
        None if all are the same.
        """
        self._next_call()
        overview, display = overview or self._new_display(), self._new_display()
        overview.update(self.bundle)
        different = None
        try:
            while different is None and self._steps.next is not None:
                result = self._step(display, {})
                if isinstance(result, Replayed) and not result.same:
                    different = result
                else:
                    overview.update(self.bundle)
        finally:
            overview.finish(self.bundle())
        self._remember(different)
        return different

    def close(self) -> None:
        """Removes the copy.  The results stay available.  May be called more than once."""
        self.is_open = False
        self._rerun.close()

    def bundle(self) -> dict[str, Any]:
        return StepsOverview(self.calls, self._steps, self.is_open).bundle()

    def _step(self, display: LiveDisplay, arguments: Mapping[str, Any]) -> Replayed | Skipped:
        number = self._next_call().number
        return self._perform(lambda call_id: self._steps.step(arguments, id=call_id), display, number)

    def _perform(
        self,
        work: Callable[[str], Coroutine[Any, Any, Replayed | Skipped]],
        display: LiveDisplay,
        number: str,
    ) -> Replayed | Skipped:
        """Runs a call and shows its card."""
        result = self._rerun.perform(work, display)
        if isinstance(result, Skipped):
            card = skipped_card(result, cwd=self._steps.cwd, number=number)
        else:
            card = replayed_card(result, number=number, hint="" if result.same else self._hint())
        display.show_card(card)
        return result

    def _hint(self) -> str:
        ways = "steps.again(…) runs it again with other arguments, steps.root is the folder of the copy"
        return f"{ways}, steps.run() continues." if self.next else f"{ways}."

    def _new_display(self) -> LiveDisplay:
        return LiveDisplay(self._frontend.display_target(None))

    def _must_be_open(self) -> None:
        if not self.is_open:
            raise TraceError(
                "these steps are closed and their copy is deleted; start again with %trace LOG --replay"
                " FIRST-LAST."
            )

    def _next_call(self) -> NumberedCall:
        self._must_be_open()
        if self.next is None:
            raise TraceError("all calls of the range have been run; choose another range.")
        return self.next

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.bundle()

    def __repr__(self) -> str:
        return (
            f"<Steps {self.calls[0].number} to {self.calls[-1].number}: {len(self.done)} of {len(self.calls)}"
            " done>"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
