"""Builds the rows of a log. A reader says what each record means;
the builders number the rows and join calls to their results.

A ``LogBuilder`` collects the rows of one log in reading order; each of its sessions has a ``SessionBuilder``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from nbtools.traces.conversation import CallPart, MessagePart, TextPart
from nbtools.traces.display_builders import changes_of, exit_code_of_result
from nbtools.traces.json_access import arguments, integer_of, text_of
from nbtools.traces.known_tools import summarize_call
from nbtools.traces.model import (
    NOWHERE,
    PREVIEW,
    Call,
    Event,
    EventKind,
    FileChange,
    Op,
    Origin,
    Problem,
    Ref,
    RequestUsage,
    Row,
    Session,
    Status,
    StatusSource,
    Tokens,
)
from nbtools.traces.source import Source
from nbtools.traces.usage.requests import difference_of, sum_of_tokens, usage_rows, with_sums

T = TypeVar("T")


class LogBuilder:
    """The rows of one log that are complete and not yet taken, and the names of its sessions."""

    def __init__(self, format: str, origin: Origin) -> None:  # noqa: A002 - the field's name
        self.format, self.origin = format, origin
        self.rows: list[Row] = []
        self.seq = -1
        """The position of the last row."""
        self._names: set[str] = set()

    def session(self, name: str) -> SessionBuilder:
        """Begins a session with this id, or with a number added to it where another session has it."""
        return SessionBuilder(self, self.unique_name(name))

    def unique_name(self, name: str) -> str:
        return unique(name, self._names)

    def read(self, items: Iterable[tuple[Ref, T] | Problem], add: Callable[[T, Ref], None]) -> Iterator[Row]:
        """Calls ``add`` with each record and yields the rows that it completes; a problem is a row itself."""
        rows = self.rows
        for item in items:
            if type(item) is tuple:
                add(item[1], item[0])
            else:
                rows.append(item)  # type: ignore[arg-type]
            if rows:
                yield from rows
                rows.clear()

    def take(self) -> Iterator[Row]:
        """Yields the rows so far."""
        yield from self.rows
        self.rows.clear()


class SessionBuilder:
    """One session under construction: its turn, times and models, and the calls that wait for their results.

    ``live`` applies to the rows added from now on (see ``model.Event``).
    """

    def __init__(self, log: LogBuilder, id: str) -> None:  # noqa: A002 - the field's name
        self.log, self.id = log, id
        self.add = log.rows.append
        self.turn = self.records = 0
        self.live = True
        self.started, self.ended = math.inf, -math.inf
        self.models: dict[str, None] = {}
        self.flags: dict[str, None] = {}
        self.requests: list[RequestUsage] = []
        self.native: dict[str, int] = {}
        """The sums of the token counts as the log has them, for ``Session.native_tokens``."""
        self.cost: float | None = None
        self._compactions: list[int] = []
        self._call_ids: set[str] = set()
        self._waiting: dict[str, tuple[Call, Any]] = {}
        self._by_native: dict[str, list[str]] = {}

    def see(self, at: float | None, model: str = "") -> None:
        """Notes the time and the model of a record."""
        if at is not None:
            if at > self.ended:  # noqa: PLR1730 - runs for every record: max() takes three times as long
                self.ended = at
            if at < self.started:  # noqa: PLR1730
                self.started = at
        if model:
            self.models[model] = None

    def event(
        self,
        kind: EventKind,
        text: str,
        ref: Ref,
        at: float | None = None,
        role: str = "",
        model: str = "",
        type: str = "",  # noqa: A002 - the field's name
        key: str = "",
        parent: str = "",
        size: int = 0,
    ) -> None:
        """Adds an event. ``size`` is the number of characters where ``text`` is not the whole text."""
        begin = text if len(text) <= PREVIEW else text[:PREVIEW]
        if begin.isspace() and len(text) > PREVIEW:
            begin = text.strip()[:PREVIEW] or begin
        log = self.log
        log.seq = seq = log.seq + 1
        if kind == "compaction":
            self._compactions.append(seq)
        self.add(
            Event(  # positional arguments: beyond fifteen keywords Python builds a dictionary
                self.id,
                seq,
                kind,
                begin,
                size or len(text),
                at,
                role,
                model,
                self.turn,
                self.live,
                key,
                parent,
                type,
                ref,
            )
        )

    def message(self, kind: EventKind, text: str, ref: Ref, *args: Any, **fields: Any) -> None:
        """Adds an event; a person's message begins a turn."""
        if kind == "user":
            self.turn += 1
        self.event(kind, text, ref, *args, **fields)

    def unique_id(self, name: str) -> str:
        """Returns the name as the id of a call, with a number where a call has it already."""
        return unique(name, self._call_ids)

    def call(
        self,
        id: str,  # noqa: A002 - the field's name
        name: str,
        ref: Ref,
        args: Any = None,
        *,
        op: Op | None = None,
        subject: str = "",
        paths: tuple[str, ...] = (),
        native_id: str = "",
        level: Literal["model", "nested"] = "model",
        parent: str = "",
        at: float | None = None,
        ended: float | None = None,
        duration: float | None = None,
        status: Status = "unanswered",
        status_source: StatusSource = "none",
        exit_code: int | None = None,
        answered: bool = False,
        result_size: int = 0,
        permission: str = "",
        child: str = "",
        counted: bool = True,
        result_ref: Ref = NOWHERE,
        by_sub_agent: bool = False,
    ) -> Call:
        """Returns the next call, which ``wait`` or ``complete`` then adds.

        ``args`` are as recorded. Without ``op``, op,
        subject and paths are those of a known tool with these arguments.
        """
        if op is None:
            op, paths, subject = summarize_call(name, arguments(args))
        log = self.log
        log.seq = seq = log.seq + 1
        return Call(  # positional arguments, as above
            self.id,
            id,
            seq,
            name,
            op,
            self.log.origin,
            native_id,
            level,
            parent,
            subject if len(subject) <= PREVIEW else subject[:PREVIEW],
            paths,
            at,
            ended,
            duration,
            status,
            status_source,
            exit_code,
            answered,
            result_size,
            permission,
            child,
            self.turn,
            self.live,
            counted,
            ref,
            result_ref,
            by_sub_agent,
        )

    def wait(self, call: Call, args: Any = None) -> None:
        """Keeps a call until its result comes, or until the end. ``args`` are returned with it."""
        self._waiting[call.id] = call, args
        waiting = self._by_native.get(call.native_id)
        if waiting is None:
            self._by_native[call.native_id] = [call.id]
        else:
            waiting.append(call.id)

    def waiting(self, native: str = "", name: str = "") -> Call | None:
        """Returns the oldest waiting call with the log's own id ``native``;
        without one, the oldest of this name that has none.
        """
        for id_ in self._by_native.get(native, ()):
            if native or not name or self._waiting[id_][0].name == name:
                return self._waiting[id_][0]
        return None

    def all_waiting(self, native: str | None = None) -> list[tuple[Call, Any]]:
        """Returns the waiting calls, or those with this id, oldest first, each with its ``args``."""
        if native is None:
            return [*self._waiting.values()]
        return [self._waiting[id_] for id_ in self._by_native.get(native, ())]

    def oldest_waiting(self) -> Call | None:
        return next(iter(self._waiting.values()))[0] if self._waiting else None

    def take(self, call: Call) -> Any:
        """Stops waiting for the call's result and returns its ``args``."""
        self._by_native[call.native_id].remove(call.id)
        args = self._waiting.pop(call.id)[1]
        if not self._waiting:
            self._waiting.clear()  # else looking for the oldest one passes the places of all that were taken
        return args

    def complete(self, call: Call, args: Any = None, changes: Iterable[FileChange] | None = None) -> None:
        """Adds a call and what it changed: ``changes``, or what the arguments of a known tool say."""
        self.add(call)
        for change in changes_of(call, arguments(args)) if changes is None else changes:
            self.add(change)

    def result(
        self,
        call: Call,
        ref: Ref,
        size: int,
        at: float | None = None,
        status: Status = "unknown",
        source: StatusSource = "none",
        changes: Iterable[FileChange] | None = None,
        duration: float | None = None,
        **fields: Any,
    ) -> None:
        """Completes a call with its result, which has ``size`` characters;
        ``fields`` are further ones of the call.
        """
        args = self.take(call) if call.id in self._waiting else None
        answered = replace(
            call,
            ended=at,
            duration=duration,
            status=status,
            status_source=source,
            answered=True,
            result_size=size,
            result_ref=ref,
            **fields,
        )
        self.complete(answered, args, changes)

    def part(
        self, piece: MessagePart, id_: str, ref: Ref, at: float | None = None, model: str = "", key: str = ""
    ) -> None:
        """Adds a part of a message: a text, a call, or the result of a call."""
        self.see(at, model)
        if isinstance(piece, TextPart):
            self.message(piece.kind, piece.text, ref, at, piece.role, model, piece.type, key)
        elif isinstance(piece, CallPart):
            self.wait(self.call(id_, piece.name, ref, piece.args, native_id=piece.id, at=at), piece.args)
        elif (call := self.waiting(piece.id, piece.name)) is not None:
            self.text_result(call, text_of(piece.content), ref, at, piece.status, "flag")
        else:
            self.event("tool_result", text_of(piece.content), ref, at, "tool", key=piece.id)

    def text_result(
        self,
        call: Call,
        text: str,
        ref: Ref,
        at: float | None,
        status: Status = "unknown",
        source: StatusSource = "none",
        changes: Iterable[FileChange] | None = None,
    ) -> None:
        """Completes a call with the text that the model read.
        Without a status, the exit code in it decides.
        """
        code = exit_code_of_result(text) if call.op == "shell" else None
        if status == "unknown":
            status, source = status_of_exit_code(code)
        taken = duration_of(call.at, at)
        self.result(call, ref, len(text), at, status, source, changes, taken, exit_code=code)

    def spend(self, counts: Mapping[str, int], cost: float | None = None) -> bool:
        """Adds a request's token counts and cost to the session's. Returns whether there are any."""
        for name, count in counts.items():
            self.native[name] = self.native.get(name, 0) + count
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        return bool(counts) or cost is not None

    def request(
        self,
        tokens: Tokens,
        ref: Ref,
        first: int | None = None,
        *,
        id: str = "",  # noqa: A002 - the field's name
        model: str = "",
        at: float | None = None,
        cost: float | None = None,
        **fields: Any,
    ) -> None:
        """Notes the token usage of a request.
        Its answer are the steps from ``first`` to the last one so far, if there are any.
        """
        last = self.log.seq if first is not None and first <= self.log.seq else None
        if last is None:
            first = None
        request = RequestUsage(
            self.id, first, last, "request", id, model, at, self.turn, self.live, tokens, cost, (), ref
        )
        self.requests.append(replace(request, **fields) if fields else request)

    @property
    def spent(self) -> Tokens:
        """The sum over the requests so far."""
        return sum_of_tokens(request.tokens for request in self.requests)

    def add_unanswered(self) -> None:
        """Adds the calls that still wait for a result."""
        for call, _ in self._waiting.values():
            self.add(call)
        self._waiting.clear()
        self._by_native.clear()

    def end(self, recorded: Tokens | None = None, **fields: Any) -> None:
        """Adds the calls without a result, the requests,
        and the session's row with these ``fields`` (see ``model.Session``).

        Where ``fields`` do not have them, the native token counts and the cost are those that ``spend`` has
        summed up, and a token count is the sum over the requests. ``recorded`` is the log's own total, where
        that is not the field ``tokens``; one that the requests do not sum up to is named in the session's
        flags and counts. Changes nothing else: where the log grows, further records may follow, and then
        another end.
        """
        for call, _ in self._waiting.values():
            self.add(call)
        fields.setdefault("native_tokens", self.native)
        cost, total = fields.setdefault("cost", self.cost), fields.get("tokens", Tokens())
        difference = difference_of(self.requests, total if recorded is None else recorded)
        tokens = fields["tokens"] = with_sums(total, self.spent)
        self.log.rows.extend(usage_rows(self.id, self.requests, self._compactions, tokens, cost))
        timed = self.ended > -math.inf
        known = {
            "models": tuple(self.models),
            "started": self.started if timed else None,
            "ended": self.ended if timed else None,
            "records": self.records,
            "flags": tuple({**self.flags, "tokens_differ": None} if difference else self.flags),
        }
        if difference:
            fields["counts"] = {**fields.get("counts", {}), "tokens_differ": difference}
        self.add(Session(id=self.id, format=self.log.format, **{**known, **fields}))


