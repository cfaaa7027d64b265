"""Calls in every state, built from core's own types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbtools.core.call import (
    Approval,
    AwaitingApprovalCall,
    CancelledCall,
    ErroredCall,
    ExecutingCall,
    OutputEvent,
    Plan,
    ScheduledCall,
    SuccessfulCall,
    ToolCall,
    ToolCallRequest,
    ValidatingCall,
)
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    ToolCallConfirmationDetails,
    ToolConfirmationOutcome,
    ToolEditConfirmationDetails,
    ToolExecuteConfirmationDetails,
    ToolInfoConfirmationDetails,
    ToolMcpConfirmationDetails,
)
from nbtools.core.decision import Action, Decision
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import CommandOutput, ToolResult, ToolResultDisplay, failed
from nbtools.core.tool import BaseToolInvocation, Kind, ToolLocation
from nbtools.diff.line_diff import file_diff

AT = 1_763_733_720.0
OLD = "import a\n" + "".join(f"line {number}\n" for number in range(60)) + "total = 0\n"
NEW = OLD.replace("import a\n", "import a\nimport b\n").replace("total = 0", "total = Decimal(0)")
SEARCHING = Decision(Action.ALLOW, "searching changes nothing (mode default)", "searching changes nothing")
EDITS_ASK = Decision(Action.ASK, "edits ask (mode default)", "edits ask")


class Invocation(BaseToolInvocation[Any]):
    """Prints the text of its parameter."""

    __slots__ = ("description", "path")

    def __init__(self, description: str, path: str = "", params: object = None) -> None:
        super().__init__(params)
        self.description = description
        self.path = path

    def get_description(self) -> str:
        return self.description

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(Path(self.path).resolve()), 3),) if self.path else ()


class Tool(BaseDeclarativeTool[Any]):
    name = "tool"
    description = "for tests"
    parameters: Mapping[str, Any] = {"type": "object"}

    def __init__(self, kind: Kind, *, markdown: bool = False) -> None:
        self.kind = kind
        self.is_output_markdown = markdown

    def create_invocation(self, params: Any) -> Invocation:
        return Invocation(str(params))


def request(name: str = "tool") -> ToolCallRequest:
    return ToolCallRequest("c1", name, {"path": "src/a.py"}, name)


def plan(
    kind: Kind = Kind.SEARCH,
    decision: Decision = SEARCHING,
    description: str = "it",
    path: str = "",
    *,
    params: object = None,
    markdown: bool = False,
) -> Plan:
    return Plan(Tool(kind, markdown=markdown), Invocation(description, path, params), decision, {})


def edit_plan() -> Plan:
    return plan(Kind.EDIT, EDITS_ASK, "src/a.py", "src/a.py")


def edit_details(
    old: str | None = OLD, new: str = NEW, *, modified: bool = False
) -> ToolEditConfirmationDetails:
    diff = file_diff("src/a.py", old, new)
    return ToolEditConfirmationDetails(
        "Edit", "a.py", "src/a.py", diff.file_diff, old, new, diff.diff_stat, modified
    )


def exec_details(command: str, directory: str = ".") -> ToolExecuteConfirmationDetails:
    return ToolExecuteConfirmationDetails("Run", command, "x", ("x",), directory)


def question(details: ToolCallConfirmationDetails, decision: Decision = EDITS_ASK) -> Confirmation:
    return Confirmation("c1", "tool", details, decision, ("tool(src/**)",))


def asking(details: ToolCallConfirmationDetails, decision: Decision = EDITS_ASK) -> AwaitingApprovalCall:
    kind = Kind.EDIT if details.type == "edit" else Kind.EXECUTE
    return AwaitingApprovalCall(request(), plan(kind, decision, "src/a.py"), question(details, decision), AT)


def approval(
    outcome: ToolConfirmationOutcome = ToolConfirmationOutcome.PROCEED_ONCE, *, modified: bool = False
) -> Approval:
    return Approval(question(edit_details(modified=modified)), Answer(outcome), AT)


def executing(of: Plan | None = None, approved: Approval | None = None) -> ExecutingCall:
    return ExecutingCall(request(), of or plan(), approved, AT)


def done(
    display: ToolResultDisplay,
    of: Plan | None = None,
    approved: Approval | None = None,
    summary: str | None = None,
) -> SuccessfulCall:
    return SuccessfulCall(
        request(), executing(of, approved), ToolResult("x", display, None, summary), AT + 0.25
    )


def broken(code: ErrorCode, message: str = "It did not work. Do otherwise.") -> ErroredCall:
    return ErroredCall(request(), executing(), failed(ToolError(code, message)), AT + 1)


def declined(details: ToolCallConfirmationDetails | None = None, reason: str = "") -> CancelledCall:
    result = failed(ToolError(ErrorCode.CONFIRMATION_DENIED, "Declined by you."))
    return CancelledCall(
        request(),
        asking(details or edit_details()),
        result,
        Answer(ToolConfirmationOutcome.CANCEL, reason=reason),
        AT + 9,
    )


def every_state() -> list[ToolCall | OutputEvent]:
    """One of each, and of each kind of question."""
    return [
        ValidatingCall(request(), AT),
        asking(edit_details()),
        asking(edit_details(None, "new\n")),
        asking(exec_details("git add -A && rm -r build > log.txt")),
        asking(exec_details('"unclosed')),
        asking(ToolMcpConfirmationDetails("t", "server", "search", "Search", {"query": "x"})),
        asking(ToolInfoConfirmationDetails("t", "Fetch it?", ("https://example.org/a",))),
        ScheduledCall(request(), edit_plan(), approval(), AT),
        executing(),
        OutputEvent(executing(plan(Kind.EXECUTE)), CommandOutput("one\ntwo\n", 2, None)),
        done(file_diff("src/a.py", OLD, NEW), edit_plan(), approval()),
        done("some text"),
        broken(ErrorCode.TIMEOUT),
        declined(),
        CancelledCall(
            request(), executing(), failed(ToolError(ErrorCode.CANCELLED, "Stopped.")), None, AT + 2
        ),
    ]
