"""Reads the tasks of Cline and of its forks Roo Code and Kilo Code:
``tasks/ID/api_conversation_history.json``.

It is a list of Anthropic messages. In most versions, calls are XML in the text of an answer, and results are
texts that begin with the name of the tool; newer versions call functions. ``ui_messages.json`` beside it has
times, tokens and costs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nbtools.traces.conversation import CallPart, MessagePart, ResultPart, TextPart, parts_of_message
from nbtools.traces.display_builders import detail_of, media_of
from nbtools.traces.json_access import (
    arguments,
    counts_in,
    epoch_seconds,
    float_of,
    integer_of,
    mapping,
    mappings,
    parse_json,
    string,
    text_of,
)
from nbtools.traces.json_document import decode_items, open_document
from nbtools.traces.model import NOWHERE, Call, Detail, Origin, Ref, Row, Status, StatusSource, Tokens
from nbtools.traces.reader import Format, Head
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, call_part
from nbtools.traces.source import Source

_TOOLS = (
    "execute_command read_file write_to_file replace_in_file apply_diff insert_content search_and_replace"
    " edit_file search_files list_files list_code_definition_names codebase_search browser_action"
    " use_mcp_tool access_mcp_resource ask_followup_question attempt_completion plan_mode_respond"
    " act_mode_respond switch_mode new_task fetch_instructions update_todo_list load_mcp_documentation"
    " condense summarize_task report_bug new_rule web_fetch web_search use_skill run_slash_command"
    " generate_image delete_file"
)
_CALL = re.compile(rf"<({'|'.join(_TOOLS.split())})>(.*?)(?:</\1>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<(\w+)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_LONG = re.compile(r"<(content|diff|args|result)>(.*)</\1>", re.DOTALL)
"""Parameters whose text may contain tags, their own included."""
_RESULT = re.compile(r"\[(\w+)(?: [^\n]*?)?\] Result:\n*")
_PROMPT = re.compile(r"\s*<(task|feedback|user_message|answer)>\n?(.*?)\n?</\1>\s*\Z", re.DOTALL)
_AUTOMATIC = ("<environment_details>", "[ERROR]", "[TASK RESUMPTION]", "[NOTE]")
"""Beginnings of texts that the agent added to the person's."""
_USAGE = {
    "tokensIn": "input",
    "tokensOut": "output",
    "cacheReads": "cache_read",
    "cacheWrites": "cache_write",
}
_UI = "ui_messages.json"


class Cline(Format):
    name = "cline"
    tells_errors = False

    def recognises(self, head: Head) -> bool:
        if head.start.lstrip()[:1] != b"[" or not head.has("role", "content"):
            return False
        first = head.first_object
        texts = [string(part.get("text")).lstrip() for part in mappings(first.get("content"))]
        begins = any(text.startswith(("<task>", "<user_message>")) for text in texts)
        return first.get("role") == "user" and (
            begins or any("<environment_details>" in text for text in texts)
        )

    def files(self, path: Path) -> Sequence[Path]:
        beside = path.with_name(_UI)
        return (beside,) if path.name != _UI and beside.is_file() else ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log, path = LogBuilder(self.name, origin), source.path
        reading = _TaskReader(
            log.session(path.parent.name if path.name == "api_conversation_history.json" else path.stem)
        )
        text = source.read_file()
        document = open_document(text, list[msgspec.Raw])
        yield from document.problems
        yield from log.read(decode_items(document, document.value or []), reading.message)
        if len(source.files) > 1:
            displayed = open_document(source.read_file(1), list[Any], 1)
            yield from displayed.problems
            reading.add_usage(mappings(displayed.value))
        reading.end(Ref(0, len(text)))
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        part = call_part(_parts(source.record(call.ref)), call, source)
        answers: list[ResultPart] = []
        if call.answered:
            found = _parts(source.record(call.result_ref))
            answers = [one for one in found if isinstance(one, ResultPart)]
        native = call.native_id
        mine = [one for one in answers if (one.id == native if native else one.name == call.name)] or answers
        content = mine[0].content if mine else None
        return detail_of(call, arguments(part.args), text_of(content), tuple(media_of(content)))


class _Answer(NamedTuple):
    """The message ``number`` of the history, with its steps."""

    number: int
    first: int
    last: int
    turn: int
    model: str


