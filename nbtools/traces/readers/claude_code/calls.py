"""Adds calls from the records that make them and the records with their results, in either order."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from nbtools.traces.model import PREVIEW, Call, FileChange, Ref, Row, Status, StatusSource
from nbtools.traces.readers.claude_code.records import (
    AGENTS,
    EDITS,
    Block,
    Input,
    Line,
    Outcome,
    op_of,
    paths_of,
    subject_of,
)
from nbtools.traces.readers.claude_code.sessions import ClaudeSession, PendingCall, SubAgentLinks
from nbtools.traces.session_builder import LogBuilder

Level: TypeAlias = Literal["model", "nested"]
_DONE = ("ok", "interrupted")
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
SPILLED_PREFIX = "<persisted-output>"
"""Prefix of a result whose full text is in a file of its own."""
_SIGN = itemgetter(slice(1))
_DENIAL_TEXTS = (
    "The user doesn't want to",
    "Permission to use ",
    "Permission for this tool use was denied",
    "This command requires approval",
    "Claude requested permissions",
)
_INTERRUPTION = "[Request interrupted by user"
_CANCELLATION_TEXTS = (
    _INTERRUPTION,
    "<tool_use_error>Cancelled: ",
    "<tool_use_error>Sibling tool call errored",
)
"""Beginnings of the results of calls that were not made any more."""
ERROR_STATUSES: frozenset[Status] = frozenset({"error", "denied", "cancelled"})
"""What a result that is marked as an error can be."""


class CallResult(Struct, gc=False):
    """A result, which may also come before its call."""

    text: str
    """The beginning of an error, of a result in a file of its own, and of a result with several parts."""
    size: int
    images: int
    is_error: bool
    outcome: Outcome | None
    at: float | None
    ref: Ref


def result_of(block: Block, outcome: Outcome | None, at: float | None, ref: Ref) -> CallResult:
    """Returns the result of a call."""
    content, failed = block.content, block.is_error is True
    if isinstance(content, str):
        text = content[:PREVIEW] if failed or content.startswith(SPILLED_PREFIX) else ""
        return CallResult(text, len(content), 0, failed, outcome, at, ref)
    texts = [part.text for part in content or () if part.text]
    images = sum(part.type == "image" for part in content or ())
    return CallResult("\n".join(texts)[:PREVIEW], sum(map(len, texts)), images, failed, outcome, at, ref)


def result_preview(block: Block) -> str:
    """Returns the beginning of a result's text."""
    content = block.content or ""
    return (content if isinstance(content, str) else "\n".join(part.text or "" for part in content))[:PREVIEW]


