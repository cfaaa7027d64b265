"""Reader of Gemini CLI's checkpoints: the conversation before an edit, and the call about to be made.

``commitHash`` refers to the repository that Gemini CLI keeps beside the project's own (``~/.gemini/history/<project>``): the state of the
files *before* the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbtools.traces.json_access import mapping, mappings, string
from nbtools.traces.json_document import decode_items, open_document
from nbtools.traces.model import PREVIEW, Call, Detail, Event, Origin, Problem, Ref, Row, Session
from nbtools.traces.reader import Head
from nbtools.traces.readers.gemini_cli.messages import op_of, paths_of, response_of, subject_of, text_of
from nbtools.traces.readers.gemini_cli.results import detail_of
from nbtools.traces.source import Source

_END = 64 << 10
_NEXT = "next"
"""Id of the call that the checkpoint was made for."""


class _Checkpoint(msgspec.Struct):
    history: msgspec.Raw = msgspec.Raw(b"null")
    clientHistory: list[msgspec.Raw] = []  # noqa: N815 - as written
    toolCall: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - as written
    commitHash: Any = None  # noqa: N815 - as written
    messageId: Any = None  # noqa: N815 - as written


class GeminiCheckpoint:
    """Reads Gemini CLI's checkpoints."""

    name = "gemini-checkpoint"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        if isinstance(head.first, dict):
            return {"toolCall", "commitHash"} <= head.first.keys()
        start = head.start.lstrip()[:80].replace(b" ", b"").replace(b"\n", b"")
        return start.startswith(b'{"history":[') and b'"commitHash"' in _end(head.path)

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        text = source.read_file()
        document = open_document(text, _Checkpoint)
        yield from document.problems
        if document.value is None:
            return
        reading = _CheckpointReader(source.path, origin, document.value)
        for part in decode_items(document, document.value.clientHistory):
            if isinstance(part, Problem):
                yield part
            else:
                yield from reading.content(mapping(part[1]), part[0])
        yield from reading.calls.values()
        next_call = document.value.toolCall
        yield from reading.rest(decode_items(document, [next_call] if bytes(next_call)[:1] == b"{" else []), len(text))

    def detail(self, source: Source, call: Call) -> Detail:
        record = mapping(source.record(call.ref))
        if call.id == _NEXT:
            return detail_of(record)
        part = mapping(mappings(record.get("parts"))[int(call.id.rpartition(".")[2])].get("functionCall"))
        answers = mapping(source.record(call.result_ref)) if call.answered else {}
        mine = [answer for answer in mappings(answers.get("parts")) if _answers(answer, part)]
        return detail_of({"name": part.get("name"), "args": part.get("args"), "result": mine, "status": "success"})


class _CheckpointReader:
    """Converts a checkpoint into rows.  ``calls`` are those without a result so far."""

    def __init__(self, path: Path, origin: Origin, checkpoint: _Checkpoint) -> None:
        self.path, self.origin, self.checkpoint = path, origin, checkpoint
        self.session = string(checkpoint.messageId) or path.stem
        self.calls: dict[str, Call] = {}
        self.seq = self.turn = self.records = 0

    def content(self, record: Mapping[str, Any], ref: Ref) -> Iterator[Row]:
        self.records += 1
        role = string(record.get("role"))
        recorded = mappings(record.get("parts"))
        texts = [part for part in recorded if "functionCall" not in part and "functionResponse" not in part]
        if texts or not recorded:
            self.turn += role == "user"
            yield self._event(text_of(texts), role, ref)
        for number, part in enumerate(recorded):
            if "functionCall" in part:
                call = self._call(mapping(part["functionCall"]), f"{self.records - 1}.{number}", ref)
                self.calls[call.id] = call
            elif "functionResponse" in part:
                yield from self._answer(part, ref)

    def _event(self, text: str, role: str, ref: Ref) -> Event:
        kind = "user" if role == "user" else "assistant_text"
        return Event(
            session=self.session,
            seq=self._next(),
            kind=kind,  # type: ignore[arg-type]
            text=text[:PREVIEW],
            size=len(text),
            role=role,
            turn=self.turn,
            type="content",
            ref=ref,
        )

    def _call(self, recorded: Mapping[str, Any], id: str, ref: Ref) -> Call:  # noqa: A002 - the field's name
        name = string(recorded.get("name")) or "?"
        arguments = mapping(recorded.get("args"))
        return Call(
            session=self.session,
            id=id,
            seq=self._next(),
            name=name,
            op=op_of(name),
            origin=self.origin,
            native_id=string(recorded.get("id")),
            subject=subject_of(arguments),
            paths=paths_of(arguments),
            status="unanswered",
            turn=self.turn,
            ref=ref,
        )

    def _answer(self, part: Mapping[str, Any], ref: Ref) -> Iterator[Row]:
        """Completes the call with the result's id, or without ids the first pending call of its name."""
        response = mapping(part["functionResponse"])
        waiting = [call for call in self.calls.values() if _answers(part, {"id": call.native_id or None, "name": call.name})]
        if not waiting:
            return
        failed = "error" in mapping(response.get("response"))
        yield msgspec.structs.replace(
            self.calls.pop(waiting[0].id),
            status="error" if failed else "ok",
            status_source="text",
            answered=True,
            result_size=len(response_of({"result": [part]})),
            result_ref=ref,
        )

    def rest(self, next_calls: Iterator[tuple[Ref, Any] | Problem], size: int) -> Iterator[Row]:
        for part in next_calls:
            yield part if isinstance(part, Problem) else self._call(mapping(part[1]), _NEXT, part[0])
        commit = string(self.checkpoint.commitHash)
        yield Session(
            id=self.session,
            format="gemini-checkpoint",
            agent="gemini-cli",
            repository=_repository(self.path) if commit else "",
            commit=commit,
            records=self.records,
            counts={"message_id": self.checkpoint.messageId},
            ref=Ref(0, size),
        )

    def _next(self) -> int:
        self.seq += 1
        return self.seq - 1


def _answers(answer: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    response = mapping(answer.get("functionResponse"))
    same = response.get("id") == call.get("id") if response.get("id") and call.get("id") else True
    return bool(response) and same and response.get("name") == call.get("name")


def _repository(path: Path) -> str:
    """Returns the commit's repository, if the checkpoint is in its original place: ``tmp/<project>/checkpoints``."""
    project = path.absolute().parent.parent
    repository = project.parent.parent / "history" / project.name
    return str(repository) if repository.is_dir() else ""


def _end(path: Path) -> bytes:
    with path.open("rb") as opened:
        opened.seek(max(path.stat().st_size - _END, 0))
        return opened.read()
