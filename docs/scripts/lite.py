"""Builds JupyterLite with nbtools in it:
pages that read session logs in the browser, from files of the site alone.

``lite.py FOLDER`` writes the static files.  Pyodide (npm), its wheels and its kernel (PyPI) are downloaded
once, into ``docs/lite/node_modules`` and ``build/lite``; ``lite.py`` alone does only that.  When a step
fails, exits with its output.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from email import message_from_bytes
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "labextension" / "scripts"))
from front_end import environment  # noqa: E402 - beside the scripts of the front end

HERE = ROOT / "docs" / "lite"
SAMPLES = ROOT / "tests" / "traces" / "samples"
WORK = ROOT / "build" / "lite"
KERNEL_PACKAGE = "jupyterlite-pyodide-kernel==0.8.6"
PACKAGES = WORK / "packages"
"""Where the kernel's package is: in the environment, JupyterLab would load its extension,
which works in JupyterLite alone.
"""
OURS = Path(sys.prefix, "share", "jupyter", "labextensions", "nbtools-agent")
KERNEL = PACKAGES / "share" / "jupyter" / "labextensions" / "@jupyterlite" / "pyodide-kernel-extension"
LOGS = {
    "claude-code.log": "claude-code/external-agents--012dbfb0-86fd-41e2-baf6-29dd614f08e4.jsonl",
    "codex.log": "codex/external-agents--019dc116-c183-74f3-8f98-b4e5bd8eddfa.jsonl",
    "swe-agent.traj": "swe-agent/pydicom__pydicom-1458.traj",
}
"""The sample logs.  ``tests/traces/samples/SOURCES.md`` names their licences."""
CORE = ("pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide.mjs", "python_stdlib.zip")
COMPILED = "markupsafe"
"""Has wheels for other platforms only; without a compiler, its source becomes a wheel for any."""
OTHER_STUBS = ("jedi/third_party/django-stubs/", "jedi/third_party/typeshed/stubs/")
"""Types of packages that the page does not have, in nine tenths of jedi's files:
Pyodide takes two seconds to unpack them.
"""
_PLATFORM = (
    *("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14"),
    *("--implementation", "cp", "--abi", "cp314", "--abi", "none"),
)
_MARKERS = {
    "sys_platform": "emscripten",
    "platform_system": "Emscripten",
    "python_version": "3.14",
    "python_full_version": "3.14.2",
    "extra": "",
}


def run(command: Sequence[str | Path], cwd: Path = ROOT, **variables: str) -> None:
    """Runs a step; stays quiet unless it fails."""
    env = {**environment(), **variables}
    done = subprocess.run(  # noqa: S603
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{' '.join(map(str, command))} failed")


def download() -> None:
    """Fetches Pyodide from npm as it is locked, its kernel and the wheels of ``requirements.txt`` from PyPI,
    unless they are here.
    """
    wheels, listed = (
        WORK / "wheels",
        f"{KERNEL_PACKAGE}\n{(HERE / 'requirements.txt').read_text(encoding='utf-8')}",
    )
    stamp = wheels / "requirements.txt"
    if (
        stamp.exists()
        and stamp.read_text(encoding="utf-8") == listed
        and (HERE / "node_modules" / "pyodide").exists()
    ):
        return
    print("Downloading Pyodide and its wheels", flush=True)
    for folder in (wheels, PACKAGES):
        shutil.rmtree(folder, ignore_errors=True)
    wheels.mkdir(parents=True)
    lines = [line.partition("#")[0].strip() for line in listed.splitlines()[1:]]
    binary = [line for line in lines if line and not line.startswith(COMPILED)]
    source = [line for line in lines if line.startswith(COMPILED)]
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    with ThreadPoolExecutor(3) as pool:
        for step in (
            pool.submit(run, ("jlpm", "install", "--immutable"), HERE),
            pool.submit(
                run,
                (
                    *pip,
                    "download",
                    "--no-deps",
                    "--only-binary",
                    ":all:",
                    *_PLATFORM,
                    "--dest",
                    wheels,
                    *binary,
                ),
            ),
            pool.submit(run, (*pip, "install", "--no-deps", "--target", PACKAGES, KERNEL_PACKAGE)),
            pool.submit(
                run,
                (*pip, "wheel", "--no-deps", "--no-binary", ":all:", "--wheel-dir", wheels, *source),
                CC="false",
            ),
        ):
            step.result()
    stamp.write_text(listed, encoding="utf-8")


def assemble(folder: Path) -> None:
    """Writes Pyodide with all wheels, and a lock file that knows no others, into ``folder``."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pyodide = HERE / "node_modules" / "pyodide"
    for name in CORE:
        shutil.copy2(pyodide / name, folder)
    for wheel in (*(WORK / "wheels").glob("*.whl"), *(KERNEL / "static" / "pypi").glob("*.whl")):
        if wheel.name.startswith("jedi-"):
            copy_jedi(wheel, folder)
        elif not wheel.name.startswith("widgetsnbextension"):
            shutil.copy2(wheel, folder)
    run((sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder))
    info = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    packages = {package["name"]: package for package in map(locked, sorted(folder.glob("*.whl")))}
    for package in packages.values():
        package["depends"] = [name for name in package["depends"] if name in packages]
    (folder / "pyodide-lock.json").write_text(
        json.dumps({"info": info, "packages": packages}, indent=1), encoding="utf-8"
    )


