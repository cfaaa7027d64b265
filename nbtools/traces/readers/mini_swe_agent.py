"""Reads the trajectories of mini-swe-agent: the messages of a run.

In version 1, a message has one command, in a fenced block of its text; in version 2, commands are in
``extra.actions``. Older files are just the list of messages. The block was tagged ``bash`` first and
``mswea_bash_command`` later; the counting rules cover both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from nbtools.traces.conversation import Usage
from nbtools.traces.display_builders import command_output, media_of
from nbtools.traces.json_access import (
    arguments,
    epoch_seconds,
    float_of,
    integer_of,
    items,
    mapping,
    mappings,
    string,
    text_of,
)
from nbtools.traces.json_document import JsonDocument, decode_items, open_document
from nbtools.traces.model import Call, Detail, EventKind, Origin, Ref, Row
from nbtools.traces.reader import Format, Head
from nbtools.traces.session_builder import (
    LogBuilder,
    SessionBuilder,
    call_number,
    duration_of,
    status_of_exit_code,
)
from nbtools.traces.source import Source, decode_typed

_OPENING = re.compile(r"```(bash|mswea_bash_command)([ \t]*\r?\n)")
_MESSAGES = re.compile(rb'\s*\{\s*"(?:messages|info)"')
_CODE = re.compile(r"<returncode>(-?\d{1,9})</returncode>")
_KINDS: dict[str, EventKind] = {
    "user": "user",
    "assistant": "assistant_text",
    "response": "assistant_text",
    "tool": "tool_result",
}
_RESULT_ROLES = ("user", "tool")
_STATUS_TEXTS = {"interrupted": "interrupted", "unanswered": "no result"}


class _Document(msgspec.Struct):
    messages: list[msgspec.Raw]
    info: Any = None
    trajectory_format: Any = None
    instance_id: Any = None


class _Response(msgspec.Struct, gc=False):
    """The answer of the model's API, without the choices, which the message repeats."""

    id: Any = None
    model: Any = None
    usage: Any = None


class _Extra(msgspec.Struct, gc=False):
    timestamp: Any = None
    actions: Any = None
    response: _Response | None = None
    returncode: Any = None
    cost: Any = None
    interrupt_type: Any = None
    exit_status: Any = None


class _Message(msgspec.Struct, gc=False):
    """The fields that rows need. ``object`` is ``response`` for an answer of OpenAI's Responses API."""

    role: str = ""
    content: Any = None
    extra: _Extra | None = None
    object: Any = None
    output: Any = None
    reasoning_content: Any = None
    timestamp: Any = None
    type: Any = None
    tool_call_id: Any = None
    call_id: Any = None
    id: Any = None
    model: Any = None
    usage: Any = None


_decode_typed = msgspec.json.Decoder(_Message).decode
_NO_EXTRA = _Extra()
_FIELDS = tuple(name for name in _Message.__struct_fields__ if name not in ("role", "extra"))


def _decode(data: bytes) -> _Message:
    """Decodes a message. Raises ``TraceError`` where it is not JSON."""
    return decode_typed(data, _decode_typed, _message_of)


def _message_of(record: Mapping[str, Any]) -> _Message:
    """Returns the fields of a decoded message, whatever their types are."""
    fields = {name: record[name] for name in _FIELDS if name in record}
    extra = mapping(record.get("extra"))
    response = mapping(extra.get("response"))
    known = {name: extra[name] for name in _Extra.__struct_fields__ if name in extra and name != "response"}
    answer = _Response(response.get("id"), response.get("model"), response.get("usage")) if response else None
    return _Message(
        string(record.get("role")), extra=_Extra(response=answer, **known) if extra else None, **fields
    )


class _Action(NamedTuple):
    command: str
    native: str = ""
    counted: bool = True


