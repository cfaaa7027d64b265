"""Law: each text of a log is in a row, or is named here as left out."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.traces.row_texts import text_of_event
from nbtools.traces.trace import Trace
from tests.traces.recorded import LOGS, SAMPLES

MIN_TEXT = 20
MIN_SPACES = 2
"""A shorter text, or one of two words, may be a name, a path or an id."""

LEFT_OUT: dict[str, dict[str, str]] = {
    "atif": {
        r"subagent_trajectory_ref\.\*\.extra\.summary": "a label that the sub-agent's own file has as its title"
    },
    "claude-code": {
        r"hookInfos\.\*\.command|data\.command|attachment\.command": "the command of a hook, which the person has configured",
        r"lastPrompt": "repeats the last prompt",
        r"toolUseResult\.content\.\*\.text": "a result that is too large for the log, and is in a file of its own",
        r"structuredPatch\.\*\.lines\.\*": "the changed file is in the call's changes",
    },
    "codex": {
        r"dynamic_tools\..*|environments\.subagents": "definitions of tools and agents",
        r"payload\.query": "the arguments of a search in words; the call has them",
    },
    "copilot-cli": {
        r"data\.transformedContent": "the prompt with the time in front",
        r"intentionSummary": "describes a call in words",
    },
    "openhands": {
        r"args\.tools\..*": "definitions of tools",
        r"\*\.message": "describes an action in words",
        r"metadata\.suffix": "describes the exit code in words",
    },
    "inspect": {
        r"plan\.steps\..*": "the settings of the solvers; the messages made from them are rows",
        r"scores?\..*": "answers and explanations of scores are in the samples",
        r"reductions\..*": "repeats the scores",
    },
    "qwen-code": {r"resultDisplay\.fileDiff": "the changed file is in the call's changes"},
    "gemini-cli": {r"resultDisplay\.fileDiff": "the changed file is in the call's changes"},
}
"""Paths of texts that are in no row, by format, and why."""
WORDING = {
    "claude-code": r"^Error: ",
    "claude-stream-json": r"^Error: ",
    "cline": r"</?[\w-]+>|^\[\w+ for .*\] Result:",
    "swe-agent": r"^\((?:Open file|Current directory): .*\)$|^bash-\$$",
}
"""Words around a text, by format: tags of calls in the text, prefixes of results,
the state of the shell after them.
"""


def texts_in(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields the texts in a record with the paths of their fields; JSON in a text is read on."""
    if isinstance(value, dict):
        for key, one in value.items():
            name = key if re.fullmatch(r"[\w*-]{1,40}", key) else "KEY"
            yield from texts_in(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one, f"{path}.*" if path else "*")
    elif isinstance(value, str):
        inner = _decoded(value)
        if isinstance(inner, dict | list):
            yield from texts_in(inner, path)
        else:
            yield path, value


def _decoded(text: str) -> Any:
    try:
        return json.loads(text) if text[:1] in "{[" else None
    except ValueError:
        return None


def records(path: Path) -> Iterator[Any]:
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            yield from (
                json.loads(archive.read(name)) for name in archive.namelist() if name.endswith(".json")
            )
        return
    text = path.read_text(encoding="utf-8-sig")
    try:
        yield json.loads(text)
    except ValueError:
        yield from (line for line in map(_decoded, text.splitlines()) if line is not None)


def texts_of_rows(trace: Trace) -> str:
    """Returns everything that the rows say, with the details of calls."""
    found = [
        text_of_event(event, log) for event, log in zip(trace.events, trace.events.log_files, strict=True)
    ]
    for call in trace.calls:
        detail = call.detail
        found += [
            call.subject,
            detail.result,
            detail.stdout,
            detail.stderr,
            detail.command,
            repr(detail.display),
        ]
        for value in (
            dict(detail.args),
            json.loads(json.dumps(dict(detail.extra), default=str)),
            _decoded(_payload(detail.result)),
        ):
            found += (text for _, text in texts_in(value))
        for change in detail.changes:
            found += [change.original_content or "", change.new_content, change.file_diff]
    found += [repr(session) for session in trace.sessions]
    return "\0".join(found)


def _payload(result: str) -> str:
    """Returns the JSON in a result, which may follow a line with times."""
    return result[min((result.find(mark) for mark in "{[" if mark in result), default=0) :]


def is_said(text: str, recorded: str, wording: str) -> bool:
    """Whether a text, or else each of its longer lines, is in the rows:
    readers take texts apart, into thoughts and calls for example.
    """
    text = re.sub(wording, "", text, flags=re.MULTILINE) if wording else text
    return text.strip() in recorded or all(
        line.strip() in recorded for line in text.splitlines() if len(line.strip()) > MIN_TEXT
    )


@pytest.mark.parametrize("sample", LOGS)
def test_each_text_of_a_log_is_in_a_row_or_named_as_left_out(sample: str) -> None:
    trace = traces.load(SAMPLES / sample)
    recorded = texts_of_rows(trace)
    log = trace.readings[0]
    wording = WORDING.get(log.format.name, "")
    left_out = [re.compile(rf"(?:.*\.)?(?:{pattern})") for pattern in LEFT_OUT.get(log.format.name, {})]
    missing = [
        (path, text[:80])
        for file in log.source.files
        for record in records(file)
        for path, text in texts_in(record)
        if len(text.strip()) > MIN_TEXT
        and text.count(" ") >= MIN_SPACES
        and not is_said(text, recorded, wording)
        if not any(pattern.fullmatch(path) for pattern in left_out)
    ]
    assert missing == []
