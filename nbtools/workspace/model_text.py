"""Texts that the session's model writes for a tool: in bounded time, and never shown what it must not see."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.model import HOW_TO_SET, Turn, Wanted, Written
from nbtools.core.redact import Redactor
from nbtools.workspace.commands.environment import secret_variables
from nbtools.workspace.paths import shown
from nbtools.workspace.workspace import Workspace


async def written(workspace: Workspace, wanted: Wanted, what: str, seconds: float) -> Written:
    """What the model writes, within ``seconds``; secrets in what it is told are marks, unless the settings say otherwise.

    Raises ``ToolFailure`` where there is no model, naming ``what`` needs one, or where it does not answer.
    """
    model = workspace.model
    if model is None:
        raise ToolFailure(ErrorCode.EXECUTION_FAILED, f"{what} needs a model to write it, and none is set. {HOW_TO_SET}")
    try:
        async with asyncio.timeout(seconds):
            return await model.write(_redacted(wanted) if workspace.settings.redact else wanted)
    except TimeoutError:
        raise ToolFailure(ErrorCode.TIMEOUT, f"The model {model.name} wrote nothing within {seconds:g} seconds.") from None


def may_show(workspace: Workspace, path: Path) -> None:
    """Raises ``ToolFailure`` (``policy_violation``) for a file that nobody may read."""
    name = workspace.relative(path)
    if workspace.hides(name):
        raise ToolFailure(ErrorCode.POLICY_VIOLATION, f"A rule denies reading {shown(name)}, so no model is shown it. Nothing was changed.")


def _redacted(wanted: Wanted) -> Wanted:
    redactor = Redactor.of(secret_variables(os.environ))
    return replace(wanted, turns=tuple(_told(turn, redactor) for turn in wanted.turns))


def _told(turn: Turn, redactor: Redactor) -> Turn:
    return Turn(turn.role, redactor.text(turn.content)) if isinstance(turn.content, str) else turn
