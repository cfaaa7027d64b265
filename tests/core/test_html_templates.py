"""Templates escape what they show, and Jinja is loaded when something is shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jinja2
import pytest
from markupsafe import Markup

from nbtools.core.html_templates import HtmlTemplates


def templates(folder: Path, **sources: str) -> HtmlTemplates:
    for name, source in sources.items():
        (folder / f"{name}.html.jinja").write_text(source, encoding="utf-8")
    return HtmlTemplates(folder, loud=str.upper, ours=lambda text: Markup("<i>{}</i>").format(text))


def test_every_value_is_escaped_except_markup(tmp_path: Path) -> None:
    render = templates(tmp_path, page='<b title="{{ x }}">{{ x|loud }}</b>{{ x|ours }}').render
    assert render("page", x="<\"'&a>") == (
        '<b title="&lt;&#34;&#39;&amp;a&gt;">&lt;&#34;&#39;&amp;A&gt;</b><i>&lt;&#34;&#39;&amp;a&gt;</i>'
    )


def test_included_templates_and_macros_escape_too(tmp_path: Path) -> None:
    source = '{% from "parts.html.jinja" import bold %}{{ bold(x) }}{% include "line.html.jinja" %}'
    render = templates(
        tmp_path, page=source, parts="{% macro bold(x) %}<b>{{ x }}</b>{% endmacro %}", line="<i>{{ x }}</i>"
    ).render
    assert render("page", x="<") == "<b>&lt;</b><i>&lt;</i>"


def test_a_value_that_is_not_given_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(jinja2.UndefinedError, match="missing"):
        templates(tmp_path, page="{{ missing }}").render("page")


def test_a_rendered_template_is_a_plain_string(tmp_path: Path) -> None:
    assert type(templates(tmp_path, page="<b>{{ x }}</b>").render("page", x=1)) is str


def test_jinja_is_not_loaded_with_nbtools() -> None:
    code = "import sys, nbtools.notebook.extension, nbtools.cards.card, nbtools.traces; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
