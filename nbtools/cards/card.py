"""Builds the card of a call in any of its states, and the MIME bundle that displays it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, Literal

from nbtools.cards.blocks import blocks_of, changed_file, text_block
from nbtools.cards.card_model import MIME, Block, Card, CardPlace, DiffBlock, TextBlock
from nbtools.cards.decision_text import approval_reason, is_skipped, last_of, not_undone, note_of, record_of
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.cards.html import card_html, unfolding
from nbtools.cards.phrases import (
    ANSWERED,
    CANCELLED,
    CHECKING,
    DENIED,
    DONE,
    FAILED,
    MERGED,
    NEEDS_ANSWER,
    QUEUED,
    RESTORED,
    RUNNING,
    SKIPPED,
    TRACEBACK,
    UNKNOWN_FAILURE,
    elapsed,
)
from nbtools.cards.question_blocks import (
    IN_WORKSPACE,
    answered_blocks,
    fold_name,
    question_blocks,
    question_subject,
)
from nbtools.cards.text import card_text
from nbtools.core.call import (
    AwaitingApprovalCall,
    CancelledCall,
    ErroredCall,
    EvaluatedCall,
    ExecutingCall,
    FinishedCall,
    OutputEvent,
    ScheduledCall,
    SuccessfulCall,
    ToolCall,
    ValidatingCall,
)
from nbtools.core.confirmation import ToolAskConfirmationDetails
from nbtools.core.errors import ErrorCode, Raised, ToolFailure
from nbtools.core.message import counted
from nbtools.core.result import CommandOutput, FileDiff, FileDiffs, Media, ToolResult, ToolResultDisplay
from nbtools.core.result_data import (
    Diagnostics,
    ShellBackgroundData,
    ShellData,
    TerminalRunData,
    TerminalState,
    UndoData,
)
from nbtools.core.tool import Icon, Kind, ToolLocation

_ABOUT_FOLDERS = frozenset({Kind.EXECUTE, Kind.SEARCH})
"""Kinds whose locations are working folders, which a click cannot open."""

_OBJECTS = ("command", "pattern", "path")
"""Canonical parameters that name the object of a call."""


def head_of(call: ToolCall, root: str) -> dict[str, Any]:
    """Returns the fields that every state of a card has: id, tool, subject, places."""
    last = last_of(call)
    common = {
        "id": call.request.id,
        "state": call.state,
        "tool": one_line(call.request.spoken or call.request.name, 100),
        "root": root,
    }
    if isinstance(last, ValidatingCall):  # no invocation describes it yet
        texts = {name: value for name, value in call.request.arguments.items() if isinstance(value, str)}
        subject = next((texts[name] for name in (*_OBJECTS, *texts) if name in texts), "")
        return {**common, "icon": Icon.HAMMER.value, "subject": one_line(subject, 200)}
    undone = call.result.data if isinstance(call, FinishedCall) else None
    if isinstance(undone, UndoData) and undone.tool == "undo":
        common["tool"] = "redo"
    return {
        **common,
        "icon": last.plan.tool.icon.value,
        "subject": one_line(last.plan.invocation.get_description()),
        "places": (
            ()
            if last.plan.tool.kind in _ABOUT_FOLDERS
            else _head_places(last.plan.invocation.tool_locations(), root)
        ),
    }


def _head_places(locations: Sequence[ToolLocation], root: str) -> tuple[CardPlace, ...]:
    base = workspace_path(root)
    places = (
        CardPlace(path=seen(_relative(location.path, base)), line=location.line) for location in locations
    )
    return tuple(place for place in places if place.path != ".")


def workspace_path(root: str) -> str:
    """Returns the absolute path of the workspace; ``root`` is relative to the kernel's folder."""
    return _resolved(root, str(Path.cwd()))  # where the kernel is now: a cell may have changed its folder


@lru_cache(maxsize=32)
def _resolved(path: str, folder: str) -> str:
    return str(Path(folder, path).resolve())


def _relative(path: str, base: str) -> str:
    """Returns ``path`` relative to the workspace, or unchanged where it is outside."""
    pure = PurePath(path)
    return pure.relative_to(base).as_posix() if pure.is_relative_to(base) else path


def file_of(call: ToolCall, root: str) -> str:
    """Returns the path of the only file that the call is about, else an empty string."""
    last = last_of(call)
    if isinstance(last, ValidatingCall):
        return ""
    locations = last.plan.invocation.tool_locations()
    return _relative(locations[0].path, workspace_path(root)) if len(locations) == 1 else ""


