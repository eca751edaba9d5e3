"""The notices of the journal, by LISTEN of Postgres on one connection."""

from collections.abc import AsyncGenerator, Callable

import psycopg

from shipyard_api.ports.state.errors import StoreUnavailable

_LISTEN = "LISTEN shipyard_journal"  # the channel of migration 0018


class PostgresNotices:
    """Fills ``ports.notices.JournalNotices``.

    ``conninfo`` returns the connection string, ``on_connect`` is SQL for the new connection.
    """

    def __init__(self, conninfo: Callable[[], str], on_connect: str = "") -> None:
        self._conninfo = conninfo
        self._on_connect = on_connect

    async def __call__(self, *, every: float) -> AsyncGenerator[None, None]:
        """Yield for each change of the journal, and at least so often."""
        try:
            async with await psycopg.AsyncConnection.connect(self._conninfo(), autocommit=True) as connection:
                if self._on_connect:
                    await connection.execute(self._on_connect.encode())
                await connection.execute(_LISTEN)
                while True:
                    yield
                    # Those that came together are one.
                    async for _ in connection.notifies(timeout=every, stop_after=1):
                        pass
        except psycopg.Error as error:
            raise StoreUnavailable(str(error).strip().partition("\n")[0]) from error
