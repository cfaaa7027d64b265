"""A Python for tests that has imported the MCP SDK and nbtools:
stands in for ``sys.executable`` where the start is not what is tested.

The import of the SDK takes almost two seconds of a processor, far more than most tests of a server.
``warm_python`` is the path of a small program that passes its arguments, environment, folder and standard
streams to a process that has imported all of it.  That process forks, and the fork runs what ``python`` would
run.  The small program ends with the fork's exit code; if it is killed, so is the fork.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.warm_kernels import import_modules, read

MODULES = ("mcp.client.stdio", "mcp.server.mcpserver", "mcp.server.stdio", "uvicorn")
PACKAGES = (
    "nbtools.core",
    "nbtools.dialects",
    "nbtools.mcp",
    "nbtools.policy",
    "nbtools.scheduler",
    "nbtools.session",
    "nbtools.tools",
)
PROGRAM = f"import sys; sys.path[:1] = [{str(Path(__file__).parents[1])!r}]; from {__name__} import main; main(*map(int, sys.argv[1:]))"
LAUNCHER = f"""#!{sys.executable} -IS
import json, os, socket, sys

wanted = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}}
message = json.dumps(wanted).encode()
with socket.socket(socket.AF_UNIX) as warm:
    warm.connect(os.path.join(os.path.dirname(__file__), "socket"))
    socket.send_fds(warm, [len(message).to_bytes(4, "big")], [0, 1, 2])
    warm.sendall(message)
    code = warm.recv(1)
os._exit(code[0] if code else 1)
"""


@cache
def warm_python() -> str:
    """The path of the program.  The process that has the imports starts with the first call,
    and ends with this process.
    """
    folder = Path(tempfile.mkdtemp(prefix="nbtools-tests-"))
    launcher = folder / "python"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o700)
    ours, theirs = socket.socketpair()
    with theirs, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
        listening.listen(100)
        descriptors = (listening.fileno(), theirs.fileno())
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, descriptors)],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            cwd="/",
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return str(launcher)


def serve(listening: socket.socket, parent: socket.socket) -> None:
    """Forks for each connection, until the parent has gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that have ended are nobody's to wait for
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while parent not in select.select([listening, parent], [], [])[0]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            parent.close()
            run_for(connection)
        connection.close()


def run_for(connection: socket.socket) -> None:
    """Runs the program that the launcher wants in one more fork;
    ends with it, and ends it where the launcher has gone.
    """
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    wanted = json.loads(read(connection, int.from_bytes(size)))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        connection.close()
        become_program(streams, **wanted)
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(pid)
    if ended not in select.select([ended, connection.fileno()], [], [])[0]:
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    connection.sendall((os.waitstatus_to_exitcode(status) % 256).to_bytes())
    os._exit(0)


def become_program(
    streams: list[int], *, arguments: list[str], environment: dict[str, str], folder: str
) -> None:
    """Is ``python`` with these arguments from here on, and ends as it."""
    os.setsid()
    os.chdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    match arguments:
        case ["-m", module, *rest]:
            sys.argv = [module, *rest]
            sys.path.insert(0, folder)
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            sys.argv = ["-c", *rest]
            sys.path.insert(0, "")
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        case [script, *rest]:
            sys.argv = [script, *rest]
            sys.path.insert(0, str(Path(script).parent))
            runpy.run_path(script, run_name="__main__")
    sys.exit()


def main(listening: int, parent: int) -> None:
    """Imports everything, then forks until the parent has gone."""
    del sys.path[0]  # programs do not see the tests
    import_modules(MODULES, PACKAGES)
    with socket.socket(fileno=listening) as server, socket.socket(fileno=parent) as one:
        serve(server, one)
