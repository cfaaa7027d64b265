"""Test doubles: a scripted confirmer, a recording observer and a temporary workspace."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nbtools.core.call import CallEvent, OutputEvent, ToolCall
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload

ONCE = Answer(ToolConfirmationOutcome.PROCEED_ONCE, by="the script")
ALWAYS = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, by="the script")
CANCEL = Answer(ToolConfirmationOutcome.CANCEL, by="the script")


def modify(new_content: str) -> Answer:
    """Returns the answer of a person who edits the proposed text."""
    return Answer(
        ToolConfirmationOutcome.MODIFY_WITH_EDITOR,
        ToolConfirmationPayload(new_content=new_content),
        by="the script",
    )


def answers(*texts: str) -> Answer:
    """Returns the answer to an ``ask`` call: one text per question, in their order."""
    return Answer(
        ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=texts), by="the script"
    )


class ScriptedConfirmer:
    """Gives the scripted answers in order and records the questions in ``asked``.

    Raises ``AssertionError`` when there are more questions than answers.
    """

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.asked: list[Confirmation] = []

    async def ask(self, confirmation: Confirmation) -> Answer:
        self.asked.append(confirmation)
        if not self._answers:
            raise AssertionError(f"there is no scripted answer left for: {confirmation.details.title}")
        return self._answers.pop(0)


class RecordingObserver:
    """Records every event, in order."""

    def __init__(self) -> None:
        self.events: list[CallEvent] = []

    def notice(self, event: CallEvent) -> None:
        self.events.append(event)

    @property
    def calls(self) -> list[ToolCall]:
        """The recorded states of calls, without output events."""
        return [event for event in self.events if not isinstance(event, OutputEvent)]

    def states(self, call_id: str | None = None) -> list[str]:
        """Returns the names of the states of one call, or of all calls."""
        return [call.state for call in self.calls if call_id in (None, call.request.id)]


@contextmanager
def temporary_workspace(files: Mapping[str, str | bytes] | None = None) -> Iterator[Path]:
    """Creates a folder with ``files`` (path to content) and deletes it at the end."""
    with tempfile.TemporaryDirectory(prefix="nbtools-") as folder:
        root = Path(folder).resolve()
        for name, content in (files or {}).items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        yield root
