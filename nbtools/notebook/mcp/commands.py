"""``%tools mcp``: servers to look at, to add, to trust, to connect and to leave."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import ToolFailure
from nbtools.core.parameters import did_you_mean
from nbtools.notebook.attending import SheetInPlace, attended
from nbtools.notebook.mcp.adding import FLAGS, read_addition
from nbtools.notebook.mcp.login import log_in
from nbtools.notebook.mcp.offers import resources_sheet, tools_sheet
from nbtools.notebook.mcp.reading import show_resource
from nbtools.notebook.mcp.states import file_of, named_of, sheet_of, starts_unasked
from nbtools.notebook.sheets import Sheet
from nbtools.notebook.sub_commands import SubCommand, inside, refused, said, without_flags
from nbtools.sources.mcp.catalogue import Standing, would
from nbtools.sources.mcp.settings.entries import settings_of
from nbtools.sources.mcp.settings.reading import own_file
from nbtools.sources.mcp.settings.writing import add_server, remove_server

if TYPE_CHECKING:
    from nbtools.notebook.places import Place
    from nbtools.notebook.workbench import Workbench
    from nbtools.session import Session

_ADD = "NAME -- COMMAND …, or NAME https://… with --header, --env, --sse, --timeout, --trust, --include, --exclude, --project"


class McpCommands:
    """The words behind ``%tools mcp``.  Raises ``NbtoolsError`` in one clear line."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.commands = {"mcp": SubCommand("[…]", "MCP servers and their tools; %tools mcp help lists what can be done", self._run)}
        self.words: dict[str, SubCommand] = {
            "": SubCommand("", "the servers, connecting those that may start", self._list),
            "add": SubCommand(_ADD, "add one to your own file or, with --project, to the project's .mcp.json", self._add),
            "remove": SubCommand("NAME", "leave one and take it out of its file", self._remove),
            "connect": SubCommand("[NAME …]", "connect these, or all that are on", self._connect),
            "restart": SubCommand("NAME", "leave one and connect it anew, as its file says it now", self._restart),
            "trust": SubCommand("NAME [yes|no]", "what a project's server would run; let it, or not", self._trust),
            "enable": SubCommand("NAME", "switch one on in this workspace", lambda rest: self._switch("enable", rest, on=True)),
            "disable": SubCommand("NAME", "switch one off in this workspace", lambda rest: self._switch("disable", rest, on=False)),
            "tools": SubCommand("NAME", "its tools, and what it says that they do", self._tools),
            "resources": SubCommand("NAME", "what there is to read", self._resources),
            "read": SubCommand("[NAME] URI", "read one of them", self._read),
            "login": SubCommand("NAME", "log in, in the browser", self._login),
            "logout": SubCommand("NAME", "forget the login", self._logout),
            "help": SubCommand("", "this list", self._help),
        }

    @property
    def _session(self) -> Session:
        return self._bench.session

    def _run(self, rest: list[str]) -> Sheet | None:
        word, *more = rest or [""]
        command = self.words.get(word.rstrip("?") or ("help" if word else ""))
        if command is None:
            known = [known for known in self.words if known]
            raise refused(f"%tools mcp has no {word!r}.{did_you_mean(word, known)} See %tools mcp help.")
        inside(self._bench, lambda session: session.mcp.load())
        return command.run(more)

    def _help(self, _: list[str]) -> Sheet:
        rows = tuple((f"%tools mcp {word} {command.takes}".strip(), command.says) for word, command in self.words.items())
        return Sheet("", rows, ("A server connects when one of its tools is called, or when an agent starts.",))

    # --- connecting

    def _list(self, _: list[str]) -> Sheet | None:
        mcp = self._session.mcp
        waiting = [name for name, one in mcp.connections.items() if starts_unasked(self._session, one)]
        if not waiting:
            return sheet_of(self._session)
        self._in_place(mcp.connect(*waiting))
        return None

    def _connect(self, names: list[str]) -> Sheet | None:
        mcp = self._session.mcp
        for name in names:
            mcp.named(name)
        wanted = names or [name for name, one in mcp.connections.items() if not one.server.disabled]
        if not wanted:
            return sheet_of(self._session)
        self._in_place(mcp.connect(*wanted), names=names)
        return None

    def _restart(self, rest: list[str]) -> None:
        name = self._one(rest, "restart")
        self._in_place(self._session.mcp.restart(name), names=[name])

    def _in_place(self, work: Coroutine[Any, Any, None], title: str = "", names: list[str] | None = None) -> None:
        """A sheet that follows the servers' states while that is done; what goes wrong with a server is its state."""

        async def there(place: Place) -> None:
            sheet = SheetInPlace(place, lambda: sheet_of(self._session, title, names or ()))
            sheet.turn()
            end = self._session.mcp.watch(lambda _: sheet.turn())
            try:
                with suppress(ToolFailure):
                    await work
            finally:
                end()
                sheet.finish()

        attended(self._bench, there)

    # --- what is known

    def _add(self, rest: list[str]) -> None:
        addition = read_addition(rest)
        name, session = addition.name, self._session
        settings_of(name, addition.entry, os.environ)
        if name in session.mcp.connections:
            where = file_of(session, named_of(session, session.mcp.connections[name]))
            raise refused(f"There is an MCP server {name!r} already ({where}): %tools mcp remove {name} first, or take another name.")
        path = session.workspace.root / ".mcp.json" if addition.project else own_file()

        def change(session: Session) -> None:
            add_server(path, name, addition.entry)
            session.mcp.load()
            if addition.project:
                session.mcp.catalogue.trust(session.mcp.catalogue.get(name))

        inside(self._bench, change)
        self._in_place(session.mcp.connect(name), f"Added to {path}.", [name])

    def _remove(self, rest: list[str]) -> Sheet:
        name = self._one(rest, "remove")
        named = named_of(self._session, self._session.mcp.named(name))
        if named is not None and not named.origin.project and named.origin.path != own_file():
            raise refused(_CLAUDES.format(name=name, path=named.origin.path))
        if named is not None:
            remove_server(named.origin.path, name)
        self._bench.blocking.run(self._removed(name))
        return said(f"{name} is gone{f' from {named.origin.path}' if named else ''}.")

    async def _removed(self, name: str) -> None:
        await self._session.mcp.remove(name)
        self._session.mcp.load()

    def _switch(self, word: str, rest: list[str], *, on: bool) -> Sheet:
        name = self._one(rest, word)
        self._bench.blocking.run(self._session.mcp.switch(name, on=on))
        return sheet_of(self._session, f"{name} is {'on' if on else 'off'} in this workspace.", (name,))

    def _trust(self, rest: list[str]) -> Sheet | None:
        if not rest or len(rest) > 2 or rest[1:] not in ([], ["yes"], ["no"]):
            raise refused("%tools mcp trust takes a name and then yes or no; with the name alone it shows what would run.")
        name, catalogue = rest[0], self._session.mcp.catalogue
        named = catalogue.get(name)
        standing = catalogue.standing(named)
        if standing is Standing.OWN:
            return said(f"{name} is named in {named.origin.path}, which is yours: it needs no trust.")
        if rest[1:] == ["yes"]:
            inside(self._bench, lambda _: catalogue.trust(named))
            self._in_place(self._session.mcp.connect(name), "Trusted, as long as its entry stays as it is.", [name])
            return None
        if rest[1:] == ["no"]:
            inside(self._bench, lambda _: catalogue.distrust(name))
            self._bench.blocking.run(self._session.mcp.named(name).close())
            return said(f"{name} is not trusted any more, and does not start.")
        how = f"%tools mcp trust {name} {'no takes that back' if standing is Standing.TRUSTED else 'yes lets it, as long as it says this'}."
        return Sheet(
            f"{name} of this project's {file_of(self._session, named)}: {standing.value}", would(named), (how,), (), frozenset({1})
        )

    # --- what it has

    def _tools(self, rest: list[str]) -> Sheet:
        name = self._one(rest, "tools")
        return attended(self._bench, lambda _: tools_sheet(self._session, name))

    def _resources(self, rest: list[str]) -> Sheet:
        name = self._one(rest, "resources")
        return attended(self._bench, lambda _: resources_sheet(self._session, name))

    def _read(self, rest: list[str]) -> None:
        if len(rest) not in (1, 2):
            raise refused("%tools mcp read takes an address, and the server's name before it where several have such: read docs docs://a")
        *server, uri = rest
        attended(self._bench, lambda place: show_resource(self._session, server[0] if server else "", uri, place))

    # --- logins

    def _login(self, rest: list[str]) -> None:
        log_in(self._bench, self._one(rest, "login"))

    def _logout(self, rest: list[str]) -> Sheet:
        name = self._one(rest, "logout")
        self._bench.blocking.run(self._session.mcp.logout(name))
        return said(f"The login of {name} is forgotten.")

    def _one(self, rest: list[str], word: str) -> str:
        """The name of a server that there is."""
        names, _ = without_flags(rest, f"mcp {word}")
        known = ", ".join(self._session.mcp.connections) or "none is known yet"
        if len(names) != 1:
            raise refused(f"%tools mcp {word} takes a server's name; there is: {known}.")
        self._session.mcp.named(names[0])
        return names[0]


_CLAUDES = "{name} is kept by Claude Code ({path}): claude mcp remove {name}, or %tools mcp disable {name} to do without it here."


def offered(bench: Workbench, given: list[str], fragment: str) -> list[str]:
    """What may come next on a line of ``%tools mcp``; nothing is connected for it."""
    words, session = McpCommands(bench).words, bench.session
    if not given:
        return [word for word in words if word]
    word, *before = given
    if word == "add":
        return [flag for flag in FLAGS if fragment.startswith("-")]
    if word == "trust":
        return [name for name, one in session.mcp.catalogue.named.items() if one.origin.project] if not before else ["yes", "no"]
    takes_one = word in words and "NAME" in words[word].takes and (not before or word == "connect")
    return [name for name in session.mcp.connections if name not in before] if takes_one else []
