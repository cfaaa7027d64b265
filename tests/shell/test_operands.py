"""Operands that a program gives a meaning of its own: addresses, and words for the program of a script."""

from __future__ import annotations

import pytest

from nbtools.shell.analysis import analyse


def risky(line: str) -> bool:
    return any(act.risk for act in analyse(line).commands)


@pytest.mark.parametrize(
    "line",
    [
        "xmllint http://host/a.xml",
        "xmllint --noout --schema https://host/a.xsd a.xml",
        "xmllint --relaxng ftp://host/a.rng a.xml",
        "pandoc lua evil.lua",
        "pandoc server",
        "pandoc -o a.pdf a.md",
        "pandoc a.rst",
        "npm run test -- -r ./e.js",
        "npm test -- --require=./e.js",
        "npm start -- ../e.js",
        "npm run build -- /tmp/e.js",
        "pnpm run test -r ./e.js",
        "yarn run test --require ./e.js",
    ],
)
def test_an_operand_with_a_meaning_of_its_own_is_a_risk(line: str) -> None:
    assert risky(line)


@pytest.mark.parametrize(
    "line",
    [
        "xmllint --noout a.xml",
        "xmllint --noout --schema a.xsd a.xml",
        "npm run test:unit -- --coverage=false",
        "npm test -- src/cart.test.ts",
        "npm run lint --silent -- --fix",
        "pnpm run build",
        "yarn run test src/cart.test.ts",
    ],
)
def test_plain_operands_are_no_risk(line: str) -> None:
    assert not risky(line)
