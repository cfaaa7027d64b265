"""A call that was run again, beside the recorded one, and its card:
equal, different, skipped, or not possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtools.cards.blocks import text_block
from nbtools.cards.card import bundle
from nbtools.cards.card_model import Block, Card
from nbtools.cards.diff_rows import diff_block
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.errors import ErrorCode
from nbtools.core.result import FileDiff, ToolResult
from nbtools.replay.canonical_call import CanonicalCall
from nbtools.traces.explorer.line_style import icon_of, relative_path
from nbtools.traces.explorer.recorded_card import recorded_card
from nbtools.traces.model import Call, Detail

_MAX_LISTED = 5
"""Run-specific parts that are listed one by one."""
_NOT_RUN = {"policy_violation", "confirmation_required", "confirmation_denied"}


@dataclass(frozen=True, slots=True)
class Replayed:
    """The new ``result`` of a call beside the recorded one.

    ``meaning`` is what was run.  ``difference`` is the diff from the recorded text to the new one, with the
    copy's path replaced by the session's folder.  ``same`` means equal except for ``volatile`` parts: times,
    durations, temporary paths, addresses.  ``basis`` says what was copied.  A call that was denied is not
    ``same``; ``result.error`` has the reason.
    """

    call: Call
    recorded: Detail
    meaning: CanonicalCall
    result: ToolResult
    difference: FileDiff
    same: bool
    volatile: tuple[str, ...] = ()
    basis: str = ""
    cwd: str = ""
    """The session's folder as recorded."""

    @property
    def ran(self) -> bool:
        """Whether the call was executed, not denied."""
        return self.result.error is None or self.result.error.code not in _NOT_RUN

    def __str__(self) -> str:
        head = (
            f"{self.call.name} {self.call.subject} → {self.meaning.tool}, {self.basis}:"
            f" {'the same' if self.same else 'different'}"
        )
        except_for = f", but for {'; '.join(self.volatile)}" if self.volatile else ""
        return f"{head}{except_for}\n{self.difference.file_diff}".rstrip()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Renders a card in notebooks."""
        return bundle(replayed_card(self, hint=replay_hint(self)))


@dataclass(frozen=True, slots=True)
class Skipped:
    """A skipped call, and why."""

    call: Call
    why: str


def replayed_card(replayed: Replayed, *, number: str = "", hint: str = "") -> Card:
    """Returns the card of a result; ``number`` is that of its step, if any;
    ``hint`` says what to try if they differ.
    """
    error = replayed.result.error
    common = _head(replayed.call, replayed.cwd, number) | {
        "record": seen(f"Run in a temporary copy of {replayed.basis}")
    }
    if error is not None and (not replayed.ran or error.code is ErrorCode.CANCELLED):
        recorded = recorded_card(replayed.call, replayed.recorded, cwd=replayed.cwd).blocks
        words = (text_block(error.message, tone="quiet"), text_block("Recorded result:", tone="quiet"))
        status = _STATUS_WITHOUT_RESULT.get(error.code, "Not run")
        return Card(**common, state="cancelled", status=status, blocks=(*words, *recorded))
    if replayed.same:
        recorded = recorded_card(replayed.call, replayed.recorded, cwd=replayed.cwd).blocks
        return Card(
            **common,
            state="success",
            status="Same as recorded",
            blocks=(
                *_ignored_differences(replayed),
                *(recorded or (text_block("No output, as recorded.", tone="quiet"),)),
            ),
            folded=True,
            unfold="show result",
        )
    difference = replayed.difference
    sides = (difference.original_content or "").removesuffix("\n"), difference.new_content.removesuffix("\n")
    diff = diff_block("recorded → now", *sides, titled=True, language="text")
    return Card(
        **common,
        state="success",
        failed=True,
        status="Different from recorded",
        added=difference.diff_stat.model_added_lines,
        removed=difference.diff_stat.model_removed_lines,
        blocks=(diff, *_hint_blocks(hint)),
    )


def copying_card(call: Call, cwd: str, folder: str, *, number: str = "") -> Card:
    """Returns the card shown while the folder is being copied."""
    return Card(**_head(call, cwd, number), state="scheduled", status=f"Copying {one_line(folder, 60)}")


def obstacle_card(call: Call, why: str, *, cwd: str = "", number: str = "", hint: str = "") -> Card:
    """Returns the card of a call that cannot be run again."""
    blocks = (text_block(why[:1].upper() + why[1:], tone="error"), *_hint_blocks(hint))
    return Card(**_head(call, cwd, number), state="error", status="Cannot be run again", blocks=blocks)


def skipped_card(skipped: Skipped, *, cwd: str = "", number: str = "") -> Card:
    return Card(
        **_head(skipped.call, cwd, number),
        state="cancelled",
        status="Skipped",
        blocks=(text_block(skipped.why, tone="quiet"),),
    )


def _head(call: Call, cwd: str, number: str) -> dict[str, Any]:
    return {
        "id": "",
        "tool": one_line(call.name, 100),
        "icon": icon_of(call),
        "subject": one_line(relative_path(call.subject, cwd)),
        "detail": f"step {number}" if number else "",
        "root": "/",
    }


_STATUS_WITHOUT_RESULT = {ErrorCode.CONFIRMATION_DENIED: "Denied", ErrorCode.CANCELLED: "Cancelled"}


def _hint_blocks(hint: str) -> tuple[Block, ...]:
    return (text_block(hint, tone="quiet", markdown=True),) if hint else ()


def _ignored_differences(replayed: Replayed) -> tuple[Block, ...]:
    if not replayed.volatile:
        return ()
    more = f"\n⋯ {len(replayed.volatile) - _MAX_LISTED} more" if len(replayed.volatile) > _MAX_LISTED else ""
    listed = "\n".join(replayed.volatile[:_MAX_LISTED])
    return (text_block(f"Not counted as a difference:\n{listed}{more}", tone="quiet"),)


def replay_hint(replayed: Replayed) -> str:
    """Returns a hint, for a call that was run alone, on how to reproduce the recorded result."""
    if replayed.basis.startswith("commit"):
        return "The copy does not contain the changes of earlier steps. --replay FIRST-LAST runs them first."
    return (
        "The copy has the files as they are now. --at COMMIT takes those of a commit, --replay FIRST-LAST"
        " runs earlier steps first."
    )
