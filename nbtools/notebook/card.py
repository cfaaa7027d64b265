"""A call in one of its states as a card: what it is, how it stands, what there is to see, who decided."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Any, Literal

from nbtools.core.call import (
    Approval,
    AwaitingApprovalCall,
    CancelledCall,
    ErroredCall,
    ExecutingCall,
    FinishedCall,
    JudgedCall,
    OutputEvent,
    ScheduledCall,
    SuccessfulCall,
    ToolCall,
    ValidatingCall,
)
from nbtools.core.confirmation import ToolAskConfirmationDetails
from nbtools.core.errors import ErrorCode
from nbtools.core.result import CommandOutput, FileDiff, FileDiffs, Media, ToolResult, ToolResultDisplay
from nbtools.core.tool import Kind
from nbtools.notebook.confined import confined_by
from nbtools.notebook.displays import blocks_of, changed_file, text_block
from nbtools.notebook.folding import unfolding
from nbtools.notebook.head import file_of, head_of, workspace_path
from nbtools.notebook.phrases import FAILED, counted, elapsed
from nbtools.notebook.questions import answered_blocks, fold_name, question_blocks, question_subject
from nbtools.notebook.record import asked_by, note_of, record_of
from nbtools.notebook.visible import one_line, seen
from nbtools.notebook.wire import Block, Card, DiffBlock, Place, TextBlock


def card_of(event: ToolCall | OutputEvent, *, root: str = ".", now: float | None = None) -> Card:
    """The card of a call's state, or of the output that it has so far.

    ``root`` is the workspace as seen from the notebook's folder, ``now`` the time to count a running call's seconds to.
    """
    match event:
        case OutputEvent():
            return _running(event.call, event.display, root, now)
        case ExecutingCall():
            return _running(event, None, root, now)
        case SuccessfulCall() | ErroredCall() | CancelledCall():
            return _finished(event, root)
        case AwaitingApprovalCall():
            return _asking(event, root)
        case ScheduledCall() | ValidatingCall() | JudgedCall():
            status = "Queued" if isinstance(event, ScheduledCall) else "Checking"
            return Card(**head_of(event, root), status=status, record=record_of(event), note=note_of(event))


def for_asker(card: Card, asker: str) -> Card:
    """The card of a call from elsewhere says whose it is; without ``asker`` it is the notebook's own."""
    if not asker:
        return card
    if card.state == AwaitingApprovalCall.state:
        return card.model_copy(update={"status": f"{asker} asks"})
    return card.model_copy(update={"record": " · ".join(filter(None, [card.record, f"called by {asker}"]))})


def _finished(call: FinishedCall, root: str) -> Card:
    """How it ended; of a command, also what confined it or why nothing did, where that was asked for."""
    card, words = _ended(call, root), confined_by(call)
    return card.model_copy(update={"record": " · ".join(filter(None, [card.record, words]))}) if words else card


def _ended(call: FinishedCall, root: str) -> Card:
    match call:
        case SuccessfulCall():
            return _done(call, root)
        case ErroredCall():
            return _failed(call, root)
        case CancelledCall():
            return _cancelled(call, root)


def _running(call: ExecutingCall, display: ToolResultDisplay | None, root: str, now: float | None) -> Card:
    lines = display.lines if isinstance(display, CommandOutput) else 0
    parts = [elapsed(now - call.at)] if now is not None else []
    return Card(
        **head_of(call, root),
        status="Running",
        detail=" · ".join([*parts, *([counted(lines, "line")] if lines else [])]),
        blocks=() if display is None else blocks_of(display, file_of(call, root), markdown=call.plan.tool.is_output_markdown),
        record=record_of(call),
        note=_ends(call) or note_of(call),
        cancellable=True,
    )


def _ends(call: ExecutingCall) -> str:
    """When it ends by itself.  ``timeout`` (seconds) is the one word for that in all our tools' parameters."""
    timeout = getattr(call.plan.invocation.params, "timeout", None)
    return f"ends after {timeout:g} s" if isinstance(timeout, int | float) and not isinstance(timeout, bool) else ""


