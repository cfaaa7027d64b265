"""Kernels for tests that are ready at once: forked from a process that has imported ipykernel and nbtools.

A kernel of Python takes over a second until it answers, and most of another until nbtools has made its first
call; nearly all of it is the import of modules, the same ones each time.  ``use_warm_kernels`` has every
kernel that this process starts forked from one that has them.  What a kernel is otherwise does not change: a
process of its own in a session of its own, with the environment and the folder that it was given, ended by
the same signals.  Tests of a start from nothing use ``cold_kernels``.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import random
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = "warm-provisioner"
LAUNCHER = ("-m", "ipykernel_launcher")
STREAMS = ("stdout", "stderr")
MODULES = ("ipykernel.kernelapp", "ipykernel.zmqshell", "mcp.client.stdio", "pydantic_ai.models.function")
PACKAGES = (
    *("nbtools.agents", "nbtools.core", "nbtools.mcp", "nbtools.notebook", "nbtools.policy"),
    *("nbtools.scheduler", "nbtools.session", "nbtools.shell", "nbtools.tools"),
)
NOT_IMPORTED = ("nbtools.agents.adapters",)
"""Packages whose modules need those of a vendor, which few tests use."""
PROGRAM = f"import sys; sys.path[:1] = [{str(Path(__file__).parents[1])!r}]; from {__name__} import main; main(int(sys.argv[1]))"
START = 90.0
"""Seconds that the process which has everything imported may take until it does."""


def use_warm_kernels() -> None:
    """Makes warm kernels the default of this process,
    where the system can fork and has descriptors of processes.

    All kernels of the process, warm or cold, listen on sockets of files: see ``tests/kernel_sockets.py``.
    """
    import_module("tests.kernel_sockets")
    if not hasattr(os, "pidfd_open"):
        return
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[NAME] = EntryPoint(
        NAME, f"{__name__}:WarmProvisioner", KernelProvisionerFactory.GROUP_NAME
    )
    factory.default_provisioner_name = NAME


@contextmanager
def cold_kernels() -> Iterator[None]:
    """Kernels that start from nothing: what they import, and how long it takes, is what a person's do."""
    factory = KernelProvisionerFactory.instance()
    before, factory.default_provisioner_name = factory.default_provisioner_name, "local-provisioner"
    try:
        yield
    finally:
        factory.default_provisioner_name = before


class ForkedKernel:
    """The part of a ``Popen`` that a provisioner needs, for a process that is the child of another one."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        try:
            self._descriptor = os.pidfd_open(pid)
        except ProcessLookupError:  # it ended before it was looked at
            self.returncode = 1

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._descriptor], [], [], 0)[0]:
            os.close(self._descriptor)
            self.returncode = 1  # nobody asks how a kernel ended, only whether
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None and not select.select([self._descriptor], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("kernel", timeout or 0)
        ended = self.poll()
        assert ended is not None
        return ended

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._descriptor, signum)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class WarmProvisioner(LocalProvisioner):
    """Starts a kernel of this environment's Python from the fork server, and every other one as ever."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        known = os.path.realpath(cmd[0]) == os.path.realpath(sys.executable) and tuple(cmd[1:3]) == LAUNCHER
        streams = {
            number: kwargs[name] for number, name in enumerate(STREAMS, 1) if kwargs.get(name) is not None
        }
        files = all(
            hasattr(stream, "fileno") for stream in streams.values()
        )  # not a pipe that is still to be made
        if not known or not files or kwargs.get("independent"):
            return await super().launch_kernel(cmd, **kwargs)
        folder = str(kwargs.get("cwd") or Path.cwd())
        descriptors = {number: stream.fileno() for number, stream in streams.items()}
        pid = ForkServer.instance().fork(cmd[3:], kwargs.get("env") or os.environ, folder, descriptors)
        self.process = ForkedKernel(pid)
        self.pid = self.pgid = pid
        self.cwd = folder
        return self.connection_info


class ForkServer:
    """The process that has everything imported, seen from the one that wants kernels."""

    _one: ForkServer | None = None

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(START)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(theirs.fileno())], pass_fds=[theirs.fileno()]
            )
        self._asking = threading.Lock()
        atexit.register(self.close)

    @classmethod
    def instance(cls) -> ForkServer:
        if cls._one is None:
            cls._one = cls()
        return cls._one

    def fork(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        streams: Mapping[int, int],
    ) -> int:
        """Starts a kernel with these arguments of ipykernel; returns its process.

        ``streams``: descriptors for its standard streams, by their numbers;
        the others are those of the process that forks.
        """
        with self._asking:
            kernel = {
                "arguments": list(arguments),
                "environment": dict(environment),
                "folder": folder,
                "streams": list(streams),
            }
            wanted = json.dumps(kernel).encode()
            socket.send_fds(self._socket, [len(wanted).to_bytes(4)], list(streams.values()))
            self._socket.sendall(wanted)
            return int.from_bytes(read(self._socket, 4))

    def close(self) -> None:
        """Ends the process; its kernels notice that they have lost their parent."""
        self._socket.close()
        self._process.wait()


def read(connection: socket.socket, size: int) -> bytes:
    """Exactly ``size`` bytes; none at the end."""
    got = b""
    while len(got) < size:
        part = connection.recv(size - len(got))
        if not part:
            return b""
        got += part
    return got


def import_modules(modules: Sequence[str], packages: Sequence[str]) -> None:
    """Imports the modules, and the packages with all that they have, into a process that will fork."""
    for name in modules:
        import_module(name)
    for package in packages:
        module = import_module(package)
        for found in pkgutil.walk_packages(module.__path__, f"{package}."):
            if not found.name.startswith(NOT_IMPORTED):
                import_module(found.name)
    assert threading.active_count() == 1, "a process with threads cannot be forked"
    gc.freeze()


def serve(connection: socket.socket) -> None:
    """Forks a kernel for each request, until the other side closes."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that have ended are nobody's to wait for
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while (received := socket.recv_fds(connection, 4, len(STREAMS)))[0]:
        size, descriptors, _, _ = received
        wanted = json.loads(read(connection, int.from_bytes(size)))
        streams = dict(zip(wanted.pop("streams"), descriptors, strict=True))
        pid = os.fork()
        if pid == 0:
            connection.close()
            become_kernel(**wanted, streams=streams)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.sendall(pid.to_bytes(4))


def become_kernel(
    *, arguments: list[str], environment: dict[str, str], folder: str, streams: Mapping[int, int]
) -> None:
    """Is a kernel from here on, as ``python -m ipykernel_launcher`` in ``folder`` would be one,
    and ends as one.
    """
    os.setsid()
    os.chdir(folder)
    for number, descriptor in streams.items():
        os.dup2(descriptor, number)
        os.close(descriptor)
    parent = os.environ["JPY_PARENT_PID"]
    os.environ.clear()
    os.environ.update(environment, JPY_PARENT_PID=parent)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    sys.argv = ["ipykernel_launcher.py", *arguments]
    from ipykernel.kernelapp import IPKernelApp
    from ipywidgets import register_comm_target

    app = IPKernelApp.instance()
    app.initialize()
    register_comm_target(app.kernel)  # ipywidgets does it when it is imported into a kernel
    app.start()
    sys.exit()


def main(descriptor: int) -> None:
    """Runs the process, from its start to its end."""
    del sys.path[0]  # a kernel does not see the tests
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # ipykernel reads it when it is imported
    with socket.socket(fileno=descriptor) as connection:
        import_modules(MODULES, PACKAGES)
        serve(connection)
