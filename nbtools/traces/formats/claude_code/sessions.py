"""What is known of a session while its records go by."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from msgspec import Struct

from nbtools.traces.formats.claude_code.records import Line, Message, Usage
from nbtools.traces.model import Ref, Session, Tokens

_NO_MODEL = "<synthetic>"
_FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Spent(Struct, gc=False):
    """Tokens of an API message, which is spread over records that repeat its usage: of each number the largest (``numbers``)."""

    last: Usage
    most: tuple[int, int, int, int] | None = None
    finished: bool = False

    def add(self, usage: Usage) -> None:
        a, b, c, d = self.numbers
        self.last = usage
        e, f, g, h = _numbers(usage)
        self.most = (max(a, e), max(b, f), max(c, g), max(d, h))

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        return self.most or _numbers(self.last)


def _numbers(usage: Usage) -> tuple[int, int, int, int]:
    return (
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_creation_input_tokens or 0,
        usage.cache_read_input_tokens or 0,
    )


class Gathering:
    """A session before its end.  ``model_calls`` and ``echoes`` are ids of calls; those only echoed are names by id."""

    def __init__(self, session: str, ref: Ref) -> None:
        self.id, self.ref = session, ref
        self.parent = self.parent_call = ""
        self.started, self.ended = math.inf, -math.inf
        self.records = self.sidechain = self.images = self.compactions = self.turn = 0
        self.cwd = self.branch = self.version = self.title = ""
        self.named = 0
        self.model = ""
        self.models: dict[str, None] = {}
        self.messages: list[Spent] = []
        self.echoes: dict[str, str] = {}
        self.flags: dict[str, None] = {}
        self.counts: dict[str, Any] = {}
        self.cost: float | None = None

    def see(self, at: float | None) -> None:
        self.records += 1
        if at is not None:
            if at > self.ended:  # noqa: PLR1730 - of every line: max() takes three times as long
                self.ended = at
            if at < self.started:  # noqa: PLR1730
                self.started = at

    def describe(self, line: Line) -> None:
        self.version = line.version or self.version
        self.branch = line.git_branch or self.branch
        self.cwd = self.cwd or line.cwd or ""

    def name(self, title: str, weight: int) -> None:
        """A person's own title weighs more than one made up."""
        if title and weight >= self.named:
            self.title, self.named = title, weight

    def spend(self, message: Message, known: dict[str, Spent]) -> None:
        model, usage = message.model, message.usage
        if usage is None or not message.id or model == _NO_MODEL:
            return
        if model != self.model and model:
            self.model = model
            self.models[model] = None
        spent = known.get(message.id)
        if spent is None:
            spent = known[message.id] = Spent(usage)
            self.messages.append(spent)
        elif usage != spent.last:
            spent.add(usage)
        if message.stop_reason:
            spent.finished = True

    def session(self, asked: set[str]) -> Session:
        fresh, out, written, cached = (sum(spent.numbers[field] for spent in self.messages) for field in range(len(_FIELDS)))
        timed = self.ended > -math.inf
        unfinished = sum(not spent.finished for spent in self.messages)
        if 2 * unfinished > len(self.messages):
            self.flags["tokens_placeholder"] = None
        counts = {
            "api_messages": len(self.messages),
            "sidechain_records": self.sidechain,
            "images": self.images,
            "compactions": self.compactions,
            "nested_by_name": dict(sorted(Counter(name for call, name in self.echoes.items() if call not in asked).items())),
        }
        return Session(
            id=self.id,
            format="claude-code",
            format_version=self.version,
            agent="claude-code",
            agent_version=self.version,
            parent=self.parent,
            parent_call=self.parent_call,
            title=self.title,
            cwd=self.cwd,
            branch=self.branch,
            models=tuple(self.models),
            started=self.started if timed else None,
            ended=self.ended if timed else None,
            records=self.records,
            tokens=Tokens(input=fresh, cache_read=cached, cache_write=written, output=out),
            native_tokens={"input": fresh, "output": out, "cache_write": written, "cache_read": cached},
            cost=self.cost,
            flags=tuple(self.flags),
            counts={**counts, **self.counts},
            ref=self.ref,
        )
