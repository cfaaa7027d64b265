"""Writes the log of an agent: its messages, its model requests,
and the calls that it makes in its session.
"""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Literal, TypeAlias

from nbtools.core.call import FINISHED, CallEvent, OutputEvent
from nbtools.traces.recording.log_records import LONGEST_MESSAGE, EndRecord, MessageRecord, RequestRecord
from nbtools.traces.recording.session_logs import SessionLogRecorder

Kind: TypeAlias = Literal["user", "assistant_text", "thinking"]


class AgentLog(SessionLogRecorder):
    """Writes an agent's log into the workspace's session logs, from its first message on.

    ``calls_of`` is the session in which the agent makes its calls.
    """

    def __init__(self, workspace: Path, calls_of: str, dialect: str, limit: int) -> None:
        super().__init__(workspace, secrets.token_hex(3), dialect, limit, calls_of=calls_of)
        self._expected: set[str] = set()

    def expect(self, call_id: str) -> None:
        """Registers a call that the agent is about to make; calls of others are not logged."""
        self._expected.add(call_id)

    def notice(self, event: CallEvent) -> None:
        if isinstance(event, OutputEvent) or event.request.id not in self._expected:
            return
        super().notice(event)
        if isinstance(event, FINISHED):
            self._expected.discard(event.request.id)

    def write_message(self, kind: Kind, text: str, step: int = 0) -> None:
        """Writes a message: a prompt, the model's text, or its thinking."""
        redacted = self._encoder.redact(text)
        size = len(redacted) if len(redacted) > LONGEST_MESSAGE else 0
        number, at = self._next_number(), time.time()
        self._write_record(
            lambda: MessageRecord(
                session=self.session,
                number=number,
                at=at,
                kind=kind,
                text=redacted[:LONGEST_MESSAGE],
                step=step,
                size=size,
            )
        )

    def write_request(
        self,
        step: int,
        model: str,
        *,
        input: int,  # noqa: A002 - the name of the record's field
        cache_read: int,
        cache_write: int,
        output: int,
        cost: float | None,
    ) -> None:
        """Writes the token usage of an answered model request."""
        record = RequestRecord(
            session=self.session,
            at=time.time(),
            step=step,
            model=model,
            input=input,
            cache_read=cache_read,
            cache_write=cache_write,
            output=output,
            cost=cost,
        )
        self._write_record(lambda: record)

    def write_end(self, why: str, *, failed: bool = False) -> None:
        """Writes that a run ended before the model's final answer."""
        number, at = self._next_number(), time.time()
        self._write_record(
            lambda: EndRecord(
                session=self.session, number=number, at=at, why=self._encoder.redact(why), failed=failed
            )
        )
