"""The outcome of each scenario of the suite, and why where that is not *passed*.
``docs/mcp.md`` has the same table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expected:
    """``failing``: the checks that fail, or warn, by their names; none: the scenario passes.

    ``refused``: the client may end without a connection.
    """

    failing: tuple[str, ...] = ()
    why: str = ""
    refused: bool = False


_PASSED = Expected()
_REFUSED = Expected(refused=True)
CLIENT: dict[str, Expected] = {
    "initialize": _PASSED,
    "tools_call": _PASSED,
    "elicitation-sep1034-client-defaults": _PASSED,
    "sse-retry": _PASSED,
    "auth/metadata-default": _PASSED,
    "auth/metadata-var1": _PASSED,
    "auth/metadata-var2": _PASSED,
    "auth/metadata-var3": _PASSED,
    "auth/basic-cimd": Expected(
        ("cimd-client-id-used",),
        "Only warned of: nbtools has no address on the web that describes it, and registers itself instead.",
    ),
    "auth/scope-from-www-authenticate": _PASSED,
    "auth/scope-from-scopes-supported": _PASSED,
    "auth/scope-omitted-when-undefined": _PASSED,
    "auth/scope-step-up": _PASSED,
    "auth/scope-retry-limit": _REFUSED,
    "auth/token-endpoint-auth-basic": _PASSED,
    "auth/token-endpoint-auth-post": _PASSED,
    "auth/token-endpoint-auth-none": _PASSED,
    "auth/pre-registration": _PASSED,
    "auth/2025-03-26-oauth-metadata-backcompat": Expected(
        ("client-registration", "authorization-request", "token-request"),
        "The suite's service says that it is another one (`…/oauth`) than the one that was asked; the SDK refuses that, as RFC 8414 wants.",
    ),
    "auth/2025-03-26-oauth-endpoint-fallback": _PASSED,
    "auth/resource-mismatch": _REFUSED,
    "auth/offline-access-scope": _PASSED,
    "auth/offline-access-not-supported": _PASSED,
    "auth/client-credentials-jwt": _PASSED,
    "auth/client-credentials-basic": _PASSED,
    "auth/cross-app-access-complete-flow": Expected(
        ("complete-flow-token-exchange", "complete-flow-jwt-bearer"),
        "Logins by way of an enterprise's identity provider are not there.",
    ),
}

_ASKS = "What must be asked is asked in the notebook, not by way of the client."
_LOGS = "Logging is not offered."
_READS = "Resources are not offered."
_PROMPTS = "Prompts are not offered."
NOT_SERVED: dict[str, str] = {
    "logging-set-level": _LOGS,
    "completion-complete": "Completion is not offered.",
    "tools-call-with-logging": _LOGS,
    "tools-call-sampling": _ASKS,
    "tools-call-elicitation": _ASKS,
    "elicitation-sep1034-defaults": _ASKS,
    "server-sse-polling": "No answer is kept for a client that has lost its connection.",
    "elicitation-sep1330-enums": _ASKS,
    "resources-list": _READS,
    "resources-read-text": _READS,
    "resources-read-binary": _READS,
    "resources-templates-read": _READS,
    "resources-subscribe": _READS,
    "resources-unsubscribe": _READS,
    "prompts-list": _PROMPTS,
    "prompts-get-simple": _PROMPTS,
    "prompts-get-with-args": _PROMPTS,
    "prompts-get-embedded-resource": _PROMPTS,
    "prompts-get-with-image": _PROMPTS,
}
"""Scenarios for servers that have nothing to try here; those that pass stand in ``test_server.py``."""
