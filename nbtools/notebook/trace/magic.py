"""``%trace``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand
from IPython.display import publish_display_data

from nbtools.core.errors import NbtoolsError, TraceError
from nbtools.notebook.sheets import Sheet
from nbtools.notebook.trace.asked import FLAGS, Asked, Compare, Look, Replay, asked

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.notebook.shown import Shown
    from nbtools.notebook.trace.opening import Explorer
    from nbtools.notebook.trace.stepping import Stepping
    from nbtools.notebook.workbench import Workbench
    from nbtools.replay.replay import Replayed
    from nbtools.traces.compare import Comparison

T = TypeVar("T")
_USAGE = Sheet(
    title="%trace LOG\nOpens what a coding agent did: the log of Claude Code, Codex, Gemini CLI, SWE-agent, OpenHands, Inspect and others.",
    rows=(
        ("%trace LOG", "opens it; t = %trace LOG keeps it: t.trace has its sessions, calls and events"),
        ("%trace LOG --step 46", "opens it at a step"),
        ("%trace LOG --replay 46", "runs that call again in a copy that is thrown away, and compares the results"),
        ("steps = %trace LOG --replay 46-52", "runs a range in one copy, to where results part: steps.run(), .step(…), .skip(), .close()"),
        ("%trace A B", "compares two logs of one task"),
        *((f"--{name}", text) for name, text in FLAGS.items()),
    ),
)


@magics_class
class TraceMagics(Magics):
    """Opens logs.  Whatever goes wrong is a calm card."""

    def __init__(self, shell: InteractiveShell, bench: Workbench, shown: Shown) -> None:
        super().__init__(shell)
        self._bench = bench
        self._shown = shown

    @no_var_expand
    @line_magic
    def trace(self, line: str) -> Explorer | Comparison | Replayed | Stepping | None:
        """Look at what an agent did: ``%trace ~/.claude/projects/…/session.jsonl``.

        ::

            %trace LOG                     opens it; t = %trace LOG keeps it: t.trace has its sessions, calls, events
            %trace LOG --step 46           opens it at a step
            %trace LOG --replay 46         runs that call again in a copy that is thrown away, recorded beside new
            %trace LOG --replay 46-52      runs a range in one copy, to where results part (steps = %trace … keeps it:
                                           steps.run(), steps.step(new="…"), steps.skip(), steps.root, steps.close())
                --in FOLDER                the folder or checkout that stands for the session's
                --at COMMIT                the commit that is checked out in the copy
                --cwd FOLDER               the session's folder, where the log does not say it
            %trace A B                     compares two logs of one task

        A path with spaces needs no quotes where it is the only one.
        """
        try:
            found = asked(line)
            if found is not None:
                return self._done(found)
            _show(_USAGE.bundle())
        except NbtoolsError as error:
            _refuse(line, error)
        return None

    def _done(self, found: Asked) -> Explorer | Comparison | Replayed | Stepping | None:
        from nbtools.notebook.trace.opening import open_trace  # noqa: PLC0415 - readers of logs are not loaded before there is one

        match found:
            case Look():
                return _opened(found.log, lambda: open_trace(found.log, step=found.step or None))
            case Compare():
                return _compared(found)
            case Replay():
                return self._again(found)

    def _again(self, found: Replay) -> Replayed | Stepping | None:
        from nbtools.notebook.trace.again import Again, Where  # noqa: PLC0415 - as above
        from nbtools.notebook.trace.opening import open_trace  # noqa: PLC0415 - as above

        explorer = _opened(found.log, lambda: open_trace(found.log))
        if explorer is None:
            return None
        again, where = Again(self._bench, self._shown.remember), Where(found.folder, found.commit, found.cwd)
        if found.last:
            return again.several(explorer, found.first, found.last, where)
        return again.one(explorer, found.first, where)


def _refuse(line: str, error: NbtoolsError) -> None:
    from nbtools.notebook.bundle import bundle  # noqa: PLC0415 - cards are drawn when there is one
    from nbtools.notebook.trace.unopened import refused  # noqa: PLC0415 - as above

    _show(bundle(refused(line, error)))


def _opened(log: str, load: Callable[[], T]) -> T | None:
    """What ``load`` gives; where ``log`` cannot be opened, that is shown."""
    try:
        return load()
    except TraceError as error:
        from nbtools.notebook.bundle import bundle  # noqa: PLC0415 - cards are drawn when there is one
        from nbtools.notebook.trace.unopened import unopened  # noqa: PLC0415 - as above

        _show(bundle(unopened(log, error)))
        return None


def _compared(found: Compare) -> Comparison | None:
    from nbtools.traces.compare import compare  # noqa: PLC0415 - as above
    from nbtools.traces.trace import load  # noqa: PLC0415 - as above

    a, b = _opened(found.a, lambda: load(found.a)), _opened(found.b, lambda: load(found.b))
    return None if a is None or b is None else compare(a, b, logs=(found.a, found.b))


def _show(bundle: dict[str, str] | dict[str, object]) -> None:
    publish_display_data(bundle)  # type: ignore[no-untyped-call]
