"""Docstrings under fields describe them in a schema, and are read only for one."""

from __future__ import annotations

import subprocess
import sys

from pydantic import AliasChoices, Field

from nbtools.core.schema.documented_model import DocumentedModel, field_docstrings


class Base(DocumentedModel):
    path: str
    """The file."""
    plain: int = 0


class Inner(DocumentedModel):
    text: str
    """The text
    of two lines."""


class Derived(Base):
    folder: str = Field(default=".", validation_alias=AliasChoices("working_directory", "folder"))
    """Where it runs."""
    named: str = Field(default="", description="As declared.")
    """Not this."""
    inner: Inner | None = None
    """What is inside."""


def test_each_field_has_the_docstring_under_it_as_its_description() -> None:
    schema = Derived.model_json_schema()
    described = {name: one.get("description") for name, one in schema["properties"].items()}
    assert described == {
        "path": "The file.",
        "plain": None,
        "working_directory": "Where it runs.",
        "named": "As declared.",
        "inner": "What is inside.",
    }
    assert schema["$defs"]["Inner"]["properties"]["text"]["description"] == "The text\nof two lines."
    assert "folder" in Derived.model_json_schema(by_alias=False)["properties"]


def test_a_class_without_source_has_no_docstrings() -> None:
    made = type("Made", (DocumentedModel,), {"__annotations__": {"word": str}, "__module__": "builtins"})
    assert field_docstrings(made) == {}
    assert made.model_json_schema()["properties"]["word"]["type"] == "string"


def test_a_tool_is_loaded_without_looking_for_the_source_of_every_module() -> None:
    """``inspect`` resolves the paths of all loaded modules as soon as something asks for the module of a
    frame.
    """
    code = "import inspect, nbtools.tools.grep, nbtools.tools.read, nbtools.tools.edit; print(len(inspect.modulesbyfile))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == "0"