def _asking(call: AwaitingApprovalCall, root: str) -> Card:
    details = call.confirmation.details
    blocks = question_blocks(details, workspace_path(root), file_of(call, root))
    head = head_of(call, root)
    head["subject"] = question_subject(details, head["subject"])
    blocks = tuple(_titled(block, head["subject"]) for block in blocks)
    return Card(**head, **changed_lines(blocks), status="Needs your answer", blocks=blocks, note=asked_by(call.confirmation))


def _titled(block: Block, subject: str) -> Block:
    """A diff names its file where the head does not."""
    unnamed = isinstance(block, DiffBlock) and posixpath.basename(block.path) not in subject
    return block.model_copy(update={"titled": True}) if unnamed else block


def changed_lines(blocks: Sequence[Block]) -> dict[str, int]:
    """The lines that a card's diffs add and remove, as the head counts them."""
    diffs = [block for block in blocks if isinstance(block, DiffBlock)]
    return {"added": sum(block.added for block in diffs), "removed": sum(block.removed for block in diffs)}


def _done(call: SuccessfulCall, root: str) -> Card:
    display = call.result.return_display
    answers = _answers(call.last.approval)
    status = "Answered" if answers else _success(call)
    blocks = answers or blocks_of(display, file_of(call, root), markdown=call.last.plan.tool.is_output_markdown)
    blocks = tuple(block for block in blocks if not _says_only(block, status))
    unfold = unfolding(blocks, was_asked=call.last.approval is not None)
    head = _head_when_done(call, root)
    return Card(
        **head,
        **changed_lines(blocks),
        status=status,
        detail=" · ".join(filter(None, [_besides(call, head["subject"]), _took(call)])),
        failed=isinstance(display, CommandOutput) and bool(display.exit_code),
        blocks=blocks,
        folded=bool(unfold),
        unfold=unfold,
        record=record_of(call),
        note=note_of(call),
    )


def _says_only(block: Block, status: str) -> bool:
    return isinstance(block, TextBlock) and block.text.strip().casefold() == status.casefold()


def _head_when_done(call: SuccessfulCall, root: str) -> dict[str, Any]:
    """The head, with places that are still there to be opened."""
    head, approval, display = head_of(call, root), call.last.approval, call.result.return_display
    if approval is not None and isinstance(approval.confirmation.details, ToolAskConfirmationDetails):
        head["subject"] = question_subject(approval.confirmation.details, head["subject"])
    head["places"] = _places(display, head["places"], call.last.plan.kind)
    return head


def _places(display: ToolResultDisplay, places: tuple[Place, ...], kind: Kind) -> tuple[Place, ...]:
    """Not the folder of what was changed, nor what was deleted or moved away."""
    match display:
        case FileDiffs():
            return tuple(Place(path=seen(one.file_name)) for one in display.files if one.new_content)
        case FileDiff() if all(changed_file(place.path, display.file_name) != place.path for place in places):
            return (Place(path=seen(display.file_name)),)
        case _:
            return places[1:] if kind in (Kind.DELETE, Kind.MOVE) else places


def _answers(approval: Approval | None) -> tuple[Block, ...]:
    """What the person was asked and said, where that was the point of the call."""
    details = approval.confirmation.details if approval else None
    payload = approval.answer.payload if approval else None
    return answered_blocks(details, payload.answers) if isinstance(details, ToolAskConfirmationDetails) and payload else ()


def _success(call: SuccessfulCall) -> str:
    """``Done``, unless the tool says it better: a change shows itself, a picture too, a command has its exit code."""
    display, summary, kind = call.result.return_display, _uncounted(call.result), call.last.plan.kind
    match display:
        case CommandOutput():
            return display.status or exit_status(display.exit_code) or summary[:1].upper() + summary[1:] or "Ended"
        case str() if kind not in _CHANGES:
            return "Done" if "\n" in display.strip() and kind not in _LOOKS else summary or "Done"
        case Media() | str():
            return "Done"
        case _:
            return _first_things_first(summary) or "Done" if kind.changes_nothing else "Done"


