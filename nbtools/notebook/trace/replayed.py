"""A call that was run again as a card: the same as recorded, or where it differs, what the copy had, and how to go on."""

from __future__ import annotations

from typing import Any

from nbtools.core.errors import ErrorCode
from nbtools.core.result import FileDiff
from nbtools.notebook.bundle import bundle
from nbtools.notebook.displays import text_block
from nbtools.notebook.rows import diff_block
from nbtools.notebook.trace.outcomes import icon_of, inside
from nbtools.notebook.trace.recorded import card_of_recorded
from nbtools.notebook.visible import one_line, seen
from nbtools.notebook.wire import Block, Card
from nbtools.replay.replay import Replayed
from nbtools.replay.stepping import Skipped
from nbtools.traces.model import Call

_SHOWN = 5
"""Parts that differ from run to run, named one by one."""


def card_of_replayed(replayed: Replayed, *, number: str = "", hint: str = "") -> Card:
    """``number`` is that of its step, where there is one; ``hint`` says how to go on where results part."""
    common = _head(replayed.call, replayed.cwd, number) | {"record": seen(f"Run in a throw-away copy with {replayed.basis}")}
    if unrun := _unrun(replayed):
        return Card(**common, state="cancelled", status=unrun, blocks=_not_run(replayed))
    if replayed.same:
        return Card(**common, state="success", status="The same as recorded", blocks=_same(replayed), folded=True, unfold="show result")
    return Card(**common, state="success", failed=True, status="Not as recorded", **_lines(replayed), blocks=_parted(replayed, hint))


def bundle_of_replayed(replayed: Replayed) -> dict[str, Any]:
    return bundle(card_of_replayed(replayed, hint=hint_of(replayed)))


def card_of_copying(call: Call, cwd: str, folder: str, *, number: str = "") -> Card:
    """While there is nothing but a folder that is being copied."""
    return Card(**_head(call, cwd, number), state="scheduled", status=f"Copying {one_line(folder, 60)}")


def card_of_obstacle(call: Call, why: str, *, cwd: str = "", number: str = "", hint: str = "") -> Card:
    """Why it cannot be run again."""
    blocks = (text_block(_sentence(why), tone="error"), *((text_block(hint, tone="quiet", markdown=True),) if hint else ()))
    return Card(**_head(call, cwd, number), state="error", status="Cannot be run again", blocks=blocks)


def card_of_skipped(skipped: Skipped, *, cwd: str = "", number: str = "") -> Card:
    return Card(**_head(skipped.call, cwd, number), state="cancelled", status="Skipped", blocks=(text_block(skipped.why, tone="quiet"),))


def _head(call: Call, cwd: str, number: str) -> dict[str, Any]:
    return {
        "id": "",
        "tool": one_line(call.name, 100),
        "icon": icon_of(call),
        "subject": one_line(inside(call.subject, cwd)),
        "detail": f"step {number}" if number else "",
        "root": "/",
    }


_UNRUN = {ErrorCode.CONFIRMATION_DENIED: "Declined", ErrorCode.CANCELLED: "Cancelled"}


def _unrun(replayed: Replayed) -> str:
    """In a word, why there is no result to compare; empty where there is one."""
    error = replayed.result.error
    if error is None or (replayed.ran and error.code is not ErrorCode.CANCELLED):
        return ""
    return _UNRUN.get(error.code, "Not run")


def _not_run(replayed: Replayed) -> tuple[Block, ...]:
    error = replayed.result.error
    recorded = card_of_recorded(replayed.call, replayed.recorded, cwd=replayed.cwd)
    said = (text_block(error.message, tone="quiet"),) if error is not None else ()
    return (*said, text_block("Recorded was:", tone="quiet"), *recorded.blocks)


def _same(replayed: Replayed) -> tuple[Block, ...]:
    recorded = card_of_recorded(replayed.call, replayed.recorded, cwd=replayed.cwd)
    return (*_levelled(replayed), *(recorded.blocks or (text_block("It said nothing, then and now.", tone="quiet"),)))


def _levelled(replayed: Replayed) -> tuple[Block, ...]:
    if not replayed.volatile:
        return ()
    more = f"\n⋯ {len(replayed.volatile) - _SHOWN} more" if len(replayed.volatile) > _SHOWN else ""
    told = "\n".join(replayed.volatile[:_SHOWN])
    return (text_block(f"Not counted as a difference:\n{told}{more}", tone="quiet"),)


def _lines(replayed: Replayed) -> dict[str, int]:
    stat = replayed.difference.diff_stat
    return {"added": stat.model_added_lines, "removed": stat.model_removed_lines}


def _parted(replayed: Replayed, hint: str) -> tuple[Block, ...]:
    difference = replayed.difference
    diff = diff_block("recorded → now", *_sides(difference), titled=True, language="text")
    return (diff, *((text_block(hint, tone="quiet", markdown=True),) if hint else ()))


def _sides(difference: FileDiff) -> tuple[str, str]:
    return (difference.original_content or "").removesuffix("\n"), difference.new_content.removesuffix("\n")


def hint_of(replayed: Replayed) -> str:
    """What could make them the same, for a call that was run alone."""
    if replayed.basis.startswith("commit"):
        return "What earlier steps did is not in the copy. `--replay FIRST-LAST` goes through them first."
    return "The copy had the files as they are now. `--at COMMIT` takes those of a commit, `--replay FIRST-LAST` does earlier steps first."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
