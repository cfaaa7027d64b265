"""Make the virtual environment and install nbtools into it for development: ``environment.py .venv``.

Runs with the machine's Python.  Exits with one line that says what to install when the machine cannot make one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def create(venv: Path) -> bool:
    """Whether the environment with its pip is there in the end."""
    if not (venv / "bin" / "pip").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], capture_output=True, check=False)
    return (venv / "bin" / "pip").exists()


def add_venv_package() -> None:
    """Debian and Ubuntu keep Python's venv in a package of its own."""
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for step in (["update"], ["install", "-y", package]):
            subprocess.run(["apt-get", "-q", *step], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)


def install(venv: Path) -> int:
    """Installs this checkout, editable, with what its tests need; pip's exit code."""
    print("Installing nbtools and its packages into", venv, flush=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    return subprocess.run([*pip, "install", "--quiet", "--editable", ".[test]"], check=False).returncode


def main() -> int:
    venv = Path(sys.argv[1])
    if not create(venv):
        add_venv_package()
    if not create(venv):
        print(
            f"{sys.executable} cannot make a virtual environment: install python3-venv (on Debian and Ubuntu) and try again",
            file=sys.stderr,
        )
        return 1
    return install(venv)


if __name__ == "__main__":
    raise SystemExit(main())
