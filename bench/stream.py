"""Measures streaming: a command that prints 1,000,000 lines, through the shell tool,
against reading the same pipe in plain Python.

python bench/stream.py
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jupyter_client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from report import Figure, alternate, table

from nbtools import Policy, Session

ROUNDS = 7
COMMANDS = {
    "a log (45 MB)": """awk 'BEGIN { for (i = 1; i <= 1000000; i++) print "step", i, "of a build that says what it does" }'""",
    "seq (6.9 MB)": "seq 1000000",
}
SLOW = "for i in $(seq 300); do seq 100; sleep 0.01; done"


def plain(command: str, keep: str = os.devnull) -> float:
    """Seconds to read the command's output chunk by chunk, counting lines,
    and keeping nothing or all of it in a file.
    """
    start, lines, kept = time.perf_counter(), 0, os.open(keep, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with subprocess.Popen(
        ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            lines += chunk.count(b"\n")
            if keep != os.devnull:
                os.write(kept, chunk)
    os.close(kept)
    if lines != 1_000_000:
        raise RuntimeError(f"read {lines} lines")
    return time.perf_counter() - start


def ours(command: str) -> float:
    async def run() -> float:
        async with Session(".", policy=Policy(mode="yolo")) as session:
            start = time.perf_counter()
            result = await session.call("shell", {"command": command})
            taken = time.perf_counter() - start
        if not result.ok or result.data.lines != 1_000_000:
            raise RuntimeError(str(result.llm_content)[-500:])
        return taken

    return asyncio.run(run())


def peak(mode: str, command: str) -> float:
    """Peak memory, in MB, of a process that has loaded nbtools and then reads the command in one way or the
    other.
    """
    done = subprocess.run(
        [sys.executable, __file__, mode, command], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def peak_of_this_process() -> float:
    """In MB.  Linux carries ``ru_maxrss`` over from the parent process, so there it is read elsewhere."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024)


def updates_a_second() -> float:
    """Display updates a second that a kernel sends while a command prints for some seconds."""
    manager = KernelManager()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        for code in ("%load_ext nbtools", '%tools allow "shell"'):
            client.execute_interactive(code, output_hook=lambda _: None, timeout=60)
        return _updates_of_cell(client, f"%tool shell {SLOW}")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _updates_of_cell(client: BlockingKernelClient, code: str) -> float:
    """Updates a second of the displays of a notebook's cell.
    Without a cell's id, the kernel takes the front end for a console.
    """
    request = client.session.msg(
        "execute_request", {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
    )
    request["metadata"] = {"cellId": "benchmark"}
    client.shell_channel.send(request)
    times: list[float] = []
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
            continue
        if message["msg_type"] == "update_display_data":
            times.append(time.monotonic())
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    if len(times) < 10:
        raise RuntimeError(f"the display was updated only {len(times)} times")
    return (len(times) - 1) / (times[-1] - times[0])


def main() -> None:
    for name, command in COMMANDS.items():
        with tempfile.NamedTemporaryFile() as file:
            taken = alternate(
                ROUNDS,
                plain=lambda command=command: plain(command),
                kept=lambda command=command, name=file.name: plain(command, name),
                ours=lambda command=command: ours(command),
            )
        table(
            f"stream, 1,000,000 lines, {name}: s, {ROUNDS} rounds",
            [
                Figure("plain os.read loop", taken["plain"], "s"),
                Figure("… that keeps it in a file, as the tool does", taken["kept"], "s"),
                Figure("session.call('shell')", taken["ours"], "s", "≤ 1.5 x"),
            ],
        )
        memory = alternate(
            3,
            plain=lambda command=command: peak("plain", command),
            ours=lambda command=command: peak("ours", command),
        )
        extra = [more - less for more, less in zip(memory["ours"], memory["plain"], strict=True)]
        table(
            f"peak memory, {name}: MB",
            [
                Figure("plain", memory["plain"], "MB"),
                Figure("tool", memory["ours"], "MB"),
                Figure("extra", extra, "MB", "≤ 64 MB"),
            ],
        )
    table(
        "display updates in a kernel",
        [Figure("updates", [updates_a_second() for _ in range(3)], "a second", "≤ 15 a second")],
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        {"plain": plain, "ours": ours}[sys.argv[1]](sys.argv[2])
        print(peak_of_this_process())
    else:
        main()
