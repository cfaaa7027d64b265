"""Command line: ``nbtools lab | enable | disable | doctor | trace | mcp``."""

from __future__ import annotations

import argparse
import importlib.util
import os
import select
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import nbtools
from nbtools.core.errors import ToolFailure, TraceError
from nbtools.traces.log_arguments import LIST_FLAGS, listed_rows, refuse_list_flags, refuse_with_left_out


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code:
    0 success, 1 failure or something is missing, 2 usage error.
    """
    parser = command_line_parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "lab":
        parser.error(f"unrecognized arguments of {options.command}: {' '.join(rest)}")
    options.rest = rest
    code: int = options.run(options)
    return code


def command_line_parser() -> argparse.ArgumentParser:
    """Returns the parser of the program ``nbtools``."""
    parser = argparse.ArgumentParser(
        prog="nbtools", description="The tools of coding agents for Jupyter notebooks, guarded by a policy."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    lab = commands.add_parser(
        "lab", help="start this environment's JupyterLab; further options are passed on to it", add_help=False
    )
    lab.set_defaults(run=_lab)
    for name, run, summary in _SIMPLE_COMMANDS:
        commands.add_parser(name, help=summary, description=summary).set_defaults(run=run)
    _add_trace(commands.add_parser("trace", help=_TRACE, description=_TRACE))
    _add_mcp(commands.add_parser("mcp", help=_MCP, description=_MCP_DESCRIPTION))
    return parser


def _add_trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log",
        metavar="LOG",
        nargs="*",
        help=(
            "a session log of any agent, or 2 to 20 to compare; latest, or latest with an agent or a project:"
            " the session that changed last; an agent, a project (its folder, or a part of its path), or"
            " both: their sessions; nothing: all sessions on this machine; a number: the session with it in"
            " the list, of all or of the words before (./41 is a file)"
        ),
    )
    _add_list_flags(parser)
    _add_output_flags(parser)
    _add_comparison_flags(parser)
    _add_learner_flags(parser)
    parser.set_defaults(run=_trace)


def _add_list_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="AGENT", default="", help=LIST_FLAGS["agent"])
    parser.add_argument("--since", metavar="WHEN", default="", help=LIST_FLAGS["since"])
    parser.add_argument("--limit", metavar="N", type=int, help=f"{LIST_FLAGS['limit']} (default: 40)")
    parser.add_argument("--all", action="store_true", help=LIST_FLAGS["all"])
    parser.add_argument("--paths", action="store_true", help="list the sessions with the paths of their logs")
    parser.add_argument("--left-out", action="store_true", help=LIST_FLAGS["left_out"])
    parser.add_argument(
        "--search",
        metavar="TEXT",
        help=(
            "only the steps whose text, arguments or output contain TEXT; without a LOG, the sessions with"
            " such steps"
        ),
    )
    parser.add_argument(
        "--totals",
        choices=("day", "project", "model", "agent"),
        help="without a LOG: add up sessions, calls, tokens and cost by day, project, model or agent",
    )


def _add_output_flags(parser: argparse.ArgumentParser) -> None:
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print counts and totals as JSON")
    output.add_argument(
        "--notebook", metavar="FILE", help="write the log as a notebook in which each call can be run again"
    )
    output.add_argument(
        "--follow",
        action="store_true",
        help="print the last steps, then each new one as the log is written; Ctrl+C ends",
    )
    output.add_argument("--add", metavar="FOLDER", help="list the session logs in FOLDER, too, from now on")
    output.add_argument(
        "--html", metavar="FILE", help="write the session as one HTML file to share, without secrets"
    )
    output.add_argument(
        "--export",
        metavar=("FORMAT", "FILE"),
        nargs="+",
        help=(
            "write the log in the format atif, claude, scout, csv, parquet or html, without secrets; csv and"
            " parquet are a folder of tables, without FILE it is named after the log"
        ),
    )
    parser.add_argument(
        "--redact",
        metavar="FILE",
        default="",
        help="with --html, --export and --share: regular expressions of further secrets, one a line",
    )


def _add_comparison_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check",
        metavar="CHECK",
        action="append",
        default=[],
        help=(
            "with several logs: a column of outcomes, such as tests, "
            "'command pytest', 'label NAME', 'file PATH contains TEXT'; may be given several times"
        ),
    )
    parser.add_argument(
        "--baseline",
        metavar="LETTER",
        default="",
        help="with several logs: the one with which the others are aligned, A for the first",
    )


def _add_learner_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--learners",
        metavar="FOLDER",
        help="the work of learners, a folder for each with session logs and notebooks, as a table",
    )
    parser.add_argument(
        "--rubric",
        metavar="FILE",
        help="with --learners: a code book with the criteria (default: that of the project or the person)",
    )
    parser.add_argument(
        "--share",
        metavar="FOLDER",
        help="with --learners: write one HTML file for each learner into FOLDER, without secrets",
    )


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace",
        metavar="FOLDER",
        default="",
        help="the workspace (default: the project that contains the current folder)",
    )
    parser.add_argument(
        "--dialect",
        metavar="NAME",
        default="nbtools",
        help="names and parameters of the tools: nbtools, claude, codex, gemini or void",
    )
    parser.add_argument(
        "--http",
        metavar="PORT",
        nargs="?",
        type=int,
        const=0,
        help="serve over HTTP, on this machine only, not over stdin and stdout",
    )
    parser.add_argument(
        "--token",
        default="",
        help="the token HTTP clients must send (default: $NBTOOLS_MCP_TOKEN, else a new one)",
    )
    parser.set_defaults(run=_mcp)


def _lab(options: argparse.Namespace) -> int:
    """Replaces this process with JupyterLab; returns only where it is not installed."""
    program = shutil.which(
        "jupyter-lab", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    )
    if program is None:
        print(
            'JupyterLab is not installed in this environment: pip install "nbtools-agent[lab]"',
            file=sys.stderr,
        )
        return 1
    print("In a notebook: %load_ext nbtools. For every notebook: nbtools enable.", flush=True)
    return os.execv(program, [program, *options.rest])  # noqa: S606 - the purpose of this command


def _enable(_: argparse.Namespace) -> int:
    from nbtools.notebook.profile import (  # noqa: PLC0415 - loads IPython, which the MCP server does not need
        enable,
    )

    path, created = enable()
    print(f"Every new kernel now loads nbtools: {path}" if created else f"Already enabled: {path}")
    return 0


def _disable(_: argparse.Namespace) -> int:
    from nbtools.notebook.profile import disable  # noqa: PLC0415 - as above

    path, removed = disable()
    print(f"New kernels no longer load nbtools (removed {path})." if removed else "nbtools was not enabled.")
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from nbtools.notebook.doctor import findings  # noqa: PLC0415 - as above

    checks = findings()
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"{'ok     ' if check.ok else 'missing'}  {check.name.ljust(width)}  {check.detail}")
        if not check.ok:
            print(f"{' ' * (width + 11)}{check.remedy}")
    return 0 if all(check.ok for check in checks) else 1


def _trace(options: argparse.Namespace) -> int:
    from nbtools.traces.comparison.terminal import (  # noqa: PLC0415 - only this command reads logs
        compared,
        is_comparison,
    )
    from nbtools.traces.explorer.export import terminal  # noqa: PLC0415 - as above
    from nbtools.traces.session_list.session_words import (  # noqa: PLC0415 - as above
        DEFAULT_ROWS,
        add_folder,
        left_out_note,
        left_out_table,
        selected,
        session_table,
    )
    from nbtools.traces.session_list.totals_text import totals_table  # noqa: PLC0415 - as above

    try:
        if options.add:
            print(add_folder(options.add))
            return 0
        if options.learners:
            from nbtools.traces.submissions.terminal import learners_output  # noqa: PLC0415 - as above

            print(learners_output(options), flush=True)
            return 0
        _refuse_learner_options(options)
        if options.left_out:
            refuse_with_left_out(options.log, {name: getattr(options, name) for name in _NOT_WITH_LEFT_OUT})
            print(left_out_table(as_json=options.json), flush=True)
            return 0
        rows = listed_rows(options.limit, -1 if options.json else DEFAULT_ROWS, all_rows=options.all)
        found = selected(options.log, agent=options.agent, since=options.since, text=options.search or "")
        _refuse_list_options(options, found)
        if found is not None and not isinstance(found, tuple):
            _refuse_log_options(options)
            print(
                totals_table(found, options.totals, as_json=options.json)
                if options.totals
                else session_table(found, rows, as_json=options.json, paths=options.paths),
                flush=True,
            )
            if options.json and (note := left_out_note()):
                print(note, file=sys.stderr)
        else:
            flags = {"limit": options.limit is not None, "all": options.all, "paths": options.paths}
            refuse_list_flags(flags, options.log[0])
            options.log = [*found] if found else options.log
            if is_comparison(options.log):
                print(compared(options), flush=True)
            else:
                _print_log(options.log[0], options)
    except (TraceError, ToolFailure) as error:
        print(terminal.error_text(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0 if options.follow else 130
    except BrokenPipeError:  # the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _refuse_learner_options(options: argparse.Namespace) -> None:
    """Raises ``TraceError`` for an option that needs a folder of learners' work."""
    stray = next((name for name in ("rubric", "share") if getattr(options, name)), None)
    if stray is not None:
        raise TraceError(
            f"--{stray} is for the work of learners: nbtools trace --learners FOLDER --{stray} …"
        )


