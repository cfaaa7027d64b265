"""Models that tools ask for a text."""

from __future__ import annotations

import base64
import subprocess
import sys

import pytest
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from nbtools import model_named
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.language_model import LanguageModel, TextRequest, Turn
from tests.agents.scripted_http import chat, provider

HELLO = TextRequest((Turn("user", "Hello"),))
PIXEL = base64.b64encode(b"\x89PNG").decode()


def stub(url: str) -> LanguageModel:
    import openai

    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
    return model_named(OpenAIChatModel("stub-1", provider=OpenAIProvider(openai_client=client)))


async def test_turns_instructions_and_settings_reach_the_model():
    heard: list[tuple[list[ModelMessage], AgentInfo]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        heard.append((messages, info))
        return ModelResponse([TextPart("Fine.")], finish_reason="length")

    model = model_named(FunctionModel(answer, model_name="scripted"))
    picture = {"inline_data": {"mime_type": "image/png", "data": PIXEL}}
    turns = (Turn("user", "Hello"), Turn("assistant", "Yes?"), Turn("user", ({"text": "See"}, picture)))
    written = await model.write(TextRequest(turns, "Be short.", max_tokens=9, temperature=0.5, stop=("END",)))
    assert (written.text, written.model, written.is_truncated) == ("Fine.", "scripted", True)
    assert isinstance(model, LanguageModel)
    assert model.name == "function:scripted"
    (first, second, third), info = heard[0]
    assert isinstance(first, ModelRequest)
    assert isinstance(second, ModelResponse)
    assert isinstance(third, ModelRequest)
    assert third.instructions == info.instructions == "Be short."
    assert second.text == "Yes?"
    asked = first.parts[0]
    assert isinstance(asked, UserPromptPart)
    assert asked.content == "Hello"  # not a list of parts, which some endpoints refuse
    part = third.parts[0]
    assert isinstance(part, UserPromptPart)
    assert part.content == ["See", BinaryContent(b"\x89PNG", media_type="image/png")]
    assert dict(info.model_settings or {}) == {"max_tokens": 9, "temperature": 0.5, "stop_sequences": ["END"]}


async def test_over_http():
    with provider(chat("Hi."), chat("Hi the", finish="length")) as server:
        model = stub(server.url)
        written = await model.write(TextRequest((Turn("user", "Hello"),), "Be short.", max_tokens=7))
        cut = await model.write(HELLO)
    assert (written.text, written.model, written.is_truncated) == ("Hi.", "stub-1", False)
    assert cut.is_truncated
    assert server.asked[0]["messages"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Hello"},
    ]
    assert server.asked[0]["max_completion_tokens"] == 7
    assert model.name == "openai:stub-1"


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        (
            (401, {"error": {"message": "Incorrect API key", "type": "x", "code": "invalid_api_key"}}),
            "permission_denied",
            "rejected the API key",
        ),
        (
            (404, {"error": {"message": "no such thing", "code": "model_not_found"}}),
            "execution_failed",
            "does not know this model",
        ),
        (
            (429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}),
            "execution_failed",
            "rate limit is reached",
        ),
        ((500, {"error": {"message": "it burns"}}), "execution_failed", "Provider message: it burns"),
        (chat(None, finish="content_filter"), "execution_failed", "refused to answer"),
    ],
)
async def test_an_error_of_a_provider_is_one_clear_line(reply, code, words):
    with provider(reply) as server, pytest.raises(ToolFailure, match=words) as raised:
        await stub(server.url).write(HELLO)
    assert raised.value.code == ErrorCode(code)
    assert raised.value.message.startswith("The model openai:stub-1: ")
    assert "\n" not in raised.value.message


async def test_a_server_that_is_not_there():
    with provider() as server:
        url = server.url
    with pytest.raises(ToolFailure, match="cannot be reached") as raised:
        await stub(url).write(HELLO)
    assert isinstance(raised.value.__cause__, ModelConnectionError)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "openai:gpt-5",
            r"The model openai:gpt-5 needs the environment variable OPENAI_API_KEY, which is not set",
        ),
        (
            "mistral:mistral-large",
            r'needs a package that is not installed: pip install "pydantic-ai-slim\[mistral\]"',
        ),
        ("nobody:x", r"The model 'nobody:x' does not exist"),
        ("gpt-5", r"The model 'gpt-5' does not exist. (Did you mean|Name it with its provider)"),
    ],
)
async def test_a_model_that_cannot_be_had(monkeypatch, name, words):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ToolFailure, match=words):
        await model_named(name).write(HELLO)


async def test_nothing_asked():
    with pytest.raises(ToolFailure, match="has no user turn"):
        await model_named("test").write(TextRequest(()))


async def test_a_bug_stays_a_bug():
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await model_named(FunctionModel(answer)).write(HELLO)


def test_naming_a_model_loads_no_library():
    code = "import sys, nbtools; nbtools.model_named('openai:gpt-5').name; print([n for n in ('pydantic_ai', 'openai') if n in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
