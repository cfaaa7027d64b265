"""Returns prompts as the person typed them."""

from __future__ import annotations

import re

_COMMAND = re.compile(r"<command-name>([^<]*+)</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]*+)</command-args>")
_CAVEAT = r"<local-command-caveat>(?:(?!</?local-command-caveat>).)*+</local-command-caveat>"
_TAGS = re.compile(rf"{_CAVEAT}|</?(?:command|local-command|bash)-[a-z]+>", re.DOTALL)


def typed_text(text: str) -> str:
    """Returns a prompt as a person typed it:
    Claude Code records a slash command as elements with its name, message and arguments.
    """
    if "<" not in text:
        return text.strip()
    if command := _COMMAND.search(text):
        arguments = _ARGUMENTS.search(text)
        return f"{command[1].strip()} {arguments[1].strip() if arguments else ''}".strip()
    return _TAGS.sub("", text).strip()
