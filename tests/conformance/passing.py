"""The program that the conformance suite starts as a client:
passes on its arguments, and ends with the exit code that it receives.

``python passing.py PORT ADDRESS``: all else is done by the test, which is loaded once (see ``client.py``).
"""

from __future__ import annotations

import json
import os
import socket
import sys

if __name__ == "__main__":
    told = {
        "url": sys.argv[2],
        "scenario": os.environ["MCP_CONFORMANCE_SCENARIO"],
        "context": os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"),
    }
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as test, test.makefile("rw") as file:
        file.write(json.dumps(told) + "\n")
        file.flush()
        ended = json.loads(file.readline())
    print(ended["output"])
    sys.exit(ended["code"])