class MiniSweAgent(Format):
    name = "mini-swe-agent"
    tells_errors = False

    def recognises(self, head: Head) -> bool:
        if head.has("trajectory_format", "info") or head.has("mini_version"):
            return True
        first = head.first
        if isinstance(first, dict):
            return "messages" in first and bool(
                {"exit_status", "model_stats"} & mapping(first.get("info")).keys()
            )
        if not head.start.lstrip().startswith(b"[") and not _MESSAGES.match(head.start):
            return False
        return head.has("role", "content") and (
            b"```mswea_bash_command" in head.start or b"<returncode>" in head.start
        )

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        text = source.read_file()
        document = _open(text)
        yield from document.problems
        if document.value is None:
            return
        info = mapping(document.value.info)
        log = LogBuilder(self.name, origin)
        reading = _TrajectoryReader(
            log.session(string(document.value.instance_id) or source.path.name.partition(".")[0])
        )
        yield from log.read(decode_items(document, document.value.messages, decode=_decode), reading.message)
        reading.end()
        statistics, config = mapping(info.get("model_stats")), mapping(info.get("config"))
        model = string(mapping(config.get("model")).get("model_name"))
        reading.session.end(
            format_version=string(document.value.trajectory_format).removeprefix("mini-swe-agent-"),
            agent="mini-swe-agent",
            agent_version=string(info.get("mini_version")),
            cwd=string(mapping(config.get("environment")).get("cwd")),
            models=tuple(reading.session.models) or ((model,) if model else ()),
            cost=float_of(statistics.get("instance_cost")),
            counts={"exit_status": info.get("exit_status"), "api_calls": statistics.get("api_calls")},
            ref=Ref(0, len(text)),
        )
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        record = _message_of(mapping(source.record(call.ref)))
        actions = _actions(record, _text(record))
        index = call_number(call)
        if index >= len(actions):
            raise source.outdated()
        answer = mapping(source.record(call.result_ref)) if call.result_ref.length else {}
        text = _text(_message_of(answer))
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
    def __init__(self, session: SessionBuilder) -> None:
        self.session = session

    def message(self, record: _Message, ref: Ref) -> None:
        session, extra = self.session, record.extra or _NO_EXTRA
        time = record.timestamp or extra.timestamp
        at = epoch_seconds(time) if time is not None else None
        is_response = record.object == "response"
        role = "tool" if record.type == "function_call_output" else record.role or string(record.object)
        answer = record if is_response else extra.response
        model = "" if answer is None else string(answer.model)
        first = session.log.seq + 1
        if at is not None or model:
            session.see(at, model)
        text = content if type(content := record.content) is str else _text(record)
        actions = _actions(record, text) if is_response or record.role == "assistant" else ()
        waiting = session.oldest_waiting()
        if waiting is not None:
            native = string(record.tool_call_id) or string(record.call_id)
            call = (session.waiting(native) if native else None) or waiting
            self._result(call, text, extra, role, at, ref)
        if (is_response or record.reasoning_content is not None) and (thought := _thought(record)):
            session.event("thinking", thought, ref, at, role, model, role)
        if text or not actions:
            is_result = waiting is not None and role in _RESULT_ROLES
            kind = "tool_result" if is_result else _KINDS.get(role, "system")
            session.message(kind, text, ref, at, role, "", role)
        for number, action in enumerate(actions) if actions else ():
            subject = action.command.strip().partition("\n")[0]
            known: dict[str, Any] = {"native_id": action.native, "counted": action.counted}
            id_ = f"{session.records}.{number}"
            session.wait(session.call(id_, "bash", ref, op="shell", subject=subject, at=at, **known))
        session.records += 1
        if answer is not None or extra.cost is not None:
            self._request(answer, extra, first, ref, at)

    def _request(
        self, answer: _Message | _Response | None, extra: _Extra, first: int, ref: Ref, at: float | None
    ) -> None:
        usage, cost = Usage(), float_of(extra.cost)
        usage.add(mapping(None if answer is None else answer.usage))
        if usage.native or cost is not None:
            model, native = ("", "") if answer is None else (string(answer.model), string(answer.id))
            self.session.request(usage.tokens(), ref, first, id=native, model=model, at=at, cost=cost)

    def _result(self, call: Call, text: str, extra: _Extra, role: str, at: float | None, ref: Ref) -> None:
        code = integer_of(extra.returncode)
        if code is None and (found := _CODE.match(text)):
            code = int(found[1])
        stopped = bool(extra.interrupt_type) or (role == "exit" and extra.exit_status != "Submitted")
        status, source = status_of_exit_code(code)
        if stopped:
            status, source = "interrupted", "text"
        taken = duration_of(call.at, at)
        self.session.result(call, ref, len(text), at, status, source, (), taken, exit_code=code)

    def end(self) -> None:
        """A message after a command is its result; only the last commands may have none."""
        for call, _ in self.session.all_waiting():
            if int(call.id.partition(".")[0]) + 1 < self.session.records:
                self.session.take(call)
                self.session.add(replace(call, answered=True, status="unknown"))


