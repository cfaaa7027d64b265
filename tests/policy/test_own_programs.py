"""Programs that a policy adds to the table of programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.policy.decide import Policy, PolicyEngine
from nbtools.policy.own_programs import entry_keys, is_pair, parse_program
from nbtools.policy.policy_file import read_policy
from nbtools.policy.store import PolicyStore
from tests.policy.some_tools import SHELL


def test_an_entry_is_read_from_words() -> None:
    words = ["flags=-v --verbose", "operands=read", "harmless=true", 'only={ "-n" = "[0-9]+" }', "values=-n"]
    assert all(map(is_pair, words))
    assert not is_pair("mytool")
    assert parse_program(words) == {
        "flags": "-v --verbose",
        "operands": "read",
        "harmless": True,
        "only": {"-n": "[0-9]+"},
        "values": "-n",
    }


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("flag=-v", "has no 'flag'. Did you mean flags"),
        ("harmless=yes", "harmless cannot be 'yes': it is true or false"),
        ("only=-n", "only cannot be '-n'"),
        ("name=x", "has no 'name'"),
    ],
)
def test_a_wrong_entry_is_an_error_that_names_the_word(word: str, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        parse_program([word])


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("tool", {"flag": "-v"}),
        ("tool", {"flags": "v"}),
        ("tool", {"flags": True}),
        ("tool", {"harmless": "true"}),
        ("tool", {"style": "getops"}),
        ("tool", {"special": "findd"}),
        ("tool", {"operands": "reads"}),
        ("tool", {"operands": "/(/"}),
        ("tool", {"only": {"-n": "("}}),
        ("tool", {"only": "-n"}),
        ("./tool", {"flags": "-v"}),
        ("-tool", {"flags": "-v"}),
        ("", {"flags": "-v"}),
    ],
)
def test_a_mistake_is_refused_when_the_policy_is_made(name: str, program: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match="The table of programs cannot be read"):
        Policy(programs={name: program})


def test_the_keys_are_those_of_the_format() -> None:
    assert {
        "flags",
        "values",
        "operands",
        "also",
        "like",
        "only",
        "harmless",
        "asks",
        "style",
    } <= entry_keys().keys()
    assert not {"name", "commands"} & entry_keys().keys()


DOCS = (Path(__file__).parents[2] / "docs" / "programs.md").read_text(encoding="utf-8")


def test_the_documentation_is_true() -> None:
    documented = {
        key
        for row in re.findall(r"^\| (`[^|]*) \|", DOCS.partition("## Roles")[0], re.MULTILINE)
        for key in re.findall(r"`(\w+)`", row)
    }
    assert documented
    assert documented <= entry_keys().keys()
    policy = read_policy(DOCS.partition("```toml")[2].partition("```")[0], "policy.toml")
    judged = {
        command: PolicyEngine(Policy(allow=("shell(mytool:*)",), programs=policy.programs))
        .decide(SHELL, SHELL.build({"command": command}))
        .action
        for command in (
            "mytool -n 5 x a.txt",
            "mytool -o out.txt x",
            "mytool --strange x",
            "mytool -n x y",
            "mytool x > out.txt",
        )
    }
    assert [command for command, action in judged.items() if action is Action.ALLOW] == [
        "mytool -n 5 x a.txt"
    ]


def test_a_program_is_stored_in_a_policy_file(tmp_path: Path) -> None:
    store = PolicyStore(tmp_path, tmp_path / "config", tmp_path / "state", "key")
    store.user_path.parent.mkdir()
    store.user_path.write_text(
        '# mine\nallow = ["grep"]\n\n[programs.first]\nflags = "-a" # all\n', encoding="utf-8"
    )
    store.add(
        store.user_path,
        Policy(programs={"mytool": {"flags": "-v", "only": {"-n": "[0-9]+"}, "harmless": True}}),
    )
    store.add(store.user_path, Policy(programs={"mytool sub": {"operands": "read"}}))
    text = store.user_path.read_text(encoding="utf-8")
    assert "# mine" in text
    assert "# all" in text
    assert read_policy(text, "policy.toml").programs == {
        "first": {"flags": "-a"},
        "mytool": {"flags": "-v", "only": {"-n": "[0-9]+"}, "harmless": True},
        "mytool sub": {"operands": "read"},
    }


def decided(policy: Policy, command: str) -> tuple[Action, str, str]:
    decision = PolicyEngine(policy).decide(SHELL, SHELL.build({"command": command}))
    return decision.action, decision.reading, decision.entry


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("git log", (Action.ALLOW, "strict", "git log")),
        ("git log | head -3", (Action.ALLOW, "strict", "git log, head")),
        ("mytool -v a.txt", (Action.ALLOW, "strict", "mytool")),
        ("other -x", (Action.ALLOW, "strict", "")),
        ("sort $X", (Action.ALLOW, "text", "")),
        ("timeout 5 git log", (Action.ALLOW, "strict", "timeout, git log")),
        ("rm a", (Action.DENY, "strict", "rm")),
        ("[[ -f a ]] && rm a", (Action.DENY, "grammar", "rm")),
        ("mytool --strange", (Action.ASK, "", "")),
    ],
)
def test_a_decision_names_the_reading_and_the_entries(
    command: str, decision: tuple[Action, str, str]
) -> None:
    rules = ("shell(git log:*)", "shell(head:*)", "shell(sort $X)", "shell(mytool:*)", "shell(other:*)")
    policy = Policy(
        allow=rules,
        deny=("shell(rm:*)",),
        programs={"mytool": {"flags": "-v", "operands": "read", "harmless": True}},
    )
    assert decided(policy, command) == decision


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("frobnicate x", "frobnicate"),
        ("git frob", "git frob"),
        ("git log | frob", "frob"),
        ("bash -c 'frob x'", "frob"),
        ("./x.sh", "./x.sh"),
    ],
)
def test_a_question_names_the_program_that_is_in_no_table(command: str, name: str) -> None:
    judge = PolicyEngine(Policy(allow=("shell(git log:*)",)))
    reason = judge.decide(SHELL, SHELL.build({"command": command})).reason
    assert f"; {name} is not in the table of programs: a rule for it would allow whatever it does" in reason


@pytest.mark.parametrize(
    "command", ["git push", "a=1", "f() { ls; }; f", "$X y", "for f in a b; do wc -l $f; done"]
)
def test_other_questions_do_not(command: str) -> None:
    assert (
        "not in the table"
        not in PolicyEngine(Policy()).decide(SHELL, SHELL.build({"command": command})).reason
    )
    assert (
        "not in the table"
        not in PolicyEngine(Policy("dont_ask")).decide(SHELL, SHELL.build({"command": "frobnicate"})).reason
    )
