"""Update the translations of the front end:
strings of `labextension/src` → `nbtools_agent.pot` → each `.po` → JupyterLab's JSON.

New strings get an empty entry in every `nbtools/locale/*/LC_MESSAGES/nbtools_agent.po`, for a person to fill
in; strings that the sources no longer have are removed.  Run it again after filling in.  With ``--check``,
writes nothing and exits 1 when a file is not current or a string has no translation.  Needs Node with the
packages of `labextension/node_modules`, and Babel.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import front_end
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = "nbtools_agent"
LOCALES = ROOT / "nbtools" / "locale"
TEMPLATE = LOCALES / f"{DOMAIN}.pot"
PLACEHOLDER = re.compile(r"%\d")
HEADER = "# Strings of the front end of nbtools.  Written by labextension/scripts/translations.py."


@cache
def extract() -> list[dict[str, Any]]:
    """The strings of the sources, with the files they are in."""
    node = shutil.which("node", path=front_end.environment()["PATH"]) or "node"
    command = [node, str(front_end.HERE / "scripts" / "extract_strings.mjs")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    strings: list[dict[str, Any]] = json.loads(done.stdout)
    return strings


def template(strings: list[dict[str, Any]]) -> Catalog:
    """A catalog of these strings without translations.
    Places have no lines, so that edits elsewhere change nothing.
    """
    catalog = Catalog(domain=DOMAIN, project="nbtools", header_comment=HEADER, fuzzy=False)
    for one in strings:
        name = (one["id"], one["plural"]) if one["plural"] else one["id"]
        catalog.add(name, context=one["context"], locations=[(file, 0) for file in one["files"]])
    return catalog


def text_of(catalog: Catalog) -> str:
    """A catalog as the text of a `.po` file, without dates."""
    target = io.BytesIO()
    write_po(target, catalog, width=120, omit_header=False, ignore_obsolete=True)
    lines = target.getvalue().decode().splitlines(keepends=True)
    return "".join(
        line
        for line in lines
        if not line.startswith(('"POT-Creation-Date', '"PO-Revision-Date', '"Generated-By'))
    )


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.parents[1].name, domain=DOMAIN)


def updated(path: Path, strings: Catalog) -> Catalog:
    """The translations of a `.po` file for these strings; translations are never guessed."""
    catalog = read(path)
    catalog.header_comment = HEADER
    catalog.update(strings, no_fuzzy_matching=True)
    return catalog


def problems(catalog: Catalog) -> Iterator[str]:
    """Strings without a translation, and translations with other placeholders than their strings."""
    for message in catalog:
        if not message.id:
            continue
        forms = message.string if isinstance(message.string, (tuple, list)) else (message.string,)
        names = message.id if isinstance(message.id, (tuple, list)) else (message.id,)
        wanted = {found for name in names for found in PLACEHOLDER.findall(name)}
        for form in forms:
            if not form:
                yield f"no translation of {names[0]!r}: write it there, and run `make translations`"
            elif not message.pluralizable and set(PLACEHOLDER.findall(form)) != wanted:
                yield f"other placeholders than in {names[0]!r}: {form!r}"
            elif not set(PLACEHOLDER.findall(form)) <= wanted:
                yield f"a placeholder that {names[0]!r} does not have: {form!r}"


def lab_json(catalog: Catalog) -> str:
    """A catalog as JupyterLab reads it: string → its forms; the context of a string that has one stands
    before it, with U+0004 between.  A string without a translation is left out, and shown in English.
    """
    content: dict[str, Any] = {
        "": {
            "domain": DOMAIN,
            "language": str(catalog.locale).replace("_", "-"),
            "plural_forms": catalog.plural_forms,
            "version": "0.1.0",
        },
    }
    for message in catalog:
        if message.id:
            name = message.id[0] if isinstance(message.id, (tuple, list)) else message.id
            forms = list(message.string) if isinstance(message.string, (tuple, list)) else [message.string]
            if all(forms):
                content[f"{message.context}\u0004{name}" if message.context else name] = forms
    return json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def files() -> Iterator[tuple[Path, str]]:
    """Every file of the translations and the content it should have."""
    strings = template(extract())
    yield TEMPLATE, text_of(strings)
    for path in sorted(LOCALES.glob(f"*/LC_MESSAGES/{DOMAIN}.po")):
        catalog = updated(path, strings)
        yield path, text_of(catalog)
        yield path.with_suffix(".json"), lab_json(catalog)


def stale() -> list[str]:
    """Returns a line for each file that is not current and each message that is not translated."""
    found = [
        f"{path.relative_to(ROOT)} is not current: run `make translations`"
        for path, wanted in files()
        if not path.is_file() or path.read_text(encoding="utf-8") != wanted
    ]
    return found + [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in sorted(LOCALES.glob(f"*/LC_MESSAGES/{DOMAIN}.po"))
        for problem in problems(read(path))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    if not parser.parse_args().check:
        for path, content in files():
            path.write_text(content, encoding="utf-8")
    found = stale()
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
