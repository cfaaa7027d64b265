"""A call as an agent makes it, what it means, what it does to the files,
and what the agent's model reads then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtools import Policy, Session
from nbtools.core.result import ToolResult


@dataclass(frozen=True)
class Case:
    """``before`` and ``after`` are files by path (None: there is none); ``{root}`` in texts is the workspace.

    ``reply`` is all that the model reads, ``parts`` are pieces of it that stand in this order.
    ``code``: the error's.
    """

    title: str
    name: str
    arguments: Mapping[str, Any]
    before: Mapping[str, str | bytes] = field(default_factory=dict)
    after: Mapping[str, str | bytes | None] = field(default_factory=dict)
    reply: str | None = None
    parts: Sequence[str] = ()
    absent: Sequence[str] = ()
    code: str = ""
    first: Sequence[tuple[str, Mapping[str, Any]]] = ()

    def __str__(self) -> str:
        return self.title


def text_of(result: ToolResult) -> str:
    if isinstance(result.llm_content, str):
        return result.llm_content
    return "\n".join(str(part.get("text", "")) for part in result.llm_content)


async def play(case: Case, dialect: str, root: Path, **options: Any) -> ToolResult:
    """Runs a case and checks all that it promises."""
    put(root, case.before)
    async with Session(root, dialect=dialect, policy=Policy(mode="yolo"), **options) as session:
        for name, arguments in case.first:
            assert (await session.call(name, arguments)).ok, name
        result = await session.call(case.name, filled(case.arguments, root))
    told = text_of(result)
    assert (result.error.code if result.error else "") == case.code, told
    if case.reply is not None:
        assert told == filled(case.reply, root)
    rest = told
    for part in case.parts:
        assert filled(part, root) in rest, f"{part!r} does not come next in {told!r}"
        rest = rest.partition(filled(part, root))[2]
    for part in case.absent:
        assert filled(part, root) not in told
    check(root, case.after)
    return result


def put(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def check(root: Path, files: Mapping[str, str | bytes | None]) -> None:
    for name, content in files.items():
        path = root / name
        if content is None:
            assert not path.exists(), name
        else:
            assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode()), name


def filled(value: Any, root: Path) -> Any:
    """``value`` with the workspace's path put in."""
    if isinstance(value, str):
        return value.replace("{root}", str(root))
    if isinstance(value, Mapping):
        return {key: filled(inner, root) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [filled(inner, root) for inner in value]
    return value
