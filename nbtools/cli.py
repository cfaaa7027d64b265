"""``nbtools lab | enable | disable | doctor`` on the command line."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from nbtools.notebook.doctor import findings
from nbtools.notebook.profile import disable, enable


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 fine, 1 something is missing, 2 not understood."""
    parser = argparse.ArgumentParser(prog="nbtools", description="The tools that coding agents work with, guarded, in a Jupyter notebook.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    lab = commands.add_parser("lab", help="open this environment's JupyterLab; takes its options", add_help=False)
    lab.set_defaults(run=_lab)
    for name, run, says in _PLAIN:
        commands.add_parser(name, help=says, description=says).set_defaults(run=run)
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "lab":
        parser.error(f"{options.command} takes no arguments, but got {' '.join(rest)}")
    code: int = options.run(rest)
    return code


def _lab(rest: Sequence[str]) -> int:
    """Becomes JupyterLab, and returns only where it is not installed."""
    program = shutil.which("jupyter-lab", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if program is None:
        print("JupyterLab is not here: pip install jupyterlab", file=sys.stderr)
        return 1
    print("In a notebook: %load_ext nbtools. For every notebook: nbtools enable.", flush=True)
    return os.execv(program, [program, *rest])  # noqa: S606 - the command's very purpose


def _enable(_: Sequence[str]) -> int:
    path, new = enable()
    print(f"Every new kernel loads nbtools: {path}" if new else f"Already enabled: {path}")
    return 0


def _disable(_: Sequence[str]) -> int:
    path, was = disable()
    print(f"Kernels no longer load nbtools by themselves: {path} is gone" if was else "It was not enabled.")
    return 0


def _doctor(_: Sequence[str]) -> int:
    found = findings()
    width = max(len(finding.name) for finding in found)
    for finding in found:
        print(f"{'ok     ' if finding.ok else 'missing'}  {finding.name.ljust(width)}  {finding.detail}")
        if not finding.ok:
            print(f"{' ' * (width + 11)}{finding.remedy}")
    return 0 if all(finding.ok for finding in found) else 1


_PLAIN: tuple[tuple[str, Callable[[Sequence[str]], int], str], ...] = (
    ("enable", _enable, "load nbtools in every kernel of this IPython profile"),
    ("disable", _disable, "take that back"),
    ("doctor", _doctor, "say what is installed, what is missing, and how to mend it"),
)
