"""The log that a session keeps of itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.core.call import CallEvent, Observer

if TYPE_CHECKING:
    from nbtools.traces.kept import KeptRecorder

Observe = Callable[[Observer], Callable[[], None]]


class Logbook:
    """A log is begun with the first call while ``keep`` says so; told not to and told again, with another one."""

    def __init__(self, root: Path, session: str, observe: Observe) -> None:
        self._root = root
        self._session = session
        self._observe = observe
        self._log: _Log | None = None
        self._forget: Callable[[], None] = _nothing

    @property
    def path(self) -> Path | None:
        """None where none is kept."""
        return None if self._log is None else self._log.recorder.path

    def keep(self, dialect: str, limit: int) -> None:
        """``limit``: the bytes that all logs of this workspace may have together."""
        if self._log is None:
            self._log = _Log(self._root, self._session, dialect, limit)
            self._forget = self._observe(self._log)

    def stop(self) -> None:
        self.close()
        self._log = None

    def close(self) -> None:
        """Nothing is written any more; ``path`` stays."""
        if self._log is not None:
            self._forget()
            self._log.close()


class _Log:
    """Loads what writes it with the first call: that is not small, and many a session makes none."""

    def __init__(self, root: Path, session: str, dialect: str, limit: int) -> None:
        self._made_of = root, session, dialect, limit

    def notice(self, event: CallEvent) -> None:
        self.recorder.notice(event)

    def close(self) -> None:
        if "recorder" in self.__dict__:
            self.recorder.close()

    @cached_property
    def recorder(self) -> KeptRecorder:
        from nbtools.traces.kept import KeptRecorder  # noqa: PLC0415 - as said above

        return KeptRecorder(*self._made_of)


def _nothing() -> None:
    return None
