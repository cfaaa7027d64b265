"""Replays every recorded call in the sample logs:
how many give the recorded text, files and error, per agent, and why the others do not.

python bench/replay_fidelity.py [agent ...]

The recorded projects are not here.  Each call runs in a folder with what the log says about the project's
files before the call: texts before an edit, lines that a tool returned, names that it listed; other lines of
such a file say that they are not recorded.  Commands run only where the policy allows them without a
question, in a sandbox.  Of Codex's texts, the lines that docs/dialects.md leaves out on purpose are not
compared.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import commonpath, dirname, join

import orjson

from nbtools.core.errors import TraceError
from nbtools.core.result import CommandOutput, FileDiff, FileText, Listing, Matches, ToolResult
from nbtools.diff.codex_patch import is_codex_patch, read_codex_patch
from nbtools.diff.patch_model import Hunk
from nbtools.diff.unified_diff import read_unified
from nbtools.policy.layers import Policy
from nbtools.policy.modes import Mode
from nbtools.replay import Copy, Replayed, WorkingDirectory, canonical_call, working_directory_of
from nbtools.replay.output_comparison import content_text, normalize
from nbtools.replay.replay import open_session, replay_in_copy
from nbtools.replay.steps import select_calls
from nbtools.replay.temp_folders import TempFolder
from nbtools.traces import load
from nbtools.traces.json_access import string
from nbtools.traces.model import Call, Detail

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "traces" / "samples"
JSON_OUTPUT = re.compile(r'\A\{"output":')
VIEW = re.compile(r"(?:sed -n '(?P<first>\d+),\d+p'|cat) (?P<path>[\w./@-]+)")
UNRECORDED = "(line {} is not recorded)"
READING = (
    "ls",
    "cat",
    "head",
    "tail",
    "nl",
    "wc",
    "grep",
    "rg",
    "pwd",
    "echo",
    "printf",
    "sort",
    "uniq",
    "cut",
    "mkdir",
    "true",
    "which",
)
POLICY = Policy(
    mode=Mode.AUTO_EDIT, allow=[*(f"shell({program}:*)" for program in READING), "shell(sed -n:*)"]
)
"""Commands that only read, or make folders in the copy."""
NO_RESULT = {"unanswered", "denied", "cancelled", "interrupted"}
WORDING: Mapping[str, Sequence[tuple[str, str]]] = {
    "claude": (
        (r"\n*<system-reminder>[\s\S]*?</system-reminder>", ""),
        (r"(?m)^ *(\d+)(?:→|\t)", r"\1 "),
        (r"\n\d+ \s*\Z", ""),
        (r" \(file state is current in your context — no need to Read it back\)", ""),
        (
            r"has been updated\. Here's the result of running `cat -n`[\s\S]*",
            "has been updated successfully.",
        ),
        (r"\(Bash completed with no output\)", ""),
        (r"\n\((?:[^()]|\([^()]*\))*Nothing was changed\.[^)]*\)(?=</tool_use_error>)", ""),
    ),
    "gemini": (
        (r"(?m)^(?:Command|Directory|Background PIDs|Process Group PGID): .*\n?", ""),
        (r"(?m)^(?:Error: \(none\)|Exit Code: (?:0|\(none\))|Signal: (?:0|\(none\)|\(none\)))\n?", ""),
        (r"</?untrusted_context>\n?", ""),
        (r"\nHere is the updated code:[\s\S]*", ""),
        (r"^(Output: .*)\n\Z", r"\1"),
    ),
    "codex": ((r"\A(?:Command: .*\n)?(?:Chunk ID: \w+\n)?", ""),),
}
"""What versions of an agent word otherwise, or a dialect on purpose:
replaced in both texts before the second comparison.
"""
REASONS = {
    "confirmation_required": "not run: a command that may change something, on a machine and a project that are not here",
    "policy_violation": "not run: denied by the policy",
}


@dataclass
class KnownFile:
    """The content of a file as far as a log tells it:
    all of its text, or some lines by number, and how many there are.
    """

    text: str | None = None
    lines: dict[int, str] = field(default_factory=dict)
    total: int = 0

    def content(self) -> str:
        if self.text is not None:
            return self.text
        last = max([self.total, *self.lines])
        return "".join(
            f"{self.lines.get(number, UNRECORDED.format(number))}\n" for number in range(1, last + 1)
        )

    def add(self, start: int, lines: Sequence[str], total: int = 0) -> None:
        """Adds lines; where they differ from a known text,
        something that is not recorded has changed the file.
        """
        found = dict(enumerate(lines, start))
        if self.text is not None:
            known = dict(enumerate(self.text.removesuffix("\n").split("\n"), 1))
            if all(known.get(number) == line for number, line in found.items()):
                return
            self.text, self.lines, self.total = None, known, len(known)
        self.lines |= found
        self.total = max(self.total, total)

    def align(self, hunk: Sequence[str], anchors: Mapping[int, str]) -> None:
        """Adds the old lines of a hunk of unknown position, where they agree with most of the ``anchors``,
        lines of known position.
        """
        starts = {
            number - offset
            for number, line in anchors.items()
            for offset, old in enumerate(hunk)
            if line == old
        }
        overlaps = {
            start: [(line, anchors[n]) for n, line in enumerate(hunk, start) if n in anchors]
            for start in starts
            if start > 0
        }
        fitting = {
            start: len(pairs) for start, pairs in overlaps.items() if all(line == old for line, old in pairs)
        }
        if fitting:
            self.add(max(fitting, key=lambda start: fitting[start]), hunk)

    def forget(self) -> None:
        self.text, self.lines, self.total = None, {}, 0


class Project:
    """The files of a session's project, as far as its calls tell."""

    def __init__(self, ground: WorkingDirectory) -> None:
        self.ground = ground
        self.files: dict[str, KnownFile] = {}
        self.folders: set[str] = set()

    def _file(self, path: str) -> KnownFile | None:
        try:
            return self.files.setdefault(self.ground.relative(path), KnownFile())
        except TraceError:
            return None

    def before(self, call: Call, detail: Detail) -> None:
        """Adds what the record of a call says about the files before it."""
        failed = call.status in {"error", "denied", "cancelled"}
        anchors: dict[str, dict[int, str]] = defaultdict(dict)
        for change in detail.changes:
            if (file := self._file(change.file_name)) is not None:
                self._before_change(file, change, anchors[change.file_name], failed=failed)
        for path, hunk in patched_lines(detail):
            if not failed and (file := self._file(path)) is not None:
                file.align(hunk, anchors[path])
        match detail.display:
            case FileText() as text:
                # Old versions of Claude Code count an empty line after the last newline.
                counts_end = (
                    re.search(rf"(?m)^ *{text.total}(?:→|\t)\s*$", detail.result) is not None
                    and len(text.lines) < text.total
                )
                self._read(
                    text.path or (call.paths or ("",))[0], text.start, text.lines, text.total - counts_end
                )
            case Matches() as found:
                for match in found.matches:
                    self._read(match.path, match.line, [match.text], 0)
            case Listing() as listing:
                self._listed(listing, (call.paths or (".",))[0])
            case CommandOutput() if (
                not failed and not detail.truncated and (view := VIEW.fullmatch(detail.command.strip()))
            ):
                lines = (
                    (detail.result.partition("Output:\n")[2] or detail.stdout).removesuffix("\n").split("\n")
                )
                self._read(view["path"], int(view["first"] or 1), lines if lines != [""] else [], 0)

    def _read(self, path: str, start: int, lines: Sequence[str], total: int) -> None:
        if (file := self._file(path)) is not None:
            file.add(start, lines, total)

    def _before_change(
        self, file: KnownFile, change: FileDiff, anchors: dict[int, str], *, failed: bool
    ) -> None:
        if change.original_content:
            file.text = change.original_content
        elif change.original_content is None:
            file.forget()
        elif not failed:
            for start, lines in old_lines(change):
                file.add(start, lines)
                anchors |= dict(enumerate(lines, start))

    def _listed(self, listing: Listing, folder: str) -> None:
        for entry in listing.entries:
            path = entry.path if "/" in entry.path else join(folder, entry.path)
            if entry.folder:
                self.folders.add(path)
            else:
                self._file(path)

    def after(self, call: Call, detail: Detail) -> None:
        """Adds what the record says about the files after the call."""
        if call.status in {"error", "denied", "cancelled", "unanswered"}:
            return
        for change in detail.changes:
            if (file := self._file(change.file_name)) is None:
                continue
            if change.new_content:
                file.text = change.new_content
            else:
                for start, lines in new_lines(change):
                    file.add(start, lines)

    def write(self, root: Path, created: set[str]) -> None:
        """Writes the files below ``root``; ``created`` are those that the call makes."""
        for folder in self.folders:
            self._path(root, folder).mkdir(parents=True, exist_ok=True)
        for name, known in self.files.items():
            if name in created or name == ".":
                continue
            path = root / name
            if not path.is_dir() and not any(parent.is_file() for parent in path.parents):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(known.content())

    def _path(self, root: Path, folder: str) -> Path:
        try:
            return root / self.ground.relative(folder)
        except TraceError:
            return root


