"""Reads the trajectories of mini-swe-agent: the messages of a run.

In version 1, a message has one command, in a fenced block of its text; in version 2, commands are in ``extra.actions``. Older files are
just the list of messages. The block was tagged ``bash`` first and ``mswea_bash_command`` later; the counting rules of this format cover the
first only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nbtools.core.errors import TraceError
from nbtools.traces.display_builders import command_output, media_of
from nbtools.traces.json_access import epoch_seconds, float_of, integer_of, items, mapping, string, text_of
from nbtools.traces.json_document import JsonDocument, decode_items, open_document
from nbtools.traces.model import Call, Detail, EventKind, Origin, Problem, Ref, Row, Session
from nbtools.traces.reader import Head
from nbtools.traces.session_builder import SessionBuilder
from nbtools.traces.source import Source

_BLOCK = re.compile(r"```(bash|mswea_bash_command)[ \t]*\r?\n(.*?)\n?```", re.DOTALL)
_COUNTED = re.compile(r"```bash\n")
_MESSAGES = re.compile(rb'\s*\{\s*"(?:messages|info)"')
_CODE = re.compile(r"<returncode>(-?\d{1,9})</returncode>")
_OUTPUT = re.compile(r"<output>\n?(.*?)\n?</output>", re.DOTALL)
_KINDS: dict[str, EventKind] = {"user": "user", "assistant": "assistant_text", "response": "assistant_text", "tool": "tool_result"}
_STATUS_TEXTS = {"interrupted": "interrupted", "unanswered": "no result"}


class _Document(msgspec.Struct):
    messages: list[msgspec.Raw]
    info: Any = None
    trajectory_format: Any = None
    instance_id: Any = None


@dataclass(frozen=True)
class _Action:
    command: str
    native: str = ""
    counted: bool = True


class MiniSweAgent:
    name = "mini-swe-agent"
    tells_errors = False

    def recognises(self, head: Head) -> bool:
        if head.has("trajectory_format", "info") or head.has("mini_version"):
            return True
        first = head.first
        if isinstance(first, dict):
            return "messages" in first and bool({"exit_status", "model_stats"} & mapping(first.get("info")).keys())
        if not head.start.lstrip().startswith(b"[") and not _MESSAGES.match(head.start):
            return False
        return head.has("role", "content") and (b"```mswea_bash_command" in head.start or b"<returncode>" in head.start)

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        text = source.read_file()
        document = _open(text)
        yield from document.problems
        if document.value is None:
            return
        reading = _TrajectoryReader(source.path, document.value, origin)
        for part in decode_items(document, document.value.messages):
            if isinstance(part, Problem):
                yield part
            else:
                yield from reading.message(mapping(part[1]), part[0])
        yield from reading.end(len(text))

    def detail(self, source: Source, call: Call) -> Detail:
        actions = _actions(mapping(source.record(call.ref)))
        index = int(call.id.rpartition(".")[2])
        if index >= len(actions):
            raise TraceError(f"{source.path} has changed since it was read; load it again.")
        answer = mapping(source.record(call.result_ref)) if call.result_ref.length else {}
        text = _text(answer)
        extra = mapping(answer.get("extra"))
        printed = string(extra.get("raw_output")) or _output(text)
        command = actions[index].command
        return Detail(
            args={"command": command},
            result=text,
            display=command_output(printed, call.exit_code, status=_STATUS_TEXTS.get(call.status, "")),
            command=command,
            stdout=printed,
            media=tuple(media_of(answer.get("content"))),
            extra=extra,
        )


class _TrajectoryReader:
    def __init__(self, path: Path, document: _Document, origin: Origin) -> None:
        self.document = document
        self.info = mapping(document.info)
        self.id = string(document.instance_id) or path.name.partition(".")[0]
        self.timeline = SessionBuilder(self.id, origin)
        self.records = 0
        self.waiting: list[Call] = []

    def message(self, record: Mapping[str, Any], ref: Ref) -> Iterator[Row]:
        at = epoch_seconds(record.get("timestamp") or mapping(record.get("extra")).get("timestamp"))
        role = string(record.get("role")) or string(record.get("object"))
        self.timeline.note_time_and_model(at, string(mapping(mapping(record.get("extra")).get("response")).get("model")))
        answers = bool(self.waiting)
        if self.waiting:
            yield self._with_result(record, role, at, ref)
        text, actions = _text(record), _actions(record)
        if text or not actions:
            kind = "tool_result" if answers and role in {"user", "tool"} else _KINDS.get(role, "system")
            yield self.timeline.event(kind, text, ref, at=at, role=role, type=role)
        for number_, action in enumerate(actions):
            id_ = f"{self.records}.{number_}"
            fields: dict[str, Any] = {"at": at, "native_id": action.native, "counted": action.counted}
            self.waiting.append(self.timeline.call(id_, "bash", {"command": action.command}, ref, **fields))
        self.records += 1

    def _with_result(self, record: Mapping[str, Any], role: str, at: float | None, ref: Ref) -> Call:
        """Completes the waiting call with the id that the message names, or else the first one.

        The message after a command is its result.
        """
        native = string(record.get("tool_call_id")) or string(record.get("call_id"))
        call = next((call for call in self.waiting if native and call.native_id == native), self.waiting[0])
        self.waiting.remove(call)
        text, extra = _text(record), mapping(record.get("extra"))
        code = integer_of(extra.get("returncode"))
        if code is None and (found := _CODE.match(text)):
            code = int(found[1])
        stopped = bool(extra.get("interrupt_type")) or (role == "exit" and extra.get("exit_status") != "Submitted")
        return replace(
            call,
            status="interrupted" if stopped else "unknown" if code is None else "error" if code else "ok",
            status_source="text" if stopped else "none" if code is None else "exit_code",
            exit_code=code,
            answered=True,
            ended=at,
            duration=at - call.at if at is not None and call.at is not None and at >= call.at else None,
            result_size=len(text),
            result_ref=ref,
        )

    def end(self, size: int) -> Iterator[Row]:
        for call in self.waiting:
            last = int(call.id.partition(".")[0]) + 1 >= self.records
            yield call if last else replace(call, answered=True, status="unknown")
        statistics = mapping(self.info.get("model_stats"))
        model = string(mapping(mapping(self.info.get("config")).get("model")).get("model_name"))
        environment = mapping(mapping(self.info.get("config")).get("environment"))
        yield Session(
            id=self.id,
            format="mini-swe-agent",
            format_version=string(self.document.trajectory_format).removeprefix("mini-swe-agent-"),
            agent="mini-swe-agent",
            agent_version=string(self.info.get("mini_version")),
            cwd=string(environment.get("cwd")),
            models=tuple(self.timeline.models) or ((model,) if model else ()),
            started=min(self.timeline.times, default=None),
            ended=max(self.timeline.times, default=None),
            records=self.records,
            cost=float_of(statistics.get("instance_cost")),
            counts={"exit_status": self.info.get("exit_status"), "api_calls": statistics.get("api_calls")},
            ref=Ref(0, size),
        )


def _open(text: bytes) -> JsonDocument[_Document]:
    """Opens the document, which may be just the list of messages."""
    if not text.lstrip().startswith(b"["):
        return open_document(text, _Document)
    bare = open_document(text, list[msgspec.Raw])
    return JsonDocument(None if bare.value is None else _Document(bare.value), bare.text, bare.end, bare.problems)


def _actions(record: Mapping[str, Any]) -> list[_Action]:
    assistant = record.get("role") == "assistant"
    if not assistant and record.get("object") != "response":
        return []
    actions = items(mapping(record.get("extra")).get("actions"))
    if actions:
        return [_Action(_command(one), string(mapping(one).get("tool_call_id")), assistant) for one in actions]
    text = _text(record)
    if len(_COUNTED.findall(text)) == 1:
        return [_Action(_block(text, "bash"))]
    blocks = [found[2] for found in _BLOCK.finditer(text) if found[1] != "bash"]
    return [_Action(blocks[0].strip(), counted=False)] if len(blocks) == 1 else []


def _command(action: Any) -> str:
    return action if isinstance(action, str) else string(mapping(action).get("command"))


def _block(text: str, kind: str) -> str:
    """Returns the content of the only block of this kind, or everything after its opening where it is not closed."""
    found = next((found[2] for found in _BLOCK.finditer(text) if found[1] == kind), None)
    return (text.partition(f"```{kind}\n")[2] if found is None else found).strip()


def _text(record: Mapping[str, Any]) -> str:
    content = record.get("content")
    return text_of(record.get("output") if content is None else content)


def _output(text: str) -> str:
    """Extracts a command's output from the text made for the model."""
    found = _OUTPUT.search(text)
    return found[1] if found else text
