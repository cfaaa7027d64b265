"""Requests that Claude Code records as it sends them are read only where they are understood completely."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.traces import ContextPart, Trace
from nbtools.traces.readers.claude_code import api_requests
from tests.traces.readers.test_claude_code import SESSION, ask, prompt, reply, result, text, write

Record = dict[str, Any]
Change = Callable[[list[Record]], None]
SYSTEM = [text("You are an agent."), text("Be careful.")]
TOOLS = [{"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object"}}]
REMINDER = "<system-reminder>\nToday is Monday.\n</system-reminder>"


def hash_of(value: Any) -> str:
    """The name of a value, computed in another way than by the reader."""
    data = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(data.encode()).hexdigest()


def shape(system: Any = SYSTEM, tools: Any = TOOLS) -> Record:
    found = {"system": system, "tools": tools}
    return {"type": "api-request-shape", "sessionId": SESSION, "shapeHash": hash_of(found), "shape": found}


def blob(*content: Any, role: str = "user") -> Record:
    message = {"role": role, "content": list(content)}
    return {"type": "api-request-blob", "sessionId": SESSION, "hash": hash_of(message), "message": message}


def answer(*blocks: Any) -> str:
    return hash_of({"role": "assistant", "content": list(blocks)})


def request(name: str, shaped: Record, *tail: str, base: str = "", keep: int = 0, **rest: Any) -> Record:
    return {
        "type": "api-request",
        "sessionId": SESSION,
        "id": name,
        "shapeHash": shaped["shapeHash"],
        "params": {"model": "claude-x", "max_tokens": 100},
        "thread": {"type": "none"},
        "keep": keep,
        "tail": list(tail),
        **({"base": base} if base else {}),
        **rest,
    }


def used(size: int, output: int = 10) -> Record:
    return {"input_tokens": size, "output_tokens": output}


def session() -> list[Record]:
    """Two requests, of which the second has the answer to the first, and a result with a reminder."""
    said, called = text("I look."), ask("t1", command="ls")
    first = blob(text(REMINDER), text("Do it"))
    second = blob(
        {"type": "tool_result", "tool_use_id": "t1", "content": [text("a.py"), text(REMINDER)]},
        {"type": "image", "source": {"type": "base64", "data": "…"}},
    )
    fixed = shape()
    return [
        prompt("a", None),
        fixed,
        first,
        request("r1", fixed, first["hash"]),
        reply("b", "a", said, key="m1", usage=used(400), requestRef="r1"),
        reply("c", "b", called, key="m1", usage=used(400), requestRef="r1"),
        result("d", "c", "t1", "a.py"),
        second,
        request("r2", fixed, answer(said, called), second["hash"], base="r1", keep=1),
        reply("e", "d", text("Done."), key="m2", usage=used(500), requestRef="r2"),
    ]


def load(folder: Path, records: list[Record]) -> Trace:
    return traces.load(write(folder / f"{SESSION}.jsonl", records))


def in_context(parts: list[ContextPart]) -> list[tuple[Any, ...]]:
    return [(one.part, one.name, one.characters, one.requests) for one in parts]


def test_the_parts_are_those_that_were_sent(tmp_path: Path) -> None:
    trace = load(tmp_path, session())
    parts = [*trace.context]
    assert in_context(parts) == [
        ("prompt", "", len("You are an agent.Be careful."), 2),
        ("tools", "Bash", len(json.dumps(TOOLS[0], separators=(",", ":"))), 2),
        ("system", "", len(REMINDER), 2),
        ("person", "", len("Do it"), 2),
        ("text", "", len("I look."), 1),
        ("arguments", "Bash", len('{"command":"ls"}'), 1),
        ("command", "ls", len("a.py") + len(REMINDER), 1),
        ("attachment", "", None, 1),
        ("text", "", len("Done."), 0),
    ]
    assert all(one.proven for one in parts)
    (call,) = trace.calls
    assert {one.call for one in parts} == {"", call.id}
    person = next(one for one in parts if one.part == "person")
    assert trace.events[0].seq == person.seq
    first = [one.tokens_estimate or 0 for one in parts[:4]]
    assert sum(first) <= 400
    assert min(first) > 0
    second = parts[4:8]
    assert sum(one.tokens_estimate or 0 for one in second) <= 100
    assert second[-1].tokens_estimate is None  # an image
    columns = trace.sql("select part, proven, tokens_estimate from context order by part").fetchall()
    assert {row[1] for row in columns} == {True}
    assert {row[2] for row in columns} == {one.tokens_estimate for one in parts}


def test_messages_that_a_request_leaves_out_end_there(tmp_path: Path) -> None:
    records = session()
    third, fixed = blob(text("Summary so far"), text("Go on")), shape(tools=[*TOOLS, {"name": "Read"}])
    fourth = blob(text("And now?"))
    records += [
        prompt("f", "e", "Go on"),
        fixed,
        third,
        request("r3", fixed, third["hash"], base="r2", keep=0),
        reply("g", "f", text("Yes."), key="m3", usage=used(300), requestRef="r3"),
        fourth,
        request("side", fixed, fourth["hash"]),
        request("r4", fixed, answer(text("Yes.")), fourth["hash"], base="r3", keep=1),
        reply("h", "g", text("Here."), key="m4", usage=used(330), requestRef="r4"),
    ]
    parts = in_context([*load(tmp_path, records).context])
    assert [one[3] for one in parts if one[0] == "prompt"] == [2, 2]
    assert [(one[1], one[3]) for one in parts if one[0] == "tools"] == [("Bash", 2), ("Bash", 2), ("Read", 2)]
    assert [one[3] for one in parts if one[0] == "person"] == [2, 2]
    assert [one[2:] for one in parts if one[0] == "system"][-2:] == [(14, 2), (8, 1)]


def _other_text(records: list[Record]) -> None:
    records[2]["message"]["content"][1]["text"] = "Do it!"


def _missing_blob(records: list[Record]) -> None:
    del records[7]


def _other_answer(records: list[Record]) -> None:
    records[4]["message"]["content"][0]["text"] = "I looked."


def _unknown_parameter(records: list[Record]) -> None:
    records[3]["params"]["mcp_servers"] = [{"name": "x"}]


def _unknown_field(records: list[Record]) -> None:
    records[8]["more_messages"] = []


def _stored_conversation(records: list[Record]) -> None:
    records[8]["thread"] = {"type": "stored", "id": "x"}


def _unknown_shape(records: list[Record]) -> None:
    found = {"system": SYSTEM, "tools": TOOLS, "instructions": "Also this."}
    records[1] |= {"shape": found, "shapeHash": hash_of(found)}
    records[3]["shapeHash"] = records[8]["shapeHash"] = hash_of(found)


def _unknown_block(records: list[Record]) -> None:
    other = blob(text("Do it"), {"type": "search_result", "content": "…"})
    records[2] = other
    records[3]["tail"] = [other["hash"]]


def _unknown_parameters(records: list[Record]) -> None:
    records[8]["params"] = 7


def _schema_of_the_output(records: list[Record]) -> None:
    records[8]["params"]["output_config"] = {"effort": "high", "format": {"type": "json_schema"}}


def _one_answer_to_two_requests(records: list[Record]) -> None:
    records[9]["message"]["id"] = "m1"


def _request_named_late(records: list[Record]) -> None:
    del records[4]["requestRef"]


def _block_without_a_name(records: list[Record]) -> None:
    other = blob({"type": "server_tool_use", "": "x"}, role="assistant")
    records.insert(8, other)
    records[9]["tail"].append(other["hash"])


def _one_without_a_request(records: list[Record]) -> None:
    del records[9]["requestRef"]


@pytest.mark.parametrize(
    "change",
    [
        *(_other_text, _missing_blob, _other_answer, _unknown_parameter, _unknown_field),
        *(_stored_conversation, _unknown_shape, _unknown_block, _one_without_a_request),
        *(_unknown_parameters, _schema_of_the_output, _one_answer_to_two_requests, _request_named_late),
        _block_without_a_name,
    ],
)
def test_nothing_is_proven_where_anything_is_missing_or_unknown(tmp_path: Path, change: Change) -> None:
    records = session()
    change(records)
    parts = [*load(tmp_path, records).context]
    assert not any(one.proven for one in parts)
    assert [one.part for one in parts][:2] == ["unlogged", "person"]


@pytest.mark.parametrize(
    "broken",
    [
        {"keep": -1},
        {"keep": 10**9, "base": "r1"},
        {"keep": "1"},
        {"tail": None},
        {"tail": [1, None]},
        {"base": "r9"},
        {"base": "r2"},
        {"id": None},
        {"shapeHash": 5},
        {"params": 7},
    ],
)
def test_a_broken_request_is_not_one(tmp_path: Path, broken: Record) -> None:
    records = session()
    records[8] |= broken
    trace = load(tmp_path, records)
    assert len(trace.calls) == 1
    assert not any(one.proven for one in trace.context)


def test_the_growth_of_a_request_that_leaves_something_out_bounds_nothing(tmp_path: Path) -> None:
    fixed, asked = shape(tools=[{"name": "Read", "description": "x" * 20_000}]), blob(text("y" * 9000))
    records = [
        *session(),
        prompt("f", "e", "y" * 9000),
        fixed,
        asked,
        request("r3", fixed, asked["hash"]),
        reply("g", "f", text("Yes."), key="m3", usage=used(520), requestRef="r3"),
    ]
    added = [one for one in load(tmp_path, records).context if one.proven][-4:-1]
    assert [(one.part, one.characters) for one in added] == [
        ("prompt", 28),
        ("tools", 20_032),
        ("person", 9000),
    ]
    assert {(one.tokens_min, one.tokens_max, one.tokens_estimate) for one in added} == {(None, None, None)}


def test_each_text_of_a_message_is_the_persons(tmp_path: Path) -> None:
    records = session()
    records[0]["message"]["content"] = [text("See this"), text("Do it")]
    records[2] = blob(text(REMINDER), text("See this"), text("Do it"))
    records[3]["tail"] = [records[2]["hash"]]
    trace = load(tmp_path, records)
    assert [one.characters for one in trace.context if one.part == "person"] == [8, 5]
    assert {one.seq for one in trace.context if one.part == "person"} == {trace.events[0].seq}


def test_answers_are_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = shape()
    records = [*session()[:5], *(request(f"x{number}", fixed, "unknown") for number in range(500))]
    sizes: list[int] = []
    monkeypatch.setattr(api_requests, "hash_of", lambda value: sizes.append(1) or hash_of(value))
    load(tmp_path, records)
    assert 0 < len(sizes) < 20


def test_a_log_that_grows_is_proven_as_one_that_is_read_at_once(tmp_path: Path) -> None:
    records = session()
    path = write(tmp_path / f"{SESSION}.jsonl", records[:7])
    trace = traces.load(path)
    assert [one.part for one in trace.context if one.proven][:2] == ["prompt", "tools"]
    write(path, records)
    trace.update()
    assert in_context([*trace.context]) == in_context([*traces.load(path).context])


def test_many_requests_take_time_in_proportion(tmp_path: Path) -> None:
    fixed, first = shape(), blob(text("Do it"))
    records: list[Record] = [prompt("a", None), fixed, first, request("r0", fixed, first["hash"])]
    records.append(reply("b0", "a", text("0"), key="m0", usage=used(100), requestRef="r0"))
    for number in range(1, 2000):
        told = blob(text(f"Go on {number}"))
        said = answer(text(str(number - 1)))
        base = f"r{number - 1}"
        records += [
            told,
            request(f"r{number}", fixed, said, told["hash"], base=base, keep=2 * number - 1),
            reply(
                f"b{number}",
                f"b{number - 1}",
                text(str(number)),
                key=f"m{number}",
                usage=used(100 + number),
                requestRef=f"r{number}",
            ),
        ]
    parts = [*load(tmp_path, records).context]
    assert all(one.proven for one in parts)
    assert sum(one.requests or 0 for one in parts if one.part == "system") == sum(range(2000))
