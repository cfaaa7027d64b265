"""Rules in files: read, added to, trusted, saved; and what happens when a file is broken."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from nbtools.core.errors import PolicyError, ToolFailure
from nbtools.policy.grants import Grant
from nbtools.policy.layers import Layer, Policy
from nbtools.policy.policy_file import add_policy, read_policy
from nbtools.policy.rules import Rule
from nbtools.policy.store import PolicyStore, Trust

WRITTEN = """\
# mine
mode = "auto_edit"  # I trust edits
allow = [
    "shell(git status)",  # harmless
]
deny = ["read(.env*)"]
"""


@pytest.fixture
def store(tmp_path: Path) -> PolicyStore:
    (tmp_path / "project").mkdir()
    return PolicyStore(tmp_path / "project", tmp_path / "config", tmp_path / "state", "project-1")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_policy_is_read_as_a_person_writes_it() -> None:
    assert read_policy(WRITTEN, "policy.toml") == Policy(
        "auto_edit", ("shell(git status)",), (), ("read(.env*)",)
    )
    assert read_policy("", "policy.toml") == Policy()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("allow = [", "is not valid TOML"),
        ("alow = ['edit']", "there is no parameter alow. Did you mean allow"),
        ("allow = 'edit'", "allow"),
        ("allow = ['edit(']", "is not a rule"),
        ("mode = 'yolo'", "mode yolo ends with the session"),
        ("mode = 'pln'", "Did you mean plan"),
        ("[[rule]]\ndecision = 'perhaps'\ntool = 'shell'", "decision"),
        ("[[rule]]\ndecision = 'deny'", "tool is required"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_in_one_line(text: str, says: str) -> None:
    with pytest.raises(PolicyError, match=r"policy\.toml") as raised:
        read_policy(text, "policy.toml")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_adding_keeps_what_the_person_wrote() -> None:
    text = add_policy(WRITTEN, Policy(allow=("shell(git status)", "edit(src/**)"), ask=("fetch",)))
    assert "# mine" in text
    assert "# I trust edits" in text
    assert "# harmless" in text
    assert read_policy(text, "x") == Policy(
        "auto_edit", ("shell(git status)", "edit(src/**)"), ("fetch",), ("read(.env*)",)
    )
    assert add_policy(text, Policy(allow=("edit(src/**)",))) == text


def test_a_rule_that_is_no_plain_text_is_a_table() -> None:
    rule = Rule("shell", command="curl .*", modes=("plan", "default"), message="Use fetch.")
    text = add_policy("", Policy(deny=(rule,), allow=(Rule("edit", "src/**"),)))
    assert '[[rule]]\ndecision = "deny"\ntool = "shell"' in text
    assert read_policy(text, "x").deny == (rule,)
    assert read_policy(text, "x").allow == ("edit(src/**)",)
    assert add_policy(text, Policy(deny=(rule,))) == text


def test_yolo_is_never_kept() -> None:
    assert "yolo" not in add_policy("", Policy("yolo", ("edit",)))


def test_no_files_no_layers(store: PolicyStore) -> None:
    assert store.layers() == ()
    assert store.problems() == ()
    assert store.trust() is Trust.ABSENT


def test_the_layers_of_files(store: PolicyStore) -> None:
    put(store.user_path, "allow = ['grep']")
    put(store.project_path, "deny = ['delete']")
    store.save(Grant("edit", False, 1_700_000_000.0, "edit cart.py"))
    assert store.layers() == (
        Layer("user", Policy(allow=("grep",))),
        Layer("project", Policy(deny=("delete",)), trusted=False),
        Layer("saved", Policy(allow=("edit",))),
    )


def test_trust_holds_for_the_content_that_the_file_had(store: PolicyStore) -> None:
    put(store.project_path, "allow = ['edit']")
    assert store.trust() is Trust.UNKNOWN
    store.set_trust(store.project().digest)
    assert store.trust() is Trust.TRUSTED
    assert store.layers() == (Layer("project", Policy(allow=("edit",)), trusted=True),)
    put(store.project_path, "allow = ['edit', 'shell']")
    assert store.trust() is Trust.CHANGED
    assert store.layers()[0].trusted is False
    store.set_trust("")
    assert store.trust() is Trust.UNKNOWN


def test_trust_is_a_folder_s_own(tmp_path: Path, store: PolicyStore) -> None:
    other = PolicyStore(tmp_path / "other", tmp_path / "config", tmp_path / "state", "other-1")
    for one in (store, other):
        put(one.project_path, "allow = ['edit']")
    store.set_trust(store.project().digest)
    assert other.trust() is Trust.UNKNOWN
    other.set_trust(other.project().digest)
    assert store.trust() is Trust.TRUSTED


def test_adding_to_a_trusted_project_s_file_keeps_the_trust(store: PolicyStore) -> None:
    store.add(store.project_path, Policy(allow=("grep",)))
    assert store.trust() is Trust.UNKNOWN
    store.set_trust(store.project().digest)
    store.add(store.project_path, Policy(allow=("edit",)))
    assert store.trust() is Trust.TRUSTED
    assert store.project().policy.allow == ("grep", "edit")


def test_grants_are_saved_and_taken_back(store: PolicyStore) -> None:
    first, second = (
        Grant("edit", True, 1_700_000_000.0, "edit cart.py"),
        Grant("shell(git log:*)", True, 1_700_000_060.0),
    )
    store.save(first)
    store.save(second)
    assert store.grants() == (first, second)
    assert store.remove("edit") is True
    assert store.remove("edit") is False
    assert store.grants() == (second,)


def test_broken_rules_ask_everything(store: PolicyStore) -> None:
    put(store.user_path, "deny = ['delete'")
    put(store.project_path, "mode = 'yolo'")
    assert [layer.policy for layer in store.layers()] == [Policy(ask=("*",))] * 2
    told = store.problems()
    assert [str(store.user_path) in told[0], str(store.project_path) in told[1]] == [True, True]
    assert all("every call needs approval" in problem for problem in told)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "{a=" * 3000 + "1" + "}" * 3000, "a = " + "9" * 5000]
)
def test_a_file_made_to_overwhelm_asks_everything(store: PolicyStore, text: str) -> None:
    put(store.project_path, text)
    assert [layer.policy for layer in store.layers()] == [Policy(ask=("*",))]
    assert "every call needs approval" in store.problems()[0]


def test_without_a_regular_file_every_call_needs_approval(store: PolicyStore) -> None:
    store.user_path.parent.mkdir()
    os.mkfifo(store.user_path)
    store.project_path.mkdir(parents=True)
    assert [layer.policy.ask for layer in store.layers()] == [("*",), ("*",)]
    assert len(store.problems()) == 2


def test_rules_are_not_added_to_a_file_that_cannot_be_read(store: PolicyStore) -> None:
    put(store.user_path, "deny = [")
    with pytest.raises(PolicyError, match="is not valid TOML"):
        store.add(store.user_path, Policy(allow=("edit",)))
    assert store.user_path.read_text(encoding="utf-8") == "deny = ["


@pytest.mark.parametrize(
    "broken", ["[[grant", "[[grant]]\nrule = 'edit('\nat = 2026-01-01T00:00:00Z", "grant = 1"]
)
def test_broken_grants_allow_nothing_and_are_reported_and_backed_up(store: PolicyStore, broken: str) -> None:
    store.save(Grant("edit", True, 1.0))
    path = next((store.user_path.parent.parent / "state").glob("*/grants.toml"))
    put(path, broken)
    assert store.grants() == ()
    assert "No saved grant applies" in store.problems()[0]
    store.save(Grant("grep", True, 2.0))
    assert [grant.rule for grant in store.grants()] == ["grep"]
    assert store.problems() == ()
    assert [kept.read_text(encoding="utf-8") for kept in path.parent.glob("grants.toml.broken-*")] == [broken]


def test_broken_trust_trusts_nobody(tmp_path: Path, store: PolicyStore) -> None:
    put(store.project_path, "allow = ['edit']")
    digest = store.project().digest
    store.set_trust(digest)
    put(tmp_path / "state" / "trusted.toml", "folders = 3")
    assert store.trust() is Trust.UNKNOWN
    assert "No project is trusted" in store.problems()[0]
    store.set_trust(digest)
    assert store.trust() is Trust.TRUSTED


def test_sessions_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    rules = [f"shell(make {n})" for n in range(24)]
    stores = [PolicyStore(tmp_path, tmp_path / "config", tmp_path / "state", "key") for _ in rules]
    threads = [
        threading.Thread(target=one.save, args=(Grant(rule, True, 1.0),))
        for one, rule in zip(stores, rules, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(grant.rule for grant in stores[0].grants()) == sorted(rules)
    assert [path.name for path in (tmp_path / "state" / "key").iterdir()] == ["grants.toml"]


def test_a_link_to_a_file_elsewhere_stays_a_link(tmp_path: Path, store: PolicyStore) -> None:
    dotfiles = tmp_path / "dotfiles.toml"
    dotfiles.write_text("allow = ['grep']\n", encoding="utf-8")
    dotfiles.chmod(0o600)
    store.user_path.parent.mkdir()
    store.user_path.symlink_to(dotfiles)
    store.add(store.user_path, Policy(allow=("glob",)))
    assert store.user_path.is_symlink()
    assert read_policy(dotfiles.read_text(encoding="utf-8"), "x").allow == ("grep", "glob")
    assert dotfiles.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path, store: PolicyStore) -> None:
    (tmp_path / "state").write_text("", encoding="utf-8")
    with pytest.raises(ToolFailure, match=r"grants\.toml"):
        store.save(Grant("edit", True, 1.0))
