"""The front end keeps to the wire format, and its logic to its tests."""

import json
import subprocess
import sys
from pathlib import Path

import front_end
import pytest

from nbtools import __version__

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "labextension" / "scripts"
BUILT = ROOT / "labextension" / "lib"


EXTENSION = ROOT / "nbtools" / "labextension" / "static"
WIDGETS = ROOT / "nbtools" / "notebook" / "static"


def said_by(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_wire_types_are_those_of_the_models():
    checked = said_by(sys.executable, SCRIPTS / "wire_types.py", "--check")
    assert checked.returncode == 0, checked.stderr


def test_the_logic_passes_its_own_tests():
    assert (BUILT / "built").is_file(), "the front end is not built: run `make test`, which builds it first"
    node = Path(front_end.node_folder()) / "node"
    ran = said_by(node, "--test", *sorted((BUILT / "test").glob("*.test.js")))
    assert ran.returncode == 0, ran.stdout


def test_the_front_end_has_the_version_of_the_package():
    assert json.loads((ROOT / "labextension" / "package.json").read_text("utf-8"))["version"] == __version__


def test_the_lock_file_names_no_registry():
    assert "http" not in (ROOT / "labextension" / "yarn.lock").read_text(encoding="utf-8")


ON_DEMAND = {
    "explorer": 125_000,
    "samples": 12_000,
    "sessions": 60_000,
    "totals": 15_000,
    "editor": 30_000,
    "form": 10_000,
}
"""Most bytes of the chunks that are loaded with the first explorer, table of samples, list of sessions or
comparison, page of totals, editor of *Modify…*, and form of a call.
"""


def extension_sizes():
    """Bytes by what they are loaded for: the chunks on demand, and `start`, which every page loads."""
    sizes = dict.fromkeys((*ON_DEMAND, "start"), 0)
    for path in EXTENSION.glob("*.js"):
        name = next((name for name in ON_DEMAND if path.name.startswith(name)), "start")
        sizes[name] += path.stat().st_size
    return sizes


def test_script_and_style_that_every_page_loads_are_at_most_210_kb():
    assert not list(EXTENSION.glob("*.css")), "the style is in a script"
    assert 0 < extension_sizes()["start"] <= 210_000


@pytest.mark.parametrize("name", ON_DEMAND)
def test_chunks_on_demand_keep_to_their_limits(name):
    assert 0 < extension_sizes()[name] <= ON_DEMAND[name]


def test_each_question_loads_at_most_75_kb():
    """Every approval widget travels with its script and style sheet."""
    assert sum((WIDGETS / f"question{suffix}").stat().st_size for suffix in (".js", ".css")) <= 75_000
