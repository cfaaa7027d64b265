"""Logs of Inspect AI, as its versions write them."""

from __future__ import annotations

import json
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.core.result import FileText, Media
from nbtools.traces.query.facts import facts_of
from nbtools.traces.readers.inspect.log import InspectAI, run_of_archive
from tests.examples import examples
from tests.traces.readers.damage import damaged, read_whole, spoilt

Record = dict[str, Any]
RUN = {
    "run_id": "r",
    "task_id": "i",
    "created": "2026-01-01T00:00:00Z",
    "task": "work",
    "model": "m",
    "packages": {"inspect_ai": "0.3"},
}
HEADER: Record = {
    "version": 2,
    "status": "success",
    "eval": RUN | {"revision": {"commit": "abc", "origin": "git@x"}},
}
LONG = "a long text " * 20


def event(kind: str, second: int, **fields: Any) -> Record:
    return {"event": kind, "timestamp": f"2026-01-01T00:00:{second:02}+00:00", **fields}


def tool(id_: str, second: int, function: str, span: str = "", **fields: Any) -> Record:
    base = {
        "id": id_,
        "function": function,
        "arguments": {},
        "result": "ok",
        "type": "function",
        "span_id": span,
    }
    return event("tool", second, **{**base, **fields})


def span(id_: str, second: int, kind: str, parent: str = "") -> Record:
    return event(
        "span_begin",
        second,
        id=id_,
        span_id=id_,
        type=kind,
        name=kind,
        **({"parent_id": parent} if parent else {}),
    )


def sample(*events: Record, id_: Any = 1, epoch: int = 1, **fields: Any) -> Record:
    return {
        "id": id_,
        "epoch": epoch,
        "input": "do it",
        "events": [*events],
        "model_usage": {"m": {"input_tokens": 5, "output_tokens": 2}},
        **fields,
    }


def archive(path: Path, *samples: Record, header: Record | None = HEADER) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("_journal/start.json", json.dumps({"eval": HEADER["eval"]}))
        for one in samples:
            made.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        if header is not None:
            made.writestr("header.json", json.dumps(header))
    return path


def document(path: Path, *samples: Record) -> Path:
    path.write_text(json.dumps(HEADER | {"samples": [*samples]}, indent=2))
    return path


@pytest.fixture(params=[archive, document])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return lambda *samples: traces.load(request.param(tmp_path / "log", *samples))


def test_each_sample_is_a_session(load: Any) -> None:
    trace = load(sample(tool("a", 1, "bash"), id_="x"), sample(tool("a", 2, "bash"), id_="x", epoch=2))
    assert [session.id for session in trace.sessions] == ["x_epoch_1", "x_epoch_2"]
    assert [(one.session, one.id) for one in trace.calls] == [("x_epoch_1", "a"), ("x_epoch_2", "a")]
    first = trace.sessions[0]
    assert (first.commit, first.repository, first.agent_version, first.models, first.title) == (
        "abc",
        "git@x",
        "0.3",
        ("m",),
        "do it",
    )
    facts = trace.facts()
    assert (facts["records"], facts["tokens"], facts["task"], facts["status"]) == (
        2,
        {"input": 10, "output": 4},
        "work",
        "success",
    )


def usage(input_: int, output: int) -> Record:
    return {
        "m": {"input_tokens": input_, "output_tokens": output},
        "grader": {"input_tokens": 1, "output_tokens": 1},
    }


@pytest.mark.parametrize("write", [archive, document])
def test_the_tokens_of_a_log_are_those_of_its_header(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HEADER, "stats", {"model_usage": usage(70, 30)})
    trace = traces.load(
        write(tmp_path / "log", *(sample(tool("a", 1, "bash"), id_=number) for number in range(3)))
    )
    assert trace.facts()["tokens"] == {"input": 71, "output": 31}
    assert [session.native_tokens for session in trace.sessions] == [{"input": 5, "output": 2}] * 3


