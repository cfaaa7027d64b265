"""Computes the overviews and the breakdown of a long log in a thread, while pages get other answers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock

from nbtools.core.background import background_thread
from nbtools.core.browser import IN_BROWSER
from nbtools.traces.explorer.model import TracePending
from nbtools.traces.explorer.usage.model import StripTask, TraceStrip, TraceUsage, UsageTask

SHORT = 5_000
"""Lines of a log up to which an answer is computed at once."""
_WAIT = 0.02
"""Seconds that an answer waits for the thread."""
_THREAD = background_thread("nbtools-usage")


class UsageAnswers:
    """The answers of a log of ``size`` lines, each computed once."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: dict[StripTask | UsageTask, Future[TraceStrip | TraceUsage]] = {}
        self._lock = Lock()

    def prepare(
        self, task: StripTask, compute: Callable[[StripTask | UsageTask], TraceStrip | TraceUsage]
    ) -> None:
        """Begins to compute the answer of a long log, before it is requested."""
        if self._size > SHORT and not IN_BROWSER:  # there, the page would wait for it
            with self._lock:
                if task not in self._answers:
                    self._answers[task] = _THREAD.submit(compute, task)

    def answer(
        self, task: StripTask | UsageTask, compute: Callable[[StripTask | UsageTask], TraceStrip | TraceUsage]
    ) -> TraceStrip | TraceUsage | TracePending:
        """Returns what ``compute`` returns for the task.
        Raises ``TraceError``, in which case it is computed again the next time.
        """
        with self._lock:
            answer = self._answers.get(task)
            if answer is None:
                answer = self._answers[task] = _THREAD.submit(compute, task)
        try:
            return answer.result(None if self._size <= SHORT else _WAIT)
        except TimeoutError:
            return TracePending()
        except Exception:
            self._answers.pop(task, None)
            raise
