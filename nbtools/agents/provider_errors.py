"""Translates errors of model providers to failures with one line that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from nbtools.core.errors import ErrorCode, ToolFailure

_PIP = re.compile(r'pip install (?:--?\S+ )*("[^"]+"|[\w.\[\],-]+)')
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]+)` environment variable")
_SUGGESTION = re.compile(r"Did you mean '([^']+)'")
_LONGEST = 300
"""Maximum length of a provider's message, in characters."""


@contextmanager
def provider_failures(name: str) -> Iterator[None]:
    """Translates pydantic-ai's errors for the model ``name`` to ``ToolFailure``;
    other exceptions pass through.
    """
    try:
        yield
    except Exception as error:
        failure = provider_failure(error, name)
        if failure is None:
            raise
        raise failure from error


def provider_failure(error: Exception, name: str) -> ToolFailure | None:
    """Returns the failure for an error of the model ``name``; None for an exception that is a bug."""
    if isinstance(error, ImportError):
        return ToolFailure(ErrorCode.EXECUTION_FAILED, _not_installed(error, name))
    from pydantic_ai import exceptions  # noqa: PLC0415 - loaded already, because it raised

    if isinstance(error, exceptions.UserError):
        return ToolFailure(ErrorCode.EXECUTION_FAILED, _not_set_up(error, name))
    table: tuple[tuple[type[Exception], ErrorCode, str], ...] = (
        (
            exceptions.ModelAuthenticationError,
            ErrorCode.PERMISSION_DENIED,
            "its provider rejected the API key. Check the key and its permissions",
        ),
        (
            exceptions.ModelNotFoundError,
            ErrorCode.EXECUTION_FAILED,
            "its provider does not know this model. Check the name and the server's address",
        ),
        (
            exceptions.ModelContextWindowExceededError,
            ErrorCode.EXECUTION_FAILED,
            "the conversation is too long for it",
        ),
        (exceptions.ModelQuotaExceededError, ErrorCode.EXECUTION_FAILED, "the account's quota is used up"),
        (
            exceptions.ModelRateLimitError,
            ErrorCode.EXECUTION_FAILED,
            "its provider's rate limit is reached. Wait, then try again",
        ),
        (
            exceptions.ModelUnavailableError,
            ErrorCode.EXECUTION_FAILED,
            "its provider is overloaded. Wait, then try again",
        ),
        (exceptions.ModelTimeoutError, ErrorCode.TIMEOUT, "its provider did not answer in time"),
        (exceptions.ModelRequestTimeout, ErrorCode.TIMEOUT, "its provider did not answer in time"),
        (
            exceptions.ModelConnectionError,
            ErrorCode.EXECUTION_FAILED,
            "its provider cannot be reached. Is there a network, and is the server running?",
        ),
        (exceptions.ContentFilterError, ErrorCode.EXECUTION_FAILED, "it refused to answer"),
        (exceptions.AgentRunError, ErrorCode.EXECUTION_FAILED, "it gave no answer"),
        (exceptions.FallbackExceptionGroup, ErrorCode.EXECUTION_FAILED, "none of its models gave an answer"),
    )
    return next(
        (
            ToolFailure(code, _text(name, text, error))
            for kind, code, text in table
            if isinstance(error, kind)
        ),
        None,
    )


def refusal_failure(name: str) -> ToolFailure:
    return ToolFailure(ErrorCode.EXECUTION_FAILED, f"The model {name}: it refused to answer.")


def _not_installed(error: ImportError, name: str) -> str:
    if (error.name or "").partition(".")[0] == "pydantic_ai":
        return 'Models need pydantic-ai: pip install "nbtools-agent[agents]".'
    pip = _PIP.search(str(error))
    return (
        f"The model {name} needs a package that is not installed:"
        f" {f'pip install {pip[1]}' if pip else _first_line(str(error))}."
    )


def _not_set_up(error: Exception, name: str) -> str:
    variable = _VARIABLE.search(str(error))
    if variable:
        return (
            f"The model {name} needs the environment variable {variable[1]}, which is not set (a key, or a"
            " server's address)."
        )
    if str(error).startswith("Unknown model"):
        suggestion = _SUGGESTION.search(str(error))
        advice = (
            f"Did you mean {suggestion[1]}?"
            if suggestion
            else "Name it with its provider, such as openai:gpt-5."
        )
        return f"The model {name!r} does not exist. {advice}"
    return f"The model {name}: {_first_line(str(error))}"


def _text(name: str, what: str, error: Exception) -> str:
    if what.endswith("?"):
        return f"The model {name}: {what}"
    message = _provider_message(error)
    return f"The model {name}: {what}." + (f" Provider message: {message}" if message else "")


def _provider_message(error: Exception) -> str:
    """Returns the provider's message from its response's body, else the exception's."""
    body = getattr(error, "body", None)
    while isinstance(body, dict) and ("error" in body or "message" in body):
        body = body.get("error", body.get("message"))
    return _first_line(body if isinstance(body, str) and body else str(getattr(error, "message", error)))


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
