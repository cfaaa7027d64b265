"""Builds rows from a log, line by line: first the session's file, then its sub-agents'."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from nbtools.core.errors import TraceError
from nbtools.traces.json_access import mapping, names, text_of
from nbtools.traces.line_reading import LineReading
from nbtools.traces.model import Call, Event, EventKind, Problem, Ref, Row
from nbtools.traces.readers.claude_code.api_requests import KINDS as API_REQUESTS
from nbtools.traces.readers.claude_code.api_requests import ApiRequests
from nbtools.traces.readers.claude_code.branches import NO_OFFSETS, abandoned_in_branches, abandoned_records
from nbtools.traces.readers.claude_code.calls import (
    SPILLED_PREFIX,
    CallMatcher,
    Level,
    result_of,
    result_preview,
)
from nbtools.traces.readers.claude_code.files import AgentLog, add_journal, agent_logs, journals
from nbtools.traces.readers.claude_code.records import Block, Line, Message, Outcome, Sender
from nbtools.traces.readers.claude_code.sessions import ClaudeSession, MessageUsage, SubAgentLinks
from nbtools.traces.session_builder import LogBuilder
from nbtools.traces.source import Source

_INTERRUPTED = "[Request interrupted by user"
_WRITTEN_BY_PROGRAM = re.compile(
    r"(?:\s*<(local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)|task-notification)>(?>.*?(?:</\1>|\Z)))+\s*\Z",
    re.DOTALL,
)
"""A message that the application writes in the person's name;
later logs say so by ``origin`` or ``isMeta``.
"""
_MAX_HELD = 64 << 20
"""Largest size in bytes of a file whose rows are held back until its end."""
_SYSTEM_KINDS: dict[str, EventKind] = {
    "compact_boundary": "compaction",
    "microcompact_boundary": "compaction",
    "api_error": "error",
}
_STATE_RECORDS = frozenset(
    names(
        "file-history-snapshot file-history-delta summary ai-title custom-title agent-name agent-setting"
        " agent-color last-prompt mode permission-mode queue-operation pr-link bridge-session tag result"
        " api-request api-request-blob api-request-shape tools-used atis-latch cost-state"
    )
)
"""Records of the application's state, in which nobody said or did anything;
those of requests repeat what other records say.
"""


class RowBuilder:
    """Iterates over the rows of a log.  ``name`` is the session of records that do not name theirs."""

    def __init__(self, source: Source, log: LogBuilder, decode: Callable[[bytes], Line], name: str) -> None:
        self.source, self.log, self.decode = source, log, decode
        self.sessions: dict[str, ClaudeSession] = {}
        self.current = self.main = self._session(name, 0)
        self.usage_by_message: dict[str, MessageUsage] = {}
        self.links = SubAgentLinks(agent_logs(source))
        self.calls = CallMatcher(self.links, log)
        self.requests = ApiRequests()
        self.abandoned = NO_OFFSETS
        self.parents: set[str] = set()
        self.branches = False
        self.line = Line()
        self.at: float | None = None
        self.ref = Ref(0, 0)
        self.kinds: dict[str, Callable[[], None]] = {
            "assistant": self._assistant,
            "user": self._user,
            "progress": self._progress,
            "system": self._system,
            "attachment": self._attachment,
            **dict.fromkeys(API_REQUESTS, self._api_request),
        }

    def __iter__(self) -> Iterator[Row]:
        yield from self._file(0)
        self.calls.link_last_pair()
        yield from self._unanswered()
        for agent in self.links.agents:
            self.current = self._agent(agent)
            yield from self._file(agent.file)
            yield from self._unanswered()
        for file in journals(self.source):
            add_journal(self.source, file, self.main, self.sessions)
        self._finish()
        yield from self.log.take()

    def reading(self) -> LineReading:
        """Returns a reading of the session's file alone.
        It is stale where there are branches: their end decides which are abandoned.
        """
        return LineReading(
            self.log.rows, self.decode, self._record, self._end, self._problem, lambda: self.branches, True
        )

    def _end(self) -> None:
        self.calls.add_open()
        for session in self.sessions.values():
            session.ref = self.source.whole()
        self._finish()

    def _finish(self) -> None:
        for session in self.sessions.values():
            parent, call = self.links.parents.get(session.id, (session.parent, ""))
            session.finish(self.calls.ids, parent, call)

    def _problem(self, _: Problem) -> None:
        self.current.flags["malformed"] = None

    def _file(self, file: int) -> Iterator[Row]:
        """Yields the rows of a file.

        Rows are held back until the end shows which are on an abandoned branch;
        a large file is scanned for branches first instead.
        """
        hold_back = self.source.whole(file).length <= _MAX_HELD
        self.abandoned = NO_OFFSETS if hold_back else abandoned_records(self.source, file)
        self.links.next_file()
        self.parents.clear()
        self.branches = False
        rows, add = self.log.rows, self._record
        for item in self.source.lines(self.decode, file):
            if isinstance(item, Problem):
                self._problem(item)
                rows.append(item)
                continue
            add(item[1], item[0])
            if not hold_back:
                yield from rows
                rows.clear()
        if self.branches and hold_back:
            self.abandoned = abandoned_in_branches(self.source, file)
        yield from self._take_rows()
        for spent in self.usage_by_message.values() if self.abandoned else ():
            if spent.ref.file == file and spent.ref.offset in self.abandoned:
                spent.live = False
        for session in self.sessions.values():
            session.live = True

    def _record(self, line: Line, ref: Ref) -> None:
        self.ref, self.line = ref, line
        here, file = self.current, ref.file
        if line.session_id != here.id and line.session_id and not file:
            self.current = here = self.sessions.get(line.session_id) or self._session(line.session_id, 0)
        self.at = at = line.timestamp.timestamp() if line.timestamp else None
        here.records += 1
        here.see(at)
        if self.abandoned:
            here.live = ref.offset not in self.abandoned
        if line.is_sidechain:
            here.sidechain += 1
            if line.uuid and not file:
                self.links.follow(line)
        self.kinds.get(line.type, self._other)()

    def _take_rows(self) -> Iterator[Row]:
        """Yields the rows held back, with those on abandoned branches marked."""
        rows, gone = self.log.rows, self.abandoned
        if gone:
            for number, row in enumerate(rows):
                if isinstance(row, Event | Call) and row.live and row.ref.offset in gone:
                    rows[number] = replace(row, live=False)
            yield from rows
        else:
            yield from rows
        rows.clear()

    def _unanswered(self) -> Iterator[Row]:
        self.calls.add_unanswered()
        yield from self._take_rows()

    def _note_branch(self) -> None:
        """Notes whether two branches of one parent begin with a prompt or an answer."""
        line = self.line
        parent = line.parent_uuid or line.logical_parent_uuid
        if parent in self.parents:
            self.branches = True
        elif parent:
            self.parents.add(parent)

    def _session(self, name: str, file: int) -> ClaudeSession:
        found = self.sessions[name] = ClaudeSession(self.log, name, self.source.whole(file))
        return found

    def _agent(self, agent: AgentLog) -> ClaudeSession:
        name = f"{agent.id}~{agent.file}" if agent.id in self.sessions else agent.id
        found = self._session(name, agent.file)
        found.parent, found.title = self.main.id, agent.title or agent.kind
        return found

    def _event(
        self,
        kind: EventKind,
        text: str = "",
        role: str = "",
        type: str = "",  # noqa: A002 - the field's name
        model: str | None = "",
    ) -> None:
        line = self.line
        key = (line.message.id or "") if line.message else ""
        self.current.event(
            kind, text, self.ref, self.at, role, model or "", type or line.type, key, line.parent_uuid or ""
        )

    def _assistant(self) -> None:
        line, here = self.line, self.current
        message = line.message
        if message is None:
            self._other()
            return
        self._note_branch()
        if not here.version:
            here.describe(line)
        spent = here.add_usage(message, self.usage_by_message, self.at, self.ref)
        first = self.log.seq + 1
        for place, block in enumerate(_blocks(message)):
            kind = block.type
            if kind == "tool_use":
                self.calls.add_call(here, block, place, "model", line, self.at, self.ref)
            elif kind == "text":
                event: EventKind = "error" if line.is_api_error_message else "assistant_text"
                self._event(event, block.text or "", "assistant", "", message.model)
            elif kind in ("thinking", "redacted_thinking"):
                self._event("thinking", block.thinking or "", "assistant", "", message.model)
            else:
                self._event("system", block.text or "", "assistant", kind, message.model)
        if spent is not None:
            spent.last_seq = self.log.seq
            if line.request_ref:
                self._add_answer(spent, line.request_ref, first)

    def _add_answer(self, spent: MessageUsage, request: str, first_seq: int) -> None:
        """Notes which request a message answers, and what that request sent."""
        if spent.request != request:
            # A request is described by its difference from the one before, so it must be read when its answer
            # begins, and a message answers only one request.
            is_first = not spent.request and spent.first_seq == first_seq
            sent = self.requests.sent(self.current.id, request) if is_first else None
            spent.request, spent.sent = request, sent
        if spent.sent is not None:
            with suppress(TraceError):
                message = mapping(mapping(self.source.record(self.ref)).get("message"))
                self.requests.add_answer(request, message.get("content"), first_seq)

    def _api_request(self) -> None:
        with suppress(TraceError):
            self.requests.add(mapping(self.source.record(self.ref)))
        self._other()

    def _user(self) -> None:
        message = self.line.message
        if message is None:
            self._other()
            return
        outcome, blocks = self.line.tool_use_result, _blocks(message)
        if len(blocks) == 1 and blocks[0].type == "tool_result":
            self._answer(blocks[0], outcome if isinstance(outcome, Outcome) else None, "model")
            return
        texts: list[str] = []
        for block in blocks:
            if block.type == "tool_result":
                self._answer(block, None, "model")
            elif block.type == "image":
                self.current.images += 1
                self._event("attachment", "", "user", "image")
            else:
                texts.append(block.text or "")
        if any(block.type == "tool_result" for block in blocks):
            if not texts:
                return
        elif not self.line.is_meta:
            self._note_branch()
        self._message(texts)

    def _message(self, texts: Sequence[str]) -> None:
        line, text = self.line, "\n".join(texts)
        self.current.describe(line)
        if line.is_compact_summary:
            kind: EventKind = "compaction"
        elif line.is_meta or not _is_by_person(line.origin, text):
            kind = "system"
        else:
            kind = "user"
            if not line.is_sidechain:
                self.current.turn += 1
        self._event(kind, text, "user")
        if kind != "system":
            for one in texts:
                self.requests.add_text("summary" if kind == "compaction" else "person", one, self.log.seq)

    def _answer(self, block: Block, outcome: Outcome | None, level: Level) -> None:
        result = result_of(block, outcome, self.at, self.ref)
        if level == "model":
            self.current.images += result.images
            if (outcome and outcome.persisted_output_path) or result.text.startswith(SPILLED_PREFIX):
                self.current.flags["truncated"] = None
        early = self.calls.add_result(block.tool_use_id, result, level, self.line.parent_uuid)
        if early is not None:
            self._event("tool_result", result_preview(block), "user", "tool_result")
            self.calls.store_early_result(early, result, self.log.rows.pop())

    def _progress(self) -> None:
        line, here, data = self.line, self.current, self.line.data
        self._event("progress", "", "", f"progress/{data.type}" if data else "progress")
        message = data.message.message if data and data.message else None
        if data is None or message is None:
            return
        has_file, spent = self.links.has_file(data.agent_id), None
        if not has_file:
            spent = here.add_usage(message, self.usage_by_message, self.at, self.ref, nested=True)
        for place, block in enumerate(_blocks(message)):
            if block.type == "tool_use" and block.id not in here.echoes:
                here.echoes[block.id or f"{line.uuid}.{place}"] = block.name or "?"
                if not has_file:
                    self.calls.add_call(here, block, place, "nested", line, self.at, self.ref)
            elif block.type == "tool_result" and not has_file:
                self._answer(block, None, "nested")
        if spent is not None:
            spent.last_seq = self.log.seq

    def _system(self) -> None:
        subtype, content = self.line.subtype or "", self.line.content
        kind = _SYSTEM_KINDS.get(subtype, "system")
        if not self.current.version:
            self.current.describe(self.line)
        if subtype == "compact_boundary":
            self.current.compactions += 1
            self._note_branch()
        self._event(kind, content if isinstance(content, str) else "", "", f"system/{subtype}")

    def _attachment(self) -> None:
        attachment, text = self.line.attachment, _attached_text(self.line)
        if attachment is None:
            self._event("attachment", text)
            return
        kind: EventKind = "attachment"
        # A prompt that was typed while the agent worked: it is recorded only here, where it was delivered.
        is_prompt = attachment.type == "queued_command" and attachment.command_mode == "prompt"
        if is_prompt and _is_by_person(attachment.origin, text):
            kind = "user"
            if not self.line.is_sidechain:
                self.current.turn += 1
        self._event(kind, text, "user" if kind == "user" else "", f"attachment/{attachment.type}")
        if kind == "user":
            self.requests.add_text("person", text, self.log.seq)

    def _other(self) -> None:
        line, here = self.line, self.current
        here.set_title(line.summary or "", 0)
        here.set_title(line.ai_title or "", 1)
        here.set_title(line.custom_title or "", 2)
        here.cost = here.cost if line.total_cost is None else line.total_cost
        if line.type not in _STATE_RECORDS:
            here.flags["unknown_records"] = None
        content = line.content if isinstance(line.content, str) else ""
        self._event("system", line.custom_title or line.ai_title or line.summary or content)


def _is_by_person(origin: Sender | None, text: str) -> bool:
    """Whether a message in the person's name is the person's."""
    if text.startswith(_INTERRUPTED) or (origin is not None and origin.kind != "human"):
        return False
    return _WRITTEN_BY_PROGRAM.match(text) is None


def _attached_text(line: Line) -> str:
    """Returns the text of an attachment:
    as the model reads it where that is recorded, else the field that has one.
    """
    if rendered := [one.content for one in line.rendered or () if isinstance(one.content, str)]:
        return "\n".join(rendered)
    if (attachment := line.attachment) is None:
        return ""
    fields = (
        *(attachment.prompt, attachment.text, attachment.content, attachment.stdout),
        *(attachment.system_prompt, attachment.added_blocks),
    )
    return next((text for field in fields if field and (text := text_of(field))), "")


def _blocks(message: Message) -> list[Block]:
    content = message.content
    if isinstance(content, str):
        return [Block("text", text=content)]
    return content or []
