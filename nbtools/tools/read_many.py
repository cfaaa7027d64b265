"""The `read_many` tool: reads several files in one call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from pydantic import Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter, SameCall, ToolName, counted, in_brackets, joined
from nbtools.core.result import LlmContent, Part, ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import BaseToolInvocation, Example, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.diff.text_lines import split_lines
from nbtools.tools.line_window import cut_window
from nbtools.tools.read import MediaRead, decode_text, media_parts
from nbtools.workspace.cancellation import CancellationFlag, run_in_thread
from nbtools.workspace.files import media, read_filter
from nbtools.workspace.files.media import MAX_MEDIA_BYTES, identify_picture, media_type
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.files.read import HEAD_BYTES, MAX_READ_BYTES, read_bytes
from nbtools.workspace.files.recordings import Recording, identify_recording
from nbtools.workspace.paths import one_line, printable_path
from nbtools.workspace.read_tracking import ReadExtent
from nbtools.workspace.search import globs
from nbtools.workspace.search.file_search import find_files
from nbtools.workspace.search.project_ignore import ignore_filter, is_ignored_by_name
from nbtools.workspace.workspace import Workspace

_MOST_NAMED = 20
"""Maximum number of skipped files named in the result text; the data has all of them."""


_READ_LINES = Message.of("Read a range of its lines", Advice(" with ", ToolName("read")), ".")


class ReadManyParams(ParameterModel):
    paths: Annotated[tuple[str, ...], Field(min_length=1)]
    """Files, folders (all files in them, at any depth) and globs like `src/**/*.py`."""
    exclude: tuple[str, ...] = ()
    """Globs of files to exclude; a glob without a slash matches names in every folder."""
    ignored: bool = False
    """Whether to include files that git ignores."""
    agent_ignored: bool = False
    """Whether to include files that the project's ignore files for agents, such as .geminiignore,
    leave out.
    """
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Maximum number of files to read."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or the files of a glob or folder, and the reason why they were not read."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReadManyData:
    """The files that were read, in their order, and those that were skipped."""

    files: tuple[str, ...]
    skipped: tuple[Skipped, ...]


class ReadManyTool(BaseDeclarativeTool[ReadManyParams]):
    """Reads files in the order of ``paths``, those of a folder or glob by path; no file twice.

    ``lines``: lines of a file; ``width``: characters of a line; ``characters``: characters in all.  Pictures
    and documents are returned if ``paths`` has their name or file type (``*.png``), otherwise skipped like
    other binary files.
    """

    name = "read_many"
    description = (
        "Reads several files at once: single files, all files of a folder, or those that match a glob. Binary"
        " files are skipped and reported."
    )
    kind = Kind.READ
    parameters = ReadManyParams
    examples = (
        Example("Reads all Python files below src.", {"paths": ["src/**/*.py"]}),
        Example("Reads two files.", {"paths": ["README.md", "src/cart.py"]}),
    )
    output_limit = 1_000_000

    def __init__(
        self, workspace: Workspace, *, lines: int = 2_000, width: int = 2_000, characters: int = 250_000
    ) -> None:
        self.workspace = workspace
        self.lines, self.width, self.characters = lines, width, characters

    def validate_tool_param_values(self, params: ReadManyParams) -> str | None:
        for name, patterns in (("paths", params.paths), ("exclude", params.exclude)):
            for pattern in patterns:
                try:
                    globs.compile_glob(pattern)
                except ValueError as error:
                    return Message.of(Parameter(name), f": {error} (given {pattern!r}).")
        return None

    def create_invocation(self, params: ReadManyParams) -> ReadManyInvocation:
        return ReadManyInvocation(self, params)


class ReadManyInvocation(BaseToolInvocation[ReadManyParams]):
    __slots__ = ("tool",)

    def __init__(self, tool: ReadManyTool, params: ReadManyParams) -> None:
        super().__init__(params)
        self.tool = tool
        for path in params.paths:
            tool.workspace.resolve(_literal_part(path))

    def get_description(self) -> str:
        first = ", ".join(map(printable_path, self.params.paths[:3]))
        return first + (f" and {len(self.params.paths) - 3} more" if len(self.params.paths) > 3 else "")

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return tuple(
            ToolLocation(str(self.tool.workspace.resolve(_literal_part(path)))) for path in self.params.paths
        )

    def target(self) -> PathTarget:
        spelled = (self.tool.workspace.spellings(_literal_part(path)) for path in self.params.paths)
        return PathTarget(tuple(dict.fromkeys(name for names in spelled for name in names)))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        collector = _Collector(self.tool)
        requested: dict[str, bool] = {}
        for path in self.params.paths:
            for name, by_name in (await self._find(path, collector)).items():
                requested[name] = requested.get(name, False) or by_name
        if not requested and not collector.skipped:
            raise ToolFailure(
                ErrorCode.READ_MANY_FILES_SEARCH_ERROR,
                "No files match. Name existing files or folders, or another glob.",
            )
        await run_in_thread(partial(collector.read, list(requested.items())[: self.params.limit]))
        left = len(requested) - self.params.limit
        if left > 0:
            reason = Message.of(
                f"over the limit of {self.params.limit:,}; name fewer files",
                Advice(" or raise ", Parameter("limit")),
            )
            collector.skipped.append(Skipped(f"{_files(left)} more", reason))
        return collector.result()

    async def _find(self, pattern: str, collector: _Collector) -> dict[str, bool]:
        """Returns the files for one entry of ``paths``, and whether it names them or their type,
        so that pictures are returned.
        """
        workspace = self.tool.workspace
        path = workspace.resolve(pattern)
        if path.is_file():
            if not self.params.ignored and is_ignored_by_name(workspace, pattern):
                collector.skipped.append(Skipped(printable_path(pattern), "it is ignored"))
                return {}
            return {workspace.relative(path): True}
        if path.is_dir():
            start, glob = workspace.relative(path), "**"
        elif _literal_part(pattern) == pattern:
            collector.skipped.append(
                Skipped(printable_path(pattern), path_not_found(workspace, pattern).message)
            )
            return {}
        else:
            folder = _literal_part(pattern)
            start, glob = workspace.relative(workspace.resolve(folder)), _rest(pattern, folder)
        matches = await find_files(
            workspace.root,
            start,
            glob,
            ignored=self.params.ignored,
            hiding=workspace.read_filter,
            ignoring=ignore_filter(
                workspace, git=not self.params.ignored, agent=not self.params.agent_ignored
            ),
        )
        found = self._without_excluded(matches.paths, start)
        if matches.hidden:
            collector.skipped.append(
                Skipped(
                    printable_path(pattern),
                    read_filter.hidden_count_note(matches.hidden, "file of it", "files of it"),
                )
            )
        if not (self.params.ignored and self.params.agent_ignored):
            every = await find_files(workspace.root, start, glob, ignored=True, hiding=workspace.read_filter)
            ignored = len(self._without_excluded(every.paths, start)) - len(found)
            if ignored > 0:
                by_agent = bool(workspace.ignore_files) and not self.params.agent_ignored
                include = Advice("; the call ", SameCall({"ignored": True}), " includes them")
                by_git = Message.of(f"git ignores {_files(ignored)} of it", include)
                reason = Message.of(f"{_files(ignored)} of it ignored") if by_agent else by_git
                collector.skipped.append(Skipped(printable_path(pattern), reason))
        by_kind = bool(_media_kind(pattern))
        return dict.fromkeys(sorted(found), by_kind)

    def _without_excluded(self, found: list[str], start: str) -> list[str]:
        anywhere = [glob if "/" in glob else f"**/{glob}" for glob in self.params.exclude]
        patterns = [globs.compile_glob(glob, folder) for glob in anywhere for folder in {start, "."}]
        return [path for path in found if not any(pattern.fullmatch(path) for pattern in patterns)]


class _Collector:
    """Collects the content of files up to the size limits."""

    def __init__(self, tool: ReadManyTool) -> None:
        self.tool = tool
        self.skipped: list[Skipped] = []
        self.files: list[str] = []
        self.parts: list[Part | str] = []
        self.characters_left = tool.characters
        self.media_bytes_left = MAX_MEDIA_BYTES

    def read(self, requested: list[tuple[str, bool]], halt: CancellationFlag) -> None:
        for path, by_name in requested:
            halt.raise_if_cancelled()
            try:
                self._add(path, by_name=by_name)
            except ToolFailure as failure:
                self.skipped.append(Skipped(path, failure.message))

    def _add(self, path: str, *, by_name: bool) -> None:
        subject, workspace = printable_path(path), self.tool.workspace
        real = workspace.resolve(path)
        if workspace.hides(str(real)) or workspace.hides(path):
            raise ToolFailure(ErrorCode.POLICY_VIOLATION, "the policy does not allow reading it")
        data = read_bytes(real, subject, MAX_READ_BYTES, _READ_LINES)
        recording = identify_recording(data[:HEAD_BYTES]) if workspace.reads_recordings else None
        mime_type = media_type(data) or (recording.mime_type if recording else "")
        if mime_type and not by_name:
            self.skipped.append(Skipped(path, f"{mime_type}; give its name to see it"))
        elif mime_type:
            self._add_media(path, data, mime_type, recording)
        else:
            self._add_text(path, data, subject)

    def _add_media(self, path: str, data: bytes, mime_type: str, recording: Recording | None) -> None:
        subject = printable_path(path)
        if len(data) > self.media_bytes_left:
            self.skipped.append(
                Skipped(path, f"over the size limit of this call ({len(data):,} bytes); read it separately")
            )
            return
        self.media_bytes_left -= len(data)
        if mime_type == "application/pdf":
            _, total, _ = media.extract_pages(data, None, subject)
            read, note = MediaRead(path, mime_type, len(data), total), f"PDF document, {total} pages"
        elif recording is not None:
            read, note = MediaRead(path, mime_type, len(data)), recording.name
        else:
            found = identify_picture(data, subject)
            read, note = (
                MediaRead(path, mime_type, len(data)),
                f"{found.name} image, {found.width} × {found.height} pixels",
            )
        self.parts += [f"--- {one_line(path)} ---", *media_parts(read, data, note)]
        self.files.append(path)
        self.tool.workspace.read_tracker.record(self.tool.workspace.resolve(path), data)

    def _add_text(self, path: str, data: bytes, subject: str) -> None:
        lines = split_lines(decode_text(data, subject).text)
        if self.characters_left <= 0:
            self.skipped.append(
                Skipped(
                    path,
                    f"over the size limit of this call ({counted(len(lines), 'line')}); read it separately",
                )
            )
            return
        text = "".join(lines[: self.tool.lines])
        found = cut_window(path, text, 1, len(lines), width=self.tool.width, most=self.characters_left)
        content = found.text_with_notes()
        self.characters_left -= len(content)
        self.parts.append(joined("\n", (f"--- {one_line(path)} ---", content)))
        self.files.append(path)
        whole = ReadExtent.RANGE if found.read.shortened else ReadExtent.WHOLE
        self.tool.workspace.read_tracker.record(
            self.tool.workspace.resolve(path), data, whole if found.read.whole else ReadExtent.PARTIAL
        )

    def result(self) -> ToolResult:
        data = ReadManyData(tuple(self.files), tuple(self.skipped))
        count = _files(len(self.files))
        summary = count + (f", {len(self.skipped):,} skipped" if self.skipped else "")
        names = [f"- {name}" for name in self.files]
        display = joined("\n", [f"Read {count}", *names, *self._notes()])
        return ToolResult(self._content(), display, summary=summary, data=data)

    def _content(self) -> LlmContent:
        notes = joined("\n", self._notes())
        texts = [*self.parts, *([in_brackets(notes)] if notes else [])]
        if all(isinstance(part, str) for part in texts):
            return joined(
                "\n\n",
                (
                    part if isinstance(part, Message) else part.removesuffix("\n")
                    for part in texts
                    if isinstance(part, str)
                ),
            )
        return tuple({"text": part} if isinstance(part, str) else part for part in texts)

    def _notes(self) -> list[str]:
        if not self.skipped:
            return []
        named = [Message.of(f"  {skipped.path}: ", skipped.reason) for skipped in self.skipped[:_MOST_NAMED]]
        missing = len(self.skipped) - _MOST_NAMED
        return ["skipped:", *named, *([f"  … and {missing:,} more"] if missing > 0 else [])]


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"


_MEDIA_ENDINGS = frozenset(
    (
        *(
            "png",
            "jpg",
            "jpeg",
            "gif",
            "webp",
            "bmp",
            "pdf",
            "mp3",
            "wav",
            "aiff",
            "aif",
            "aac",
            "ogg",
            "flac",
            "m4a",
        ),
        *("mp4", "mov", "webm", "mkv", "avi", "mpeg", "mpg"),
    )
)


def _media_kind(pattern: str) -> str:
    """Returns the file extension at the end of a glob if it is that of a medium;
    otherwise an empty string.
    """
    ending = pattern.rpartition(".")[2].casefold()
    return ending if "." in pattern and ending in _MEDIA_ENDINGS else ""


def _literal_part(path: str) -> str:
    """Returns the path itself; for a glob, the literal folder that it begins with."""
    if globs.escape(path) == path:
        return path
    folder = globs.literal_folder(path)
    return f"/{folder}" if path.startswith("/") and folder != "." else folder


def _rest(pattern: str, folder: str) -> str:
    return pattern if folder == "." else pattern.removeprefix("./").removeprefix(folder).lstrip("/")