def _first_things_first(summary: str) -> str:
    """``Not applied: 3 places in 2 files``, for the end of a status is what a narrow card cuts."""
    rest = summary.removesuffix(", not applied")
    return summary if rest == summary else f"Not applied: {rest}"


_CHANGES = frozenset({Kind.EDIT, Kind.DELETE, Kind.MOVE})
_LOOKS = frozenset({Kind.READ, Kind.SEARCH})


def exit_status(code: int | None) -> str:
    """``Done``, ``Exit 1``; empty where there is no code."""
    return "" if code is None else f"Exit {code}" if code else "Done"


def _besides(call: SuccessfulCall, subject: str) -> str:
    """What the summary of a change says beyond the lines that the head counts, and beyond the head's object."""
    rest = _uncounted(call.result) if call.last.plan.kind in _CHANGES else ""
    return "" if rest in subject else rest


def _uncounted(result: ToolResult) -> str:
    """The summary without the lines added and removed, which the head shows."""
    return re.sub(r"(^|,? ?· |, )\+[\d,]*\d −[\d,]*\d", "", one_line(result.summary or "", 80)).strip(" ·,")


def _took(call: FinishedCall) -> str:
    """The time it ran, where that is worth a word."""
    seconds = call.at - call.last.at
    return elapsed(seconds) if isinstance(call.last, ExecutingCall) and seconds >= 0.01 else ""


_NOTHING_TO_OPEN = frozenset({ErrorCode.FILE_NOT_FOUND, ErrorCode.TARGET_IS_DIRECTORY, ErrorCode.PATH_NOT_IN_WORKSPACE})
"""Failures whose file no click could open."""


def _failed(call: ErroredCall, root: str) -> Card:
    error = call.result.error
    head = head_of(call, root)
    if error and error.code in _NOTHING_TO_OPEN:
        head["places"] = ()
    return Card(
        **head,
        status=FAILED[error.code] if error else "Failed",
        detail=_took(call),
        blocks=(*_failure(call, root), *_unasked(call, root)),
        record=record_of(call),
        note=note_of(call),
    )


def _unasked(call: ErroredCall, root: str) -> tuple[Block, ...]:
    """What would have been asked, had there been anybody: where it is short."""
    if not isinstance(call.last, AwaitingApprovalCall):
        return ()
    blocks = question_blocks(call.last.confirmation.details, workspace_path(root), file_of(call, root))
    return () if unfolding(blocks, was_asked=False) else blocks


def _cancelled(call: CancelledCall, root: str) -> Card:
    """Declined or withdrawn: what was asked, folded away.  Stopped: why, and what it had shown."""
    question = call.last.confirmation.details if isinstance(call.last, AwaitingApprovalCall) else None
    blocks = question_blocks(question, workspace_path(root), file_of(call, root)) if question is not None else _failure(call, root)
    return Card(
        **head_of(call, root),
        **changed_lines(blocks),
        status="Declined" if call.answer is not None else "Cancelled",
        detail=_took(call),
        blocks=blocks,
        folded=question is not None,
        unfold=fold_name(question) if question is not None else "",
        record=record_of(call),
        note=note_of(call),
    )


def _failure(call: ErroredCall | CancelledCall, root: str) -> tuple[Block, ...]:
    """Why it did not work, and what there is to see besides."""
    message = call.result.error.message if call.result.error else ""
    tone: Literal["error", "quiet"] = "error" if isinstance(call, ErroredCall) else "quiet"
    said = (text_block(message, tone=tone),) if message.strip() else ()
    display = call.result.return_display
    if isinstance(display, str) and display.strip() in message:
        return said
    markdown = isinstance(call.last, ExecutingCall) and call.last.plan.tool.is_output_markdown
    return (*said, *blocks_of(display, file_of(call, root), markdown=markdown))
