"""A loose match writes what the exact edit would have written:
its nesting, and the characters of the file that do not change.
"""

import ast
import re
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.patch_model import Replacement
from nbtools.workspace.text.file_edit import plan_edit

NAMES = st.sampled_from(["total", "price", "items", "found", "row", "_state"])
VALUES = st.one_of(
    NAMES,
    st.integers(0, 99).map(str),
    st.sampled_from(["'a - b'", '"it is"', "f(x, y)", "[1, 2]", "a  if b else c"]),
)
SIMPLE = (
    st.builds("{} = {}".format, NAMES, VALUES)
    | st.builds("return {}".format, VALUES)
    | st.builds("print({}, {})".format, VALUES, VALUES)
)

HEAD = st.one_of(
    st.builds("if {} == {}:".format, NAMES, VALUES),
    st.builds("for {} in {}:".format, NAMES, VALUES),
    st.builds("with {}:".format, NAMES),
)


def nested(head, body, tail):
    return [head, *(f"    {line}" if line else line for part in body for line in part), *tail]


BLOCK = st.recursive(
    SIMPLE.map(lambda line: [line]),
    lambda inner: st.builds(
        nested,
        HEAD,
        st.lists(inner, min_size=1, max_size=3),
        st.sampled_from([[], ["", "pass"], ["else:", "    pass"]]),
    ).filter(lambda lines: "else:" not in lines or not lines[0].startswith("with")),
    max_leaves=6,
)
FUNCTION = st.builds(
    nested, st.builds("def {}(x, y=1):".format, NAMES), st.lists(BLOCK, min_size=1, max_size=3), st.just([])
)
UNITS = st.sampled_from(["    ", "  ", "\t"])


