"""``%tools mcp``: lists, adds, trusts, connects and removes MCP servers."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nbtools.cards.tables import Sheet
from nbtools.core.errors import ToolFailure
from nbtools.core.message import did_you_mean
from nbtools.mcp.config.catalog import TrustState, start_summary
from nbtools.mcp.config.entries import parse_server
from nbtools.mcp.config.files import add_server, own_file, remove_server
from nbtools.notebook.live_display import LiveDisplay
from nbtools.notebook.magics.sub_commands import SubCommand, inside, refused, sheet_of_lines, without_flags
from nbtools.notebook.mcp.add import FLAGS, parse_addition
from nbtools.notebook.mcp.login import log_in
from nbtools.notebook.mcp.server_details import resources_table, show_resource, tools_table
from nbtools.notebook.mcp.status import config_file_of, entry_of, may_connect_automatically, servers_table

if TYPE_CHECKING:
    from nbtools.notebook.display_target import Bundle, DisplayTarget
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session

_ADD = (
    "NAME -- COMMAND …, or NAME https://… with --header, --env, --sse, --timeout, --trust, --include,"
    " --exclude, --project"
)


class McpCommands:
    """The sub-commands of ``%tools mcp``.  They raise ``NbtoolsError`` with a one-line message."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        self.commands = {
            "mcp": SubCommand(
                "[…]", "MCP servers and their tools; %tools mcp help lists the commands", self._run
            )
        }
        self.words: dict[str, SubCommand] = {
            "": SubCommand("", "list the servers and connect those that may start", self._list),
            "add": SubCommand(
                _ADD,
                "add a server to your own file or, with --project, to the project's .mcp.json",
                self._add,
            ),
            "remove": SubCommand("NAME", "disconnect a server and remove it from its file", self._remove),
            "connect": SubCommand(
                "[NAME …]", "connect these servers, or all that are enabled", self._connect
            ),
            "restart": SubCommand(
                "NAME", "reconnect a server with the current entry of its file", self._restart
            ),
            "trust": SubCommand(
                "NAME [yes|no]", "show what a project's server would run; trust it or not", self._trust
            ),
            "enable": SubCommand(
                "NAME",
                "enable a server in this workspace",
                lambda rest: self._switch("enable", rest, on=True),
            ),
            "disable": SubCommand(
                "NAME",
                "disable a server in this workspace",
                lambda rest: self._switch("disable", rest, on=False),
            ),
            "tools": SubCommand("NAME", "list a server's tools", self._tools),
            "resources": SubCommand("NAME", "list a server's resources", self._resources),
            "read": SubCommand("[NAME] URI", "read a resource", self._read),
            "login": SubCommand("NAME", "log in with the browser", self._login),
            "logout": SubCommand("NAME", "delete the stored login", self._logout),
            "help": SubCommand("", "show this list", self._help),
        }

    @property
    def _session(self) -> Session:
        return self._runtime.session

    def _run(self, rest: list[str]) -> Sheet | None:
        word, *more = rest or [""]
        command = self.words.get(word.rstrip("?") or ("help" if word else ""))
        if command is None:
            known = [known for known in self.words if known]
            raise refused(
                f"%tools mcp has no command {word!r}.{did_you_mean(word, known)} See %tools mcp help."
            )
        inside(self._runtime, lambda session: session.mcp.load())
        return command.run(more)

    def _help(self, _: list[str]) -> Sheet:
        rows = tuple(
            (f"%tools mcp {word} {command.takes}".strip(), command.says)
            for word, command in self.words.items()
        )
        return Sheet(
            "", rows, ("A server connects when one of its tools is called, or when an agent starts.",)
        )

    # --- connecting

    def _list(self, _: list[str]) -> Sheet | None:
        mcp = self._session.mcp
        waiting = [
            name for name, one in mcp.connections.items() if may_connect_automatically(self._session, one)
        ]
        if not waiting:
            return servers_table(self._session)
        self._with_live_table(mcp.connect(*waiting))
        return None

    def _connect(self, names: list[str]) -> Sheet | None:
        mcp = self._session.mcp
        for name in names:
            mcp.get(name)
        chosen = names or [name for name, one in mcp.connections.items() if not one.server.disabled]
        if not chosen:
            return servers_table(self._session)
        self._with_live_table(mcp.connect(*chosen), names=names)
        return None

    def _restart(self, rest: list[str]) -> None:
        name = self._server_name(rest, "restart")
        self._with_live_table(self._session.mcp.restart(name), names=[name])

    def _with_live_table(
        self, work: Coroutine[Any, Any, None], title: str = "", names: list[str] | None = None
    ) -> None:
        """Shows a table that follows the servers' states during ``work``.
        A server's failure appears as its state.
        """

        async def work_and_show(target: DisplayTarget) -> None:
            def table() -> Bundle:
                return servers_table(self._session, title, names or ()).bundle()

            display = LiveDisplay(target)
            display.update(table)
            unsubscribe = self._session.mcp.watch(lambda _: display.update(table))
            try:
                with suppress(ToolFailure):
                    await work
            finally:
                unsubscribe()
                display.update(table)
                display.finish()

        self._runtime.bridge.run_work(work_and_show)

    # --- configuration

    def _add(self, rest: list[str]) -> None:
        addition = parse_addition(rest)
        name, session = addition.name, self._session
        parse_server(name, addition.entry, os.environ)
        if name in session.mcp.connections:
            where = config_file_of(session, entry_of(session, session.mcp.connections[name]))
            raise refused(
                f"An MCP server named {name!r} exists already ({where}). Run %tools mcp remove {name} first,"
                " or choose another name."
            )
        path = session.workspace.root / ".mcp.json" if addition.project else own_file()

        def change(session: Session) -> None:
            add_server(path, name, addition.entry)
            session.mcp.load()
            if addition.project:
                session.mcp.catalogue.trust(session.mcp.catalogue.get(name))

        inside(self._runtime, change)
        self._with_live_table(session.mcp.connect(name), f"Added to {path}.", [name])

    def _remove(self, rest: list[str]) -> Sheet:
        name = self._server_name(rest, "remove")
        named = entry_of(self._session, self._session.mcp.get(name))
        if named is not None and not named.origin.project and named.origin.path != own_file():
            raise refused(_OWNED_BY_CLAUDE.format(name=name, path=named.origin.path))
        if named is not None:
            remove_server(named.origin.path, name)
        self._runtime.blocking.run(self._removed(name))
        return sheet_of_lines(f"Removed {name}{f' from {named.origin.path}' if named else ''}.")

    async def _removed(self, name: str) -> None:
        await self._session.mcp.remove(name)
        self._session.mcp.load()

    def _switch(self, word: str, rest: list[str], *, on: bool) -> Sheet:
        name = self._server_name(rest, word)
        self._runtime.blocking.run(self._session.mcp.switch(name, on=on))
        return servers_table(
            self._session, f"{name} is {'enabled' if on else 'disabled'} in this workspace.", (name,)
        )

    def _trust(self, rest: list[str]) -> Sheet | None:
        if not rest or len(rest) > 2 or rest[1:] not in ([], ["yes"], ["no"]):
            raise refused(
                "%tools mcp trust needs a name, then yes or no; with the name alone it shows what the server"
                " would run."
            )
        name, catalogue = rest[0], self._session.mcp.catalogue
        named = catalogue.get(name)
        trust = catalogue.trust_state(named)
        if trust is TrustState.OWN:
            return sheet_of_lines(
                f"{name} needs no trust: it is configured in your own file {named.origin.path}."
            )
        if rest[1:] == ["yes"]:
            inside(self._runtime, lambda _: catalogue.trust(named))
            self._with_live_table(
                self._session.mcp.connect(name), "Trusted until its entry in the file changes.", [name]
            )
            return None
        if rest[1:] == ["no"]:
            inside(self._runtime, lambda _: catalogue.distrust(name))
            self._runtime.blocking.run(self._session.mcp.get(name).close())
            return sheet_of_lines(f"{name} is no longer trusted and will not start.")
        answer = "no revokes the trust" if trust is TrustState.TRUSTED else "yes trusts it until this changes"
        hint = f"%tools mcp trust {name} {answer}."
        return Sheet(
            f"{name} of this project's {config_file_of(self._session, named)}: {trust.value}",
            start_summary(named),
            (hint,),
            (),
            frozenset({1}),
        )

    # --- tools and resources

    def _tools(self, rest: list[str]) -> Sheet:
        name = self._server_name(rest, "tools")
        return self._runtime.bridge.run_work(lambda _: tools_table(self._session, name))

    def _resources(self, rest: list[str]) -> Sheet:
        name = self._server_name(rest, "resources")
        return self._runtime.bridge.run_work(lambda _: resources_table(self._session, name))

    def _read(self, rest: list[str]) -> None:
        if len(rest) not in (1, 2):
            raise refused(
                "%tools mcp read needs a URI, with the server's name before it if several servers have"
                " resources: read docs docs://a"
            )
        *server, uri = rest
        self._runtime.bridge.run_work(
            lambda target: show_resource(self._session, server[0] if server else "", uri, target)
        )

    # --- logins

    def _login(self, rest: list[str]) -> None:
        log_in(self._runtime, self._server_name(rest, "login"))

    def _logout(self, rest: list[str]) -> Sheet:
        name = self._server_name(rest, "logout")
        self._runtime.blocking.run(self._session.mcp.logout(name))
        return sheet_of_lines(f"Deleted the stored login of {name}.")

    def _server_name(self, rest: list[str], word: str) -> str:
        """Returns the name of an existing server."""
        names, _ = without_flags(rest, f"mcp {word}")
        known = ", ".join(self._session.mcp.connections) or "none yet"
        if len(names) != 1:
            raise refused(f"%tools mcp {word} needs the name of a server. Known servers: {known}.")
        self._session.mcp.get(names[0])
        return names[0]


_OWNED_BY_CLAUDE = (
    "{name} is configured in Claude Code ({path}). Remove it there with claude mcp remove {name}, "
    "or disable it here with %tools mcp disable {name}."
)


def complete_line(runtime: NotebookRuntime, line: list[str], fragment: str) -> list[str]:
    """Returns completions of a line of ``%tools mcp``, without connecting anything."""
    words, session = McpCommands(runtime).words, runtime.session
    if not line:
        return [word for word in words if word]
    word, *before = line
    if word == "add":
        return [flag for flag in FLAGS if fragment.startswith("-")]
    if word == "trust":
        return (
            [name for name, one in session.mcp.catalogue.servers.items() if one.origin.project]
            if not before
            else ["yes", "no"]
        )
    takes_one = word in words and "NAME" in words[word].takes and (not before or word == "connect")
    return [name for name in session.mcp.connections if name not in before] if takes_one else []
