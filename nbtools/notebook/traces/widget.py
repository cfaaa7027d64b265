"""The explorer of a session log as an anywidget, for front ends without the JupyterLab extension:
VS Code, Colab, marimo.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from nbtools.core.methods import respond
from nbtools.notebook.subshells import answer_on_subshell
from nbtools.traces.comparison.comparison_messages import ComparisonView
from nbtools.traces.explorer.explorer_view import TraceView
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.session_list.session_messages import SessionsView

_STATIC = Path(__file__).parents[1] / "static"


class ExplorerWidget(anywidget.AnyWidget):
    """Shows an explorer, the list of sessions, or a comparison, which must be in the registry,
    and what is opened from it.

    Its page calls methods of these by custom messages, as over the channel of a kernel; other messages are
    ignored.  The page can change the widget's state, but nothing in the kernel depends on it.
    """

    _esm = (_STATIC / "explorer.js").read_text(encoding="utf-8")
    _css = (_STATIC / "explorer.css").read_text(encoding="utf-8")
    view = traitlets.Dict().tag(sync=True)

    def __init__(self, view: TraceView | SessionsView | ComparisonView) -> None:
        super().__init__(view=view.model_dump(mode="json"))
        self._opened = {view.explorer}
        self.on_msg(self._on_request)
        self._answer_on_subshell()

    def _on_request(self, _widget: object, message: Any, _buffers: object) -> None:
        """Answers a page that calls a method of what the widget shows, or has opened."""
        params = message.get("params") if isinstance(message, dict) else None
        explorer = params.get("explorer") if isinstance(params, dict) else None

        def answer(reply: dict[str, Any], buffers: Sequence[bytes]) -> None:
            opened = reply.get("result") or {}
            for view in (opened.get("view"), opened.get("comparison"), opened.get("sessions")):
                if isinstance(view, dict) and isinstance(view.get("explorer"), str):
                    self._opened.add(view["explorer"])
            self.send(reply, list(buffers))
            self._answer_on_subshell()

        is_known = isinstance(explorer, str) and explorer in self._opened
        respond(EXPLORERS.find(explorer) if is_known else None, message, answer)

    def _answer_on_subshell(self) -> None:
        if self.comm is not None:
            answer_on_subshell(self.comm)

    def bundle(self) -> dict[str, Any]:
        """Returns the widget's part of a MIME bundle, without its ``text/plain``."""
        bundle = self._repr_mimebundle_()
        data: dict[str, Any] = (bundle[0] if isinstance(bundle, tuple) else bundle) or {}
        return {mime: content for mime, content in data.items() if mime != "text/plain"}
