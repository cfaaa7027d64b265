"""nbtools: the tools of coding agents for Jupyter notebooks, guarded by a policy.

Importing this package loads nothing else; a name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbtools.core.browser import IN_BROWSER
from nbtools.core.extension_points import register

if TYPE_CHECKING:
    from nbtools.agents.agent import Agent as Agent
    from nbtools.agents.pydantic_model import model_named as model_named
    from nbtools.agents.usage import Limits as Limits
    from nbtools.core.call import AwaitingApprovalCall as AwaitingApprovalCall
    from nbtools.core.call import CancelledCall as CancelledCall
    from nbtools.core.call import ErroredCall as ErroredCall
    from nbtools.core.call import ExecutingCall as ExecutingCall
    from nbtools.core.call import Observer as Observer
    from nbtools.core.call import OutputEvent as OutputEvent
    from nbtools.core.call import ScheduledCall as ScheduledCall
    from nbtools.core.call import SuccessfulCall as SuccessfulCall
    from nbtools.core.call import ToolCall as ToolCall
    from nbtools.core.call import ToolCallRequest as ToolCallRequest
    from nbtools.core.call import ValidatingCall as ValidatingCall
    from nbtools.core.confirmation import Answer as Answer
    from nbtools.core.confirmation import Choice as Choice
    from nbtools.core.confirmation import Confirmation as Confirmation
    from nbtools.core.confirmation import Confirmer as Confirmer
    from nbtools.core.confirmation import Question as Question
    from nbtools.core.confirmation import ToolAskConfirmationDetails as ToolAskConfirmationDetails
    from nbtools.core.confirmation import ToolCallConfirmationDetails as ToolCallConfirmationDetails
    from nbtools.core.confirmation import ToolConfirmationOutcome as ToolConfirmationOutcome
    from nbtools.core.confirmation import ToolConfirmationPayload as ToolConfirmationPayload
    from nbtools.core.confirmation import ToolEditConfirmationDetails as ToolEditConfirmationDetails
    from nbtools.core.confirmation import ToolExecuteConfirmationDetails as ToolExecuteConfirmationDetails
    from nbtools.core.confirmation import ToolInfoConfirmationDetails as ToolInfoConfirmationDetails
    from nbtools.core.confirmation import ToolMcpConfirmationDetails as ToolMcpConfirmationDetails
    from nbtools.core.decision import Action as Action
    from nbtools.core.decision import Decision as Decision
    from nbtools.core.declarative import AnyDeclarativeTool as AnyDeclarativeTool
    from nbtools.core.declarative import BaseDeclarativeTool as BaseDeclarativeTool
    from nbtools.core.declarative import DeclarativeTool as DeclarativeTool
    from nbtools.core.errors import AgentError as AgentError
    from nbtools.core.errors import ErrorCode as ErrorCode
    from nbtools.core.errors import NbtoolsError as NbtoolsError
    from nbtools.core.errors import PolicyError as PolicyError
    from nbtools.core.errors import SessionError as SessionError
    from nbtools.core.errors import ToolError as ToolError
    from nbtools.core.errors import ToolFailure as ToolFailure
    from nbtools.core.result import DiffStat as DiffStat
    from nbtools.core.result import FileDiff as FileDiff
    from nbtools.core.result import FileDiffs as FileDiffs
    from nbtools.core.result import Media as Media
    from nbtools.core.result import TodoItem as TodoItem
    from nbtools.core.result import TodoList as TodoList
    from nbtools.core.result import ToolResult as ToolResult
    from nbtools.core.result import ToolResultDisplay as ToolResultDisplay
    from nbtools.core.schema.json_schema import convert_to_function_response as convert_to_function_response
    from nbtools.core.schema.json_schema import has_cycle_in_schema as has_cycle_in_schema
    from nbtools.core.settings import Settings as Settings
    from nbtools.core.tool import AnyToolInvocation as AnyToolInvocation
    from nbtools.core.tool import BaseToolInvocation as BaseToolInvocation
    from nbtools.core.tool import Icon as Icon
    from nbtools.core.tool import Kind as Kind
    from nbtools.core.tool import ModifiableTool as ModifiableTool
    from nbtools.core.tool import ModifyContext as ModifyContext
    from nbtools.core.tool import ToolBuilder as ToolBuilder
    from nbtools.core.tool import ToolInvocation as ToolInvocation
    from nbtools.core.tool import ToolLocation as ToolLocation
    from nbtools.core.tool import is_tool as is_tool
    from nbtools.core.toolset import ToolRegistry as ToolRegistry
    from nbtools.core.toolset import Toolset as Toolset
    from nbtools.dialects import Dialect as Dialect
    from nbtools.dialects import dialect as dialect
    from nbtools.notebook.extension import load_ipython_extension as load_ipython_extension
    from nbtools.notebook.extension import unload_ipython_extension as unload_ipython_extension
    from nbtools.notebook.traces.notebook_export import to_notebook as to_notebook
    from nbtools.plugins.discovered_tools import discover as discover
    from nbtools.plugins.function_tool import tool as tool
    from nbtools.policy.layers import Layer as Layer
    from nbtools.policy.layers import Policy as Policy
    from nbtools.policy.rules import Rule as Rule
    from nbtools.scheduler.scheduler import ToolScheduler as ToolScheduler
    from nbtools.session import Session as Session
    from nbtools.session.policy_state import policy_layers as policy_layers
    from nbtools.session.sync import BlockingSession as BlockingSession
    from nbtools.traces.explorer.explorer import open_trace as open_trace

__version__ = "0.1.0"

_MODULES = {
    "nbtools.agents.agent": "Agent",
    "nbtools.agents.usage": "Limits",
    "nbtools.agents.pydantic_model": "model_named",
    "nbtools.session.sync": "BlockingSession",
    "nbtools.core.call": (
        "AwaitingApprovalCall CancelledCall ErroredCall ExecutingCall Observer OutputEvent ScheduledCall"
        " SuccessfulCall ToolCall ToolCallRequest ValidatingCall"
    ),
    "nbtools.core.confirmation": (
        "Answer Choice Confirmation Confirmer Question ToolAskConfirmationDetails ToolCallConfirmationDetails"
        " ToolConfirmationOutcome ToolConfirmationPayload ToolEditConfirmationDetails"
        " ToolExecuteConfirmationDetails ToolInfoConfirmationDetails ToolMcpConfirmationDetails"
    ),
    "nbtools.core.decision": "Action Decision",
    "nbtools.core.declarative": "AnyDeclarativeTool BaseDeclarativeTool DeclarativeTool",
    "nbtools.core.errors": "AgentError ErrorCode NbtoolsError PolicyError SessionError ToolError ToolFailure",
    "nbtools.core.result": "DiffStat FileDiff FileDiffs Media TodoItem TodoList ToolResult ToolResultDisplay",
    "nbtools.core.schema.json_schema": "convert_to_function_response has_cycle_in_schema",
    "nbtools.core.settings": "Settings",
    "nbtools.core.tool": (
        "AnyToolInvocation BaseToolInvocation Icon Kind ModifiableTool ModifyContext ToolBuilder"
        " ToolInvocation ToolLocation is_tool"
    ),
    "nbtools.core.toolset": "ToolRegistry Toolset",
    "nbtools.dialects": "Dialect dialect",
    "nbtools.session.policy_state": "policy_layers",
    (
        "nbtools.notebook.browser_extension" if IN_BROWSER else "nbtools.notebook.extension"
    ): "load_ipython_extension unload_ipython_extension",
    "nbtools.notebook.traces.notebook_export": "to_notebook",
    "nbtools.traces.explorer.explorer": "open_trace",
    "nbtools.policy.layers": "Layer Policy",
    "nbtools.policy.rules": "Rule",
    "nbtools.scheduler.scheduler": "ToolScheduler",
    "nbtools.session": "Session",
    "nbtools.plugins.discovered_tools": "discover",
    "nbtools.plugins.function_tool": "tool",
}
_PACKAGES = frozenset({"hooks", "replay", "shell", "testing", "traces", "wrappers"})
"""Public modules that are available as ``nbtools.traces`` after ``import nbtools``."""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - tested to equal the imports above


# What lower packages call and higher packages supply.
register("core.result_html", "nbtools.cards.card:result_html")
register("traces.notebook", "nbtools.notebook.traces.explorer_services")
register("traces.list_sessions", "nbtools.traces.session_list.view:list_sessions")
register("traces.open_sessions", "nbtools.traces.session_list.view:open_sessions")
register("traces.comparison_bundle", "nbtools.traces.comparison.view:comparison_bundle")
register("traces.outcomes_bundle", "nbtools.traces.comparison.view:outcomes_bundle")
register("traces.share", "nbtools.traces.sharing.request:share")
register("session.toolset", "nbtools.agents.toolset:SessionToolset")
register("agents.recorded_model", "nbtools.lesson.recorded_model:RecordedModel")


def __getattr__(name: str) -> Any:
    module = f"nbtools.{name}" if name in _PACKAGES else _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'nbtools' has no attribute {name!r}")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("nbtools."):
            raise
        # an installation of one product alone, such as the one that only reads logs
        raise ModuleNotFoundError(
            f"nbtools.{name} needs the package {error.name}, which this installation does not have. Install"
            " all of nbtools: pip install nbtools-agent",
            name=error.name,
        ) from error
    if name in _PACKAGES:
        return found
    value = globals()[name] = getattr(found, name)
    return value


def __dir__() -> list[str]:
    return [*__all__, *sorted(_PACKAGES), "__version__"]
