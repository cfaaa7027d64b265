"""Looking for text in a whole log while the index of it is still being made, in a thread of its own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event as Signal
from threading import Lock, Thread

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.timeline import Timeline
from nbtools.traces import text_index
from nbtools.traces.model import Call, Event
from nbtools.traces.search import Searcher
from nbtools.traces.trace import Trace

_PATIENCE = 0.02
"""Seconds that an answer waits for the thread: small logs are done by then."""
_PAGE = 50
"""Texts that are indexed at once: as long as that takes, a search waits."""
_LOOK = 50
"""Texts that are looked into at once."""


@dataclass(frozen=True, slots=True)
class Found:
    """Places of lines, in order; ``indexed`` is how far they were looked for, in hundredths."""

    lines: Sequence[int]
    indexed: int


class Search:
    """Over the lines of ``trace``.  Nothing is indexed before something is looked for."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._trace = trace
        self._lines = lines
        self._lock = Lock()
        self._thread: Thread | None = None
        self._asked: Asked | None = None
        self._index: _Index | None = None
        self._problem = ""

    def find(self, text: str) -> Found:
        """The lines in whose text it stands, by the rules of ``Trace.search``; all of them once ``indexed`` is 100.

        Raises ``TraceError`` for a text that cannot be searched for, and where the log has changed since it was read.
        """
        asked = self._question(text)
        if not asked.done:
            self._work()
            asked.finished.wait(_PATIENCE)
        if self._problem or asked.problem:
            raise TraceError(self._problem or asked.problem)
        return self._answer(asked)

    def text_at(self, line: int) -> str:
        """All that is searched of a line, read now; empty where it has no text."""
        index = self._index
        number = index.numbers.get(line) if index else None
        return "" if index is None or number is None else index.searcher.text(number)

    def _answer(self, asked: Asked) -> Found:
        index = self._index
        if index is None:
            return Found((), 0)
        grown = index.searcher.grown
        if grown < 1:
            return Found(sorted({*index.titles.having(asked.text), *index.placed(asked.so_far(index.searcher))}), int(99 * grown))
        done = asked.done  # before what was found is looked at
        return Found(index.placed(asked.found), 100 if done else 99)

    def _question(self, text: str) -> Asked:
        with self._lock:
            if self._asked is None or self._asked.text != text:
                self._asked = Asked(text)
            return self._asked

    def _work(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="nbtools-search", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        try:
            self._index = self._index or _Index(self._trace, self._lines)
            while self._index.searcher.grow(_PAGE):
                pass
        except TraceError as error:
            self._problem = str(error)
            return
        while (asked := self._asked) is not None and not asked.done:
            asked.look(self._index.searcher)


class _Index:
    """What has to be made once before anything can be found, and which line each number of the index is."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self.titles = Titles(lines)
        self.searcher = trace.searcher
        self._places = [lines.places.get(id(row), -1) for row in self.searcher.rows]
        self.numbers = {line: number for number, line in enumerate(self._places) if line >= 0}

    def placed(self, numbers: Sequence[int]) -> list[int]:
        """Lines in order; a row that has no line, such as what a system said, is passed over."""
        return sorted(line for number in numbers if (line := self._places[number]) >= 0)


class Asked:
    """A text that is looked for: its answer, as far as it is known.  Where the index is not sure the texts themselves are read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[int] = []
        self.finished = Signal()
        self.problem = ""
        self._steps: Iterator[None] | None = None

    @property
    def done(self) -> bool:
        return self.finished.is_set()

    def so_far(self, searcher: Searcher) -> list[int]:
        """What an index that is not complete yet has found and is sure of."""
        sure = (question for question in text_index.questions(self.text) if not question.piece)
        return [number for question in sure for number in searcher.numbers(question)]

    def look(self, searcher: Searcher) -> None:
        """A bit further; the index is complete."""
        self._steps = self._steps or self._looking(searcher)
        try:
            if next(self._steps, self) is self:
                self.finished.set()
        except TraceError as error:
            self.problem = str(error)
            self.finished.set()

    def _looking(self, searcher: Searcher) -> Iterator[None]:
        for question in text_index.questions(self.text):
            numbers = searcher.numbers(question)
            if not question.piece:
                self.found = numbers
            for start in range(0, len(numbers) if question.piece else 0, _LOOK):
                held = [number for number in numbers[start : start + _LOOK] if question.holds(searcher.text(number))]
                self.found = [*self.found, *held] if held else self.found
                yield
            if self.found:
                return


class Titles:
    """What rows say of themselves, as one text."""

    def __init__(self, lines: Timeline) -> None:
        texts = [_title(row).lower() for row in lines.rows]
        self._text = "\n".join(texts)
        self._ends: list[int] = []
        end = 0
        for text in texts:
            end += len(text) + 1
            self._ends.append(end)

    def having(self, text: str) -> list[int]:
        wanted = text.strip().strip('"').lower()
        found: list[int] = []
        at = self._text.find(wanted) if wanted else -1
        while at >= 0:
            line = bisect_right(self._ends, at)
            found.append(line)
            at = self._text.find(wanted, self._ends[line])
        return found


def _title(row: object) -> str:
    match row:
        case Call():
            return f"{row.name} {row.subject}"
        case Event():
            return row.text
        case _:
            return ""
