"""The cell that makes a recorded call again.

Which tool a recorded call means, and how a cell calls it, is known to the other products:
``nbtools.notebook`` supplies it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nbtools.core.extension_points import extension_or_none
from nbtools.traces.model import Call, Detail, Session


@dataclass(frozen=True, slots=True)
class RunnableCall:
    """``source`` is a cell that makes the call in the notebook's workspace; empty if it cannot be made.

    ``obstacle`` says why it cannot be run again in a copy of the session's folder; empty if it can.
    """

    source: str = ""
    obstacle: str = ""


def runnable_call(call: Call, detail: Detail, sessions: Mapping[str, Session] | None) -> RunnableCall:
    """Returns how a call is made again; ``detail`` is its detail, ``sessions`` are those of its log by id,
    if they are known.
    """
    make = extension_or_none("traces.runnable_call")
    if make is None:
        return RunnableCall(obstacle="This installation of nbtools has no tools to run it again.")
    found: RunnableCall = make(call, detail, sessions)
    return found
