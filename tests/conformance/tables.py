"""The tables of outcomes in ``docs/mcp.md``; ``python -m tests.conformance.tables`` prints them."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tests.conformance.expected import CLIENT, NOT_SERVED
from tests.conformance.test_server import PASS


def client_table() -> str:
    return _table((name, "not passed" if one.failing else "passed", one.why) for name, one in CLIENT.items())


def server_table() -> str:
    return _table(
        [
            *((name, "passed", "") for name in PASS),
            *((name, "not there", why) for name, why in NOT_SERVED.items()),
        ]
    )


def _table(rows: Iterable[tuple[str, str, str]]) -> str:
    return "\n".join(
        [
            "| scenario | | |",
            "| --- | --- | --- |",
            *(f"| `{name}` | {how} | {why} |".replace("|  |", "| |") for name, how, why in rows),
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(f"{client_table()}\n\n{server_table()}\n")
