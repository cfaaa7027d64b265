"""Reads from the output of test runners whether the tests passed.

Agents pipe the output of tests into ``tail``, and then the recorded exit code is not that of the tests. The
lines with which a runner ends say the same, but any program may print such lines. So they count only where
they are complete, at the end of the output, and the only ones of the runner that the command names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nbtools.traces.reviews.commands import runner_of_tests

_MAX_OUTPUT = 1 << 20
"""Characters at the end of an output that are read."""
_MAX_LINE = 200
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}m")
_NUMBER = r"\d{1,9}"
_DROPS_ERRORS = re.compile(r"2>(?!&1)")


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of tests according to the closing lines of their runner. ``line`` has these lines as one."""

    passed: bool
    runner: str
    line: str


@dataclass(frozen=True, slots=True)
class _Closing:
    """The closing lines of a runner.

    ``lines`` match all of them from the beginning of a line. Of its groups, those named ``failed…`` say that
    tests failed where they match anything but zero, ``passed…`` likewise; where none does, no tests ran. A
    group named ``ran`` must not be zero. ``failures`` is what follows where tests failed, ``rest`` always.
    With ``several``, there are closing lines for each part of the tests. ``doubt`` are lines by which the
    runner fails although all tests passed, or succeeds although some failed. ``errors_apart``: the runner
    writes that something failed to stderr, and the other closing lines to stdout.
    """

    lines: re.Pattern[str]
    failures: re.Pattern[str] = re.compile("")
    rest: re.Pattern[str] = re.compile("")
    several: bool = False
    doubt: re.Pattern[str] | None = None
    errors_apart: bool = False


def _lines(*lines: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:{''.join(lines)})[ \t]*$", re.MULTILINE)


