"""The closing lines of test runners, as real ones print them, and outputs that only look like them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from nbtools.traces.reviews.commands import is_test_command, runner_of_tests, runs_tests
from nbtools.traces.reviews.runner_output import result_of_tests
from tests.traces.test_hostile_files import in_seconds

RECORDED: dict[str, Any] = tomllib.loads((Path(__file__).parent / "runner_outputs.toml").read_text())
MAVEN_END = "BUILD SUCCESS\n[INFO] ---\n[INFO] Total time: 1 s\n[INFO] Finished at: 2026-11-29\n[INFO] ---"
GRADLE_END = "BUILD SUCCESSFUL in 1s"
VITEST_END = " Test Files  1 passed (1)\n      Tests  1 passed (1)\n   Start at  10:00:00\n   Duration  1.20s (tests 2ms)"
DOTNET_END = (
    "Test summary: total: 1, failed: 0, succeeded: 1, skipped: 0, duration: 1.0s\n"
    "Build failed with 1 error(s) in 1.2s"
)
CARGO_END = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
JEST_END = (
    "Test Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\nSnapshots:   {}0 total\n"
    "Time:        1.2 s\nRan all test suites."
)
COUNTS = "0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"
NOTHING_RAN = {"pytest-none", "unittest-none"}
WITH_FAILURES = {"mocha-bad", "nodespec-bad"}
"""After the closing lines there is any text of the failures."""
WITH_ANY_LAST_LINE = {"maven-bad", "rspec-bad"}


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("lines", [None, 12])
def test_the_output_of_a_runner_says_what_its_exit_code_says(name: str, lines: int | None) -> None:
    recorded = RECORDED[name]
    output = (
        recorded["output"] if lines is None else "\n".join(recorded["output"].rstrip().split("\n")[-lines:])
    )
    found = result_of_tests(recorded["command"], [output])
    if name in NOTHING_RAN:
        assert found is None
    elif found is None:  # the closing lines of failures are not among the last ones
        assert lines
        assert name in {*WITH_FAILURES, "maven-bad"}
    else:
        assert found.passed == (recorded["exit_code"] == 0)
        assert found.line


@pytest.mark.parametrize("name", sorted(set(RECORDED) - NOTHING_RAN))
def test_an_output_that_goes_on_or_repeats_its_end_has_no_result(name: str) -> None:
    command, output = RECORDED[name]["command"], RECORDED[name]["output"].rstrip()
    if name not in WITH_FAILURES:
        assert result_of_tests(command, [f"{output}\nDone in 1.2s."]) is None
        assert result_of_tests(command, [f"{output} done"]) is None or name in WITH_ANY_LAST_LINE
    for cut in (1, 5):
        found = result_of_tests(command, [output[:-cut]])
        assert found is None or found.passed == (RECORDED[name]["exit_code"] == 0)
    if not name.startswith(("go", "cargo")):
        assert result_of_tests(command, [f"{output}\n{output}"]) is None
        assert result_of_tests(command, [output, output]) is None


@pytest.mark.parametrize("name", RECORDED)
def test_the_output_of_another_runner_says_nothing(name: str) -> None:
    runner = runner_of_tests(RECORDED[name]["command"])
    for other in ("pytest", "python -m unittest", "npx jest", "go test", "cargo test", "ctest", "npm test"):
        if runner_of_tests(other) != runner:
            assert result_of_tests(other, [RECORDED[name]["output"]]) is None


def test_colours_and_windows_line_ends() -> None:
    output = "\x1b[32m\x1b[1m===== \x1b[32m5 passed\x1b[0m\x1b[32m in 0.12s\x1b[0m =====\x1b[0m\r\n"
    found = result_of_tests("pytest", [output])
    assert found is not None
    assert (found.passed, found.line) == (True, "5 passed in 0.12s")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest", "5 passed"),
        ("pytest", "I think that 5 passed in 0.12s"),
        ("pytest", "5 passed in 0.12s\n1 failed, 4 passed in 0.12s"),
        (
            "pytest",
            "FAIL Required test coverage of 90% not reached. Total coverage: 50.00%\n5 passed in 0.12s",
        ),
        ("pytest", "!!!!!!!!! KeyboardInterrupt !!!!!!!!!\n5 passed in 0.12s"),
        ("pytest --dry-run", "5 passed in 0.12s"),
        ("python -m unittest", "OK"),
        ("python -m unittest", "Ran 0 tests in 0.000s\n\nOK"),
        ("npx jest", "Tests:       1 passed, 1 total"),
        ("go test ./...", "FAIL\nok  \tshop\t0.01s"),
        ("go test ./...", "?   \tshop\t[no test files]"),
        ("cargo test", f"test result: FAILED. {COUNTS}\ntest result: ok. {COUNTS}"),
        ("npm test", "5 passed in 0.12s"),
        ("make test", "5 passed in 0.12s"),
        ("docker run shop pytest", "5 passed in 0.12s"),
        ("echo pytest", "5 passed in 0.12s"),
        ("mvn test -DskipTests", MAVEN_END),
        ("mvn -Dmaven.test.failure.ignore=true test", MAVEN_END),
        ("mvn -fn test", MAVEN_END),
        ("mvn test-compile", MAVEN_END),
        ("mvn package -pl test", MAVEN_END),
        ("mvn test", f"[ERROR] Tests run: 5, Failures: 2, Errors: 0, Skipped: 0\n{MAVEN_END}"),
        ("mvn test", f"[INFO] No tests to run.\n{MAVEN_END}"),
        ("./gradlew assemble -x test", GRADLE_END),
        ("./gradlew testClasses", GRADLE_END),
        ("./gradlew :test-utils:assemble", GRADLE_END),
        ("./gradlew test -m", GRADLE_END),
        ("./gradlew test", f"5 tests completed, 1 failed\n{GRADLE_END}"),
        (
            "npx vitest run",
            f"ERROR: Coverage for lines (50%) does not meet global threshold (90%)\n{VITEST_END}",
        ),
        ("npx vitest run 2>/dev/null", VITEST_END),
        ("cargo test --no-fail-fast 2>/dev/null", CARGO_END),
        ("npx jest --ci", JEST_END.format("1 obsolete, ")),
        ("phpunit", "OK, but there were issues!\nTests: 3, Assertions: 1, Warnings: 1."),
        ("phpunit", "OK, but incomplete, skipped, or risky tests!\nTests: 3, Assertions: 1, Risky: 1."),
    ],
)
def test_an_uncertain_output_has_no_result(command: str, output: str) -> None:
    assert result_of_tests(command, [output]) is None


@pytest.mark.parametrize(
    ("command", "output", "passed"),
    [
        ("mvn -B -pl shop verify", MAVEN_END, True),
        ("./gradlew --offline :app:testDebugUnitTest --tests Shop", GRADLE_END, True),
        ("./gradlew -x lint check", GRADLE_END, True),
        ("npx vitest run 2>&1", VITEST_END, True),
        ("cargo test 2>&1", CARGO_END, True),
        ("pytest 2>/dev/null", "5 passed in 0.12s", True),
        ("npx jest", JEST_END.format(""), True),
        (
            "dotnet test",
            DOTNET_END,
            False,
        ),
    ],
)
def test_the_whole_end_and_the_command_decide(command: str, output: str, passed: bool) -> None:
    found = result_of_tests(command, [output])
    assert found is not None
    assert found.passed is passed


def test_a_printed_line_beside_the_end_on_another_stream_is_a_contradiction() -> None:
    end = "Ran 1 test in 0.000s\n\nFAILED (failures=1)"
    assert result_of_tests("python -m unittest", ["Ran 1 test in 0.000s\n\nOK", end]) is None
    found = result_of_tests("python -m unittest", ["OK\n", end])
    assert found is not None
    assert not found.passed


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest -q", "pytest"),
        ("/shop/.venv/bin/python3 -W error -m pytest tests", "pytest"),
        ("FOO=1 timeout 60 uv run pytest", "pytest"),
        ("coverage run -m unittest", "unittest"),
        ("python manage.py test", "unittest"),
        ("npx --yes vitest run", "vitest"),
        ("./node_modules/.bin/mocha", "mocha"),
        ("node --import tsx --test", "node"),
        ("cargo +nightly test -p shop", "cargo"),
        ("./mvnw -q verify", "maven"),
        ("./gradlew :app:test", "gradle"),
        ("bundle exec rspec", "rspec"),
        ("php vendor/bin/phpunit", "phpunit"),
        ("prove -l t", "prove"),
        ("npm test", ""),
        ("pip install pytest", ""),
        ("grep -r pytest .", ""),
    ],
)
def test_the_runner_that_a_command_names(command: str, runner: str) -> None:
    assert runner_of_tests(command) == runner
    assert is_test_command(command) or not runner
    assert runs_tests(f"cd /shop && {command} 2>&1 | tail -5") or not runner


@pytest.mark.parametrize(
    "unit", ["1 passed, ", "=", "Ran 1 tests in 0s\n\n", "ok  \tx\t0.1s\n", "1" * 999, " \n"]
)
@pytest.mark.parametrize("command", sorted({one["command"] for one in RECORDED.values()}))
def test_hostile_outputs_take_no_time(command: str, unit: str) -> None:
    in_seconds(lambda: result_of_tests(command, [unit * (1_000_000 // len(unit))]))


@pytest.mark.parametrize(
    "command",
    [
        *("A=1 " * 50_000, "npx " * 50_000, "python" + " -a" * 50_000, "node" + " a" * 50_000),
        *("mvn" + " -x a" * 50_000, "gradlew" + " a:" * 50_000, "gradlew " + ":a" * 50_000),
    ],
)
def test_hostile_commands_take_no_time(command: str) -> None:
    in_seconds(lambda: runner_of_tests(command))