def old_lines(change: FileDiff) -> Iterator[tuple[int, list[str]]]:
    """Yields the first line number and the old lines of each hunk of a recorded diff."""
    for hunk in recorded_hunks(change):
        yield hunk.line or 1, [line.removesuffix("\n") for line in hunk.old()]


def new_lines(change: FileDiff) -> Iterator[tuple[int, list[str]]]:
    """Yields the first line number and the new lines of each hunk of a recorded diff."""
    grown = 0
    for hunk in recorded_hunks(change):
        yield (hunk.line or 1) + grown, [line.removesuffix("\n") for line in hunk.new()]
        grown += len(hunk.new()) - len(hunk.old())


def recorded_hunks(change: FileDiff) -> Iterator[Hunk]:
    if not change.file_diff:
        return
    for file in read_unified(change.file_diff, change.file_name).files:
        yield from (part for part in getattr(file, "parts", ()) if isinstance(part, Hunk) and part.line)


def patched_lines(detail: Detail) -> Iterator[tuple[str, list[str]]]:
    """Yields the path and the old lines of each hunk of a patch in Codex's format."""
    text = string(detail.args.get("input"))
    if is_codex_patch(text):
        for file in read_codex_patch(text).files:
            for part in getattr(file, "parts", ()):
                yield file.path, [line.removesuffix("\n") for line in part.old()]


