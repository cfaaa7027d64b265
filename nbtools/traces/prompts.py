"""Returns prompts as the person typed them."""

from __future__ import annotations

import re

_COMMAND = re.compile(r"<command-name>\s*([^<]*?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>\s*([^<]*?)\s*</command-args>")
_TAGS = re.compile(r"<local-command-caveat>.*?</local-command-caveat>|</?(?:command|local-command|bash)-[a-z]+>", re.DOTALL)


def typed_text(text: str) -> str:
    """Returns a prompt as a person typed it: Claude Code records a slash command as elements with its name, message and arguments."""
    if command := _COMMAND.search(text):
        arguments = _ARGUMENTS.search(text)
        return f"{command[1]} {arguments[1] if arguments else ''}".strip()
    return _TAGS.sub("", text).strip()
