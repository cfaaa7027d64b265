"""Measures the start: ``import nbtools`` above pydantic,
``%load_ext nbtools`` and the first call above a cell in a kernel.

All modules are compiled before: each kernel is started once without being measured.

python bench/startup.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager
from report import Figure, alternate, table

ROUNDS = 9
PYDANTIC = "from pydantic import BaseModel\nclass M(BaseModel):\n    x: int\n"
CLOCK = "import time; start = time.perf_counter()\n"
FIRST_CALL = "%tool grep def --limit 5"
PRINT = "\nprint(time.perf_counter() - start)"


def fresh(code: str) -> float:
    """Milliseconds that ``code`` takes in a new process, measured inside it."""
    done = subprocess.run(
        [sys.executable, "-c", CLOCK + code + PRINT], capture_output=True, text=True, check=True
    )
    return float(done.stdout) * 1e3


def in_kernel(code: str, *before: str) -> float:
    """Milliseconds from sending a cell to its reply, in a new kernel that has run a cell,
    and the cells ``before``.
    """
    manager = KernelManager()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        for warm in (*before, "1 + 1"):
            _run(client, warm)
        start = time.perf_counter()
        _run(client, code)
        return (time.perf_counter() - start) * 1e3
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _run(client: BlockingKernelClient, code: str) -> None:
    reply = client.execute_interactive(code, output_hook=lambda message: None, timeout=60)
    if reply["content"]["status"] != "ok":
        raise RuntimeError("\n".join(reply["content"]["traceback"]))


def main() -> None:
    imports = alternate(
        ROUNDS,
        pydantic=lambda: fresh(PYDANTIC),
        nbtools=lambda: fresh(PYDANTIC + "import nbtools"),
        session=lambda: fresh(PYDANTIC + "import nbtools; nbtools.Session('.')"),
    )
    above = [more - less for more, less in zip(imports["nbtools"], imports["pydantic"], strict=True)]
    opened = [more - less for more, less in zip(imports["session"], imports["pydantic"], strict=True)]
    table(
        f"import: ms in a fresh process, {ROUNDS} rounds",
        [
            Figure("pydantic and a model", imports["pydantic"], "ms"),
            Figure("… and import nbtools", imports["nbtools"], "ms"),
            Figure("… and a Session", imports["session"], "ms"),
        ],
    )
    table(
        "above pydantic",
        [Figure("import nbtools", above, "ms", "≤ 60 ms"), Figure("a Session", opened, "ms", "≤ 120 ms")],
    )
    for name, before in (("bare", ()), ("with pydantic", (PYDANTIC,))):
        in_kernel("%load_ext nbtools", *before)
        cells = {
            "bare": partial(in_kernel, "2 + 2", *before),
            "loaded": partial(in_kernel, "%load_ext nbtools", *before),
        }
        kernel = alternate(ROUNDS, **cells)
        extra = [more - less for more, less in zip(kernel["loaded"], kernel["bare"], strict=True)]
        table(
            f"a cell in a warm kernel, {name}, {ROUNDS} new kernels each",
            [Figure("2 + 2", kernel["bare"], "ms"), Figure("%load_ext nbtools", kernel["loaded"], "ms")],
        )
        table(f"above the same cell, {name}", [Figure("%load_ext nbtools", extra, "ms", "≤ 120 ms")])
    loaded = ("%load_ext nbtools",)
    in_kernel(FIRST_CALL, *loaded)
    calls = alternate(
        ROUNDS,
        second=partial(in_kernel, FIRST_CALL, *loaded, FIRST_CALL),
        first=partial(in_kernel, FIRST_CALL, *loaded),
    )
    table(
        f"{FIRST_CALL} in a kernel that has loaded nbtools, {ROUNDS} new kernels each",
        [
            Figure("the second call", calls["second"], "ms"),
            Figure("the first call", calls["first"], "ms", "≤ 180 ms"),
        ],
    )


if __name__ == "__main__":
    main()
