"""The one door for changes: what is done to the workspace goes through here, and is in the journal before it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace import transaction
from nbtools.workspace.journal.journal import Draft, Journal
from nbtools.workspace.journal.recording import recorded
from nbtools.workspace.journal.undoing import how_far
from nbtools.workspace.steps import Move, RemoveTree, Step, Write


def make(journal: Journal, step: Step) -> tuple[Path, ...]:
    """Makes one change; the folders made for it.  Raises ``ToolFailure``, and all is as it was then."""
    if not journal.enabled:
        return _made(step)
    step = _keeping(journal, step)
    entry = journal.intend(recorded(journal, [step]))
    try:
        folders = _made(step)
    except BaseException as error:
        _failed(journal, entry, error)
        raise
    journal.made(entry)
    return folders


async def carry_out(
    journal: Journal, steps: Sequence[Step], progress: Callable[[int], None] | None = None, *, undoes: str = ""
) -> tuple[Path, ...]:
    """Makes all changes in their order, or none; see ``transaction.carry_out``.  ``undoes``: the call that they undo."""
    if not journal.enabled:
        return await transaction.carry_out(steps, progress)
    entry = 0
    steps = [_keeping(journal, step) for step in steps]
    drafts: list[list[Draft]] = []
    standing: list[Step] = []

    def first() -> None:
        nonlocal entry
        drafts.extend(recorded(journal, [step]) for step in steps)
        entry = journal.intend([draft for of_step in drafts for draft in of_step], undoes=undoes)

    try:
        folders = await transaction.carry_out(steps, progress, first, standing.append)
    except BaseException as error:
        if standing:
            journal.partly(entry, [draft for step, of_step in zip(steps, drafts, strict=True) if step in standing for draft in of_step])
        elif entry:
            _failed(journal, entry, error)
        raise
    journal.made(entry)
    return folders


def _made(step: Step) -> tuple[Path, ...]:
    if isinstance(step, Write):
        return step.make_alone()
    made = step.make(sync=True)
    made.settle()
    return made.folders


def _keeping(journal: Journal, step: Step) -> Step:
    """The step with a place for what it takes away whole."""
    match step:
        case Move(overwrite=True) | RemoveTree(keep=None, for_good=False):
            return replace(step, keep=journal.trash())
        case Write(before=bytes() as before):
            return replace(step, keep=journal.place_for(step.path, before))
        case _:
            return step


def _failed(journal: Journal, entry: int, error: BaseException) -> None:
    """Nothing is to be undone, unless the step that failed left something behind."""
    others = isinstance(error, ToolFailure) and error.code is ErrorCode.CONFLICT  # somebody else's change is not to be taken for ours
    if others or _is_as_before(journal, entry):
        journal.void(entry)
    else:
        journal.partly(entry)


def _is_as_before(journal: Journal, entry: int) -> bool:
    try:
        return how_far(journal, journal.entry(entry)) == "not made"
    except (OSError, ToolFailure):  # the caller is to hear of the first failure
        return False
