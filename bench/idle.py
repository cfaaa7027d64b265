"""Measures what a page costs while nothing happens:
the processor time of the browser's renderer processes, as the system counts it.

Only one page may be open in the browser.
"""

from __future__ import annotations

import asyncio

from playwright.async_api import Browser, CDPSession

SECONDS = 60
"""Several rounds of JupyterLab's own polling, which has intervals of up to 10 seconds."""
_QUIET = 5.0
"""Percent of a processor below which a second counts as quiet."""
_QUIET_SECONDS = 15
_PATIENCE = 180


class IdleMeter:
    """Processor time of the renderers of one browser."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session

    @classmethod
    async def of(cls, browser: Browser) -> IdleMeter:
        return cls(await browser.new_browser_cdp_session())

    async def seconds(self) -> float:
        """Processor time so far, in seconds."""
        found = await self._session.send("SystemInfo.getProcessInfo")
        return sum(
            float(process["cpuTime"]) for process in found["processInfo"] if process["type"] == "renderer"
        )

    async def settle(self) -> None:
        """Waits until requests and drawing have ended:
        until the page was quiet for several seconds in a row.
        """
        quiet = 0
        async with asyncio.timeout(_PATIENCE):
            while quiet < _QUIET_SECONDS:
                quiet = quiet + 1 if await self.percent(1) < _QUIET else 0

    async def percent(self, seconds: float = SECONDS) -> float:
        """Percent of a processor during the next seconds."""
        loop = asyncio.get_running_loop()
        before, start = await self.seconds(), loop.time()
        await asyncio.sleep(seconds)
        return 100 * (await self.seconds() - before) / (loop.time() - start)
