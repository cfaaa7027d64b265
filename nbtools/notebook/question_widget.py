"""The question as a widget: the card, and the buttons that answer it.  All of it runs in the kernel's main loop."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from nbtools.core.call import AwaitingApprovalCall
from nbtools.core.confirmation import Answer, ToolAskConfirmationDetails, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.errors import ToolFailure
from nbtools.notebook.ask_form import AskForm
from nbtools.notebook.diff_html import one_sided
from nbtools.notebook.html import body_html, head_html
from nbtools.notebook.proposal import proposal_of
from nbtools.notebook.visible import one_line, seen
from nbtools.notebook.wire import Card, DiffBlock
from nbtools.notebook.wording import always_for, always_tip, why_html

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
_VIEWS = ("Side by side", "Unified")
_ROOM = {"max_height": "max(45vh, 240px)", "overflow": "auto"}
"""A tall diff scrolls by itself: what is asked and the buttons that answer it stay in view together."""
_WRAPPED = {"flex_flow": "row wrap"}
_WHOLE = {"width": "auto", "height": "auto", "max_width": "100%"}
"""A button is as wide as its label; ipywidgets would cut it."""


class QuestionWidget:
    """Answers once, through ``give``; closed, its clicks mean nothing."""

    def __init__(self, call: AwaitingApprovalCall, card: Card, give: Callable[[Answer], None]) -> None:
        self._call = call
        self._card = card
        self._give = give
        self._made: list[Any] = []
        self._open = True

    def build(self) -> str:
        """Makes the widget and returns the id of its model."""
        details = self._call.confirmation.details
        self._form = AskForm(details.questions, self._make, self._answered) if isinstance(details, ToolAskConfirmationDetails) else None
        self._heading = self._make("HTML", "heading", value=head_html(self._card))
        self._body: Any = None if self._form else self._make("HTML", "body", value=body_html(self._card, view="split"), layout=_ROOM)
        self._foot = self._make("HBox", "foot", children=self._replies() if self._form else self._answers(), layout=_WRAPPED)
        self._root = self._make("VBox", "asking", children=self._asking())
        if self._form:
            self._root.add_class("nbtools-form")
        return str(self._root.model_id)

    def close(self) -> None:
        self._open = False
        while self._made:
            widget = self._made.pop()
            for part in (widget, widget.layout, getattr(widget, "style", None)):
                if part is not None:
                    part.close()

    def _asking(self) -> list[Any]:
        if self._form is not None:
            return [self._heading, *self._form.widgets, self._foot]
        two_sided = any(isinstance(block, DiffBlock) and not one_sided(block) for block in self._card.blocks)
        return [self._heading, self._body, *([self._view()] if two_sided else []), self._foot]

    def _replies(self) -> list[Any]:
        """The buttons where the answers themselves are asked for."""
        self._reply = self._button("Answer", "apply", self._send, button_style="primary", disabled=True, tooltip=self._form_of.told)
        skip = Answer(ToolConfirmationOutcome.CANCEL)
        return [self._reply, self._button("Skip", "cancel", lambda: self._answer(skip), tooltip="Ends the call without an answer")]

    def _answered(self) -> None:
        self._reply.tooltip = self._form_of.told
        self._reply.disabled = not self._form_of.complete

    def _send(self) -> None:
        self._answer(Answer(ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=self._form_of.answers)))

    @property
    def _form_of(self) -> AskForm:
        if self._form is None:
            raise TypeError("this call asks for a yes, not for answers")
        return self._form

    def _answers(self) -> list[Any]:
        """One row of buttons, and below it what is only read or ticked."""
        outcome = ToolConfirmationOutcome
        approve = self._button("Approve once", "approve", lambda: self._answer(Answer(outcome.PROCEED_ONCE)), button_style="primary")
        always = self._always()
        modify = self._button("Modify…", "modify", self._modify)
        cancel = self._button("Cancel", "cancel", lambda: self._answer(Answer(outcome.CANCEL, reason=self._why_not.value.strip())))
        row = self._make("HBox", "buttons", children=[approve, *always, modify, cancel], layout=_WRAPPED)
        why = self._make("HTML", "note", value=why_html(self._call.confirmation.decision))
        aside = [*([self._later()] if always else []), self._reason(cancel), why]
        return [row, self._make("HBox", "aside", children=aside, layout=_WRAPPED)]

    def _always(self) -> list[Any]:
        """What else may be allowed with this, each button with the rules that it adds."""
        confirmation, outcome = self._call.confirmation, ToolConfirmationOutcome
        narrow = ToolConfirmationPayload(rules=confirmation.narrower)
        ways = [
            (always_for(confirmation.offers), "Always for {}", "always", confirmation.offers, outcome.PROCEED_ALWAYS, None),
            (always_for(confirmation.narrower), "Always {}", "folder", confirmation.narrower, outcome.PROCEED_ALWAYS, narrow),
        ]
        if confirmation.details.type == "mcp" and confirmation.details.rule and confirmation.offers:
            rules = (confirmation.details.rule,)
            ways[0] = ("tool", "Always this {}", "always", confirmation.offers, outcome.PROCEED_ALWAYS, None)
            ways.append(("server", "Always this {}", "server", rules, outcome.PROCEED_ALWAYS_SERVER, None))
        return [self._way(label.format(name), role, rules, chosen, payload) for name, label, role, rules, chosen, payload in ways if name]

    def _way(
        self, label: str, role: str, rules: tuple[str, ...], outcome: ToolConfirmationOutcome, payload: ToolConfirmationPayload | None
    ) -> Any:
        covered = self._call.confirmation.covered if rules == self._call.confirmation.offers else ()
        tip = always_tip(rules, covered)
        return self._button(label, role, lambda: self._answer(Answer(outcome, payload, save=self._is_saved.value)), tooltip=tip)

    def _later(self) -> Any:
        """Whether an *always* is kept for later sessions, too."""
        tip = "What “always” allows is kept for later sessions on this workspace, too; %tools grants shows it"
        self._is_saved = self._make("Checkbox", "later", description="also in later sessions", indent=False, tooltip=tip)
        return self._is_saved

    def _reason(self, cancel: Any) -> Any:
        """Why not, for whoever made the call."""
        tip = "With Cancel this goes to whoever made the call"
        self._why_not = self._make("Text", "reason", placeholder="Why not? Goes with Cancel", continuous_update=True, tooltip=tip)

        def know(change: Any) -> None:  # the front end waits for it before it sends
            cancel.tooltip = f"Says why: {change['new']}" if change["new"].strip() else ""

        self._why_not.observe(know, names="value")
        return self._why_not

    def _modify(self) -> None:
        proposal = proposal_of(self._call)
        editor = self._make("Textarea", "editor", value=proposal.text, description=one_line(proposal.label, 80), continuous_update=True)
        editor.rows = min(30, max(3, proposal.text.count("\n") + 2))
        problem = self._make("HTML", "problem", value="")

        def apply() -> None:
            try:
                self._answer(proposal.answer(editor.value))
            except ToolFailure as failure:
                problem.value = f'<span role="alert">{escape(seen(failure.message))}</span>'

        def back() -> None:
            self._root.children = self._asking_again

        self._asking_again = self._root.children
        buttons = [self._button("Apply", "apply", apply, button_style="primary"), self._button("Back", "back", back), problem]
        self._root.children = [self._heading, self._body, editor, self._make("HBox", "foot", children=buttons, layout=_WRAPPED)]

    def _answer(self, answer: Answer) -> None:
        if self._open:
            self._open = False
            self._give(answer)

    def _view(self) -> Any:
        toggle = self._make("ToggleButtons", "view", options=list(_VIEWS), value=_VIEWS[0])

        def turn(change: Any) -> None:
            self._body.value = body_html(self._card, view="unified" if change["new"] == _VIEWS[1] else "split")

        toggle.observe(turn, names="value")
        return toggle

    def _button(self, label: str, role: str, act: Callable[[], None], **options: Any) -> Any:
        button = self._make("Button", role, description=label, layout=_WHOLE, **options)
        button.on_click(lambda _: act() if self._open else None)
        return button

    def _make(self, kind: str, role: str, **traits: Any) -> Any:
        import ipywidgets  # noqa: PLC0415 - 100 ms: only the first question pays for it

        widget = getattr(ipywidgets, kind)(**traits)
        widget.add_class(f"nbtools-{role}")
        self._made.append(widget)
        return widget
