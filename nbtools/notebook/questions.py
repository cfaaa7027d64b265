"""What a question shows, as blocks: the change, the command's parts, the server and its arguments, the text and its links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from nbtools.core.confirmation import (
    Question,
    ToolAskConfirmationDetails,
    ToolCallConfirmationDetails,
    ToolEditConfirmationDetails,
    ToolExecuteConfirmationDetails,
    ToolInfoConfirmationDetails,
    ToolMcpConfirmationDetails,
)
from nbtools.notebook.command_view import command_block
from nbtools.notebook.displays import changed_file, diff_blocks, text_block
from nbtools.notebook.rows import diff_block
from nbtools.notebook.visible import one_line, seen
from nbtools.notebook.wire import Block, QuestionBlock


def question_blocks(details: ToolCallConfirmationDetails, root: str, path: str = "") -> tuple[Block, ...]:
    """The blocks that show what would happen; ``root`` is the workspace's absolute path, ``path`` the changed file's in it."""
    match details:
        case ToolEditConfirmationDetails():
            return _changes(details, path)
        case ToolExecuteConfirmationDetails():
            return (*_note(details.note), command_block(details.command, details.directory, root, sandbox=details.sandbox))
        case ToolMcpConfirmationDetails():
            called = details.tool_display_name or details.tool_name
            name = called if called == details.tool_name else f"{called} ({one_line(details.tool_name)})"
            claims = (text_block(details.claims, tone="quiet"),) if details.claims else ()
            return (text_block(f"{name} on the server {details.server_name}"), *claims, text_block(_arguments(details)))
        case ToolInfoConfirmationDetails():
            return (text_block("\n".join([details.prompt, *details.urls])),)
        case ToolAskConfirmationDetails():
            return tuple(question_block(question) for question in _asked(details))


def _changes(details: ToolEditConfirmationDetails, path: str) -> tuple[Block, ...]:
    """What is worth knowing before the yes, and the diffs.  Of several, each is named as its file; ``path`` is what the call is about."""
    several = bool(details.others)
    name = details.file_name if several else changed_file(path, details.file_name)
    first = diff_block(name, details.original_content, details.new_content, titled=several, language=details.language)
    return (*_note(details.note), first, *diff_blocks(details.others))


def _note(note: str) -> tuple[Block, ...]:
    return (text_block(f"⚠ {note}", tone="warning"),) if note else ()


def _asked(details: ToolAskConfirmationDetails) -> tuple[Question, ...]:
    """The questions; the header of a single one stands in the card's head already."""
    alone = len(details.questions) == 1
    return tuple(replace(question, header="") for question in details.questions) if alone else details.questions


def answered_blocks(details: ToolAskConfirmationDetails, answers: Sequence[str]) -> tuple[Block, ...]:
    """The questions without their choices, each with what was answered."""
    pairs = zip_longest(_asked(details), answers[: len(details.questions)], fillvalue="")
    return tuple(question_block(replace(question, choices=()), answer) for question, answer in pairs if isinstance(question, Question))


def question_block(question: Question, answer: str = "") -> QuestionBlock:
    """A question, and the answer where there is one."""
    choices = tuple((one_line(choice.label), one_line(choice.description, 300)) for choice in question.choices)
    header, text, said = one_line(question.header), seen(question.text, keep="\t\n"), seen(answer, keep="\t\n")
    return QuestionBlock(header=header, text=text, choices=choices, several=question.several, answer=said)


def _arguments(details: ToolMcpConfirmationDetails) -> str:
    return json.dumps(dict(details.tool_args), indent=2, ensure_ascii=False, default=repr) if details.tool_args else "no arguments"


def question_subject(details: ToolCallConfirmationDetails, description: str) -> str:
    """The head's object while the body shows the thing itself."""
    if isinstance(details, ToolExecuteConfirmationDetails):
        where = "in the workspace" if details.directory in (".", "") else f"in {details.directory.rstrip('/')}/"
        return one_line(f"{where} · runs in {details.shell}" if details.shell else where)
    if isinstance(details, ToolAskConfirmationDetails):
        headers = [question.header for question in details.questions]
        return one_line(" · ".join(headers) if all(headers) else details.title)
    return one_line(description)


def fold_name(details: ToolCallConfirmationDetails) -> str:
    """The link that opens what was asked."""
    return {"edit": "show diff", "exec": "show command", "mcp": "show arguments", "info": "show question", "ask": "show questions"}[
        details.type
    ]
