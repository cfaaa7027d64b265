"""Reads SWE-agent's ``.traj`` files of every version.

A file is one JSON document with the steps (``trajectory``) and the chat (``history``).

A step's action is one text; with function calling, the model's call is in the history. ``state`` is JSON in a text up to 0.7, an object
since 1.0. There are no times, and failures appear only in the wording of an observation. Demonstrations may have only a history: their
calls are read, but not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbtools.traces.json_access import arguments, float_of, integer_of, mapping, parse_json, string, text_of
from nbtools.traces.json_document import JsonDocument, decode_array, open_document
from nbtools.traces.model import PREVIEW, Call, Detail, Event, EventKind, FileChange, Origin, Problem, Ref, Row, Session, Tokens
from nbtools.traces.reader import Head
from nbtools.traces.readers.swe_agent.commands import (
    CHANGING_COMMANDS,
    EDITING,
    EDITOR,
    REFUSED,
    arguments_of,
    called_function,
    changes_of,
    display_of,
    named_path,
    op_of,
    open_file,
)
from nbtools.traces.source import Source

_NULL = msgspec.Raw(b"null")
_CHANGED_FILE = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)
_DOCUMENT = re.compile(rb'\s*\{\s*"(?:trajectory|history|environment|info|replay_config)"\s*:')


class _Document(msgspec.Struct):
    trajectory: msgspec.Raw = _NULL
    history: msgspec.Raw = _NULL
    info: Any = None
    environment: Any = None
    replay_config: Any = None


class _Step(msgspec.Struct):
    """A step, without fields that repeat other content (``query``, ``messages``)."""

    action: Any = None
    observation: Any = None
    thought: Any = None
    response: Any = None
    state: Any = None
    execution_time: Any = None


class _Message(msgspec.Struct):
    role: Any = None
    content: Any = None
    action: Any = None
    thought: Any = None
    tool_calls: Any = None
    is_demo: Any = None


class SweAgent:
    name = "swe-agent"
    tells_errors = False

    def recognises(self, head: Head) -> bool:
        first = head.first
        if isinstance(first, dict):
            chat = first.get("history")
            is_chat = isinstance(chat, list) and any("role" in mapping(one) and "agent" in mapping(one) for one in chat)
            return isinstance(first.get("trajectory"), list) or (is_chat and "clientHistory" not in first)
        if not _DOCUMENT.match(head.start):
            return False
        return head.has("action", "observation") or (head.has("history", "role", "agent") and not head.has("clientHistory"))

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        text = source.read_file()
        document = open_document(text, _Document)
        yield from document.problems
        if document.value is None:
            return
        reading = _DocumentReader(source.path, document.value, origin)
        yield from reading.history(document)
        yield from reading.trajectory(document)
        yield reading.session(len(text))

    def detail(self, source: Source, call: Call) -> Detail:
        request = mapping(source.record(call.ref))
        answer = mapping(source.record(call.result_ref)) if call.answered else {}
        action = string(request.get("action")) or _called_text(request)
        observation = text_of(answer["observation"] if "observation" in answer else answer.get("content"))
        function = mapping(called_function(request).get("function"))
        call_arguments = arguments_of(action, arguments(function.get("arguments")))
        state = mapping(parse_json(answer.get("state")))
        changes = tuple(changes_of(action, call_arguments, named_path(action) or open_file(state, observation)))
        shell = op_of(action) == "shell"
        return Detail(
            args=call_arguments,
            result=observation,
            display=display_of(action, observation, changes) if call.answered else "",
            command=action.strip() if shell else "",
            cwd=string(state.get("working_dir")),
            stdout=observation if shell else "",
            changes=changes,
            extra={"action": action, "function": function.get("name"), "state": state},
        )


class _DocumentReader:
    """Builds the rows of a document. ``chat`` are the model's messages, to be matched with the steps that resulted from them."""

    def __init__(self, path: Path, document: _Document, origin: Origin) -> None:
        self.document, self.origin = document, origin
        self.id = path.stem
        self.steps = bytes(document.trajectory)[:1] == b"["
        self.chat: list[tuple[Ref, _Message]] = []
        self.seq = self.turn = self.records = 0
        self.waiting: Call | None = None

    def history(self, document: JsonDocument[_Document]) -> Iterator[Row]:
        """Yields the messages before the first step; all of them where there are no steps."""
        for part in decode_array(document, self.document.history, None, msgspec.json.Decoder(_Message).decode):
            if isinstance(part, Problem):
                yield part
                continue
            ref, message = part
            is_model_message = message.role == "assistant" and not message.is_demo
            if is_model_message:
                self.chat.append(part)
            if not self.steps:
                yield from self._history_message(message, ref)
            elif not self.chat:
                yield self._message(message, ref)
        if self.waiting is not None:
            yield self.waiting

    def _history_message(self, message: _Message, ref: Ref) -> Iterator[Row]:
        """Yields the rows of a message in a history without steps, which requests a call or answers one."""
        text = text_of(message.content)
        if self.waiting is not None and string(message.role) in {"user", "tool"}:
            yield _with_result(self.waiting, text, ref)
            self.waiting = None
            return
        yield self._message(message, ref)
        action = string(message.action) or _called_text({"tool_calls": message.tool_calls})
        if message.role == "assistant" and action.strip() and not message.is_demo:
            self.waiting = self._call(f"history.{self.seq}", action, called_function({"tool_calls": message.tool_calls}), {}, ref)

    def _message(self, message: _Message, ref: Ref) -> Event:
        kinds: dict[Any, EventKind] = {"user": "user", "assistant": "assistant_text", "tool": "tool_result"}
        role = string(message.role)
        kind = "system" if message.is_demo else kinds.get(role, "system")
        self.turn += kind == "user"
        return self._event(kind, text_of(message.thought or message.content), ref, role)

    def trajectory(self, document: JsonDocument[_Document]) -> Iterator[Row]:
        messages = iter(self.chat)
        for part in decode_array(document, self.document.trajectory, None, msgspec.json.Decoder(_Step).decode):
            self.records += 1
            if isinstance(part, Problem):
                yield part
            else:
                ref, step = part
                yield from self._step(step, ref, next(messages, None))

    def _step(self, step: _Step, ref: Ref, message: tuple[Ref, _Message] | None) -> Iterator[Row]:
        action = string(step.action)
        thought = text_of(step.thought) or text_of(step.response)
        is_pseudo_action = not action.strip() or action.strip().startswith("exit_")
        if thought or is_pseudo_action:
            kind: EventKind = "system" if is_pseudo_action and action.strip() else "assistant_text"
            yield self._event(kind, thought or action, ref, "assistant")
        if is_pseudo_action:
            return
        state = mapping(parse_json(step.state))
        matches = message is not None and string(message[1].action).strip() == action.strip()
        function = called_function({"tool_calls": message[1].tool_calls}) if message is not None and matches else {}
        call = self._call(str(self.records - 1), action, function, state, message[0] if message is not None and function else ref)
        duration = float_of(step.execution_time)
        yield msgspec.structs.replace(_with_result(call, text_of(step.observation), ref), duration=duration, counted=True)
        yield from _changes(call, action, state)

    def _call(self, id_: str, action: str, function: Mapping[str, Any], state: Mapping[str, Any], ref: Ref) -> Call:
        path_in_action = named_path(action)
        path = path_in_action or (open_file(state) if op_of(action) in {"read", "edit"} else "")
        return Call(
            session=self.id,
            id=id_,
            seq=self._next(),
            name=action.split(maxsplit=1)[0],
            op=op_of(action),
            origin=self.origin,
            native_id=string(function.get("id")),
            subject=(action.strip().partition("\n")[0] if op_of(action) == "shell" or not path else path)[:PREVIEW],
            paths=(path,) if path else (),
            status="unanswered",
            turn=self.turn,
            counted=False,
            ref=ref,
        )

    def _event(self, kind: EventKind, text: str, ref: Ref, role: str) -> Event:
        return Event(session=self.id, seq=self._next(), kind=kind, text=text[:PREVIEW], size=len(text), role=role, turn=self.turn, ref=ref)

    def _next(self) -> int:
        self.seq += 1
        return self.seq - 1

    def session(self, size: int) -> Session:
        info = mapping(self.document.info)
        statistics = mapping(info.get("model_stats"))
        config = mapping(parse_json(self.document.replay_config))
        model = string(mapping(mapping(config.get("agent")).get("model")).get("name"))
        native: dict[str, Any] = {"input": statistics.get("tokens_sent"), "output": statistics.get("tokens_received")}
        return Session(
            id=self.id,
            format="swe-agent",
            format_version="1" if config else "",
            agent="swe-agent",
            models=(model,) if model else (),
            records=self.records,
            tokens=Tokens(input=integer_of(native["input"]), output=integer_of(native["output"])),
            native_tokens=native,
            cost=float_of(statistics.get("instance_cost")),
            counts={
                "exit_status": info.get("exit_status"),
                "api_calls": statistics.get("api_calls"),
                "submission_paths": sorted(set(_CHANGED_FILE.findall(string(info.get("submission"))))),
            },
            ref=Ref(0, size),
        )


def _with_result(call: Call, observation: str, ref: Ref) -> Call:
    refused = observation.startswith(REFUSED)
    return msgspec.structs.replace(
        call,
        status="error" if refused else "unknown",
        status_source="text" if refused else "none",
        answered=True,
        result_size=len(observation),
        result_ref=ref,
    )


def _changes(call: Call, action: str, state: Mapping[str, Any]) -> Iterator[FileChange]:
    """Yields attempted changes, because success is not recorded. The file is the open one, which the state names."""
    words = action.split()
    if words[0] in EDITING:
        kind: Any = "add" if words[0] == "create" else "modify"
        yield FileChange(session=call.session, call=call.id, path=open_file(state), kind=kind)
    elif words[0] == EDITOR and len(words) > 2 and words[1] in CHANGING_COMMANDS:
        yield FileChange(session=call.session, call=call.id, path=words[2], kind="add" if words[1] == "create" else "modify")


def _called_text(message: Mapping[str, Any]) -> str:
    """Returns a function call as one text, where no action is recorded: its name and the values of its arguments."""
    function = mapping(called_function(message).get("function"))
    values = [value for value in arguments(function.get("arguments")).values() if isinstance(value, str)]
    return " ".join([string(function.get("name")), *values]).strip()
