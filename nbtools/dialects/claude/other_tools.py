"""Claude Code's WebFetch, TodoWrite, AskUserQuestion and the tools for MCP resources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.dialects.claude.replies import ClaudeParams, reply
from nbtools.dialects.claude.tool_use_result import (
    AskUserQuestionResult,
    Todo,
    TodoWriteResult,
    WebFetchResult,
)
from nbtools.dialects.dialect_model import Arguments, ToolMapping
from nbtools.dialects.field_map import AgentField, FieldMap, expressible
from nbtools.dialects.mcp_names import LIST_RESOURCES, READ_RESOURCE
from nbtools.tools import todo
from nbtools.tools.ask import Answers, AskParams
from nbtools.tools.fetch import FetchData, FetchParams


class WebFetch(ClaudeParams):
    """Returns the page's own text; Claude Code has a small model answer ``prompt`` from it.

    A redirect to another host is not followed.
    In Claude Code that is a result, here it is an error; both name the address.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        FetchParams,
        urls=AgentField("url", lambda url: (url,), lambda urls: expressible(urls[0], len(urls) == 1)),
        lacks=("raw", "timeout", "limit"),
    )

    url: str
    """The page, beginning with https:// or http://."""
    prompt: str
    """What to find out from the page."""

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken = super().from_canonical(arguments)
        return None if spoken is None else {**spoken, "prompt": "What does the page say?"}

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, FetchData) or len(result.data.pages) != 1:
            return result
        page = result.data.pages[0]
        return reply(
            result,
            result.llm_content,
            WebFetchResult(bytes=page.bytes, code=page.status, result=page.text, url=page.final_url),
        )


TodoState = Literal["pending", "in_progress", "completed"]


class TodoParams(ParameterModel):
    """One to-do item."""

    content: Annotated[str, Field(min_length=1)]
    """The task in the imperative: Run the tests."""
    status: TodoState
    """The status of the task."""
    active_form: Annotated[str, Field(alias="activeForm", min_length=1)]
    """The task in the present continuous: Running the tests."""


class FormerTodoParams(ParameterModel):
    """A to-do item before version 2.0: with a priority and an id, without an active form."""

    content: Annotated[str, Field(min_length=1)]
    """The task."""
    status: TodoState
    """The status of the task."""
    priority: Literal["high", "medium", "low"] = "medium"
    """How urgent it is."""
    id: str = ""
    """A unique id."""


def _items(todos: Sequence[TodoParams | FormerTodoParams]) -> tuple[Arguments, ...]:
    return tuple({"text": todo.content, "status": todo.status} for todo in todos)


def _spoken_items(items: Sequence[Arguments]) -> list[Arguments]:
    values = [{"status": "pending", **item} for item in items]
    expressible(items, all(item["status"] in {"pending", "in_progress", "completed"} for item in values))
    return [
        {"content": item["text"], "status": item["status"], "activeForm": item["text"]} for item in values
    ]


class TodoWrite(ClaudeParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        todo.TodoParams, items=AgentField("todos", _items, _spoken_items)
    )
    names: ClassVar[Mapping[str, str]] = {"text": "content"}

    todos: tuple[TodoParams, ...]
    """The whole new list, in order."""

    def reply(self, result: ToolResult) -> ToolResult:
        new = tuple(
            Todo(content=todo.content, status=todo.status, active_form=todo.active_form)
            for todo in self.todos
        )
        return _written(result, new)


class FormerTodoWrite(ClaudeParams):
    one_way: ClassVar[bool] = True
    canonical: ClassVar[FieldMap] = FieldMap(todo.TodoParams, items=AgentField("todos", _items))
    names: ClassVar[Mapping[str, str]] = {"text": "content"}

    todos: tuple[FormerTodoParams, ...]
    """The whole new list, in order."""

    def reply(self, result: ToolResult) -> ToolResult:
        return _written(result, tuple(Todo(content=todo.content, status=todo.status) for todo in self.todos))


def _written(result: ToolResult, new: tuple[Todo, ...]) -> ToolResult:
    before = result.data.before if isinstance(result.data, todo.TodoData) else ()
    old = tuple(Todo(content=item.text, status=item.status) for item in before)
    text = (
        "Todos have been modified successfully. Ensure that you continue to use the todo list to track your"
        " progress. Please proceed with the current tasks if applicable"
    )
    return reply(result, text, TodoWriteResult(old_todos=old, new_todos=new))


