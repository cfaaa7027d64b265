"""Converts the details of an approval request into the blocks of its card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from nbtools.cards.blocks import changed_file, diff_blocks, text_block
from nbtools.cards.card_model import Block, DiffBlock, QuestionBlock
from nbtools.cards.diff_rows import diff_block
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.confirmation import (
    FileParts,
    Question,
    ToolAskConfirmationDetails,
    ToolCallConfirmationDetails,
    ToolEditConfirmationDetails,
    ToolExecuteConfirmationDetails,
    ToolInfoConfirmationDetails,
    ToolMcpConfirmationDetails,
)


def question_blocks(details: ToolCallConfirmationDetails, root: str, path: str = "") -> tuple[Block, ...]:
    """Returns the blocks that show what the call would do.
    ``root`` is the workspace's absolute path, ``path`` the changed file in it.
    """
    match details:
        case ToolEditConfirmationDetails():
            return _changes(details, path)
        case ToolExecuteConfirmationDetails():
            from nbtools.cards.command_block import (  # noqa: PLC0415 - it loads the tables of programs
                command_blocks,
            )

            return (
                *_note(details.note),
                *command_blocks(details.command, details.directory, root, sandbox=details.sandbox),
            )
        case ToolMcpConfirmationDetails():
            label = details.tool_display_name or details.tool_name
            name = label if label == details.tool_name else f"{label} ({one_line(details.tool_name)})"
            claims = (text_block(details.claims, tone="quiet"),) if details.claims else ()
            arguments = "no arguments"
            if details.tool_args:
                arguments = json.dumps(dict(details.tool_args), indent=2, ensure_ascii=False, default=repr)
            title = text_block(f"{name} on the server {details.server_name}")
            return (title, *claims, text_block(arguments))
        case ToolInfoConfirmationDetails():
            return (text_block("\n".join([details.prompt, *details.urls])),)
        case ToolAskConfirmationDetails():
            return tuple(question_block(question) for question in _questions(details))


def _changes(details: ToolEditConfirmationDetails, path: str) -> tuple[Block, ...]:
    """Returns the note and the diffs of a change; several diffs have their file names as titles.
    ``path`` is the file of the call.
    """
    several = bool(details.others)
    name = details.file_name if several else changed_file(path, details.file_name)
    first = diff_block(
        name, details.original_content, details.new_content, titled=several, language=details.language
    )
    diffs = [first, *diff_blocks(details.others)]
    blocks = [_with_action(block, part) for block, part in zip(diffs, details.parts, strict=False)]
    return (*_note(details.note), *blocks, *diffs[len(blocks) :])


def _with_action(block: Block, part: FileParts) -> Block:
    """Returns the diff with what becomes of the file,
    and with its path as title where it does not stay where it is.
    """
    if not isinstance(block, DiffBlock) or part.action not in ("delete", "move"):
        return block
    return block.model_copy(
        update={"deleted": part.action == "delete", "former": seen(part.former), "titled": True}
    )


def _note(note: str) -> tuple[Block, ...]:
    return (text_block(f"⚠ {note}", tone="warning"),) if note else ()


def _questions(details: ToolAskConfirmationDetails) -> tuple[Question, ...]:
    """Returns the questions; a single one loses its header, which the card's head shows already."""
    if len(details.questions) != 1:
        return details.questions
    return (replace(details.questions[0], header=""),)


def answered_blocks(details: ToolAskConfirmationDetails, answers: Sequence[str]) -> tuple[Block, ...]:
    """Returns the questions with their answers, without the choices."""
    pairs = zip_longest(_questions(details), answers[: len(details.questions)], fillvalue="")
    return tuple(
        question_block(replace(question, choices=()), answer)
        for question, answer in pairs
        if isinstance(question, Question)
    )


def question_block(question: Question, answer: str = "") -> QuestionBlock:
    """Returns a block with a question and, where there is one, its answer."""
    choices = tuple(
        (one_line(choice.label), one_line(choice.description, 300)) for choice in question.choices
    )
    return QuestionBlock(
        header=one_line(question.header),
        text=seen(question.text, keep="\t\n"),
        choices=choices,
        several=question.several,
        answer=seen(answer, keep="\t\n"),
    )


IN_WORKSPACE = "in the workspace"
"""Where a command runs, if not in a folder of the workspace."""


def question_subject(details: ToolCallConfirmationDetails, description: str) -> str:
    """Returns the subject for the head of a question:
    where a command runs, or the headers of the questions.
    """
    if isinstance(details, ToolExecuteConfirmationDetails):
        where = IN_WORKSPACE if details.directory in (".", "") else f"in {details.directory.rstrip('/')}/"
        return one_line(f"{where} · runs in {details.shell}" if details.shell else where)
    if isinstance(details, ToolAskConfirmationDetails):
        headers = [question.header for question in details.questions]
        return one_line(" · ".join(headers) if all(headers) else details.title)
    return one_line(description)


def fold_name(details: ToolCallConfirmationDetails) -> str:
    """Returns the label of the link that unfolds the question."""
    return {
        "edit": "show diff",
        "exec": "show command",
        "mcp": "show arguments",
        "info": "show question",
        "ask": "show questions",
    }[details.type]
