"""Rules about commands: word by word, whatever stands before them, wherever the program lies."""

from __future__ import annotations

import pytest

from nbtools.policy.command_rules import CommandRules
from nbtools.policy.layers import SourcedRule
from nbtools.policy.rules import Rule
from nbtools.shell import analyse
from nbtools.shell.command_model import AnalysedCommand


def rules(*specs: str, narrow: bool = False) -> CommandRules:
    return CommandRules((SourcedRule(Rule("shell", spec), "", spec) for spec in specs), narrow=narrow)


def allows(spec: str, act: AnalysedCommand) -> bool:
    return any(True for _ in rules(spec, narrow=True).find_allowing(act))


@pytest.mark.parametrize(
    ("spec", "command", "covered"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git log:*", "git log", True),
        ("git log:*", "git log -1 --oneline", True),
        ("git log *", "git log -1", True),
        ("git log:*", "git logs", False),
        ("git log:*", "git", False),
        ("git *", "FOO=1 git log", False),
        ("FOO=1 git *", "FOO=1 git log", True),
        ("npm run test*", "npm run test:unit", True),
        ("npm run test*", "npm run build", False),
        ("npm run test:*", "npm run test:unit", False),
        ("ls:*", "'ls' -l", True),
        ("git * main", "git push main", True),
        ("git * main", "git push -f main", False),
        ("git commit -m 'a b'", "git commit -m 'a b'", True),
        ("*", "anything", True),
    ],
)
def test_an_allow_covers_a_command_word_by_word(spec: str, command: str, covered: bool) -> None:
    assert allows(spec, analyse(command).commands[0]) is covered


@pytest.mark.parametrize(
    ("spec", "command", "covered"),
    [
        ("git diff:*", "git --no-pager diff HEAD", True),
        ("git diff:*", "git -P --literal-pathspecs diff", True),
        ("git diff", "git --no-optional-locks diff", True),
        ("git status", "git -C . status", True),
        ("git diff:*", "git -c color.ui=never -c core.pager=cat diff", True),
        ("git diff:*", "CI=1 git --no-pager diff", True),
        ("git --no-pager diff", "git --no-pager diff", True),
        ("git status", "git -C sub status", True),
        ("git status", "git -C .. status", True),
        ("git status", "git -c core.fsmonitor=evil status", False),
        ("git status", "git -c core.pager=evil status", False),
        ("git status", "git --no-pager -c core.pager=evil status", False),
        ("git status", "git -p status", False),
        ("git status", "git --bare status", False),
        ("git status", "git --git-dir=x status", False),
        ("git status", "git --no-pager -C sub status", True),
        ("git status", "git --unknown status", False),
        ("git status", "GIT_DIR=x git --no-pager status", False),
        ("git status", "git --no-pager push", False),
        ("git status", "sub/git --no-pager status", False),
        ("npm test", "npm --silent test", True),
    ],
)
def test_an_allow_covers_a_sub_command_with_options_that_change_nothing(
    spec: str, command: str, covered: bool
) -> None:
    assert allows(spec, analyse(command).commands[0]) is covered


_PAST_OPTIONS = [
    *(
        f"git {options} push origin"
        for options in (
            "--no-pager",
            "-P",
            "-p",
            "--paginate",
            "-C x",
            "-C push",
            "-c a.b=c",
            "-P -P -C x -c a.b",
        )
    ),
    *(
        f"git {options} push"
        for options in (
            "--git-dir x",
            "--git-dir=x",
            "--work-tree x",
            "--namespace x",
            "--exec-path=x",
            "--config-env=a=B",
        )
    ),
    *(
        f"git {options} push"
        for options in (
            "--super-prefix x",
            "--bare",
            "--no-lazy-fetch",
            "--attr-source x",
            "--unknown",
            "--unknown x",
            "-x x",
        )
    ),
    *(f"env git {options} push" for options in ("-P", "-P " * 30, "-x y " * 100)),
]


@pytest.mark.parametrize("command", _PAST_OPTIONS)
def test_a_rule_that_forbids_or_asks_sees_past_global_options(command: str) -> None:
    acts = analyse(command).commands
    expression = CommandRules([SourcedRule(Rule("shell", command=r"git push(?:\s|$)"), "", "x")])
    for found in (rules("git push:*"), rules("git push *"), rules("git pu*:*"), expression):
        assert any(found.find_touching(act) for act in acts)
    assert not any(rules("git pull:*").find_touching(act) for act in acts)


