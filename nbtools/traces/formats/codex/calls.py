"""The calls of a rollout: asked for by the model, by a script that it wrote, or by nobody who says so; each told once it has ended."""

from __future__ import annotations

from nbtools.traces.formats.codex.asked import arguments_of
from nbtools.traces.formats.codex.items import completed
from nbtools.traces.formats.codex.outcome import Outcome, outcome
from nbtools.traces.formats.codex.pending import Pending, nested
from nbtools.traces.formats.codex.records import Payload, table, text, word
from nbtools.traces.formats.codex.script import calls_in
from nbtools.traces.formats.codex.telling import Telling
from nbtools.traces.model import Ref

HOSTED = {"web_search_call", "image_generation_call", "tool_search_call", "mcp_call", "code_interpreter_call", "file_search_call"}
"""What the provider runs: there is no id to link a result by, and counting rules leave it out."""
ASKED = {"function_call", "custom_tool_call", "local_shell_call"}
ANSWERS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output", "mcp_tool_call_output"}
ENDS = {"exec_command_end", "patch_apply_end", "mcp_tool_call_end", "dynamic_tool_call_response"}


class Calls:
    """``open`` are those that a later record may say more of.  ``hosted`` counts the provider's searches."""

    def __init__(self, telling: Telling) -> None:
        self.telling = telling
        self.open: dict[str, Pending] = {}
        self.hosted = 0
        self._known: set[str] = set()
        self._early: dict[str, tuple[Outcome, float | None, Ref]] = {}
        self._script: Pending | None = None

    def asked(self, payload: Payload, at: float | None, ref: Ref) -> None:
        native = word(payload.call_id) or (word(payload.id) if payload.type == "local_shell_call" else "")
        name = word(payload.name) or ("local_shell" if payload.type == "local_shell_call" else "?")
        before = self.open.get(native)
        if native in self._known and (before is None or before.level == "model"):
            self.telling.say("tool_call", payload.type, at, ref, name)
            return
        pending = before if before is not None else self._pending(native, at, ref)
        if before is not None:
            pending.level, pending.parent, pending.at, pending.ref, pending.outcome = "model", "", at, ref, None
        if native in self._early:
            pending.answer(*self._early.pop(native))
        pending.ask(arguments_of(payload), name, word(payload.namespace))
        if pending.script:
            self._script = pending
            self._written(pending)

    def _pending(self, native: str, at: float | None, ref: Ref) -> Pending:
        telling = self.telling
        seq = telling.next()
        pending = Pending(telling.owner.id, native or f"call.{seq}", seq, "?", "other", ref, native, at=at, permission=telling.permission)
        pending.turn, pending.live = telling.turn, telling.live
        self.open[pending.id] = pending
        self._known.add(pending.id)
        return pending

    def _written(self, script: Pending) -> None:
        """The calls that a script names, for where no event tells of them."""
        written: list[Pending] = []
        for number, named in enumerate(calls_in(script.script)):
            seq = self.telling.next()
            one = Pending(script.session, f"{script.id}.{number}", seq, named.name, "other", script.ref)
            one.ask({"input": named.quoted[0]} if named.quoted else {"arguments": named.arguments}, named.name)
            one.level, one.parent, one.turn, one.live, one.script = "nested", script.id, script.turn, script.live, ""
            written.append(one)
        script.script, script.written = "", tuple(written)

    def answered(self, payload: Payload, at: float | None, ref: Ref) -> None:
        native = word(payload.call_id)
        found = self.open.get(native)
        said = outcome(payload.output)
        if said.cut:
            self.telling.owner.flags["truncated"] = None
        if found is None or found.level == "nested":
            if found is not None or native not in self._known:
                self._early[native] = (said, at, ref)
            self.telling.say("tool_result", payload.type, at, ref, text(payload.output), "tool")
            return
        if found.outcome is None or (said.failed and not found.outcome.failed):
            found.answer(said, at, ref)
        if found.settled and found is not self._script:
            self._emit(found)

    def ended(self, payload: Payload, at: float | None, ref: Ref) -> None:
        native = word(payload.call_id)
        self.telling.progress(payload, at, ref)
        found = self.open.get(native)
        if found is None and native in self._known:
            return
        if found is None:
            found = self._inside(native, payload, at, ref)
        found.end(payload)
        if found.settled and found is not self._script and found.level == "model":
            self._emit(found)

    def _inside(self, native: str, payload: Payload, at: float | None, ref: Ref) -> Pending:
        """A call that the model did not ask for: its script did, or the user."""
        found = self._pending(native, None, ref)
        nested(found, payload)
        found.outcome, found.ended, found.result_ref = Outcome(), at, ref
        if payload.source == "user_shell":
            found.permission = "user"
        elif self._script is not None:
            found.parent = self._script.id
            self._script.told |= {found.op}
        return found

    def item(self, payload: Payload, at: float | None, ref: Ref) -> None:
        """Later logs tell the ends of calls so."""
        end = completed(table(payload.item))
        if end is None:
            self.telling.say("progress", "item_completed", at, ref, word(table(payload.item).get("type")))
        else:
            self.ended(end, at, ref)

    def provider(self, payload: Payload, at: float | None, ref: Ref) -> None:
        kind = payload.type
        self.hosted += kind == "web_search_call"
        found = self._pending(word(payload.call_id), at, ref)
        found.ask(arguments_of(payload), kind)
        found.counted = False
        if payload.status is not None and found.native == "":
            found.outcome, found.result_ref = Outcome(), ref
            found.good, found.bad = ("flag", None) if payload.status == "completed" else (None, "flag")
            self._emit(found)

    def spawned(self, payload: Payload, at: float | None, ref: Ref) -> None:
        if (found := self.open.get(word(payload.call_id))) is not None:
            found.child = word(payload.new_thread_id) or found.child
        self.telling.progress(payload, at, ref)

    def aborted(self) -> None:
        for found in self.open.values():
            if found.outcome is None and not found.stopped:
                found.stopped = "interrupted"

    def flush(self, *, everything: bool = False) -> None:
        """A turn has ended: what has a result is complete, but for commands that go on."""
        for found in [*self.open.values()]:
            if everything or (found.outcome is not None and not found.outcome.running):
                self._emit(found)
        if self._script is not None and self._script.id not in self.open:
            self._script = None

    def _emit(self, found: Pending) -> None:
        del self.open[found.id]
        self.telling.out += found.rows(self.telling.origin)
        for one in found.written:
            if one.op not in found.told:
                self.telling.out += one.rows(self.telling.origin)
