"""Finds the records that a rewind or a retry abandoned.

Records name their parent.  Most branches mean nothing: parallel calls, their results, progress records.  A
branch is abandoned if it begins with a prompt or another answer, and the later records do not follow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from nbtools.traces.source import DECODE_ERRORS, Source

_HEAD = 900
"""Bytes at the beginning of a line that contain its type and parent, in all versions;
otherwise the search only takes longer.
"""
_KEY = b'{"parentUuid":"'
_PARENT = re.compile(rb'"(?:p|logicalP)arentUuid"\s*:\s*"([^"]*)"')
NO_OFFSETS: frozenset[int] = frozenset()


class _Message(Struct, gc=False):
    id: Any = None
    content: Raw = Raw()


class _Record(Struct, rename="camel", gc=False):
    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parent_uuid: Any = None
    logical_parent_uuid: Any = None
    is_meta: Any = None
    message: _Message | None = None


_decode = msgspec.json.Decoder(_Record).decode


def abandoned_records(source: Source, file: int) -> frozenset[int]:
    """Returns the offsets of abandoned records. Looks first for a branching, which most files lack."""
    with source.open_file(file) as lines:
        if not _may_branch(lines):
            return NO_OFFSETS
    return abandoned_in_branches(source, file)


def abandoned_in_branches(source: Source, file: int) -> frozenset[int]:
    """Returns the same for a file that is known to have branches."""
    with source.open_file(file) as lines:
        return _Tree(_records(lines)).dead()


def _may_branch(lines: Iterable[bytes]) -> bool:
    parents: set[bytes] = set()
    for line in lines:
        head = line[:_HEAD]
        if b'"type":"progress"' in head or b'"tool_use_id"' in head:
            continue
        if head.startswith(_KEY):
            parent = head[15 : head.find(b'"', 15)]
        else:
            found = _PARENT.search(head) or (_PARENT.search(line) if b'arentUuid"' in line else None)
            if found is None:
                continue
            parent = found[1]
        if parent in parents:
            return True
        parents.add(parent)
    return False


def _records(lines: Iterable[bytes]) -> Iterator[tuple[int, _Record]]:
    offset = 0
    for line in lines:
        try:
            record = _decode(line)
            if isinstance(record.uuid, str):
                yield offset, record
        except DECODE_ERRORS:
            pass
        offset += len(line)


class _Node(Struct, gc=False):
    offset: int
    parent: int
    begins: bool
    """Whether it is a prompt or an answer, with which an abandoned branch begins."""
    key: str
    """The id of the message that it is part of."""


class _Tree:
    """The tree of records.

    Parents come before their children (a record that names a later parent counts as a root),
    so there are no cycles, and one forward pass decides.
    """

    def __init__(self, records: Iterable[tuple[int, _Record]]) -> None:
        self.numbers: dict[str, int] = {}
        self.nodes: list[_Node] = []
        self.roots: list[int] = []
        self.ends: dict[int, int] = {}
        for offset, record in records:
            if record.uuid in self.numbers:
                self._add_piece(offset, self.numbers[record.uuid])
            else:
                self._add(offset, record)

    def _add(self, offset: int, record: _Record) -> None:
        follows = record.parent_uuid or record.logical_parent_uuid
        parent = self.numbers.get(follows, -1) if isinstance(follows, str) else -1
        self.numbers[record.uuid] = number = len(self.nodes)
        self.nodes.append(
            _Node(offset, parent, _begins(record), str(record.message.id or "") if record.message else "")
        )
        self.roots.append(self.roots[parent] if parent >= 0 else number)
        if record.type in ("user", "assistant"):
            self.ends[self.roots[number]] = number

    def _add_piece(self, offset: int, whole: int) -> None:
        """Adds another record of the same id, which is abandoned if the first one is."""
        self.nodes.append(_Node(offset, whole, begins=False, key=""))
        self.roots.append(self.roots[whole])

    def dead(self) -> frozenset[int]:
        trunk = self._trunk()
        dead = bytearray(len(self.nodes))
        for number, node in enumerate(self.nodes):
            if node.parent >= 0:
                dead[number] = dead[node.parent] or (
                    number not in trunk
                    and node.parent in trunk
                    and self._is_abandoned(node, trunk[node.parent])
                )
        return frozenset(node.offset for number, node in enumerate(self.nodes) if dead[number])

    def _trunk(self) -> dict[int, int]:
        """Maps each ancestor of a tree's last record to its successor on that path (the last to itself)."""
        trunk: dict[int, int] = {}
        for end in self.ends.values():
            follows = number = end
            while number >= 0 and number not in trunk:
                trunk[number] = follows
                follows, number = number, self.nodes[number].parent
        return trunk

    def _is_abandoned(self, node: _Node, follower: int) -> bool:
        if not node.begins:
            return False
        if not node.key:
            return True
        parent = self.nodes[node.parent]
        return node.key not in (parent.key, self.nodes[follower].key)


def _begins(record: _Record) -> bool:
    if record.type == "user":
        return not record.is_meta and b'"tool_result"' not in bytes(
            record.message.content if record.message else b""
        )
    return record.type == "assistant" or bool(record.subtype == "compact_boundary")
