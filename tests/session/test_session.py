"""The session as others use it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from pydantic import BaseModel

from nbtools import (
    Answer,
    BaseDeclarativeTool,
    BaseToolInvocation,
    Confirmation,
    ErrorCode,
    Kind,
    Policy,
    Session,
    SessionError,
    Settings,
    ToolConfirmationOutcome,
    ToolEditConfirmationDetails,
    ToolFailure,
    ToolResult,
    tool,
)
from nbtools.core.tool import UpdateOutput
from nbtools.dialects import dialect_names
from nbtools.session.sync import BlockingSession
from nbtools.testing import CANCEL, ONCE, RecordingObserver, ScriptedConfirmer, modify, temporary_workspace
from nbtools.tools import builtin_tools
from nbtools.workspace.workspace import Workspace


class NoOpParams(BaseModel):
    word: str


class NoOp(BaseToolInvocation[NoOpParams]):
    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        return ToolResult("done", "done")


class NoOpTool(BaseDeclarativeTool[NoOpParams]):
    name = "noop"
    description = "Does nothing."
    kind = Kind.READ
    parameters = NoOpParams

    def create_invocation(self, params: NoOpParams) -> NoOp:
        return NoOp(params)


FILES = {"src/cart.py": "def total(items):\n    total = 0\n    return total\n", "README.md": "# Cart\n"}


async def test_a_first_session() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(workspace=root, policy=Policy(allow=["shell(cat:*)"])) as session:  # type: ignore[arg-type]
            found = await session.call("grep", {"pattern": "total"})
            assert found.ok
            assert "cart.py" in str(found.llm_content)
            assert (await session.call("read", {"path": "src/cart.py"})).ok
            assert (await session.call("shell", {"command": "cat README.md"})).ok
            assert session.decide("shell", {"command": "rm -rf ."}).action == "ask"
            assert session.decide("shell", {"command": "cat x"}).rule == "shell(cat:*)"
        assert [call.request.name for call in session.history] == ["grep", "read", "shell"]


async def test_an_unknown_name_and_bad_arguments_are_results() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root) as session:
            unknown = await session.call("gerp", {})
            assert unknown.error is not None
            assert unknown.error.code == ErrorCode.TOOL_NOT_REGISTERED
            assert "grep" in unknown.error.message
            wrong = await session.call("grep", {"patern": "x"})
            assert wrong.error is not None
            assert wrong.error.code == ErrorCode.INVALID_TOOL_PARAMS
            assert "pattern" in wrong.error.message
            assert "\n" not in wrong.error.message


async def test_an_edit_is_shown_modified_and_applied() -> None:
    with temporary_workspace(FILES) as root:
        person = ScriptedConfirmer(
            modify("def total(items):\n    total = Decimal(0)\n    return total\n"), ONCE
        )
        async with Session(root, confirmer=person) as session:
            result = await session.call(
                "edit", {"path": "src/cart.py", "old": "total = 0", "new": "total = 1"}
            )
        assert result.ok, result.error
        assert "Decimal(0)" in (root / "src/cart.py").read_text()
        first, second = (asked.details for asked in person.asked)
        assert first.type == second.type == "edit"
        assert "total = 1" in first.new_content
        assert "Decimal(0)" in second.new_content
        assert second.is_modifying
        assert second.diff_stat.user_added_lines == 1


async def test_call_many_keeps_order_and_reads_side_by_side() -> None:
    with temporary_workspace(FILES) as root:
        seen = RecordingObserver()
        async with Session(root, policy=Policy(mode="yolo"), observers=[seen]) as session:
            results = await session.call_many(
                [
                    ("read", {"path": "README.md"}),
                    ("grep", {"pattern": "total"}),
                    ("write", {"path": "README.md", "content": "new\n"}),
                    ("read", {"path": "README.md"}),
                ]
            )
        assert all(result.ok for result in results)
        assert "# Cart" in str(results[0].llm_content)
        assert "new" in str(results[3].llm_content)
        names = [call.request.name for call in seen.calls if call.state == "executing"]
        assert names.index("write") == 2


@pytest.mark.parametrize("dialect", dialect_names())
@pytest.mark.parametrize("blocking", [False, True])
def test_the_tools_are_a_mapping(dialect: str, blocking: bool) -> None:
    with temporary_workspace() as root, Session(root, dialect=dialect).sync() as sync:
        tools = sync.tools if blocking else sync.session.tools
        assert isinstance(tools, Mapping)
        assert (
            tuple(tools) == tuple(tools.keys()) == tools.names() == tuple(one.name for one in tools.values())
        )
        assert dict(tools.items()) == dict(tools) == {name: tools[name] for name in tools}
        assert len(tools) == len(tools.names())
        assert tools == dict(tools)
        assert all(name in tools and tools.get(name) is tools[name] for name in tools)
        assert tools["grep"].kind == "search"  # a canonical name is found in every dialect
        for unknown in ("gerp", "", 5, None):
            assert unknown not in tools
            assert tools.get(unknown, "default") == "default"  # type: ignore[call-overload]
            with pytest.raises(KeyError):
                tools[unknown]  # type: ignore[index]
        with pytest.raises(ToolFailure) as unknown_tool:
            tools.require("gerp")
        assert unknown_tool.value.code == ErrorCode.TOOL_NOT_REGISTERED
        tools.register(tool(kind="read")(shout))
        assert tools["shout"].kind == "read"
        assert tools.unregister("shout").name == "shout"
        assert "shout" not in tools


def shout(text: str) -> str:
    """Shouts."""
    return text.upper()


async def test_declarations_for_every_provider() -> None:
    with temporary_workspace() as root:
        async with Session(root) as session:
            assert {one["name"] for one in session.declarations("anthropic")} == set(session.tools.names())
            assert session.declarations("anthropic")[0]["input_schema"]["type"] == "object"
            assert "parametersJsonSchema" in session.declarations("gemini")[0]
            assert session.declarations("openai")[0]["type"] == "function"
            assert session.declarations("mcp")[0]["annotations"]["readOnlyHint"] is True
            with pytest.raises(ValueError, match="one of gemini"):
                session.declarations("copilot")  # type: ignore[arg-type]


async def test_wrong_use_raises_an_error_that_explains_it() -> None:
    with pytest.raises(SessionError, match="There is no dialect"):
        Session(".", dialect="klingon")
    session = Session(".")
    await session.close()
    with pytest.raises(SessionError, match="closed"):
        await session.call("ls")


def test_closing_the_blocking_session_cancels_submitted_calls(tmp_path: Path) -> None:
    blocking = BlockingSession(Session(tmp_path))
    work = blocking.submit(asyncio.Event().wait())
    blocking.close()
    assert work.cancelled()


def test_the_blocking_twin_works_in_any_thread(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    with Session(tmp_path).sync() as session:
        results = []
        threads = [
            threading.Thread(target=lambda: results.append(session.call("read", {"path": "a.txt"})))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [result.ok for result in results] == [True] * 8
        assert len(session.history) == 8
        assert session.call_many([("ls", {}), ("ls", {})])[1].ok
    assert "nbtools" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(SessionError, match="closed"):
        session.call("ls")


async def test_two_sessions_live_side_by_side(tmp_path: Path) -> None:
    async with Session(tmp_path) as one, Session(tmp_path) as two:
        await asyncio.gather(one.call("ls"), two.call("ls"))
        assert len(one.history) == len(two.history) == 1
        assert one.new_id() != two.new_id()


async def test_a_long_answer_of_any_tool_is_cut_and_kept_in_a_file_that_can_be_read() -> None:
    def tell(lines: int) -> str:
        """Tells much."""
        return "".join(f"line {number}\n" for number in range(lines))

    with temporary_workspace(FILES) as root:
        async with Session(
            root, tools=[*builtin_tools(Workspace(root)), tool(tell)], policy=Policy(allow=("tell",))
        ) as session:
            said = str((await session.call("tell", {"lines": 20_000})).llm_content)
            assert len(said) < 41_000
            path = re.findall(r"full text in (\S+)\]", said)[0]
            assert Path(path).read_text() == tell(20_000)


class Meddler:
    """Says yes, and before the first yes somebody else has changed the file."""

    def __init__(self, path: Path, *answers: ToolConfirmationOutcome) -> None:
        self.path = path
        self.answers = list(answers)
        self.asked: list[Confirmation] = []

    async def ask(self, confirmation: Confirmation) -> Answer:
        if not self.asked:
            self.path.write_text("theirs\nb\n")
        self.asked.append(confirmation)
        return Answer(self.answers.pop(0))


YES, NO = ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationOutcome.CANCEL


@pytest.mark.parametrize(("second", "content"), [(YES, "mine\n"), (NO, "theirs\nb\n")])
async def test_a_conflict_needs_approval_with_the_diff_to_the_current_file(
    second: ToolConfirmationOutcome, content: str
) -> None:
    with temporary_workspace({"f": "a\nb\n"}) as root:
        meddler, observer = Meddler(root / "f", YES, second), RecordingObserver()
        async with Session(root, confirmer=meddler, observers=[observer]) as session:
            result = await session.call("write", {"path": "f", "content": "mine\n"})
            assert result.ok is (second is YES)
        assert (root / "f").read_text() == content
        first, again = meddler.asked
        assert isinstance(again.details, ToolEditConfirmationDetails)
        assert again.details.original_content == "theirs\nb\n"
        assert again.details.note.startswith("Another program changed the file")
        assert (bool(first.offers), again.offers, again.decision.rule) == (
            True,
            (),
            "a conflict needs approval",
        )
        assert observer.states().count("executing") == (2 if second is YES else 1)


async def test_an_allowed_call_needs_approval_when_it_would_overwrite_later_changes() -> None:
    with temporary_workspace({"f": "a\n"}) as root:
        confirmer = ScriptedConfirmer(CANCEL)
        async with Session(root, policy=Policy(allow=("write",)), confirmer=confirmer) as session:
            await session.call("read", {"path": "f"})
            (root / "f").write_text("theirs\n")
            assert (await session.call("write", {"path": "f", "content": "mine\n"})).error is not None
            assert len(confirmer.asked) == 1
            session.confirmer = None
            refused = await session.call("write", {"path": "f", "content": "mine\n"})
            assert refused.error is not None
            assert refused.error.code is ErrorCode.CONFLICT
        assert (root / "f").read_text() == "theirs\n"


async def test_an_edit_that_does_not_fit_any_more_says_so_instead_of_asking() -> None:
    with temporary_workspace({"f": "a\nb\n"}) as root:
        meddler = Meddler(root / "f", YES)
        async with Session(root, confirmer=meddler) as session:
            result = await session.call("edit", {"path": "f", "old": "a\n", "new": "c\n"})
        assert result.error is not None
        assert result.error.code is ErrorCode.CONFLICT
        assert (root / "f").read_text() == "theirs\nb\n"


async def test_a_call_cancelled_at_the_moment_of_its_approval_starts_nothing() -> None:
    with temporary_workspace({}) as root:
        session = Session(root)

        class Both:
            async def ask(self, confirmation: Confirmation) -> Answer:
                session.cancel(confirmation.call_id)
                return Answer(ToolConfirmationOutcome.PROCEED_ONCE)

        session.confirmer = Both()
        async with session:
            result = await session.call("write", {"path": "a.txt", "content": "x"})
        assert result.error is not None
        assert result.error.code == "cancelled"
        assert not (root / "a.txt").exists()


def test_a_new_session_loads_only_what_every_session_needs(tmp_path: Path) -> None:
    late = (
        "processes.terminal",
        "processes.background",
        "processes.sandbox",
        "history.snapshots",
        "discovered_tools",
        "scheduler.hooks",
    )
    code = f"""
