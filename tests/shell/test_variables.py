"""Every way to set a variable is checked with the one list of those that may be set."""

from __future__ import annotations

import pytest

from nbtools.shell import analyse
from nbtools.shell.variables import exported_risk, variable_risk

OF_THE_SHELL = [
    "{}=x",
    "{}=x; ls",
    "{{ {}=x; }}; ls",
    "({}=x; ls)",
    "a=1 {}=x",
    "for {} in a b; do ls; done",
    "ls ${{{}:=x}}",
    "ls ${{{}=x}}",
    'ls "${{{}:=x}}"',
    "ls $(echo ${{{}:=x}})",
    "read {}",
    "read -r a {}",
    "echo x | while read {}; do ls; done",
    "mapfile {}",
    "readarray -t {}",
    "unset {}",
    "eval {}=x",
    "trap {}=x EXIT",
    "bash -c '{}=x; ls'",
]
EXPORTED = [
    "{}=x ls",
    "LANG=C {}=x ls",
    "env {}=x ls",
    "env -i LANG=C {}=x ls",
    "nice env {}=x ls",
    "export {}=x",
    "export LANG=C {}=x",
]
ALWAYS_ASKED = [
    "printf -v {} x",
    "read -a {}",
    "wait -p {} 1",
    "exec -a {} ls",
    "xargs --process-slot-var={} ls",
    "getopts ab {}",
    "sudo {}=x ls",
]
NOT_READ_STRICTLY = [
    "declare {}=x",
    "typeset {}=x",
    "local {}=x",
    "readonly {}=x",
    "let {}=1",
    "(( {} = 1 ))",
    "ls $(({}=1))",
    "{}+=x",
    "{}[0]=x ls",
    "{}=(a b)",
    "select {} in a; do ls; done",
    "coproc {} {{ ls; }}",
    "time {}=x ls",
    "ls {{{}}}>a",
    "for (({}=0;;)); do ls; done",
    "cat <<E\n${{{}:=x}}\nE",
    "exec {{{}}}>a",
]
HARMFUL = [
    "PATH",
    "LD_PRELOAD",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PAGER",
    "GIT_SSH_COMMAND",
    "http_proxy",
    "SOMETHING_ELSE",
    "path",
    "Aa",
]


def risky(line: str) -> bool:
    return any(act.risk for act in analyse(line).commands)


@pytest.mark.parametrize("name", HARMFUL)
@pytest.mark.parametrize("form", [*OF_THE_SHELL, *EXPORTED, *ALWAYS_ASKED])
def test_a_variable_that_may_change_things_is_a_risk(form: str, name: str) -> None:
    assert risky(form.format(name))


@pytest.mark.parametrize("form", OF_THE_SHELL)
@pytest.mark.parametrize("name", ["x", "file_name", "FILE"])
def test_a_variable_of_ones_own_is_no_risk(form: str, name: str) -> None:
    understood = analyse(form.format(name))
    assert not risky(form.format(name))
    assert (understood.unverified, understood.doubt) == ("", "")


@pytest.mark.parametrize("form", EXPORTED)
def test_fewer_variables_may_be_exported_than_set(form: str) -> None:
    assert not risky(form.format("TZ"))
    assert risky(form.format("x"))


@pytest.mark.parametrize("form", ALWAYS_ASKED[:-2])
def test_forms_that_are_always_asked(form: str) -> None:
    assert risky(form.format("x"))


@pytest.mark.parametrize("form", NOT_READ_STRICTLY)
def test_forms_that_only_some_shells_know_are_not_read(form: str) -> None:
    assert analyse(form.format("x")).unverified


@pytest.mark.parametrize("assignment", ["PAGER=cat", "GIT_PAGER=", "GIT_EDITOR=true", "EDITOR=:"])
def test_a_program_that_does_nothing_may_be_named(assignment: str) -> None:
    assert exported_risk((assignment,)) == variable_risk(assignment) == ""