def folder_of(calls: Sequence[Call]) -> str:
    """Returns the folder of all absolute paths of the calls, for a log that does not record the session's."""
    paths = [
        dirname(path) for call in calls for path in call.paths if path.startswith("/") and call.status == "ok"
    ]
    return commonpath(paths) if paths else ""


@dataclass
class Tally:
    """The results of one agent's calls."""

    calls: int = 0
    counterpart: int = 0
    run: int = 0
    text: int = 0
    worded: int = 0
    with_files: int = 0
    files: int = 0
    error: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


async def replay_calls(path: Path, tally: Mapping[str, Tally]) -> None:
    """Replays the calls of one log."""
    calls = select_calls(load(path).calls)
    projects: dict[str, Project] = {}
    for call in calls:
        ground = working_directory_of(call)
        ground = ground if ground.cwd else working_directory_of(call, folder_of(calls))
        agent = tally[path.parent.name]
        agent.calls += 1
        detail = call.detail
        project = projects.setdefault(call.session, Project(ground))
        project.before(call, detail)
        try:
            canonical_call(call, ground, detail=detail)
        except TraceError as error:
            agent.reasons[without_counterpart(call, str(error))] += 1
        else:
            agent.counterpart += 1
            if call.status in NO_RESULT:
                agent.reasons["not run: recorded without a result, denied or cancelled"] += 1
            else:
                await replay_one(call, detail, project, agent)
        project.after(call, detail)


def without_counterpart(call: Call, message: str) -> str:
    if "outside of the session's folder" in message:
        return "no counterpart: a file outside of the project"
    if "cannot be run again" in message:
        return f"no counterpart: {call.name} refers to a program or a person of that session"
    return f"no counterpart: {call.name}"


async def replay_one(call: Call, detail: Detail, project: Project, agent: Tally) -> None:
    room = TempFolder()
    try:
        root = room.path / (Path(project.ground.cwd).name or "root")
        root.mkdir()
        created = {
            project.ground.relative(change.file_name)
            for change in detail.changes
            if change.original_content is None
        }
        project.write(root, created)
        copy = Copy(
            root,
            "the files in the log",
            room,
            ((project.ground.cwd, str(root)), (project.ground.cwd, str(root))),
        )
        ground = project.ground.in_copy(copy)
        async with open_session(copy, POLICY, None) as session:
            replayed = await replay_in_copy(call, ground, copy, session, detail=detail)
        judge(call, detail, replayed, ground, root, agent)
    except TraceError as error:
        agent.reasons[without_counterpart(call, str(error))] += 1
    finally:
        room.close()


def judge(
    call: Call, detail: Detail, replayed: Replayed, ground: WorkingDirectory, root: Path, agent: Tally
) -> None:
    result = replayed.meaning.word_result(replayed.result)
    if not replayed.ran:
        agent.reasons[REASONS[str(replayed.result.error.code)]] += 1  # type: ignore[union-attr]
        return
    agent.run += 1
    same_error = (call.status == "error") == failed(call, result)
    agent.error += same_error
    changed = [change for change in detail.changes if call.status != "error"]
    if changed:
        agent.with_files += 1
        same_files = all(same_file(change, ground, root, replayed) for change in changed)
        agent.files += same_files
        if not same_files:
            agent.reasons[f"other files: {call.name}{why_other_files(replayed)}"] += 1
    new = ground.restore_paths(content_text(result.llm_content), str(root))
    if same_text(detail.result, new, replayed, ground, ()):
        agent.text += 1
    elif same_text(detail.result, new, replayed, ground, WORDING.get(ground.agent, ())):
        agent.worded += 1
    else:
        agent.reasons[f"another text: {why_another(call, replayed, new, same_error=same_error)}"] += 1


