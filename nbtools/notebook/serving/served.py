"""A notebook that serves: the lantern by which servers find it, and the cell in which their calls stand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.dialects import dialect as dialect_named
from nbtools.notebook.frontend import Kernel
from nbtools.notebook.places import KernelScreen, Place
from nbtools.notebook.serving.stand import Stand
from nbtools.serving.beacon import Lantern
from nbtools.serving.session_offer import SessionOffer

if TYPE_CHECKING:
    from nbtools.notebook.workbench import Workbench
    from nbtools.serving.offer import Offer


class Served:
    """From ``%tools serve`` to its end.  Raises ``ToolFailure`` where no cell can show the calls, or no socket be made."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        place, cell = _here(bench)
        self._session = bench.session
        self._root = Path(self._session.workspace.root)
        self._notebook = _name(bench, self._root)
        self._stand = Stand(self._root, place, cell, bench.bridge.show_at)
        self._forget = self._session.observe(self._stand)
        self._light()

    def move(self) -> None:
        """To the cell that runs; of several notebooks this is then the one that served last."""
        place, cell = _here(self._bench)
        self._bench.blocking.run(self._lantern.renew())
        self._stand.move(place, cell)

    def close(self, why: str = "Serving has ended.") -> None:
        """Cancels what clients have under way."""
        self._bench.blocking.run(self._lantern.put_out())
        self._forget()
        self._stand.end(why)

    def _light(self) -> None:
        self._lantern = Lantern(self._root, self._notebook, self._offer, self._stand.count)
        try:
            self._bench.blocking.run(self._lantern.light())
        except OSError as error:
            self._forget()
            raise from_os_error(error, "The socket for MCP clients") from None

    def _offer(self, dialect: str) -> Offer:
        about = f"What must be asked is asked in the notebook {self._notebook}."
        return SessionOffer(self._session, dialect_named(dialect), about, self._stand.expect)


def _here(bench: Workbench) -> tuple[Place, KernelScreen]:
    """The cell that runs, which must be one that goes on showing what comes."""
    place = bench.frontend.place(None, early=True)
    if not isinstance(bench.frontend, Kernel) or not isinstance(place.screen, KernelScreen):
        what = "%tools serve needs a notebook's cell that is not captured: it shows the calls of clients, and asks there."
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, what)
    return place, place.screen


def _name(bench: Workbench, root: Path) -> str:
    """The notebook as the person knows it."""
    file = bench.live.own_file if bench.live else None
    return os.path.relpath(file, root) if file else f"of kernel {os.getpid()}"
