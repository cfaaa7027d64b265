"""Measures the list of an explorer of 100,000 rows in Node: filtering, sorting and counting,
which the page does itself.

python bench/listing.py     (the front end must be built: make lab)
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from report import Figure, table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "labextension" / "scripts"))
import front_end  # noqa: E402

ROWS = 100_000
ROUNDS = 9
BARS = {"take over the rows, list them and count the choices": "≤ 100 ms"}


def main() -> None:
    node = Path(front_end.node_folder()) / "node"
    ran = subprocess.run(
        [node, ROOT / "bench" / "listing.js", str(ROWS), str(ROUNDS)],
        capture_output=True,
        text=True,
        check=True,
    )
    figures = json.loads(ran.stdout)
    table(
        f"a list of {ROWS:,} rows, milliseconds of the processor",
        [Figure(name, values, "ms", BARS.get(name, "≤ 50 ms")) for name, values in figures.items()],
    )


if __name__ == "__main__":
    main()
