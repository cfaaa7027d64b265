"""Laws that hold for every adapter."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from nbtools import Session
from nbtools.agents import adapters


def test_the_facade_is_a_list():
    tree = ast.parse(Path(adapters.__file__).read_text())
    guard = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in guard.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(adapters.__all__)
    assert all(callable(getattr(adapters, name)) for name in adapters.__all__)


@pytest.mark.parametrize("dialect", ["nbtools", "claude", "codex", "gemini", "void"])
def test_every_tool_is_there_in_the_dialect_with_a_valid_schema(tmp_path, dialect):
    # here and not above: the SDKs take seconds, and each process of a run collects every test
    from nbtools.agents.adapters import (
        google_tools,
        langchain_tools,
        openai_agents_tools,
        openai_responses_tools,
    )

    session = Session(tmp_path, dialect=dialect)
    names = list(session.tools.names())
    declared = google_tools(session)[0].function_declarations or []
    assert [tool.name for tool in langchain_tools(session)] == names
    assert [tool.name for tool in openai_agents_tools(session)] == names
    assert [tool["name"] for tool in openai_responses_tools(session)] == names
    assert [tool.name for tool in declared] == names
    schemas = [tool.params_json_schema for tool in openai_agents_tools(session)] + [
        tool.parameters_json_schema for tool in declared
    ]
    for schema in schemas:
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"


@pytest.mark.parametrize(
    ("function", "module", "package"),
    [
        ("langchain_tools", "langchain_core", "langchain-core"),
        ("openai_agents_tools", "agents", "openai-agents"),
        ("google_tools", "google", "google-genai"),
    ],
)
def test_a_missing_package_is_one_clear_line(function, module, package):
    code = f"import sys; sys.modules[{module!r}] = None\nfrom nbtools.agents.adapters import {function}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (
        ended.stderr.splitlines()[-1]
        == f"nbtools.core.errors.AgentError: This needs the package {package}: pip install {package}."
    )
