"""The table of programs: its format, how tables are laid over one another,
and what the tables that nbtools brings must hold to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from nbtools.shell import ProgramTable, analyse
from nbtools.shell.program_table import Entry, check_entry, included_table, included_tables
from nbtools.shell.special_programs import SPECIAL

PROGRAMS = [(name, raw) for table in included_tables() for name, raw in table.items()]
OPTIONS = ("flags", "values", "optional", "reads", "writes", "folder", "removes", "shell_options")
"""Lists that say what follows an option: it stands in one of them."""
MEANINGS = ("instead", "links", "lists")
"""Lists of options that stand in one of the others, too."""
OTHERS = ("rewrites", "shows", "empties", "takes", "prints")


def entry(table: ProgramTable, name: str) -> Entry:
    found = table.find(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "raw",
    [
        {"flag": "-a"},
        {"flags": ["-a"]},
        {"values": 1},
        {"harmless": "yes"},
        {"edits": 1},
        {"special": True},
        {"like": ["a"]},
        {"also": ["b"]},
        {"operands": "file"},
        {"operands": "read programs"},
        {"operands": ["read"]},
    ],
)
def test_keys_outside_of_the_format_are_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^\[a b\] "):
        check_entry("a b", raw)
    with pytest.raises(ValueError, match=r"^\[a b\] "):
        ProgramTable({"a b": raw})


def test_options_are_clusters_or_words() -> None:
    table = ProgramTable({"a": {"flags": "-xy --long"}, "b": {"flags": "-xy --long -z", "style": "words"}})
    assert entry(table, "a").flags == {"-x", "-y", "--long"}
    assert entry(table, "b").flags == {"-xy", "--long", "-z"}


def test_options_that_name_something_have_a_value() -> None:
    found = entry(
        ProgramTable(
            {
                "a": {
                    "values": "-v",
                    "reads": "-r",
                    "writes": "-w",
                    "folder": "-C",
                    "removes": "-x",
                    "shell_options": "-c",
                }
            }
        ),
        "a",
    )
    assert found.values == {"-v", "-r", "-w", "-C", "-x", "-c"}


def test_options_that_change_the_style_need_not_be_in_flags() -> None:
    found = entry(
        ProgramTable(
            {"a": {"rewrites": "-iw", "optional": "-i", "shows": "-n", "empties": "-e", "takes": "-t"}}
        ),
        "a",
    )
    assert found.flags == {"-w", "-n", "-e", "-t"}


def test_roles_of_operands() -> None:
    assert entry(ProgramTable({"a": {"operands": "text program"}}), "a").operands == ("text", "program")
    (first, second) = entry(ProgramTable({"a": {"operands": r"/[a-z]+\/x y/ none"}}), "a").operands
    assert isinstance(first, re.Pattern)
    assert first.fullmatch("b/x y")
    assert second == "none"


def test_other_names() -> None:
    table = ProgramTable(
        {"a": {"also": "b c", "flags": "-x"}, "a d": {"also": "a e, a d g", "harmless": True}}
    )
    assert entry(table, "b").flags == entry(table, "c").flags == {"-x"}
    assert entry(table, "a").commands.keys() == {"d", "e"}
    assert entry(table, "b").commands.keys() == {"d", "e"}
    assert entry(table, "c").commands["d"].commands["g"].harmless
    assert table.find("d") is None
    assert "b" in table
    assert "h" not in table


def test_a_program_like_another_one_adds_to_its_lists() -> None:
    base = {
        "flags": "-x",
        "values": "-v",
        "only": {"-v": "1"},
        "operands": "read",
        "harmless": True,
        "note": "reads",
    }
    table = ProgramTable(
        {
            "a": base,
            "b": {"like": "a", "flags": "-y", "only": {"-w": "2"}, "harmless": False, "values": "-w"},
            "c": {"like": "b"},
        }
    )
    found = entry(table, "c")
    assert found.flags == {"-x", "-y"}
    assert found.values == {"-v", "-w"}
    assert found.operands == ("read",)
    assert (found.harmless, found.note) == (False, "reads")
    assert {option: pattern.pattern for option, pattern in found.only.items()} == {"-v": "1", "-w": "2"}
    assert entry(table, "a").flags == {"-x"}


def test_a_program_like_another_one_does_always_what_that_does_always() -> None:
    table = ProgramTable(
        {
            "a": {"links": "always"},
            "b": {"like": "a", "flags": "-x"},
            "c": {"like": "a", "links": "-s", "flags": "-s"},
        }
    )
    assert entry(table, "b").links == entry(table, "c").links == {"always"}


def test_entries_that_refer_to_each_other_cause_no_endless_loop() -> None:
    assert entry(
        ProgramTable({"a": {"like": "b", "flags": "-x"}, "b": {"like": "a", "flags": "-y"}}), "a"
    ).flags == {"-x", "-y"}


def test_a_later_table_replaces_the_whole_program() -> None:
    first: dict[str, Any] = {
        "a": {"flags": "-x", "harmless": True},
        "a b": {"harmless": True},
        "c": {"harmless": True},
    }
    table = ProgramTable(first, {"a": {"flags": "-y"}})
    assert entry(table, "a").flags == {"-y"}
    assert not entry(table, "a").harmless
    assert not entry(table, "a").commands
    assert entry(table, "c").harmless


def test_a_later_table_adds_to_an_entry_like_itself() -> None:
    first: dict[str, Any] = {"a": {"flags": "-x", "harmless": True}, "a b": {"flags": "-q"}}
    table = ProgramTable(first, {"a": {"like": "a", "flags": "-y"}})
    assert entry(table, "a").flags == {"-x", "-y"}
    assert entry(table, "a").harmless
    assert entry(table, "a").commands["b"].flags == {"-q"}


def test_a_later_table_replaces_or_adds_one_sub_command() -> None:
    first: dict[str, Any] = {"a": {"harmless": True}, "a b": {"flags": "-q"}, "a c": {"flags": "-r"}}
    table = ProgramTable(
        first, {"a b": {"flags": "-s"}, "a c": {"like": "a c", "flags": "-t"}, "a d": {"flags": "-u"}}
    )
    assert {name: found.flags for name, found in entry(table, "a").commands.items()} == {
        "b": {"-s"},
        "c": {"-r", "-t"},
        "d": {"-u"},
    }
    assert entry(table, "a").harmless


@pytest.mark.parametrize(
    ("program", "known"),
    [("ls", True), ("/bin/ls", True), ("/usr/bin/ls", True), ("./ls", False), ("/tmp/ls", False)],
)
def test_a_program_in_a_folder_of_the_system_is_the_same(program: str, known: bool) -> None:
    assert (included_table().find(program) is not None) is known


def test_another_table_decides_what_a_line_does() -> None:
    table = ProgramTable({"tool": {"flags": "-q", "operands": "read", "writes": "-o", "harmless": True}})
    assert analyse("tool -q a", table).harmless
    assert analyse("tool -o b a", table).commands[0].writes == ("b",)
    assert analyse("tool -z a", table).commands[0].risk
    assert analyse("tool -q a").commands[0].entry == ""


def test_every_name_occurs_once() -> None:
    names = Counter(name for own, raw in PROGRAMS for name in _all_names(own, raw))
    assert [name for name, count in names.items() if count > 1] == []


def _all_names(name: str, raw: dict[str, Any]) -> list[str]:
    others = raw.get("also", "")
    return [
        name,
        *filter(None, (other.strip() for other in (others.split(",") if " " in name else others.split()))),
    ]


def _words(raw: dict[str, Any], key: str) -> list[str]:
    words: list[str] = raw.get(key, "").split()
    if raw.get("style", "").startswith("words") or raw.get(key) == "always":
        return words
    return [
        option
        for word in words
        for option in ([word] if word[:2] == "--" else [f"-{letter}" for letter in word[1:]])
    ]


def _problems(raw: dict[str, Any]) -> Iterator[str]:
    whole = [key for key in (*OPTIONS, *OTHERS, *MEANINGS) if key in raw]
    yield from (
        f"{key}: {option} twice"
        for key in whole
        for option, count in Counter(_words(raw, key)).items()
        if count > 1
    )
    where = Counter(option for key in OPTIONS for option in set(_words(raw, key)))
    yield from (f"{option} in two lists" for option, count in where.items() if count > 1)
    if not raw.get("style", "").startswith("words"):
        yield from (
            f"{key}: {word} is no option"
            for key in whole
            for word in raw[key].split()
            if word[0] != "-" and word != "always"
        )


@pytest.mark.parametrize(("name", "raw"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_each_option_is_in_one_list(name: str, raw: dict[str, Any]) -> None:
    assert list(_problems(raw)) == [], name


def _entries() -> Iterator[Entry]:
    waiting = [
        entry(included_table(), name)
        for name in dict.fromkeys(name.partition(" ")[0] for name in included_table().names())
    ]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(found.commands.values())


def test_each_entry_can_be_used() -> None:
    """Compiling them compiles each regular expression."""
    entries = {found.name: found for found in _entries()}
    assert set(included_table().names()) <= entries.keys()
    for found in entries.values():
        listed = found.flags | found.values | found.optional
        assert found.special in {"", *SPECIAL}, found.name
        assert found.style in {"getopt", "first", "words", "words first", "text", "letters"}, found.name
        assert found.only.keys() <= listed, found.name
        for key in MEANINGS:
            assert getattr(found, key) <= listed | {"always"}, (found.name, key)
        assert not (
            found.free and (found.writes or found.rewrites or found.removes or found.shell_options)
        ), found.name


def test_each_program_that_is_like_another_one_has_it() -> None:
    assert {raw["like"] for _, raw in PROGRAMS if "like" in raw} <= set(included_table().names())


def test_each_special_is_used() -> None:
    assert {found.special for found in _entries()} - {""} == SPECIAL.keys()
