"""Answers the requests of the form *New call…*.
Nothing is run: a call is made by the cell that the person runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.magic_source import magic_line, quoted
from nbtools.core.call import ValidatingCall
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.methods import NoParams, method
from nbtools.core.tool import AnyToolBuilder
from nbtools.notebook.forms.form_messages import (
    CheckedCall,
    CheckParams,
    FormParams,
    FormTool,
    FormTools,
    RulesCell,
    RulesParams,
    ToolForm,
)
from nbtools.notebook.forms.form_schema import form_schema, form_values
from nbtools.notebook.magics.cell_source import call_source
from nbtools.notebook.magics.flags import grammar_of
from nbtools.notebook.magics.help_pages import default_answer
from nbtools.policy.grants import can_be_allowed, offered_grants

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session

_MAX_ABOUT = 300
"""Characters of a tool's description in the list."""
_MAX_REASON = 1_000
_MAX_TOOLS = 2_000


class Forms:
    """The methods of forms, for the current session of a notebook."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime

    @property
    def _session(self) -> Session:
        return self._runtime.session

    @method("forms.tools")
    def tools(self, _: NoParams) -> FormTools:
        tools = list(self._session.tools.values())[:_MAX_TOOLS]
        return FormTools(tools=tuple(_entry(tool, self._session) for tool in tools))

    @method("forms.form")
    def form(self, params: FormParams) -> ToolForm:
        with _clean_problem():
            return ToolForm(form=json.dumps(self._form(self._session.tools.require(params.tool))))

    @method("forms.check")
    def check(self, params: CheckParams) -> CheckedCall:
        """Says what the policy would decide, and which cell makes the call."""
        with _clean_problem():
            tool = self._session.tools.require(params.tool)
            arguments = form_values(self._form(tool), _object(params.values))
            tool.build(arguments)
            decision = self._session.decide(tool.name, arguments)
        grammar = grammar_of(tool)
        chosen = {
            parameter.name: arguments[parameter.name]
            for parameter in grammar.parameters
            if parameter.name in arguments
            and (parameter.required or arguments[parameter.name] != parameter.default)
        }
        reason = one_line(decision.reason, _MAX_REASON)
        return CheckedCall(action=decision.action.value, reason=reason, source=call_source(grammar, chosen))

    @method("forms.rules")
    def rules(self, params: RulesParams) -> RulesCell:
        """Returns the cell that allows calls such as a finished one:
        with the rules that its approval request would offer.
        """
        history = reversed(self._session.history)
        call = next((call for call in history if call.request.id == params.call), None)
        with _clean_problem():
            if call is None or isinstance(call.last, ValidatingCall):
                raise ToolFailure(
                    ErrorCode.INVALID_TOOL_PARAMS,
                    "The call is not of this session, or was not valid. Call the tool again first.",
                )
            plan = call.last.plan
            offers = offered_grants(plan.tool, plan.invocation, self._session.programs)
            if not offers.rules or not can_be_allowed(plan.decision):
                raise ToolFailure(
                    ErrorCode.POLICY_VIOLATION, f"No rule can allow such calls: {plan.decision.reason}."
                )
        source = magic_line("tools", f"allow {' '.join(map(quoted, offers.rules))}")
        return RulesCell(source=source, reason=one_line(" ".join(offers.covered), _MAX_REASON))

    @staticmethod
    def _form(tool: AnyToolBuilder) -> dict[str, Any]:
        return form_schema(tool.schema.get("parameters") or {})


@contextmanager
def _clean_problem() -> Iterator[None]:
    """Shortens the problem that a page shows, and makes invisible characters in it visible."""
    try:
        yield
    except ToolFailure as failure:
        raise ToolFailure(failure.code, one_line(failure.message, _MAX_REASON)) from None


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


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, "The form's values are not valid.")
    return value
