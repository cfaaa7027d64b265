"""Data model of the requests of the form *New call…* and of their answers.

``labextension/src/lab/model.ts`` is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from nbtools.cards.card_model import Wire

MAX_NAME = 200
"""Characters of a tool's name."""
MAX_ARGUMENTS = 2_000_000
"""Characters of a form's values as JSON."""


class FormRequest(Wire):
    """``tools`` asks for the list of tools, ``form`` for the schema of one,
    ``check`` what a call with these values would be.

    ``rules`` asks for the cell that would allow calls such as the one with the id ``tool``.
    """

    id: int
    verb: Literal["tools", "form", "check", "rules"]
    tool: Annotated[str, StringConstraints(max_length=MAX_NAME)] = ""
    values: Annotated[str, StringConstraints(max_length=MAX_ARGUMENTS)] = "{}"


class FormTool(Wire):
    """A tool in the list.  ``policy`` is what the policy does with its calls in general."""

    name: str
    icon: str
    kind: str
    about: str
    policy: str


class FormAnswer(Wire):
    """The answer to one request; fields that it does not concern are empty.

    ``form`` is a JSON Schema of plain keywords (see ``form_schema``).  ``action`` and ``reason`` are the
    policy's decision; ``source`` is the cell.  ``problem`` says what is missing or invalid; then there is no
    cell.
    """

    id: int
    tools: tuple[FormTool, ...] = ()
    form: str = ""
    action: Literal["", "allow", "ask", "deny"] = ""
    reason: str = ""
    source: str = ""
    problem: str = ""