def indented(lines, depth, unit):
    """Returns lines with indentation by four spaces at a depth, and with another unit."""
    return [
        (unit * depth + unit * ((len(line) - len(line.lstrip())) // 4) + line.lstrip()) if line else line
        for line in lines
    ]


def doubled_blanks(lines):
    return [re.sub(r"(?<=\S) (?=\S)", "  ", line, count=1) for line in lines]


def without_first_indentation(lines):
    return [lines[0].lstrip(), *lines[1:]]


def dedented(lines):
    return textwrap.dedent("\n".join(lines)).split("\n")


def in_other_units(lines):
    return [
        re.sub(r"^(?:\t|  (?:  )?)*", lambda found: found[0].replace("    ", "\t"), line) for line in lines
    ]


def typographic(lines):
    return [
        line.replace("'", "\u2019").replace('"', "\u201d").replace(" - ", "\u00a0\u2013 ") for line in lines
    ]


WAYS = st.lists(
    st.sampled_from([doubled_blanks, without_first_indentation, dedented, in_other_units, typographic]),
    min_size=1,
    max_size=2,
)


def distorted(lines, ways):
    for way in ways:
        lines = way(lines)
    return lines


def compiles(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@given(FUNCTION, FUNCTION, FUNCTION, st.integers(0, 2), UNITS, WAYS, WAYS, st.booleans(), st.data())
def test_after_a_loose_match_a_function_compiles_and_is_nested_as_the_new_text(
    old, new, other, depth, unit, ways, new_ways, alike, data
):
    """The new text may be given in another way than the old one:
    then the file compiles, or the edit is refused.
    """
    heads = ["if True:\n", unit + "if True:\n"][:depth]
    around = [
        "".join(heads),
        "\n".join(["", *indented(other, depth, unit), *indented(["last = 1"], 0, unit), ""]),
    ]
    first = data.draw(st.integers(0, len(old) - 1))
    there, meant = indented(old, depth, unit), indented(new, depth, unit)
    if first and data.draw(st.booleans()):
        there, meant = there[first:], [*there[first:], *indented(["    done = 1"], depth, unit)]
        around[0] += "\n".join([*indented(old, depth, unit)[:first], ""])
    before = "\n".join(there).join(around)
    exact = "\n".join(meant).join(around)
    if not (compiles(before) and compiles(exact)):
        return
    change = Replacement(
        "\n".join(distorted(there, ways)), "\n".join(distorted(meant, ways if alike else new_ways))
    )
    name = (
        "a.txt" if alike else "a.py"
    )  # code is compiled before it is written: where both are given alike, that is not needed
    try:
        planned = plan_edit(Path(name), name, before.encode(), [change], match="close")
    except ToolFailure:
        return
    if not planned.loose:
        return
    if not alike:
        assert compiles(planned.proposed)
    else:
        assert ast.dump(ast.parse(planned.proposed.translate(STRAIGHT))) == ast.dump(
            ast.parse(exact.translate(STRAIGHT))
        )


STRAIGHT = str.maketrans({"\u2019": "'", "\u201d": '"', "\u00a0": " ", "\u2013": "-"})


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (
            "class A:\n    def f(self):\n        return 1\n",
            "def  f(self):\n        return 1",
            "def f(self):\n    return 2",
            "class A:\n    def f(self):\n        return 2\n",
        ),
        (
            "class A:\n    def f(self):\n        return 1\n",
            "def  f(self):\n        return 1",
            "def f(self):\n        if x:\n            return 1\n        return 2",
            "class A:\n    def f(self):\n        if x:\n            return 1\n        return 2\n",
        ),
        (
            "if a:\n    b = 1  ; c = 2\n",
            "b = 1 ;",
            "if b:\n    b = 2 ;",
            "if a:\n    if b:\n        b = 2  ; c = 2\n",
        ),
    ],
)
def test_a_block_whose_first_line_is_given_without_indentation_moves_as_a_whole(before, old, new, after):
    assert (
        plan_edit(Path("a.txt"), "a.txt", before.encode(), [Replacement(old, new)], match="close").proposed
        == after
    )


@pytest.mark.parametrize(
    ("before", "old", "new"),
    [
        # The last line may be meant for the class or for the module.
        (
            "class A:\n    def f(self):\n        return 1\n",
            "def  f(self):\n        return 1",
            "def f(self):\n        return 2\ndef g():\n        pass",
        ),
        # The second line may be meant at 8 or at 12.
        ("    f(a, \n            b)\n", "f(a,\n            b)", "f(a,\n        c)"),
        # The new text has neither the indentation of the old one nor that of the file.
        ("if True:\n  def f():\n    return 1\n", "  def  f():\n    return 1", "def f():\n    return 2"),
    ],
)
def test_an_ambiguous_indentation_is_refused(before, old, new):
    with pytest.raises(ToolFailure) as caught:
        plan_edit(Path("a.py"), "a.py", before.encode(), [Replacement(old, new)], match="close")
    assert caught.value.code is ErrorCode.EDIT_PREPARATION_FAILURE


FANCY = {
    "'": ["'", "\u2018", "\u2019", "\u2032"],
    '"': ['"', "\u201c", "\u201d", "\u00ab"],
    "-": ["-", "\u2013", "\u2014", "\u2212"],
    " ": [" ", "\u00a0", "\u202f", "\u3000", "  ", "\t", " \t "],
    "...": ["...", "\u2026"],
}
PIECE = st.sampled_from(["word", "said", "x", "12", "'", '"', "-", " ", " ", " ", "...", "(", "é", ","])
LINE = st.lists(PIECE, min_size=1, max_size=12).map(lambda pieces: ["start", " ", *pieces, " ", "end"])


@given(st.lists(LINE, min_size=1, max_size=4), st.data())
def test_the_characters_of_the_file_stay_where_old_and_new_agree(lines, data):
    """Quotes, dashes, blanks, invisible characters and trailing blanks that are only written in another way
    are not changed.
    """

    def in_file(piece):
        looks = data.draw(st.sampled_from(FANCY.get(piece, [piece])))
        return looks + data.draw(st.sampled_from(["", "", "", "\u200b", "\u2060"])) * (not looks.isspace())

    there = [[in_file(piece) for piece in line] for line in lines]
    number = data.draw(st.integers(0, len(lines) - 1))
    trailing = [data.draw(st.sampled_from(["", "", "  ", "\t"])) for _ in lines]
    before = "".join("".join(line) + end + "\n" for line, end in zip(there, trailing, strict=True))
    typed = [re.sub(" +", " ", "".join(line)) for line in lines]
    old = "".join(f"{line}\n" for line in typed)
    typed[number] = "changed" + typed[number].removeprefix("start")
    new = "".join(f"{line}\n" for line in typed)
    planned = plan_edit(Path("a"), "a", before.encode(), [Replacement(old, new)], match="close")
    expected = [line if k != number else ["changed", *line[1:]] for k, line in enumerate(there)]
    after = "".join("".join(line) + end + "\n" for line, end in zip(expected, trailing, strict=True))
    assert planned.proposed == after


def test_typographic_quotes_stay_where_a_word_beside_them_changes():
    before = "She said, \u201cHello.\u201d\n"
    planned = plan_edit(
        Path("a"),
        "a",
        before.encode(),
        [Replacement('She said, "Hello."', 'She said, "Hi there."')],
        match="close",
    )
    assert planned.proposed == "She said, \u201cHi there.\u201d\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("if x:\n    y  = 1\n    z = 2\n", "y = 1", "", "if x:\n    z = 2\n"),
        ("if x:\n    y  = 1; z = 2\n", "y = 1;", "", "if x:\n     z = 2\n"),
        (
            "if x:\n  y = 1\n  z = 2\n",
            "    y = 1\n    z = 2",
            "    y = 1\n    if q:\n        z = 2",
            "if x:\n  y = 1\n  if q:\n    z = 2\n",
        ),
        ("a()  \nb()  \nc()  \n", "a()\nb()\nc()", "a(1)\nb(2)\nc(3)", "a(1)  \nb(2)  \nc(3)  \n"),
    ],
)
def test_no_rest_of_the_old_text_is_left_and_units_are_those_of_the_file(before, old, new, after):
    assert (
        plan_edit(Path("a"), "a", before.encode(), [Replacement(old, new)], match="close").proposed == after
    )


@pytest.mark.parametrize(
    ("before", "old", "names"),
    [
        ("cafe\u0301 au lait\n", "caf\u00e9 au lait", ("NFD", "NFC", "U+0301", "U+00E9")),
        ("caf\u00e9 au lait\n", "cafe\u0301 au lait", ("NFC", "NFD")),
        ("foo( a )\n", "foo(a)", ("brackets",)),
        ("a \u2014 b\n", "a \\u2014 b", ("escapes",)),
    ],
)
def test_the_message_names_the_difference_of_texts_that_look_the_same(before, old, names):
    with pytest.raises(ToolFailure) as caught:
        plan_edit(Path("a"), "a", before.encode(), [Replacement(old, "x")], match="close")
    assert all(name in caught.value.message for name in names)