def failed(call: Call, result: ToolResult) -> bool:
    """Whether the call failed as the log's reader counts it: a command by its exit code."""
    display = result.return_display
    if call.op == "shell" and isinstance(display, CommandOutput) and call.exit_code is not None:
        return bool(display.exit_code)
    return result.error is not None


def why_other_files(replayed: Replayed) -> str:
    changed = [
        line[1:]
        for line in replayed.difference.file_diff.splitlines()
        if line[:2] in {"--", "-+"} and line[:3] != "---"
    ]
    added = {line[1:] for line in changed if line[0] == "+"}
    only_newline = replayed.result.error is None and changed and all(line[1:] in added for line in changed)
    return (
        ": the agent adds a newline at the end of a file, nbtools does not on purpose"
        if only_newline
        else ", refused on purpose"
    )


def same_file(change: FileDiff, ground: WorkingDirectory, root: Path, replayed: Replayed) -> bool:
    """Whether a file is as recorded; where only a diff of it is, whether the same lines were changed."""
    if change.new_content:
        path = root / ground.relative(change.file_name)
        return path.is_file() and path.read_text() == change.new_content
    return replayed.same


def same_text(
    recorded: str, new: str, replayed: Replayed, ground: WorkingDirectory, wording: Sequence[tuple[str, str]]
) -> bool:
    """Whether the model reads the same, but for times;
    of an agent whose wording is not known, whether the result is the same.
    """
    if not ground.agent:
        return replayed.same
    return any(plain(text, wording) == plain(new, wording) for text in recorded_texts(recorded))


def recorded_texts(text: str) -> Iterator[str]:
    """Yields the recorded text; a JSON reply of Codex also as the model reads it since the free-form patch
    tool.
    """
    yield text
    if JSON_OUTPUT.match(text):
        reply = orjson.loads(text)
        code, seconds = reply["metadata"]["exit_code"], reply["metadata"]["duration_seconds"]
        yield f"Exit code: {code}\nWall time: {seconds:g} seconds\nOutput:\n{reply['output']}"


def plain(text: str, wording: Sequence[tuple[str, str]]) -> str:
    for pattern, replacement in wording:
        text = re.sub(pattern, replacement, text)
    return normalize(text).strip()


def why_another(call: Call, replayed: Replayed, new: str, *, same_error: bool) -> str:
    if replayed.same:
        return f"{call.name}: the same result, worded otherwise"
    if call.op == "shell":
        missing = "code 127" in new or "command not found" in new
        return (
            "a command's program is not on this machine"
            if missing
            else "a command reads what the log does not record"
        )
    if call.op in {"search", "list"}:
        return f"{call.name}: depends on files that the log does not record"
    if "is a placeholder" in new:
        return f"{call.name}: a text with a placeholder is refused on purpose"
    if not same_error:
        return f"{call.name}: depends on a state that the log does not record"
    return f"{call.name}: other"


def table(tally: Mapping[str, Tally]) -> None:
    head = ("agent", "calls", "counterpart", "run", "text", "+ wording", "files", "error")
    print(("{:16}" + "{:>12}" * 7).format(*head))
    for agent, one in tally.items():
        counts = (
            one.calls,
            one.counterpart,
            one.run,
            one.text,
            one.worded,
            f"{one.files}/{one.with_files}",
            f"{one.error}/{one.run}",
        )
        print(f"{agent:16}" + "".join(f"{count:>12}" for count in counts))
    print(
        "text: what the model reads is the same, but for times.  + wording: but for what the agent's versions word otherwise."
    )
    for agent, one in tally.items():
        if one.reasons:
            print(f"\n{agent}: why the others do not")
            for reason, count in one.reasons.most_common():
                print(f"  {count:4}  {reason}")


async def main(agents: Sequence[str]) -> None:
    tally: dict[str, Tally] = defaultdict(Tally)
    for path in sorted(SAMPLES.glob("*/*")):
        if path.is_file() and path.suffix != ".md" and (not agents or path.parent.name in agents):
            try:
                await replay_calls(path, tally)
            except TraceError as error:
                print(f"{path.name}: {error}".split(". ")[0], file=sys.stderr)
    table({agent: one for agent, one in tally.items() if one.calls})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
