"""The session: composes workspace, tools, dialect, policy and scheduler."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nbtools import scheduler
from nbtools.core.browser import IN_BROWSER, NO_TOOLS
from nbtools.core.call import FinishedCall, LiveCall, Observer, ToolCallRequest
from nbtools.core.confirmation import Confirmer
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ErrorCode, PolicyError, SessionError, ToolFailure, exception_text
from nbtools.core.extension_points import extension
from nbtools.core.message import did_you_mean, nearest
from nbtools.core.redaction import Redactor
from nbtools.core.result import ToolResult
from nbtools.core.schema.json_schema import Json, Provider, declarations
from nbtools.core.secret_variables import secret_variables
from nbtools.core.settings import Settings
from nbtools.core.tool import AnyToolBuilder
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.core.toolset import ToolRegistry
from nbtools.dialects import Dialect, DialectTools, canonical_tool_name, dialect_names, is_name_of
from nbtools.dialects import dialect as dialect_named
from nbtools.dialects.mcp_names import ServerNames, canonical_rule_name, gemini_names
from nbtools.policy.decide import Policy, PolicyEngine
from nbtools.policy.grants import Grant
from nbtools.policy.layers import Layer
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule, read_rule
from nbtools.policy.store import PolicyStore
from nbtools.scheduler.scheduler import ToolScheduler
from nbtools.session.pipeline import CallBatch, CallPipeline
from nbtools.session.policy_state import PolicyState
from nbtools.session.session_log import SessionLog
from nbtools.session.sync import BlockingSession
from nbtools.session.tool_sources import ToolSources
from nbtools.tools import tool_factories
from nbtools.workspace.history.store import JournalEntry
from nbtools.workspace.processes.output import shorten_result
from nbtools.workspace.workspace import Workspace

if TYPE_CHECKING:
    from nbtools.core.hooks import Hook
    from nbtools.core.language_model import LanguageModel
    from nbtools.mcp.client.servers import McpServers
    from nbtools.plugins.discovered_tools import Command, DiscoveryResult
    from nbtools.shell import ProgramTable
    from nbtools.workspace.history.undo import UndoMerge

_NO_ARGUMENTS: Mapping[str, Any] = {}


class Session:
    """Tools on a workspace, guarded by a policy.

    ``confirmer`` answers approval requests; without one, calls that need approval fail with
    ``confirmation_required`` and change nothing.  ``tools`` replaces the built-in tools.  ``hooks`` run
    before and after every call (see ``nbtools.hooks``).  ``layers`` are further rules, the strongest last; a
    deny of any layer holds.  A plugin whose tools cannot be used causes a warning.  Raises ``SessionError``
    (the workspace is not a folder, or Python runs in a browser), ``PolicyError`` or ``ToolFailure``.
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        *,
        dialect: str = "nbtools",
        policy: Policy | None = None,
        confirmer: Confirmer | None = None,
        tools: Iterable[AnyToolBuilder] | None = None,
        observers: Iterable[Observer] = (),
        hooks: Iterable[Hook] = (),
        settings: Settings | None = None,
        layers: Iterable[Layer] = (),
    ) -> None:
        if IN_BROWSER:
            raise SessionError(NO_TOOLS)
        self.workspace = Workspace(workspace, settings or Settings())
        self.confirmer = confirmer
        self.saves_grants = True
        """Whether "always allow" can be remembered for later sessions; False in a temporary copy."""
        self._registry = (
            ToolRegistry(later=tool_factories(self.workspace)) if tools is None else ToolRegistry(tools)
        )
        self.dialect = dialect_named(dialect)
        self._server_names = ServerNames(self._registry, gemini_names)
        self._registry.watch(self._reread_rules)
        self._rules = PolicyState(
            self.workspace.root, policy or Policy(), layers, self.tool_named, self._judge_by
        )
        self._scheduler = ToolScheduler(
            self._registry, self._rules.judge, self, time.time, shorten=shorten_result
        )
        self._calls = CallPipeline(self._registry, self._scheduler, self.workspace, partial(self.call, "ask"))
        self._tool_sources = ToolSources(self._registry, self.workspace)
        self._judge_by(self._rules.judge)
        self.workspace.journal.session = self._calls.prefix
        self.hooks = tuple(hooks)
        self._redact()
        for observer in observers:
            self.observe(observer)
        self._session_log = SessionLog(self.workspace.root, self._calls.prefix, self.observe)
        self._record()
        if self.settings.plugins:
            self._tool_sources.add_plugins()
        self._warn_of_misspelt_tools()

    # --- calls

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,  # noqa: A002
        dialect: Dialect | None = None,
        approved: bool = False,
        batch: CallBatch | None = None,
    ) -> ToolResult:
        """Runs one call and returns its result; failures that a caller can cause are results, not exceptions.

        ``name`` is a name of ``dialect`` (by default the session's) or a canonical name.  Cancelling the
        awaiting task cancels the call and propagates.  ``approved``: a person has already approved exactly
        this call, so it needs no further approval; a deny holds.  ``batch``: the other calls of the same
        message, which a denial or a hook may end.  Raises ``SessionError`` when the session is closed.
        """
        arguments = _NO_ARGUMENTS if arguments is None else arguments
        spoken = self._dialect if dialect is None else dialect
        return await self._calls.run(spoken, name, arguments, id, approved=approved, batch=batch)

    async def call_many(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[ToolResult]:
        """Runs the calls of a message in order, adjacent read-only ones in parallel; returns the results so.

        A call that asks to wait for earlier ones (in Gemini CLI ``wait_for_previous``) runs alone.  After a
        hook has stopped a call, and in Gemini CLI's dialect after a denial, the calls that have not begun are
        cancelled.
        """
        results: list[ToolResult] = []
        batch = CallBatch()
        for parallel, group in itertools.groupby(calls, key=lambda call: self._can_run_beside(*call)):
            if parallel:
                results += await _in_parallel(
                    [self.call(name, arguments, batch=batch) for name, arguments in group]
                )
            else:
                results += [await self.call(name, arguments, batch=batch) for name, arguments in group]
        return results

    def _can_run_beside(self, name: str, arguments: Mapping[str, Any]) -> bool:
        tool = self.tools.get(name)
        return tool is not None and tool.kind.changes_nothing and not self._dialect.waits(arguments)

    async def undo(
        self,
        call_id: str | None = None,
        *,
        merge: UndoMerge = False,
        id: str | None = None,  # noqa: A002
    ) -> ToolResult:
        """Restores what a call, also of an earlier session, replaced; without an id, this one's last change.

        Restores all files or none: a file changed since is a ``conflict``, shown as a merge; ``merge``
        applies a merge without conflicts.  Lines that the call changed and that were changed again since are
        left as they are with ``merge="keep"``, and restored as they were before the call with
        ``merge="take_back"``.  The undo is itself a call (``id`` is its own), so it can be undone.  It needs
        no approval, because a person requests it; deny rules and mode ``plan`` apply.  Raises
        ``SessionError`` when the session is closed.
        """
        return await self._calls.undo(call_id, id, merge=merge)

    @property
    def changes(self) -> tuple[JournalEntry, ...]:
        """The last 1,000 calls that changed something here, in earlier sessions too, oldest first."""
        return self.workspace.journal.changes(self.workspace.relative)

    @property
    def journal_notices(self) -> tuple[str, ...]:
        """Warnings about the journal: entries were dropped, or it was damaged."""
        return self.workspace.journal.notices

    def cancel(self, call_id: str) -> bool:
        """Cancels a call in any state; False if none has that id. From another thread, use ``sync()``."""
        return self._scheduler.cancel(call_id)

    def new_id(self) -> str:
        """Returns an unused id to pass to ``call``."""
        return self._calls.new_id()

    @property
    def settings(self) -> Settings:
        """The settings. Setting them affects later calls, except ``plugins``, which only creation uses."""
        return self.workspace.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.workspace.settings = settings
        self.dialect = self._dialect
        self._redact()
        self._record()

    def _redact(self) -> None:
        # Tokens are recognised by their form; the values of secret variables are read now.
        self._scheduler.redactor = Redactor.of(secret_variables(os.environ)) if self.settings.redact else None

    def _record(self) -> None:
        if self.settings.record:
            self._session_log.start(self.dialect.name, self.settings.record_bytes)
        else:
            self._session_log.stop()

    @property
    def log(self) -> Path | None:
        """The log's file, begun by the first call (see ``nbtools.traces.load``); None if off."""
        return self._session_log.path

    # --- dialect

    @property
    def dialect(self) -> Dialect:
        """The dialect of calls and results.  Setting it, also by name, affects later calls.

        Raises ``SessionError`` where a registered tool has a name that the dialect gives to another tool.
        """
        return self._dialect

    @dialect.setter
    def dialect(self, dialect: Dialect | str) -> None:
        dialect = dialect_named(dialect) if isinstance(dialect, str) else dialect
        tools = DialectTools(self._registry, dialect)
        tools.ensure_no_clash()
        self._dialect, self._tools = dialect, tools
        self.workspace.read_tracker.required = (
            self._dialect.reads_first if self.settings.read_first is None else self.settings.read_first
        )
        ignore_files, read_ignored = self.settings.ignore_files, self.settings.read_ignored
        self.workspace.ignore_files = self._dialect.ignore_files if ignore_files is None else ignore_files
        self.workspace.reads_ignored = self._dialect.reads_ignored if read_ignored is None else read_ignored
        self.workspace.reads_recordings = self._dialect.reads_recordings
        self.workspace.read_tokens = self._dialect.read_tokens
        self.workspace.reads_whole_lines = self._dialect.reads_whole_lines

    @property
    def dialects(self) -> tuple[str, ...]:
        """The names of the available dialects."""
        return dialect_names()

    @property
    def tools(self) -> DialectTools:
        """The tools in the session's dialect, by name."""
        return self._tools

    def tools_in(self, dialect: Dialect) -> DialectTools:
        """Returns the same tools in another dialect."""
        return DialectTools(self._registry, dialect)

    def watch_tools(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Calls ``watcher``, in that thread, for added and removed tools until the result is called."""
        return self._registry.watch(watcher)

    # --- policy

    def decide(self, name: str, arguments: Mapping[str, Any] | None = None) -> Decision:
        """Returns the decision about a call without running it; one that cannot be built is denied."""
        try:
            call = self.tools.read(name, arguments or _NO_ARGUMENTS, folder=self._calls.command_folder)
            return self._scheduler.plan(
                ToolCallRequest("", self.tools.canonical_name(call.tool), call.arguments, name)
            ).decision
        except ToolFailure as failure:
            return Decision(Action.DENY, failure.message, failure.code)
        except Exception as bug:  # noqa: BLE001 - a tool's own check may raise anything; the call would fail in the same way
            reason = f"{name} could not check its arguments: {exception_text(bug)}"
            return Decision(Action.DENY, reason, ErrorCode.UNHANDLED_EXCEPTION)

    def _judge_by(self, judge: PolicyEngine) -> None:
        self._scheduler.judge = judge
        self.workspace.hidden = judge.hidden_patterns

    @property
    def policy(self) -> Policy:
        """The session's own rules, without grants.  Setting it affects later calls."""
        return self._rules.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self._rules.policy = policy
        self._warn_of_misspelt_tools()

    @property
    def mode(self) -> Mode:
        """The permission mode in force: the session's own, else that of its layers."""
        return self._rules.judge.mode

    @property
    def programs(self) -> ProgramTable | None:
        """The program table of command analysis; None where rules add nothing to the built-in one."""
        return self._rules.judge.table

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers below the session's own rules, the strongest last.  Setting it affects later calls."""
        return self._rules.layers

    @layers.setter
    def layers(self, layers: Iterable[Layer]) -> None:
        self._rules.layers = tuple(layers)

    def tool_named(self, name: str) -> str:
        """Returns the canonical tool for a name in a rule: any agent's name, the session's dialect first."""
        if name in self._registry:
            return name
        return canonical_rule_name(
            canonical_tool_name(name, self._dialect), self._server_names.canonical_name
        )

    def unknown_tool(self, name: str) -> str:
        """Returns what is wrong with a rule's tool name; empty for tools, patterns, agents, servers."""
        canonical = self.tool_named(name)
        if (
            any(sign in name for sign in "*?")
            or name.startswith("mcp_")
            or "__" in name
            or canonical in (*CANONICAL_NAMES, "undo")
        ):
            return ""
        if canonical in self._registry or any(
            is_name_of(name, dialect_named(one)) for one in dialect_names()
        ):
            return ""
        return f"There is no tool {name!r}.{did_you_mean(name, self._tool_names())}"

    def _tool_names(self) -> tuple[str, ...]:
        return (*self.tools.names(), *self._registry.names())

    def _misspelt_tool(self, name: str) -> str:
        """Returns ``unknown_tool`` if a tool is almost named so; else "": it may be registered later."""
        problem = self.unknown_tool(name)
        return problem if problem and nearest(name, self._tool_names()) else ""

    def _warn_of_misspelt_tools(self) -> None:
        """Warns about deny and ask rules for tools spelt almost like existing ones: they protect nothing."""
        for policy in (self._rules.policy, *(layer.policy for layer in self._rules.layers)):
            for action in (Action.DENY, Action.ASK):
                for rule in policy.rules(action):
                    if problem := self._misspelt_tool(
                        rule.tool if isinstance(rule, Rule) else read_rule(rule).tool
                    ):
                        warnings.warn(f"The {action} rule {rule} applies to no tool. {problem}", stacklevel=3)

    def _reread_rules(self) -> None:
        # Which tool a rule means by Gemini CLI's name of an MCP tool depends on the registered tools.
        if self._rules.names_servers:
            self._rules.rebuild()

    @property
    def grants(self) -> tuple[str, ...]:
        """The grants for this session only, oldest first."""
        return self._rules.session_grants

    @property
    def saved_grants(self) -> tuple[str, ...]:
        """The saved grants, as far as they are among this session's layers."""
        return self._rules.saved_grants

    @property
    def granted(self) -> tuple[Grant, ...]:
        """All grants, saved ones first, with their time and origin; reads the saved ones from disk."""
        return self._rules.all_grants

    @property
    def store(self) -> PolicyStore:
        """The store of the person's and the project's rules, the saved grants and the project's trust."""
        return self._rules.store

    def allow(self, rule: str, *, save: bool = False, by: str = "") -> None:
        """Adds a grant for this session or, with ``save``, also for later sessions in this workspace.

        Calls that await approval and are covered by it run without another answer.  ``by``: the id of the
        call whose approval added it.  Raises ``PolicyError`` for an invalid rule, and for one whose tool does
        not exist and is spelt almost like one; ``ToolFailure`` where it cannot be saved; then nothing has
        changed.
        """
        if problem := self._misspelt_tool(read_rule(rule).tool):
            raise PolicyError(f"The rule {rule} has no effect. {problem}")
        self._rules.allow(rule, save=save, by=self._calls.describe(by))
        self._scheduler.reconsider()

    def revoke(self, rule: str) -> bool:
        """Removes a grant, also from disk. Returns False if there is none. Raises ``ToolFailure``."""
        return self._rules.revoke(rule)

    # --- tools from other sources

    async def discover(
        self, discovery_command: Command, call_command: Command, *, seconds: float = 60
    ) -> DiscoveryResult:
        """Registers the tools that a command of the project lists, in place of those discovered before.

        See ``nbtools.discover``; its result names the tools that could not be used.
        Raises ``ToolFailure``; then nothing has changed.
        """
        return await self._tool_sources.discover(discovery_command, call_command, seconds)

    @property
    def mcp(self) -> McpServers:
        """The MCP servers, once added or loaded; a connected server's tools belong to the session."""
        return self._calls.servers.servers

    @property
    def mcp_is_loaded(self) -> bool:
        """Whether ``mcp`` has been used, which takes some 0.3 s the first time."""
        return self._calls.servers.are_loaded

    @property
    def model(self) -> LanguageModel | None:
        """The model for requests of tools and MCP servers (``agents.model_named``); None: they fail."""
        return self.workspace.model

    @model.setter
    def model(self, model: LanguageModel | None) -> None:
        self.workspace.model = model

    def toolset(self, *, defer: bool = False) -> Any:
        """Returns the tools as a pydantic-ai toolset (``nbtools.agents.toolset.SessionToolset``).

        With ``defer``, a call that needs approval ends the run with deferred requests.
        """
        return extension("session.toolset")(self, defer=defer)

    # --- hooks

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """The hooks that run for every call, in this order.  Setting it affects later calls."""
        return self._hooks

    @hooks.setter
    def hooks(self, hooks: Iterable[Hook]) -> None:
        self._hooks = tuple(hooks)
        self._scheduler.hooks = (
            scheduler.Hooks(self._hooks, str(self.workspace.root), self._calls.prefix)
            if self._hooks
            else None
        )

    # --- declarations and history

    def declarations(self, provider: Provider) -> list[Json]:
        """Returns the tools' declarations for ``gemini``, ``anthropic``, ``openai`` or ``mcp``."""
        return declarations(self.tools.values(), provider)

    @property
    def history(self) -> tuple[FinishedCall, ...]:
        """The last 10,000 finished calls, oldest first."""
        return tuple(self._scheduler.history)

    @property
    def active(self) -> tuple[LiveCall, ...]:
        """The running calls, oldest first."""
        return self._scheduler.live

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Notifies ``observer`` of every event until the returned function is called."""
        return self._scheduler.observe(observer)

    # --- life cycle

    def sync(self) -> BlockingSession:
        """Returns this session without ``await``, for any thread; its own event loop runs until closed."""
        return BlockingSession(self)

    async def close(self) -> None:
        """Cancels calls, ends background commands and terminals; later calls raise ``SessionError``."""
        self._calls.close()
        await self._calls.servers.close()
        await self._scheduler.close()
        await self.workspace.close()
        self._session_log.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _in_parallel(calls: Sequence[Any]) -> list[ToolResult]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]
