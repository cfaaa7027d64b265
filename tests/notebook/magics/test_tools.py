"""``%tools`` and its sub-commands."""

from __future__ import annotations

import pytest


def test_it_shows_the_session(lab, project):
    text = lab.run("%tools").text
    assert str(project) in text
    assert "default" in text


def test_modes(lab):
    assert "The mode is plan" in lab.run("%tools mode plan").text
    assert "Not allowed" in lab.run("%tool write a.txt x").text
    assert "Did you mean plan" in lab.run("%tools mode pln").text
    assert "The mode is auto_edit" in lab.run("%tools mode auto-edit").text
    assert lab.run("%tool write a.txt x").error == ""


def test_rules_come_and_go(lab):
    lab.run('%tools allow "shell(echo:*)" write')
    assert [row.split()[0] for row in lab.run("%tools grants").text.splitlines()[1:3]] == [
        "shell(echo:*)",
        "write",
    ]
    assert "hello" in lab.run("%tool shell echo hello").text
    lab.run("%tools deny write")
    assert "the rule write denies it" in lab.run("%tool write a.txt x").text
    assert "Removed: write" in lab.run("%tools revoke write").text
    assert "Removed: write" in lab.run("%tools revoke write").text
    assert "There is no rule or grant write" in lab.run("%tools revoke write").text
    lab.run("%tools revoke *")
    assert "There are no grants" in lab.run("%tools grants").text


@pytest.mark.parametrize("rule", ["read(~/data/**)", "grep(//etc/**)", "Read(//etc/hosts)", "ls(~/data/)"])
def test_a_rule_that_lets_a_file_tool_out_of_the_workspace_is_refused(lab, rule):
    refused = lab.run(f'%tools allow "{rule}"').text
    assert "has no effect" in refused
    assert "%tools workspace FOLDER" in refused
    assert "There are no grants" in lab.run("%tools grants").text


def test_a_rule_for_files_of_the_workspace_by_their_whole_path_is_not(lab, project):
    assert "Allowed" in lab.run(f'%tools allow "read(/{project}/src/**)" "read(**)" "edit(//srv/x/**)"').text
    lab.run("%tools revoke *")


def test_history_and_pending(lab):
    assert "No call has finished yet" in lab.run("%tools history").text
    lab.run("%tool ls src\n%tool read missing.txt")
    rows = lab.run("%tools history").text.splitlines()
    assert [row.split()[1:3] for row in rows[1:]] == [["ls", "src"], ["read", "missing.txt"]]
    assert "searching changes nothing" in rows[1]
    lab.run("%tools deny ls\n%tool ls src")
    assert lab.run("%tools history").text.splitlines()[-1].split()[3:-3] == [
        "not",
        "allowed",
        "rule",
        "ls",
        "of",
        "this",
        "session",
    ]
    lab.run("%tools revoke ls")
    assert "No call is running" in lab.run("%tools pending").text
    lab.run("call = tools.write.background('a.txt', 'x')")
    assert "needs your answer" in lab.run("%tools pending").text
    call_id = lab.value("call.id")
    assert f"Cancelled: {call_id}" in lab.run(f"%tools cancel {call_id}").text
    assert "Not running: nothing" in lab.run("%tools cancel nothing").text


