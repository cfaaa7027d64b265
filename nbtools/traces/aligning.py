"""Steps of two sessions beside each other: the same ones first, then those in between that are alike."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rapidfuzz import fuzz

from nbtools.traces.model import Call, Op
from nbtools.workspace.diff import opcodes

Kind: TypeAlias = Literal["same", "alike", "only_a", "only_b"]

_ALIKE = 0.6
_MOST_PAIRS = 40_000
"""Pairs of calls in one gap that are compared with each other; in a larger gap nothing is alike."""
_CHANGES: tuple[Op, ...] = ("edit", "write", "patch", "notebook")
_FAILED = ("error", "denied", "cancelled", "interrupted")


@dataclass(frozen=True, slots=True)
class Deed:
    """A call as it is compared: what it did to what, whatever its agent calls it and wherever the checkout is."""

    call: Call
    group: str
    what: str
    paths: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.group} {self.what}"


@dataclass(frozen=True, slots=True)
class Step:
    """A step of both sessions or of one.  ``same``: the same was asked for; ``alike``: something close to it.

    ``note`` says how the same step came to different ends, or was asked for in different words.
    """

    a: Call | None
    b: Call | None
    kind: Kind
    note: str = ""

    @property
    def parts(self) -> bool:
        """Whether the sessions are not in the same place after it."""
        return self.kind != "same" or bool(self.note)

    @property
    def is_lone(self) -> bool:
        """Whether only one of them took it."""
        return self.a is None or self.b is None


def deed(call: Call, cwd: str) -> Deed:
    paths = tuple(relative(path, cwd) for path in call.paths)
    if call.op in _CHANGES:
        return Deed(call, "change", " ".join(paths) or call.subject, paths)
    if call.op == "shell":
        return Deed(call, "shell", command(call.subject, cwd), paths)
    return Deed(call, call.op, relative(call.subject, cwd) or " ".join(paths) or call.name, paths)


def relative(path: str, cwd: str) -> str:
    """As seen from ``cwd``, where it is in there."""
    return posixpath.relpath(path, cwd) if cwd and (path == cwd or path.startswith(f"{cwd.rstrip('/')}/")) else path


def command(line: str, cwd: str) -> str:
    """Without the blanks that mean nothing, the way to the workspace, and a first ``cd`` into it."""
    words = " ".join(line.split())
    if cwd:
        words = words.removeprefix(f"cd {cwd} && ").replace(f"{cwd.rstrip('/')}/", "")
    return words


def aligned(a: Sequence[Deed], b: Sequence[Deed]) -> tuple[Step, ...]:
    """Every call of both, each once, in the order of each."""
    steps: list[Step] = []
    for op in opcodes([one.key for one in a], [one.key for one in b]):
        ours, theirs = a[op.i1 : op.i2], b[op.j1 : op.j2]
        if op.tag == "equal":
            steps += [_same(one, other) for one, other in zip(ours, theirs, strict=True)]
        else:
            steps += _gap(ours, theirs)
    return tuple(steps)


def _same(one: Deed, other: Deed) -> Step:
    ends = _ends(one.call), _ends(other.call)
    if ends[0] != ends[1] and "unknown" not in ends:
        return Step(one.call, other.call, "same", f"{ends[0]} against {ends[1]}")
    if one.group == "change" and _texts(one.call) != _texts(other.call):
        return Step(one.call, other.call, "alike", "the same file, another change")
    return Step(one.call, other.call, "same")


def _ends(call: Call) -> str:
    """How it came out; SWE-agent and others do not say."""
    if call.exit_code is not None:
        return f"exit code {call.exit_code}"
    if call.status in {"unknown", "unanswered"}:
        return "unknown"
    return "failed" if call.status in _FAILED else "went well"


def _texts(call: Call) -> list[str]:
    """What its changes put where, without the names."""
    return [diff.file_diff.partition("@@")[2] or diff.new_content for diff in call.detail.changes]


def _gap(a: Sequence[Deed], b: Sequence[Deed]) -> list[Step]:
    """Of all ways to pair calls in their order, the one that is most alike."""
    pairs = _paired(a, b) if 0 < len(a) * len(b) <= _MOST_PAIRS else []
    steps: list[Step] = []
    i = j = 0
    for x, y in [*pairs, (len(a), len(b))]:
        steps += [Step(one.call, None, "only_a") for one in a[i:x]]
        steps += [Step(None, one.call, "only_b") for one in b[j:y]]
        if x < len(a) and y < len(b):
            steps.append(Step(a[x].call, b[y].call, "alike", "in other words"))
        i, j = x + 1, y + 1
    return steps


def _paired(a: Sequence[Deed], b: Sequence[Deed]) -> list[tuple[int, int]]:
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + likeness(a[i], b[j]))
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    return pairs


def likeness(one: Deed, other: Deed) -> float:
    """From ``_ALIKE`` to 1; 0 for two calls that have little in common."""
    if one.group != other.group:
        return 0
    common = set(one.paths) & set(other.paths)
    alike = max(fuzz.ratio(one.what, other.what) / 100, 0.9 * len(common) / max(len(one.paths), len(other.paths), 1))
    return alike if alike >= _ALIKE else 0