_PYTEST = (
    rf"{_NUMBER} (?:(?:subtests )?(?:failed|passed|skipped)|deselected|x(?:failed|passed)|errors?|warnings?"
    r"|rerun)"
)
_MILLISECONDS = r"[\d.]{1,12} ?m?s(?:econds?)?"
_JEST_COUNTS = (
    r"(?:(?P<failed_{0}>\d{{1,9}}) failed, )?(?:\d{{1,9}} skipped, )?(?:\d{{1,9}} todo, )?"
    r"(?:(?P<passed_{0}>\d{{1,9}}) passed, )?\d{{1,9}}(?: of \d{{1,9}})? total"
)
_VITEST_COUNTS = (
    r"(?:(?P<failed_{0}>\d{{1,9}}) failed(?: \| )?)?(?:(?P<passed_{0}>\d{{1,9}}) passed(?: \| )?)?"
    r"(?:\d{{1,9}} (?:expected fail|skipped|todo)(?: \| )?){{0,3}} \(\d{{1,9}}\)"
)
_NODE = "".join(
    rf"\n[ℹ#] {name} {number}"
    for name, number in (
        ("suites", r"\d{1,9}"),
        ("pass", r"(?P<passed>\d{1,9})"),
        ("fail", r"(?P<failed>\d{1,9})"),
        ("cancelled", r"(?P<failed_cancelled>\d{1,9})"),
        ("skipped", r"\d{1,9}"),
        ("todo", r"\d{1,9}"),
        ("duration_ms", r"[\d.]{1,30}"),
    )
)
_CLOSINGS: dict[str, _Closing] = {
    "pytest": _Closing(
        _lines(
            r"(?:=+ )?",
            rf"(?=(?:.{{0,300}}?\b(?P<failed>{_NUMBER} (?:subtests )?(?:failed|errors?))\b)?)",
            rf"(?=(?:.{{0,300}}?\b(?P<passed>{_NUMBER} (?:passed|skipped|xfailed|xpassed))\b)?)",
            rf"{_PYTEST}(?:, {_PYTEST}){{0,12}} in [\d.]{{1,12}}(?:s| seconds)(?: \(\d+:\d\d:\d\d\))?",
            r"(?: =+)?",
        ),
        doubt=re.compile(
            r"^(?:!{3,} .* !{3,}|(?:FAIL|ERROR:?) .{0,40}coverage.*)$", re.MULTILINE | re.IGNORECASE
        ),
    ),
    "unittest": _Closing(
        _lines(
            rf"Ran (?P<ran>{_NUMBER}) tests? in [\d.]{{1,12}}s\n\n(?:(?P<passed>OK)|(?P<failed>FAILED))",
            r"(?: \((?:(?:failures|errors|skipped|expected failures|unexpected successes)=\d{1,9}(?:, )?)",
            r"{1,5}\))?",
        ),
        rest=re.compile(
            r"(?:\n(?:Destroy|Preserv)ing test database for alias '[^'\n]{1,80}'(?: \('[^'\n]*'\))?\.\.\.)*"
        ),
    ),
    "jest": _Closing(
        _lines(
            rf"Test Suites: +{_JEST_COUNTS.format('suites')}\nTests: +{_JEST_COUNTS.format('tests')}\n",
            rf"Snapshots: +(?:{_NUMBER} \w+, ){{0,6}}{_NUMBER} total\n",
            rf"Time: +{_MILLISECONDS}(?:, estimated {_MILLISECONDS})?",
            r"(?:\nRan all test suites\b.{0,2000}\.)?",
        ),
        doubt=re.compile(r"\bcoverage threshold for\b|^Snapshots: .{0,200}\bobsolete\b", re.MULTILINE),
    ),
    "vitest": _Closing(
        _lines(
            rf" *Test Files +{_VITEST_COUNTS.format('files')}\n",
            rf" *Tests +(?:no tests|{_VITEST_COUNTS.format('tests')})\n",
            rf"(?: *Type Errors +(?:no errors|(?P<failed_types>{_NUMBER}) errors?)\n)?",
            rf"(?: *Errors +(?P<failed_errors>{_NUMBER}) errors?\n)?",
            r" *Start at +[\d:]{5,12}(?: [AP]M)?\n *Duration +[\d.]{1,12}m?s(?: \(.{0,300}\))?",
        ),
        doubt=re.compile(r"\bCoverage for .{1,200} does not meet\b"),
        errors_apart=True,
    ),
    "mocha": _Closing(
        _lines(
            rf" *(?P<passed>{_NUMBER}) passing \(\d{{1,9}}(?:ms|s|m|h)\)(?:\n *{_NUMBER} pending)?",
            rf"(?:\n *(?P<failed>{_NUMBER}) failing)?",
        ),
        failures=re.compile(r"\n\n  1\) [\s\S]*"),
    ),
    "node": _Closing(
        _lines(rf"[ℹ#] tests (?P<ran>{_NUMBER}){_NODE}"),
        failures=re.compile(r"(?:\n\n✖ failing tests:\n[\s\S]*)?"),
    ),
    "tape": _Closing(
        _lines(
            rf"# tests {_NUMBER}\n# pass +(?P<passed>{_NUMBER})(?:\n# fail +(?P<failed>{_NUMBER})|\n\n# ok)",
        ),
    ),
    "go": _Closing(
        _lines(
            r"(?P<passed>ok) {2}\t\S+\t(?:\(cached\)|[\d.]{1,12}s)(?:\tcoverage: .{0,200})?",
            r"|ok {2}\t\S+\t(?:\(cached\)|[\d.]{1,12}s)(?:\tcoverage: .{0,200})? \[no tests to run\]",
            r"|(?P<failed>FAIL)(?:\t\S+(?:\t[\d.]{1,12}s| \[(?:build|setup) failed\]))?",
            r"|\? {3}\t\S+\t\[no test files\]",
        ),
        several=True,
    ),
    "cargo": _Closing(
        _lines(
            rf"test result: (?:(?P<passed>ok)|(?P<failed>FAILED))\. {_NUMBER} passed; {_NUMBER} failed; ",
            rf"{_NUMBER} ignored; {_NUMBER} measured; {_NUMBER} filtered out",
            r"(?:; finished in [\d.]{1,12}s)?",
            r"|(?P<failed_target>error: (?:doc)?test failed, to rerun pass [`'].{1,300}[`'])",
            rf"|(?P<failed_targets>error: {_NUMBER} targets? failed:(?:\n +`.{{1,300}}`){{1,200}})",
            r"|(?P<failed_build>error: could not compile `.{1,200}` \(.{1,200}\) due to .{1,200})",
        ),
        several=True,
        errors_apart=True,
    ),
    "maven": _Closing(
        _lines(
            r"(?:\[INFO\] )?BUILD (?:(?P<passed>SUCCESS)|(?P<failed>FAILURE))\n\[INFO\] -+\n",
            r"\[INFO\] Total time: .{1,60}\n\[INFO\] Finished at: .{1,60}",
            r"(?:\n\[INFO\] Final Memory: .{1,60})?\n\[INFO\] -+",
        ),
        failures=re.compile(r"(?:\n\[(?:ERROR|WARNING)\].*)*"),
        doubt=re.compile(
            r"\bThere (?:are|were) test failures\b|\bNo tests to run\b|\bTests are skipped\b"
            rf"|^\[(?:ERROR|WARNING)\] Tests run: {_NUMBER}, (?!Failures: 0, Errors: 0,)",
            re.MULTILINE,
        ),
    ),
    "gradle": _Closing(
        _lines(
            r"BUILD (?:(?P<passed>SUCCESSFUL)|(?P<failed>FAILED)) in (?:\d+h )?(?:\d+m )?\d+m?s",
            rf"(?:\n{_NUMBER} actionable tasks?: .{{1,100}})?",
            r"(?:\nConfiguration cache entry (?:stored|reused)\.)?",
        ),
        doubt=re.compile(
            rf"\bThere were failing tests\b|^{_NUMBER} tests? completed, {_NUMBER} failed\b", re.MULTILINE
        ),
    ),
    "dotnet": _Closing(
        _lines(
            rf"Test summary: total: {_NUMBER}, failed: (?P<failed>{_NUMBER}), ",
            rf"succeeded: (?P<passed>{_NUMBER}), skipped: {_NUMBER}, duration: [\d.]{{1,12}}s\n",
            r"Build (?:succeeded|(?P<failed_build>failed)).{0,100} in [\d.]{1,12}s",
        ),
    ),
    "rspec": _Closing(
        _lines(
            rf"(?P<passed>{_NUMBER}) examples?, (?P<failed>{_NUMBER}) failures?(?:, {_NUMBER} pending)?",
            rf"(?:, (?P<failed_outside>{_NUMBER}) errors? occurred outside of examples)?",
        ),
        failures=re.compile(r"(?:\n\nFailed examples:\n(?:\nrspec .*)+)?"),
        rest=re.compile(r"(?:\n\nRandomized with seed \d+)?"),
    ),
    "phpunit": _Closing(
        _lines(
            rf"(?P<passed>OK) \({_NUMBER} tests?, {_NUMBER} assertions?\)",
            r"|(?:(?P<passed_with>OK, but .{1,60}!)|(?P<failed>(?:FAILURES|ERRORS)!))",
            rf"\nTests: {_NUMBER}, Assertions: {_NUMBER}(?:, [A-Z][\w ]{{1,30}}: {_NUMBER}){{0,10}}\.",
        ),
        # What PHPUnit writes into a new configuration makes it fail with these.
        doubt=re.compile(
            r"^Tests: .{1,300}\b(?:Risky|Warnings|Notices|Deprecations): |^OK, but there were issues!$",
            re.MULTILINE | re.IGNORECASE,
        ),
    ),
    "ctest": _Closing(
        _lines(
            rf"{_NUMBER}% tests passed, (?P<failed>{_NUMBER}) tests failed out of (?P<passed>{_NUMBER})\n",
            r"(?:\n(?:Label|Subproject) Time Summary:\n(?:.{1,200}\n){1,100})?",
            r"\nTotal Test time \(real\) = +[\d.]{1,12} sec",
        ),
        failures=re.compile(
            r"(?:\n\nThe following tests FAILED:(?:\n[\t ]+\d+ - .*)+)?(?:\nErrors while running CTest)?"
            r"(?:\nOutput from these tests are in: .*"
            r"\nUse \"--rerun-failed --output-on-failure\" to re-run the failed cases verbosely\.)?"
        ),
        rest=re.compile(r"(?:\n\nThe following tests did not run:(?:\n[\t ]+\d+ - .*)+)?"),
    ),
    "tap": _Closing(
        _lines(
            rf"# \{{ total: {_NUMBER}(?:, pass: (?P<passed>{_NUMBER}))?(?:, fail: (?P<failed>{_NUMBER}))?",
            rf"(?:, (?:skip|todo): {_NUMBER}){{0,2}} \}}\n# time=[\d.]{{1,30}}m?s",
        ),
    ),
    "prove": _Closing(
        _lines(
            rf"Files={_NUMBER}, Tests=(?P<ran>{_NUMBER}), .{{1,200}}\n",
            r"Result: (?:(?P<passed>PASS)|(?P<failed>FAIL))",
        ),
    ),
}


