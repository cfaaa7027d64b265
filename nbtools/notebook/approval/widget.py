"""The approval request as an ipywidget: the card and its answer buttons.  Runs in the kernel's main loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtools.core.call import AwaitingApprovalCall
from nbtools.core.confirmation import Answer, ToolAskConfirmationDetails, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.errors import ToolFailure
from nbtools.notebook.approval.ask_form import AskForm
from nbtools.notebook.approval.labels import (
    ALWAYS_ALLOW,
    ANSWER,
    APPROVE_ONCE,
    BACK,
    DENY,
    MODIFY,
    REASON,
    REASON_SENT,
    REASON_TIP,
    REMEMBER,
    REMEMBER_TIP,
    SKIP,
    SKIP_TIP,
    UPDATE_PROPOSAL,
    always_for,
    always_tip,
)
from nbtools.notebook.approval.proposal import proposal_of
from nbtools.notebook.cards.diff_rows import one_sided
from nbtools.notebook.cards.html import body_html, head_html
from nbtools.notebook.cards.markup import render
from nbtools.notebook.cards.model import Card, DiffBlock
from nbtools.notebook.hidden_characters import one_line

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
_VIEWS = ("Side by side", "Unified")
_BODY_LAYOUT = {"max_height": "max(45vh, 240px)", "overflow": "auto"}
"""A tall diff scrolls on its own, so that the question's head and its buttons stay in view together."""
_ROW_LAYOUT = {"flex_flow": "row wrap"}
_BUTTON_LAYOUT = {"width": "auto", "height": "auto", "max_width": "100%"}
"""As wide as the label; by default ipywidgets truncates it."""