@pytest.mark.parametrize(
    ("spec", "command", "covered"),
    [
        ("npm publish:*", "npm --silent publish", True),
        ("npm publish:*", "npm --loglevel silent publish", True),
        ("npm publish:*", "npm --silent run publish", False),
        ("npm run publish:*", "npm run -s publish", True),
        ("docker compose down:*", "docker -H tcp://x compose -f a.yml --profile b down", True),
        ("docker rm:*", "docker -H tcp://x ps", False),
        ("kubectl delete:*", "kubectl -n x delete pod", True),
        ("gh pr merge:*", "gh pr -R a/b merge 1", True),
        ("systemctl stop:*", "systemctl --user stop x", True),
        ("python -m pip:*", "python -X dev -m pip install x", True),
        ("git push --force:*", "git push -v --force", True),
        ("git push", "git -P push", True),
        ("git push", "git -P push origin", False),
        ("git push:*", "git --no-pager log push", False),
        ("git push:*", "git log --grep push", False),
        ("git * --force", "git -P push x --force", True),
        ("rm x", "rm -f x", True),
    ],
)
def test_options_match_before_and_after_the_operands(spec: str, command: str, covered: bool) -> None:
    assert bool(rules(spec).find_touching(analyse(command).commands[0])) is covered


@pytest.mark.parametrize(
    "command", ["git $X", "git --no-pager $X", "git -C sub $X", "git --no-pager -c a.b=c $X"]
)
def test_a_deny_rule_matches_a_command_with_options_in_between(command: str) -> None:
    act = analyse(command).commands[0]
    assert rules("git push:*").find_possible(act)
    assert not rules("npm publish:*").find_possible(act)
    assert not rules("git push:*").find_possible(analyse("git --no-pager log $X").commands[0])


@pytest.mark.parametrize(
    ("spec", "command"),
    [
        ("rm:*", "rm x"),
        ("rm:*", "/bin/rm x"),
        ("/bin/rm:*", "/bin/rm x"),
        ("rm:*", "FOO=1 rm x"),
        ("FOO=1 rm:*", "FOO=1 rm x"),
        ("rm:*", "'r'\"m\" x"),
        ("git * main", "git push -f origin main"),
        ("sudo rm:*", "sudo rm x"),
        ("sudo:*", "sudo rm x"),
        ("sudo rm:*", "sudo env rm x"),
        ("env rm:*", "sudo env rm x"),
        ("rm:*", "bash -c 'rm x'"),
        ("curl:*", "echo $(curl x)"),
    ],
)
def test_a_deny_sees_a_command_however_it_is_started(spec: str, command: str) -> None:
    assert any(rules(spec).find_touching(act) for act in analyse(command).commands)


@pytest.mark.parametrize(
    ("spec", "command"), [("rm:*", "echo rm"), ("git push:*", "git status"), ("rm -rf:*", "rm x")]
)
def test_a_deny_speaks_of_its_command_only(spec: str, command: str) -> None:
    assert not any(rules(spec).find_touching(act) for act in analyse(command).commands)


@pytest.mark.parametrize(
    ("spec", "command", "perhaps"),
    [
        ("rm:*", "$PROGRAM x", True),
        ("rm -rf:*", "rm $FLAGS x", True),
        ("git push:*", "git $VERB", True),
        ("git push:*", "git log $X", False),
        ("git push:*", "ls $X", False),
    ],
)
def test_words_that_the_shell_expands_may_be_the_denied_ones(spec: str, command: str, perhaps: bool) -> None:
    assert any(rules(spec).find_possible(act) is not None for act in analyse(command).commands) is perhaps


def test_a_program_that_is_only_known_when_it_runs_is_nobodys_to_allow() -> None:
    assert not allows("$PROGRAM:*", analyse("$PROGRAM x").commands[0])


def test_an_expression_is_matched_with_the_words_however_they_are_quoted() -> None:
    listed = CommandRules([SourcedRule(Rule("shell", command=r"rm\b"), "", "")])
    assert all(
        listed.find_touching(analyse(command).commands[0])
        for command in ("rm x", "'rm' x", "/bin/rm x", "FOO=1 rm x")
    )
    assert listed.find_touching(analyse("echo rm").commands[0]) is None


def test_a_command_too_long_for_an_expression_is_taken_for_forbidden_and_not_for_allowed() -> None:
    listed = CommandRules([SourcedRule(Rule("shell", command="a.*b.*c.*d.*e"), "", "")])
    act = analyse(f"a {'b' * 5000}").commands[0]
    assert listed.find_touching(act) is not None
    assert not list(listed.find_allowing(act))


def test_stars_take_linear_time() -> None:
    hostile = AnalysedCommand("x", ("x", "a" * 100_000))
    assert rules("x " + "*a" * 200 + "b").find_touching(hostile) is None
    assert rules("x" + " * a" * 50 + " b").find_touching(AnalysedCommand("x", ("x", *["a"] * 2_000))) is None
