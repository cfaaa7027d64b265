"""What a user gets who installs the wheel on a machine without Node."""

import os
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
SHARED = "data/share/jupyter/labextensions/nbtools-agent/"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def without_node(folder: Path) -> dict[str, str]:
    """An environment whose PATH holds nothing but a folder of Python's scripts."""
    hidden = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "JUPYTER"))}
    return {**hidden, "PATH": str(folder)}


def run(*command: str | Path, scripts: Path, cwd: Path) -> str:
    """What the command printed; the test fails with all of it when the command does."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=without_node(scripts), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel made from it, without Node: `make test` has built the front end before."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, scripts=out, cwd=out)
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def scripts(built, tmp_path_factory):
    """The scripts of a clean virtual environment into which the wheel was installed."""
    home = tmp_path_factory.mktemp("clean")
    venv.create(home, with_pip=True)
    run(home / "bin" / "python", "-m", "pip", "install", "--quiet", built[1], scripts=home / "bin", cwd=home)
    return home / "bin"


def names_in(wheel):
    with ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_built_front_end_once(built):
    names = names_in(built[1])
    entries = [name for name in names if "remoteEntry" in name and name.endswith(".js")]
    assert len(entries) == 1
    assert SHARED + "static/" in entries[0]
    assert {"package.json", "install.json"} <= {name.partition(SHARED)[2] for name in names}
    assert not [name for name in names if name.startswith("nbtools/labextension/")]


def test_the_wheel_holds_no_sources_of_the_front_end(built):
    sources = (".ts", ".map", ".lock")
    unwanted = [name for name in names_in(built[1]) if name.endswith(sources) or "node_modules" in name or "/.yarn" in name]
    assert unwanted == []


def test_the_wheel_holds_every_module(built):
    packed = {name for name in names_in(built[1]) if name.startswith("nbtools/")}
    tracked = subprocess.run(["git", "ls-files", "nbtools"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(tracked) <= packed


def test_the_sdist_needs_no_node_either(built):
    with tarfile.open(built[0]) as archive:
        names = archive.getnames()
    assert any(name.endswith("nbtools/labextension/static/style.js") for name in names)
    assert any(name.endswith("labextension/src/index.ts") for name in names)
    assert not any("node_modules" in name for name in names)


def test_jupyterlab_finds_the_extension(scripts):
    listed = run(scripts / "jupyter", "labextension", "list", scripts=scripts, cwd=scripts)
    (line,) = [line for line in listed.splitlines() if "nbtools-agent" in line]
    assert "enabled" in line
    assert "OK" in line


def test_the_package_imports_and_its_command_answers(scripts):
    where = run(scripts / "python", "-c", "import nbtools; print(nbtools.__file__)", scripts=scripts, cwd=scripts)
    assert str(scripts.parent) in where
    assert "usage" in run(scripts / "nbtools", "--help", scripts=scripts, cwd=scripts).lower()
