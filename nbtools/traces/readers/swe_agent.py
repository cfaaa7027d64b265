"""Reads SWE-agent's ``.traj`` files of every version.

A file is one JSON document with the steps (``trajectory``) and the chat (``history``).

A step's action is one text; with function calling, the model's call is in the history. ``state`` is JSON in a
text up to 0.7, an object since 1.0. There are no times, and failures appear only in the wording of an
observation. Demonstrations may have only a history: their calls are read, but not counted.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from nbtools.core.result import Entry, FileDiff, Match, ToolResultDisplay
from nbtools.traces.display_builders import (
    command_output,
    diff_display,
    diff_of_texts,
    file_text,
    listing,
    matches,
)
from nbtools.traces.json_access import (
    arguments,
    float_of,
    integer_of,
    items,
    mapping,
    mappings,
    parse_json,
    string,
    text_of,
)
from nbtools.traces.json_document import NULL, decode_array, open_document
from nbtools.traces.known_tools import ops_by_name
from nbtools.traces.model import (
    Call,
    Detail,
    EventKind,
    FileChange,
    Op,
    Origin,
    Ref,
    Row,
    Status,
    StatusSource,
    Tokens,
)
from nbtools.traces.reader import Format, Head
from nbtools.traces.session_builder import LogBuilder, SessionBuilder
from nbtools.traces.source import Source

_CHANGED_FILE = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)
_DOCUMENT = re.compile(rb'\s*\{\s*"(?:trajectory|history|environment|info|replay_config)"\s*:')


class _Document(msgspec.Struct):
    trajectory: msgspec.Raw = NULL
    history: msgspec.Raw = NULL
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


_decode_step = msgspec.json.Decoder(_Step).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_STATISTICS = {"tokens_sent": "input", "tokens_received": "output"}
_ROLES: dict[str, EventKind] = {"user": "user", "assistant": "assistant_text", "tool": "tool_result"}
T = TypeVar("T")


class SweAgent(Format):
    name = "swe-agent"
    tells_errors = False

    def recognises(self, head: Head) -> bool:
        first = head.first
        if isinstance(first, dict):
            chat = first.get("history")
            is_chat = any(one.keys() >= {"role", "agent"} for one in mappings(chat))
            return isinstance(first.get("trajectory"), list) or (is_chat and "clientHistory" not in first)
        if not _DOCUMENT.match(head.start):
            return False
        return head.has("action", "observation") or (
            head.has("history", "role", "agent") and not head.has("clientHistory")
        )

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        text = source.read_file()
        document = open_document(text, _Document)
        yield from document.problems
        if document.value is None:
            return
        log = LogBuilder(self.name, origin)
        reading = _DocumentReader(log.session(source.path.stem), document.value)
        chat = decode_array(document, document.value.history, None, _decode_message)
        yield from log.read(chat, reading.chat_message)
        reading.session.add_unanswered()
        steps = decode_array(document, document.value.trajectory, None, _decode_step)
        yield from log.read(_counted(steps, reading.session), reading.step)
        reading.end(len(text))
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        request = mapping(source.record(call.ref))
        answer = mapping(source.record(call.result_ref)) if call.answered else {}
        called = called_function(request)
        action = string(request.get("action")) or _called_text(called)
        observation = text_of(answer["observation"] if "observation" in answer else answer.get("content"))
        function = mapping(called.get("function"))
        call_arguments = arguments_of(action, arguments(function.get("arguments")))
        state = mapping(parse_json(answer.get("state")))
        path = named_path(action) or open_file(state, observation)
        changes = diffs_of(action, call_arguments, path)
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
    """Adds the rows of a document. ``chat`` are the model's messages,
    to be matched with the steps that resulted from them.
    """

    def __init__(self, session: SessionBuilder, document: _Document) -> None:
        self.session, self.document = session, document
        self.steps = bytes(document.trajectory)[:1] == b"["
        self.chat: deque[tuple[Ref, _Message]] = deque()

    def chat_message(self, message: _Message, ref: Ref) -> None:
        """Adds a message before the first step; any message where there are no steps."""
        if message.role == "assistant" and not message.is_demo:
            self.chat.append((ref, message))
        if not self.steps:
            self._history_message(message, ref)
        elif not self.chat:
            self._message(message, ref)

    def _history_message(self, message: _Message, ref: Ref) -> None:
        """Adds a message in a history without steps, which requests a call or answers one."""
        session = self.session
        waiting = session.all_waiting()
        if waiting and string(message.role) in {"user", "tool"}:
            self._result(waiting[0][0], text_of(message.content), ref, ())
            return
        self._message(message, ref)
        function = _first_call(message.tool_calls)
        action = string(message.action) or _called_text(function)
        if message.role == "assistant" and action.strip() and not message.is_demo:
            session.add_unanswered()
            call = self._call("", action, function, {}, ref)
            session.wait(replace(call, id=f"history.{call.seq}"))

    def _message(self, message: _Message, ref: Ref) -> None:
        role = string(message.role)
        kind = "system" if message.is_demo else _ROLES.get(role, "system")
        self.session.message(kind, text_of(message.thought or message.content), ref, role=role)

    def step(self, step: _Step, ref: Ref) -> None:
        session, action = self.session, string(step.action)
        message_ref, message = self.chat.popleft() if self.chat else (ref, None)
        thought = text_of(step.thought) or text_of(step.response)
        is_pseudo_action = not action.strip() or action.strip().startswith("exit_")
        if thought or is_pseudo_action:
            kind: EventKind = "system" if is_pseudo_action and action.strip() else "assistant_text"
            session.event(kind, thought or action, ref, role="assistant")
        if is_pseudo_action:
            return
        state = mapping(parse_json(step.state))
        function: Mapping[str, Any] = {}
        if message is not None and string(message.action).strip() == action.strip():
            function = _first_call(message.tool_calls)
        call = self._call(str(session.records - 1), action, function, state, message_ref if function else ref)
        changes, taken = _changes(call, action, state), float_of(step.execution_time)
        self._result(call, text_of(step.observation), ref, changes, taken)

    def _result(
        self,
        call: Call,
        observation: str,
        ref: Ref,
        changes: Iterable[FileChange],
        duration: float | None = None,
    ) -> None:
        status, source = _EDIT_REFUSED if observation.startswith(_REFUSED) else _NO_STATUS
        self.session.result(call, ref, len(observation), None, status, source, changes, duration)

    def _call(
        self, id_: str, action: str, function: Mapping[str, Any], state: Mapping[str, Any], ref: Ref
    ) -> Call:
        op = op_of(action)
        path = named_path(action) or (open_file(state) if op in {"read", "edit"} else "")
        return self.session.call(
            id_,
            action.split(maxsplit=1)[0],
            ref,
            op=op,
            native_id=string(function.get("id")),
            subject=action.strip().partition("\n")[0] if op == "shell" or not path else path,
            paths=(path,) if path else (),
            counted=self.steps,
        )

    def end(self, size: int) -> None:
        info = mapping(self.document.info)
        statistics = mapping(info.get("model_stats"))
        config = mapping(parse_json(self.document.replay_config))
        model = string(mapping(mapping(config.get("agent")).get("model")).get("name"))
        native = {name: integer_of(statistics.get(key)) for key, name in _STATISTICS.items()}
        self.session.end(
            format_version="1" if config else "",
            agent="swe-agent",
            models=(model,) if model else (),
            tokens=Tokens(**native),
            native_tokens=native,
            cost=float_of(statistics.get("instance_cost")),
            counts={
                "exit_status": info.get("exit_status"),
                "api_calls": statistics.get("api_calls"),
                "submission_paths": sorted(set(_CHANGED_FILE.findall(string(info.get("submission"))))),
            },
            ref=Ref(0, size),
        )


def _counted(parts: Iterable[T], session: SessionBuilder) -> Iterator[T]:
    """Counts the steps, also those that cannot be read: calls are named by their numbers."""
    for part in parts:
        session.records += 1
        yield part


def _changes(call: Call, action: str, state: Mapping[str, Any]) -> Iterator[FileChange]:
    """Yields attempted changes: success is not recorded. The state names the open file."""
    words = action.split()
    if words[0] in _EDITING:
        path, name = open_file(state), words[0]
    elif words[0] == _EDITOR and len(words) > 2 and words[1] in _CHANGING_COMMANDS:
        path, name = words[2], words[1]
    else:
        return
    yield FileChange(
        session=call.session, call=call.id, path=path, kind="add" if name == "create" else "modify"
    )


def _called_text(called: Mapping[str, Any]) -> str:
    """Returns a function call as one text, if no action is recorded: name and values of arguments."""
    function = mapping(called.get("function"))
    values = [value for value in arguments(function.get("arguments")).values() if isinstance(value, str)]
    return " ".join([string(function.get("name")), *values]).strip()


_EDITING = {"create", "edit", "insert", "append"}
_EDITOR = "str_replace_editor"
_CHANGING_COMMANDS = {"create", "str_replace", "insert"}
"""Commands of the editor that change a file."""
_TEXT_ARGUMENTS = {"search", "replace", "text", "replacement_text"}
_COMMANDS_WITH_PATH = {"open", "create", _EDITOR}
_NO_STATUS: tuple[Status, StatusSource] = ("unknown", "none")
_EDIT_REFUSED: tuple[Status, StatusSource] = ("error", "text")
_REFUSED = "Your proposed edit has introduced new syntax error"
_OPS = ops_by_name(
    {
        "read": "open goto scroll_up scroll_down view",
        "write": "create",
        "edit": "edit insert append undo_edit",
        "search": "search_dir search_file",
        "list": "find_file filemap",
        "other": "submit exit_forfeit",
    }
)
_FILE = re.compile(r"^\[File: (?P<path>.+?) \((?P<total>\d{1,12}) lines? total\)\]$", re.MULTILINE)
_LINE = re.compile(r"^(?P<number>\d{1,12}):(?P<text>.*)$", re.MULTILINE)
_FOUND = re.compile(r"^(?P<path>/.*?)(?: \((?P<count>\d+) match(?:es)?\))?$")
_HIT = re.compile(r"^Line (?P<number>\d{1,12}):(?P<text>.*)$")
_RANGE = re.compile(r"edit\s+\d+:\d+\s*\n(?P<text>.*?)\n?end_of_edit", re.DOTALL)
_OPEN = re.compile(r"^\(Open file: (.+)\)\s*$", re.MULTILINE)
_OPTION = re.compile(r"--(\w+)")


def words_of(action: str) -> list[str]:
    """Splits the first line like a shell does; at blanks where its quotes do not match."""
    first = action.strip().partition("\n")[0]
    try:
        return shlex.split(first)
    except ValueError:
        return first.split()


def op_of(action: str) -> Op:
    words = action.split()
    if words[:1] == [_EDITOR]:
        return {"view": "read", "create": "write"}.get("".join(words[1:2]), "edit")  # type: ignore[return-value]
    return _OPS.get("".join(words[:1]), "shell")


def named_path(action: str) -> str:
    """Returns the file that the action itself names."""
    start = action.split(maxsplit=1)
    if not start or (start[0].isidentifier() and start[0] not in _COMMANDS_WITH_PATH):
        return ""
    words = words_of(action)
    if words[:1] == [_EDITOR]:
        return "".join(words[2:3])
    return "".join(words[1:2]) if words and words[0] in _COMMANDS_WITH_PATH else ""


def arguments_of(action: str, call_arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the arguments of the function call where there was one;
    otherwise the text, with the editor's options extracted.
    """
    if call_arguments:
        return call_arguments
    if not action.startswith(_EDITOR):
        return {"command": action}
    try:
        words = shlex.split(action)
    except ValueError:
        return {"command": action}
    options = {
        words[index][2:]: words[index + 1]
        for index in range(3, len(words) - 1)
        if _OPTION.fullmatch(words[index])
    }
    return {"command": "".join(words[1:2]), "path": "".join(words[2:3]), **options}


