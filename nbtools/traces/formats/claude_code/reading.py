"""A log on its way into rows: line by line, of the session's file and then of its sub-agents'."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import count

from msgspec.structs import replace

from nbtools.traces.formats.claude_code.asking import Calls, Level
from nbtools.traces.formats.claude_code.calls import SPILLED, answer, beginning
from nbtools.traces.formats.claude_code.files import Agent, agents, journals
from nbtools.traces.formats.claude_code.journal import told
from nbtools.traces.formats.claude_code.linking import Links
from nbtools.traces.formats.claude_code.records import Block, Line, Message, Outcome
from nbtools.traces.formats.claude_code.sessions import Gathering, Spent
from nbtools.traces.formats.claude_code.tree import NONE, dead, left_behind
from nbtools.traces.model import PREVIEW, Call, Event, EventKind, Origin, Problem, Ref, Row
from nbtools.traces.source import Source

_INTERRUPTED = "[Request interrupted by user"
_HELD = 64 << 20
"""Bytes of a file whose rows are held until its end."""
_STATE = {
    *("file-history-snapshot", "file-history-delta", "summary", "ai-title", "custom-title", "agent-name", "agent-setting", "agent-color"),
    *("last-prompt", "mode", "permission-mode", "queue-operation", "pr-link", "bridge-session", "tag", "result"),
}
"""Records that say how things stand; nobody said or did anything."""


class Reading:
    """``name`` is the session of records that do not say theirs."""

    def __init__(self, source: Source, origin: Origin, decode: Callable[[bytes], Line], name: str) -> None:
        self.source, self.decode, self.main = source, decode, name
        self.rows: list[Row] = []
        self.number = count().__next__
        self.sessions: dict[str, Gathering] = {}
        self.spent: dict[str, Spent] = {}
        self.links = Links(agents(source))
        self.calls = Calls(self.rows.append, self.number, origin, self.links)
        self.parents: set[str] = set()
        self.branches = False
        self.live = True
        self.line = Line()
        self.at: float | None = None
        self.ref = Ref(0, 0)
        self.kinds: dict[str, Callable[[], None]] = {
            "assistant": self._assistant,
            "user": self._user,
            "progress": self._progress,
            "system": self._system,
            "attachment": self._attachment,
        }

    def __iter__(self) -> Iterator[Row]:
        source = self.source
        self.here = main = self._session(self.main, 0)
        yield from self._file(0)
        self.calls.link_the_only_one()
        yield from self._unanswered()
        for agent in self.links.agents:
            self.here = self._agent(agent, main)
            yield from self._file(agent.file)
            yield from self._unanswered()
        for file in journals(source):
            yield from told(source, file, main.id, self.sessions, self.number)
        for gathered in self.sessions.values():
            gathered.parent, gathered.parent_call = self.links.parents.get(gathered.id, (gathered.parent, ""))
            yield gathered.session(self.calls.asked)

    def _file(self, file: int) -> Iterator[Row]:
        """Rows are held until the file's end says which are on a branch that was left; a large file is read for that first."""
        held = self._size(file) <= _HELD
        self.calls.gone = gone = NONE if held else left_behind(self.source, file)
        self.links.next_file()
        self.parents.clear()
        self.branches = False
        rows, kinds, other = self.rows, self.kinds, self._other
        for item in self.source.lines(self.decode, file):
            if isinstance(item, Problem):
                self.here.flags["malformed"] = None
                rows.append(item)
                continue
            self.ref, self.line = ref, line = item
            if gone:
                self.live = ref.offset not in gone
            here = self.here
            if line.session_id != here.id and line.session_id and not file:
                self.here = here = self.sessions.get(line.session_id) or self._session(line.session_id, 0)
            self.at = at = line.timestamp.timestamp() if line.timestamp else None
            here.see(at)
            if line.is_sidechain:
                here.sidechain += 1
                if line.uuid and not file:
                    self.links.follow(line)
            kinds.get(line.type, other)()
            if not held:
                yield from rows
                rows.clear()
        if self.branches and held:
            self.calls.gone = dead(self.source, file)
        yield from self._judged()
        self.live = True

    def _judged(self) -> Iterator[Row]:
        """What is held, with what was left behind marked so."""
        rows, gone = self.rows, self.calls.gone
        if gone:
            marked = ((row, isinstance(row, Event | Call) and row.live and row.ref.offset in gone) for row in rows)
            yield from [replace(row, live=False) if left else row for row, left in marked]
        else:
            yield from rows
        rows.clear()

    def _unanswered(self) -> Iterator[Row]:
        self.calls.unanswered()
        yield from self._judged()

    def _begins(self) -> None:
        """Sees a branch that begins with a prompt or an answer where another began."""
        line = self.line
        parent = line.parent_uuid or line.logical_parent_uuid
        if parent in self.parents:
            self.branches = True
        elif parent:
            self.parents.add(parent)

    def _session(self, name: str, file: int) -> Gathering:
        found = self.sessions[name] = Gathering(name, Ref(0, self._size(file), 0, file))
        return found

    def _size(self, file: int) -> int:
        with self.source.opened(file) as opened:
            return int(opened.seek(0, io.SEEK_END))

    def _agent(self, agent: Agent, main: Gathering) -> Gathering:
        name = f"{agent.id}~{agent.file}" if agent.id in self.sessions else agent.id
        found = self._session(name, agent.file)
        found.parent, found.title = main.id, agent.title or agent.kind
        return found

    def _event(self, kind: EventKind, text: str = "", role: str = "", type: str = "", model: str | None = "") -> Event:  # noqa: A002 - the field's name
        line = self.line
        message = line.message
        return Event(
            self.here.id,
            self.number(),
            kind,
            text if len(text) <= PREVIEW else text[:PREVIEW],
            len(text),
            self.at,
            role,
            model or "",
            self.here.turn,
            self.live,
            (message.id or "") if message else "",
            line.parent_uuid or "",
            type or line.type,
            self.ref,
        )

    def _assistant(self) -> None:
        line, here = self.line, self.here
        message = line.message
        if message is None:
            self._other()
            return
        self._begins()
        if not here.version:
            here.describe(line)
        here.spend(message, self.spent)
        for place, block in enumerate(_blocks(message)):
            kind = block.type
            if kind == "tool_use":
                self.calls.ask(block, place, "model", line, here.id, here.turn, self.at, self.ref)
            elif kind == "text":
                self._put("error" if line.is_api_error_message else "assistant_text", block.text or "", "assistant", "", message.model)
            elif kind in ("thinking", "redacted_thinking"):
                self._put("thinking", block.thinking or "", "assistant", "", message.model)
            else:
                self._put("system", block.text or "", "assistant", kind, message.model)

    def _put(self, kind: EventKind, text: str = "", role: str = "", type: str = "", model: str | None = "") -> None:  # noqa: A002 - as above
        self.rows.append(self._event(kind, text, role, type, model))

    def _user(self) -> None:
        message = self.line.message
        if message is None:
            self._other()
            return
        outcome, blocks = self.line.tool_use_result, _blocks(message)
        if len(blocks) == 1 and blocks[0].type == "tool_result":
            self._answer(blocks[0], outcome if isinstance(outcome, Outcome) else None, "model")
            return
        said: list[str] = []
        for block in blocks:
            if block.type == "tool_result":
                self._answer(block, None, "model")
            elif block.type == "image":
                self.here.images += 1
                self._put("attachment", "", "user", "image")
            else:
                said.append(block.text or "")
        if any(block.type == "tool_result" for block in blocks):
            if not said:
                return
        elif not self.line.is_meta:
            self._begins()
        self._said("\n".join(said))

    def _said(self, text: str) -> None:
        line = self.line
        self.here.describe(line)
        if line.is_compact_summary:
            kind: EventKind = "compaction"
        elif line.is_meta or text.startswith(_INTERRUPTED):
            kind = "system"
        else:
            kind = "user"
            if not line.is_sidechain:
                self.here.turn += 1
        self._put(kind, text, "user")

    def _answer(self, block: Block, outcome: Outcome | None, level: Level) -> None:
        found = answer(block, outcome, self.at, self.ref)
        if level == "model":
            self.here.images += found.images
            if (outcome and outcome.persisted_output_path) or found.text.startswith(SPILLED):
                self.here.flags["truncated"] = None
        early = self.calls.answer(block.tool_use_id, found, level, self.line.parent_uuid)
        if early is not None:
            self.calls.keep(early, found, self._event("tool_result", beginning(block), "user", "tool_result"))

    def _progress(self) -> None:
        line, here, data = self.line, self.here, self.line.data
        self._put("progress", "", "", f"progress/{data.type}" if data else "progress")
        message = data.message.message if data and data.message else None
        if data is None or message is None:
            return
        has_file = self.links.knows(data.agent_id)
        for place, block in enumerate(_blocks(message)):
            if block.type == "tool_use" and block.id not in here.echoes:
                here.echoes[block.id or f"{line.uuid}.{place}"] = block.name or "?"
                if not has_file:
                    self.calls.ask(block, place, "nested", line, here.id, here.turn, self.at, self.ref)
            elif block.type == "tool_result" and not has_file:
                self._answer(block, None, "nested")

    def _system(self) -> None:
        subtype, content = self.line.subtype or "", self.line.content
        kind: EventKind = "compaction" if subtype in ("compact_boundary", "microcompact_boundary") else "system"
        if not self.here.version:
            self.here.describe(self.line)
        if subtype == "compact_boundary":
            self.here.compactions += 1
            self._begins()
        self._put("error" if subtype == "api_error" else kind, content if isinstance(content, str) else "", "", f"system/{subtype}")

    def _attachment(self) -> None:
        attachment = self.line.attachment
        self._put("attachment", "", "", f"attachment/{attachment.type}" if attachment else "attachment")

    def _other(self) -> None:
        line, here = self.line, self.here
        here.name(line.summary or "", 0)
        here.name(line.ai_title or "", 1)
        here.name(line.custom_title or "", 2)
        if line.type not in _STATE:
            here.flags["unknown_records"] = None
        text = line.custom_title or line.ai_title or line.summary or (line.content if isinstance(line.content, str) else "")
        self._put("system", text or "")


def _blocks(message: Message) -> list[Block]:
    content = message.content
    if isinstance(content, str):
        return [Block("text", text=content)]
    return content or []
