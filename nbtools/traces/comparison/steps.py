"""Steps in comparable form, whatever their agent calls its tools and wherever the checkout is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.line_style import CHANGE_OPS
from nbtools.traces.model import Call
from nbtools.traces.working_directory import relative_path

_MIN_SIMILARITY = 0.6
_FAILED = ("error", "denied", "cancelled", "interrupted")
_MAX_DIGESTS = 20_000
"""Most changes of one comparison whose texts are read from the logs;
the others are compared by their file only.
"""


@dataclass(frozen=True, slots=True)
class ComparableCall:
    """A call's operation and target, independent of the agent's tool names and of the checkout's location."""

    call: Call
    group: str
    target: str
    paths: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.group} {self.target}"


def comparable_call(call: Call, cwd: str) -> ComparableCall:
    paths = tuple(relative_path(path, cwd) for path in call.paths)
    if call.op in CHANGE_OPS:
        return ComparableCall(call, "change", " ".join(paths) or call.subject, paths)
    if call.op == "shell":
        return ComparableCall(call, "shell", normalized_command(call.subject, cwd), paths)
    target = relative_path(call.subject, cwd) or " ".join(paths) or call.name
    return ComparableCall(call, call.op, target, paths)


def normalized_command(line: str, cwd: str) -> str:
    """Returns a command line without superfluous blanks, the workspace's path, and a ``cd`` into it."""
    words = " ".join(line.split())
    if cwd:
        words = words.removeprefix(f"cd {cwd} && ").replace(f"{cwd.rstrip('/')}/", "")
    return words


def ending_of(call: Call) -> str:
    """Describes how a call ended; ``unknown`` for formats such as SWE-agent's, which do not record it."""
    if call.exit_code:
        return f"exit code {call.exit_code}"
    if call.exit_code is None and call.status in {"unknown", "unanswered"}:
        return "unknown"
    return "failed" if call.status in _FAILED else "succeeded"


def end_differently(endings: Iterable[str]) -> bool:
    """Whether calls ended differently, as far as is known: ``failed`` may be any exit code but 0."""
    known = set(endings) - {"unknown"}
    return len(known) > 1 and ("succeeded" in known or len(known - {"failed"}) > 1)


def similarity(one: ComparableCall, other: ComparableCall) -> float:
    """Returns the similarity, from ``_MIN_SIMILARITY`` to 1; 0 for calls with little in common."""
    if one.group != other.group:
        return 0
    common = len(set(one.paths) & set(other.paths)) / max(len(one.paths), len(other.paths), 1)
    alike = max(text_similarity(one.target, other.target), 0.9 * common)
    return alike if alike >= _MIN_SIMILARITY else 0


def text_similarity(one: str, other: str) -> float:
    """Returns twice the length of the longest common subsequence, divided by both lengths."""
    try:
        from rapidfuzz import fuzz  # noqa: PLC0415 - Pyodide has none
    except ImportError:
        return _text_similarity(one, other)
    return fuzz.ratio(one, other) / 100


def _text_similarity(one: str, other: str) -> float:
    """Computes ``text_similarity`` in Python, by Hyyrö's bit-parallel algorithm,
    where a 0 in ``row`` is a character in common.
    """
    places: dict[str, int] = {}
    for index, character in enumerate(one):
        places[character] = places.get(character, 0) | 1 << index
    row = every = (1 << len(one)) - 1
    for character in other:
        found = row & places.get(character, 0)
        row = (row + found | row - found) & every
    return 2 * (row ^ every).bit_count() / (len(one) + len(other)) if one or other else 1.0


class ChangeDigests:
    """Digests of the texts of changes, without file names.
    They are read from the logs, each once, and at most ``_MAX_DIGESTS``.
    """

    def __init__(self) -> None:
        self._known: dict[int, bytes | None] = {}

    def digest_of(self, call: Call) -> bytes | None:
        """Returns the digest of a call's changes; None where their texts cannot be read."""
        if id(call) not in self._known:
            texts: list[str] = []
            with suppress(TraceError):
                changes = call.detail.changes if len(self._known) < _MAX_DIGESTS else ()
                texts = [diff.file_diff.partition("@@")[2] or diff.new_content for diff in changes]
            data = "\0".join(texts).encode("utf-8", "surrogatepass")
            self._known[id(call)] = hashlib.blake2b(data, digest_size=16).digest() if texts else None
        return self._known[id(call)]
