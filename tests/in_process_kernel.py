"""A kernel in a thread of the tests' process:
IPython's, with the messages that a page would send it and get, and no sockets.

It costs a hundredth of a second, where a process of its own costs a second or more.
It cannot be interrupted: signals reach the main thread only.
"""

from __future__ import annotations

import asyncio
import atexit
import io
import json
import logging
import sys
import threading
import types
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import redirect_stdout
from typing import Any
from unittest.mock import patch

from jupyter_client.jsonutil import json_default
from jupyter_client.session import Session
from tornado.ioloop import IOLoop
from traitlets.config import Config

if "ipykernel.debugger" not in sys.modules:
    sys.modules["debugpy"] = None  # type: ignore[assignment]  # a debugger would slow down what this process does afterwards
    import ipykernel.debugger  # noqa: F401 - only its import looks for debugpy

    del sys.modules["debugpy"]

from ipykernel.ipkernel import IPythonKernel
from ipykernel.zmqshell import ZMQInteractiveShell

Message = dict[str, Any]
LIMIT = 60.0
"""Seconds to wait for what must happen."""


class InProcessKernel:
    """Runs in a thread of its own until it is closed, in this process's folder;
    ``publish`` takes its messages in that thread.

    There is one at a time, because IPython's shell is one per process.
    """

    def __init__(self, publish: Callable[[Message], None]) -> None:
        self._publish = publish
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="kernel", daemon=True)
        self._thread.start()
        self._started.result(LIMIT)

    def handle(self, message: Message) -> Future[None]:
        """Has the kernel handle a message of the shell channel; returns at once."""
        return asyncio.run_coroutine_threadsafe(
            self._kernel.shell_main(None, {"parent_header": {}, "buffers": [], **message}), self._loop
        )

    def close(self) -> None:
        """Unloads nbtools, which ends its calls, and ends the thread."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(LIMIT)
        assert not self._thread.is_alive(), "the kernel does not end"

    async def _main(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        try:
            module = types.ModuleType("cells")
            with patch.dict("os.environ"):  # IPython sets variables for the programs that a cell starts
                self._kernel = _Kernel.instance(
                    session=_Session(self._publish),
                    user_module=module,
                    user_ns=vars(module),
                    log=logging.getLogger(__name__),
                    config=Config({"HistoryManager": {"enabled": False}}),
                )
        except BaseException as error:
            self._started.set_exception(error)
            raise
        self._started.set_result(None)
        await self._ended.wait()
        shell = self._kernel.shell
        shell.extension_manager.unload_extension("nbtools")
        atexit.unregister(shell.atexit_operations)
        ZMQInteractiveShell.clear_instance()
        _Kernel.clear_instance()


class _Kernel(IPythonKernel):
    """Its loop is the thread's, which handles the messages of widgets while a cell waits."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.io_loop = IOLoop.current()
        self.shell_channel_thread = types.SimpleNamespace(parent_thread=None)  # read where a cell awaits

    _supports_kernel_subshells = False

    def pre_handler_hook(self) -> None:
        """Leaves the handler of interrupts, which only the main thread may set."""

    post_handler_hook = pre_handler_hook

    def _abort_queues(self, subshell_id: str | None = None) -> None:
        """Runs the cells that wait after one has failed."""

    async def execute_request(self, stream: object, ident: object, parent: Message) -> None:
        with redirect_stdout(
            _Stream(lambda text: self.send_response(None, "stream", {"name": "stdout", "text": text}))
        ):  # type: ignore[type-var]
            await super().execute_request(stream, ident, parent)


class _Session(Session):
    """Passes messages on as they are: nothing is signed, packed or sent through a socket."""

    def __init__(self, publish: Callable[[Message], None]) -> None:
        super().__init__()
        self._publish = publish

    def send(
        self, stream: object, msg_or_type: Any, content: Any = None, parent: Any = None, *_: Any, **parts: Any
    ) -> Message:
        if isinstance(msg_or_type, dict):
            message = msg_or_type
        else:
            message = self.msg(msg_or_type, content=content, parent=parent, metadata=parts.get("metadata"))
        self._publish(json.loads(json.dumps(message, default=json_default)))
        return message

    def feed_identities(self, msg_list: Any, copy: bool = True) -> Any:
        return [], msg_list

    def deserialize(self, msg_list: Any, content: bool = True, copy: bool = True) -> Any:
        return msg_list


class _Stream(io.TextIOBase):
    """Passes on the text that a cell prints."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def write(self, text: str) -> int:
        self._write(text)
        return len(text)
