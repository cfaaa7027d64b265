"""Wrapper that caches the results of read-only calls."""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Mapping
from typing import Any

from cachetools import TTLCache
from pydantic import BaseModel

from nbtools.core.result import ToolResult
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, UpdateOutput
from nbtools.core.toolset import Toolset
from nbtools.workspace.files.stamps import stamp
from nbtools.wrappers.wrapper import Tools, WrapperTool, iterate_tools


class ResultCache:
    """The cached results of one toolset.

    ``changes`` counts the calls that may have invalidated them;
    a result computed during such a call is not stored.
    """

    def __init__(self, seconds: float, most: int) -> None:
        self.changes = 0
        self.results: TTLCache[Hashable, ToolResult] = TTLCache(most, seconds, timer=time.monotonic)

    def clear(self) -> None:
        self.changes += 1
        self.results.clear()


class CachedTool(WrapperTool):
    def __init__(self, tool: AnyToolBuilder, answers: ResultCache) -> None:
        super().__init__(tool)
        self._answers = answers

    async def run(self, invocation: AnyToolInvocation, update_output: UpdateOutput | None) -> ToolResult:
        if not self.kind_of(invocation).changes_nothing:
            return await self._change(invocation, update_output)
        key = _key(self.name, invocation)
        if key is None:
            return await invocation.execute(update_output)
        cached_result = self._answers.results.get(key)
        return (
            cached_result
            if cached_result is not None
            else await self._execute(key, invocation, update_output)
        )

    async def _change(self, invocation: AnyToolInvocation, update_output: UpdateOutput | None) -> ToolResult:
        self._answers.clear()
        try:
            return await invocation.execute(update_output)
        finally:
            self._answers.clear()

    async def _execute(
        self, key: Hashable, invocation: AnyToolInvocation, update_output: UpdateOutput | None
    ) -> ToolResult:
        before = self._answers.changes
        result = await invocation.execute(update_output)
        if result.ok and before == self._answers.changes and key == _key(self.name, invocation):
            self._answers.results[key] = result
        return result


def _key(tool: str, invocation: AnyToolInvocation) -> Hashable | None:
    """Returns a key of the call and its files' state;
    None where that is unknown, as a folder's stamp says nothing of its content.
    """
    stamps = [stamp(location.path) for location in invocation.tool_locations()]
    return None if None in stamps else (tool, _text(invocation.params), tuple(stamps))


def _text(params: BaseModel | Mapping[str, Any] | object) -> str:
    if isinstance(params, BaseModel):
        return params.model_dump_json()
    return json.dumps(params, sort_keys=True, default=repr)


def cached(tools: Tools, seconds: float = 60, *, most: int = 256) -> Toolset:
    """Returns the cached result of an identical call for ``seconds``; caches at most ``most`` results.

    Caches successful read-only calls whose locations are files, not folders.  A change to such a file, and
    any call through the same toolset that changes something, invalidates the cache; so wrap tools that write
    together with those that read.
    """
    answers = ResultCache(seconds, most)
    return Toolset(CachedTool(tool, answers) for tool in iterate_tools(tools))
