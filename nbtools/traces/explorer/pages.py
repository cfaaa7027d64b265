"""The connection of displayed explorers with the pages that show them.

This product knows no notebook: the package ``nbtools.notebook`` supplies the connection.
Without it, what is displayed is HTML and text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from nbtools.core.errors import TraceError
from nbtools.core.extension_points import extension_or_none

if TYPE_CHECKING:
    from nbtools.traces.comparison.comparison_messages import ComparisonView
    from nbtools.traces.explorer.explorer_view import TraceView
    from nbtools.traces.session_list.model import SessionsView


class Pages(Protocol):
    """The notebook's part of the connection."""

    def connect(self) -> None:
        """Lets the pages of this kernel send requests to the explorers in the registry."""

    def needs_widget(self) -> bool:
        """Whether the front end of the current cell shows widgets, and not our MIME types."""

    def widget(self, view: TraceView | SessionsView | ComparisonView) -> Any:
        """Returns the view as an anywidget, which has a method ``bundle``."""


def connect_page(view: TraceView | SessionsView | ComparisonView) -> dict[str, Any]:
    """Lets pages send requests from now on, and returns the widget's part of a MIME bundle,
    where the front end needs a widget.
    """
    pages: Pages | None = extension_or_none("traces.pages")
    if pages is None:
        return {}
    pages.connect()
    bundle: dict[str, Any] = pages.widget(view).bundle() if pages.needs_widget() else {}
    return bundle


def widget_of(view: TraceView | SessionsView | ComparisonView) -> Any:
    """Returns the view as an anywidget.  Raises ``TraceError`` without ``nbtools.notebook``."""
    pages: Pages | None = extension_or_none("traces.pages")
    if pages is None:
        raise TraceError("A widget needs the package nbtools.notebook, which is not installed.")
    return pages.widget(view)
