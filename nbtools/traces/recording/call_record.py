"""Converts a finished call to its record in the log.

Values are written as JSON without secrets; long texts are written to files beside the log.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.call import (
    Approval,
    CancelledCall,
    ErroredCall,
    ExecutingCall,
    FinishedCall,
    Plan,
    ScheduledCall,
    ValidatingCall,
)
from nbtools.core.confirmation import Answer
from nbtools.core.decision import Decision
from nbtools.core.redaction import Redactor
from nbtools.core.result import CommandOutput, FileDiff, LlmContent, with_words
from nbtools.core.tool import CommandTarget, Kind
from nbtools.traces.display_json import diffs_of, display_to_json
from nbtools.traces.recording.log_records import (
    BEGINNING_LENGTH,
    LONGEST_TEXT,
    NULL,
    ApprovalRecord,
    CallRecord,
    ChangeRecord,
    DecisionRecord,
)

_MAX_KEYED_SECRET = 500
"""Characters up to which a value is checked for being a secret because of its key."""
_MAX_TEXT = 8_000_000
"""Characters of a text that are stored at most."""
_INT64_END = 1 << 63
_LONG_JSON_FACTOR = 2


class LogEncoder:
    """Encodes values for the log.

    Texts of more than ``LONGEST_TEXT`` characters go into files in ``folder``, each content once;
    ``bytes_written`` counts the bytes of these files.
    """

    def __init__(self, folder: Path, redactor: Redactor | None) -> None:
        self.bytes_written = 0
        self._folder = folder
        self._redactor = redactor

    def encode(self, value: Any) -> msgspec.Raw:
        """Encodes ``value`` as JSON. Where that is long although no single text in it is,
        the JSON is written to a file, too.
        """
        value = msgspec.to_builtins(value, enc_hook=_encode_other, str_keys=True)
        encoded = msgspec.json.encode(value if self._is_clean(value) else self._encodable(value))
        if len(encoded) > _LONG_JSON_FACTOR * LONGEST_TEXT:
            encoded = msgspec.json.encode({"$json": self._write_file(encoded, "json"), "chars": len(encoded)})
        return msgspec.Raw(encoded)

    def redact(self, text: str) -> str:
        """Returns a short text without secrets."""
        text = _replace_surrogates(text)
        return text if self._redactor is None else self._redactor.text(text)

    def _is_clean(self, value: Any) -> bool:
        """Returns whether the value can be written unchanged.
        Redacts all its texts at once, because most contain no secrets.

        Only for ASCII: for other letters the redactor may have to look at each text by itself.
        """
        texts: list[str] = []
        if not _collect_texts(value, "", texts):
            return False
        text = "\n".join(texts)
        return text.isascii() and (self._redactor is None or self._redactor.text(text) is text)

    def _encodable(self, value: Any, key: str = "") -> Any:
        match value:
            case str():
                return self._text(value, key)
            case dict():
                return {_key(name): self._encodable(item, name) for name, item in value.items()}
            case list() | tuple():
                return [self._encodable(item, key) for item in value]
            case bool():
                return value
            case int():
                return value if -_INT64_END <= value < _INT64_END else str(value)
        return value

    def _text(self, text: str, key: str) -> Any:
        text = self._redact_keyed(self.redact(text), key)
        if len(text) <= LONGEST_TEXT:
            return text
        return {
            "$text": self._write_file(text[:_MAX_TEXT].encode(), "txt"),
            "chars": len(text),
            "start": text[:BEGINNING_LENGTH],
        }

    def _redact_keyed(self, text: str, key: str) -> str:
        """Redacts a value that is a secret because of its key: ``{"api_key": "…"}``."""
        if self._redactor is None or not key or len(text) > _MAX_KEYED_SECRET:
            return text
        redacted = self._redactor.text(f"{key}={text}")
        return redacted.removeprefix(f"{key}=")

    def _write_file(self, data: bytes, ending: str) -> str:
        name = f"{hashlib.blake2b(data, digest_size=16).hexdigest()}.{ending}"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        try:
            descriptor = os.open(
                self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
            )
        except FileExistsError:
            return name
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(data)
        self.bytes_written += len(data)
        return name


def _collect_texts(value: Any, key: str, texts: list[str]) -> bool:
    """Collects the texts of a value, with their keys;
    returns False as soon as something cannot be written unchanged.
    """
    if isinstance(value, str):
        texts.append(f"{key}={value}" if key and len(value) <= _MAX_KEYED_SECRET else value)
        return len(value) <= LONGEST_TEXT
    if isinstance(value, dict):
        return all(
            not name.startswith("$") and name.isascii() and _collect_texts(item, name, texts)
            for name, item in value.items()
        )
    if isinstance(value, list | tuple):
        return all(_collect_texts(item, key, texts) for item in value)
    return not isinstance(value, int) or -_INT64_END <= value < _INT64_END


def _replace_surrogates(text: str) -> str:
    """Replaces unpaired surrogates, which file names and broken texts may contain, with U+FFFD:
    JSON cannot hold them.
    """
    return (
        text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def _key(name: str) -> str:
    return f"${_replace_surrogates(name)}" if name.startswith("$") else _replace_surrogates(name)


def _encode_other(value: Any) -> Any:
    """Converts a value that is not JSON: the fields of a model, otherwise its text."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


