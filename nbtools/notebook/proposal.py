"""What a person may change about a call before saying yes: its text where it has one, else its arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from nbtools.core.call import AwaitingApprovalCall
from nbtools.core.confirmation import (
    Answer,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    ToolEditConfirmationDetails,
    ToolExecuteConfirmationDetails,
)
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.tool import AnyToolBuilder, ModifiableTool
from nbtools.notebook.flags import grammar_of


@dataclass(frozen=True, slots=True)
class Proposal:
    """The text to edit, what it is (``label``), and how the edited text becomes an answer."""

    text: str
    label: str
    one_line: bool
    tool: AnyToolBuilder
    arguments: Mapping[str, Any]
    parameter: str

    def answer(self, text: str) -> Answer:
        """The answer that proposes ``text`` instead.  Raises ``ToolFailure`` when the call could not be built from it."""
        return Answer(ToolConfirmationOutcome.MODIFY_WITH_EDITOR, self._payload(text))

    def _payload(self, text: str) -> ToolConfirmationPayload:
        if self.parameter == _WHOLE_FILE:
            return ToolConfirmationPayload(new_content=text)
        arguments = _object(text) if not self.parameter else {**self.arguments, self.parameter: text}
        self.tool.build(arguments)
        return ToolConfirmationPayload(arguments=arguments)


_WHOLE_FILE = "\0"


def proposal_of(call: AwaitingApprovalCall) -> Proposal:
    """What the question proposes, ready to be edited."""
    details, tool = call.confirmation.details, call.plan.tool
    arguments = _arguments(call)
    if isinstance(details, ToolEditConfirmationDetails) and isinstance(tool, ModifiableTool):
        return Proposal(details.new_content, f"{details.file_name}, as it would be", False, tool, arguments, _WHOLE_FILE)
    body = grammar_of(tool).body
    if isinstance(details, ToolExecuteConfirmationDetails) and body is not None:
        return Proposal(str(arguments.get(body.name, details.command)), "the command", True, tool, arguments, body.name)
    return Proposal(json.dumps(arguments, indent=2, ensure_ascii=False), "the arguments", False, tool, arguments, "")


def _arguments(call: AwaitingApprovalCall) -> dict[str, Any]:
    """The arguments asked about, which a modification may have changed since the request."""
    params = call.plan.invocation.params
    if isinstance(params, BaseModel):
        return params.model_dump(mode="json", exclude_unset=True)
    return dict(params) if isinstance(params, Mapping) else dict(call.request.arguments)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"This is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, 'The arguments are an object, such as {"path": "a.txt"}.')
    return value
