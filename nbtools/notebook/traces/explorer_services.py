"""The module that fills ``NotebookServices`` of ``nbtools.traces.explorer.notebook_services``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.notebook.frontend import needs_widgets
from nbtools.notebook.traces.comm import register_in_kernel

if TYPE_CHECKING:
    from nbtools.notebook.traces.widget import ExplorerWidget
    from nbtools.traces.comparison.comparison_messages import ComparisonView
    from nbtools.traces.explorer.explorer_view import TraceView
    from nbtools.traces.explorer.notebook_services import RunnableCall
    from nbtools.traces.model import Call, Detail, Session
    from nbtools.traces.session_list.session_messages import SessionsView
    from nbtools.traces.trace import Trace

connect = register_in_kernel
needs_widget = needs_widgets


def widget(view: TraceView | SessionsView | ComparisonView) -> ExplorerWidget:
    from nbtools.notebook.traces.widget import (  # noqa: PLC0415 - ipywidgets takes 70 ms to load
        ExplorerWidget,
    )

    return ExplorerWidget(view)


def runnable_call(call: Call, detail: Detail, sessions: Mapping[str, Session] | None) -> RunnableCall:
    from nbtools.notebook.traces import call_cells  # noqa: PLC0415 - it loads all tools

    return call_cells.runnable_call(call, detail, sessions)


def write_notebook(trace: Trace, path: Path) -> Path:
    from nbtools.notebook.traces.notebook_export import to_notebook  # noqa: PLC0415 - it loads all tools

    return to_notebook(trace, path)
