"""A session's tools for other frameworks and SDKs.  A module here is loaded when its function is first used, and only then its SDK.

Every call goes the session's way: validated, judged, asked with its cards, recorded.  A refusal, with the person's reason, is what the
model reads in place of a result.
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

_HOMES = {
    "anthropic": "anthropic_tools answer_anthropic",
    "google": "google_tools answer_google",
    "langchain": "langchain_tools",
    "openai": "openai_tools answer_openai openai_responses_tools answer_openai_responses",
    "openai_agents": "openai_agents_tools",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - tested to equal the imports above


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
