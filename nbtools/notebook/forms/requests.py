"""Answers the requests of the form *New call…*.
Nothing is run: a call is made by the cell that the person runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.magic_source import magic_line, quoted
from nbtools.core.call import ValidatingCall
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.tool import AnyToolBuilder
from nbtools.notebook.forms.form_messages import FormAnswer, FormRequest, FormTool
from nbtools.notebook.forms.form_schema import form_schema, form_values
from nbtools.notebook.magics.cell_source import call_source
from nbtools.notebook.magics.flags import grammar_of
from nbtools.notebook.magics.help_pages import default_answer
from nbtools.policy.grants import can_be_allowed, offered_grants

if TYPE_CHECKING:
    from nbtools.session import Session

_MAX_ABOUT = 300
"""Characters of a tool's description in the list."""
_MAX_REASON = 1_000
_MAX_TOOLS = 2_000


def on_open(session: Callable[[], Session]) -> Callable[[Any, Any], None]:
    """Returns the handler of a page's comm, for the current session of a notebook."""

    def opened(comm: Any, message: Any) -> None:
        def received(message: Any) -> None:
            data = message["content"].get("data") or {}
            if "request" in data:
                answer = respond(session(), data["request"])
                if answer is not None:
                    comm.send({"answer": answer.model_dump(mode="json")})

        comm.on_msg(received)
        received(message)

    return opened


def respond(session: Session, data: Any) -> FormAnswer | None:
    """Answers one request; None if it is not a ``FormRequest``."""
    try:
        request = FormRequest.model_validate(data)
    except ValidationError:
        return None
    try:
        if request.verb == "tools":
            return FormAnswer(
                id=request.id,
                tools=tuple(_entry(tool, session) for tool in list(session.tools.values())[:_MAX_TOOLS]),
            )
        if request.verb == "rules":
            return _rules(session, request.tool, request.id)
        tool = session.tools.require(request.tool)
        form = form_schema(tool.schema.get("parameters") or {})
        if request.verb == "form":
            return FormAnswer(id=request.id, form=json.dumps(form))
        return _check(session, tool, form_values(form, _object(request.values)), request.id)
    except ToolFailure as failure:
        return FormAnswer(id=request.id, problem=one_line(failure.message, _MAX_REASON))


def _entry(tool: AnyToolBuilder, session: Session) -> FormTool:
    about = tool.description.strip().split("\n", 1)[0]
    policy = default_answer(tool, session)
    return FormTool(
        name=tool.name,
        icon=tool.icon.value,
        kind=tool.kind.value,
        about=one_line(about, _MAX_ABOUT),
        policy=policy,
    )


def _check(session: Session, tool: AnyToolBuilder, arguments: dict[str, Any], request: int) -> FormAnswer:
    """Says what the policy would decide, and which cell makes the call."""
    tool.build(arguments)
    decision = session.decide(tool.name, arguments)
    grammar = grammar_of(tool)
    chosen = {
        parameter.name: arguments[parameter.name]
        for parameter in grammar.parameters
        if parameter.name in arguments
        and (parameter.required or arguments[parameter.name] != parameter.default)
    }
    reason = one_line(decision.reason, _MAX_REASON)
    return FormAnswer(
        id=request, action=decision.action.value, reason=reason, source=call_source(grammar, chosen)
    )


def _rules(session: Session, call_id: str, request: int) -> FormAnswer:
    """Returns the cell that allows calls such as a finished one:
    with the rules that its approval request would offer.
    """
    call = next((call for call in reversed(session.history) if call.request.id == call_id), None)
    if call is None or isinstance(call.last, ValidatingCall):
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            "The call is not of this session, or was not valid. Call the tool again first.",
        )
    plan = call.last.plan
    offers = offered_grants(plan.tool, plan.invocation, session.programs)
    if not offers.rules or not can_be_allowed(plan.decision):
        raise ToolFailure(
            ErrorCode.POLICY_VIOLATION, f"No rule can allow such calls: {plan.decision.reason}."
        )
    source = magic_line("tools", f"allow {' '.join(map(quoted, offers.rules))}")
    return FormAnswer(id=request, source=source, reason=one_line(" ".join(offers.covered), _MAX_REASON))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, "The form's values are not valid.")
    return value
