"""Connections that wait for notifications at no cost."""

from typing import Any

import psycopg

NEVER = 1e9
"""Seconds, for what must never happen by the clock."""


class ListeningConnection(psycopg.AsyncConnection[Any]):
    """Sleeps until the server sends something.

    The driver's own looks up ten times a second, for the sake of Ctrl-C, which asyncio handles: a third of what an idle
    worker took.
    """

    async def wait(self, gen: Any, interval: float = NEVER, timeout: float | None = None) -> Any:
        """Run an exchange with the server to its end; the driver's hook. ``timeout``: seconds."""
        return await super().wait(gen, interval, timeout)
