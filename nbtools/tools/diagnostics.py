"""The `diagnostics` tool: checks the syntax of a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.result import ToolResult
from nbtools.core.result_data import Diagnostic, Diagnostics
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import Example, Kind, UpdateOutput
from nbtools.tools.workspace_tool import PathInvocation
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.files.read import read_bytes
from nbtools.workspace.paths import printable_path
from nbtools.workspace.processes import syntax_check
from nbtools.workspace.processes.capture import run_script
from nbtools.workspace.workspace import Workspace

_KINDS = {
    ".py": "python",
    ".pyi": "python",
    ".pyw": "python",
    ".json": "json",
    ".ipynb": "notebook",
    ".toml": "toml",
}
_WITH_COMMENTS = ("tsconfig", "jsconfig", ".eslintrc", "devcontainer")
_MOST_BYTES = 10_000_000
_CHECKED = {"python": "Python", "json": "JSON", "notebook": "the notebook", "toml": "TOML"}
_PROGRAMS = {
    "Python": ("ruff check", "mypy"),
    "JavaScript": ("npx eslint",),
    "TypeScript": ("npx tsc --noEmit", "npx eslint"),
    "shell": ("bash -n", "shellcheck"),
    "Rust": ("cargo check",),
    "Go": ("go vet ./...",),
    "C": ("gcc -fsyntax-only",),
    "YAML": ("yamllint",),
}
_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi", ".pyw", ".ipynb"), "Python"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "JavaScript"),
    **dict.fromkeys((".ts", ".tsx"), "TypeScript"),
    **dict.fromkeys((".sh", ".bash"), "shell"),
    **dict.fromkeys((".c", ".h"), "C"),
    **dict.fromkeys((".yml", ".yaml"), "YAML"),
    ".rs": "Rust",
    ".go": "Go",
}


class DiagnosticsParams(ParameterModel):
    path: str
    """The file to check."""


class DiagnosticsTool(BaseDeclarativeTool[DiagnosticsParams]):
    """Checks syntax in a process that executes nothing of the file and is limited in time and memory.

    ``seconds``: its time limit.
    """

    name = "diagnostics"
    description = (
        "Checks the syntax of a Python, JSON or TOML file or of a notebook's code cells, and returns errors"
        " and warnings with their lines. Nothing is executed. For other files it names the program to run."
    )
    kind = Kind.READ
    parameters = DiagnosticsParams
    examples = (
        Example("Checks the syntax of a file.", {"path": "src/cart.py"}),
        Example("Checks the cells of a notebook.", {"path": "analysis.ipynb"}),
    )

    def __init__(self, workspace: Workspace, *, seconds: float = syntax_check.SECONDS + 5) -> None:
        self.workspace = workspace
        self.seconds = seconds

    def create_invocation(self, params: DiagnosticsParams) -> DiagnosticsInvocation:
        return DiagnosticsInvocation(self, params)


class DiagnosticsInvocation(PathInvocation[DiagnosticsParams, DiagnosticsTool]):
    __slots__ = ()

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        path = self.tool.workspace.recheck(self.params.path, self.path)
        try:
            data = read_bytes(
                path, printable_path(self.params.path), _MOST_BYTES, "It is too large to be checked."
            )
        except ToolFailure as failure:
            if failure.code is ErrorCode.FILE_NOT_FOUND:
                raise path_not_found(self.tool.workspace, self.params.path) from None
            raise
        kind = _kind(path)
        problems = await self._check(kind, data) if kind else ()
        found = Diagnostics(
            self.tool.workspace.relative(path), _CHECKED.get(kind, ""), problems, _programs(path)
        )
        text = diagnostics_text(found)
        return ToolResult(text, text, summary=_summary(found), data=found)

    async def _check(self, kind: str, data: bytes) -> tuple[Diagnostic, ...]:
        """Runs the check.  Raises ``ToolFailure`` if it does not end in time, or fails."""
        try:
            ended, output = await run_script(["-S", syntax_check.__file__, kind], data, self.tool.seconds)
        except OSError as error:
            raise from_os_error(error, "Python cannot be started", ErrorCode.EXECUTION_FAILED) from None
        if ended.exit_code != 0:
            code = (
                ErrorCode.TIMEOUT
                if ended.stopped or ended.signal == "SIGXCPU"
                else ErrorCode.EXECUTION_FAILED
            )
            reason = "took too long" if code is ErrorCode.TIMEOUT else "failed"
            raise ToolFailure(
                code, f"The check of {printable_path(self.params.path)} {reason}. Run a linter in a shell."
            )
        return tuple(Diagnostic(**problem) for problem in json.loads(output))


def _kind(path: Path) -> str:
    """Returns what to check; empty where there is no check, and for JSON with comments."""
    kind = _KINDS.get(path.suffix.lower(), "")
    with_comments = kind == "json" and (path.name.startswith(_WITH_COMMENTS) or path.parent.name == ".vscode")
    return "" if with_comments else kind


def _programs(path: Path) -> tuple[str, ...]:
    return _PROGRAMS.get(_LANGUAGES.get(path.suffix.lower(), ""), ())


def diagnostics_text(found: Diagnostics) -> str:
    """Returns the problems for a model, one a line, and what else to run."""
    return "\n".join([*(_line(found.path, problem) for problem in found.problems), *_remarks(found)])


def _line(path: str, problem: Diagnostic) -> str:
    cell = "" if problem.cell is None else f"cell {problem.cell}, "
    lines = (
        f"line {problem.line}"
        if problem.end_line == problem.line
        else f"lines {problem.line}–{problem.end_line}"
    )
    return f"{path}: {cell}{lines}: {problem.severity}: {problem.message}"


def _remarks(found: Diagnostics) -> Iterator[str]:
    advice = f"To check more, run: {' or '.join(found.programs)}." if found.programs else ""
    if not found.checked:
        advice = advice.replace("check more", "check it") or "Run a linter for this type of file in a shell."
        yield (
            f"Not checked: there is no check for {Path(found.path).suffix or 'this type of'} files. {advice}"
        )
    elif not found.problems:
        yield f"No syntax errors found: {found.checked} is valid. {advice}".rstrip()


def _summary(found: Diagnostics) -> str:
    if not found.checked:
        return "not checked"
    counts = [
        (sum(problem.severity == severity for problem in found.problems), severity)
        for severity in ("error", "warning")
    ]
    return (
        ", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for count, severity in counts if count)
        or "no errors"
    )
