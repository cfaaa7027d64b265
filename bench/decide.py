"""Measures a decision of the policy: by the number of rules,
and by the number of parts of a command that was never seen before.

The judges are a session's own, so where the paths in a command lead is looked up on the disk, where any rule
needs to know.  Times are the processor's, and as machines change their clock each is also given as a multiple
of splitting the same simple command with shlex, which is Python all through; the least of many rounds is what
it costs, the rest is the machine.

python bench/decide.py
"""

from __future__ import annotations

import itertools
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from report import Figure, alternate, table

from nbtools import Policy, Session
from nbtools.core.tool import AnyToolInvocation
from nbtools.policy.decide import PolicyEngine
from nbtools.session.policy_state import PolicyState

CALLS, ROUNDS = 20, 60
FLOOR = "shlex.split (floor)"
_NUMBERS = itertools.count()


def policy(rules: int) -> Policy:
    """Half allow, an eighth ask, the rest denies; a third of them about paths."""
    listed = [
        f"{kind}({what.format(n)})"
        for n in range(rules // 4 + 1)
        for kind, what in (
            ("shell", "tool{} run:*"),
            ("shell", "program{} *"),
            ("edit", "src{}/**"),
            ("read", "*.kept{}"),
        )
    ]
    allow, rest = ["shell(git log:*)", "edit(src/**)", *listed[: rules // 2 - 2]], listed[rules // 2 :]
    return Policy(
        allow=tuple(allow), ask=tuple(rest[: rules // 8]), deny=tuple(rest[rules // 8 : rules - rules // 2])
    )


class Bench:
    """A session's tools, and for each number of rules the judge that a session makes of them."""

    def __init__(self, session: Session) -> None:
        self.tools = session.tools
        self._session = session

    def judge(self, policy: Policy) -> PolicyEngine:
        return PolicyState(
            self._session.workspace.root, policy, (), self._session.tool_named, lambda _: None
        ).judge

    def cost(
        self, rules: int, tool: str, arguments: Callable[[int], Mapping[str, Any]], *, calls: int = CALLS
    ) -> Callable[[], float]:
        """µs a decision, each on a call that is new."""
        builder = self.tools[tool]
        judge = self.judge(policy(rules))
        judge.decide(builder, builder.build(arguments(next(_NUMBERS))))

        def run() -> float:
            made: Iterable[AnyToolInvocation] = [
                builder.build(arguments(next(_NUMBERS))) for _ in range(calls)
            ]
            start = time.thread_time()
            for invocation in made:
                judge.decide(builder, invocation)
            return (time.thread_time() - start) / calls * 1e6

        return run

    def loading(self, rules: int) -> Callable[[], float]:
        """Milliseconds until the first decision with so many rules."""
        builder, given = self.tools["shell"], policy(rules)

        def run() -> float:
            start = time.thread_time()
            self.judge(given).decide(builder, builder.build({"command": "git log"}))
            return (time.thread_time() - start) * 1e3

        return run


def simple(n: int) -> Mapping[str, Any]:
    return {"command": f"git log x{n}"}


def quoted(n: int) -> Mapping[str, Any]:
    return {"command": f"git log 'x{n}' | head -5"}


def parts(count: int) -> Callable[[int], Mapping[str, Any]]:
    return lambda n: {"command": " && ".join(f"git log x{n}-{part}" for part in range(count))}


def edited(n: int) -> Mapping[str, Any]:
    return {"path": f"src/f{n}.py", "content": ""}


def floor() -> float:
    start = time.thread_time()
    for n in range(CALLS):
        shlex.split(f"git log x{n}")
    return (time.thread_time() - start) / CALLS * 1e6


def main() -> None:
    with TemporaryDirectory() as folder:
        Path(folder, "src").mkdir()
        Path(folder, "a.txt").write_text("a\n")
        bench = Bench(Session(folder))
        by_rules(bench)
        by_parts(bench)
        loading(bench)


def by_rules(bench: Bench) -> None:
    for title, tool, arguments, bar in (
        ("a simple command", "shell", simple, "≤ 100 µs"),
        ("a pipe with quotes (the grammar is asked)", "shell", quoted, ""),
        ("a write", "write", edited, ""),
        ("a read", "read", lambda _: {"path": "a.txt"}, ""),
    ):
        contenders = {str(rules): bench.cost(rules, tool, arguments) for rules in (10, 100, 1_000, 10_000)}
        taken = alternate(ROUNDS, floor=floor, **contenders)
        rows = [
            Figure(f"{int(rules):,} rules", taken[rules], "µs", bar if rules == "100" else "")
            for rules in contenders
        ]
        table(
            f"decide: {title}, µs a decision on a call that is new",
            [Figure(FLOOR, taken["floor"], "µs"), *rows],
        )


def by_parts(bench: Bench) -> None:
    contenders = {
        str(count): bench.cost(100, "shell", parts(count), calls=max(2, CALLS // count))
        for count in (1, 2, 5, 20, 50, 200)
    }
    taken = alternate(ROUNDS // 3, floor=floor, **contenders)
    rows = [Figure(f"{count} part{'s' * (count != '1')}", taken[count], "µs") for count in contenders]
    table(
        "decide: commands of many parts, 100 rules, µs a decision",
        [Figure(FLOOR, taken["floor"], "µs"), *rows],
    )


def loading(bench: Bench) -> None:
    contenders = {str(rules): bench.loading(rules) for rules in (10, 100, 1_000, 10_000)}
    taken = alternate(ROUNDS // 3, **contenders)
    table(
        "decide: a judge made and asked for the first time, ms",
        [Figure(f"{int(rules):,} rules", taken[rules], "ms") for rules in contenders],
    )


if __name__ == "__main__":
    main()