def confined_by(call: FinishedCall) -> str:
    """Returns how a command was sandboxed, or why it was not.

    Empty where no sandbox was configured, where the output says it already,
    and for calls that are not commands.
    """
    data, display = call.result.data, call.result.return_display
    sandbox = (
        data.sandbox
        if isinstance(data, ShellData | ShellBackgroundData | TerminalState | TerminalRunData)
        else ""
    )
    if isinstance(display, CommandOutput) and sandbox in display.note:
        return ""
    return one_line(f"{sandbox[:1].lower()}{sandbox[1:]}")


def card_of(event: ToolCall | OutputEvent, *, root: str = ".", now: float | None = None) -> Card:
    """Returns the card of a call's state, or of a running call with its output so far.

    ``root`` is the workspace relative to the notebook's folder,
    ``now`` the time up to which a running call's seconds are counted.
    """
    match event:
        case OutputEvent():
            return _running(event.call, event.display, root, now)
        case ExecutingCall():
            return _running(event, None, root, now)
        case SuccessfulCall() | ErroredCall() | CancelledCall():
            return _finished(event, root)
        case AwaitingApprovalCall():
            return _awaiting_approval(event, root)
        case ScheduledCall() | ValidatingCall() | EvaluatedCall():
            status = QUEUED if isinstance(event, ScheduledCall) else CHECKING
            return Card(**head_of(event, root), status=status, record=record_of(event), note=note_of(event))


def in_place(card: Card, place: str) -> Card:
    """Returns the card of a question with the place where the call would work;
    an empty ``place`` means the notebook's workspace.
    """
    if not place or card.state != AwaitingApprovalCall.state:
        return card
    subject = " · ".join(filter(None, [card.subject, place]))
    if card.subject.startswith(IN_WORKSPACE):
        subject = card.subject.replace(IN_WORKSPACE, place, 1)
    return card.model_copy(update={"subject": subject})


def with_caller(card: Card, caller: str) -> Card:
    """Returns the card with the name of the program that made the call;
    an empty ``caller`` means this notebook.
    """
    if not caller:
        return card
    if card.state == AwaitingApprovalCall.state:
        return card.model_copy(update={"status": f"{caller} asks"})
    return card.model_copy(update={"record": " · ".join(filter(None, [card.record, f"called by {caller}"]))})


def _finished(call: FinishedCall, root: str) -> Card:
    """Returns the card of a finished call;
    its record has a command's sandbox, and what an undo may not have restored.
    """
    match call:
        case SuccessfulCall():
            card = _done(call, root)
        case ErroredCall():
            card = _failed(call, root)
        case CancelledCall():
            card = _cancelled(call, root)
    more = confined_by(call)
    if isinstance(call, SuccessfulCall) and isinstance(call.result.data, UndoData):
        more = not_undone(call.result.data.unsaved)
    return card.model_copy(update={"record": " · ".join(filter(None, [card.record, more]))}) if more else card


def _running(call: ExecutingCall, display: ToolResultDisplay | None, root: str, now: float | None) -> Card:
    parts = [elapsed(now - call.at)] if now is not None else []
    if isinstance(display, CommandOutput) and display.lines:
        parts.append(counted(display.lines, "line"))
    blocks: tuple[Block, ...] = ()
    if display is not None:
        blocks = blocks_of(display, file_of(call, root), markdown=call.plan.tool.is_output_markdown)
    # All our tools call the seconds after which they time out ``timeout``; other tools' may be anything.
    timeout = getattr(call.plan.invocation.params, "timeout", None)
    ends = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    return Card(
        **head_of(call, root),
        status=RUNNING,
        detail=" · ".join(parts),
        blocks=blocks,
        record=record_of(call),
        note=f"ends after {timeout:g} s" if ends else note_of(call),
        cancellable=True,
    )


def _awaiting_approval(call: AwaitingApprovalCall, root: str) -> Card:
    details = call.confirmation.details
    blocks = question_blocks(details, workspace_path(root), file_of(call, root))
    head = head_of(call, root)
    head["subject"] = question_subject(details, head["subject"])
    blocks = tuple(_titled(block, head["subject"]) for block in blocks)
    return Card(
        **head,
        **changed_lines(blocks),
        status=NEEDS_ANSWER,
        blocks=blocks,
        note=approval_reason(call.confirmation),
    )


def _titled(block: Block, subject: str) -> Block:
    """Adds the file name to a diff where the head does not show it."""
    unnamed = isinstance(block, DiffBlock) and posixpath.basename(block.path) not in subject
    return block.model_copy(update={"titled": True}) if unnamed else block


def changed_lines(blocks: Sequence[Block]) -> dict[str, int]:
    """Counts the lines that the diffs among ``blocks`` add and remove, for the head."""
    diffs = [block for block in blocks if isinstance(block, DiffBlock)]
    return {"added": sum(block.added for block in diffs), "removed": sum(block.removed for block in diffs)}