def _refuse_list_options(options: argparse.Namespace, found: object) -> None:
    """Raises ``TraceError`` for an option that needs a list of sessions, where a log is named."""
    if options.totals and (found is None or isinstance(found, tuple)):
        raise TraceError(f"--totals adds up sessions of the list, and {options.log[0]} is a log.")
    stray = next((name for name in ("limit", "all", "paths") if getattr(options, name)), None)
    if options.totals and stray is not None:
        raise TraceError(f"--totals adds up all selected sessions: it takes no --{stray}.")


def _refuse_log_options(options: argparse.Namespace) -> None:
    """Raises ``TraceError`` for an option that needs a log, where a list of sessions is selected."""
    _refuse_comparison_options(options)
    stray = next((name for name in _LOG_OPTIONS if getattr(options, name)), None)
    if stray is not None:
        raise TraceError(
            f"--{stray} takes a log: name its path, or latest, as in nbtools trace latest --{stray}"
            f"{'' if stray == 'follow' else ' FILE'}. Without one, sessions are listed."
        )


def _refuse_comparison_options(options: argparse.Namespace) -> None:
    """Raises ``TraceError`` for an option that needs several logs."""
    stray = next((name for name in ("check", "baseline") if getattr(options, name)), None)
    if stray is not None:
        raise TraceError(f"--{stray} compares logs: name at least two.")