def result_of_tests(command: str, outputs: Sequence[str]) -> TestResult | None:
    """Returns whether the tests passed that a command runs, by its ``outputs``: one text, or what it wrote to
    each stream. None where that is not sure.

    ``command`` is a single command, which must name its runner.
    """
    runner = runner_of_tests(command)
    closing = _CLOSINGS.get(runner)
    if closing is None or "--dry-run" in command:
        return None
    texts = [_cleaned(output) for output in outputs]
    ends = [end for text in texts if (end := _end_of(text, closing)) is not None]
    if not ends or (len(ends) > 1 and not closing.several) or any(passed is None for passed, _ in ends):
        return None
    passed = all(passed for passed, _ in ends)
    if passed and closing.doubt is not None and any(map(closing.doubt.search, texts)):
        return None
    if passed and closing.errors_apart and _DROPS_ERRORS.search(command):
        return None
    line = next(line for was_passed, line in ends if was_passed == passed)
    return TestResult(passed, runner, line[:_MAX_LINE])


def _cleaned(output: str) -> str:
    return _COLOURS.sub("", output[-_MAX_OUTPUT:].replace("\r\n", "\n")).rstrip()


def _end_of(text: str, closing: _Closing) -> tuple[bool | None, str] | None:
    """Returns whether the tests passed, by the closing lines at the end of a text, and these lines; None
    instead of whether where they are elsewhere or contradict one another. Returns None where there are none.
    """
    found = list(closing.lines.finditer(text))
    if not found:
        return None
    last = found[-1]
    verdicts = [_verdict(one) for one in found]
    passed = verdicts[-1]
    rest = text[last.end() :]
    if passed is False and (failures := closing.failures.match(rest)):
        rest = rest[failures.end() :]
    is_only = len(found) == 1 or (closing.several and (passed is False or False not in verdicts))
    if not is_only or not closing.rest.fullmatch(rest):
        return None, ""
    if closing.several and passed is None and True in verdicts:  # the last part has no tests
        passed = True
        last = found[len(verdicts) - 1 - verdicts[::-1].index(True)]
    lines = (" ".join(line.strip("= ").removeprefix("[INFO]").split()) for line in last[0].split("\n"))
    return passed, " · ".join(line for line in lines if line.strip("-"))


def _verdict(closing: re.Match[str]) -> bool | None:
    said = {name for name, value in closing.groupdict().items() if value and not re.fullmatch("0+", value)}
    ran = "ran" not in closing.re.groupindex or "ran" in said
    if any(name.startswith("failed") for name in said):
        return False
    return True if ran and any(name.startswith("passed") for name in said) else None