def test_another_workspace(lab, project):
    assert str(project / "src") in lab.run("%tools workspace src").text
    assert "cart.py" in lab.run("%tool ls").text
    assert "missing" in lab.run("%tools workspace missing").text
    assert str(project / "src") in lab.run("%tools workspace").text


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("%tools alow edit", "%tools has no sub-command 'alow'. Did you mean allow"),
        ("%tools allow", "%tools allow needs a rule"),
        ("%tools allow 'edit('", "is not a rule"),
        ("%tools use klingon", "There is no dialect 'klingon'"),
        ("%tools confirm loudly", "%tools confirm has no method 'loudly'"),
        ("%tools mode a b", "takes one argument"),
        ("%tools cancel", "needs the id of a call"),
        ("%tools 'x", "is not closed"),
        ("%tools allow --keep edit", "%tools allow has no flag --keep. Flags: --save"),
        ("%tools save grep", "grep is not a grant of this session"),
        ("%tools grants edit", "%tools grants takes no arguments"),
        ("%tools rules edit", "%tools rules takes no arguments"),
        ("%tools trust maybe", "takes yes or no"),
        ("%tools approve edits", "takes a switch and on or off"),
        ("%tools approve everything on", "There is no switch 'everything'"),
        ("%tools import", "takes one argument"),
        ("%tools import --save --project x.toml", "saves to one file"),
        ("%tools import missing.json", "missing.json"),
        ("%tools import notes.txt", "is not valid JSON"),
        ("%tools set sandbox", "takes a setting and a value"),
        ("%tools set sandbox on", "sandbox cannot be 'on'. It takes off or if_present or required"),
        ("%tools set redct off", "There is no setting 'redct'. Did you mean redact"),
        ("%tools set journal_bytes many", "It takes a size, as in 500MB"),
        ("%tools set plugins on", "can only be set when a session is created"),
        ("%tools undo --keep --take-back a", "takes one of"),
        ("%tools journal few", "takes a number of calls"),
        ("%tools history -5", "takes a number of calls above 0"),
        ("%tools deny '[1]'", "'[1]' is not a rule"),
        ("%tools ask [x", "'[x' is not a rule"),
        ("%tools cancel '[1]'", "Not running: [1]"),
    ],
)
def test_an_error_is_one_line(lab, code, says):
    cell = lab.run(code)
    assert cell.error == ""
    assert says in cell.text
    assert "\n" not in cell.text.strip()


def test_help_lists_the_commands(lab):
    text = lab.run("%tools help").text
    for name in (
        *(
            "use",
            "mode",
            "allow",
            "ask",
            "deny",
            "grants",
            "save",
            "revoke",
            "approve",
            "rules",
            "trust",
            "import",
            "undo",
            "journal",
        ),
        *("history", "pending", "cancel", "workspace", "settings", "set", "confirm"),
    ):
        assert f"%tools {name}" in text


@pytest.mark.parametrize(
    "line", ["help undo", "undo?", "undo ?", "undo --help", "undo -h", "undo? # what does it do?"]
)
def test_help_on_one_command_shows_only_that(lab, line):
    cell = lab.run(f"%tools {line}")
    assert "%tools undo" in cell.text
    assert len(cell.text.strip().splitlines()) == 1


def test_a_comment_is_no_argument(lab):
    before = lab.run("%tools").text
    assert lab.run("%tools # isn't much").text == before
    added = lab.run('%tools program mytool flags="-v" # for this session').text
    assert "# for this session" not in added
    assert "mytool" in lab.run("%tools program").text
    assert "# for this session" not in lab.run("%tools program").text


def test_help_on_an_unknown_command_suggests_one(lab):
    assert "Did you mean undo" in lab.run("%tools help undu").text


def test_switches(lab):
    assert "off" in lab.run("%tools approve").text.splitlines()[1]
    assert "edits: allowed without approval" in lab.run("%tools approve edits on").text
    assert lab.run("%tool write a.txt x").error == ""
    assert "on " in lab.run("%tools approve").text.splitlines()[1]
    assert "MCP tools: allowed without approval (mcp__*)" in lab.run("%tools approve mcp tools on").text
    assert "the mode and the rules decide" in lab.run("%tools approve edits off").text
    assert "mcp__*" in lab.run("%tools grants").text
    assert "write" not in lab.run("%tools grants").text


