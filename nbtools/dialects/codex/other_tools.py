"""Codex's tools for plans, images, questions and MCP resources, and former ones for files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.result import FileText, ToolResult
from nbtools.core.schema.documented_model import DocumentedModel
from nbtools.dialects.codex.replies import CodexParams, error_reply, reply
from nbtools.dialects.dialect_model import Arguments, ToolMapping
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, expressible, optional
from nbtools.dialects.mcp_names import LIST_RESOURCES, READ_RESOURCE
from nbtools.tools.ask import Answers, AskParams
from nbtools.tools.grep import GrepData, GrepParams
from nbtools.tools.read import ReadParams
from nbtools.tools.todo import TodoData, TodoParams

_MAX_LINE = 500
_MAX_FILES = 2_000


class Part(DocumentedModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class PlanItem(Part):
    step: str
    """The step."""
    status: Literal["pending", "in_progress", "completed"]
    """The status of the step; at most one is in_progress."""


def _items(plan: Sequence[PlanItem]) -> tuple[Arguments, ...]:
    return tuple({"text": item.step, "status": item.status} for item in plan)


def _steps(items: Sequence[Arguments]) -> list[Arguments]:
    steps: list[Arguments] = [
        {"step": item["text"], "status": item.get("status", "pending")} for item in items
    ]
    known = all(step["status"] in {"pending", "in_progress", "completed"} for step in steps)
    return expressible(steps, known)


class UpdatePlan(CodexParams):
    canonical: ClassVar[FieldMap] = FieldMap(TodoParams, items=AgentField("plan", _items, _steps))
    names: ClassVar[Mapping[str, str]] = {"text": "step"}

    explanation: str | None = None
    """Why the plan changes, for the person."""
    plan: tuple[PlanItem, ...]
    """The whole list of steps; it replaces the previous one."""

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(result, "Plan updated") if isinstance(result.data, TodoData) else result


class ViewImage(CodexParams):
    """Returns the picture alone; other files are refused, although the canonical tool reads them."""

    canonical: ClassVar[FieldMap] = FieldMap(ReadParams, path="path", lacks=("start", "end", "pages"))

    path: str
    """The image file."""
    detail: Literal["original"] | None = None
    """Has no effect: the picture is passed in its own size."""

    def reply(self, result: ToolResult) -> ToolResult:
        parts = result.llm_content if isinstance(result.llm_content, tuple) else ()
        pictures = tuple(
            part
            for part in parts
            if str(part.get("inline_data", {}).get("mime_type", "")).startswith("image/")
        )
        if pictures:
            return reply(result, pictures)
        text = f"unable to process image at `{self.absolute(self.path)}`: it is not a picture"
        return error_reply(ToolError(ErrorCode.INVALID_TOOL_PARAMS, text), text)

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        path = self.absolute(self.path)
        match error.code:
            case ErrorCode.FILE_NOT_FOUND:
                return error_reply(error, f"unable to locate image at `{path}`: {error.message}", result.data)
            case ErrorCode.TARGET_IS_DIRECTORY:
                return error_reply(error, f"image path `{path}` is not a file", result.data)
            case _:
                return super().failure(result, error)


class Option(Part):
    label: str
    """One to five words."""
    description: str = ""
    """What this option means."""


class Question(Part):
    id: str
    """The key of the answer."""
    header: str = ""
    """A heading of at most twelve characters."""
    question: str
    """The question."""
    options: Annotated[tuple[Option, ...], Field(min_length=1)]
    """Two or three answers to choose from; the person can always give another one."""

    def to_canonical(self) -> Arguments:
        choices = tuple({"label": option.label, "description": option.description} for option in self.options)
        return {"text": self.question, "header": self.header, "kind": "choice", "choices": choices}


class RequestUserInput(CodexParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        AskParams,
        questions=AgentField(
            "questions",
            lambda questions: tuple(question.to_canonical() for question in questions),
            lambda questions: [_to_codex(f"q{number}", one) for number, one in enumerate(questions, 1)],
        ),
    )
    names: ClassVar[Mapping[str, str]] = {"text": "question", "choices": "options"}

    questions: Annotated[tuple[Question, ...], Field(min_length=1, max_length=4)]
    """One to three questions."""

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, Answers):
            return result
        pairs = zip(self.questions, result.data.answers, strict=True)
        answers = {question.id: {"answers": [text] if text else []} for question, text in pairs}
        return reply(result, json.dumps({"answers": answers}, ensure_ascii=False, separators=(",", ":")))


def _to_codex(key: str, question: Arguments) -> Arguments:
    """Converts a question that is a plain choice."""
    is_choice = question.get("choices") and question.get("kind") in {None, "choice"}
    more = any(question.get(name) for name in ("several", "placeholder", "default", "optional"))
    expressible(question, is_choice and not more)
    return {
        "id": key,
        "header": question.get("header", ""),
        "question": question["text"],
        "options": question["choices"],
    }


class ListMcpResources(CodexParams):
    canonical: ClassVar[FieldMap] = FieldMap(LIST_RESOURCES, server="server")
    server: str | None = None
    """Only resources of this server."""
    cursor: str | None = None
    """Has no effect: all resources are listed at once."""


class ReadMcpResource(CodexParams):
    canonical: ClassVar[FieldMap] = FieldMap(READ_RESOURCE, server="server", uri="uri")
    server: str
    """The server that lists the resource."""
    uri: str
    """The URI of the resource, from list_mcp_resources."""


class ReadFile(CodexParams):
    """An experiment, which current versions no longer declare."""

    file_path: str
    """The file to read."""
    offset: Annotated[int, Field(ge=1)] = 1
    """The first line to return, counted from 1."""
    limit: Annotated[int, Field(ge=1)] = 2_000
    """The most lines to return."""
    mode: Literal["slice", "indentation"] = "slice"
    """Lines from offset on; the block around a line by its indentation is not supported."""

    def to_canonical(self) -> Arguments:
        if self.mode != "slice":
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                'mode "indentation" is not supported. Read lines with offset and limit.',
            )
        return {"path": self.file_path, "start": self.offset, "end": self.offset + self.limit - 1}

    def reply(self, result: ToolResult) -> ToolResult:
        text = result.return_display
        if not isinstance(text, FileText):
            return result
        return reply(
            result,
            "\n".join(f"L{number}: {line[:_MAX_LINE]}" for number, line in enumerate(text.lines, text.start)),
        )


class GrepFiles(CodexParams):
    """An experiment, as ``read_file``."""

    one_way: ClassVar[bool] = True
    canonical: ClassVar[FieldMap] = FieldMap(
        GrepParams,
        pattern="pattern",
        path=optional("path"),
        glob=optional("include"),
        mode=Fixed("files"),
        order=Fixed("changed"),
        limit=AgentField("limit", lambda limit: min(limit, _MAX_FILES)),
    )
    pattern: str
    """The regular expression to look for."""
    include: str | None = None
    """A glob of the files to search."""
    path: str | None = None
    """The folder or file to search; the workspace by default."""
    limit: Annotated[int, Field(ge=1)] = 100
    """The most files to return, at most 2000."""

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GrepData):
            return result
        files = list(result.data.counts)
        most = min(self.limit, _MAX_FILES)
        more = [f"({len(files) - most} more files match)"] if len(files) > most else []
        return reply(result, "\n".join([*map(self.absolute, files[:most]), *more]) or "No matches found.")


FILES = (
    ToolMapping("read_file", "read", ReadFile, former=True),
    ToolMapping("grep_files", "grep", GrepFiles, former=True),
)
OTHERS = (
    ToolMapping(
        "update_plan",
        "todo",
        UpdatePlan,
        "Replaces the plan: a list of steps with the status of each, and optionally an explanation.",
    ),
    ToolMapping("view_image", "read", ViewImage, "Returns an image file for you to look at.", special=True),
    ToolMapping(
        "request_user_input",
        "ask",
        RequestUserInput,
        "Asks the person one to three questions with answers to choose from.",
    ),
)
RESOURCES = (
    ToolMapping(
        "list_mcp_resources",
        "list_mcp_resources",
        ListMcpResources,
        "Lists the resources of the connected MCP servers.",
    ),
    ToolMapping(
        "read_mcp_resource",
        "read_mcp_resource",
        ReadMcpResource,
        "Reads a resource of a connected MCP server by its URI.",
    ),
)
