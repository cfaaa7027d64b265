"""Reads and edits notebook files; edits preserve all other bytes."""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.text_lines import displayable, split_lines
from nbtools.workspace.files.encoding import Encoding, decode, encode
from nbtools.workspace.notebooks.cell_outputs import Output, join_lines, outputs_text
from nbtools.workspace.notebooks.json_editing import (
    JsonItems,
    JsonStyle,
    items_at,
    key_of,
    style_of,
    value_at,
)
from nbtools.workspace.notebooks.open_notebooks import CellType

_DEPTH = 3
"""Nesting depth of a cell's members: notebook, cells, cell."""
_LINES = ("text/", "image/svg+xml", "application/javascript")
"""MIME types that nbformat stores as lists of lines."""
_MOST_NAMED = 30


@dataclass(frozen=True, slots=True)
class CellText:
    """A cell as text.  ``number`` counts from 1; ``id`` is the cell's id, or ``#number`` if it has none."""

    id: str
    number: int
    type: str
    source: str
    outputs: str = ""


def cells_of(data: bytes, subject: str) -> tuple[CellText, ...]:
    """Returns the cells of a notebook. Raises ``ToolFailure`` (``read_content_failure``) if invalid."""
    return NotebookFile(data, subject).cells


_INDEX = re.compile(r"cell-(0|[1-9]\d{0,8})")
"""How Claude Code names a cell without an id."""


def find_cell(cells: Sequence[CellText], cell_id: str, subject: str) -> int:
    """Returns the index of the cell of that id or ``#number``, else of ``cell-index``, counted from 0.

    Raises ``ToolFailure`` (``invalid_tool_params``) that lists the existing ids with the first lines of their
    cells.
    """
    found = [index for index, cell in enumerate(cells) if cell_id in {cell.id, f"#{cell.number}"}]
    if not found and (by_index := _INDEX.fullmatch(cell_id)) and int(by_index[1]) < len(cells):
        return int(by_index[1])
    if len(found) == 1:
        return found[0]
    if found:
        numbers = " and ".join(f"#{index + 1}" for index in found)
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            f"{subject} has several cells with id {cell_id!r}. Give a number: {numbers}.",
        )
    raise ToolFailure(
        ErrorCode.INVALID_TOOL_PARAMS, f"{subject} has no cell {cell_id!r}. {_known_cells(cells)}"
    )


def new_id(taken: Iterable[str]) -> str:
    """Returns an unused cell id, in nbformat's form."""
    used = set(taken)
    while (cell_id := uuid.uuid4().hex[:8]) in used:
        pass
    return cell_id


