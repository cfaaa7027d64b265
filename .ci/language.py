"""Check the language and the layers of nbtools: ``python .ci/language.py``.

Prints one line for each finding and exits 1 when there is one:

- a docstring whose first line is a fragment, has no closing punctuation, or uses discouraged wording;
- a class, function, parameter or module with a discouraged name;
- a string that names a module of a higher package, which import-linter cannot see.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "nbtools"
FRAGMENT = re.compile(r"(Of|To|With|Without|As|That|Those|Whose|What|Where|Who|Whoever|Which|How|The same|Beside|For)\b")
WORDING = re.compile(
    r"\b(anew|whoever|of whom|(?:is|are) (?:told|said)|is asked for|held against|what is (?:not )?known|cannot be missed|"
    r"nobody wants|stands? there|lies? (?:there|whole)|is no \w+ of)\b",
    re.IGNORECASE,
)
NAMES = re.compile(
    r"_?(told|said|asked|given|kept|shown|wish|deed|errand|desk|lantern|stand|spot|stage|having|telling|standing|playing|happenings?|halting|"
    r"reckoning|loose|familiar|recalled|mending|uncollected|again|around|alone|nearby|meanwhile|tongue|accent|landing|guest)s?",
    re.IGNORECASE,
)
PUBLIC_NAMES = {
    # `steps.again(…)` runs the last step again, with other arguments: a public method, in both the Python and the notebook API.
    ("nbtools/replay/steps.py", "again"),
    ("nbtools/notebook/explorer/replay/stepping.py", "again"),
}
"""Names that a rule would discourage, but that are public: (file, name)."""

MODULE = re.compile(r"nbtools(?:\.\w+)+")


def levels() -> dict[str, int]:
    """The packages by level, lowest 0, as the layers contract in pyproject.toml lists them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return {name: level for level, layer in enumerate(reversed(layers)) for name in re.findall(r"nbtools[\w.]*", layer)}


def level_of(module: str, known: dict[str, int]) -> int | None:
    """The level of the package that ``module`` belongs to; None outside of the layers."""
    while module:
        if module in known:
            return known[module]
        module = module.rpartition(".")[0]
    return None


def findings(path: Path, known: dict[str, int]) -> Iterator[str]:
    """One line for each finding in a file."""
    name = path.relative_to(ROOT).as_posix()
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if NAMES.fullmatch(path.stem):
        yield f"{name}: discouraged module name"
    ours = level_of(module, known)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        line = getattr(node, "lineno", 1)
        for problem in (docstring_problem(node), name_problem(node, name), layer_problem(node, ours, known)):
            if problem:
                yield f"{name}:{line}: {problem}"


def docstring_problem(node: ast.AST) -> str:
    """Returns what is wrong with the first line of a docstring; empty where nothing is."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    first = (ast.get_docstring(node) or "").split("\n")[0]
    if FRAGMENT.match(first):
        return f"docstring starts with a fragment: {first[:100]}"
    if first and first[-1] not in ".:?!`":
        return f"the docstring's first line is not a sentence: {first[:100]}"
    if wording := WORDING.search(first):
        return f"discouraged wording {wording[0]!r}: {first[:100]}"
    return ""


def name_problem(node: ast.AST, file: str) -> str:
    """Returns that a class, function or parameter has a discouraged name; empty where it does not."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return f"discouraged name {node.name}" if NAMES.fullmatch(node.name) and (file, node.name) not in PUBLIC_NAMES else ""
    if isinstance(node, ast.arg) and NAMES.fullmatch(node.arg):
        return f"discouraged parameter name {node.arg}"
    return ""


def layer_problem(node: ast.AST, ours: int | None, known: dict[str, int]) -> str:
    """Returns that a string names a module of a package above level ``ours``; empty where it does not."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value)):
        return ""
    theirs = level_of(node.value, known)
    if ours is not None and theirs is not None and theirs > ours:
        return f"names {node.value}, which is in a higher package"
    return ""


def main() -> int:
    """Prints the findings; returns the exit code."""
    known = levels()
    found = [finding for path in sorted(PACKAGE.rglob("*.py")) for finding in findings(path, known)]
    print("\n".join(found) or "The language check found nothing.", flush=True)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
