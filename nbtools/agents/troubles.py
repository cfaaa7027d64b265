"""What keeps a model from answering, each in one clear line that says what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure

_PIP = re.compile(r'pip install (?:--?\S+ )*("[^"]+"|[\w.\[\],-]+)')
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]+)` environment variable")
_MEANT = re.compile(r"Did you mean '([^']+)'")
_LONGEST = 300
"""Characters of what a provider says that are told on."""

Words: TypeAlias = Callable[[Exception, str], tuple[ErrorCode, str]]


@contextmanager
def in_one_line(name: str) -> Iterator[None]:
    """Raises ``ToolFailure`` for what pydantic-ai raises where the model ``name`` cannot be had, or does not answer."""
    try:
        yield
    except Exception as error:
        failure = trouble(error, name)
        if failure is None:
            raise
        raise failure from error


def trouble(error: Exception, name: str) -> ToolFailure | None:
    """``error``, raised by pydantic-ai for the model ``name``, in a line; None for what is no trouble of a model's but a bug."""
    if isinstance(error, ImportError):
        return ToolFailure(ErrorCode.EXECUTION_FAILED, _not_installed(error, name))
    from pydantic_ai import exceptions as its  # noqa: PLC0415 - loaded already, by whoever raised

    if isinstance(error, its.UserError):
        return ToolFailure(ErrorCode.EXECUTION_FAILED, _not_set_up(error, name))
    table: tuple[tuple[type[Exception], ErrorCode, str], ...] = (
        (its.ModelAuthenticationError, ErrorCode.PERMISSION_DENIED, "its provider does not take the key. Check it, and what it is for"),
        (its.ModelNotFoundError, ErrorCode.EXECUTION_FAILED, "its provider knows no such model. Check the name and the address"),
        (its.ModelContextWindowExceededError, ErrorCode.EXECUTION_FAILED, "what it was given to read is too long for it"),
        (its.ModelQuotaExceededError, ErrorCode.EXECUTION_FAILED, "the account has nothing left to spend"),
        (its.ModelRateLimitError, ErrorCode.EXECUTION_FAILED, "its provider wants fewer requests. Wait, then try again"),
        (its.ModelUnavailableError, ErrorCode.EXECUTION_FAILED, "its provider has no room just now. Wait, then try again"),
        (its.ModelTimeoutError, ErrorCode.TIMEOUT, "its provider did not answer in time"),
        (its.ModelRequestTimeout, ErrorCode.TIMEOUT, "its provider did not answer in time"),
        (
            its.ModelConnectionError,
            ErrorCode.EXECUTION_FAILED,
            "its provider cannot be reached. Is the network there, is the server running?",
        ),
        (its.ContentFilterError, ErrorCode.EXECUTION_FAILED, "it refuses to answer this"),
        (its.AgentRunError, ErrorCode.EXECUTION_FAILED, "it gave no answer"),
        (its.FallbackExceptionGroup, ErrorCode.EXECUTION_FAILED, "none of its models gave an answer"),
    )
    return next((ToolFailure(code, _line(name, what, error)) for kind, code, what in table if isinstance(error, kind)), None)


def refusal(name: str) -> ToolFailure:
    return ToolFailure(ErrorCode.EXECUTION_FAILED, f"The model {name}: it refuses to answer this.")


def _not_installed(error: ImportError, name: str) -> str:
    if (error.name or "").partition(".")[0] == "pydantic_ai":
        return 'Models need pydantic-ai: pip install "nbtools-agent[agents]".'
    pip = _PIP.search(str(error))
    return f"The model {name} needs a package that is not installed: {f'pip install {pip[1]}' if pip else _first(str(error))}."


def _not_set_up(error: Exception, name: str) -> str:
    variable = _VARIABLE.search(str(error))
    if variable:
        return f"The model {name} needs the environment variable {variable[1]}, which is not set (a key, or a server's address)."
    if str(error).startswith("Unknown model"):
        meant = _MEANT.search(str(error))
        advice = f"Did you mean {meant[1]}?" if meant else "Name it with its provider, such as openai:gpt-5."
        return f"There is no model {name!r}. {advice}"
    return f"The model {name}: {_first(str(error))}"


def _line(name: str, what: str, error: Exception) -> str:
    said = _said(error)
    return f"The model {name}: {what}.{f' It says: {said}' if said else ''}" if not what.endswith("?") else f"The model {name}: {what}"


def _said(error: Exception) -> str:
    """The provider's own words, out of the body of its answer where there is one."""
    body = getattr(error, "body", None)
    while isinstance(body, dict) and ("error" in body or "message" in body):
        body = body.get("error", body.get("message"))
    return _first(body if isinstance(body, str) and body else str(getattr(error, "message", error)))


def _first(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