def test_grants_are_saved_for_later_sessions_here(lab, project):
    lab.run('%tools allow "shell(echo:*)"')
    row = lab.run("%tools grants").text.splitlines()[1]
    assert "this session" in row
    assert "by hand" in row
    assert "Saved for later sessions" in lab.run('%tools save "shell(echo:*)"').text
    lab.run("%tools allow --save glob")
    assert lab.run("%reload_ext nbtools").error == ""
    assert [row.split()[:2] for row in lab.run("%tools grants").text.splitlines()[1:3]] == [
        ["shell(echo:*)", "saved"],
        ["glob", "saved"],
    ]
    assert "remembered" in lab.run("%tools").text
    assert "hello" in lab.run("%tool shell echo hello").text
    assert "Removed" in lab.run("%tools revoke *").text
    lab.run("%reload_ext nbtools")
    assert "There are no grants" in lab.run("%tools grants").text


def test_a_project_s_rules_count_once_they_are_trusted(lab, project):
    rules = project / ".nbtools" / "policy.toml"
    rules.parent.mkdir()
    rules.write_text('allow = ["shell(echo:*)"]\ndeny = ["fetch"]\n', encoding="utf-8")
    lab.run("%reload_ext nbtools")
    opened = lab.run("%tools").text
    assert "This project's allow rules are off until you trust them" in opened
    assert "1 allow, 1 deny; not trusted" in opened
    shown = lab.run("%tools trust").text
    assert [line.split()[:2] for line in shown.splitlines()[2:4]] == [
        ["allow", "shell(echo:*)"],
        ["deny", "fetch"],
    ]
    assert "every command that begins with echo" in shown
    assert "off until trusted" in shown
    rules.write_text('allow = ["shell(echo:*)", "edit"]\n', encoding="utf-8")
    assert "Not trusted, because the file has changed since you viewed it" in lab.run("%tools trust yes").text
    trusted = lab.run("%tools trust yes").text
    assert "Trusted until the file changes" in trusted
    assert "every change to a file by edit" in trusted
    assert "hello" in lab.run("%tool shell echo hello").text
    assert "2 allow; trusted" in lab.run("%tools").text
    rules.write_text('allow = ["shell"]\n', encoding="utf-8")
    lab.run("%reload_ext nbtools")
    assert "they have changed since you trusted them" in lab.run("%tools").text
    assert "Not trusted" in lab.run("%tools trust no").text


def test_a_project_s_rules_are_described_by_their_meaning(lab, project):
    rules = project / ".nbtools" / "policy.toml"
    rules.parent.mkdir()
    rules.write_text('deny = ["Bash(run_in_background:true)", "Read(secrets/**)"]\n', encoding="utf-8")
    lab.run("%reload_ext nbtools")
    shown = lab.run("%tools trust").text
    assert "Bash(run_in_background:true)" in shown
    assert "exactly the command" not in shown
    assert "reading **/secrets/**" in shown


def test_a_project_without_rules(lab):
    assert "has no rules of its own" in lab.run("%tools trust").text
    assert "There are no rules" in lab.run("%tools rules").text


def test_an_unreadable_file_of_the_project_is_reported(lab, project):
    (project / ".nbtools").mkdir()
    (project / ".nbtools" / "policy.toml").write_text("deny = [", encoding="utf-8")
    lab.run("%reload_ext nbtools")
    cell = lab.run("%tools")
    assert "every call needs approval" in cell.text
    assert "cannot be read" in lab.run("%tools trust").text
    lab.run("%tools confirm deny")
    assert "needs approval" in lab.run("%tool read notes.txt").text
    lab.run("%tools confirm auto")


CLAUDE = '{"permissions": {"allow": ["Bash(echo:*)", "Skill(x)"], "deny": ["Read(./notes.txt)"], "defaultMode": "acceptEdits"}}'


def test_permissions_of_claude_are_imported(lab, project):
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(CLAUDE, encoding="utf-8")
    shown = lab.run("%tools import .claude/settings.json").text
    assert "shell(echo:*)" in shown
    assert "Imported for this session" in shown
    assert "The mode is auto_edit" in shown
    assert "Skill(x)" in shown
    assert "hello" in lab.run("%tool shell echo hello").text
    assert "Not allowed" in lab.run("%tool read notes.txt").text
    assert "session" in lab.run("%tools rules").text