def _print_log(log: str, options: argparse.Namespace) -> None:
    """Prints or writes what the options name.  Raises ``TraceError``."""
    _refuse_comparison_options(options)
    stray = next(
        (name for name in ("json", "notebook", "follow", "html", "export") if getattr(options, name)), None
    )
    if options.search and stray:
        print(f"nbtools trace: --search of a log is not allowed with --{stray}", file=sys.stderr)
        raise SystemExit(2)
    from nbtools.traces import load  # noqa: PLC0415 - only this command reads logs
    from nbtools.traces.explorer.export import terminal  # noqa: PLC0415 - only this command reads logs

    if options.json:
        print(terminal.facts_json(log))
    elif options.follow:
        for line in terminal.followed_steps(log, _is_read):
            print(line, flush=True)
    elif options.html or options.export:
        path, removed = terminal.exported(
            log, *(options.export or ("html", options.html)), patterns=options.redact
        )
        print("\n".join(removed), file=sys.stderr)
        print(path)
    elif options.notebook:
        print(nbtools.to_notebook(load(log), options.notebook))
    else:
        lines = (
            terminal.matching_steps(log, options.search) if options.search else terminal.summary_lines(log)
        )
        print("\n".join(lines), flush=True)


def _is_read() -> bool:
    """Returns whether somebody can still read the output: a pipe whose reader has ended has an error."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)
    return not output.poll(0)


def _mcp(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("mcp") is None:
        print('The MCP SDK is not installed: pip install "nbtools-agent[mcp]"', file=sys.stderr)
        return 1
    from nbtools.mcp.server.command import (  # noqa: PLC0415 - only this command needs the server
        ServeOptions,
        run,
    )

    return run(ServeOptions(options.workspace, options.dialect, options.http, options.token))


_MCP = "offer the tools to any MCP client; a person approves calls in a notebook"
_MCP_DESCRIPTION = (
    f"{_MCP[0].upper()}{_MCP[1:]}, the one in which %tools serve was last run for this workspace. Without an"
    " open notebook, the rules decide, and calls that need approval are denied."
)
_LOG_OPTIONS = ("notebook", "follow", "html", "export", "redact")
"""Options that need a log."""
_NOT_WITH_LEFT_OUT = (
    *("agent", "since", "limit", "all", "paths", "search", "totals", "check", "baseline"),
    *_LOG_OPTIONS,
)
_TRACE = "list the sessions of all coding agents on this machine, or print the steps of one"
_SIMPLE_COMMANDS: tuple[tuple[str, Callable[[argparse.Namespace], int], str], ...] = (
    ("enable", _enable, "load nbtools in every kernel of this IPython profile"),
    ("disable", _disable, "no longer load nbtools in every kernel"),
    ("doctor", _doctor, "report what is installed, what is missing, and how to fix it"),
)
