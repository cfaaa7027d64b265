"""Runs cells of notebooks that are not open, each in a kernel that runs until the session closes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.notebooks.cell_outputs import Output

if TYPE_CHECKING:
    from nbclient import NotebookClient
    from nbformat import NotebookNode

START_TIMEOUT = 60
"""Seconds that a kernel may take to start."""
INTERRUPT_TIMEOUT = 5.0
"""Seconds for an interrupted cell to end before its kernel is killed."""

OutputCallback = Callable[[Sequence[Output]], None]
"""Callback that gets the outputs so far after each message."""


@dataclass(frozen=True, slots=True)
class CellRun:
    """The outcome of running a cell.

    ``failed``: it raised an exception; ``timed_out``: it was interrupted at its timeout;
    ``lost``: its kernel died; ``queued``: it has not run yet.
    """

    outputs: tuple[Output, ...]
    count: int | None
    failed: bool = False
    timed_out: bool = False
    lost: bool = False
    queued: bool = False


class Kernels:
    """One kernel for each notebook, started by its first run. Belongs to one event loop."""

    def __init__(self) -> None:
        self._kernels: dict[Path, asyncio.Task[_Kernel]] = {}

    async def run_code(
        self, notebook: Path, kernel: str, source: str, timeout: float, watch: OutputCallback
    ) -> CellRun:  # noqa: ASYNC109
        """Runs code in the kernel of ``notebook``; ``kernel`` is its kernel spec (empty: the default).

        Interrupts the code when cancelled.
        Raises ``ToolFailure`` (``execution_failed``) if the kernel cannot be started.
        """
        starting = self._kernels.get(notebook)
        if starting is None or (starting.done() and (starting.cancelled() or starting.exception())):
            starting = self._kernels[notebook] = asyncio.create_task(_start(notebook, kernel))
        running = await asyncio.shield(starting)
        try:
            return await running.run(source, timeout, watch)
        finally:
            if not running.is_alive:
                self._kernels.pop(notebook, None)
                await running.close()

    async def close(self) -> None:
        while self._kernels:
            _, starting = self._kernels.popitem()
            with suppress(ToolFailure):
                await (await starting).close()


class _Kernel:
    """A running kernel and its client."""

    def __init__(self, client: NotebookClient) -> None:
        self._client: Any = client
        self._manager: Any = client.km
        self._run_lock = asyncio.Lock()
        self.is_alive = True

    async def run(
        self, source: str, timeout: float, watch: OutputCallback
    ) -> CellRun:  # noqa: ASYNC109 - an interrupt is more than a cancellation
        from nbformat.v4 import new_code_cell  # noqa: PLC0415 - nbclient's own, loaded with it

        async with self._run_lock:
            cell = new_code_cell(source)  # type: ignore[no-untyped-call]
            self._client.watch = watch
            self._client.nb.cells = [cell]
            work = asyncio.create_task(self._client.async_execute_cell(cell, 0))
            try:
                done, _ = await asyncio.wait({work}, timeout=timeout)
            except asyncio.CancelledError:
                await self._stop(work)
                raise
            if not done:
                await self._stop(work)
            return self._outcome(work, cell, timed_out=not done)

    async def close(self) -> None:
        with suppress(RuntimeError):  # it has already ended
            await self._client._async_cleanup_kernel()  # noqa: SLF001 - nbclient's only way to end a kernel that outlives a cell

    async def _stop(self, work: asyncio.Task[object]) -> None:
        """Interrupts the code, repeatedly in case the first came too early; then kills the kernel."""
        for _ in range(int(INTERRUPT_TIMEOUT)):
            with suppress(RuntimeError):  # the kernel has ended
                await self._manager.interrupt_kernel()
            if (await asyncio.wait({work}, timeout=1))[0]:
                return
        self.is_alive = False
        await self._manager.shutdown_kernel(now=True)
        work.cancel()
        await asyncio.wait({work}, timeout=1)

    def _outcome(self, work: asyncio.Task[object], cell: NotebookNode, *, timed_out: bool) -> CellRun:
        from nbclient.exceptions import DeadKernelError  # noqa: PLC0415 - loaded when the kernel was started

        problem = None if work.cancelled() else work.exception()
        if isinstance(problem, DeadKernelError):
            self.is_alive = False
        elif problem is not None:
            raise problem
        outputs = tuple(_plain(output) for output in cell.outputs)
        failed = any(output.get("output_type") == "error" for output in outputs)
        return CellRun(
            outputs, cell.execution_count, failed and not timed_out, timed_out, lost=not self.is_alive
        )


async def _start(notebook: Path, name: str) -> _Kernel:
    """Starts a kernel as Jupyter does for this notebook: in its folder, with its path in the environment."""
    if find_spec("nbclient") is None:
        raise ToolFailure(
            ErrorCode.EXECUTION_FAILED,
            'Running cells needs nbclient: pip install "nbtools-agent[notebooks]".',
        )
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel  # noqa: PLC0415 - as above
    from jupyter_client.manager import AsyncKernelManager  # noqa: PLC0415 - takes a third of a second
    from nbclient import NotebookClient  # noqa: PLC0415 - as above
    from nbformat.v4 import new_notebook  # noqa: PLC0415 - as above

    class Watched(NotebookClient):
        watch: OutputCallback

        def process_message(
            self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
        ) -> NotebookNode | None:
            output = super().process_message(msg, cell, cell_index)
            self.watch(cell.outputs)
            return output

    manager = AsyncKernelManager(kernel_name=name or "python3")
    client = Watched(new_notebook(), km=manager, timeout=None, allow_errors=True, startup_timeout=START_TIMEOUT)  # type: ignore[no-untyped-call]
    try:
        await client.async_start_new_kernel(
            cwd=str(notebook.parent), env=_environment(os.environ, notebook), stdout=DEVNULL, stderr=DEVNULL
        )
        await client.async_start_new_kernel_client()
    except NoSuchKernel:
        installed = ", ".join(sorted(KernelSpecManager().find_kernel_specs())) or "none"
        raise ToolFailure(
            ErrorCode.EXECUTION_FAILED, f"Kernel {name!r} is not installed. Installed kernels: {installed}."
        ) from None
    except (RuntimeError, OSError) as error:
        raise ToolFailure(
            ErrorCode.EXECUTION_FAILED, f"The kernel {name or 'python3'!r} did not start: {error}"
        ) from None
    return _Kernel(client)


def _environment(outer: Mapping[str, str], notebook: Path) -> dict[str, str]:
    """Returns this process's environment without the variables of its own kernel."""
    result = {name: value for name, value in outer.items() if not name.startswith("JPY_")}
    return {**result, "JPY_SESSION_NAME": str(notebook)}


def _plain(output: Mapping[str, Any]) -> Output:
    """Converts an output to plain dicts, with members in nbformat's order."""
    return {
        key: _plain(value) if isinstance(value, Mapping) else value for key, value in sorted(output.items())
    }
