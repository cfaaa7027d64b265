"""Write ``src/wire.ts`` from the wire format of ``nbtools/notebook/wire.py``; ``--check`` only compares.

Each model becomes an interface and a guard that proves unknown JSON to be one.  Exits 1 with one line when the file on disk is not
what would be written.  Needs pydantic, no Node.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "nbtools" / "notebook" / "wire.py"
TARGET = ROOT / "labextension" / "src" / "wire.ts"
HEADER = """\
// Generated from nbtools/notebook/wire.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as guard from './guard.js';

export const MIME = '{mime}';

/** Text and its space-separated style words. */
export type Span = readonly [string, string];
export const isSpan: guard.Guard<Span> = guard.pair;
"""
PLAIN = {
    "string": ("string", "guard.text"),
    "integer": ("number", "guard.number"),
    "boolean": ("boolean", "guard.flag"),
    "null": ("null", "guard.nothing"),
}

Schema = dict[str, Any]


def load_wire() -> ModuleType:
    """The wire module by its path, so that nothing else of the package need be importable."""
    spec = importlib.util.spec_from_file_location("nbtools_wire", SOURCE)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{SOURCE} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def translate(schema: Schema) -> tuple[str, str]:
    """A schema's TypeScript type and the expression of its guard."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return name, f"is{name}"
    if "const" in schema or "enum" in schema:
        values = [json.dumps(v).replace('"', "'") for v in schema.get("enum", [schema.get("const")])]
        return " | ".join(values), f"guard.oneOf({', '.join(values)})"
    if "prefixItems" in schema:
        return "Span", "isSpan"
    if "items" in schema:
        kind, check = translate(schema["items"])
        return f"readonly ({kind})[]" if " " in kind else f"readonly {kind}[]", f"guard.list({check})"
    for union in ("anyOf", "oneOf"):
        if union in schema:
            parts = [translate(part) for part in schema[union]]
            return " | ".join(kind for kind, _ in parts), f"guard.either({', '.join(check for _, check in parts)})"
    return PLAIN[schema["type"]]


def references(schema: Any) -> set[str]:
    """The names of the models that a schema mentions."""
    if isinstance(schema, dict):
        own = {schema["$ref"].rsplit("/", 1)[1]} if "$ref" in schema else set()
        return own.union(*(references(value) for value in schema.values()))
    return set().union(*(references(value) for value in schema)) if isinstance(schema, list) else set()


def interface(name: str, schema: Schema) -> str:
    """The interface of one model and its guard."""
    fields = {field: translate(part) for field, part in schema["properties"].items()}
    doc = f"/** {inspect.cleandoc(schema['description'])} */\n" if "description" in schema else ""
    members = "".join(f"  readonly {field}: {kind};\n" for field, (kind, _) in fields.items())
    checks = "".join(f"  {field}: {check},\n" for field, (_, check) in fields.items())
    guard = f"export const is{name}: guard.Guard<{name}> = guard.record<{name}>({{\n{checks}}});\n"
    return f"{doc}export interface {name} {{\n{members}}}\n{guard}"


def generate() -> str:
    """The whole of ``wire.ts``."""
    wire = load_wire()
    _, top = models_json_schema([(wire.Card, "serialization")], ref_template="#/$defs/{model}")
    models: dict[str, Schema] = top["$defs"]
    order = TopologicalSorter({name: sorted(references(models[name])) for name in sorted(models)}).static_order()
    return "\n".join([HEADER.format(mime=wire.MIME), *(interface(name, models[name]) for name in order)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    wanted = generate()
    if not parser.parse_args().check:
        TARGET.write_text(wanted, encoding="utf-8")
    elif not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != wanted:
        print("labextension/src/wire.ts is not what nbtools/notebook/wire.py says: run `make wire`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
