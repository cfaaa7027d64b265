"""``%tools mcp``: lists, adds, trusts, connects and removes MCP servers."""

from __future__ import annotations

import os
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtools.cards.tables import Sheet
from nbtools.core.errors import ToolFailure
from nbtools.mcp.config.catalog import TrustState, start_summary
from nbtools.mcp.config.entries import parse_server
from nbtools.mcp.config.files import add_server, own_file, remove_server
from nbtools.notebook.live_display import LiveDisplay
from nbtools.notebook.magics.flags import refused, word, word_list
from nbtools.notebook.magics.sub_commands import CommandSet, SubCommand, inside, sheet_of_lines
from nbtools.notebook.mcp.add import ARGUMENTS, HINT, begins_command, server_addition
from nbtools.notebook.mcp.login import log_in
from nbtools.notebook.mcp.server_details import resources_table, show_resource, tools_table
from nbtools.notebook.mcp.status import config_file_of, entry_of, may_connect_automatically, servers_table

if TYPE_CHECKING:
    from nbtools.notebook.display_target import Bundle, DisplayTarget
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session


def mcp_commands(runtime: NotebookRuntime) -> CommandSet:
    """Returns the sub-commands of ``%tools mcp``.  They raise ``NbtoolsError`` with a one-line message."""
    mcp = _McpCommands(runtime)

    def unnamed(before: list[str], _: str) -> list[str]:
        return [name for name in runtime.session.mcp.connections if name not in before]

    # Optional, so that the error for a missing name lists the servers that there are.
    server = (word("name", required=False, offers=unnamed),)
    of_server = partial(
        SubCommand, arguments=server, hint="needs the name of a server. %tools mcp lists them.", usage="NAME"
    )
    return CommandSet(
        "%tools mcp",
        SubCommand("", "list the servers and connect those that may start", mcp.list_servers),
        SubCommand(
            "add",
            "add a server to your own file or, with --project, to the project's .mcp.json",
            mcp.add,
            ARGUMENTS,
            HINT,
            "NAME -- COMMAND …, or NAME https://… with --header, --env, --sse, --timeout, --trust, --include,"
            " --exclude, --project",
            begins_command,
        ),
        of_server("remove", "disconnect a server and remove it from its file", mcp.remove),
        SubCommand(
            "connect",
            "connect these servers, or all that are enabled",
            mcp.connect,
            (word_list("names", required=False, offers=unnamed),),
        ),
        of_server("restart", "reconnect a server with the current entry of its file", mcp.restart),
        SubCommand(
            "trust",
            "show what a project's server would run; trust it or not",
            mcp.trust,
            (
                word("name", offers=mcp.project_servers),
                word("answer", choices=("yes", "no"), required=False),
            ),
            "needs a name, then yes or no; with the name alone it shows what the server would run.",
        ),
        of_server("enable", "enable a server in this workspace", partial(mcp.switch, "enable", on=True)),
        of_server("disable", "disable a server in this workspace", partial(mcp.switch, "disable", on=False)),
        of_server("tools", "list a server's tools", mcp.tools),
        of_server("resources", "list a server's resources", mcp.resources),
        SubCommand(
            "read",
            "read a resource",
            mcp.read,
            (word_list("words", offers=lambda before, _: () if before else unnamed(before, _)),),
            _READ_HINT,
            "[NAME] URI",
        ),
        of_server("login", "log in with the browser", mcp.login),
        of_server("logout", "delete the stored login", mcp.logout),
        about="MCP servers and their tools; %tools mcp help lists the commands",
        footer="A server connects when one of its tools is called, or when an agent starts.",
        prepare=lambda: inside(runtime, lambda session: session.mcp.load()),
    )


_READ_HINT = (
    "needs a URI, with the server's name before it if several servers have resources: read docs docs://a"
)


