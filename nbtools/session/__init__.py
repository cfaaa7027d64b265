"""The session: composes workspace, tools, dialect, policy and scheduler, and runs tool calls."""

from nbtools.session.session import Session

__all__ = ["Session"]
