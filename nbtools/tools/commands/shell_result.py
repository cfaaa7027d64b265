"""The result of a command line: what its exit code means, and texts for a model and for people."""

from __future__ import annotations

from collections.abc import Sequence

from nbtools.core.message import Advice, Message, ToolName, counted, joined
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.result_data import ShellBackgroundData
from nbtools.shell.grammar import SimpleCommand, parse_shell
from nbtools.workspace.processes.background import BackgroundCommand
from nbtools.workspace.processes.output import OutputCollector
from nbtools.workspace.processes.process import ProgramResult
from nbtools.workspace.processes.sandbox import SandboxedCommand

_NO_MATCH = "no match"


_MEANINGS = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg"), _NO_MATCH),
    **dict.fromkeys(("diff", "cmp"), "the files differ"),
    **dict.fromkeys(("test", "[", "[["), "the condition is false"),
    "pgrep": "no process matches",
}


_GIT_MEANINGS = {"diff": "there are differences", "grep": _NO_MATCH}


_UNPREDICTABLE = frozenset(("set", "shopt", "source", ".", "eval", "exec", "exit", "trap", "return"))
"""Commands after which the text does not show which command set the exit code."""


def exit_meaning(command: str, exit_code: int | None) -> str:
    """Returns what exit code 1 means for commands that use it as an answer, such as ``no match``;
    otherwise an empty string.

    For a pipeline this is the meaning of the last stage, unless ``pipefail`` may be set.
    """
    if exit_code != 1:
        return ""
    parsed = parse_shell(command)
    certain = not parsed.parse_error and not any(
        part.nested or (part.argv and part.argv[0] in _UNPREDICTABLE) for part in parsed.commands
    )
    if certain and parsed.commands and not command.lstrip().startswith("!"):
        return _meaning_of_list(parsed.commands)
    return ""


def _meaning_of_list(commands: Sequence[SimpleCommand]) -> str:
    *before, last = commands
    meaning = _meaning_of_command(last)
    if last.operator == "&&" and (not before or _meaning_of_list(before) != meaning):
        return ""
    return meaning


def _meaning_of_command(command: SimpleCommand) -> str:
    if not command.argv or any(redirect.writes or redirect.operator == "<" for redirect in command.redirects):
        return ""
    name = command.argv[0].rpartition("/")[2]
    if name == "git" and len(command.argv) > 1:
        return _GIT_MEANINGS.get(command.argv[1], "")
    return _MEANINGS.get(name, "")


def started_result(
    job: BackgroundCommand,
    confined: SandboxedCommand,
    seconds: float,
    text: str = "",
    note: str = "",
    ended: str = "",
) -> ToolResult:
    """Returns the result for a background command;
    ``seconds`` and ``text``: its time and output when it was moved there.
    """
    path = job.output.full_output
    since = f"Still running after {seconds:g} seconds; it continues" if seconds else "Running"
    where = f"its output goes to {path}" if path else "its output is not saved to a file"
    read, end = (
        Advice(" Read it with ", ToolName("shell_output"), "."),
        Advice(" End it with ", ToolName("shell_kill"), "."),
    )
    message = Message.of(
        f"{since} in the background with the id {job.id} (pid {job.pid}); {where}.", read, end
    )
    if ended:
        message = Message.of(
            f"The background command with the id {job.id} (pid {job.pid}) has {ended}; {where}."
        )
    gap = "" if text.endswith("\n") else "\n"
    content = joined("", (text, gap, "(", message, ")") if text else (message,))
    state = f"{ended or 'runs'} in the background, id {job.id}"
    display = CommandOutput(job.output.display()[0], job.output.lines, None, path, state)
    data = ShellBackgroundData(job.id, job.pid, path, seconds, text, confined.description, ended)
    notes = bracketed(without_empty(job.output.problem, note))
    return ToolResult(content, display, summary=state, data=data, notes=notes)


def output_so_far(collector: OutputCollector, undo_note: str) -> CommandOutput:
    """Returns the output of a cancelled command; if it is truncated, a file has all of it."""
    text, complete = collector.display()
    if not complete:
        collector.write_to_file()
    return CommandOutput(
        text,
        collector.lines,
        None,
        "" if complete else collector.full_output,
        "; ".join(without_empty(collector.problem, undo_note)),
    )


def ended_processes(ended: ProgramResult) -> str:
    count = len(ended.background)
    if not count:
        return ""
    names = ", ".join(sorted(set(ended.background)))
    return f"{counted(count, 'background process was', 'background processes were')} ended ({names})"


def left_processes(ended: ProgramResult, job: str) -> str:
    if not ended.left:
        return ""
    count, pids = len(ended.left), ", ".join(map(str, ended.left))
    which = f"{count} processes that it started still run (pids {pids})"
    if count == 1:
        which = f"1 process that it started still runs (pid {pids})"
    return f"{which} in the background with the id {job}"


def without_empty(*notes: str) -> tuple[str, ...]:
    return tuple(note for note in notes if note)


def bracketed(notes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"({note})" for note in notes)


def result_text(text: str, ended: ProgramResult, remarks: tuple[str, ...]) -> str:
    lines = [text.removesuffix("\n") if text else "(no output)"]
    if ended.exit_code:
        lines.append(f"exit code {ended.exit_code}")
    if ended.signal and not ended.stopped:
        lines.append(f"ended by {ended.signal}")
    if remarks:
        lines.append(joined("", ("(", joined("; ", remarks), ")")))
    return joined("\n", lines)


def result_summary(ended: ProgramResult, lines: int) -> str:
    how = ended.signal or f"exit {ended.exit_code}"
    return f"{'stopped' if ended.stopped else how} · {counted(lines, 'line')}"
