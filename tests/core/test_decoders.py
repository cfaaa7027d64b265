"""Threads that are the first to decode a type at the same time do not crash the process."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbtools

SOURCE = Path(nbtools.__file__).parent
PLAIN = {"Any", "Raw", "bool", "dict", "float", "int", "list", "msgspec", "str"}
"""Names of types of which msgspec remembers nothing."""
RACE = """
import sys, threading
import msgspec
from nbtools.core.decoders import decoder_of
from nbtools.traces.model import Session

sys.setswitchinterval(1e-6)
text, start = msgspec.json.encode(Session(id="id", format="format")), threading.Barrier(8)

def decode():
    start.wait(60)
    decoder_of(Session).decode(text)

threads = [threading.Thread(target=decode) for _ in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
"""


def decoded_types(function: ast.AST) -> Iterator[ast.expr]:
    """Yields the types that a function has msgspec look at."""
    for call in ast.walk(function):
        if not isinstance(call, ast.Call):
            continue
        module, _, name = ast.unparse(call.func).rpartition(".")
        if module.partition(".")[0] == "msgspec" and name in ("Decoder", "convert", "decode"):
            yield from (one.value for one in call.keywords if one.arg == "type")
            yield from call.args[:1] if name == "Decoder" else call.args[1:2]


def test_no_function_decodes_a_struct_whose_decoder_is_not_made_yet() -> None:
    found = [
        f"{path.relative_to(SOURCE)}, line {kind.lineno}: {ast.unparse(kind)}"
        for path in sorted({*SOURCE.rglob("*.py")} - {SOURCE / "core" / "decoders.py"})
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for kind in decoded_types(function)
        if not {node.id for node in ast.walk(kind) if isinstance(node, ast.Name)} <= PLAIN
    ]
    assert not found, "nbtools.core.decoders has functions that threads can use"


def test_the_first_threads_that_decode_a_type_do_not_crash() -> None:
    rounds = [subprocess.Popen([sys.executable, "-c", RACE]) for _ in range(4)]
    assert [one.wait(timeout=300) for one in rounds] == [0] * len(rounds)