import sys
from nbtools import Session
Session({str(tmp_path)!r})
print([name for name in sys.modules if name.startswith("nbtools.") and name.endswith({late!r})])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


async def test_a_guarded_call_takes_few_function_calls(tmp_path: Path) -> None:
    """The cost of a call is the Python code that it executes,
    and this measure of it does not depend on the machine.
    """
    session = Session(tmp_path, tools=[NoOpTool()])
    await session.call("noop", {"word": "x"})
    calls: list[str] = []

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(count)
    try:
        await session.call("noop", {"word": "x"})
    finally:
        sys.setprofile(None)
    assert len(calls) <= 64, calls


async def test_a_call_that_touches_no_file_asks_the_file_system_for_nothing(tmp_path: Path) -> None:
    """The cost of a call does not depend on the depth or the disk of the workspace."""

    @tool(kind="read")
    async def noop(word: str) -> str:
        return word

    folder = tmp_path.joinpath(*"abcdefghijkl")
    folder.mkdir(parents=True)
    asked: list[str] = []

    def notice(_: FrameType, event: str, function: Any) -> None:
        if (
            event == "c_call"
            and function.__module__ == "posix"
            and function.__name__ not in ("getpid", "fspath")
        ):
            asked.append(function.__name__)

    async with Session(folder, tools=[noop], settings=Settings(record=False)) as session:
        for dialect in dialect_names():
            session.dialect = dialect
            await session.call("noop", {"word": "loads what is loaded lazily"})
            sys.setprofile(notice)
            try:
                result = await session.call("noop", {"word": "now"})
            finally:
                sys.setprofile(None)
            assert (dialect, result.llm_content, asked) == (dialect, "now", [])


async def test_services_of_a_workspace_are_created_once_by_any_thread(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    names = ("terminals", "jobs", "sandbox", "command_snapshots")
    with ThreadPoolExecutor(8) as threads:
        for name in names:
            assert (
                len(
                    {id(one) for one in threads.map(lambda _, name=name: getattr(workspace, name), range(64))}
                )
                == 1
            )
    await workspace.close()
