"""The journal of a workflow: which of its agents began and what each gave back.  Their calls are in files of their own.

A line is ``{"type": "started" | "result", "key": …, "agentId": …, "result": …}``, without a time: the runtime reads it to resume.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from nbtools.traces.loose import string, text_of
from nbtools.traces.model import PREVIEW, Event, Problem
from nbtools.traces.source import Source


class _Entry(Struct, rename="camel", gc=False):
    type: Any = None
    agent_id: Any = None
    result: Any = None


_decode = msgspec.json.Decoder(_Entry).decode


def told(source: Source, file: int, main: str, sessions: Collection[str], number: Callable[[], int]) -> Iterator[Event | Problem]:
    """An event an entry, in the session of the agent that it is about; in the ``main`` one where that has no file."""
    for item in source.lines(_decode, file):
        if isinstance(item, Problem):
            yield item
            continue
        ref, entry = item
        agent, text = f"agent-{string(entry.agent_id)}", "" if entry.result is None else text_of(entry.result)
        yield Event(
            session=agent if agent in sessions else main,
            seq=number(),
            kind="system",
            text=text[:PREVIEW],
            size=len(text),
            type=f"workflow/{string(entry.type) or 'entry'}",
            ref=ref,
        )
