"""Replies name only tools and parameters that the model has, whatever it calls."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.core.schema.parameters import schema_of
from nbtools.dialects import Dialect, ToolMapping, dialect, dialect_names
from tests.dialects.laws import DIALECTS, MODELS
from tests.dialects.references import all_names, foreign_names, names_in, vocabulary, words_in
from tests.dialects.table import put, text_of
from tests.examples import examples

MAPPINGS = [
    pytest.param(agent, mapping, id=f"{agent.name}-{mapping.name}-{mapping.params.__name__}")
    for agent in DIALECTS
    for mapping in agent.mappings
]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "id": "c1", "source": "1", "metadata": {}, "outputs": [], "execution_count": null}], \
"metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)
FILES: Mapping[str, str | bytes] = {
    "alpha.txt": "zeta 1\nzeta 2\nzeta 2\nomega\n",
    "deep/beta.txt": "zeta\n" * 3_000,
    "deep/empty.txt": "",
    "raw.bin": b"\0\1\2\3" * 50,
    "dot.png": PNG,
    "pad.ipynb": NOTEBOOK,
    ".gitignore": "hidden.txt\n",
    "hidden.txt": "zeta\n",
    **{f"many/{number:04}.txt": "zeta\n" for number in range(620)},
}
TEXTS = (
    *(
        "alpha.txt",
        "deep",
        "deep/beta.txt",
        "deep/empty.txt",
        "raw.bin",
        "dot.png",
        "pad.ipynb",
        "many",
        "gone.txt",
        "alpha.tx",
        "../out",
        ".",
    ),
    *(
        "hidden.txt",
        "new.txt",
        "alpha.txt/x",
        "many/",
        "zeta",
        "zeta 2\n",
        "omega\n",
        "psi",
        "",
        " ",
        "a\0b",
        "(",
        "[",
        "z\\n",
        "**/*.txt",
        "{a",
    ),
    *(
        "1",
        "c1",
        "99",
        "1-5",
        "5-1",
        "https://127.0.0.1/",
        "*** Begin Patch\n*** Update File: alpha.txt\n@@\n-psi\n+chi\n*** End Patch\n",
    ),
    "<<<<<<< ORIGINAL\npsi\n=======\nchi\n>>>>>>> UPDATED\n",
    "<<<<<<< ORIGINAL\nzeta 2\n=======\nchi\n>>>>>>> UPDATED\n>>>>>>> UPDATED\n",
    "*** Begin Patch\n*** Delete File: gone.txt\n*** End Patch\n",
)
COMMANDS = ("true", "echo zeta", "exit 3", "seq 30000", "", "a\0b", "echo $API_KEY; false", "(")
NUMBERS = (-1, 0, 1, 2, 5, 99, 5_000, 10**7)
quickly = settings(
    max_examples=examples(20),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def values(schema: Mapping[str, Any], defs: Mapping[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    """Returns values of a parameter, most of them of its type."""
    if "$ref" in schema:
        return values(defs[schema["$ref"].rpartition("/")[2]], defs, name)
    if "anyOf" in schema:
        return st.one_of([values(one, defs, name) for one in schema["anyOf"]])
    if schema.get("type") == "object":
        return objects(schema, defs)
    if schema.get("type") == "array" and name != "command":
        return st.lists(values(schema.get("items", {}), defs, name), max_size=3)
    pools = {
        "string": COMMANDS if name in ("command", "cmd", "chars") else TEXTS,
        "integer": NUMBERS,
        "number": NUMBERS,
        "boolean": (True, False),
        "array": (["echo", "zeta"], ["false"], []),
    }
    choices = (
        schema.get("enum") or [schema["const"]]
        if "const" in schema or "enum" in schema
        else pools.get(schema.get("type", ""), (None,))
    )
    return st.sampled_from(choices)


def objects(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    properties = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if name in properties]
    fields = {name: values(one, defs, name) for name, one in properties.items()}
    return st.fixed_dictionaries(
        {name: fields[name] for name in required},
        optional={name: fields[name] for name in properties if name not in required},
    )


def calls_of(mapping: ToolMapping) -> st.SearchStrategy[dict[str, Any]]:
    """Returns arguments of the declared shape;
    some lack a parameter or have a wrong type or an unknown name.
    """
    schema = schema_of(mapping.params)
    right = objects(schema, schema.get("$defs", {}))
    names = sorted(schema.get("properties", {})) or ["nothing"]
    wrong = st.tuples(right, st.sampled_from(names), st.sampled_from([[], {}, 1.5, "x", None, True])).map(
        lambda drawn: {**drawn[0], drawn[1]: drawn[2]}
    )
    lacking = st.tuples(right, st.sampled_from(names)).map(
        lambda drawn: {key: value for key, value in drawn[0].items() if key != drawn[1]}
    )
    unknown = right.map(lambda drawn: {**drawn, "surplus": 1})
    return st.one_of(right, right, right, wrong, lacking, unknown)


def own_words(text: str, root: Path, arguments: Any) -> str:
    """Returns the reply without what the call and the files contain."""
    for part in sorted({*map(str, _texts(arguments)), str(root), NOTEBOOK}, key=len, reverse=True):
        if len(part) > 1:
            text = text.replace(part, "⟨⟩").replace(repr(part)[1:-1], "⟨⟩")
    return text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("agent", "mapping"), MAPPINGS)
def test_replies_name_what_the_model_has(tmp_path: Path, agent: Dialect, mapping: ToolMapping) -> None:
    put(tmp_path, FILES)
    own = {
        mapping.name,
        *(
            name
            for one in agent.by_name[mapping.name]
            for name in (*names_in(one.params), *words_in(one.params))
        ),
    }
    if mapping.name in MODELS:  # a former name that is canonical, too: canonical parameters are accepted
        own |= names_in(MODELS[mapping.name])
    loop = asyncio.new_event_loop()

    @quickly
    @given(arguments=calls_of(mapping))
    def check(arguments: dict[str, Any]) -> None:
        result = loop.run_until_complete(asyncio.wait_for(session.call(mapping.name, arguments), 60))
        texts = [text_of(result), result.summary or "", result.error.message if result.error else ""]
        for text in texts:
            foreign = foreign_names(own_words(text, tmp_path, arguments), agent, own)
            assert not foreign, f"{foreign} in: {text}"

    session = Session(tmp_path, dialect=agent.name, policy=Policy(mode="yolo"))
    try:
        loop.run_until_complete(session.__aenter__())
        check()
    finally:
        loop.run_until_complete(session.close())
        loop.close()


@pytest.mark.parametrize(("agent", "mapping"), [one for one in MAPPINGS if not one.values[1].former])
async def test_a_missing_parameter_is_named(tmp_path: Path, agent: Dialect, mapping: ToolMapping) -> None:
    required = schema_of(mapping.params).get("required", ())
    async with Session(tmp_path, dialect=agent.name, policy=Policy(mode="yolo")) as session:
        result = await session.call(mapping.name, {})
    assert not required or any(re.search(rf"\b{re.escape(name)}\b", text_of(result)) for name in required), (
        text_of(result)
    )


def test_the_names_are_found_where_messages_name_them() -> None:
    gemini = dialect("gemini")
    for text in (
        "It is a file. Use ls to see it.",
        "[1–2 of 9; offset=1000 returns the next page]",
        "items.0.text should have at least 1 character",
        "read: end (3) is before start (5).",
        "pattern: bad. To search for literal text, set fixed.",
        "Read it with shell_output.",
        "Read a range of its lines (start, end).",
        "the `new_source` is missing",
    ):
        assert foreign_names(text, gemini), text
    assert foreign_names("Read the file first, then edit it. The path is a folder.", gemini) == set()
    assert {"run_shell_command", "dir_path"} <= vocabulary(gemini)
    assert {"Bash", "offset", "apply_patch", "uri"} <= all_names()
    assert set(dialect_names()) - {"nbtools"} == {agent.name for agent in DIALECTS}
