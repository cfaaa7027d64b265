"""Check the language and the layers of the project: ``python .ci/language.py``.

Prints one line for each finding and exits 1 when there is one:

- a docstring whose first paragraph is a fragment, has no closing punctuation, or uses discouraged wording;
- a test whose name, read as a sentence, is a fragment or uses discouraged wording;
- a class, function, parameter or module with a discouraged name;
- a conditional expression inside of another one;
- a comment, or the id of a test's parameter, with discouraged wording;
- a string that names a module of a higher package, which import-linter cannot see.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKED = (
    "nbtools",
    "bench",
    ".ci",
    "tests",
    "docs/scripts",
    "docs/extensions",
    "labextension/scripts",
    "labextension/src",
    "pyproject.toml",
)
OURS = {".py", ".ts", ".tsx", ".toml"}
NOT_OURS = {"node_modules", "__pycache__", "build"}
FRAGMENT = re.compile(
    r"(Of|To|With|Without|As|That|Those|Whose|What|Where|Who|Whoever|Which|How|The same|Beside|For)\b"
)
TEST_FRAGMENT = re.compile(r"(Of|As|That|Those|Whose|What|Where|Who|Whoever|Which|How|Beside)\b")
"""Beginnings of a test's name; a condition (`without a model one line says …`) may precede its subject."""
WORDING = re.compile(
    r"\b(anew|whoever|of whom|(?:is|are|was|were) (?:told|said)(?! apart)|is asked for|held against|"
    r"what is (?:not )?known|cannot be missed|"
    r"nobody wants|stands? there|lies? (?:there|whole)|is no \w+ of|(?:this|the \w+) room|the door"
    r" (?:to|of)|deeds?|errands?|lanterns?)\b",
    re.IGNORECASE,
)
TEST_WORDING = re.compile(
    r"\b(?:is|are|was|were|be) (?:asked|kept)\b|\b(?:told|said|meanwhile|having)\b|\bstands? (?!for\b)|"
    r"\bwhat (?:is|was|cannot|may|has)\b(?! wrong)",
    re.IGNORECASE,
)
"""Further wording that a test's name avoids:
it says which call, file or line it is about, and what happens to it.
"""
NAMES = re.compile(
    r"_?(told|said|asked|given|kept|shown|wish|deed|errand|desk|lantern|stand|spot|stage|having|telling|standing|playing|happenings?|halting|"
    r"reckoning|loose|familiar|recalled|mending|uncollected|again|around|alone|nearby|meanwhile|tongue|accent|landing|guest)s?",
    re.IGNORECASE,
)
PUBLIC_NAMES = {
    # `steps.again(…)` runs the last step again, with other arguments:
    # a public method, in both the Python and the notebook API.
    ("nbtools/replay/steps.py", "again"),
    ("nbtools/notebook/traces/stepping.py", "again"),
}
"""Names that a rule would discourage, but that are public: (file, name)."""

TYPESCRIPT_COMMENT = re.compile(r"(?:^|\s)(?://|/?\*).*")
TYPESCRIPT_TEST = re.compile(r"""\b(?:test|it)\((["'`])(.*?)\1""")
TOML_PROSE = re.compile(r"(?:^|\s)#.*|^name = .*")
NODES = (
    ast.Module,
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.arg,
    ast.keyword,
    ast.Constant,
    ast.IfExp,
)
"""The nodes that are checked."""
MODULE = re.compile(r"nbtools(?:\.\w+)+")