class QuestionWidget:
    """Shows a call that awaits approval and passes the answer to ``give``, once.  Clicks after ``close`` are ignored."""

    def __init__(self, call: AwaitingApprovalCall, card: Card, give: Callable[[Answer], None]) -> None:
        self._call = call
        self._card = card
        self._give = give
        self._widgets: list[Any] = []
        self._open = True

    def build(self) -> str:
        """Creates the widget and returns the id of its model."""
        details = self._call.confirmation.details
        self._form = (
            AskForm(details.questions, self._make, self._on_form_change) if isinstance(details, ToolAskConfirmationDetails) else None
        )
        self._heading = self._make("HTML", "heading", value=head_html(self._card))
        self._body: Any = None if self._form else self._make("HTML", "body", value=body_html(self._card, view="split"), layout=_BODY_LAYOUT)
        self._foot = self._make(
            "HBox", "foot", children=self._form_buttons() if self._form else self._approval_buttons(), layout=_ROW_LAYOUT
        )
        self._root = self._make("VBox", "asking", children=self._content())
        if self._form:
            self._root.add_class("nbtools-form")
        return str(self._root.model_id)

    def close(self) -> None:
        self._open = False
        while self._widgets:
            widget = self._widgets.pop()
            for part in (widget, widget.layout, getattr(widget, "style", None)):
                if part is not None:
                    part.close()

    def _content(self) -> list[Any]:
        if self._form is not None:
            return [self._heading, *self._form.widgets, self._foot]
        two_sided = any(isinstance(block, DiffBlock) and not one_sided(block) for block in self._card.blocks)
        return [self._heading, self._body, *([self._view_toggle()] if two_sided else []), self._foot]

    def _form_buttons(self) -> list[Any]:
        self._answer_button = self._button(
            ANSWER, "apply", self._send, button_style="primary", disabled=True, tooltip=self._required_form.answer_tooltip
        )
        skip = Answer(ToolConfirmationOutcome.CANCEL)
        return [self._answer_button, self._button(SKIP, "cancel", lambda: self._answer(skip), tooltip=SKIP_TIP)]

    def _on_form_change(self) -> None:
        self._answer_button.tooltip = self._required_form.answer_tooltip
        self._answer_button.disabled = not self._required_form.complete

    def _send(self) -> None:
        self._answer(Answer(ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=self._required_form.answers)))

    @property
    def _required_form(self) -> AskForm:
        if self._form is None:
            raise TypeError("this call needs approval; it has no questions to answer")
        return self._form

    def _approval_buttons(self) -> list[Any]:
        """Returns a row of buttons and, below it, the checkbox, the reason field and why approval is required."""
        outcome = ToolConfirmationOutcome
        approve = self._button(APPROVE_ONCE, "approve", lambda: self._answer(Answer(outcome.PROCEED_ONCE)), button_style="primary")
        always = self._always_buttons()
        modify = self._button(MODIFY, "modify", self._modify)
        deny = self._button(DENY, "cancel", lambda: self._answer(Answer(outcome.CANCEL, reason=self._reason.value.strip())))
        row = self._make("HBox", "buttons", children=[approve, *always, modify, deny], layout=_ROW_LAYOUT)
        why = self._make("HTML", "note", value=self._why())
        aside = [*([self._remember_checkbox()] if always else []), self._reason_field(deny), why]
        return [row, self._make("HBox", "aside", children=aside, layout=_ROW_LAYOUT)]

    def _why(self) -> str:
        """Returns why approval is required, with the rule in bold."""
        decision = self._call.confirmation.decision
        return render("approval/reason", reason=one_line(decision.reason), rule=one_line(decision.rule))

    def _always_buttons(self) -> list[Any]:
        """Returns the "always allow" buttons, each with the rules that it adds."""
        confirmation, outcome = self._call.confirmation, ToolConfirmationOutcome
        narrow = ToolConfirmationPayload(rules=confirmation.narrower)
        choices = [
            (always_for(confirmation.offers), "always", confirmation.offers, outcome.PROCEED_ALWAYS, None),
            (always_for(confirmation.narrower), "folder", confirmation.narrower, outcome.PROCEED_ALWAYS, narrow),
        ]
        if confirmation.details.type == "mcp" and confirmation.details.rule and confirmation.offers:
            rules = (confirmation.details.rule,)
            choices[0] = ("this tool", "always", confirmation.offers, outcome.PROCEED_ALWAYS, None)
            choices.append(("this server", "server", rules, outcome.PROCEED_ALWAYS_SERVER, None))
        return [
            self._always_button(ALWAYS_ALLOW.format(scope), role, rules, chosen, payload)
            for scope, role, rules, chosen, payload in choices
            if scope
        ]

    def _always_button(
        self, label: str, role: str, rules: tuple[str, ...], outcome: ToolConfirmationOutcome, payload: ToolConfirmationPayload | None
    ) -> Any:
        covered = self._call.confirmation.covered if rules == self._call.confirmation.offers else ()
        tip = always_tip(rules, covered)
        return self._button(label, role, lambda: self._answer(Answer(outcome, payload, save=self._remember.value)), tooltip=tip)

    def _remember_checkbox(self) -> Any:
        self._remember = self._make("Checkbox", "later", description=REMEMBER, indent=False, tooltip=REMEMBER_TIP)
        return self._remember

    def _reason_field(self, deny: Any) -> Any:
        self._reason = self._make("Text", "reason", placeholder=REASON, continuous_update=True, tooltip=REASON_TIP)

        def on_change(change: Any) -> None:  # the front end presses Deny only when its tooltip has the whole reason
            deny.tooltip = REASON_SENT.format(change["new"]) if change["new"].strip() else ""

        self._reason.observe(on_change, names="value")
        return self._reason

    def _modify(self) -> None:
        proposal = proposal_of(self._call)
        editor = self._make("Textarea", "editor", value=proposal.text, description=one_line(proposal.label, 80), continuous_update=True)
        editor.rows = min(30, max(3, proposal.text.count("\n") + 2))
        problem = self._make("HTML", "problem", value="")

        def apply() -> None:
            try:
                self._answer(proposal.answer(editor.value))
            except ToolFailure as failure:
                problem.value = render("approval/problem", message=failure.message)

        def back() -> None:
            self._root.children = self._content_before

        self._content_before = self._root.children
        buttons = [self._button(UPDATE_PROPOSAL, "apply", apply, button_style="primary"), self._button(BACK, "back", back), problem]
        self._root.children = [self._heading, self._body, editor, self._make("HBox", "foot", children=buttons, layout=_ROW_LAYOUT)]

    def _answer(self, answer: Answer) -> None:
        if self._open:
            self._open = False
            self._give(answer)

    def _view_toggle(self) -> Any:
        toggle = self._make("ToggleButtons", "view", options=list(_VIEWS), value=_VIEWS[0])

        def on_change(change: Any) -> None:
            self._body.value = body_html(self._card, view="unified" if change["new"] == _VIEWS[1] else "split")

        toggle.observe(on_change, names="value")
        return toggle

    def _button(self, label: str, role: str, on_click: Callable[[], None], **options: Any) -> Any:
        button = self._make("Button", role, description=label, layout=_BUTTON_LAYOUT, **options)
        button.on_click(lambda _: on_click() if self._open else None)
        return button

    def _make(self, kind: str, role: str, **traits: Any) -> Any:
        import ipywidgets  # noqa: PLC0415 - takes 100 ms: imported with the first question

        widget = getattr(ipywidgets, kind)(**traits)
        widget.add_class(f"nbtools-{role}")
        self._widgets.append(widget)
        return widget
