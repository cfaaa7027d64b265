"""Notebook files of several producers: what is read, what a change does,
and that everything else keeps its bytes.
"""

from __future__ import annotations

import json

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.notebooks.notebook_file import NotebookFile, cells_of, find_cell


def notebook(*, ids=True, lists=True, sources=("# Title\n\nText é", "x = 1\nprint(x)", "")):
    """Returns a notebook as JSON; the second cell has outputs."""

    def source(text):
        return text.splitlines(keepends=True) if lists else text

    def cell(number, text):
        code = {"execution_count": 3, "outputs": [{"name": "stdout", "output_type": "stream", "text": source("1\n")}]}
        own = {"id": f"cell-{number}"} if ids else {}
        kind = {"cell_type": "code", **(code if number == 2 else {"execution_count": None, "outputs": []})}
        return {**(kind if number > 1 else {"cell_type": "markdown"}), **own, "metadata": {"tags": ["é"]}, "source": source(text)}

    cells = [cell(number, text) for number, text in enumerate(sources, 1)]
    spec = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "other": {"deep": [1, 2.50, {}]}}
    return {"cells": cells, "metadata": spec, "nbformat": 4, "nbformat_minor": 5 if ids else 2}


def spelled(content, *, end="", start="", ending="\n", **style):
    """Returns the text that ``json.dumps`` of that style would write."""
    return start + (json.dumps(content, **style) + end).replace("\n", ending)


STYLES = {
    "nbformat": (notebook(), {"indent": 1, "ensure_ascii": False, "sort_keys": True, "end": "\n"}),
    "no newline at the end": (notebook(), {"indent": 1, "ensure_ascii": False}),
    "four blanks": (notebook(), {"indent": 4, "ensure_ascii": False, "end": "\n"}),
    "two blanks, escapes": (notebook(), {"indent": 2, "end": "\n\n"}),
    "tabs": (notebook(), {"indent": "\t"}),
    "carriage returns": (notebook(), {"indent": 1, "end": "\n", "ending": "\r\n"}),
    "strings": (notebook(lists=False), {"indent": 1, "ensure_ascii": False}),
    "strings without ids": (notebook(lists=False, ids=False), {"indent": 2}),
    "no ids": (notebook(ids=False), {"indent": 1, "ensure_ascii": False, "end": "\n"}),
    "one line": (notebook(), {}),
    "no blanks": (notebook(), {"separators": (",", ":")}),
    "byte order mark": (notebook(), {"indent": 1, "ensure_ascii": False, "start": "\ufeff"}),
    "another order": (dict(reversed(notebook().items())), {"indent": 3}),
}
PRODUCERS = {name: spelled(content, **style) for name, (content, style) in STYLES.items()}
MADE = pytest.mark.parametrize("text", PRODUCERS.values(), ids=PRODUCERS)


def opened(data):
    return NotebookFile(data, "a.ipynb")


def parsed(data):
    return json.loads(data.decode("utf-8-sig"))


def changed_part(before, after):
    """Returns the text between the longest common beginning and end."""
    head = next((k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after)))
    rest, new = before[head:], after[head:]
    tail = next((k for k, (a, b) in enumerate(zip(reversed(rest), reversed(new), strict=False)) if a != b), min(len(rest), len(new)))
    return rest[: len(rest) - tail], new[: len(new) - tail]


def check(data):
    assert nbformat.validate(parsed(data)) is None


@MADE
def test_cells_are_read(text):
    cells = cells_of(text.encode(), "a.ipynb")
    assert [cell.source for cell in cells] == ["# Title\n\nText é", "x = 1\nprint(x)", ""]
    assert [(cell.number, cell.type, cell.outputs) for cell in cells] == [(1, "markdown", ""), (2, "code", "1"), (3, "code", "")]
    assert cells[1].id == ("#2" if '"cell-2"' not in text else "cell-2")


@MADE
def test_a_replaced_source_keeps_all_around_it(text):
    data = text.encode()
    after = opened(data).replace(1, "x = 2\nprint(x)\n# ü")
    check(after)
    wanted = parsed(data)
    wanted["cells"][1].update(outputs=[], execution_count=None)
    lists = isinstance(wanted["cells"][1]["source"], list)
    wanted["cells"][1]["source"] = ["x = 2\n", "print(x)\n", "# ü"] if lists else "x = 2\nprint(x)\n# ü"
    assert parsed(after) == wanted
    old, new = changed_part(data, after)
    assert len(old) < 500
    assert b"Title" not in old
    assert b"kernelspec" not in new
    assert after.isascii() == (data.isascii() and b"\\u" in data)
    assert after.count(b"\r\n") == after.count(b"\n") or b"\r\n" not in data


