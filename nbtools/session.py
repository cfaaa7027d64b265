"""The composition root: the one place where workspace, tools, dialect, policy and scheduler meet."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from nbtools.additions import Additions
from nbtools.blocking import BlockingSession
from nbtools.calls import Calls
from nbtools.core.call import FinishedCall, LiveCall, Observer, ToolCallRequest
from nbtools.core.confirmation import Confirmer
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ToolFailure
from nbtools.core.hook import Hook
from nbtools.core.model import LanguageModel
from nbtools.core.redact import Redactor
from nbtools.core.result import ToolResult
from nbtools.core.schema import Json, Provider, declarations
from nbtools.core.settings import Settings
from nbtools.core.tool import AnyToolBuilder
from nbtools.core.toolset import ToolRegistry
from nbtools.dialects import Dialect, SpokenTools, dialect_names, tool_named
from nbtools.dialects import dialect as dialect_named
from nbtools.dialects.servers import ServerNames, gemini_names, rule_named
from nbtools.known_servers import KnownServers
from nbtools.logbook import Logbook
from nbtools.policy.decide import Judge, Policy
from nbtools.policy.granted import Grant
from nbtools.policy.layers import Layer
from nbtools.policy.modes import Mode
from nbtools.policy.store import PolicyStore
from nbtools.rulebook import Rulebook
from nbtools.scheduler.hooks import Hooks
from nbtools.scheduler.scheduler import ToolScheduler
from nbtools.sources.command import Command
from nbtools.sources.discovery import Discovered
from nbtools.tools import tools_to_make
from nbtools.workspace.commands.environment import secret_variables
from nbtools.workspace.commands.spill import shortened
from nbtools.workspace.journal.choosing import listed
from nbtools.workspace.journal.records import JournalEntry
from nbtools.workspace.workspace import Workspace

if TYPE_CHECKING:
    from nbtools.agents.toolset import SessionToolset
    from nbtools.shell import Table
    from nbtools.sources.mcp.servers import McpServers

_NO_ARGUMENTS: Mapping[str, Any] = {}


class Session:
    """Tools on a workspace, guarded by a policy.

    ``confirmer`` answers what policy asks; without one such calls end with ``confirmation_required`` and nothing has happened.
    ``tools`` replaces the built-in ones.  ``hooks`` look at every call (see ``nbtools.hooks``).  What is wrong with the tools of an
    installed package is told in a warning.  ``layers`` are rules from elsewhere, the strongest last; a deny of any holds.
    Raises ``SessionError`` (the workspace is no folder), ``PolicyError`` or ``ToolFailure``.
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
        self.workspace = Workspace(workspace, settings or Settings())
        self.confirmer = confirmer
        self._registry = ToolRegistry(later=tools_to_make(self.workspace)) if tools is None else ToolRegistry(tools)
        self.dialect = dialect_named(dialect)
        self._server_names = ServerNames(self._registry, gemini_names)
        self._registry.watch(self._reread_rules)
        self._rules = Rulebook(self.workspace.root, policy or Policy(), layers, self.tool_named, self._judge_by)
        self._scheduler = ToolScheduler(self._registry, self._rules.judge, self, time.time, shorten=shortened)
        self._calls = Calls(self._registry, self._scheduler, self.workspace, lambda name: self._servers.have(name, self._tools))
        self._servers = KnownServers(self._registry, self.workspace, partial(self.call, "ask"), self._calls.of_tool)
        self._additions = Additions(self._registry, self.workspace)
        self._judge_by(self._rules.judge)
        self.workspace.journal.session, self.workspace.journal.tool_of = self._calls.prefix, self._scheduler.name_of
        self.hooks = tuple(hooks)
        self._redact()
        for observer in observers:
            self.observe(observer)
        self._logbook = Logbook(self.workspace.root, self._calls.prefix, self.observe)
        self._record()
        if self.settings.plugins:
            self._additions.add_plugins()

    # --- calls

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,  # noqa: A002
        dialect: Dialect | None = None,
        approved: bool = False,
    ) -> ToolResult:
        """Runs one call and returns its result; never raises for what a caller can cause.

        ``name`` is one of ``dialect``, the session's own if none is given, or a canonical one.  Cancelling the awaiting task cancels the
        call and propagates.  ``approved``: a person has said yes to this very call elsewhere, so it is not asked again; a denial holds.
        Raises ``SessionError`` when the session is closed.
        """
        arguments = _NO_ARGUMENTS if arguments is None else arguments
        return await self._calls.make(self._dialect if dialect is None else dialect, name, arguments, id, approved=approved)

    async def call_many(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[ToolResult]:
        """Runs calls in order, neighbours that change nothing side by side; the results stand in the order of the calls."""
        results: list[ToolResult] = []
        for parallel, wave in itertools.groupby(calls, key=lambda call: self._changes_nothing(call[0])):
            if parallel:
                results += await _side_by_side([self.call(name, arguments) for name, arguments in wave])
            else:
                results += [await self.call(name, arguments) for name, arguments in wave]
        return results

    def _changes_nothing(self, name: str) -> bool:
        tool = self.tools.find(name)
        return tool is not None and tool.kind.changes_nothing

    async def undo(self, call_id: str | None = None, *, merge: bool = False, id: str | None = None) -> ToolResult:  # noqa: A002
        """Brings back what was there before a call, also one of an earlier session; without an id before the last change of this session.

        All of it or nothing: what was changed since is a ``conflict``, shown as a merge; ``merge`` applies it where it is clean.  It is a
        call itself, ``id`` its own, so undoing it brings the change back.  Asks nobody: it is the person who calls it; deny rules and mode
        plan hold.  Raises ``SessionError`` when the session is closed.
        """
        return await self._calls.undo(call_id, id, merge=merge)

    @property
    def changes(self) -> tuple[JournalEntry, ...]:
        """The calls that have changed something in this workspace, those of earlier sessions too, the oldest first; the last 1,000."""
        return listed(self.workspace.journal, self.workspace.relative)

    @property
    def journal_notices(self) -> tuple[str, ...]:
        """What is to be known of the journal: how far back it does not go any more, and that it was damaged."""
        return self.workspace.journal.notices

    def cancel(self, call_id: str) -> bool:
        """Stops a call in whatever state it is.  False when there is none of that id under way.  From another thread: ``sync()``."""
        return self._scheduler.cancel(call_id)

    def new_id(self) -> str:
        """An id that no call of this session has, to give to ``call``."""
        return self._calls.new_id()

    @property
    def settings(self) -> Settings:
        """What the session does beyond its rules.  Set it to change that for the calls to come; ``plugins`` counts at the start only."""
        return self.workspace.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.workspace.settings = settings
        self.dialect = self._dialect
        self._redact()
        self._record()

    def _redact(self) -> None:
        """Tokens are known by their shape, and the values that commands do not get by what they are now."""
        self._scheduler.redactor = Redactor.of(secret_variables(os.environ)) if self.settings.redact else None

    def _record(self) -> None:
        if self.settings.record:
            self._logbook.keep(self.dialect.name, self.settings.record_bytes)
        else:
            self._logbook.stop()

    @property
    def log(self) -> Path | None:
        """Where the calls of this session are recorded (``nbtools.traces.load`` reads it), from the first on; None where they are not."""
        return self._logbook.path

    # --- the accent

    @property
    def dialect(self) -> Dialect:
        """How calls are read and replies are worded.  Set it, also by name, to change that for the calls to come."""
        return self._dialect

    @dialect.setter
    def dialect(self, dialect: Dialect | str) -> None:
        self._dialect = dialect_named(dialect) if isinstance(dialect, str) else dialect
        self.workspace.seen.required = self._dialect.reads_first if self.settings.read_first is None else self.settings.read_first
        self._tools = SpokenTools(self._registry, self._dialect)

    @property
    def dialects(self) -> tuple[str, ...]:
        """The names of the dialects there are."""
        return dialect_names()

    @property
    def tools(self) -> SpokenTools:
        """The tools in the session's dialect."""
        return self._tools

    def tools_in(self, dialect: Dialect) -> SpokenTools:
        """The same tools in another dialect."""
        return SpokenTools(self._registry, dialect)

    def watch_tools(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Tells ``watcher`` each time that a tool has come or gone, in the thread that did it, until the returned function is called."""
        return self._registry.watch(watcher)

    # --- policy

    def decide(self, name: str, arguments: Mapping[str, Any] | None = None) -> Decision:
        """What policy would say of a call; runs nothing.  A call that could not run at all is denied with the reason."""
        try:
            said = self._dialect.read(name, arguments or _NO_ARGUMENTS)
            return self._scheduler.plan(ToolCallRequest("", self.tools.canonical(said.tool), said.arguments, name)).decision
        except ToolFailure as failure:
            return Decision(Action.DENY, failure.message, failure.code)

    def _judge_by(self, judge: Judge) -> None:
        self._scheduler.judge = judge
        self.workspace.hidden = judge.hidden

    @property
    def policy(self) -> Policy:
        """The session's own rules, without its grants.  Set it to change them for the calls to come."""
        return self._rules.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self._rules.policy = policy

    @property
    def mode(self) -> Mode:
        """The mode in force: the session's own, else that of its layers."""
        return self._rules.judge.mode

    @property
    def programs(self) -> Table | None:
        """The table of programs that commands are judged by; None where the rules add none to those that nbtools brings."""
        return self._rules.judge.table

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The rules below the session's own, the strongest last.  Set them to change them for the calls to come."""
        return self._rules.layers

    @layers.setter
    def layers(self, layers: Iterable[Layer]) -> None:
        self._rules.layers = tuple(layers)

    def tool_named(self, name: str) -> str:
        """The canonical tool that a rule means by a name of some agent's, the session's dialect asked first."""
        return name if name in self._registry else rule_named(tool_named(name, self._dialect), self._server_names.canonical)

    def _reread_rules(self) -> None:
        """What a rule in Gemini CLI's spelling of a server's tool means depends on the tools that there are."""
        if self._rules.names_servers:
            self._rules.renew()

    @property
    def grants(self) -> tuple[str, ...]:
        """What an *always* has allowed for this session, oldest first."""
        return self._rules.given

    @property
    def saved_grants(self) -> tuple[str, ...]:
        """Those that are kept for later sessions, too, as far as this session has them among its layers."""
        return self._rules.saved

    @property
    def granted(self) -> tuple[Grant, ...]:
        """Both, with when and where they come from; reads what is kept on the disk."""
        return self._rules.granted

    @property
    def store(self) -> PolicyStore:
        """Where rules of the person and of this project are kept, with the saved grants and whether the project is trusted."""
        return self._rules.store

    def allow(self, rule: str, *, save: bool = False, by: str = "") -> None:
        """Adds a grant for this session or, with ``save``, for later ones on this workspace, too.  ``by``: the id of the call it answers.

        Raises ``PolicyError`` for what is no rule; ``ToolFailure`` where it cannot be kept, and then nothing has changed.
        """
        self._rules.allow(rule, save=save, by=self._calls.in_words(by))

    def revoke(self, rule: str) -> bool:
        """Takes a grant back, out of what is kept, too.  False when there is none like it.  Raises ``ToolFailure``."""
        return self._rules.revoke(rule)

    # --- tools from elsewhere

    async def discover(self, discovery_command: Command, call_command: Command, *, seconds: float = 60) -> Discovered:
        """Registers the tools that a command of the project's lists, in place of those that were discovered before.

        See ``nbtools.discover``, whose answer says what could not be taken.  Raises ``ToolFailure``; the tools are then what they were.
        """
        return await self._additions.discover(discovery_command, call_command, seconds)

    @property
    def mcp(self) -> McpServers:
        """MCP servers: their tools are among the session's while they are connected.  None is known before it is added or loaded."""
        return self._servers.all

    @property
    def model(self) -> LanguageModel | None:
        """The model that tools and servers may ask for a text (``nbtools.agents.model_named``); None: they say that there is none."""
        return self.workspace.model

    @model.setter
    def model(self, model: LanguageModel | None) -> None:
        self.workspace.model = model

    def toolset(self, *, defer: bool = False) -> SessionToolset:
        """The tools for an agent of pydantic-ai's; with ``defer`` what must be asked ends its run with deferred requests."""
        agents = import_module("nbtools.agents.toolset")  # above this room, and pydantic-ai need not be installed
        return cast("SessionToolset", agents.SessionToolset(self, defer=defer))

    # --- hooks

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """What looks at every call, in this order.  Set it to change that for the calls to come."""
        return self._hooks

    @hooks.setter
    def hooks(self, hooks: Iterable[Hook]) -> None:
        self._hooks = tuple(hooks)
        self._scheduler.hooks = Hooks(self._hooks, str(self.workspace.root), self._calls.prefix) if self._hooks else None

    # --- what there is, and what happened

    def declarations(self, provider: Provider) -> list[Json]:
        """What a model is told of the tools, in the form of ``gemini``, ``anthropic``, ``openai`` or ``mcp``."""
        return declarations(self.tools, provider)

    @property
    def history(self) -> tuple[FinishedCall, ...]:
        """The finished calls, oldest first; the last 10,000 are kept."""
        return tuple(self._scheduler.history)

    @property
    def active(self) -> tuple[LiveCall, ...]:
        """The calls under way, oldest first."""
        return self._scheduler.live

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Tells ``observer`` of every event from now on, until the returned function is called."""
        return self._scheduler.observe(observer)

    # --- life

    def sync(self) -> BlockingSession:
        """The same session without await, usable in any thread; it runs in an event loop of its own until it is closed."""
        return BlockingSession(self)

    async def close(self) -> None:
        """Cancels what is under way and ends what tools keep running; later calls raise ``SessionError``."""
        self._calls.close()
        await self._servers.close()
        await self._scheduler.close()
        await self.workspace.close()
        self._logbook.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


async def _side_by_side(calls: Sequence[Any]) -> list[ToolResult]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]
