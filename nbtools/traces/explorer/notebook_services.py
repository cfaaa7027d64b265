"""The services of the notebook for the explorer's views: the connection with the pages that show them,
the cell that makes a recorded call again, and the export as a notebook.

This product knows no notebook: the package ``nbtools.notebook`` supplies these.
Without it, what is displayed is HTML and text, and no call can be run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nbtools.core.errors import TraceError
from nbtools.core.extension_points import extension_or_none
from nbtools.traces.model import Call, Detail, Session

if TYPE_CHECKING:
    from nbtools.traces.comparison.comparison_messages import ComparisonView
    from nbtools.traces.explorer.explorer_view import TraceView
    from nbtools.traces.session_list.session_messages import SessionsView
    from nbtools.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class RunnableCall:
    """``source`` is a cell that makes the call in the notebook's workspace; empty if it cannot be made.

    ``obstacle`` says why it cannot be run again in a copy of the session's folder; empty if it can.
    """

    source: str = ""
    obstacle: str = ""


class NotebookServices(Protocol):
    """The notebook's part, which is a module."""

    def connect(self) -> None:
        """Lets the pages of this kernel send requests to the explorers in the registry."""

    def needs_widget(self) -> bool:
        """Whether the front end of the current cell shows widgets, and not our MIME types."""

    def widget(self, view: TraceView | SessionsView | ComparisonView) -> Any:
        """Returns the view as an anywidget, which has a method ``bundle``."""

    def runnable_call(
        self, call: Call, detail: Detail, sessions: Mapping[str, Session] | None
    ) -> RunnableCall:
        """Returns how a recorded call is made again."""

    def write_notebook(self, trace: Trace, path: Path) -> Path:
        """Writes the trace as a notebook.  Raises ``TraceError``."""


def _services() -> NotebookServices | None:
    services: NotebookServices | None = extension_or_none("traces.notebook")
    return services


def connect_page(view: TraceView | SessionsView | ComparisonView) -> dict[str, Any]:
    """Lets pages send requests from now on, and returns the widget's part of a MIME bundle,
    where the front end needs a widget.
    """
    services = _services()
    if services is None:
        return {}
    services.connect()
    bundle: dict[str, Any] = services.widget(view).bundle() if services.needs_widget() else {}
    return bundle


def widget_of(view: TraceView | SessionsView | ComparisonView) -> Any:
    """Returns the view as an anywidget.  Raises ``TraceError`` without ``nbtools.notebook``."""
    services = _services()
    if services is None:
        raise TraceError(
            "A widget needs the package nbtools.notebook, which is not installed. Install all of nbtools:"
            " pip install nbtools-agent"
        )
    return services.widget(view)


def runnable_call(call: Call, detail: Detail, sessions: Mapping[str, Session] | None) -> RunnableCall:
    """Returns how a call is made again; ``detail`` is its detail, ``sessions`` are those of its log by id,
    if they are known.
    """
    services = _services()
    if services is None:
        return RunnableCall(obstacle="This installation of nbtools has no tools to run it again.")
    return services.runnable_call(call, detail, sessions)


def write_notebook(trace: Trace, path: Path) -> Path:
    """Writes the trace as a notebook.  Raises ``TraceError``, also without ``nbtools.notebook``."""
    services = _services()
    if services is None:
        raise TraceError(
            "The export as a notebook needs the package nbtools.notebook, which is not installed. Install"
            " all of nbtools: pip install nbtools-agent"
        )
    return services.write_notebook(trace, path)
