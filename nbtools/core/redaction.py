"""Redacts secrets in displays and in texts for models: ``[redacted: GitHub token]``.

It redacts what ``shown_secrets`` finds, and the values of variables that commands do not get.  Other secrets
are not found: it limits accidents and is no security boundary.
"""

from __future__ import annotations

import base64
import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from nbtools.core.errors import Raised
from nbtools.core.message import Message
from nbtools.core.result import (
    CommandOutput,
    FileText,
    LlmContent,
    Markdown,
    Match,
    Matches,
    Media,
    Several,
    TodoList,
    ToolResult,
    ToolResultDisplay,
)
from nbtools.core.shown_secrets import redact_shown

MIN_LENGTH = 8
"""The least characters of a value to redact: shorter ones occur in too many texts."""
_LONG = 16


@dataclass(frozen=True, slots=True)
class Redactor:
    """Redacts secrets.  ``values`` are the known secrets as pairs of name and value."""

    values: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(secrets: Mapping[str, str]) -> Redactor:
        """Creates a redactor for secrets by name.
        Short values and ordinary words are ignored; the longest values come first.
        """
        names_by_value = {
            encoded: name
            for name, value in secrets.items()
            if _is_worth_hiding(value)
            for encoded in encodings(value)
        }
        return Redactor(
            tuple(
                sorted(
                    ((name, value) for value, name in names_by_value.items()), key=lambda one: -len(one[1])
                )
            )
        )

    def text(self, text: str) -> str:
        """Redacts a text and keeps its number of lines.
        Returns ``text`` itself where there is nothing to redact.
        """
        if len(text) < MIN_LENGTH:
            return text
        if isinstance(text, Message):
            redacted = text.mapped(self.text)
            return text if redacted == text else redacted
        for name, value in self.values:
            if value in text:
                text = text.replace(value, f"[redacted: value of {name}]" + "\n" * value.count("\n"))
        return redact_shown(text)

    def content(self, content: LlmContent) -> LlmContent:
        """Redacts the texts of content for a model."""
        if isinstance(content, str):
            return self.text(content)
        parts = tuple(
            {**part, "text": self.text(part["text"])} if isinstance(part.get("text"), str) else part
            for part in content
        )
        return content if parts == content else parts

    def display(self, display: ToolResultDisplay) -> ToolResultDisplay:
        """Redacts texts, output, lines of files, matches and items.
        Diffs and images stay unchanged, as a person approves them.
        """
        match display:
            case str():
                return self.text(display)
            case CommandOutput():
                text, note = self.text(display.text), self.text(display.note)
                return (
                    display
                    if text is display.text and note is display.note
                    else replace(display, text=text, note=note)
                )
            case FileText():
                lines = "\n".join(display.lines)
                text = self.text(lines)
                return display if text is lines else replace(display, lines=tuple(text.split("\n")))
            case Matches():
                return self._matches(display)
            case TodoList() | Markdown() | Several() | Media():
                return self._mixed(display)
        return display

    def _mixed(self, display: TodoList | Markdown | Several | Media) -> TodoList | Markdown | Several | Media:
        if isinstance(display, Media):
            text = self.text(display.text)
            return (
                display if text is display.text else replace(display, text=text, pages=())
            )  # the pictures show the secret too
        if isinstance(display, Markdown):
            text = self.text(display.text)
            return display if text is display.text else Markdown(text)
        if isinstance(display, TodoList):
            items = tuple(replace(item, text=self.text(item.text)) for item in display.items)
            return display if items == display.items else TodoList(items)
        redacted = tuple(map(self.display, display.shown))
        return display if all(map(operator.is_, redacted, display.shown)) else Several(redacted)

    def _matches(self, display: Matches) -> Matches:
        """Redacts matching lines; a redacted line loses its ranges, which no longer fit."""
        lines = "\n".join(one.text for one in display.matches)
        text = self.text(lines)
        if text is lines:
            return display
        return replace(display, matches=tuple(self._match(one) for one in display.matches))

    def _match(self, one: Match) -> Match:
        text = self.text(one.text)
        return one if text is one.text else replace(one, text=text, ranges=())

    def result(self, result: ToolResult) -> ToolResult:
        """Redacts a result, of its data only a traceback: the others are for programs.
        Returns ``result`` where nothing is to redact.
        """
        content, display, error, summary, data = (
            result.llm_content,
            result.return_display,
            result.error,
            result.summary,
            result.data,
        )
        content = self.text(content) if isinstance(content, str) else self.content(content)
        display = self.text(display) if isinstance(display, str) else self.display(display)
        if summary is not None:
            summary = self.text(summary)
        if error is not None and (message := self.text(error.message)) is not error.message:
            error = replace(error, message=message)
        if isinstance(data, Raised) and (text := self.text(data.traceback)) is not data.traceback:
            data = Raised(text)
        same_texts = (
            content is result.llm_content and display is result.return_display and summary is result.summary
        )
        if same_texts and error is result.error and data is result.data:
            return result
        return ToolResult(content, display, error, summary, data, result.notes)


def encodings(value: str) -> set[str]:
    """Returns the value as it is, URL-encoded, in JSON,
    and in base64 as far as that does not depend on the text after it.
    """
    raw = value.encode("utf-8", "replace")
    coded = base64.b64encode(raw[: len(raw) // 3 * 3]).decode()
    return {value, quote(value, safe=""), json.dumps(value, ensure_ascii=False)[1:-1]} | (
        {coded} if len(coded) >= _LONG else set()
    )


def _is_worth_hiding(value: str) -> bool:
    plain_word = value.isalpha() and (value.islower() or value.istitle())
    return len(value) >= (_LONG if plain_word or value.isdigit() else MIN_LENGTH) and not value.isspace()