@pytest.mark.parametrize("write", [archive, document])
@pytest.mark.parametrize(
    ("fields", "truncated"),
    [
        ({"results": {"total_samples": 3}}, True),
        ({"results": {"total_samples": 2}}, False),
        ({"eval": HEADER["eval"] | {"dataset": {"sample_ids": [1, 2]}, "config": {"epochs": 2}}}, True),
        ({"eval": HEADER["eval"] | {"dataset": {"sample_ids": [1, 2]}, "config": {}}}, False),
        ({}, False),
    ],
)
def test_missing_samples_are_flagged(
    tmp_path: Path, write: Any, fields: Record, truncated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in fields.items():
        monkeypatch.setitem(HEADER, name, value)
    trace = traces.load(
        write(tmp_path / "log", *(sample(tool("a", 1, "bash"), id_=number) for number in range(2)))
    )
    assert [session.flags for session in trace.sessions] == [("truncated",) if truncated else ()] * 2


def test_long_texts_are_taken_from_the_attachments(load: Any) -> None:
    mark = "attachment://0123456789abcdef0123456789abcdef"
    attachments = {"0123456789abcdef0123456789abcdef": LONG}
    asked = event("sample_init", 0, sample={"input": mark})
    ran = tool("a", 1, "bash", arguments={"command": mark}, result=mark)
    lost = tool("b", 2, "bash", result="attachment://" + "f" * 32)
    other = sample(
        tool("c", 1, "bash", result=mark), id_=2, attachments={"0123456789abcdef0123456789abcdef": "another"}
    )
    trace = load(sample(asked, ran, lost, attachments=attachments), other)
    assert (trace.events[0].kind, trace.events[0].size) == ("user", len(LONG))
    call, unknown, elsewhere = trace.calls
    assert (call.result_size, call.detail.result, call.detail.command) == (len(LONG), LONG, LONG)
    assert unknown.detail.result == "attachment://" + "f" * 32
    assert elsewhere.detail.result == "another"


def test_a_call_in_the_span_of_a_tool_belongs_to_that_tools_call(load: Any) -> None:
    events = [
        span("main", 0, "agent"),
        span("t", 1, "tool", "main"),
        tool("outer", 1, "delegate", "t"),
        span("sub", 2, "agent", "t"),
        span("u", 3, "tool", "sub"),
        tool("inner", 3, "bash", "u"),
        event("sandbox", 4, span_id="u", action="exec", cmd="ls -l", result=2, output="no"),
        tool("after", 5, "bash", "main"),
    ]
    trace = load(sample(*events))
    assert [(one.id, one.parent, one.level) for one in trace.calls] == [
        ("outer", "", "model"),
        ("inner", "outer", "model"),
        ("sandbox.exec", "inner", "nested"),
        ("after", "", "model"),
    ]
    ran = trace.calls[2]
    assert (ran.level, ran.op, ran.status, ran.exit_code, ran.detail.command, ran.detail.result) == (
        "nested",
        "shell",
        "error",
        2,
        "ls -l",
        "no",
    )


def test_spans_that_lead_back_to_themselves_are_no_parents(load: Any) -> None:
    (call,) = load(
        sample(span("a", 0, "agent", "b"), span("b", 0, "agent", "a"), tool("x", 1, "bash", "a"))
    ).calls
    assert call.parent == ""


def test_events_that_older_logs_write_inside_an_event_are_nested(load: Any) -> None:
    deepest = tool("c", 3, "bash", arguments={"command": "pwd"}, result="/")
    inner = tool("b", 2, "python", arguments={"code": "1"}, result="2", events=[deepest])
    trace = load(
        sample(
            tool("a", 1, "delegate", events=[inner]),
            event("subtask", 4, name="s", events=[tool("d", 5, "bash")]),
        )
    )
    assert [(one.id, one.level, one.parent) for one in trace.calls][:3] == [
        ("a", "model", ""),
        ("b", "nested", "a"),
        ("c", "nested", "b"),
    ]
    assert [(one.detail.args, one.detail.result) for one in trace.calls][1:3] == [
        ({"code": "1"}, "2"),
        ({"command": "pwd"}, "/"),
    ]


def test_an_error_is_shown_with_its_message(load: Any) -> None:
    ended = event("approval", 1, call={"id": "a"}, decision="reject", approver="human")
    failed = tool(
        "a", 1, "bash", result="", error={"type": "approval", "message": "not allowed"}, working_time=0.5
    )
    pending = tool("b", 2, "bash", result=None)
    one, other = load(sample(ended, failed, pending)).calls
    assert (one.status, one.status_source, one.permission, one.duration) == (
        "error",
        "flag",
        "reject (human)",
        0.5,
    )
    assert one.detail.result == "not allowed"
    assert (other.status, other.answered) == ("unanswered", False)


def test_results_are_shown_as_our_tools_would(load: Any) -> None:
    read = tool(
        "a",
        1,
        "text_editor",
        arguments={"command": "view", "path": "a.py"},
        result="1\tx\n2\ty",
        truncated=[9000, 7],
    )
    picture = tool("b", 2, "computer", result=[{"type": "image", "image": "data:image/png;base64,iVBORw=="}])
    one, other = load(sample(read, picture)).calls
    assert one.detail.display == FileText("a.py", 1, ("x", "y"), 2)
    assert one.detail.truncated == 7
    assert other.detail.display == Media("", "image/png", b"\x89PNG")


def test_texts_and_thoughts_of_the_model_are_read(load: Any) -> None:
    message = {
        "id": "1",
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "yes"}],
        "tool_calls": [{"id": "a", "function": "bash", "arguments": {}}],
    }
    trace = load(
        sample(
            event(
                "model",
                1,
                model="m",
                output={"choices": [{"message": message}]},
                input=[{"role": "user", "content": "x"}],
            )
        )
    )
    assert [(one.kind, one.text, one.model) for one in trace.events] == [
        ("thinking", "hm", "m"),
        ("assistant_text", "yes", "m"),
    ]
    assert not trace.calls


