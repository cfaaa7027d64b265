"""The bars of the benchmarks can be missed, and a missed bar is reported."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCH = ROOT / "bench"
SCRIPT = """
from report import Figure, table
table("waits", [Figure("floor", [1.0, 2.0], "s"), Figure("twice", [2.0, 4.0], "s", {bar!r})])
"""


def bars(path: Path) -> list[str]:
    """The bars and notes of a script that are literals."""
    calls = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    figures = [
        node
        for node in calls
        if isinstance(node.func, ast.Name) and node.func.id == "Figure" and len(node.args) == 4
    ]
    return [node.args[3].value for node in figures if isinstance(node.args[3], ast.Constant)]


def run(folder: Path, bar: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, object]]]:
    script, results = folder / "waits.py", folder / "results"
    script.write_text(SCRIPT.format(bar=bar), encoding="utf-8")
    env = {"PYTHONPATH": str(BENCH), "NBTOOLS_BENCH_RESULTS": str(results), "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=False)
    tables = (
        [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
        if results.exists()
        else []
    )
    return done, tables


@pytest.mark.parametrize(
    ("bar", "met"),
    [
        ("≤ 2 x", True),
        ("≤ 1.9 x", False),
        ("≥ 2 x", True),
        ("≥ 2.1 x", False),
        ("≤ 3 s", True),
        ("≤ 2.9 s", False),
        ("≤ 1.5 s more", True),
        ("≤ 1.4 s more", False),
        ("(two thread hops)", None),
    ],
)
def test_a_bar_is_compared_with_the_figure(tmp_path: Path, bar: str, met: bool | None) -> None:
    done, tables = run(tmp_path, bar)
    assert done.returncode == 0, done.stderr
    assert [row["met"] for row in tables[0]["rows"]] == [None, met]
    assert ("MISSED" in done.stdout) == (met is False)


@pytest.mark.parametrize("bar", ["<= 2", "about 3 s", "≤ 3 ms", "≤ 15"])
def test_a_bar_that_cannot_be_compared_is_an_error(tmp_path: Path, bar: str) -> None:
    done, tables = run(tmp_path, bar)
    assert done.returncode == 1
    assert "ValueError" in done.stderr
    assert tables == []


def test_every_bar_of_the_benchmarks_can_be_compared() -> None:
    sys.path.insert(0, str(BENCH))
    try:
        from report import _BAR
    finally:
        sys.path.remove(str(BENCH))
    written = {path.name: bars(path) for path in sorted(BENCH.glob("[a-z]*.py"))}
    assert sum(map(len, written.values())) > 30
    wrong = {
        (name, bar)
        for name, found in written.items()
        for bar in found
        if bar and bar[0] != "(" and not _BAR.fullmatch(bar)
    }
    assert wrong == set()


def test_the_runner_fails_where_a_bar_is_missed_and_names_it(tmp_path: Path) -> None:
    for name in ("report.py", "run.py"):
        (tmp_path / name).write_text((BENCH / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "good.py").write_text(SCRIPT.format(bar="≤ 2 x"), encoding="utf-8")
    (tmp_path / "slow.py").write_text(SCRIPT.format(bar="≤ 1 x"), encoding="utf-8")

    def benches(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(tmp_path / "run.py"), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )

    assert benches("good").returncode == 0
    done = benches("--record")
    assert (done.returncode, "Bars missed: 1" in done.stdout, "slow: waits: twice" in done.stdout) == (
        1,
        True,
        True,
    )
    assert [
        table["script"] for table in json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    ] == ["good", "slow"]
    (tmp_path / "broken.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert (benches("broken").returncode, "broken failed" in benches("broken").stdout) == (1, True)
