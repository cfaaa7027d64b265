"""Aligns the steps of two sessions: first identical steps, then similar ones between them."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rapidfuzz import fuzz

from nbtools.diff.line_diff import opcodes
from nbtools.traces.model import Call, Op

Kind: TypeAlias = Literal["same", "alike", "only_a", "only_b"]

_MIN_SIMILARITY = 0.6
_MAX_PAIRS = 40_000
"""Pairs of calls in one gap that are compared with each other; in a larger gap no calls are matched."""
_CHANGES: tuple[Op, ...] = ("edit", "write", "patch", "notebook")
_FAILED = ("error", "denied", "cancelled", "interrupted")


@dataclass(frozen=True, slots=True)
class ComparableCall:
    """A call in comparable form: its operation and target, independent of the agent's tool names and of the checkout's location."""

    call: Call
    group: str
    target: str
    paths: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.group} {self.target}"


@dataclass(frozen=True, slots=True)
class Step:
    """A step of both sessions, or of one. ``same``: both made the same call; ``alike``: they made similar calls.

    ``note`` says how the outcomes of the same call differ, or how similar calls differ.
    """

    a: Call | None
    b: Call | None
    kind: Kind
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether the sessions differ after this step."""
        return self.kind != "same" or bool(self.note)

    @property
    def is_one_sided(self) -> bool:
        """Whether only one of the sessions has this step."""
        return self.a is None or self.b is None


def comparable_call(call: Call, cwd: str) -> ComparableCall:
    paths = tuple(relative_path(path, cwd) for path in call.paths)
    if call.op in _CHANGES:
        return ComparableCall(call, "change", " ".join(paths) or call.subject, paths)
    if call.op == "shell":
        return ComparableCall(call, "shell", normalized_command(call.subject, cwd), paths)
    return ComparableCall(call, call.op, relative_path(call.subject, cwd) or " ".join(paths) or call.name, paths)


def relative_path(path: str, cwd: str) -> str:
    """Returns the path relative to ``cwd``, where it is inside."""
    return posixpath.relpath(path, cwd) if cwd and (path == cwd or path.startswith(f"{cwd.rstrip('/')}/")) else path


def normalized_command(line: str, cwd: str) -> str:
    """Normalises a command line: removes superfluous blanks, the path of the workspace, and an initial ``cd`` into it."""
    words = " ".join(line.split())
    if cwd:
        words = words.removeprefix(f"cd {cwd} && ").replace(f"{cwd.rstrip('/')}/", "")
    return words


def align(a: Sequence[ComparableCall], b: Sequence[ComparableCall]) -> tuple[Step, ...]:
    """Returns every call of both sessions once, in the order of each."""
    steps: list[Step] = []
    for op in opcodes([one.key for one in a], [one.key for one in b]):
        ours, theirs = a[op.i1 : op.i2], b[op.j1 : op.j2]
        if op.tag == "equal":
            steps += [_same(one, other) for one, other in zip(ours, theirs, strict=True)]
        else:
            steps += _align_gap(ours, theirs)
    return tuple(steps)


def _same(a: ComparableCall, b: ComparableCall) -> Step:
    outcomes = _outcome(a.call), _outcome(b.call)
    if outcomes[0] != outcomes[1] and "unknown" not in outcomes:
        return Step(a.call, b.call, "same", f"{outcomes[0]} vs. {outcomes[1]}")
    if a.group == "change" and _texts(a.call) != _texts(b.call):
        return Step(a.call, b.call, "alike", "same file, different change")
    return Step(a.call, b.call, "same")


def _outcome(call: Call) -> str:
    """Describes a call's outcome; ``unknown`` for formats such as SWE-agent's, which do not record it."""
    if call.exit_code is not None:
        return f"exit code {call.exit_code}"
    if call.status in {"unknown", "unanswered"}:
        return "unknown"
    return "failed" if call.status in _FAILED else "succeeded"


def _texts(call: Call) -> list[str]:
    """Returns the texts of a call's changes, without file names."""
    return [diff.file_diff.partition("@@")[2] or diff.new_content for diff in call.detail.changes]


def _align_gap(a: Sequence[ComparableCall], b: Sequence[ComparableCall]) -> list[Step]:
    """Aligns the calls between two identical steps: of all order-preserving pairings, the most similar one."""
    pairs = _pair(a, b) if 0 < len(a) * len(b) <= _MAX_PAIRS else []
    steps: list[Step] = []
    i = j = 0
    for x, y in [*pairs, (len(a), len(b))]:
        steps += [Step(one.call, None, "only_a") for one in a[i:x]]
        steps += [Step(None, one.call, "only_b") for one in b[j:y]]
        if x < len(a) and y < len(b):
            steps.append(Step(a[x].call, b[y].call, "alike", "similar call"))
        i, j = x + 1, y + 1
    return steps


def _pair(a: Sequence[ComparableCall], b: Sequence[ComparableCall]) -> list[tuple[int, int]]:
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + similarity(a[i], b[j]))
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


def similarity(one: ComparableCall, other: ComparableCall) -> float:
    """Returns the similarity of two calls, from ``_MIN_SIMILARITY`` to 1; 0 for calls with little in common."""
    if one.group != other.group:
        return 0
    common = set(one.paths) & set(other.paths)
    alike = max(fuzz.ratio(one.target, other.target) / 100, 0.9 * len(common) / max(len(one.paths), len(other.paths), 1))
    return alike if alike >= _MIN_SIMILARITY else 0
