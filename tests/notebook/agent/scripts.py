"""A model whose every turn is written down, to be defined in a notebook."""

from __future__ import annotations

PLAYING = '''
import asyncio, pathlib
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel

def playing(*turns):
    """A model that has these turns, each a list: a text, ("think", text), (tool, arguments as JSON), or ("until", file) to wait for."""
    left = list(turns)

    async def stream(messages, info):
        for at, piece in enumerate(left.pop(0)):
            match piece:
                case str():
                    size = max(12, len(piece) // 100)  # a long text takes a second too
                    for start in range(0, len(piece), size):
                        yield piece[start : start + size]
                        await asyncio.sleep(0.01)
                case ("until", file):
                    while not pathlib.Path(file).exists():
                        await asyncio.sleep(0.02)
                case ("think", text):
                    yield {at: DeltaThinkingPart(content=text)}
                case (name, arguments):
                    yield {at: DeltaToolCall(name=name, json_args=arguments, tool_call_id=f"call-{len(left)}-{at}")}

    return FunctionModel(stream_function=stream, model_name="demo")

def told():
    """What the model read of its last calls."""
    parts = [part for message in agent.messages for part in message.parts if part.part_kind in ("tool-return", "retry-prompt")]
    return str(parts[-1].content)
'''
EDIT = """("edit", '{"path": "notes.txt", "old": "two", "new": "2"}')"""
