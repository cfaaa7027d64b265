"""The part of a call that a person can edit before approving it:
its text where it has one, else its arguments.
"""

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
from nbtools.notebook.magics.flags import grammar_of


@dataclass(frozen=True, slots=True)
class Proposal:
    """The text to edit, its ``label``, and the conversion of the edited text into an answer."""

    text: str
    label: str
    one_line: bool
    tool: AnyToolBuilder
    arguments: Mapping[str, Any]
    parameter: str

    @property
    def is_whole_file(self) -> bool:
        """Whether the text is the file as the call would leave it."""
        return self.parameter == _WHOLE_FILE

    def answer(self, text: str) -> Answer:
        """Returns the answer that proposes ``text`` instead.
        Raises ``ToolFailure`` when the call cannot be built from it.
        """
        return Answer(ToolConfirmationOutcome.MODIFY_WITH_EDITOR, self._payload(text))

    def _payload(self, text: str) -> ToolConfirmationPayload:
        if self.is_whole_file:
            return ToolConfirmationPayload(new_content=text)
        arguments = _object(text) if not self.parameter else {**self.arguments, self.parameter: text}
        self.tool.build(arguments)
        return ToolConfirmationPayload(arguments=arguments)


_WHOLE_FILE = "\0"


def proposal_of(call: AwaitingApprovalCall) -> Proposal:
    """Returns the editable proposal of a call that awaits approval."""
    details, tool = call.confirmation.details, call.plan.tool
    arguments = _arguments(call)
    if isinstance(details, ToolEditConfirmationDetails) and isinstance(tool, ModifiableTool):
        return Proposal(
            details.new_content, f"{details.file_name}, proposed content", False, tool, arguments, _WHOLE_FILE
        )
    body = grammar_of(tool).body
    if isinstance(details, ToolExecuteConfirmationDetails) and body is not None:
        return Proposal(
            str(arguments.get(body.name, details.command)), "the command", True, tool, arguments, body.name
        )
    if (
        isinstance(details, ToolEditConfirmationDetails)
        and body is not None
        and isinstance(arguments.get(body.name), str)
    ):
        return Proposal(arguments[body.name], f"the {body.name}", False, tool, arguments, body.name)
    return Proposal(
        json.dumps(arguments, indent=2, ensure_ascii=False), "the arguments", False, tool, arguments, ""
    )


def _arguments(call: AwaitingApprovalCall) -> dict[str, Any]:
    """Returns the arguments to approve, which an earlier modification may have changed since the request."""
    params = call.plan.invocation.params
    if isinstance(params, BaseModel):
        return params.model_dump(mode="json", exclude_unset=True)
    return dict(params) if isinstance(params, Mapping) else dict(call.request.arguments)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, f"The arguments are not valid JSON: {error}."
        ) from None
    if not isinstance(value, dict):
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, 'The arguments must be a JSON object, such as {"path": "a.txt"}.'
        )
    return value
