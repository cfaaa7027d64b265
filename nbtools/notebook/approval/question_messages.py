"""Data model of an approval request in a front end, and of the messages that answer it.

``labextension/src/approval/model.ts`` is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StrictBool, StringConstraints

from nbtools.cards.card_model import Card, DiffBlock, Wire

MAX_TEXT = 25_000_000
"""Characters of an edited text: more than a file that can be read whole."""
MAX_REASON = 4_000
"""Characters of the reason of a denial."""
MAX_ANSWER = 100_000
"""Characters of the answer to one question of a form."""
MAX_PARTS = 10_000
"""Number of files, of hunks of a file, and of answers."""

Role: TypeAlias = Literal["once", "always", "folder", "server", "modify", "deny", "answers"]
"""What a button does: approve once; always allow the tool or programs, the folder, the server; modify; deny;
send a form's answers.
"""


class ButtonChoice(Wire):
    """One button of a question.  ``rules`` are what an "always allow" adds, ``covers`` says what they cover,
    ``tip`` is all of it.

    ``scope`` is what the label names: ``edit``, ``in src/``;
    empty for a whole MCP tool or server, and for the other buttons.
    """

    role: Role
    label: str
    scope: str = ""
    tip: str = ""
    covers: str = ""
    rules: tuple[str, ...] = ()


class FieldOption(Wire):
    """One choice of a form's question; ``value`` is the answer that it stands for."""

    value: str
    label: str
    description: str = ""


class FormField(Wire):
    """One question of a form.  Without options it takes a text;
    ``other`` says that a choice can also be answered with free text.
    """

    header: str
    text: str
    options: tuple[FieldOption, ...] = ()
    several: bool = False
    other: bool = False
    placeholder: str = ""
    default: str = ""
    optional: bool = False


class SelectableFile(Wire):
    """The parts of a file's change to choose from:
    its ``hunks``, if there are several, and with ``can_modify`` another text.
    """

    hunks: int = 0
    can_modify: bool = False


class QuestionData(Wire):
    """An open question as a front end draws it: its card, and the buttons or the form below it."""

    id: str
    card: Card
    choices: tuple[ButtonChoice, ...]
    fields: tuple[FormField, ...] = ()
    files: tuple[SelectableFile, ...] = ()
    """The files of the card's diffs, in their order, each of which can be taken or left out;
    none where it is all or nothing.
    """
    changes: DiffBlock | None = None
    """What the person has changed of the call since it was first asked about."""
    can_save: bool = True
    """Whether "always allow" can be remembered for the project; not in a temporary copy."""


class EditableText(Wire):
    """The text that *Modify* edits: of ``path``, now ``original``, ``proposed`` by the call.
    A command has one line and no original.
    """

    label: str
    path: str
    original: str
    proposed: str


class EditRequested(Wire):
    """A page's message to a question's widget:
    it wants the editable text, of the whole call or of one of its files.
    """

    question: str
    edit: Literal[True]
    file: Annotated[int, Field(strict=True, ge=0)] | None = None


class TakenFile(Wire):
    """The part of a file's change that is applied: none of it, or its chosen hunks.
    ``hunks`` is empty where it has no choice of them.
    """

    taken: StrictBool
    hunks: Annotated[tuple[StrictBool, ...], Field(max_length=MAX_PARTS)] = ()


class AnswerMessage(Wire):
    """A page's answer to a question.  Unknown fields, wrong types and texts that are too long are errors.

    ``files`` is what is taken of each file, with ``once`` and ``modify``;
    ``file`` is the number of the one that gets ``text``.
    """

    question: str = Field(max_length=100)
    outcome: Role
    reason: Annotated[str, StringConstraints(strict=True, max_length=MAX_REASON)] = ""
    text: Annotated[str, StringConstraints(strict=True, max_length=MAX_TEXT)] | None = None
    files: Annotated[tuple[TakenFile, ...], Field(max_length=MAX_PARTS)] | None = None
    file: Annotated[int, Field(strict=True, ge=0)] | None = None
    answers: (
        Annotated[
            tuple[Annotated[str, StringConstraints(strict=True, max_length=MAX_ANSWER)], ...],
            Field(max_length=MAX_PARTS),
        ]
        | None
    ) = None
    remember: StrictBool = False


class WidgetReply(Wire):
    """The kernel's message to a question's widget: the editable text, or why an answer was not accepted."""

    question: str
    editable: EditableText | None = None
    problem: str = ""
