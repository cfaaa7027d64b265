"""The preview of a change: its card offers an action that makes the change in a new call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.cards.card_model import Card, CardAction
from nbtools.cards.magic_source import is_plain_line
from nbtools.core.call import FinishedCall, SuccessfulCall
from nbtools.core.result_data import ReplaceInFilesData
from nbtools.notebook.magics.command_line import format_line
from nbtools.notebook.magics.flags import grammar_of

PREVIEWED_TOOL = "replace_in_files"


def arguments_to_apply(call: FinishedCall | None) -> Mapping[str, Any] | None:
    """Returns the canonical arguments for ``PREVIEWED_TOOL`` that make a previewed change;
    None if ``call`` previewed none.
    """
    if not isinstance(call, SuccessfulCall):
        return None
    params, data = call.last.plan.invocation.params, call.result.data
    if not isinstance(data, ReplaceInFilesData) or data.applied or not 0 < len(data.files) <= params.limit:
        return None
    return {**params.model_dump(mode="json", exclude_unset=True), "apply": True}


def applicable(call: FinishedCall, card: Card) -> Card:
    """Returns the card of a preview with the action that makes its change; other cards are unchanged."""
    arguments = arguments_to_apply(call)
    if arguments is None or not isinstance(call, SuccessfulCall):
        return card
    line = format_line(grammar_of(call.last.plan.tool), arguments)
    magic = (
        f"%tool {PREVIEWED_TOOL} {line}" if is_plain_line(line) else f"tools.{PREVIEWED_TOOL}(…, apply=True)"
    )
    action = CardAction(verb="apply", id=card.id, label="Apply…", magic=magic)
    return card.model_copy(update={"deeds": (*card.deeds, action)})
