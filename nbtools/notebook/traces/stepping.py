"""Runs recorded calls one after the other in one copy: up to the first difference, then step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nbtools.core.errors import TraceError
from nbtools.notebook.live_display import LiveDisplay
from nbtools.notebook.traces.rerun import Rerun
from nbtools.notebook.traces.stepping_html import steps_html, steps_text
from nbtools.replay.replayed import Replayed, Skipped, replayed_card, skipped_card

if TYPE_CHECKING:
    from pathlib import Path

    from nbtools.notebook.frontend import Kernel, Terminal
    from nbtools.replay.canonical_call import CanonicalCall
    from nbtools.traces.model import Call


@dataclass(frozen=True, slots=True)
class NumberedCall:
    """A call and its step number."""

    number: str
    call: Call


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
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of ``meaning``; empty where that raises."""
        try:
            return self.meaning.arguments
        except TraceError:
            return {}

    @property
    def cwd(self) -> str:
        """The session's folder as recorded."""
        return self._rerun.ground.cwd

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
        number, display, edited = (
            self.calls[max(0, len(self.done) - 1)].number,
            self._new_display(),
            {**(arguments or {}), **named},
        )
        result = self._rerun.perform(lambda call_id: self._steps.again(edited, id=call_id), display)
        self._show(result, display, number)
        self._remember(result)
        return result

    def skip(self, why: str = "skipped by you") -> Skipped:
        """Skips the next call.  Raises ``TraceError`` if none is left."""
        number = self._next_call().number
        skipped = self._steps.skip(why)
        self._new_display().show_card(skipped_card(skipped, cwd=self.cwd, number=number))
        self._remember(skipped)
        return skipped

    def run(self, overview: LiveDisplay | None = None) -> Replayed | None:
        """Continues to the first result that differs from the recorded one and returns it;
        None if all are the same.
        """
        self._next_call()
        overview, display = overview or self._new_display(), self._new_display()
        overview.update(self.bundle)
        try:
            different = self._run(overview, display)
        finally:
            overview.finish(self.bundle())
        self._remember(different)
        return different

    def close(self) -> None:
        """Removes the copy.  The results stay available.  May be called more than once."""
        self.is_open = False
        self._rerun.close()

    def bundle(self) -> dict[str, Any]:
        return {"text/html": steps_html(self), "text/plain": steps_text(self)}

    def _run(self, overview: LiveDisplay, display: LiveDisplay) -> Replayed | None:
        while self._steps.next is not None:
            result = self._step(display, {})
            if isinstance(result, Replayed) and not result.same:
                return result
            overview.update(self.bundle)
        return None

    def _step(self, display: LiveDisplay, arguments: Mapping[str, Any]) -> Replayed | Skipped:
        number = self._next_call().number
        result = self._rerun.perform(lambda call_id: self._steps.step(arguments, id=call_id), display)
        self._show(result, display, number)
        return result

    def _show(self, result: Replayed | Skipped, display: LiveDisplay, number: str) -> None:
        if isinstance(result, Skipped):
            display.show_card(skipped_card(result, cwd=self.cwd, number=number))
            return
        display.show_card(replayed_card(result, number=number, hint="" if result.same else self._hint()))

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
