"""``nbtools lab | enable | disable | doctor | trace | mcp`` on the command line."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from nbtools.core.errors import TraceError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 fine, 1 something is missing, 2 not understood."""
    parser = argparse.ArgumentParser(prog="nbtools", description="The tools that coding agents work with, guarded, in a Jupyter notebook.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    lab = commands.add_parser("lab", help="open this environment's JupyterLab; takes its options", add_help=False)
    lab.set_defaults(run=_lab)
    for name, run, says in _PLAIN:
        commands.add_parser(name, help=says, description=says).set_defaults(run=run)
    _add_trace(commands.add_parser("trace", help=_TRACE, description=_TRACE))
    _add_mcp(commands.add_parser("mcp", help=_MCP, description=_MCP_MORE))
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "lab":
        parser.error(f"{options.command} does not know {' '.join(rest)}")
    options.rest = rest
    code: int = options.run(options)
    return code


def _add_trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="a session's log: of Claude Code, Codex, Gemini CLI, SWE-agent, OpenHands and others")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--search", metavar="TEXT", help="only the steps in whose text, arguments or output this stands")
    does.add_argument("--json", action="store_true", help="what can be counted of it, as JSON")
    does.add_argument("--notebook", metavar="FILE", help="write it as a notebook in which each call can be run")
    parser.set_defaults(run=_trace)


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", metavar="FOLDER", default="", help="what the tools work on; else the project around this folder")
    parser.add_argument("--dialect", metavar="NAME", default="nbtools", help="as whose tools they are named: nbtools, claude, gemini, void")
    parser.add_argument(
        "--http", metavar="PORT", nargs="?", type=int, const=0, help="over HTTP, on this machine only, instead of standard input and output"
    )
    parser.add_argument("--token", default="", help="what a client over HTTP must show; else $NBTOOLS_MCP_TOKEN, else one is made")
    parser.set_defaults(run=_mcp)


def _lab(options: argparse.Namespace) -> int:
    """Becomes JupyterLab, and returns only where it is not installed."""
    program = shutil.which("jupyter-lab", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if program is None:
        print("JupyterLab is not here: pip install jupyterlab", file=sys.stderr)
        return 1
    print("In a notebook: %load_ext nbtools. For every notebook: nbtools enable.", flush=True)
    return os.execv(program, [program, *options.rest])  # noqa: S606 - the command's very purpose


def _enable(_: argparse.Namespace) -> int:
    from nbtools.notebook.profile import enable  # noqa: PLC0415 - IPython: nothing that a server should wait for

    path, new = enable()
    print(f"Every new kernel loads nbtools: {path}" if new else f"Already enabled: {path}")
    return 0


def _disable(_: argparse.Namespace) -> int:
    from nbtools.notebook.profile import disable  # noqa: PLC0415 - as above

    path, was = disable()
    print(f"Kernels no longer load nbtools by themselves: {path} is gone" if was else "It was not enabled.")
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from nbtools.notebook.doctor import findings  # noqa: PLC0415 - as above

    found = findings()
    width = max(len(finding.name) for finding in found)
    for finding in found:
        print(f"{'ok     ' if finding.ok else 'missing'}  {finding.name.ljust(width)}  {finding.detail}")
        if not finding.ok:
            print(f"{' ' * (width + 11)}{finding.remedy}")
    return 0 if all(finding.ok for finding in found) else 1


def _trace(options: argparse.Namespace) -> int:
    from nbtools.notebook.trace import terminal  # noqa: PLC0415 - the other commands read no logs

    try:
        if options.json:
            print(terminal.counted(options.log))
        elif options.notebook:
            print(terminal.written(options.log, options.notebook))
        else:
            lines = terminal.found(options.log, options.search) if options.search else terminal.told(options.log)
            print("\n".join(lines), flush=True)
    except TraceError as error:
        print(terminal.problem(error), file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read it has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _mcp(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("mcp") is None:
        print('MCP needs its SDK: pip install "nbtools-agent[mcp]"', file=sys.stderr)
        return 1
    from nbtools.serving.command import Wish, run  # noqa: PLC0415 - the other commands serve nothing

    return run(Wish(options.workspace, options.dialect, options.http, options.token))


_MCP = "offer the tools to any MCP client, with the person approving in a notebook"
_MCP_MORE = (
    f"{_MCP[0].upper()}{_MCP[1:]}: in the one in which %tools serve was run last on this workspace. With none open the rules "
    "decide, and what must be asked is denied."
)
_TRACE = "print what a coding agent did, step by step, from its log"
_PLAIN: tuple[tuple[str, Callable[[argparse.Namespace], int], str], ...] = (
    ("enable", _enable, "load nbtools in every kernel of this IPython profile"),
    ("disable", _disable, "take that back"),
    ("doctor", _doctor, "say what is installed, what is missing, and how to mend it"),
)
