"""Create the virtual environment and install nbtools into it for development:
``environment.py .venv all,build``.

Runs with the machine's Python.  Installs with uv, which is installed into the environment first; with pip
where uv fails.  Exits with one line that says what to install when the machine cannot create a virtual
environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

# pip's settings by their names in uv, so that both use the same package indexes.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_EXTRA_INDEX_URL",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "trusted-host": "UV_INSECURE_HOST",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}


def create(venv: Path) -> bool:
    """Creates the environment with pip unless it exists; whether it exists now."""
    if not (venv / "bin" / "pip").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], capture_output=True, check=False)
    return (venv / "bin" / "pip").exists()


def add_venv_package() -> None:
    """Installs Debian's or Ubuntu's separate package for virtual environments."""
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for step in (["update"], ["install", "-y", package]):
            subprocess.run(
                ["apt-get", "-q", *step], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
            )


def uv_environment(pip_settings: str) -> dict[str, str]:
    """The environment for uv that corresponds to pip's settings,
    as ``pip config list`` prints them (``global.index-url='…'``).
    """
    found: dict[str, str] = {}
    for line in pip_settings.splitlines():
        name, separator, value = line.partition("=")
        variable = SETTINGS.get(name.rpartition(".")[2])
        if separator and variable:
            words = value.strip("'\"").split()
            found[variable] = ",".join(words) if variable == "UV_FIND_LINKS" else " ".join(words)
    return {name: value for name, value in found.items() if value and name not in os.environ}


def install(venv: Path, extras: str) -> int:
    """Installs this checkout, editable, with ``extras``; returns the exit code of the installer."""
    python = str(venv / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    target = ["--editable", f".[{extras}]"]
    if not (venv / "bin" / "uv").exists():
        subprocess.run([*pip, "install", "--quiet", "uv"], capture_output=True, check=False)
    if (venv / "bin" / "uv").exists():
        print(f"Installing nbtools[{extras}] and its packages into {venv}", flush=True)
        settings = subprocess.run(
            [*pip, "config", "list"], capture_output=True, text=True, check=False
        ).stdout
        command = [str(venv / "bin" / "uv"), "pip", "install", "--quiet", "--python", python]
        # As pip does, take the best version that any of the indexes has, and compile what is installed: where
        # Python is configured not to write bytecode (PYTHONDONTWRITEBYTECODE), every process would compile
        # every module it imports.
        command += ["--index-strategy", "unsafe-best-match", "--compile-bytecode"]
        done = subprocess.run(
            [*command, *target],
            env={**os.environ, **uv_environment(settings)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return 0
        print(
            f"uv failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}",
            file=sys.stderr,
            flush=True,
        )
    print(
        f"Installing nbtools[{extras}] and its packages into {venv} with pip (this takes a few minutes)",
        flush=True,
    )
    return subprocess.run([*pip, "install", "--quiet", *target], check=False).returncode


def main() -> int:
    venv, extras = Path(sys.argv[1]), sys.argv[2]
    if not create(venv):
        add_venv_package()
    if not create(venv):
        print(
            f"{sys.executable} cannot create a virtual environment: install python3-venv (on Debian and"
            " Ubuntu) and try again",
            file=sys.stderr,
        )
        return 1
    return install(venv, extras)


if __name__ == "__main__":
    raise SystemExit(main())
