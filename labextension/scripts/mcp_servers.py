"""Install what tests take from npm, as it is locked:
the MCP project's own servers, and its conformance suite.

Exits with one line when that fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from front_end import node_folder

HERE = Path(__file__).resolve().parents[2] / "tests" / "mcp_servers"


def main() -> int:
    scripts = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": os.pathsep.join([scripts, node_folder(), os.environ["PATH"]])}
    print("Installing the MCP servers that tests use", flush=True)
    command = ["jlpm", "install", "--immutable"]
    done = subprocess.run(
        command, cwd=HERE, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(
            f"{done.stdout}\n{' '.join(command)} failed in {HERE}: tests of MCP servers cannot run"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
