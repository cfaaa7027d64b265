"""Google's Gen AI SDK against a server on loopback, with a session's tools."""

from __future__ import annotations

import base64
from typing import Any

from google import genai
from google.genai import types

from nbtools import Session
from nbtools.agents.adapters import answer_google, google_tools
from tests.agents.adapters.conftest import PIXEL, REASON
from tests.agents.scripted_http import provider


def content(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}]}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": arguments}}


async def test_generate_content(session: Session):
    script = [
        content(call("read", path="a.py"), call("read", path="pixel.png")),
        content(call("write", path="a.py", content="two = 2\n")),
        content({"text": "I leave it."}),
    ]
    said: list[Any] = [types.Content(role="user", parts=[types.Part(text="Change a.py")])]
    config = types.GenerateContentConfig(tools=[*google_tools(session)])
    with provider(*script) as server:
        options = types.HttpOptions(base_url=server.url)
        async with genai.Client(api_key="k", http_options=options).aio as client:
            while True:
                response = await client.models.generate_content(model="stub-1", contents=said, config=config)
                answers = await answer_google(session, response)
                if not answers:
                    break
                said += [response.candidates[0].content, *answers]
    assert response.text == "I leave it."
    text, picture = [part["functionResponse"] for part in server.asked[1]["contents"][-1]["parts"]]
    assert "one = 1" in text["response"]["output"]
    ((sent,),) = [part.values() for part in picture["parts"]]
    assert sent["mime_type"] == "image/png"
    assert base64.urlsafe_b64decode(sent["data"]) == base64.b64decode(PIXEL)
    (refused,) = server.asked[2]["contents"][-1]["parts"]
    assert REASON in refused["functionResponse"]["response"]["error"]
    declared = server.asked[0]["tools"][0]["functionDeclarations"][0]
    assert declared["name"] == "read"
    assert declared["parameters_json_schema"]["properties"]["path"]["type"] == "string"


async def test_a_recording_accompanies_the_responses(session: Session):
    (session.workspace.root / "a.wav").write_bytes(b"RIFF\x24\0\0\0WAVEfmt " + bytes(50))
    response = types.GenerateContentResponse.model_validate(
        content(call("read", path="a.wav"), call("read", path="a.py"))
    )
    (answer,) = await answer_google(session, response)
    wav, text, sound = answer.parts or []
    assert wav.function_response is not None
    assert wav.function_response.parts is None
    assert "audio/wav, 66 bytes" in str(wav.function_response.response)
    assert text.function_response is not None
    assert sound.inline_data is not None
    assert (sound.inline_data.mime_type, sound.inline_data.data) == (
        "audio/wav",
        (session.workspace.root / "a.wav").read_bytes(),
    )