def test_a_run_that_did_not_end_has_no_header(tmp_path: Path) -> None:
    trace = traces.load(archive(tmp_path / "log", sample(tool("a", 1, "bash")), header=None))
    assert trace.facts()["task"] == "work"
    assert not trace.problems


def test_a_broken_sample_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log", "w") as made:
        made.writestr("samples/1_epoch_1.json", "{nothing")
        made.writestr("samples/2_epoch_1.json", json.dumps(sample(tool("a", 1, "bash"), id_=2)))
    trace = traces.load(tmp_path / "log")
    assert [one.session for one in trace.calls] == ["2_epoch_1"]
    assert [problem.ref.member for problem in trace.problems] == ["", "samples/1_epoch_1.json"]


def test_an_archive_that_unpacks_to_more_than_any_memory_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log", "w", zipfile.ZIP_DEFLATED) as made:
        with made.open("header.json", "w") as header:
            for _ in range(129):
                header.write(b" " * (1 << 20))
        made.writestr("samples/1_epoch_1.json", json.dumps(sample(tool("a", 1, "bash"))))
    with pytest.raises(TraceError, match="when it is unpacked"):
        run_of_archive(tmp_path / "log")
    trace = traces.load(tmp_path / "log")
    assert "when it is unpacked" in trace.problems[0].why
    assert len(trace.calls) == 1


@pytest.mark.parametrize(("size", "why"), [(2 << 30, "when it is unpacked"), (100, "CRC")])
def test_a_member_is_unpacked_up_to_the_size_that_the_archive_states(
    tmp_path: Path, size: int, why: str
) -> None:
    trace = traces.load(zstd_archive(tmp_path / "log", "samples/1_epoch_1.json", b" " * (1 << 20), size))
    assert why in trace.problems[-1].why


def zstd_archive(path: Path, name: str, text: bytes, size: int | None = None) -> Path:
    """A zip with one file of compression method 93, and the stated ``size``."""
    packed = bytes(pytest.importorskip("pyarrow").compress(text, codec="zstd", asbytes=True))
    fields = (0, 93, 0, 33, zlib.crc32(text), len(packed), len(text) if size is None else size, len(name), 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 63, *fields) + name.encode() + packed
    central = b"PK\x01\x02" + struct.pack("<HHHHHHIIIHHHHHII", 63, 63, *fields, 0, 0, 0, 0, 0) + name.encode()
    path.write_bytes(
        local + central + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    )
    return path


def test_samples_compressed_with_zstd_are_read(tmp_path: Path) -> None:
    text = json.dumps(sample(tool("a", 1, "bash", arguments={"command": "ls"}))).encode()
    (call,) = traces.load(zstd_archive(tmp_path / "log", "samples/1_epoch_1.json", text)).calls
    assert call.detail.command == "ls"


def test_without_a_library_for_zstd_the_problem_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zstd_archive(tmp_path / "log", "samples/1_epoch_1.json", json.dumps(sample()).encode())
    for library in ("compression.zstd", "pyarrow", "zstandard", "backports.zstd"):
        monkeypatch.setitem(sys.modules, library, None)
    trace = traces.load(path)
    assert any('pip install "nbtools-agent[traces]"' in problem.why for problem in trace.problems)


