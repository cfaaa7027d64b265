"""Run the benchmarks and report the bars that are missed: ``python bench/run.py [--record] [script ...]``.

Each script runs as a process of its own; without names, all of them do. Prints a table of missed bars at the
end and exits 1 where there is one, or where a script fails. With ``--record``, the figures of the scripts
that ran replace theirs in ``results.json``, from which ``docs/scripts/performance.py`` makes the tables of
docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
SHARED = {"report", "run", "idle"}
"""Modules that other scripts import."""


def scripts() -> list[str]:
    return sorted(path.stem for path in HERE.glob("[a-z]*.py") if path.stem not in SHARED)


def run(names: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Runs the scripts one after another. Returns their tables, and the names of those that failed."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results")
        results.touch()
        for name in names:
            print(f"\n=== {name}", flush=True)
            environment = {**os.environ, "NBTOOLS_BENCH_RESULTS": str(results)}
            if subprocess.run(
                [sys.executable, str(HERE / f"{name}.py")], env=environment, check=False
            ).returncode:
                failed.append(name)
        return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()], failed


def record(tables: list[dict[str, Any]], names: list[str]) -> None:
    """Replaces the tables of these scripts in ``results.json``."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    merged = sorted(
        [table for table in known if table["script"] not in names] + tables,
        key=lambda table: str(table["script"]),
    )
    RESULTS.write_text(json.dumps(merged, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("scripts", nargs="*", metavar="script", help=", ".join(scripts()))
    arguments.add_argument("--record", action="store_true")
    given = arguments.parse_args()
    names = given.scripts or scripts()
    tables, failed = run(names)
    if given.record:
        record(tables, [name for name in names if name not in failed])
    missed = [(table, row) for table in tables for row in table["rows"] if row["met"] is False]
    print(f"\nBars missed: {len(missed)}" if missed else "\nEvery bar is met")
    for table, row in missed:
        ratio = "" if row["ratio"] is None else f" ({row['ratio']:.2f} x the first)"
        print(
            f"  {table['script']}: {table['title']}: {row['name']}: {row['median']:.2f} {row['unit']}{ratio}, bar {row['bar']}"
        )
    for name in failed:
        print(f"  {name} failed")
    return bool(missed or failed)


if __name__ == "__main__":
    raise SystemExit(main())
