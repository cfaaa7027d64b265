"""Connects explorers with the notebook's pages: ``nbtools.traces.explorer.pages.Pages``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtools.notebook.frontend import needs_widgets
from nbtools.notebook.traces.comm import register_in_kernel

if TYPE_CHECKING:
    from nbtools.notebook.traces.widget import ExplorerWidget
    from nbtools.traces.comparison.comparison_messages import ComparisonView
    from nbtools.traces.explorer.explorer_view import TraceView
    from nbtools.traces.session_list.model import SessionsView

connect = register_in_kernel
needs_widget = needs_widgets


def widget(view: TraceView | SessionsView | ComparisonView) -> ExplorerWidget:
    from nbtools.notebook.traces.widget import (  # noqa: PLC0415 - ipywidgets takes 70 ms to load
        ExplorerWidget,
    )

    return ExplorerWidget(view)