class CallMatcher:
    """Matches calls with their results, in either order.  ``ids`` are the log's ids of all calls."""

    def __init__(self, links: SubAgentLinks, log: LogBuilder) -> None:
        self.links, self.add = links, log.rows.append
        self.ids: set[str] = set()
        self._waiting: dict[Level, dict[str, PendingCall]] = {"model": {}, "nested": {}}
        self._early: dict[str, tuple[CallResult, Row]] = {}

    def add_call(
        self,
        session: ClaudeSession,
        block: Block,
        place: int,
        level: Level,
        line: Line,
        at: float | None,
        ref: Ref,
    ) -> None:
        """Adds a call; ``place`` is the index of its block in the message."""
        native, nested = block.id or "", level == "nested"
        if native:
            if native in self.ids:
                return
            if not nested:
                self.ids.add(native)
        name, arguments = block.name or "?", block.input
        call = session.call(
            native or f"{line.uuid or ref.offset}.{place}",
            name,
            ref,
            op=op_of(name),
            subject=subject_of(arguments, agent=name in AGENTS) if arguments else "",
            paths=paths_of(arguments) if arguments else (),
            native_id=native,
            level=level,
            by_sub_agent=nested,
            parent=(line.parent_tool_use_id or "") if nested else self.links.call_around(line),
            at=at,
        )
        pending = PendingCall(call, block, line.uuid or "")
        if name in AGENTS:
            self.links.add_call(pending)
        if native and native in self._early:
            self._complete(pending, self._early.pop(native)[0])
        else:
            self._waiting[level][call.id] = pending

    def add_result(
        self, name: str | None, result: CallResult, level: Level, before: str | None
    ) -> str | None:
        """Completes the call that a result belongs to.

        Returns the id for ``store_early_result`` where the call may still come; None if none is expected.
        ``before`` is the record before the result's own, which made a call that has no id.
        """
        waiting = self._waiting[level]
        if not name:
            without_id = (id_ for id_, one in waiting.items() if not one.call.native_id)
            name = next((id_ for id_ in without_id if waiting[id_].record == before), "")
        pending = waiting.pop(name, None)
        if pending is not None:
            self._complete(pending, result)
            return None
        return name if level == "model" and name not in self.ids else None

    def store_early_result(self, name: str, result: CallResult, event: Row) -> None:
        """Stores a result that came before its call; if the call never comes, ``event`` is added."""
        if name in self._early:
            self.add(self._early[name][1])
        self._early[name] = result, event

    def add_unanswered(self) -> None:
        """Adds the calls without results and the results without calls, and forgets them."""
        self.add_open()
        for waiting in self._waiting.values():
            waiting.clear()
        self._early.clear()

    def add_open(self) -> None:
        """Adds the calls without results, and the results without calls, as they are now."""
        for waiting in self._waiting.values():
            for pending in waiting.values():
                self._complete(pending, None)
        for _, event in self._early.values():
            self.add(event)

    def link_last_pair(self) -> None:
        self.links.link_last_pair(list(self._waiting["model"].values()))

    def _complete(self, pending: PendingCall, result: CallResult | None) -> None:
        call, outcome = pending.call, result.outcome if result else None
        name = call.name
        child = self.links.child(pending, outcome) if name in AGENTS and self.links.agents else ""
        if result is not None:
            status, source, code, permission = _status(result)
            call = replace(
                call,
                ended=result.at,
                duration=_duration(outcome) if outcome else None,
                status=status,
                status_source=source,
                exit_code=code,
                answered=True,
                result_size=result.size,
                permission=permission,
                child=child,
                result_ref=result.ref,
            )
        elif child:
            call = replace(call, child=child)
        self.add(call)
        if name in EDITS:
            self.add(_file_change(call, pending.block.input, outcome))


def _duration(outcome: Outcome) -> float | None:
    """Returns the duration in seconds."""
    milliseconds = outcome.duration_ms if outcome.duration_ms is not None else outcome.total_duration_ms
    return None if milliseconds is None else milliseconds / 1000


def _status(answer: CallResult) -> tuple[Status, StatusSource, int | None, str]:
    """Returns the status, its source, the exit code, and what is recorded about the permission."""
    if answer.is_error:
        if answer.text.startswith(_DENIAL_TEXTS):
            return "denied", "flag", None, "denied"
        if answer.text.startswith(_CANCELLATION_TEXTS):
            return "cancelled", "flag", None, ""
        code = _EXIT.match(answer.text)
        return "error", "flag", int(code[1]) if code else None, ""
    if answer.outcome is not None and answer.outcome.interrupted:
        return "interrupted", "flag", None, ""
    return _SUCCESS


_SUCCESS: tuple[Status, StatusSource, int | None, str] = ("ok", "flag", None, "")


def _file_change(call: Call, arguments: Input | None, outcome: Outcome | None) -> FileChange:
    """Returns what an edit changed."""
    path = (arguments.file_path or arguments.notebook_path) if arguments else ""
    fields: dict[str, Any] = {}
    content = arguments.content if arguments is not None else None
    if outcome is not None and outcome.type == "create" and isinstance(content, str):
        lines = content.count("\n") + (not content.endswith("\n") if content else 0)
        fields = {"kind": "add", "added": lines, "removed": 0, "basis": "arguments"}
    elif outcome is not None and outcome.structured_patch:
        signs = [sign for hunk in outcome.structured_patch for sign in map(_SIGN, hunk.lines)]
        counts = {"added": signs.count("+"), "removed": signs.count("-")}
        fields = {"kind": "modify", **counts, "basis": "recorded_patch"}
    return FileChange(
        session=call.session,
        call=call.id,
        path=path if isinstance(path, str) else "",
        applied=call.status in _DONE,
        **fields,
    )