def unique(name: str, taken: set[str]) -> str:
    """Returns the name, with a number where it is taken already, and marks it as taken."""
    number, found = 1, name or "?"
    while found in taken:
        number += 1
        found = f"{name}#{number}"
    taken.add(found)
    return found


def status_of_exit_code(code: int | None) -> tuple[Status, StatusSource]:
    if code is None:
        return "unknown", "none"
    return ("error" if code else "ok"), "exit_code"


def status_of_flag(failed: Any) -> tuple[Status, StatusSource]:
    """Returns the status of a call by a flag, which is no bool where it is not recorded."""
    if not isinstance(failed, bool):
        return "unknown", "none"
    return ("error" if failed else "ok"), "flag"


def call_number(call: Call) -> int:
    """Returns the number of a call among the parts of its message, which is the end of its id."""
    return integer_of(call.id.rpartition(".")[2]) or 0


def call_part(parts: Iterable[MessagePart], call: Call, source: Source) -> CallPart:
    """Returns the part of a message that is the call. Raises ``TraceError`` where the log has changed."""
    part = next(islice(parts, call_number(call), None), None)
    if not isinstance(part, CallPart):
        raise source.outdated()
    return part


def duration_of(start: float | None, end: float | None) -> float | None:
    """Returns the seconds between two times; None where one is unknown, or the end is before the start."""
    return end - start if start is not None and end is not None and end >= start else None