@pytest.mark.parametrize(("content", "style"), STYLES.values(), ids=STYLES)
def test_new_parts_are_formatted_as_their_producer_would(content, style):
    file = opened(spelled(content, **style).encode())
    changed = [
        file.insert(3, "a = 'ß'\nb", "code", "new-cell"),
        file.insert(0, "one line", "markdown", "new-cell"),
        file.replace(1, "x = 'ß'\n\ny"),
        file.replace(0, "x", "code"),
        file.set_outputs(1, [{"name": "stdout", "output_type": "stream", "text": "é\n"}], 4),
        file.delete(1),
    ]
    for after in changed:
        check(after)
        assert after.decode() == spelled(parsed(after), **style)
    assert ("id" in parsed(changed[0])["cells"][3]) == file.has_ids


@MADE
@pytest.mark.parametrize("place", range(4))
def test_an_inserted_cell_that_is_deleted_leaves_no_trace(text, place):
    data = text.encode()
    with_one = opened(data).insert(place, "new\nlines é", "markdown", "new-cell")
    check(with_one)
    assert opened(with_one).cells[place].source == "new\nlines é"
    assert opened(with_one).delete(place) == data


@MADE
def test_cells_are_moved_there_and_back(text):
    data = text.encode()
    for place, to in ((0, 2), (2, 0), (1, 1), (0, 1)):
        moved = opened(data).move(place, to)
        check(moved)
        assert opened(moved).cells[to].source == opened(data).cells[place].source
        assert opened(moved).move(to, place) == data


@MADE
def test_a_type_is_changed_with_all_that_goes_with_it(text):
    file = opened(text.encode())
    to_markdown = file.replace(1, "# Now", "markdown")
    check(to_markdown)
    assert {"outputs", "execution_count"}.isdisjoint(parsed(to_markdown)["cells"][1])
    to_code = file.replace(0, "y = 1", "code")
    check(to_code)
    assert parsed(to_code)["cells"][0]["outputs"] == []
    assert parsed(to_code)["cells"][0]["metadata"] == {"tags": ["é"]}


@MADE
def test_outputs_are_written_as_the_file_has_its_texts(text):
    data = text.encode()
    outputs = [
        {"name": "stdout", "output_type": "stream", "text": "a\nb\n"},
        {"data": {"text/plain": "1\n2", "image/png": "aGk="}, "metadata": {}, "output_type": "display_data"},
    ]
    after = opened(data).set_outputs(2, outputs, 7)
    check(after)
    lists = isinstance(parsed(data)["cells"][1]["source"], list)
    cell = parsed(after)["cells"][2]
    assert cell["execution_count"] == 7
    assert cell["outputs"][0]["text"] == (["a\n", "b\n"] if lists else "a\nb\n")
    assert cell["outputs"][1]["data"]["image/png"] == "aGk="
    assert opened(after).cells[2].outputs == "a\nb\n1\n2\n[image/png, 2 bytes]"


def test_an_empty_notebook_gets_its_first_cell():
    data = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()
    after = opened(data).insert(0, "first", "code", "abc")
    check(after)
    assert after.startswith(b'{\n "cells": [\n  {\n   "cell_type": "code",\n   "execution_count": null,\n   "id": "abc",')
    assert opened(after).delete(0) == data


def test_the_same_source_changes_nothing():
    data = PRODUCERS["nbformat"].encode()
    assert opened(data).replace(1, "x = 1\nprint(x)") == data


def test_lines_that_stay_keep_their_spelling():
    data = PRODUCERS["nbformat"].replace('"x = 1\\n"', '"x\\u0020= 1\\n"').encode()
    assert b'"x\\u0020= 1\\n"' in opened(data).replace(1, "x = 1\nprint(x + 1)")


