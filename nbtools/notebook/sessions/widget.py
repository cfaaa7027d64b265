"""The list of sessions as an anywidget, for front ends without the JupyterLab extension."""

from __future__ import annotations

from typing import Any

from nbtools.notebook.explorer.model import OpenedLogs, TraceAnswer
from nbtools.notebook.explorer.registry import EXPLORERS
from nbtools.notebook.explorer.widget import ExplorerWidget
from nbtools.notebook.sessions.model import SessionsView


class SessionsWidget(ExplorerWidget):
    """Shows the list ``view``, and the explorers that are opened from it; its page may send requests only to these."""

    def __init__(self, view: SessionsView) -> None:
        super().__init__(view)
        self._opened = {view.explorer}

    def _on_request(self, _widget: object, content: Any, _buffers: object) -> None:
        request = content.get("request") if isinstance(content, dict) else None
        if isinstance(request, dict) and request.get("explorer") in self._opened:
            answer: TraceAnswer = EXPLORERS.respond(request)
            if isinstance(answer.reply, OpenedLogs) and answer.reply.view is not None:
                self._opened.add(answer.reply.view.explorer)
            self.send({"answer": answer.model_dump(mode="json")})
