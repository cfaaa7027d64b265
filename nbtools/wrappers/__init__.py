"""Wrappers that add caching, retries, limits, logging or approval to any tools;
each returns a toolset, so they compose.

>>> tools = logged(retrying(rate_limited(docs, 30, per=60)))
>>> session = Session(".", tools=[*builtin, *cached(tools.prefixed("docs_"), seconds=300).values()])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtools.wrappers.caching import cached as cached
    from nbtools.wrappers.lazy_loading import lazy as lazy
    from nbtools.wrappers.limits import rate_limited as rate_limited
    from nbtools.wrappers.retries import retrying as retrying
    from nbtools.wrappers.sequences import SoFar as SoFar
    from nbtools.wrappers.sequences import Step as Step
    from nbtools.wrappers.sequences import sequence as sequence
    from nbtools.wrappers.wrapper import WrapperInvocation as WrapperInvocation
    from nbtools.wrappers.wrapper import WrapperTool as WrapperTool
    from nbtools.wrappers.wrapper import approval_required as approval_required
    from nbtools.wrappers.wrapper import logged as logged
    from nbtools.wrappers.wrapper import time_limited as time_limited

_MODULES = {
    "SoFar": "sequences",
    "Step": "sequences",
    "WrapperInvocation": "wrapper",
    "WrapperTool": "wrapper",
    "approval_required": "wrapper",
    "cached": "caching",
    "lazy": "lazy_loading",
    "logged": "wrapper",
    "rate_limited": "limits",
    "retrying": "retries",
    "sequence": "sequences",
    "time_limited": "wrapper",
}

__all__ = sorted(_MODULES)  # noqa: PLE0605 - the imports above say the same to type checkers


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'nbtools.wrappers' has no attribute {name!r}")
    try:
        value = globals()[name] = getattr(import_module(f"nbtools.wrappers.{module}"), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'{name} needs {error.name}: pip install "nbtools-agent[wrappers]"', name=error.name
        ) from error
    return value