class _TaskReader:
    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self.answers: list[_Answer] = []

    def message(self, record: Any, ref: Ref) -> None:
        session, message = self.session, mapping(record)
        at, model = epoch_seconds(message.get("ts")), string(mapping(message.get("modelInfo")).get("modelId"))
        session.see(at, model)
        first = session.log.seq + 1
        for number, part in enumerate(_parts(message)):
            if isinstance(part, ResultPart):
                self._result(part, ref, at)
            else:
                session.part(part, f"{session.records}.{number}", ref, at, model)
        if message.get("role") == "assistant" and session.log.seq >= first:
            self.answers.append(_Answer(session.records, first, session.log.seq, session.turn, model))
        session.records += 1

    def _result(self, part: ResultPart, ref: Ref, at: float | None) -> None:
        session, text = self.session, text_of(part.content)
        call = session.waiting(part.id, part.name) or (session.waiting() if not part.id else None)
        if call is None:
            session.event("tool_result", text, ref, at, "tool", key=part.id)
            return
        self.session.text_result(call, text, ref, at, *_status(part, text))

    def add_usage(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Adds the times, tokens and costs of what was displayed."""
        for message in messages:
            self.session.see(epoch_seconds(message.get("ts")))
            if message.get("say") == "api_req_started":
                request = mapping(parse_json(message.get("text")))
                used, cost = counts_in(request, _USAGE), float_of(request.get("cost"))
                if self.session.spend(used, cost):
                    self._request(Tokens(**used), cost, message)

    def _request(self, tokens: Tokens, cost: float | None, message: Mapping[str, Any]) -> None:
        """Adds a request. Its answer is the first one after the message that the history ended with,
        which newer versions record.
        """
        known = integer_of(message.get("conversationHistoryIndex"))
        answer = None if known is None else next((one for one in self.answers if one.number > known), None)
        place: dict[str, Any] = {}
        if answer is not None:
            place = {"seq": answer.first, "last": answer.last, "turn": answer.turn, "model": answer.model}
        self.session.request(tokens, NOWHERE, at=epoch_seconds(message.get("ts")), cost=cost, **place)

    def end(self, ref: Ref) -> None:
        self.session.end(agent="cline", ref=ref)


def _status(part: ResultPart, text: str) -> tuple[Status, StatusSource]:
    """Returns how a call ended. Results have no flag for it, except in the versions that call functions."""
    if text.startswith("The user denied this operation"):
        return "denied", "text"
    if text.startswith(("The tool execution failed", "Error executing", "[ERROR]")):
        return "error", "text"
    return ("error", "flag") if part.status == "error" else ("unknown", "none")


def _parts(message: Any) -> Iterator[MessagePart]:
    """Yields the parts of a message, with calls and results that are texts as what they are."""
    result: ResultPart | None = None
    for part in parts_of_message(message):
        if not isinstance(part, TextPart) or part.kind not in {"user", "assistant_text"}:
            yield part
        elif part.kind == "assistant_text":
            yield from _answer(part)
        elif (head := _RESULT.match(part.text)) is not None:
            if result is not None:
                yield result
            result = ResultPart("", part.text[head.end() :], head[1])
        elif (
            result is not None
            and not part.text.lstrip().startswith(_AUTOMATIC)
            and not _PROMPT.match(part.text)
        ):
            result = ResultPart("", f"{text_of(result.content)}\n{part.text}".strip("\n"), result.name)
        else:
            yield _prompt(part)
    if result is not None:
        yield result


def _prompt(part: TextPart) -> TextPart:
    """Returns a person's text without the tags around it; a text that the agent added is the system's."""
    if part.text.lstrip().startswith(_AUTOMATIC):
        return TextPart("system", part.text, part.role, part.type)
    found = _PROMPT.match(part.text)
    return TextPart("user", found[2] if found else part.text, part.role, part.type)


def _answer(part: TextPart) -> Iterator[MessagePart]:
    """Yields the texts of an answer and the calls between them."""
    at = 0
    for found in _CALL.finditer(part.text):
        if text := part.text[at : found.start()].strip():
            yield _thinking(text, part)
        yield CallPart("", found[1], _parameters(found[2]))
        at = found.end()
    if text := part.text[at:].strip():
        yield _thinking(text, part)


def _thinking(text: str, part: TextPart) -> TextPart:
    begin, end = "<thinking>", "</thinking>"
    if text.startswith(begin) and text.endswith(end):
        return TextPart("thinking", text[len(begin) : -len(end)].strip(), part.role, part.type)
    return TextPart("assistant_text", text, part.role, part.type)


def _parameters(text: str) -> dict[str, Any]:
    long = _LONG.search(text)
    found: dict[str, Any] = {}
    for outer in (text[: long.start()], text[long.end() :]) if long else (text,):
        found |= {one[1]: one[2].strip("\n") for one in _PARAMETER.finditer(outer)}
    if long:
        found[long[1]] = long[2].strip("\n")
    if paths := re.findall(r"<path>(.*?)</path>", string(found.get("args"))):
        found["paths"] = paths
    return found