def _done(call: SuccessfulCall, root: str) -> Card:
    display, kind, approval = call.result.return_display, call.last.plan.kind, call.last.approval
    head = head_of(call, root)
    details = approval.confirmation.details if approval else None
    answers: tuple[Block, ...] = ()
    if isinstance(details, ToolAskConfirmationDetails) and approval is not None:
        head["subject"] = question_subject(details, head["subject"])
        if approval.answer.payload:
            answers = answered_blocks(details, approval.answer.payload.answers)
    head["places"] = _remaining_places(display, head["places"], kind)
    status = ANSWERED if answers else _success_status(call)
    blocks = answers or blocks_of(
        display, file_of(call, root), markdown=call.last.plan.tool.is_output_markdown
    )
    blocks = tuple(block for block in blocks if not _repeats(block, status))
    unfold = unfolding(blocks, had_approval=approval is not None)
    # The part of a change's summary that the head does not show already.
    summary = _uncounted(call.result) if kind in _CHANGES else ""
    detail = "" if summary in head["subject"] else summary
    return Card(
        **head,
        **changed_lines(blocks),
        status=status,
        detail=" · ".join(filter(None, [detail, _duration(call)])),
        failed=_has_bad_outcome(call),
        blocks=blocks,
        folded=bool(unfold),
        unfold=unfold,
        record=record_of(call),
        note=note_of(call),
    )


def _has_bad_outcome(call: SuccessfulCall) -> bool:
    """Whether a command exited with an error, or a check found errors."""
    display, data = call.result.return_display, call.result.data
    if isinstance(data, Diagnostics):
        return any(problem.severity == "error" for problem in data.problems)
    return isinstance(display, CommandOutput) and bool(display.exit_code)


def _repeats(block: Block, status: str) -> bool:
    return isinstance(block, TextBlock) and block.text.strip().casefold() == status.casefold()


def _remaining_places(
    display: ToolResultDisplay, places: tuple[CardPlace, ...], kind: Kind
) -> tuple[CardPlace, ...]:
    """Returns the places that can be opened:
    changed files, not their folder, and nothing that was deleted or moved away.
    """
    match display:
        case FileDiffs():
            return tuple(CardPlace(path=seen(one.file_name)) for one in display.files if one.new_content)
        case FileDiff() if all(changed_file(place.path, display.file_name) != place.path for place in places):
            return (CardPlace(path=seen(display.file_name)),)
        case _:
            return places[1:] if kind in (Kind.DELETE, Kind.MOVE) else places


def _success_status(call: SuccessfulCall) -> str:
    """Returns the tool's summary or a command's exit status;
    ``Done`` where the blocks show the result themselves.
    """
    if isinstance(call.result.data, UndoData):
        return MERGED if any(file.outcome == "merged" for file in call.result.data.files) else RESTORED
    display, summary, kind = call.result.return_display, _uncounted(call.result), call.last.plan.kind
    match display:
        case CommandOutput():
            return (
                display.status
                or exit_status(display.exit_code)
                or summary[:1].upper() + summary[1:]
                or "Ended"
            )
        case str() if kind not in _CHANGES:
            return DONE if "\n" in display.strip() and kind not in _LOOKS else summary or DONE
        case Media() | str():
            return DONE
        case _ if not kind.changes_nothing:
            return DONE
        case _:
            # At the start, ``Not applied: 3 places in 2 files``: narrow cards cut the end of a status.
            rest = summary.removesuffix(", not applied")
            return (summary if rest == summary else f"Not applied: {rest}") or DONE


_CHANGES = frozenset({Kind.EDIT, Kind.DELETE, Kind.MOVE})
_LOOKS = frozenset({Kind.READ, Kind.SEARCH})


def exit_status(code: int | None) -> str:
    """Returns ``Done`` or ``Exit 1``; empty without an exit code."""
    if code is None:
        return ""
    return f"Exit {code}" if code else DONE


def _uncounted(result: ToolResult) -> str:
    """Returns the summary without the counts of added and removed lines, which the head shows."""
    return re.sub(r"(^|,? ?· |, )\+[\d,]*\d −[\d,]*\d", "", one_line(result.summary or "", 80)).strip(" ·,")


def _duration(call: FinishedCall) -> str:
    """Returns how long the call ran; empty below 0.01 seconds."""
    seconds = call.at - call.last.at
    return elapsed(seconds) if isinstance(call.last, ExecutingCall) and seconds >= 0.01 else ""