def _open(text: bytes) -> JsonDocument[_Document]:
    """Opens the document, which may be just the list of messages."""
    if not text.lstrip().startswith(b"["):
        return open_document(text, _Document)
    bare = open_document(text, list[msgspec.Raw])
    return JsonDocument(
        None if bare.value is None else _Document(bare.value), bare.text, bare.end, bare.problems
    )


def _actions(record: _Message, text: str) -> Sequence[_Action]:
    is_response = record.object == "response"
    if record.role != "assistant" and not is_response:
        return ()
    if record.extra is not None and (actions := items(record.extra.actions)):
        return [_Action(_command(one), string(mapping(one).get("tool_call_id"))) for one in actions]
    if is_response:
        calls = [one for one in mappings(record.output) if one.get("type") == "function_call"]
        return [
            _Action(_command(arguments(one.get("arguments"))), string(one.get("call_id"))) for one in calls
        ]
    return _block_actions(text)


def _block_actions(text: str) -> Sequence[_Action]:
    """Returns the command of the only fenced block.

    The counting rules want one block, opened without blanks after its tag. Later versions execute the only
    block of the later tag, whatever else the message contains.
    """
    if (first := _OPENING.search(text)) is None:
        return ()
    if _OPENING.search(text, first.end()) is None:
        return [_Action(_block(text, first.end()), "", first[2] == "\n")]
    found = [*_OPENING.finditer(text)]
    counted = [one for one in found if one[2] == "\n"]
    if len(counted) == 1:
        return [_Action(_block(text, counted[0].end()))]
    later = [one for one in found if one[1] != "bash"]
    only = later if len(later) == 1 else []
    return [_Action(_block(text, one.end()), counted=False) for one in only]


def _command(action: Any) -> str:
    return action if isinstance(action, str) else string(mapping(action).get("command"))


def _block(text: str, start: int) -> str:
    """Returns the block that begins at ``start``; everything after it where the block is not closed."""
    end = text.find("```", start)
    return text[start : None if end < 0 else end].strip()


def _text(record: _Message) -> str:
    content = record.content
    if type(content) is str:
        return content
    if record.object == "response":  # of OpenAI's Responses API: its texts are in its items
        texts = [
            text_of(item.get("content")) for item in mappings(record.output) if item.get("type") == "message"
        ]
        return "\n".join(filter(None, texts))
    return text_of(record.output if content is None else content)


def _thought(record: _Message) -> str:
    """Returns the model's reasoning, as far as its API gives it."""
    if record.reasoning_content is not None:
        return text_of(record.reasoning_content)
    if record.object != "response":
        return ""
    thoughts = (item for item in mappings(record.output) if item.get("type") == "reasoning")
    return "\n".join(
        filter(None, (text_of(item.get("summary")) or text_of(item.get("content")) for item in thoughts))
    )


def _output(text: str) -> str:
    """Extracts a command's output from the text made for the model."""
    _, _, rest = text.partition("<output>")
    inner, end, _ = rest.partition("</output>")
    return inner.removeprefix("\n").removesuffix("\n") if end else text
