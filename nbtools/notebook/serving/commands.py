"""The sub-command of ``%tools`` that lets MCP clients in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtools.notebook.sub_commands import SubCommand, one_of, refused, said

if TYPE_CHECKING:
    from nbtools.notebook.sheets import Sheet
    from nbtools.notebook.workbench import Workbench


class ServeCommands:
    """The sub-commands.  Raises ``NbtoolsError`` in one clear line."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.commands = {
            "serve": SubCommand("[off]", "let MCP clients call the tools: nbtools mcp connects them, and asks here", self._serve),
        }

    def _serve(self, rest: list[str]) -> Sheet | None:
        if rest:
            return self._end(one_of(rest, "serve", "off"))
        from nbtools.notebook.serving.served import Served  # noqa: PLC0415 - loaded when somebody is served

        if self._bench.served is None:
            self._bench.served = Served(self._bench)
        else:
            self._bench.served.move()
        return None  # it has shown itself

    def _end(self, word: str) -> Sheet:
        if word != "off":
            raise refused(f"%tools serve takes nothing or off, not {word!r}.")
        return said("Serving has ended." if self._bench.stop_serving("Serving has ended.") else "This notebook does not serve.")