_NOTHING_TO_OPEN = frozenset(
    {ErrorCode.FILE_NOT_FOUND, ErrorCode.TARGET_IS_DIRECTORY, ErrorCode.PATH_NOT_IN_WORKSPACE}
)
"""Failures after which there is no file to open."""


def _failed(call: ErroredCall, root: str) -> Card:
    error = call.result.error
    head = head_of(call, root)
    if error and (
        error.code in _NOTHING_TO_OPEN or (error.code is ErrorCode.POLICY_VIOLATION and _is_reading(call))
    ):
        head["places"] = ()
    blocks = _failed_blocks(call, root)
    if isinstance(call.last, AwaitingApprovalCall):  # nobody could answer its question: shown if it is short
        asked = question_blocks(call.last.confirmation.details, workspace_path(root), file_of(call, root))
        blocks += () if unfolding(asked, had_approval=False) else asked
    return Card(
        **head,
        status=FAILED[error.code] if error else UNKNOWN_FAILURE,
        detail=_duration(call),
        blocks=blocks,
        record=record_of(call),
        note=note_of(call),
    )


def _is_reading(call: ErroredCall | CancelledCall) -> bool:
    """Whether the call would have read a file: after a denial, the file is not offered either."""
    last = last_of(call)
    return not isinstance(last, ValidatingCall) and last.plan.kind is Kind.READ


def _cancelled(call: CancelledCall, root: str) -> Card:
    """Returns the card of a cancelled call:
    folded with its question if it never ran, else with the message and its output.
    """
    question = call.last.confirmation.details if isinstance(call.last, AwaitingApprovalCall) else None
    if question is not None:
        blocks = question_blocks(question, workspace_path(root), file_of(call, root))
    else:
        blocks = _failed_blocks(call, root)
    head = head_of(call, root)
    if call.answer is not None and _is_reading(call):
        head["places"] = ()
    denied = SKIPPED if is_skipped(call) else DENIED
    return Card(
        **head,
        **changed_lines(blocks),
        status=CANCELLED if call.answer is None else denied,
        detail=_duration(call),
        blocks=blocks,
        folded=question is not None,
        unfold=fold_name(question) if question is not None else "",
        record=record_of(call),
        note=note_of(call),
    )


def _failed_blocks(call: ErroredCall | CancelledCall, root: str) -> tuple[Block, ...]:
    """Returns the blocks of a failed or cancelled call's result."""
    markdown = isinstance(call.last, ExecutingCall) and call.last.plan.tool.is_output_markdown
    tone: Literal["error", "quiet"] = "error" if isinstance(call, ErroredCall) else "quiet"
    return _failure(call.result, tone=tone, path=file_of(call, root), markdown=markdown)


def _failure(
    result: ToolResult, *, tone: Literal["error", "quiet"] = "error", path: str = "", markdown: bool = False
) -> tuple[Block, ...]:
    """Returns the error message, the traceback of an exception, and what the call displayed."""
    message = result.error.message if result.error else ""
    reason = (text_block(message, tone=tone),) if message.strip() else ()
    if isinstance(result.data, Raised):
        reason = (*reason, text_block(result.data.traceback, tone="quiet", title=TRACEBACK))
    display = result.return_display
    if isinstance(display, str) and display.strip() in message:
        return reason
    return (*reason, *blocks_of(display, path, markdown=markdown))


def result_html(result: ToolResult) -> str:
    """Returns a card of a result alone as HTML; which tool and arguments it came from is not known."""
    error = result.error
    status = one_line(result.summary or DONE, 200) if error is None else FAILED[error.code]
    if error is None:
        blocks = tuple(block for block in blocks_of(result.return_display) if not _repeats(block, status))
    else:
        blocks = _failure(result)
    return card_html(
        Card(
            id="",
            state="success" if error is None else "error",
            tool="result",
            icon="hammer",
            subject="",
            status=status,
            blocks=blocks,
        ),
        view="unified",
    )


def refusal_card(name: str, rest: str, failure: ToolFailure) -> Card:
    """Returns an error card for a line that could not be turned into a call."""
    block = TextBlock(text=failure.message, tone="error")
    return Card(
        id="",
        state="error",
        tool=name[:100],
        icon="hammer",
        subject=rest.strip()[:200],
        status=FAILED[failure.code],
        blocks=(block,),
    )


def bundle(card: Card) -> dict[str, object]:
    """Returns a MIME bundle: the card for our renderer, HTML for other frontends and saved notebooks,
    and plain text.
    """
    # Unified diffs stay readable on pages that drop styles, and in narrow columns.
    return {
        MIME: card.packed(),
        "text/html": card_html(card, view="unified"),
        "text/plain": card_text(card, brief=True),
    }
