"""Looks for scripts of sed, awk, jq and SQLite that count as plain and do more:
``python tests/fuzz/run_scripts.py --scripts N``.

Makes scripts at random, runs the plain ones with each program that is installed,
and reports those that leave a file or show one that the command does not name.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.shell.script_languages import LANGUAGES, plain_scripts, violations

_BLOCK = 20_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripts", type=float, default=1e6, help="random scripts for each language")
    parser.add_argument(
        "--seconds", type=float, default=300, help="ends after this time, for all languages together"
    )
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    bad = 0
    for language in LANGUAGES:
        made, run, seen, end = 0, 0, set[str](), time.monotonic() + options.seconds / len(LANGUAGES)
        while made < options.scripts and time.monotonic() < end:
            plain = [
                script for script in plain_scripts(language, f"{seed}/{made}", _BLOCK) if script not in seen
            ]
            seen.update(plain)
            made += _BLOCK
            for command in language.installed():
                with tempfile.TemporaryDirectory(prefix="nbtools-scripts-") as folder:
                    found = violations(command, plain, Path(folder))
                run += len(plain)
                bad += len(found)
                for script in found:
                    print(f"{' '.join(command)}: {script!r}")
        print(
            f"{language.name}, seed {seed}: {made:,} scripts, {len(seen):,} plain and different, {run:,} runs",
            flush=True,
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
