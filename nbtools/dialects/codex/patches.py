"""Codex's `apply_patch`: called as a tool, or given to a shell, from where Codex takes it as well."""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import join
from typing import Annotated, ClassVar, Self

from pydantic import AliasChoices, Field, model_validator

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.dialects.codex.command_words import PatchCall, patch_in_line, patch_in_words
from nbtools.dialects.codex.output import exit_text
from nbtools.dialects.codex.replies import CodexParams, reply
from nbtools.dialects.dialect_model import Arguments, ToolMapping
from nbtools.dialects.field_map import AgentField, FieldMap, expressible
from nbtools.diff.codex_patch import is_codex_patch, patch_in_folder, read_codex_patch
from nbtools.diff.patch_model import Create, Delete, Patch, Update
from nbtools.tools.patch import PatchData, PatchParams


class _Patch(CodexParams):
    """Base class of the calls that apply a patch."""

    rejected: ClassVar[str] = "patch rejected by user"
    failed: ClassVar[str] = "apply_patch verification failed: {message}"

    def patch_call(self) -> PatchCall:
        """Returns the patch."""
        raise NotImplementedError

    def to_canonical(self) -> Arguments:
        call = self.patch_call()
        if not is_codex_patch(call.patch):
            message = (
                "apply_patch verification failed: the patch has no line *** Begin Patch. Nothing was changed."
            )
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
        return {"patch": patch_in_folder(call.patch, call.folder)}

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, PatchData):
            return result
        text = "".join(
            ["Success. Updated the following files:\n", *_changed(read_codex_patch(self.patch_call().patch))]
        )
        notes = "".join(f"({note.rstrip('.')}.)\n" for note in result.data.notes)
        return reply(result, exit_text(0, 0, text + notes))


class ApplyPatch(_Patch):
    canonical: ClassVar[FieldMap] = FieldMap(
        PatchParams,
        patch=AgentField("input", from_canonical=lambda patch: expressible(patch, is_codex_patch(patch))),
        lacks=("path", "match"),
    )
    input: Annotated[
        str, Field(validation_alias=AliasChoices("input", "patch"), json_schema_extra={"body": True})
    ]
    """The whole patch: *** Begin Patch, the sections *** Add File:, *** Update File:
    or *** Delete File:, and *** End Patch.
    """

    def patch_call(self) -> PatchCall:
        return PatchCall(self.input)


def _changed(patch: Patch) -> list[str]:
    """Lists the files as the patch names them: added, modified, deleted."""
    added = [f"A {file.path}\n" for file in patch.files if isinstance(file, Create)]
    modified = [f"M {file.to or file.path}\n" for file in patch.files if isinstance(file, Update)]
    return [*added, *modified, *(f"D {file.path}\n" for file in patch.files if isinstance(file, Delete))]


class _PatchInCommand(_Patch):
    """A command that only applies a patch.  Other commands are left to the mapping for commands."""

    one_way: ClassVar[bool] = True
    names: ClassVar[Mapping[str, str]] = {"patch": "command"}

    workdir: str | None = None
    """The folder of the patch's relative paths."""

    @model_validator(mode="after")
    def _only_patches(self) -> Self:
        if self.found() is None:
            raise ValueError("the command applies no patch")
        return self

    def found(self) -> PatchCall | None:
        raise NotImplementedError

    def patch_call(self) -> PatchCall:
        found = self.found()
        if found is None:  # never: validated
            raise ValueError("no patch")
        return PatchCall(found.patch, join(self.workdir or ".", found.folder))


class PatchInWords(_PatchInCommand):
    command: tuple[str, ...]
    """The argument list."""

    def found(self) -> PatchCall | None:
        return patch_in_words(self.command)


class PatchInLine(_PatchInCommand):
    command: Annotated[str, Field(validation_alias=AliasChoices("command", "cmd"))]
    """The command line."""

    def found(self) -> PatchCall | None:
        return patch_in_line(self.command)


PATCHES = (
    ToolMapping(
        "apply_patch",
        "patch",
        ApplyPatch,
        "Adds, changes, moves and deletes files with a patch, all or none. Each hunk begins with @@ and has"
        " lines that begin with a blank, - or +; give three lines of context around a change.",
    ),
    *(
        ToolMapping(name, "patch", PatchInWords, former=True)
        for name in ("shell", "container.exec", "local_shell")
    ),
    *(
        ToolMapping(name, "patch", PatchInLine, former=True)
        for name in ("exec_command", "shell_command", "shell")
    ),
)
