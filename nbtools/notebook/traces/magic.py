"""The ``%trace`` magic."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand
from IPython.display import publish_display_data

from nbtools.cards.tables import Sheet
from nbtools.core.errors import NbtoolsError, TraceError
from nbtools.notebook.magics.command_line import HelpRequested
from nbtools.notebook.traces.magic_arguments import (
    ListLeftOut,
    ListSessions,
    OpenLog,
    ReplayLog,
    TraceCommand,
    parse_line,
)
from nbtools.traces.log_arguments import CompareLogs

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.notebook.displayhook import DeduplicatingDisplayHook
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.notebook.traces.stepping import SteppedReplay
    from nbtools.replay.replayed import Replayed
    from nbtools.traces.comparison.comparison import Comparison
    from nbtools.traces.explorer.explorer import Explorer
    from nbtools.traces.session_list.view import SessionList
    from nbtools.traces.trace import Trace

T = TypeVar("T")
TraceValue: TypeAlias = "Explorer | SessionList | Comparison | Replayed | SteppedReplay | None"


@magics_class
class TraceMagics(Magics):
    """Opens, compares and replays session logs.  Every error is shown as a card."""

    def __init__(
        self, shell: InteractiveShell, runtime: NotebookRuntime, display_hook: DeduplicatingDisplayHook
    ) -> None:
        super().__init__(shell)
        self._runtime = runtime
        self._display_hook = display_hook

    @no_var_expand
    @line_magic
    def trace(self, line: str) -> TraceValue:
        """Opens, compares or replays the session logs of coding agents:
        ``%trace ~/.claude/projects/…/session.jsonl``.

        ::

            %trace                         lists the sessions of all agents on this machine;
                                           s = %trace gives access to it: s.sessions
            %trace codex                   lists those of an agent
            %trace PROJECT                 lists those of a project: a folder, its name, or a part of its
                                           path; %trace codex PROJECT: those of both
                --agent NAME               only the sessions of an agent
                --since 7d                 only those that changed since then; also 12h, yesterday,
                                           2026-11-01
                --search TEXT              only those in which a text occurs
                --limit 100, --all         so many rows, where no page lists them all
                --left-out                 the files that are not listed, with the reason
            %trace 41                      opens the session with this number in the list of %trace;
                                           %trace codex 3: the third of that list; %trace ./41: a file
            %trace latest                  opens the session that changed last;
                                           latest claude: of an agent; latest PROJECT: of a project
            %trace LOG                     opens a log; t = %trace LOG gives access to it:
                                           t.trace has sessions, calls, events
            %trace LOG --step 46           opens it at a step
            %trace LOG --replay 46         runs that call again in a temporary copy and compares the results
            %trace LOG --replay 46-52      runs a range in one copy, up to the first different result
                                           (steps = %trace … gives access to it: steps.run(),
                                           steps.step(new="…"), steps.skip(), steps.root, steps.close())
                --in FOLDER                the folder or checkout to copy in place of the session's folder
                --at COMMIT                the commit to check out in the copy
                --cwd FOLDER               the session's folder, if the log does not record it
            %trace A B C …                 compares up to 20 logs: totals, outcomes, and where each
                                           parts; a pattern such as runs/*.jsonl
                --check "command pytest"   a column of outcomes: did the last one pass? Also label
                                           NAME, verdict, tests, answer, file PATH contains TEXT,
                                           file PATH changed, file PATH same
                --baseline B               the log with which the others are aligned

        A single path with spaces needs no quotes.
        """
        try:
            return self._run(parse_line(line))
        except HelpRequested:
            _show(Sheet(inspect.getdoc(TraceMagics.trace) or "").bundle())
        except NbtoolsError as error:
            from nbtools.cards.card import bundle  # noqa: PLC0415 - loaded on first use
            from nbtools.traces.explorer.recorded_card import line_error_card  # noqa: PLC0415 - as above

            _show(bundle(line_error_card(line, error)))
        return None

    def _run(self, command: TraceCommand) -> TraceValue:
        from nbtools.traces.explorer.explorer import (  # noqa: PLC0415 - log readers are loaded on first use
            open_trace,
        )

        match command:
            case OpenLog():
                return _load_or_show(command.log, lambda: open_trace(command.log, step=command.step or None))
            case CompareLogs():
                return _compare(command)
            case ListSessions():
                from nbtools.traces.session_list.view import INITIAL_ROWS, SessionList  # noqa: PLC0415 - as above

                return SessionList(command.chosen, command.limit or INITIAL_ROWS)
            case ListLeftOut():
                from nbtools.traces.session_list.session_words import left_out_table  # noqa: PLC0415 - as above

                _show(Sheet(left_out_table()).bundle())
                return None
            case ReplayLog():
                return self._replay(command)

    def _replay(self, command: ReplayLog) -> Replayed | SteppedReplay | None:
        from nbtools.notebook.traces.replay_magic import (  # noqa: PLC0415 - as above
            ReplayMagic,
            ReplayOptions,
        )
        from nbtools.traces.explorer.explorer import open_trace  # noqa: PLC0415 - as above

        explorer = _load_or_show(command.log, lambda: open_trace(command.log))
        if explorer is None:
            return None
        replay, where = (
            ReplayMagic(self._runtime, self._display_hook.remember),
            ReplayOptions(command.folder, command.commit, command.cwd),
        )
        if command.last:
            return replay.replay_range(explorer, command.first, command.last, where)
        return replay.replay_step(explorer, command.first, where)


def _load_or_show(log: str, load: Callable[[], T]) -> T | None:
    """Returns the result of ``load``; if ``log`` cannot be opened, shows an error card and returns None."""
    try:
        return load()
    except TraceError as error:
        from nbtools.cards.card import bundle  # noqa: PLC0415 - loaded on first use
        from nbtools.traces.explorer.recorded_card import open_error_card  # noqa: PLC0415 - as above

        _show(bundle(open_error_card(log, error)))
        return None


def _compare(command: CompareLogs) -> Comparison | None:
    from nbtools.traces.comparison.comparison import compare  # noqa: PLC0415 - as above
    from nbtools.traces.trace import load  # noqa: PLC0415 - as above

    traces: list[Trace] = []
    for log in command.logs:
        trace = _load_or_show(log, partial(load, log))
        if trace is None:
            return None
        traces.append(trace)
    return compare(*traces, baseline=command.baseline, checks=command.checks)


def _show(bundle: dict[str, str] | dict[str, object]) -> None:
    publish_display_data(bundle)  # type: ignore[no-untyped-call]
