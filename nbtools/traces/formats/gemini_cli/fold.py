"""What a session says in the end: its log of changes, carried out.

A message's line replaces the one with its id; ``{"$set": {…}}`` sets fields of the session, ``messages`` among them all at once (after
compression); ``{"$rewindTo": id}`` drops that message and all after it.  What was dropped is kept, marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.document import Opened, opened, parts
from nbtools.traces.loose import mapping
from nbtools.traces.model import Problem, Ref
from nbtools.traces.source import UNREADABLE, Source, decoded


class _Line(msgspec.Struct):
    id: Any = msgspec.UNSET
    type: Any = msgspec.UNSET
    rewind: Any = msgspec.field(default=msgspec.UNSET, name="$rewindTo")
    set: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="$set")


class _Message(msgspec.Struct):
    id: Any = None


class _First(msgspec.Struct):
    messages: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_NONE = msgspec.Raw(b"null")
_LINE = msgspec.json.Decoder(_Line)
_MESSAGE = msgspec.json.Decoder(_Message)


@dataclass
class Kept:
    """A message.  ``replaced``: it stands elsewhere in a later form."""

    id: Any
    ref: Ref
    live: bool = True
    replaced: bool = False


class Fold:
    """The messages of a file, by where they stand: no more of them is kept in memory."""

    def __init__(self) -> None:
        self.session: dict[str, Any] = {}
        self._text = b""
        """Of a document, which is read whole."""
        self._order: list[Kept] = []
        self._live: list[Kept] = []
        self._at: dict[Any, int] = {}

    def messages(self, source: Source, file: int = 0) -> Iterator[tuple[Kept, Mapping[str, Any]]]:
        """In reading order, those that were dropped among them, each with what it says."""
        with source.opened(file) as opened:
            for kept in self._order:
                start, length = kept.ref.offset, kept.ref.length
                if self._text:
                    yield kept, mapping(decoded(self._text[start : start + length]))
                elif not kept.replaced:
                    opened.seek(start)
                    yield kept, mapping(decoded(opened.read(length)))

    def read(self, source: Source, file: int = 0) -> Iterator[Problem]:
        if _is_document(source, file):
            yield from self._document(source.document(file), file)
            return
        for line in source.lines(lambda line: (line, _LINE.decode(line)), file):
            if isinstance(line, Problem):
                yield line
                continue
            ref, (text, changes) = line
            try:
                yield from self._line(text, changes, ref)
            except (TraceError, *UNREADABLE) as error:
                yield Problem(ref, str(error))

    def _document(self, text: bytes, file: int) -> Iterator[Problem]:
        document = opened(text, dict[str, msgspec.Raw], file)
        yield from document.problems
        if document.value is None:
            return
        self._text = document.text
        self.session = {name: decoded(bytes(value)) for name, value in document.value.items() if name != "messages"}
        whole = Ref(0, len(text), 0, file)
        messages = document.value.get("messages", _NONE)
        if bytes(memoryview(messages)[:1]) != b"[":
            yield Problem(whole, "there is no list of messages in it")
            return
        for part in parts(document, msgspec.json.decode(messages, type=list[msgspec.Raw]), whole, _MESSAGE.decode):
            if isinstance(part, Problem):
                yield part
            else:
                self._append(part[1].id, part[0])

    def _line(self, text: bytes, line: _Line, ref: Ref) -> Iterator[Problem]:
        if line.rewind is not msgspec.UNSET:
            self._rewind(line.rewind)
        elif bytes(line.set)[:1] == b"{":
            yield from self._set(text, line.set, ref)
        elif line.id is not msgspec.UNSET and line.type is not msgspec.UNSET:
            self._put(line.id, ref)
        else:
            self.session.update(decoded(text))

    def _set(self, text: bytes, changes: msgspec.Raw, ref: Ref) -> Iterator[Problem]:
        fields = msgspec.json.decode(changes, type=dict[str, msgspec.Raw])
        messages = fields.pop("messages", None)
        self.session.update({name: decoded(bytes(value)) for name, value in fields.items()})
        if messages is None or bytes(messages)[:1] != b"[":
            return
        before, self._live, self._at = self._live, [], {}
        for part in parts(Opened(None, text, len(text)), msgspec.json.decode(messages, type=list[msgspec.Raw]), ref, _MESSAGE.decode):
            if isinstance(part, Problem):
                yield part
            else:
                self._append(part[1].id, part[0])
        for kept in before:
            kept.live, kept.replaced = False, _key(kept.id) in self._at

    def _put(self, id_: Any, ref: Ref) -> None:
        at = self._at.get(_key(id_))
        if at is None:
            self._append(id_, ref)
        else:
            self._live[at].ref = ref

    def _append(self, id_: Any, ref: Ref) -> None:
        kept = Kept(id_, ref)
        self._at.setdefault(_key(id_), len(self._live))
        self._live.append(kept)
        self._order.append(kept)

    def _rewind(self, to: Any) -> None:
        at = self._at.get(_key(to))
        if at is None:
            return
        for kept in self._live[at:]:
            kept.live = False
            if self._at.get(_key(kept.id), -1) >= at:
                del self._at[_key(kept.id)]
        del self._live[at:]


def _key(value: Any) -> Any:
    """An id by which it is found, whatever was written for one."""
    return value if isinstance(value, str | int) else repr(value)


def _is_document(source: Source, file: int) -> bool:
    """Whether the file is one object over many lines, or one with its messages in it."""
    for line in source.lines(_first, file):
        return isinstance(line, Problem) or line[1]
    return True


def _first(line: bytes) -> bool:
    if line.strip() == b"{":
        return True
    try:
        return msgspec.json.decode(line, type=_First).messages is not msgspec.UNSET
    except UNREADABLE:
        return line.lstrip()[:1] == b"{" and (not line.startswith(b'{"') or b'"messages"' in line[:4096])
