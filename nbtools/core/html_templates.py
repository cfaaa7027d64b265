"""Renders HTML with Jinja.  Templates escape every value but ``Markup``, which only our renderers make."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


class HtmlTemplates:
    """The templates ``NAME.html.jinja`` in ``folders``, of which the first that has one counts.
    They may use the given ``filters``.

    Jinja is imported with the first rendering, and a template is compiled with its own first rendering.
    """

    def __init__(self, *folders: Path, **filters: Callable[..., Any]) -> None:
        self._folders = folders
        self._filters = filters

    def render(self, name: str, /, **values: object) -> str:
        """Returns the template's HTML.  Raises ``jinja2.UndefinedError`` for a missing value."""
        return self._environment.get_template(f"{name}.html.jinja").render(values)

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - takes 30 ms

        environment = Environment(
            loader=FileSystemLoader(self._folders),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters.update(self._filters)
        return environment
