"""The parts of the MCP SDK that are used must be public: private ones change without a new major version."""

import re
from pathlib import Path

import nbtools


def test_no_private_module_of_the_sdk_is_imported() -> None:
    imports = re.compile(r"^\s*(?:from|import) (mcp(?:_types)?(?:\.\w+)*\._\w+)", re.MULTILINE)
    sources = Path(nbtools.__file__).parent.rglob("*.py")
    found = {(path.name, name) for path in sources for name in imports.findall(path.read_text("utf-8"))}
    assert not found
