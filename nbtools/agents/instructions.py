"""What an agent is told beside the prompt: the person's instructions, where it works, and what the servers say of their tools."""

from __future__ import annotations

from nbtools.session import Session


def instructions_for(session: Session, own: str) -> str:
    """``own`` comes first."""
    names = ", ".join(session.tools.names())
    ours = (
        f"You work in the folder {session.workspace.root}; relative paths are of that folder. Your tools: {names}. "
        "A person watches: a call may be refused, with a reason, or changed before it runs, and then you are told. "
        "Take a refusal as it is meant, do not try the same in another way."
    )
    return "\n\n".join(part for part in (own.strip(), ours) if part)
