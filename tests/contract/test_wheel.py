"""The installation for a user who installs the wheel on a machine without Node."""

import functools
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.traces.recorded import LOGS, SAMPLES

ROOT = Path(__file__).parents[2]
SHARED = "data/share/jupyter/labextensions/nbtools-agent/"
SITE = Path(sysconfig.get_path("purelib"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def without_node(folder: Path) -> dict[str, str]:
    """An environment whose PATH holds nothing but a folder of Python's scripts."""
    hidden = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV", "JUPYTER"))
    }
    return {**hidden, "PATH": str(folder)}


def run(*command: str | Path, scripts: Path, cwd: Path) -> str:
    """Returns the output of the command; the test fails with all of it when the command does."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=without_node(scripts),
        capture_output=True,
        text=True,
        check=False,
    )
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
    """The scripts of a clean virtual environment:
    the wheel, what it asks for, as links to what is installed here, and nothing else.
    """
    home = tmp_path_factory.mktemp("clean")
    venv.create(home)
    pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python")
    run(
        *pip,
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-compile",
        built[1],
        scripts=home / "bin",
        cwd=home,
    )
    (found,) = home.glob("lib/python*/site-packages/nbtools_agent-*.dist-info")
    links = {place for needed in asked_for(Distribution.at(found)) for place in places(needed)}
    for place in links:
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).symlink_to(sys.prefix / place)
    return home / "bin"


def asked_for(package: Distribution) -> list[Distribution]:
    """The requirements of a package and of its extra ``lab``, with theirs."""
    todo, found = [(package, ""), (package, "lab")], {}
    while todo:
        asking, extra = todo.pop()
        for needed in map(Requirement, asking.requires or ()):
            if needed.marker is not None and not needed.marker.evaluate({"extra": extra}):
                continue
            for wanted in ("", *sorted(needed.extras)):
                key = canonicalize_name(needed.name), wanted
                if key not in found:
                    found[key] = distribution(needed.name)
                    assert needed.specifier.contains(found[key].version, prereleases=True), needed
                    todo.append((found[key], wanted))
    return [one for (_, extra), one in found.items() if not extra]


owners = functools.cache(packages_distributions)


def places(package: Distribution) -> set[Path]:
    """Its files in this environment, but for its scripts, which name the Python that they are for.

    A folder that no other package has a part in stands for what is in it, with its bytecode.
    """
    found = set()
    for file in package.files or ():
        path = Path(os.path.normpath(package.locate_file(file)))
        top = SITE.joinpath(*path.parts[len(SITE.parts) :][:1]) if path.is_relative_to(SITE) else path
        alone = top.suffix == ".dist-info" or len(set(owners().get(top.name, ()))) == 1
        found.add((top if alone else path).relative_to(sys.prefix))
    return {place for place in found if place.parts[0] != "bin"}


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


def test_the_wheel_holds_the_widgets(built):
    """Anywidget sends these files to front ends without the extension."""
    names = {path.stem for path in (ROOT / "labextension" / "src" / "widgets").glob("*.ts")} - {"shared_page"}
    assert names
    assert {f"nbtools/notebook/static/{name}.{kind}" for name in names for kind in ("js", "css")} <= set(
        names_in(built[1])
    )


def test_the_wheel_holds_the_page_to_share(built):
    """It is written into the files that people share, and needs no notebook."""
    assert {f"nbtools/traces/sharing/static/shared_page.{kind}" for kind in ("js", "css")} <= set(
        names_in(built[1])
    )


def test_the_wheel_holds_no_sources_of_the_front_end(built):
    sources = (".ts", ".map", ".lock")
    unwanted = [
        name
        for name in names_in(built[1])
        if name.endswith(sources) or "node_modules" in name or "/.yarn" in name
    ]
    assert unwanted == []


def test_the_wheel_holds_every_module(built):
    packed = {name for name in names_in(built[1]) if name.startswith("nbtools/")}
    tracked = subprocess.run(
        ["git", "ls-files", "nbtools"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(tracked) <= packed


def test_the_sdist_needs_no_node_either(built):
    with tarfile.open(built[0]) as archive:
        names = archive.getnames()
    assert any(name.endswith("nbtools/labextension/static/style.js") for name in names)
    assert any(name.endswith("labextension/src/index.ts") for name in names)
    assert not any("node_modules" in name for name in names)


def test_jupyterlab_finds_the_extension(scripts):
    listed = run(scripts / "python", "-m", "jupyterlab.labextensions", "list", scripts=scripts, cwd=scripts)
    (line,) = [line for line in listed.splitlines() if "nbtools-agent" in line]
    assert "enabled" in line
    assert "OK" in line


def test_the_package_imports_and_its_command_answers(scripts):
    where = run(
        scripts / "python", "-c", "import nbtools; print(nbtools.__file__)", scripts=scripts, cwd=scripts
    )
    assert str(scripts.parent) in where
    assert "usage" in run(scripts / "nbtools", "--help", scripts=scripts, cwd=scripts).lower()


PRODUCT = ("core", "storage", "diff", "shell", "cards", "traces")
"""The packages of the product that reads and explores logs."""
ELSEWHERE = (
    "IPython",
    "ipykernel",
    "ipywidgets",
    "anywidget",
    "comm",
    "greenback",
    "jupyter_client",
    "mcp",
    "pydantic_ai",
)
"""Packages of the other products, which are not there."""
READ_ALL = f"""
import sys
import warnings

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ELSEWHERE!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
site, samples, out, *logs = sys.argv[1:]
sys.path.insert(0, site)
import json
import nbtools
from nbtools import traces
from nbtools.core.methods import respond
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.model import Call

assert nbtools.__file__.startswith(site), nbtools.__file__
facts = json.load(open(f"{{samples}}/facts.json"))
for number, log in enumerate(logs):
    explorer = nbtools.open_trace(f"{{samples}}/{{log}}")
    shown = explorer.bundle()
    assert sorted(shown) == ["application/vnd.nbtools.trace.v1+json", "text/html", "text/plain"], sorted(shown)
    assert log not in facts or explorer.trace.facts().items() >= facts[log].items(), log
    calls = [line for line, row in enumerate(explorer.lines.rows) if isinstance(row, Call)]
    for line in calls[:20]:
        answers = []
        message = {{"id": 1, "method": "trace.open", "params": {{"explorer": explorer.id, "line": line}}}}
        respond(EXPLORERS.find(explorer.id), message, lambda answer, _: answers.append(answer))
        opened = answers[0]["result"]
        assert not opened["tool"] and not opened["replay"]
        assert "no tools" in opened["obstacle"]
    page = traces.share(explorer.trace, f"{{out}}/{{number}}.html").read_text()
    assert page[:15].lower() == "<!doctype html>" and len(page) > 100_000, page[:100]
trace = explorer.trace
warnings.simplefilter("ignore", DeprecationWarning)
for needs_more in (
    lambda: nbtools.to_notebook(trace, f"{{out}}/log.ipynb"),
    lambda: trace.to_notebook(f"{{out}}/log.ipynb"),
    lambda: trace.calls[0].replay(),
    lambda: nbtools.Session,
):
    try:
        needs_more()
    except ModuleNotFoundError as error:
        assert "pip install nbtools-agent" in str(error), error
    else:
        raise AssertionError("it is there")
traces.compare(*[f"{{samples}}/{{log}}" for log in logs[:2]])._repr_mimebundle_()
assert not [name for name in sys.modules if name.partition(".")[0] in {ELSEWHERE!r}]
print("read", len(logs))
"""


def test_the_product_for_logs_reads_and_shares_every_sample_without_the_other_products(built, tmp_path):
    """A wheel with only its packages, in a Python that has neither Jupyter nor the libraries of the tools."""
    small, site = tmp_path / built[1].name, tmp_path / "site"
    with ZipFile(built[1]) as whole, ZipFile(small, "w") as part:
        kept = [name for name in whole.namelist() if is_in_product(name) and not name.endswith("/RECORD")]
        for name in kept:
            part.writestr(name, whole.read(name))
        (folder,) = {name.partition("/")[0] for name in kept if ".dist-info/" in name}
        part.writestr(f"{folder}/RECORD", "".join(f"{name},,\n" for name in (*kept, f"{folder}/RECORD")))
    install = (
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        site,
        small,
    )
    run(*install, scripts=tmp_path, cwd=tmp_path)
    (tmp_path / "read_all.py").write_text(READ_ALL)
    printed = run(
        sys.executable, "-P", "read_all.py", site, SAMPLES, tmp_path, *LOGS, scripts=tmp_path, cwd=tmp_path
    )
    assert f"read {len(LOGS)}" in printed
    assert len(list(tmp_path.glob("*.html"))) == len(LOGS)


def is_in_product(name: str) -> bool:
    """Whether a file of the wheel belongs to the product:
    its packages, the names that nbtools exports, and the metadata.
    """
    return (
        name.startswith(tuple(f"nbtools/{package}/" for package in PRODUCT))
        or name == "nbtools/__init__.py"
        or ".dist-info/" in name
    )
