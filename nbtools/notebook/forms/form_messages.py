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


class FormTool(Wire):
    """A tool in the list.  ``policy`` is what the policy does with its calls in general."""

    name: str
    icon: str
    kind: str
    about: str
    policy: str


class FormTools(Wire):
    """The tools of the session."""

    tools: tuple[FormTool, ...]


class FormParams(Wire):
    """Asks for the form of a tool."""

    tool: Annotated[str, StringConstraints(max_length=MAX_NAME)]


class ToolForm(Wire):
    """The form of a tool: a JSON Schema of plain keywords (see ``form_schema``)."""

    form: str


class CheckParams(Wire):
    """Asks what a call with a form's values, as JSON, would be."""

    tool: Annotated[str, StringConstraints(max_length=MAX_NAME)]
    values: Annotated[str, StringConstraints(max_length=MAX_ARGUMENTS)]


class CheckedCall(Wire):
    """The policy's decision on a call and its reason, and the cell that makes the call."""

    action: Literal["allow", "ask", "deny"]
    reason: str
    source: str


class RulesParams(Wire):
    """Asks for the cell that would allow calls such as the one with an id."""

    call: Annotated[str, StringConstraints(max_length=MAX_NAME)]


class RulesCell(Wire):
    """The cell that adds rules, and what they cover."""

    source: str
    reason: str