_CHANGING_KINDS = (Kind.EDIT, Kind.DELETE, Kind.MOVE, Kind.EXECUTE, Kind.OTHER)


def full_record(
    call: FinishedCall, paper: LogEncoder, session: str, number: int, requested_at: float
) -> CallRecord:
    """Returns the full record of a call.

    Raises whatever a tool's own objects raise when read, and ``OSError`` where a text cannot be stored.
    """
    request, result = call.request, with_words(call.result, str)
    plan = None if isinstance(call.last, ValidatingCall) else call.last.plan
    target = None if plan is None else plan.invocation.target()
    return CallRecord(
        session=session,
        number=number,
        id=request.id,
        name=request.name,
        spoken=request.spoken,
        kind="" if plan is None else plan.kind.value,
        subject="" if plan is None else paper.redact(plan.invocation.get_description()),
        command=paper.redact(target.command) if isinstance(target, CommandTarget) else "",
        directory=paper.redact(target.directory) if isinstance(target, CommandTarget) else "",
        paths=(
            ()
            if plan is None
            else tuple(paper.redact(location.path) for location in plan.invocation.tool_locations())
        ),
        asked=requested_at,
        started=call.last.at if isinstance(call.last, ExecutingCall) else 0,
        ended=call.at,
        state=call.state,
        error="" if result.error is None else result.error.code.value,
        message="" if result.error is None else paper.redact(result.error.message),
        exit_code=(
            result.return_display.exit_code if isinstance(result.return_display, CommandOutput) else None
        ),
        size=_size(result.llm_content),
        summary=paper.redact(result.summary or ""),
        decision=None if plan is None else _decision_record(plan.decision, paper),
        approval=_approval_record(call, paper),
        changes=tuple(_changes(call, plan, paper)),
        arguments=paper.encode(request.arguments),
        ran=NULL if plan is None or plan.arguments == request.arguments else paper.encode(plan.arguments),
        content=paper.encode(result.llm_content),
        display=paper.encode(display_to_json(result.return_display)),
        data=paper.encode(result.data),
        notes=paper.encode(result.notes) if result.notes else NULL,
    )


def minimal_record(
    call: FinishedCall, paper: LogEncoder, session: str, number: int, requested_at: float, why: str
) -> CallRecord:
    """Returns a minimal record of a call whose tool or result cannot be written; ``why`` is the reason."""
    request = call.request
    return CallRecord(
        session=session,
        number=number,
        id=request.id,
        name=request.name,
        spoken=request.spoken,
        asked=requested_at,
        ended=call.at,
        state=call.state,
        unwritten=paper.redact(why),
    )


def _size(content: LlmContent) -> int:
    return (
        len(content) if isinstance(content, str) else sum(len(str(part.get("text", ""))) for part in content)
    )


def _decision_record(decision: Decision, paper: LogEncoder) -> DecisionRecord:
    texts = (decision.reason, decision.rule, decision.part, decision.source)
    return DecisionRecord(decision.action.value, *map(paper.redact, texts))


def _approval_record(call: FinishedCall, paper: LogEncoder) -> ApprovalRecord | None:
    if isinstance(call, CancelledCall) and call.answer is not None:
        return _answer_record(call.answer, "", 0, paper)
    if not isinstance(call.last, ScheduledCall | ExecutingCall) or call.last.approval is None:
        return None
    approval: Approval = call.last.approval
    return _answer_record(approval.answer, approval.confirmation.details.title, approval.at, paper)


def _answer_record(answer: Answer, question: str, at: float, paper: LogEncoder) -> ApprovalRecord:
    reason = paper.redact(answer.reason)
    return ApprovalRecord(
        outcome=answer.outcome.value,
        question=paper.redact(question),
        by=answer.by,
        reason=reason,
        save=answer.save,
        at=at,
    )


def _changes(call: FinishedCall, plan: Plan | None, paper: LogEncoder) -> Iterator[ChangeRecord]:
    """Yields the file changes of a successful call; previews are not counted.
    Deleted and moved files have no diff.
    """
    if plan is None or isinstance(call, ErroredCall | CancelledCall) or plan.kind not in _CHANGING_KINDS:
        return
    diffs = diffs_of(call.result.return_display)
    yield from (_change_record(diff, paper) for diff in diffs)
    if not diffs and plan.kind in {Kind.DELETE, Kind.MOVE}:
        locations = plan.invocation.tool_locations()
        kind = "delete" if plan.kind is Kind.DELETE else "rename"
        yield from (ChangeRecord(path=paper.redact(location.path), kind=kind) for location in locations[:1])


def _change_record(diff: FileDiff, paper: LogEncoder) -> ChangeRecord:
    added, removed = diff.changed_lines
    return ChangeRecord(
        path=paper.redact(diff.file_name),
        kind="add" if diff.original_content is None else "modify",
        added=added,
        removed=removed,
    )
