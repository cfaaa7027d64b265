"""Approving code that a program reads from its input offers no rule:
the rule would cover any other code, too.
"""

from __future__ import annotations

import pytest

from nbtools import Session


@pytest.mark.parametrize(
    "command",
    [
        "python - <<'EOF'\nprint(1)\nEOF",
        "python3 <<'EOF'\nprint(1)\nEOF",
        "python - <<'EOF' | tail\nprint(1)\nEOF",
        "ls; node - <<'EOF'\nconsole.log(1)\nEOF",
        "bash -s <<'EOF'\ntouch x\nEOF",
    ],
)
async def test_code_from_the_input_is_approved_once(tmp_path, command):
    offers = []

    class Confirmer:
        async def ask(self, confirmation):
            offers.append((confirmation.offers, confirmation.narrower))
            raise RuntimeError("not answered")

    async with Session(tmp_path, confirmer=Confirmer()) as session:
        await session.call("shell", {"command": command})
    assert offers == [((), ())]
