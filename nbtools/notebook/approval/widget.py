"""The approval request as a widget (anywidget):
it shows a question in the page and passes the page's messages to ``OpenQuestions``.

The page part is ``labextension/src/widgets/question.ts``.  The widget is created and closed in the kernel's
main loop; its messages may arrive in any of the kernel's threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nbtools.core.errors import NbtoolsError, ToolFailure
from nbtools.notebook.approval.open_questions import OpenQuestions
from nbtools.notebook.approval.question import OpenQuestion
from nbtools.notebook.approval.question_messages import EditRequested, WidgetReply
from nbtools.notebook.subshells import answer_on_subshell

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
_STATIC = Path(__file__).parents[1] / "static"


@contextmanager
def open_widget(question: OpenQuestion, questions: OpenQuestions) -> Iterator[str]:
    """Creates the widget of a question, yields the id of its model, and closes the widget."""
    widget = _widget_class()(question=question.data().model_dump(mode="json"))
    widget.on_msg(lambda _, content, __: _on_message(widget, question, questions, content))
    answer_on_subshell(widget.comm)
    try:
        yield str(widget.model_id)
    finally:
        widget.layout.close()
        widget.close()


def _on_message(widget: Any, question: OpenQuestion, questions: OpenQuestions, content: Any) -> None:
    """Answers the question, or replies with its editable text or with why an answer was not accepted.
    Late messages are ignored.
    """
    if question not in questions.current():
        return
    reply: dict[str, Any]
    try:
        if (wanted := _edit_request(content, question)) is not None:
            reply = {"editable": question.editable(wanted.file)}
        else:
            questions.answer(question.id, content)
            return
    except ToolFailure as failure:
        reply = {"problem": failure.message}
    widget.send(WidgetReply(question=question.id, **reply).model_dump(mode="json"))
    answer_on_subshell(widget.comm)


def _edit_request(content: Any, question: OpenQuestion) -> EditRequested | None:
    try:
        wanted = EditRequested.model_validate(content)
    except ValidationError:
        return None
    return wanted if wanted.question == question.id else None


@cache
def _widget_class() -> Any:
    """Returns the class of the widget.  anywidget takes 100 ms to import, so the first question does it,
    not ``%load_ext``.
    """
    import anywidget  # noqa: PLC0415 - as the docstring says
    import traitlets  # noqa: PLC0415 - as above

    class QuestionWidget(anywidget.AnyWidget):
        """Its state, ``question``, is a ``QuestionData``; nothing in the kernel reads it back."""

        _esm = _built("question.js")
        _css = _built("question.css")
        question = traitlets.Dict().tag(sync=True)

    return QuestionWidget


def _built(name: str) -> str:
    """Returns a file of the built front end.  Raises ``NbtoolsError`` in a checkout where it was
    not built.
    """
    try:
        return (_STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NbtoolsError(
            f"nbtools/notebook/static/{name} does not exist: the front end of this checkout was not built."
            " Run: make lab"
        ) from None