def test_an_attachment_does_not_stay_in_a_code_cell():
    content = notebook()
    content["cells"][0]["attachments"] = {"a.png": {"image/png": "aGk="}}
    data = json.dumps(content, indent=1).encode()
    check(data)
    check(opened(data).replace(0, "1", "code"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not valid JSON (line 1, column 1"),
        (b'{"cells": [', "not valid JSON"),
        (b"<<<<<<< HEAD\n{}", "not valid JSON (line 1"),
        (b"[1]", "has no nbformat"),
        (b'{"a": 1}', "has no nbformat"),
        (b'{"nbformat": 3, "worksheets": []}', "format 3"),
        (b'{"nbformat": 4, "cells": 3}', "no list of cells"),
        (b'{"nbformat": 4, "cells": [1]}', "no list of cells"),
        (b"\0\1\2", "not a text file"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"nbformat": 4, "cells": [], "a": ' + b"1" * 5000 + b"}", "too many digits"),
    ],
)
def test_files_that_are_not_notebooks_are_refused(data, reason):
    with pytest.raises(ToolFailure, match=r"^a\.ipynb ") as caught:
        cells_of(data, "a.ipynb")
    assert caught.value.code is ErrorCode.READ_CONTENT_FAILURE
    assert reason in caught.value.message


def test_an_unknown_cell_names_those_there():
    cells = cells_of(PRODUCERS["nbformat"].encode(), "a.ipynb")
    with pytest.raises(ToolFailure) as caught:
        find_cell(cells, "cell-9", "a.ipynb")
    assert "cell-1 (markdown: # Title), cell-2 (code: x = 1), cell-3 (code, empty)" in caught.value.message
    assert find_cell(cells, "#2", "a.ipynb") == 1
    content = notebook()
    content["cells"][2]["id"] = "cell-2"
    with pytest.raises(ToolFailure, match="several cells with id"):
        find_cell(cells_of(json.dumps(content).encode(), "a.ipynb"), "cell-2", "a.ipynb")


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(
    text=st.sampled_from(list(PRODUCERS.values())),
    sources=st.lists(TEXTS, min_size=0, max_size=4),
    new=TEXTS,
    data=st.data(),
)
def test_whatever_is_changed_nothing_else_is(text, sources, new, data):
    style = json.loads(text.lstrip("\ufeff"))
    lists = isinstance(style["cells"][1]["source"], list)
    content = notebook(ids="id" in style["cells"][0], lists=lists, sources=sources)
    indent = data.draw(st.sampled_from([None, 1, 4, "\t"]))
    before = json.dumps(content, indent=indent, ensure_ascii=data.draw(st.booleans())).encode()
    place = data.draw(st.integers(0, len(sources)))
    after = opened(before).insert(place, new, data.draw(st.sampled_from(["code", "markdown", "raw"])), "new-cell")
    check(after)
    assert [cell.source for cell in opened(after).cells] == [*sources[:place], new, *sources[place:]]
    if sources:
        assert opened(after).delete(place) == before
        at = data.draw(st.integers(0, len(sources) - 1))
        replaced = opened(before).replace(at, new)
        check(replaced)
        assert [cell.source for cell in opened(replaced).cells] == [*sources[:at], new, *sources[at + 1 :]]
        rest = [part for number, part in enumerate(json.loads(replaced)["cells"]) if number != at]
        assert rest == [part for number, part in enumerate(content["cells"]) if number != at]


def test_a_long_source_is_replaced_in_no_time():
    lines = [f"line {number}" for number in range(20_000)]
    file = opened(spelled(notebook(sources=("", "\n".join(lines))), indent=1).encode())
    new = "\n".join([*lines, "one more"])
    assert cells_of(file.replace(1, new), "n.ipynb")[1].source == new


@pytest.mark.parametrize("minor", ["5", None, [], 4.5])
def test_a_minor_version_that_is_no_number_gives_no_ids(minor):
    file = opened(json.dumps({**notebook(), "nbformat_minor": minor}).encode())
    assert not file.has_ids
    assert len(cells_of(file.insert(0, "x", "code", "new"), "n.ipynb")) == 4


def test_parts_that_cannot_be_shown_stay_with_their_line():
    text = spelled(notebook(sources=("", "a\ud83d\nb\nc\udce9")), indent=1)
    file = opened(text.encode())
    assert file.cells[1].source == "a\ufffd\nb\nc\ufffd"
    after = json.loads(file.replace(1, "a\ufffd\nB\nc\ufffd"))
    assert after["cells"][1]["source"] == ["a\ud83d\n", "B\n", "c\udce9"]