class OptionParams(ParameterModel):
    """One answer to choose."""

    label: str
    """The answer, in a few words."""
    description: str = ""
    """What this answer means."""
    preview: str | None = None
    """A preview of this answer, such as a mock-up or code."""


class QuestionParams(ParameterModel):
    """One question."""

    question: str
    """The whole question, ending with a question mark."""
    header: Annotated[str, Field(max_length=12)]
    """The topic, in at most 12 characters."""
    options: Annotated[tuple[OptionParams, ...], Field(min_length=2, max_length=4)]
    """The answers to choose from; the person can always give another one."""
    several: Annotated[bool, Field(alias="multiSelect")] = False
    """Whether more than one may be chosen."""


def _canonical_questions(questions: tuple[QuestionParams, ...]) -> tuple[Arguments, ...]:
    texts = {question.question for question in questions}
    if len(texts) < len(questions):
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, "Question texts must be unique.")
    return tuple(map(_canonical, questions))


def _canonical(question: QuestionParams) -> Mapping[str, Any]:
    choices = tuple(
        {
            "label": option.label,
            "description": "\n".join(part for part in (option.description, option.preview) if part),
        }
        for option in question.options
    )
    return {
        "text": question.question,
        "header": question.header,
        "kind": "choice",
        "choices": choices,
        "several": question.several,
    }


def _spoken_questions(questions: Sequence[Arguments]) -> list[Arguments]:
    texts = {question["text"] for question in questions}
    expressible(questions, 0 < len(questions) == len(texts))
    return list(map(_spoken, questions))


def _spoken(question: Arguments) -> Arguments:
    values = {"header": "", "choices": (), "several": False, **question}
    expressible(values, values.get("kind") in {None, "choice"})
    expressible(values, not any(values.get(name) for name in ("placeholder", "default", "optional")))
    expressible(values, 2 <= len(values["choices"]) <= 4 and len(values["header"]) <= 12)
    options = [
        {"label": choice["label"], "description": choice.get("description", "")}
        for choice in values["choices"]
    ]
    return {
        "question": values["text"],
        "header": values["header"],
        "options": options,
        "multiSelect": values["several"],
    }


class AskUserQuestion(ClaudeParams):
    """Shows a preview below the description of its option."""

    canonical: ClassVar[FieldMap] = FieldMap(
        AskParams, questions=AgentField("questions", _canonical_questions, _spoken_questions)
    )
    names: ClassVar[Mapping[str, str]] = {"text": "question", "choices": "options", "several": "multiSelect"}

    questions: Annotated[tuple[QuestionParams, ...], Field(min_length=1, max_length=4)]
    """One to four questions."""

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, Answers):
            return result
        answers = dict(zip((item.question for item in self.questions), result.data.answers, strict=True))
        pairs = ", ".join(f'"{question}"="{answer}"' for question, answer in answers.items())
        data = AskUserQuestionResult(
            questions=tuple(item.model_dump(by_alias=True, exclude_none=True) for item in self.questions),
            answers=answers,
        )
        text = (
            f"User has answered your questions: {pairs}. You can now continue with the user's answers in"
            " mind."
        )
        return reply(result, text, data)


class ListMcpResources(ClaudeParams):
    canonical: ClassVar[FieldMap] = FieldMap(LIST_RESOURCES, server="server")
    server: str | None = None
    """Only those of this server."""

    def reply(self, result: ToolResult) -> ToolResult:
        resources = list(result.data) if isinstance(result.data, tuple) else []
        return reply(result, json.dumps(resources, ensure_ascii=False), resources) if resources else result


class ReadMcpResource(ClaudeParams):
    canonical: ClassVar[FieldMap] = FieldMap(READ_RESOURCE, uri="uri", server="server")
    server: str
    """The server that offers the resource."""
    uri: str
    """The URI of the resource."""

    def reply(self, result: ToolResult) -> ToolResult:
        """Returns texts as JSON; a result with images or documents is unchanged."""
        if isinstance(result.llm_content, str):
            return reply(result, json.dumps(result.data, ensure_ascii=False), result.data)
        return result


RESOURCES = (
    ToolMapping(
        "ListMcpResourcesTool",
        "list_mcp_resources",
        ListMcpResources,
        "Lists the resources of the connected MCP servers.",
    ),
    ToolMapping(
        "ReadMcpResourceTool",
        "read_mcp_resource",
        ReadMcpResource,
        "Reads a resource of a connected MCP server.",
    ),
)
