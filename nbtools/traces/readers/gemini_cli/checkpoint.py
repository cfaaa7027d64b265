"""Reader of Gemini CLI's checkpoints: the conversation before an edit, and the call about to be made.

``commitHash`` refers to the repository that Gemini CLI keeps beside the project's own
(``~/.gemini/history/<project>``): the state of the files *before* the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nbtools.traces.json_access import mapping, mappings, string
from nbtools.traces.json_document import NULL, decode_items, open_document
from nbtools.traces.model import Call, Detail, EventKind, Origin, Ref, Row
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.gemini_cli.messages import op_of, paths_of, subject_of, text_of, text_of_result
from nbtools.traces.readers.gemini_cli.results import detail_of
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, call_number
from nbtools.traces.source import Source

_END = 64 << 10
_NEXT = "next"
"""Id of the call that the checkpoint was made for."""


class _Checkpoint(msgspec.Struct):
    history: msgspec.Raw = NULL
    clientHistory: list[msgspec.Raw] = []  # noqa: N815 - as written
    toolCall: msgspec.Raw = NULL  # noqa: N815 - as written
    commitHash: Any = None  # noqa: N815 - as written
    messageId: Any = None  # noqa: N815 - as written


class GeminiCheckpoint(Format):
    """Reads Gemini CLI's checkpoints."""

    name = "gemini-checkpoint"

    def recognises(self, head: Head) -> bool:
        if isinstance(head.first, dict):
            return {"toolCall", "commitHash"} <= head.first.keys()
        start = head.start.lstrip()[:80].replace(b" ", b"").replace(b"\n", b"")
        return start.startswith(b'{"history":[') and b'"commitHash"' in _end(head.path)

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        text = source.read_file()
        document = open_document(text, _Checkpoint)
        yield from document.problems
        if document.value is None:
            return
        log, checkpoint = LogBuilder(self.name, origin), document.value
        reading = _CheckpointReader(log.session(string(checkpoint.messageId) or source.path.stem))
        yield from log.read(decode_items(document, checkpoint.clientHistory), reading.content)
        reading.session.add_unanswered()
        next_call = [checkpoint.toolCall] if bytes(checkpoint.toolCall)[:1] == b"{" else []
        yield from log.read(decode_items(document, next_call), reading.next_call)
        commit = string(checkpoint.commitHash)
        reading.session.end(
            agent="gemini-cli",
            repository=_repository(source.path) if commit else "",
            commit=commit,
            counts={"message_id": checkpoint.messageId},
            ref=Ref(0, len(text)),
        )
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        record = mapping(source.record(call.ref))
        if call.id == _NEXT:
            return detail_of(record)
        part = mapping(mappings(record.get("parts"))[call_number(call)].get("functionCall"))
        answers = mapping(source.record(call.result_ref)) if call.answered else {}
        mine = [answer for answer in mappings(answers.get("parts")) if _answers(answer, part)]
        return detail_of({**part, "result": mine, "status": "success"})


class _CheckpointReader:
    def __init__(self, session: SessionBuilder) -> None:
        self.session = session

    def content(self, content: Any, ref: Ref) -> None:
        session, record = self.session, mapping(content)
        session.records += 1
        role = string(record.get("role"))
        recorded = mappings(record.get("parts"))
        texts = [part for part in recorded if "functionCall" not in part and "functionResponse" not in part]
        if texts or not recorded:
            kind: EventKind = "user" if role == "user" else "assistant_text"
            session.message(kind, text_of(texts), ref, role=role, type="content")
        for number, part in enumerate(recorded):
            if "functionCall" in part:
                id_ = f"{session.records - 1}.{number}"
                session.wait(self._call(mapping(part["functionCall"]), id_, ref))
            elif "functionResponse" in part:
                self._answer(part, ref)

    def next_call(self, recorded: Any, ref: Ref) -> None:
        self.session.add(self._call(mapping(recorded), _NEXT, ref))

    def _call(self, recorded: Mapping[str, Any], id: str, ref: Ref) -> Call:  # noqa: A002 - the field's name
        name, arguments = string(recorded.get("name")) or "?", mapping(recorded.get("args"))
        return self.session.call(
            id,
            name,
            ref,
            op=op_of(name),
            subject=subject_of(arguments),
            paths=paths_of(arguments),
            native_id=string(recorded.get("id")),
        )

    def _answer(self, part: Mapping[str, Any], ref: Ref) -> None:
        """Completes the call with the result's id, or without ids the first pending call of its name."""
        for call, _ in self.session.all_waiting():
            if _answers(part, {"id": call.native_id or None, "name": call.name}):
                failed = "error" in mapping(mapping(part["functionResponse"]).get("response"))
                size = len(text_of_result([part]))
                self.session.result(call, ref, size, None, "error" if failed else "ok", "text", ())
                return


def _answers(answer: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    response = mapping(answer.get("functionResponse"))
    same = response.get("id") == call.get("id") if response.get("id") and call.get("id") else True
    return bool(response) and same and response.get("name") == call.get("name")


def _repository(path: Path) -> str:
    """Returns the commit's repository, if the checkpoint is still in ``tmp/<project>/checkpoints``."""
    project = path.absolute().parent.parent
    repository = project.parent.parent / "history" / project.name
    return str(repository) if repository.is_dir() else ""


def _end(path: Path) -> bytes:
    with path.open("rb") as opened:
        opened.seek(max(path.stat().st_size - _END, 0))
        return opened.read()
