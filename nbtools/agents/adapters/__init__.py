"""Adapters: a session's tools for other frameworks and SDKs.

The session validates, decides, approves and records each call.  A denial, with the person's reason, is the
result that the model reads.  Modules and their SDKs are loaded when their functions are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtools.agents.adapters.anthropic import answer_anthropic as answer_anthropic
    from nbtools.agents.adapters.anthropic import anthropic_tools as anthropic_tools
    from nbtools.agents.adapters.google import answer_google as answer_google
    from nbtools.agents.adapters.google import google_tools as google_tools
    from nbtools.agents.adapters.langchain import langchain_tools as langchain_tools
    from nbtools.agents.adapters.openai import answer_openai as answer_openai
    from nbtools.agents.adapters.openai import answer_openai_responses as answer_openai_responses
    from nbtools.agents.adapters.openai import openai_responses_tools as openai_responses_tools
    from nbtools.agents.adapters.openai import openai_tools as openai_tools
    from nbtools.agents.adapters.openai_agents import openai_agents_tools as openai_agents_tools

_FUNCTIONS = {
    "anthropic": "anthropic_tools answer_anthropic",
    "google": "google_tools answer_google",
    "langchain": "langchain_tools",
    "openai": "openai_tools answer_openai openai_responses_tools answer_openai_responses",
    "openai_agents": "openai_agents_tools",
}
_MODULE_OF = {name: home for home, names in _FUNCTIONS.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - tested to equal the imports above


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value