@pytest.mark.parametrize("assignment", ["PAGER=less", "GIT_PAGER=cat x", "EDITOR=true;x", "PAGER=$X"])
def test_another_program_may_not(assignment: str) -> None:
    assert exported_risk((assignment,))
    assert variable_risk(assignment)


@pytest.mark.parametrize(
    ("line", "risk"),
    [
        ("PYTHONPATH=src pytest", False),
        ("PYTHONPATH=.:src/a python x.py", False),
        ("PYTHONPATH=src cat x", True),
        ("PYTHONPATH=/tmp pytest", True),
        ("PYTHONPATH=../a pytest", True),
        ("PYTHONPATH=src:$X pytest", True),
        ("PYTHONPATH=src:~/a pytest", True),
        ("env PYTHONPATH=src pytest", False),
        ("export PYTHONPATH=src; pytest", True),
    ],
)
def test_folders_of_the_project_are_for_programs_that_run_it(line: str, risk: bool) -> None:
    assert risky(line) is risk


@pytest.mark.parametrize(
    "line",
    ["env LANG=$X ls", "env TZ=1 LANG=$X ls", "env TZ=1 $X ls", "env TZ=$(cat a) ls", "env TZ=1 $X=1 ls"],
)
def test_a_value_that_may_be_several_words_is_a_risk_to_env(line: str) -> None:
    assert risky(line)


def test_a_quoted_value_is_one_word() -> None:
    assert not risky("env TZ=1 LANG='C.UTF-8' ls")
    assert not risky("TZ=1 LANG=C.UTF-8 ls")


@pytest.mark.parametrize("name", ["LANG", "LC_ALL", "LC_CTYPE", "LANGUAGE"])
@pytest.mark.parametrize("value", ["zh_CN.GBK", "ja_JP.SJIS", "zh_TW.Big5", "zh_TW", "$X", '"$X"', "../../x"])
def test_a_locale_that_may_be_multi_byte_is_a_risk_however_it_is_set(name: str, value: str) -> None:
    if name == "LANGUAGE" and value == "zh_TW":
        return  # it only names the language of messages
    assert all(
        risky(line)
        for line in (
            f"{name}={value} ls",
            f"{name}={value}; ls",
            f"export {name}={value}; ls",
            f"env {name}={value} ls",
        )
    )


@pytest.mark.parametrize("name", ["LANG", "LC_ALL", "LC_CTYPE"])
def test_a_locale_that_is_set_without_an_assignment_is_a_risk(name: str) -> None:
    lines = (
        f"for {name} in zh_CN.GBK; do ls; done",
        f"read {name} <<< zh_CN.GBK; ls",
        f"printf -v {name} zh_CN.GBK; ls",
    )
    assert [line for line in lines if not risky(line)] == []


@pytest.mark.parametrize("value", ["C", "POSIX", "C.UTF-8", "en_US.UTF-8", "de_DE.utf8", ""])
def test_a_locale_with_utf_8_is_no_risk(value: str) -> None:
    assert not risky(f"LC_ALL={value} ls")
    assert not risky(f"export LANG={value}; ls")


@pytest.mark.parametrize(
    "value", ["'1; touch pwned'", "'$(shell touch pwned)'", "'`id`'", "$X", '"$(id)"', "../../x"]
)
@pytest.mark.parametrize("name", ["PORT", "CI", "DEBUG", "NODE_ENV"])
def test_a_value_that_another_program_may_evaluate_is_a_risk(name: str, value: str) -> None:
    assert all(
        risky(line)
        for line in (
            f"{name}={value} ls",
            f"{name}={value}; ls",
            f"export {name}={value}; ls",
            f"env {name}={value} ls",
        )
    )
    assert not risky(f"{name}=8080 ls")


@pytest.mark.parametrize("shell", ["bash", "sh", "dash"])
@pytest.mark.parametrize("options", ["+e", "+x", "-e +x", "+O extglob", "--posix +e"])
def test_options_of_a_shell_with_a_plus_sign_do_not_hide_its_script(shell: str, options: str) -> None:
    assert risky(f"{shell} {options} -c 'FOO=x ls'")