class _McpCommands:
    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime

    @property
    def _session(self) -> Session:
        return self._runtime.session

    def project_servers(self, *_: object) -> list[str]:
        servers = self._session.mcp.catalogue.servers
        return [name for name, one in servers.items() if one.origin.project]

    # --- connecting

    def list_servers(self) -> Sheet | None:
        mcp = self._session.mcp
        waiting = [
            name for name, one in mcp.connections.items() if may_connect_automatically(self._session, one)
        ]
        if not waiting:
            return servers_table(self._session)
        self._with_live_table(mcp.connect(*waiting))
        return None

    def connect(self, names: Sequence[str] = ()) -> Sheet | None:
        mcp = self._session.mcp
        for name in names:
            mcp.get(name)
        chosen = names or [name for name, one in mcp.connections.items() if not one.server.disabled]
        if not chosen:
            return servers_table(self._session)
        self._with_live_table(mcp.connect(*chosen), names=names)
        return None

    def restart(self, name: str = "") -> None:
        self._check_name(name, "restart")
        self._with_live_table(self._session.mcp.restart(name), names=[name])

    def _with_live_table(
        self, work: Coroutine[Any, Any, None], title: str = "", names: Sequence[str] = ()
    ) -> None:
        """Shows a table that follows the servers' states during ``work``.
        A server's failure appears as its state.
        """

        async def work_and_show(target: DisplayTarget) -> None:
            def table() -> Bundle:
                return servers_table(self._session, title, names).bundle()

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

    def add(self, name: str, target: list[str], **flags: Any) -> None:
        addition, session = server_addition(name, target, **flags), self._session
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

    def remove(self, name: str = "") -> Sheet:
        self._check_name(name, "remove")
        named = entry_of(self._session, self._session.mcp.get(name))
        if named is not None and not named.origin.project and named.origin.path != own_file():
            raise refused(_OWNED_BY_CLAUDE.format(name=name, path=named.origin.path))
        if named is not None:
            remove_server(named.origin.path, name)

        async def remove() -> None:
            await self._session.mcp.remove(name)
            self._session.mcp.load()

        self._runtime.blocking.run(remove())
        return sheet_of_lines(f"Removed {name}{f' from {named.origin.path}' if named else ''}.")

    def switch(self, verb: str, name: str = "", *, on: bool) -> Sheet:
        self._check_name(name, verb)
        self._runtime.blocking.run(self._session.mcp.switch(name, on=on))
        return servers_table(
            self._session, f"{name} is {'enabled' if on else 'disabled'} in this workspace.", (name,)
        )

    def trust(self, name: str, answer: str = "") -> Sheet | None:
        catalogue = self._session.mcp.catalogue
        named = catalogue.get(name)
        trust = catalogue.trust_state(named)
        if trust is TrustState.OWN:
            return sheet_of_lines(
                f"{name} needs no trust: it is configured in your own file {named.origin.path}."
            )
        if answer == "yes":
            inside(self._runtime, lambda _: catalogue.trust(named))
            self._with_live_table(
                self._session.mcp.connect(name), "Trusted until its entry in the file changes.", [name]
            )
            return None
        if answer == "no":
            inside(self._runtime, lambda _: catalogue.distrust(name))
            self._runtime.blocking.run(self._session.mcp.get(name).close())
            return sheet_of_lines(f"{name} is no longer trusted and will not start.")
        effect = "no revokes the trust" if trust is TrustState.TRUSTED else "yes trusts it until this changes"
        hint = f"%tools mcp trust {name} {effect}."
        return Sheet(
            f"{name} of this project's {config_file_of(self._session, named)}: {trust.value}",
            start_summary(named),
            (hint,),
            (),
            frozenset({1}),
        )

    # --- tools and resources

    def tools(self, name: str = "") -> Sheet:
        self._check_name(name, "tools")
        return self._runtime.bridge.run_work(lambda _: tools_table(self._session, name))

    def resources(self, name: str = "") -> Sheet:
        self._check_name(name, "resources")
        return self._runtime.bridge.run_work(lambda _: resources_table(self._session, name))

    def read(self, words: list[str]) -> None:
        if len(words) > 2:
            raise refused(f"%tools mcp read {_READ_HINT}")
        *server, uri = words
        self._runtime.bridge.run_work(
            lambda target: show_resource(self._session, server[0] if server else "", uri, target)
        )

    # --- logins

    def login(self, name: str = "") -> None:
        self._check_name(name, "login")
        log_in(self._runtime, name)

    def logout(self, name: str = "") -> Sheet:
        self._check_name(name, "logout")
        self._runtime.blocking.run(self._session.mcp.logout(name))
        return sheet_of_lines(f"Deleted the stored login of {name}.")

    def _check_name(self, name: str, verb: str) -> None:
        """Raises ``ToolFailure`` unless it is the name of a server."""
        if not name:
            known = ", ".join(self._session.mcp.connections) or "none yet"
            raise refused(f"%tools mcp {verb} needs the name of a server. Known servers: {known}.")
        self._session.mcp.get(name)


_OWNED_BY_CLAUDE = (
    "{name} is configured in Claude Code ({path}). Remove it there with claude mcp remove {name}, "
    "or disable it here with %tools mcp disable {name}."
)
