"""WebFetch, TodoWrite and AskUserQuestion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.dialects.arguments import given
from nbtools.dialects.claude.replies import ClaudeParams, reply
from nbtools.dialects.claude.structured import Answered, Todo, TodosWritten, WebFetched
from nbtools.tools.ask import Answers
from nbtools.tools.fetch import Fetched
from nbtools.tools.todo import TodoData


class WebFetch(ClaudeParams):
    """The reply is the page's own text: there is no small model here to answer ``prompt`` from it, and a longer text loses less.

    A redirect to another host is not followed, as in Claude Code; there it is a result, here it is an error, which names the address too.
    """

    url: str
    """The page, beginning with https:// or http://."""
    prompt: str
    """What is wanted of the page."""

    def canonical(self) -> Mapping[str, Any]:
        return {"urls": (self.url,)}

    @classmethod
    def spoken(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        said = given(arguments, {"urls": (), "raw": False, "timeout": 30, "limit": 250_000})
        if said is None or len(said["urls"]) != 1 or said["raw"] or said["timeout"] != 30 or said["limit"] != 250_000:
            return None
        return {"url": said["urls"][0], "prompt": "What does the page say?"}

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, Fetched) or len(result.data.pages) != 1:
            return result
        page = result.data.pages[0]
        return reply(result, result.llm_content, WebFetched(bytes=page.bytes, code=page.status, result=page.text, url=page.final_url))


TodoState = Literal["pending", "in_progress", "completed"]


class TodoParams(BaseModel):
    """One thing to be done."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    content: Annotated[str, Field(min_length=1)]
    """What is to be done, as an instruction: Run the tests."""
    status: TodoState
    """How far it is."""
    active_form: Annotated[str, Field(alias="activeForm", min_length=1)]
    """The same while it is being done: Running the tests."""


class FormerTodoParams(BaseModel):
    """As it was before 2.0: with a priority and an id, and no active form."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    content: Annotated[str, Field(min_length=1)]
    """What is to be done."""
    status: TodoState
    """How far it is."""
    priority: Literal["high", "medium", "low"] = "medium"
    """How urgent it is."""
    id: str = ""
    """Something to tell it from the others."""


class TodoWrite(ClaudeParams):
    todos: tuple[TodoParams, ...]
    """The whole list as it shall be, in order."""

    def canonical(self) -> Mapping[str, Any]:
        return {"items": tuple({"text": todo.content, "status": todo.status} for todo in self.todos)}

    @classmethod
    def spoken(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        said = given(arguments, {"items": None})
        if said is None or said["items"] is None:
            return None
        items = [{"status": "pending", **item} for item in said["items"]]
        if any(item["status"] not in {"pending", "in_progress", "completed"} for item in items):
            return None
        return {"todos": [{"content": item["text"], "status": item["status"], "activeForm": item["text"]} for item in items]}

    def reply(self, result: ToolResult) -> ToolResult:
        new = tuple(Todo(content=todo.content, status=todo.status, active_form=todo.active_form) for todo in self.todos)
        return _written(result, new)


class FormerTodoWrite(ClaudeParams):
    todos: tuple[FormerTodoParams, ...]
    """The whole list as it shall be, in order."""

    def canonical(self) -> Mapping[str, Any]:
        return {"items": tuple({"text": todo.content, "status": todo.status} for todo in self.todos)}

    def reply(self, result: ToolResult) -> ToolResult:
        return _written(result, tuple(Todo(content=todo.content, status=todo.status) for todo in self.todos))


def _written(result: ToolResult, new: tuple[Todo, ...]) -> ToolResult:
    before = result.data.before if isinstance(result.data, TodoData) else ()
    old = tuple(Todo(content=item.text, status=item.status) for item in before)
    said = (
        "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. "
        "Please proceed with the current tasks if applicable"
    )
    return reply(result, said, TodosWritten(old_todos=old, new_todos=new))


class OptionParams(BaseModel):
    """One of the answers to choose from."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    label: str
    """The answer in a few words."""
    description: str = ""
    """What choosing it means."""
    preview: str | None = None
    """Something to look at while choosing: a sketch, a piece of code."""


class QuestionParams(BaseModel):
    """One question."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    question: str
    """The whole question, ending with a question mark."""
    header: Annotated[str, Field(max_length=12)]
    """What it is about, in one or two words of at most 12 characters."""
    options: Annotated[tuple[OptionParams, ...], Field(min_length=2, max_length=4)]
    """The answers to choose from; one in other words can always be given."""
    several: Annotated[bool, Field(alias="multiSelect")] = False
    """Whether more than one may be chosen."""


class AskUserQuestion(ClaudeParams):
    """A preview is shown below the description of its option."""

    questions: Annotated[tuple[QuestionParams, ...], Field(min_length=1, max_length=4)]
    """One to four questions."""

    def canonical(self) -> Mapping[str, Any]:
        texts = [one.question for one in self.questions]
        if len(set(texts)) < len(texts):
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, "Question texts must be unique.")
        return {"questions": tuple(map(_canonical, self.questions))}

    @classmethod
    def spoken(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        said = given(arguments, {"questions": ()})
        if said is None or len({one["text"] for one in said["questions"]}) < len(said["questions"]):
            return None
        questions = [_spoken(one) for one in said["questions"]]
        return None if not questions or None in questions else {"questions": questions}

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, Answers):
            return result
        answers = dict(zip((one.question for one in self.questions), result.data.answers, strict=True))
        told = ", ".join(f'"{question}"="{answer}"' for question, answer in answers.items())
        data = Answered(questions=tuple(one.model_dump(by_alias=True, exclude_none=True) for one in self.questions), answers=answers)
        said = f"User has answered your questions: {told}. You can now continue with the user's answers in mind."
        return reply(result, said, data)


def _canonical(question: QuestionParams) -> Mapping[str, Any]:
    choices = tuple(
        {"label": one.label, "description": "\n".join(part for part in (one.description, one.preview) if part)} for one in question.options
    )
    return {"text": question.question, "header": question.header, "kind": "choice", "choices": choices, "several": question.several}


def _spoken(question: Mapping[str, Any]) -> Mapping[str, Any] | None:
    said = given(question, {"text": "", "header": "", "kind": "choice", "choices": (), "several": False, "placeholder": ""})
    if said is None or said["kind"] != "choice" or said["placeholder"] or not 2 <= len(said["choices"]) <= 4 or len(said["header"]) > 12:
        return None
    options = [{"label": one["label"], "description": one.get("description", "")} for one in said["choices"]]
    return {"question": said["text"], "header": said["header"], "options": options, "multiSelect": said["several"]}
