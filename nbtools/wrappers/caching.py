"""Wrapper that caches the results of read-only calls."""

from __future__ import annotations

import json
import time
from collections.abc import Hashable

from cachetools import TTLCache
from pydantic import BaseModel

from nbtools.core.result import ToolResult
from nbtools.core.tool import AnyToolInvocation
from nbtools.core.toolset import Toolset
from nbtools.workspace.files.stamps import stamp
from nbtools.wrappers.wrapper import Execute, Tools, WrapperTool, wrap_calls


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

    async def run(self, tool: WrapperTool, invocation: AnyToolInvocation, execute: Execute) -> ToolResult:
        if not tool.kind_of(invocation).changes_nothing:
            # Before and after: a call that reads meanwhile must not store what it saw in between.
            self.clear()
            try:
                return await execute()
            finally:
                self.clear()
        key, before = _key(tool.name, invocation), self.changes
        if key is None:
            return await execute()
        result = self.results.get(key)
        if result is None:
            result = await execute()
            if result.ok and before == self.changes and key == _key(tool.name, invocation):
                self.results[key] = result
        return result


def _key(tool: str, invocation: AnyToolInvocation) -> Hashable | None:
    """Returns a key of the call and its files' state;
    None where that is unknown, as a folder's stamp says nothing of its content.
    """
    stamps = [stamp(location.path) for location in invocation.tool_locations()]
    if None in stamps:
        return None
    params = invocation.params
    if isinstance(params, BaseModel):
        return tool, params.model_dump_json(), tuple(stamps)
    return tool, json.dumps(params, sort_keys=True, default=repr), tuple(stamps)


def cached(tools: Tools, seconds: float = 60, *, most: int = 256) -> Toolset:
    """Returns the cached result of an identical call for ``seconds``; caches at most ``most`` results.

    Caches successful read-only calls whose locations are files, not folders.  A change to such a file, and
    any call through the same toolset that changes something, invalidates the cache; so wrap tools that write
    together with those that read.
    """
    return wrap_calls(tools, ResultCache(seconds, most).run)
