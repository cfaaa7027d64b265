"""The front end keeps to the wire format, and its logic to its tests."""

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import front_end

from nbtools import __version__
from nbtools.notebook.magics.command_line import is_plain_line

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "labextension" / "scripts"
BUILT = ROOT / "labextension" / "lib"


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


def test_both_sides_allow_the_same_characters_on_the_line_of_a_magic():
    """Every character that this Python's Unicode knows: a newer one may know more, which this one escapes."""
    script = """
        import { isPlainLine } from './labextension/lib/explorer/open_with.js';
        const all = Array.from({ length: 0x110000 }, (_, code) => Number(isPlainLine(String.fromCodePoint(code))));
        console.log(all.join(''));
    """
    ran = said_by(Path(front_end.node_folder()) / "node", "--input-type=module", "--eval", script)
    assert ran.returncode == 0, ran.stderr
    known = [code for code in range(0x110000) if unicodedata.category(chr(code)) != "Cn"]
    theirs = [ran.stdout[code] == "1" for code in known]
    assert theirs == [is_plain_line(chr(code)) for code in known]


def test_the_front_end_has_the_version_of_the_package():
    assert json.loads((ROOT / "labextension" / "package.json").read_text("utf-8"))["version"] == __version__


def test_the_lock_file_names_no_registry():
    assert "http" not in (ROOT / "labextension" / "yarn.lock").read_text(encoding="utf-8")