WHOLE = sample(
    event(
        "sample_init",
        0,
        sample={"input": [{"role": "user", "content": "attachment://0123456789abcdef0123456789abcdef"}]},
    ),
    span("t", 1, "tool"),
    tool(
        "a",
        1,
        "bash",
        "t",
        arguments={"command": "ls"},
        events=[tool("b", 2, "text_editor", arguments={"command": "create", "path": "a", "file_text": "x"})],
    ),
    event("sandbox", 2, span_id="t", action="read_file", file="a", output="x"),
    event("model", 3, model="m", output={"choices": [{"message": {"role": "assistant", "content": "yes"}}]}),
    event("approval", 4, call={"id": "c"}, decision="approve", approver="auto"),
    tool("c", 4, "bash", error={"type": "timeout", "message": "late"}, completed="2026-01-01T00:00:09Z"),
    attachments={"0123456789abcdef0123456789abcdef": LONG},
)


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_damaged_log_is_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = HEADER | {"samples": [WHOLE, WHOLE | {"epoch": 2}]}
    path = tmp_path_factory.getbasetemp() / "damaged-inspect"
    path.write_bytes(json.dumps(data.draw(damaged([whole]))[0]).encode())
    read_whole(path, InspectAI())
    path.write_bytes(data.draw(spoilt(json.dumps(whole).encode())))
    read_whole(path, InspectAI())


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_damaged_archive_is_read_or_is_none(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = archive(tmp_path_factory.getbasetemp() / "damaged-archive", WHOLE)
    path.write_bytes(data.draw(spoilt(path.read_bytes())))
    try:
        trace = traces.load(path)
    except traces.TraceError:
        return
    assert all(isinstance(call.detail.result, str) for call in trace.calls)
    assert facts_of(trace, trace)["malformed"] == len(trace.problems)


def test_the_directory_of_an_archive_is_parsed_once_for_all_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "log.eval", *(sample(tool("c", 1, "bash"), id_=number) for number in range(40)))
    parsed = 0
    open_archive = zipfile.ZipFile.__init__

    def count(self: zipfile.ZipFile, *args: Any, **options: Any) -> None:
        nonlocal parsed
        parsed += 1
        open_archive(self, *args, **options)

    monkeypatch.setattr(zipfile.ZipFile, "__init__", count)
    trace = traces.load(path)
    assert [call.detail.result for call in trace.calls] == ["ok"] * 40
    assert parsed <= 6


def test_an_archive_that_is_replaced_is_read_again(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", sample(tool("c", 1, "bash")))
    trace = traces.load(path)
    archive(path, sample(tool("c", 1, "bash", result="another, longer result"), id_=2))
    trace.readings[0].source.forget()
    with pytest.raises(TraceError, match="not in the archive"):
        _ = trace.calls[0].detail


MESSAGES = [
    {"role": "system", "content": "You are careful."},
    {"role": "user", "content": "attachment://0123456789abcdef0123456789abcdef"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [{"id": "c", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}],
    },
    {"role": "tool", "content": "a.py", "tool_call_id": "c", "function": "bash"},
    {"role": "assistant", "content": "One file."},
]


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_a_sample_with_messages_and_without_events_has_their_steps(tmp_path: Path, suffix: str) -> None:
    record = sample(messages=MESSAGES, attachments={"0123456789abcdef0123456789abcdef": LONG})
    if suffix == ".eval":
        path = archive(tmp_path / "log.eval", record)
    else:
        path = tmp_path / "log.json"
        path.write_text(json.dumps({**HEADER, "samples": [record]}))
    trace = traces.load(path)
    assert [(one.kind, one.text.strip()) for one in trace.events] == [
        ("system", "You are careful."),
        ("user", LONG.strip()),
        ("assistant_text", "I look."),
        ("assistant_text", "One file."),
    ]
    [call] = trace.calls
    assert (call.name, call.answered, call.detail.args, call.detail.result) == (
        "bash",
        True,
        {"cmd": "ls"},
        "a.py",
    )


def test_events_in_a_transcript_are_read(tmp_path: Path) -> None:
    record = sample() | {"events": None, "transcript": {"events": [tool("c", 1, "bash")], "content": {}}}
    [call] = traces.load(archive(tmp_path / "log.eval", record)).calls
    assert (call.name, call.detail.result) == ("bash", "ok")