def test_imported_permissions_are_stored_in_the_chosen_scope(lab, project):
    (project / "rules.toml").write_text(
        '[[rule]]\ntoolName = "read_file"\ndecision = "deny"\npriority = 5\n', encoding="utf-8"
    )
    assert "All of its permissions were imported" in lab.run("%tools import --project rules.toml").text
    assert (project / ".nbtools" / "policy.toml").read_text(encoding="utf-8").splitlines()[
        -1
    ] == 'deny = ["read"]'
    assert "Not allowed" in lab.run("%tool read notes.txt").text
    lab.run("%reload_ext nbtools")
    assert "the rule read" in lab.run("%tool read notes.txt").text


def test_settings(lab):
    shown = lab.run("%tools settings").text
    assert "500 MB" in shown
    assert "Whether commands run in bubblewrap" in shown
    assert "redact is now off" in lab.run("%tools set redact off").text
    assert ["redact", "off"] in settings_shown(lab)
    lab.run("%tools workspace src")
    assert ["redact", "off"] in settings_shown(lab)


def test_a_notebook_records_its_calls_until_recording_is_switched_off(lab):
    assert ["record", "on"] in settings_shown(lab)
    lab.run("%tool read notes.txt")
    code = "from nbtools.traces import kept_logs, load\nprint([len(load(log).calls) for log in kept_logs()])"
    assert lab.run(code).text.strip() == "[1]"
    assert "record is now off" in lab.run("%tools set record off").text
    lab.run("%tool read notes.txt")
    assert lab.run(code).text.strip() == "[1]"


def settings_shown(lab):
    """Names and values."""
    return [line.split()[:2] for line in lab.run("%tools settings").text.splitlines()]


def test_undo_and_the_journal(lab, project):
    assert "There is no change to undo" in lab.run("%tools journal").text
    assert "nothing" in lab.run("%tools undo").text.lower()
    lab.run("%tools mode auto_edit\n%tool write a.txt one\n%tool write b.txt two")
    rows = lab.run("%tools journal").text.splitlines()
    assert [row.split()[1:3] for row in rows[1:3]] == [["write", "a.txt"], ["write", "b.txt"]]
    first = rows[1].split()[0]
    assert "1 file restored" in lab.run(f"%tools undo {first}").text
    assert not (project / "a.txt").exists()
    assert (project / "b.txt").exists()
    lab.run("%tools undo")
    rows = lab.run("%tools journal").text.splitlines()
    assert "undone by" in rows[1]
    assert "undoes" in rows[3]
    assert "undo" in lab.run("%tools history").text


def test_an_undo_that_would_lose_something_is_shown(lab, project):
    lab.run("%tools mode auto_edit\n%tool write notes.txt changed")
    (project / "notes.txt").write_text("changed by an editor\n", encoding="utf-8")
    assert "Nothing was undone" in lab.run("%tools undo").text
    assert (project / "notes.txt").read_text(encoding="utf-8") == "changed by an editor\n"


def test_a_mode_that_the_project_forbids_is_reported(lab, project):
    (project / ".nbtools").mkdir()
    (project / ".nbtools" / "policy.toml").write_text('mode = "plan"', encoding="utf-8")
    lab.run("%reload_ext nbtools")
    assert "The mode stays plan, because the project's rules are stricter" in lab.run("%tools mode yolo").text
    assert "mode" in lab.run("%tools trust").text
    lab.run("%tools trust yes")
    assert "The mode is yolo" in lab.run("%tools mode yolo").text


def test_a_tool_s_page_has_the_rules_of_all_layers(lab, project):
    lab.run('%tools allow --save "edit(docs/**)"')
    lab.run("%reload_ext nbtools")
    assert "allow edit(docs/**)" in lab.run("%tool edit?").text
    lab.run("%tools revoke *")