def levels() -> dict[str, int]:
    """The packages by level, lowest 0, as the layers contract in pyproject.toml lists them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return {
        name: level
        for level, layer in enumerate(reversed(layers))
        for name in re.findall(r"nbtools[\w.]*", layer)
    }


def level_of(module: str, known: dict[str, int]) -> int | None:
    """The level of the package that ``module`` belongs to; None outside of the layers."""
    while module:
        if module in known:
            return known[module]
        module = module.rpartition(".")[0]
    return None


def files() -> Iterator[Path]:
    """Yields the files to check."""
    for start in CHECKED:
        for path in sorted((ROOT / start).rglob("*")) if (ROOT / start).is_dir() else [ROOT / start]:
            if path.suffix in OURS and not NOT_OURS & set(path.parts):
                yield path


def findings(path: Path, known: dict[str, int]) -> Iterator[str]:
    """Yields one line for each finding in a file."""
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    problems = (
        python_problems(text, name, known) if path.suffix == ".py" else other_problems(text, path.suffix)
    )
    yield from (f"{name}:{line}: {problem}" for line, problem in problems if problem)


def python_problems(text: str, name: str, known: dict[str, int]) -> Iterator[tuple[int, str]]:
    """Yields the line and the problem, which may be empty, of everything that is checked in a Python file."""
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if NAMES.fullmatch(Path(name).stem):
        yield 1, "discouraged module name"
    ours = level_of(module, known)
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, NODES):
            continue
        line = getattr(node, "lineno", 1)
        for problem in (
            docstring_problem(node),
            name_problem(node, name),
            id_problem(node),
            layer_problem(node, ours, known),
            conditional_problem(node),
        ):
            yield line, problem
    if not any(
        wording_problem(after)
        for _, hash_sign, after in (line.partition("#") for line in text.splitlines())
        if hash_sign
    ):
        return  # reading the tokens of every file takes ten seconds
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], wording_problem(token.string)


def other_problems(text: str, suffix: str) -> Iterator[tuple[int, str]]:
    """Yields the same for a TypeScript file: comments and the titles of tests;
    or a TOML file: comments and titles.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if comment := (TOML_PROSE if suffix == ".toml" else TYPESCRIPT_COMMENT).search(line):
            yield number, wording_problem(comment[0])
        if suffix != ".toml" and (title := TYPESCRIPT_TEST.search(line)):
            yield number, test_problem(title[2])


def conditional_problem(node: ast.AST) -> str:
    """Returns that a conditional expression contains another one; empty where it does not."""
    if not isinstance(node, ast.IfExp):
        return ""
    inner = any(isinstance(part, ast.IfExp) for part in ast.walk(node) if part is not node)
    return "a conditional expression contains another one: write `if` statements" if inner else ""


def docstring_problem(node: ast.AST) -> str:
    """Returns what is wrong with the first paragraph of a docstring; empty where nothing is."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    first = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    if FRAGMENT.match(first):
        return f"docstring starts with a fragment: {first[:100]}"
    if first and first[-1] not in ".:?!`":
        return f"the docstring's first paragraph is not a sentence: {first[:100]}"
    return wording_problem(first)


def wording_problem(text: str) -> str:
    """Returns that a text uses discouraged wording; empty where it does not."""
    wording = WORDING.search(text)
    return f"discouraged wording {wording[0]!r}: {text[:100]}" if wording else ""


def test_problem(name: str) -> str:
    """Returns what is wrong with the name of a test as a sentence; empty where nothing is."""
    sentence = name.removeprefix("test_").replace("_", " ")
    if TEST_FRAGMENT.match(sentence[:1].upper() + sentence[1:]):
        return f"the test's name starts with a fragment: {name}"
    wording = TEST_WORDING.search(sentence) or WORDING.search(sentence)
    return f"discouraged wording {wording[0]!r} in the test's name: {name}" if wording else ""


def id_problem(node: ast.AST) -> str:
    """Returns that an id of a test's parameter uses discouraged wording; empty where it does not."""
    if not (isinstance(node, ast.keyword) and node.arg in {"id", "ids"}):
        return ""
    texts = (
        part.value
        for part in ast.walk(node.value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    return next(filter(None, map(wording_problem, texts)), "")


def name_problem(node: ast.AST, file: str) -> str:
    """Returns that a class, function or parameter has a discouraged name; empty where it does not."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
        return test_problem(node.name)
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return (
            f"discouraged name {node.name}"
            if NAMES.fullmatch(node.name) and (file, node.name) not in PUBLIC_NAMES
            else ""
        )
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
    found = [finding for path in files() for finding in findings(path, known)]
    print("\n".join(found) or "The language check found nothing.", flush=True)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