def copy_jedi(wheel: Path, folder: Path) -> None:
    """Copies jedi's wheel without the types of other packages.  It completes names without them, too."""
    with ZipFile(wheel) as archive, ZipFile(folder / wheel.name, "w") as copy:
        for file in archive.infolist():
            if not file.filename.startswith(OTHER_STUBS):
                copy.writestr(file, archive.read(file))


def locked(wheel: Path) -> dict[str, Any]:
    """Returns the entry of a wheel in Pyodide's lock file, with all that it requires on this platform."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = message_from_bytes(
            archive.read(next(name for name in names if name.endswith(".dist-info/METADATA")))
        )
    required = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    tops = {name.partition("/")[0] for name in names}
    return {
        "name": canonicalize_name(metadata["Name"]),
        "version": metadata["Version"],
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(top.partition(".")[0] for top in tops if not top.endswith((".dist-info", ".data"))),
        "depends": sorted(
            {
                canonicalize_name(one.name)
                for one in required
                if one.marker is None or one.marker.evaluate(_MARKERS)
            }
        ),
        "unvendored_tests": False,
    }


def collect(folder: Path) -> None:
    """Writes the files of the page into ``folder``: notebooks and sample logs."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "files", folder)
    (folder / "logs").mkdir()
    for name, path in LOGS.items():
        shutil.copy2(SAMPLES / path, folder / "logs" / name)


def build(target: Path) -> None:
    """Writes the static files of JupyterLite to ``target``."""
    assemble(WORK / "static" / "pyodide")
    collect(WORK / "files")
    for name in ("jupyter-lite.json", "overrides.json"):
        shutil.copy2(HERE / name, WORK)
    shutil.rmtree(target, ignore_errors=True)
    (WORK / ".jupyterlite.doit.db").unlink(missing_ok=True)
    options = (
        "--apps",
        "lab",
        "--no-sourcemaps",
        "--no-unused-shared-packages",
        "--no-libarchive",
        "--ignore-sys-prefix",
    )
    extensions = [f"--LiteBuildConfig.federated_extensions={path}" for path in (OURS, KERNEL)]
    command = [str(Path(sys.executable).with_name("jupyter-lite")), "build", *options, *extensions]
    run((*command, "--lite-dir", WORK, "--output-dir", target), WORK, PYTHONPATH=str(PACKAGES))


def main() -> int:
    download()
    for target in map(Path, sys.argv[1:]):
        build(target.resolve())
        size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
        print(f"{os.path.relpath(target)}/lab/index.html ({size / 1e6:.0f} MB)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
