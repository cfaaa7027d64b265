"""One way of counting: head, chips and menus agree with each other and with SQL over the same log."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.explorer_messages import TraceChanges
from nbtools.traces.trace import load
from tests.traces.explorer.asking import ask, listed
from tests.traces.recorded import LOGS, SAMPLES

CHANGES = "('write', 'edit', 'patch', 'notebook')"
MADE = "live and (level = 'model' or by_sub_agent)"
FAILED = "(status = 'error' or (status = 'ok' and coalesce(exit_code, 0) <> 0))"
KINDS = {
    "edits": f"select count(*) from calls where op in {CHANGES}",
    "shell": "select count(*) from calls where op = 'shell'",
    "search": "select count(*) from calls where op in ('search', 'list', 'web_search')",
    "reads": "select count(*) from calls where op in ('read', 'fetch')",
    "agents": "select count(*) from calls where op = 'agent'",
    "said": "select count(*) from events where kind in ('user', 'assistant_text') and text <> ''",
    "thinking": "select count(*) from events where kind = 'thinking' and text <> ''",
}


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize("log", LOGS)
def test_every_number_is_what_sql_counts(log: str) -> None:
    trace = load(SAMPLES / log)
    explorer = Explorer(trace)
    view = explorer.view()

    def count(query: str) -> int:
        ((found,),) = trace.sql(query).fetchall()
        return int(found)

    shown = listed(explorer)
    all_calls = sum(row["flags"] & 1 for row in shown)
    chips = Counter(key for row in shown for key in row["chips"])
    for kind, query in KINDS.items():
        assert chips.get(f"kind:{kind}", 0) == count(query), kind
    failed = count(f"select count(*) from calls where {FAILED} and {MADE}")
    others = count(f"select count(*) from calls where {FAILED} and not ({MADE})")
    errors = count("select count(*) from events where kind = 'error' and text <> ''")
    assert chips.get("end:failed", 0) == failed
    assert chips.get("end:errors", 0) == errors
    assert chips.get("end:other failures", 0) == others
    stopped = count("select count(*) from calls where status not in ('ok', 'error', 'unknown')")
    assert chips.get("end:stopped", 0) == stopped
    tools = dict(trace.sql("select name, count(*) from calls group by name").fetchall())
    assert {key.partition(":")[2]: n for key, n in chips.items() if key.startswith("tool:")} == tools
    assert all_calls == count("select count(*) from calls")

    facts = {fact.text: fact for fact in view.facts}
    calls = next(text for text in facts if re.match(r"[\d,]+ calls?\b", text))
    made = count(f"select count(*) from calls where {MADE}")
    assert number(calls.split()[0]) == made
    nested = count(f"select count(*) from calls where live and not ({MADE})")
    assert (f" + {nested:,} nested" in calls) == (nested > 0)
    title = Counter({words: number(n) for n, words in re.findall(r"(\d[\d,]*) ([^,]+)", facts[calls].title)})
    apart = sum(n for words, n in title.items() if words.startswith(("nested in", "on rewound")))
    assert made + apart == all_calls
    assert [number(text.split()[0]) for text in facts if text.endswith(" failed")] == [failed][: bool(failed)]
    head_errors = [number(text.split()[0]) for text in facts if text.endswith(" of the agent")]
    assert head_errors == [errors][: bool(errors)]
    applied = count("select count(*) from file_changes where applied")
    edits = [number(text.split()[0]) for text in facts if re.fullmatch(r"[\d,]+ edits?", text)]
    assert edits == [applied][: bool(applied)]
    changed = [fact for text, fact in facts.items() if text.endswith(" changed")]
    files = count("select count(distinct path) from file_changes where applied and path <> ''")
    assert bool(changed) == (files > 0)
    for fact in changed:
        assert 0 < number(fact.text.split()[0]) <= files
    changes = ask(explorer, "changes")
    assert isinstance(changes, TraceChanges)
    assert (
        changes.total
        == len(changes.files)
        == sum(number(text.split()[0]) for text in facts if text.endswith(" changed"))
    )
    assert sum(file.changes for file in changes.files) == count(
        "select count(*) from file_changes where applied and path <> ''"
    )
    assert sum(file.added or 0 for file in changes.files) == count(
        "select coalesce(sum(added), 0) from file_changes where applied and path <> ''"
    )
    assert (view.failure is None) == (failed + errors + others == 0)
    assert view.failure is None or explorer.lines.tones[view.failure] == "failed"
