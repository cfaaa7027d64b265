"""Audio and video that are read reach the models that accept them; others get a description."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.agents.toolset import content_of
from nbtools.core.schema.json_schema import convert_to_function_response, recording_parts

FILES = {
    "a.mp3": (b"ID3\x04\0\0\0\0\0\0" + b"\0" * 50, "audio/mpeg"),
    "a.wav": (b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 50, "audio/wav"),
    "a.mp4": (b"\0\0\0\x18ftypisom" + b"\0" * 50, "video/mp4"),
    "a.webm": (b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm" + b"\0" * 50, "video/webm"),
    "wrong name.txt": (b"fLaC\0\0\0\x22" + b"\0" * 50, "audio/flac"),
}


def session(root: Path, dialect: str) -> Session:
    for name, (data, _) in FILES.items():
        (root / name).write_bytes(data)
    return Session(root, dialect=dialect, policy=Policy(mode="yolo"))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("dialect", "tool", "arguments"),
    [
        ("gemini", "read_file", lambda name: {"file_path": name}),
        ("gemini", "read_many_files", lambda name: {"include": [name]}),
        ("nbtools", "read", lambda name: {"path": name}),
    ],
)
async def test_a_recording_is_a_part(
    dialect: str, tool: str, arguments: object, name: str, tmp_path: Path
) -> None:
    data, mime = FILES[name]
    async with session(tmp_path, dialect) as open_session:
        result = await open_session.call(tool, arguments(name))  # type: ignore[operator]
    assert result.ok
    encoded = base64.b64encode(data).decode()
    assert isinstance(result.llm_content, tuple)
    assert {"inline_data": {"mime_type": mime, "data": encoded}} in result.llm_content
    note = f"{mime}, {len(data)} bytes]"
    response = convert_to_function_response("1", tool, result, "gemini")["functionResponse"]
    assert "parts" not in response
    assert note in response["response"]["output"]
    assert recording_parts(result) == [{"inlineData": {"mimeType": mime, "data": encoded}}]
    assert any(
        note in block.get("text", "")
        for block in convert_to_function_response("1", tool, result, "anthropic")["content"]
    )
    assert note in convert_to_function_response("1", tool, result, "openai")["content"]
    kinds = {block["type"] for block in convert_to_function_response("1", tool, result, "mcp")["content"]}
    assert ("audio" if mime.startswith("audio/") else "resource") in kinds
    assert any(getattr(part, "media_type", "") == mime for part in content_of(result, recordings=True))
    assert all(isinstance(part, str) for part in content_of(result))


@pytest.mark.parametrize(
    ("dialect", "tool", "argument"), [("claude", "Read", "file_path"), ("void", "read_file", "uri")]
)
async def test_agents_without_media_get_an_error_that_it_is_not_text(
    dialect: str, tool: str, argument: str, tmp_path: Path
) -> None:
    async with session(tmp_path, dialect) as open_session:
        result = await open_session.call(tool, {argument: str(tmp_path / "a.mp3")})
    assert isinstance(result.llm_content, str)
    assert result.return_display is not None


async def test_only_recordings_that_are_named_are_read_with_others(tmp_path: Path) -> None:
    async with session(tmp_path, "gemini") as open_session:
        for include, count in ((["*.mp3"], 1), (["*"], 0), (["a.wav", "*.webm"], 2)):
            result = await open_session.call("read_many_files", {"include": include})
            parts = result.llm_content if isinstance(result.llm_content, tuple) else ()
            assert sum("inline_data" in part for part in parts) == count


async def test_a_picture_stays_in_the_response(tmp_path: Path) -> None:
    png = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    async with session(tmp_path, "gemini") as open_session:
        (tmp_path / "a.png").write_bytes(png)
        result = await open_session.call("read_file", {"file_path": "a.png"})
    response = convert_to_function_response("1", "read_file", result, "gemini")["functionResponse"]
    assert [part["inlineData"]["mimeType"] for part in response["parts"]] == ["image/png"]
    assert recording_parts(result) == []