class NotebookFile:
    """A parsed notebook; changes return the file's new content. Raises ``ToolFailure`` unless nbformat 4."""

    def __init__(self, data: bytes, subject: str) -> None:
        self.data = data
        self._text, self._encoding = _text(data, subject)
        self._notebook = _notebook(self._text, subject)
        start = self._text.index("{")
        self._style = style_of(self._text)
        self._head = self._text[:start]
        self._members = items_at(self._text, start)
        self._tail = self._text[start + len(self._members.text) + 2 :]
        self._place, self._lead, self._cells = self._find_cells()
        self.cells = tuple(_cell_text(place, cell) for place, cell in enumerate(self._notebook["cells"]))

    @property
    def has_ids(self) -> bool:
        """Whether this version of the format has cell ids; older files are not upgraded."""
        minor = self._notebook.get("nbformat_minor", 0)
        return isinstance(minor, int) and minor >= 5

    @property
    def kernel(self) -> str:
        """The name of the notebook's kernel spec; empty if it has none."""
        spec = self._notebook.get("metadata", {}).get("kernelspec", {})
        return str(spec.get("name", "")) if isinstance(spec, dict) else ""

    def replace(
        self, place: int, source: str, type: CellType | None = None
    ) -> bytes:  # noqa: A002 - the word of the format
        """Replaces a cell's source and, if given, its type; outputs of a code cell are cleared."""
        cell = self._notebook["cells"][place]
        if source == self.cells[place].source and type in {None, cell["cell_type"]}:
            return self.data
        members = _Members(items_at(self._cells.items[place], 0), self._style)
        members.put("source", members.spelled_source(source, as_list=self._lists_lines(place)))
        kind = type or cell["cell_type"]
        if kind != cell["cell_type"]:
            members.put("cell_type", self._style.dump(kind, _DEPTH))
            members.drop("attachments" if kind == "code" else "")
        members.set_outputs([], None) if kind == "code" else members.drop("outputs", "execution_count")
        return self._with(self._cells.replace(place, members.text))

    def insert(self, place: int, source: str, type: CellType, cell_id: str) -> bytes:  # noqa: A002 - as above
        """Inserts a cell before the one at ``place``; ``cell_id`` is ignored if the format has no ids."""
        ran: Mapping[str, Any] = {"execution_count": None, "outputs": []} if type == "code" else {}
        own = {"id": cell_id} if self.has_ids else {}
        as_list = self._lists_lines(place - 1 if place else 0)
        cell = {
            "cell_type": type,
            "metadata": {},
            "source": split_lines(source) if as_list else source,
            **ran,
            **own,
        }
        spelled = self._style.dump(dict(sorted(cell.items())), _DEPTH - 1)
        return self._with(self._cells.insert(place, spelled, self._style, _DEPTH - 1))

    def delete(self, place: int) -> bytes:
        return self._with(self._cells.remove(place))

    def move(self, place: int, to: int) -> bytes:
        """Moves the cell at ``place`` to index ``to``, counted without the cell."""
        return self._with(self._cells.move(place, to))

    def set_outputs(self, place: int, outputs: Sequence[Output], count: int | None) -> bytes:
        """Stores the outputs of a code cell."""
        members = _Members(items_at(self._cells.items[place], 0), self._style)
        as_list = self._lists_lines(place)
        members.set_outputs([_as_lines(output) if as_list else output for output in outputs], count)
        return self._with(self._cells.replace(place, members.text))

    def _find_cells(self) -> tuple[int, str, JsonItems]:
        """Returns the index of the member with the cells, the text before its value, and the cells."""
        names = [key_of(item)[0] for item in self._members.items]
        place = len(names) - 1 - names[::-1].index("cells")
        item = self._members.items[place]
        return place, item[: value_at(item)], items_at(item, value_at(item))

    def _with(self, cells: JsonItems) -> bytes:
        members = self._members.replace(self._place, f"{self._lead}[{cells.text}]")
        return encode(f"{self._head}{{{members.text}}}{self._tail}", self._encoding)

    def _lists_lines(self, place: int) -> bool:
        """Whether sources are lists of lines: in this cell, else in the first one with a source."""
        cells = self._notebook["cells"]
        sources = [cell.get("source") for cell in (*cells[place : place + 1], *cells)]
        return next((isinstance(source, list) for source in sources if source), True)


class _Members:
    """The members of one cell as JSON text."""

    def __init__(self, parts: JsonItems, style: JsonStyle) -> None:
        self._parts = parts
        self._style = style

    @property
    def text(self) -> str:
        return f"{{{self._parts.text}}}"

    @property
    def _names(self) -> list[str]:
        return [key_of(item)[0] for item in self._parts.items]

    def put(self, name: str, value: str) -> None:
        """Sets a member to a value given as JSON; a new member is inserted in alphabetical order."""
        names = self._names
        if name in names:
            place = len(names) - 1 - names[::-1].index(name)
            item = self._parts.items[place]
            self._parts = self._parts.replace(place, item[: value_at(item)] + value)
        else:
            place = next((place for place, other in enumerate(names) if other > name), len(names))
            self._parts = self._parts.insert(
                place, f'"{name}"{self._style.colon}{value}', self._style, _DEPTH
            )

    def drop(self, *dropped: str) -> None:
        for place in reversed(range(len(self._names))):
            if self._names[place] in dropped:
                self._parts = self._parts.remove(place)

    def set_outputs(self, outputs: Sequence[Output], count: int | None) -> None:
        if outputs or not any(
            key_of(item)[0] == "outputs" and json.loads(item[value_at(item) :]) == []
            for item in self._parts.items
        ):
            self.put("outputs", self._style.dump(outputs, _DEPTH))
        self.put("execution_count", self._style.dump(count, _DEPTH))

    def spelled_source(self, source: str, *, as_list: bool) -> str:
        """Returns the new source as JSON; unchanged lines keep their spelling."""
        if not as_list:
            return self._style.dump(source, _DEPTH)
        known = self._known_lines()
        lines = [known.get(line) or self._style.dump(line, 0) for line in split_lines(source)]
        gap, end = self._style.gap(_DEPTH + 1), self._style.gap(_DEPTH)
        return f"[{gap}{(self._style.comma(gap)).join(lines)}{end}]" if lines else "[]"

    def _known_lines(self) -> dict[str, str]:
        """Returns the JSON spelling of each line of the current source."""
        item = next((item for item in self._parts.items if key_of(item)[0] == "source"), '"source": ""')
        start = value_at(item)
        lines = items_at(item, start).items if item[start] == "[" else ()
        return {displayable(join_lines(json.loads(line))): line for line in lines}