def diffs_of(action: str, arguments: Mapping[str, Any], path: str) -> tuple[FileDiff, ...]:
    """Returns the diff of an edit; the lines that ``edit 3:7`` replaces are not recorded."""
    name = "".join(action.split()[:1])
    change = None
    if name == _EDITOR:
        path, command = string(arguments.get("path")), string(arguments.get("command"))
        if command == "create":
            change = diff_of_texts(path, None, arguments.get("file_text"))
        elif command in {"str_replace", "insert"}:
            new = arguments.get("new_str") or arguments.get("insert_text")
            change = diff_of_texts(path, string(arguments.get("old_str")), new)
    elif name == "edit" and (found := _RANGE.match(action.lstrip())):
        change = diff_of_texts(path, "", f"{found['text']}\n")
    elif name in {"edit", "insert"} and not _TEXT_ARGUMENTS.isdisjoint(arguments):
        new = arguments.get("replace") or arguments.get("replacement_text") or arguments.get("text")
        change = diff_of_texts(path, string(arguments.get("search")), new)
    return () if change is None else (change,)


def display_of(action: str, observation: str, changes: tuple[FileDiff, ...]) -> ToolResultDisplay:
    name, op = "".join(action.split()[:1]), op_of(action)
    if op == "shell":
        return command_output(observation)
    observation = observation.replace("\r\n", "\n")
    if observation.startswith(_REFUSED):
        return observation
    if changes:
        return diff_display(changes, observation)
    if op == "read" and (head := _FILE.search(observation, 0, 4000)):
        lines = list(_LINE.finditer(observation, head.end()))
        if lines:
            text = "\n".join(line["text"] for line in lines)
            return file_text(head["path"], text, int(lines[0]["number"]), int(head["total"]))
    return _search_display(name, observation) or observation


def _search_display(name: str, observation: str) -> ToolResultDisplay | None:
    lines = observation.splitlines()
    if name in {"find_file", "search_dir"}:
        paths = [found["path"] for line in lines if (found := _FOUND.fullmatch(line))]
        return listing(Entry(path) for path in paths) if paths else None
    if name == "search_file":
        head = next((line for line in lines if line.startswith("Found ")), "")
        path = head.rpartition(" in ")[2].rstrip(":")
        hits = [Match(path, int(hit["number"]), hit["text"]) for hit in map(_HIT.fullmatch, lines) if hit]
        return matches(hits) if hits else None
    return None


def open_file(state: Mapping[str, Any], observation: str = "") -> str:
    """Returns the open file, from the state or from the end of an observation as the model read it."""
    match = _OPEN.search(observation[-1000:]) if not state else None
    path = match[1].strip() if match else string(state.get("open_file"))
    return "" if path == "n/a" else path


def called_function(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the first tool call of a message."""
    return _first_call(message.get("tool_calls"))


def _first_call(calls: Any) -> Mapping[str, Any]:
    return mapping(next(iter(items(calls)), None))
