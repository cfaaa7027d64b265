"""Every kind of content, from a server that runs: for the model, for the person, for the program."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from nbtools import Policy, Session
from nbtools.cards.blocks import blocks_of
from nbtools.cards.card_model import AudioBlock, Card, ImageBlock
from nbtools.cards.html import block_html
from nbtools.core.result import FileText, Markdown, Media, Several
from nbtools.core.schema.json_schema import convert_to_function_response
from nbtools.mcp.config.entries import parse_server
from nbtools.traces.display_json import display_from_json, display_to_json
from tests.mcp.content_server import WAV, png
from tests.mcp.watching import program

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    async with Session(tmp_path_factory.mktemp("work"), policy=Policy(mode="yolo")) as session:
        session.mcp.add([parse_server("content", program("content_server.py"), {})])
        await session.mcp.connect()
        yield session


async def test_a_model_reads_all_of_it_in_order(session: Session) -> None:
    result = await session.call("mcp__content__everything")
    assert isinstance(result.llm_content, tuple)
    message = [part.get("text") or part["inline_data"]["mime_type"] for part in result.llm_content]
    assert message == [
        "Here is all of it.",
        *["image/png"] * 3,
        "audio/x-wav",
        "docs://guide/intro.md\n# Intro\n\n**Begin** here.",
        "file:///src/cart.py\ndef total(): ...\n",
        "db://prices\nname,price\napple|pear,3\nplum,4\n",
        "memo://1\nonly text",
        "image/png",
        "[file:///a.bin: 5 bytes of application/octet-stream]",
        "[more](https://example.org/more): All the rest",
    ]


async def test_a_person_sees_and_hears_it(session: Session) -> None:
    shown = (await session.call("mcp__content__everything")).return_display
    assert isinstance(shown, Several)
    media = [one for one in shown.shown if isinstance(one, Media)]
    assert [one.mime_type for one in media] == [
        "image/png",
        "image/png",
        "audio/x-wav",
        "image/png",
        "application/octet-stream",
    ]
    assert media[0].data != media[1].data
    assert Markdown("# Intro\n\n**Begin** here.") in shown.shown
    assert FileText("cart.py", 1, ("def total(): ...",), 1) in shown.shown
    assert Markdown("| name | price |\n| --- | --- |\n| apple\\|pear | 3 |\n| plum | 4 |") in shown.shown
    assert "only text" in shown.shown
    assert "image/png: the data cannot be decoded (invalid base64)." in shown.shown
    assert "more: https://example.org/more (text/html · All the rest)" in shown.shown


async def test_a_card_shows_all_pictures_and_plays_the_sound(session: Session) -> None:
    blocks = blocks_of((await session.call("mcp__content__everything")).return_display)
    pictures = [block.data for block in blocks if isinstance(block, ImageBlock)]
    assert pictures == [png(0), png(255), png(128)]
    (sound,) = [block for block in blocks if isinstance(block, AudioBlock)]
    assert (sound.mime_type, sound.data) == ("audio/wav", WAV)
    card = Card(
        id="1", state="success", tool="t", icon="hammer", subject="", status="Done", root="", blocks=blocks
    )
    page = block_html(card, sound, "split")
    assert f'<audio controls preload="metadata" src="data:audio/wav;base64,{WAV}">' in page


async def test_displays_are_recorded_and_read_back(session: Session) -> None:
    shown = (await session.call("mcp__content__everything")).return_display
    assert isinstance(shown, Several)
    again = display_from_json(display_to_json(shown))
    assert isinstance(again, Several)
    assert again == shown
    assert display_from_json({"type": "Several", "shown": [{"type": "Unknown"}]}, "lost") == Several(
        ("lost",)
    )


async def test_structured_content_is_data_and_replaces_missing_text(session: Session) -> None:
    result = await session.call("mcp__content__structured")
    assert (result.data, result.llm_content) == ({"total": 3}, '{\n  "total": 3\n}')
    assert result.return_display == FileText("structured.json", 1, ("{", '  "total": 3', "}"), 3)


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        (
            "lies",
            "The result of lies does not match the output schema that content declares: total: 'three' is not of type 'integer'",
        ),
        (
            "nothing_structured",
            "nothing_structured does not match the output schema that content declares: it has no structured content",
        ),
    ],
)
async def test_an_answer_in_another_form_than_promised_is_an_error_in_one_line(
    session: Session, tool: str, message: str
) -> None:
    result = await session.call(f"mcp__content__{tool}")
    assert result.error is not None
    assert result.error.code == "mcp_tool_error"
    assert message in result.error.message
    assert "\n" not in result.error.message


async def test_an_error_of_the_tool_is_one(session: Session) -> None:
    result = await session.call("mcp__content__broken")
    assert result.error is not None
    assert (result.error.code, result.error.message, result.llm_content) == (
        "mcp_tool_error",
        "The disk is full.",
        "The disk is full.",
    )


async def test_a_long_answer_is_cut_like_every_tools(session: Session) -> None:
    result = await session.call("mcp__content__long")
    assert isinstance(result.llm_content, str)
    assert len(result.llm_content) < 41_000
    assert result.llm_content.startswith("line 0\n")
    assert result.llm_content.endswith("line 99999")
    path = result.llm_content.partition("full text in ")[2].partition("]")[0]
    assert "line 50000\n" in Path(path).read_text()


async def test_an_empty_answer_says_so(session: Session) -> None:
    result = await session.call("mcp__content__empty")
    assert (result.ok, result.llm_content, result.return_display) == (True, "(no output)", "")


async def test_providers_get_sounds_as_they_take_them(session: Session) -> None:
    result = await session.call("mcp__content__everything")
    back = convert_to_function_response("1", "t", result, "mcp")
    kinds = [block["type"] for block in back["content"]]
    assert kinds == [
        "text",
        "image",
        "image",
        "image",
        "audio",
        "text",
        "text",
        "text",
        "text",
        "image",
        "text",
        "text",
    ]
    anthropic = convert_to_function_response("1", "t", result, "anthropic")
    assert {
        "type": "text",
        "text": f"[a sound, audio/x-wav, {len(base64.b64decode(WAV))} bytes]",
    } in anthropic["content"]
