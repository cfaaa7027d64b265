"""A session that goes on in another file of its folder: the open explorer offers to follow it."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.explorer import Explorer
from tests.browser.test_log_tabs import KEPT, LINES

ORIGIN = next(json.loads(line)["sessionId"] for line in LINES if b'"sessionId"' in line)
FORK = "0d0d0d0d-1111-4222-8333-444455556666"
GOES_ON = ".nbtools-trace-goes-on"


def fork_of(lines):
    """Records as a fork has them: with its own session, and the one that they were copied from."""
    records = (json.loads(line) for line in lines)
    copies = (
        {**one, "sessionId": FORK, "forkedFrom": {"sessionId": ORIGIN, "messageUuid": one.get("uuid", "")}}
        for one in records
    )
    return b"".join(json.dumps(copy).encode() + b"\n" for copy in copies)


@pytest.fixture
def open_log(views, tmp_path):
    async def open_log():
        log = tmp_path / "session.jsonl"
        log.write_bytes(b"".join(LINES[:KEPT]))
        trace = Explorer(views, await views.show(open_trace(log)))
        await expect(trace.chip("All").first).to_have_text("All 55")
        return trace, log

    return open_log


async def test_the_explorer_goes_on_with_filter_and_selection(open_log):
    trace, log = await open_log()
    offer = trace.node.locator(GOES_ON)
    await trace.chip("shell").first.click()
    await expect(trace.found).to_contain_text("of 55")
    await trace.rows.nth(1).click()
    await expect(trace.card).to_be_visible()
    chosen = await trace.chosen.inner_text()
    fork = log.with_name(f"{FORK}.jsonl")
    fork.write_bytes(fork_of(LINES[:170]))
    await expect(offer).to_have_text(f"This session goes on in {FORK}.jsonl: Follow it")
    await expect(trace.chip("All").first).to_have_text("All 55")
    await trace.tab.look("goes-on", trace.cell)
    following = trace.node.locator(".nbtools-trace-follow")
    await following.click()
    await expect(following).to_have_text("Paused")
    await offer.get_by_role("button", name="Follow it").click()
    await expect(offer).to_have_text(f"The session goes on in {FORK}.jsonl.")
    await expect(following).to_have_text("Following")
    await expect(trace.chosen).to_have_text(chosen, use_inner_text=True)
    await expect(trace.card).to_be_visible()
    await expect(trace.node.locator(".nbtools-trace-chip[aria-pressed='true']")).to_contain_text("shell")
    with fork.open("ab") as file:
        file.write(fork_of(LINES[170:]))
    await expect(trace.chip("All").first).to_have_text("All 133")
    await expect(trace.chosen).to_have_text(chosen, use_inner_text=True)
    await trace.tab.look("went-on", trace.cell)


async def test_nothing_but_a_continuation_is_offered_and_a_lost_one_says_so(open_log):
    trace, log = await open_log()
    offer = trace.node.locator(GOES_ON)
    other = b"".join(LINES).replace(ORIGIN.encode(), FORK.encode())
    for number, record in enumerate(map(json.loads, LINES)):
        if "uuid" in record:
            other = other.replace(record["uuid"].encode(), f"other-{number}".encode())
    log.with_name("newer.jsonl").write_bytes(other)
    fork = log.with_name("<img src=x onerror=window.broken=true> fork.jsonl")
    fork.write_bytes(fork_of(LINES))
    await expect(offer).to_have_text(f"This session goes on in {fork.name}: Follow it")
    fork.unlink()
    await offer.get_by_role("button", name="Follow it").click()
    await expect(offer).to_contain_text("No such file")
    await expect(trace.chip("All").first).to_have_text("All 55")
    with log.open("ab") as file:
        file.writelines(LINES[KEPT:])
    await expect(trace.chip("All").first).to_have_text("All 133")
    assert await trace.tab.page.evaluate("window.broken") is None
