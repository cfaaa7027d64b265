"""``%tools program``: what the table of programs knows, and programs that a person adds."""

from __future__ import annotations

from pathlib import Path

import pytest

ADD = '%tools program {} frobnicate flags="-v --verbose" operands=read harmless=true'


def test_the_command_shows_the_known_programs(lab):
    text = lab.run("%tools program sort").text
    assert "options that name a file it writes (require approval)" in text
    assert "-o --output" in text
    assert "it changes nothing and sends nothing" in text
    assert "It does not cover sort --output=FILE" in text
    assert "options that are known to be harmless" in lab.run("%tools program git log").text
    assert "sub-commands" in lab.run("%tools program git").text
    assert "requires approval" in lab.run("%tools program psql").text
    unknown = lab.run("%tools program sotr").text
    assert (
        "sotr is not in the table of programs, so a rule for it would allow everything it does. Did you mean"
        in unknown
    )
    assert "git lgo is not in the table" in lab.run("%tools program git lgo").text


def test_one_is_added_for_this_session(lab):
    assert "You have added no programs" in lab.run("%tools program").text
    added = lab.run(ADD.format("")).text
    assert "Added frobnicate to the table of programs for this session" in added
    assert "covers frobnicate with options that are known to be harmless" in added
    row = lab.run("%tools program").text.splitlines()[1]
    assert row.split()[0] == "frobnicate"
    assert 'flags="-v --verbose" operands=read harmless=true' in row
    assert row.endswith("session")
    assert "program  frobnicate" in lab.run("%tools rules").text
    allowed = lab.run('%tools allow "shell(frobnicate:*)"').text
    assert "frobnicate with options that are known to be harmless" in allowed
    assert lab.value("tools.session.decide('shell', {'command': 'frobnicate -v x'}).entry") == "frobnicate"
    assert lab.value("tools.session.decide('shell', {'command': 'frobnicate -x'}).action.value") == "ask"
    assert "Removed frobnicate" in lab.run("%tools program --remove frobnicate").text
    assert "You have added no programs" in lab.run("%tools program").text


def test_an_entry_is_stored_for_later_sessions(lab):
    lab.run(ADD.format(""))
    kept = lab.value("str(tools.session.session.store.user_path)")
    try:
        assert kept in lab.run(ADD.format("--save")).text
        assert lab.run("%reload_ext nbtools").error == ""
        assert lab.run("%tools program").text.splitlines()[1].endswith("user")
        assert "1 program" in lab.run("%tools").text
        assert "remove [programs.frobnicate] there" in lab.run("%tools program --remove frobnicate").text
    finally:
        Path(kept).unlink(missing_ok=True)


def test_built_in_entries_are_replaced_or_extended(lab):
    assert (
        "This replaces the built-in entry of git. like=git extends it instead."
        in lab.run("%tools program git flags=-v").text
    )
    lab.run("%tools program --remove git")
    assert "replaces" not in lab.run("%tools program git like=git flags=--foo").text
    assert "--foo" in lab.run("%tools program git").text
    assert "known to be harmless" in lab.run("%tools program git log").text


def test_a_project_s_programs_count_once_they_are_trusted(lab, project):
    rules = project / ".nbtools" / "policy.toml"
    rules.parent.mkdir()
    rules.write_text('[programs.frobnicate]\nflags = "-v"\n', encoding="utf-8")
    lab.run("%reload_ext nbtools")
    shown = lab.run("%tools trust").text
    assert "frobnicate  describes what the program does" in shown
    assert "off until trusted" in shown
    assert "not trusted" in lab.run("%tools program").text
    assert "is not in the table" in lab.run("%tools program frobnicate").text
    lab.run("%tools trust yes")
    assert "shell(frobnicate:*) covers frobnicate" in lab.run("%tools program frobnicate").text


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("flags=-v", "takes a name and properties of the program"),
        ("--save", "takes a name and properties of the program"),
        ("--save frobnicate", "takes a name and properties of the program"),
        ("--keep frobnicate", "has no flag --keep. Flags: --save, --remove"),
        ("frobnicate flag=-v", "has no 'flag'. Did you mean flags"),
        ("frobnicate harmless=yes", "it is true or false"),
        ("frobnicate operands=reads", "unknown role: reads"),
        ("frobnicate flags=v", "does not begin with a dash"),
        ("./frobnicate flags=-v", "without a folder"),
        ("--remove frobnicate", "was not added for this session"),
    ],
)
def test_an_error_is_one_line(lab, line, says):
    cell = lab.run(f"%tools program {line}")
    assert cell.error == ""
    assert says in cell.text
    assert "\n" not in cell.text.strip()


def test_the_coverage_of_a_rule_is_shown_with_the_grant(lab):
    text = lab.run('%tools allow "shell(git log:*)" edit').text
    assert "shell(git log:*) covers git log with options that are known to be harmless." in text
    assert "It does not cover git log --output=FILE" in text
    assert "edit covers" not in text
    assert "whatever frob does" in lab.run('%tools allow "shell(frob:*)"').text


def test_the_history_names_the_entry(lab):
    lab.run('%tools allow "shell(echo:*)"\n%tool shell echo hello')
    assert "(in the table of programs: echo)" in lab.run("%tools history").text


def test_a_question_about_a_command_says_what_always_covers_and_which_shell_runs_it(lab):
    lab.start("%tool shell sort a.txt | frobnicate")
    question = lab.until(lab.question)
    always, card = lab.choices(question)["always"], lab.question_data(question)["card"]
    assert "shell(sort:*) covers sort with options that are known to be harmless" in always["tip"]
    assert "shell(frobnicate) covers exactly this line" in always["tip"]
    assert (
        "frobnicate is not in the table of programs: a rule for it would allow whatever it does"
        in card["note"]
    )
    assert card["subject"].count("runs in bash") == 1
    lab.answer_with("deny")