def _unreadable(reason: str) -> ToolFailure:
    return ToolFailure(ErrorCode.READ_CONTENT_FAILURE, reason)


def _text(data: bytes, subject: str) -> tuple[str, Encoding]:
    text = decode(data)
    if text is None:
        raise _unreadable(f"{subject} is not a notebook: it is not a text file.")
    return text.text, text.encoding


def _notebook(text: str, subject: str) -> dict[str, Any]:
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise _unreadable(f"{subject} is not valid JSON ({where}). Correct it as text first.") from None
    except RecursionError:
        raise _unreadable(f"{subject} is nested too deeply to be a notebook.") from None
    except ValueError:
        raise _unreadable(f"{subject} contains a number with too many digits to be a notebook.") from None
    if not isinstance(notebook, dict) or "nbformat" not in notebook:
        raise _unreadable(f"{subject} is JSON but not a notebook: it has no nbformat.")
    if notebook["nbformat"] != 4:
        version = f"{subject} is a notebook of format {notebook['nbformat']}; only format 4 is supported"
        raise _unreadable(f"{version}. Convert it with jupyter nbconvert --to notebook.")
    cells = notebook.get("cells")
    if not isinstance(cells, list) or not all(
        isinstance(cell, dict) and isinstance(cell.get("cell_type"), str) for cell in cells
    ):
        raise _unreadable(f"{subject} is not a valid notebook: it has no list of cells.")
    return notebook


def _cell_text(place: int, cell: Mapping[str, Any]) -> CellText:
    own = cell.get("id")
    cell_id = own if isinstance(own, str) and own else f"#{place + 1}"
    outputs = cell.get("outputs")
    text = (
        outputs_text(output for output in outputs if isinstance(output, dict))
        if isinstance(outputs, list)
        else ""
    )
    return CellText(
        cell_id,
        place + 1,
        str(cell["cell_type"]),
        displayable(join_lines(cell.get("source", ""))),
        displayable(text),
    )


def _as_lines(output: Output) -> Output:
    """Returns an output with its texts as lists of lines."""
    if isinstance(output.get("text"), str):
        return {**output, "text": split_lines(output["text"])}
    data = output.get("data")
    if not isinstance(data, Mapping):
        return output
    listed = {
        mime: split_lines(value) if isinstance(value, str) and mime.startswith(_LINES) else value
        for mime, value in data.items()
    }
    return {**output, "data": listed}


def _known_cells(cells: Sequence[CellText]) -> str:
    """Lists the existing cells with their first lines."""
    if not cells:
        return "The notebook has no cells."
    duplicate_ids = {cell_id for cell_id, count in Counter(cell.id for cell in cells).items() if count > 1}
    named = [
        f"{f'#{cell.number}' if cell.id in duplicate_ids else cell.id} ({_first_line(cell)})"
        for cell in cells[:_MOST_NAMED]
    ]
    more = f" and {len(cells) - _MOST_NAMED} more" if len(cells) > _MOST_NAMED else ""
    return f"Cells: {', '.join(named)}{more}."


def _first_line(cell: CellText) -> str:
    line = cell.source.strip().split("\n", 1)[0]
    if len(line) > 40:
        line = f"{line[:39]}…"
    return f"{cell.type}: {line}" if line else f"{cell.type}, empty"
