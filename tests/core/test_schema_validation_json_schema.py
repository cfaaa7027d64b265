"""jsonschema without the seconds that a grammar takes which Jupyter installs."""

from __future__ import annotations

import subprocess
import sys

_COMMON = "import sys; from nbtools.core.schema.validation import import_jsonschema\n"


def output_of(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _COMMON + code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_a_tool_with_a_bare_schema_compiles_no_grammar() -> None:
    code = """
import importlib.util, nbtools
from nbtools.core.schema.json_schema import validate
print(importlib.util.find_spec("rfc3987_syntax") is not None, "jsonschema" in sys.modules)
print(validate({"type": "object"}, {}), "jsonschema" in sys.modules)
print(len(validate({"required": ["m"]}, {})), "jsonschema" in sys.modules, "rfc3987_syntax" in sys.modules)
"""
    assert output_of(code) == ["True", "False", "[]", "False", "1", "True", "False"]


def test_formats_are_checked_for_those_who_ask_for_it() -> None:
    code = """
package = import_jsonschema()
validator = package.Draft202012Validator({"format": "iri"}, format_checker=package.Draft202012Validator.FORMAT_CHECKER)
print("rfc3987_syntax" in sys.modules, validator.is_valid("http://a/b"), validator.is_valid("not one"), "rfc3987_syntax" in sys.modules)
"""
    assert output_of(code) == ["False", "True", "False", "True"]


def test_a_loaded_module_stays_as_it_is() -> None:
    code = """
import types; mine = sys.modules["rfc3987_syntax"] = types.ModuleType("rfc3987_syntax")
mine.is_valid_syntax = lambda term, value: True
print(import_jsonschema() is import_jsonschema(), sys.modules["rfc3987_syntax"] is mine)
"""
    assert output_of(code) == ["True", "True"]
