"""The database's address, parsed once by libpq: every driver gets the same parameters."""

from collections.abc import Mapping
from types import MappingProxyType

import psycopg2
from psycopg2.extensions import make_dsn, parse_dsn

from shipyard_api.ports.state.errors import StoreUnavailable

_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "connect_timeout": "5",
        "application_name": "shipyard",
        # For a database host that vanishes: given up after 50 s, 20 s of silence and three probes 10 s apart.
        "keepalives": "1",
        "keepalives_idle": "20",
        "keepalives_interval": "10",
        "keepalives_count": "3",
    }
)

SERVER_KEEPALIVES = """
SELECT set_config(wanted.name, wanted.value, false)
FROM (VALUES ('tcp_keepalives_idle', '20'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3'))
AS wanted (name, value) JOIN pg_settings USING (name) WHERE source = 'default'
"""
"""Run on each new connection: the same for a client host that vanishes, whose locks the server would keep for hours.

A setting of the operator stays: one of the URL, of PGOPTIONS, of the role, the database or the server. It is not sent
with the connection, because PgBouncer rejects options that it does not know.
"""


def parameters(url: str) -> dict[str, str]:
    """Return libpq's parameters for a URL or connection string as libpq documents it; several hosts are tried in order.

    A standby is never used. Raises StoreUnavailable for an invalid URL, without quoting it: it may contain a password.
    """
    try:
        given = parse_dsn(url)
    except psycopg2.ProgrammingError:
        raise StoreUnavailable("DATABASE_URL is not of the form postgresql://USER:PASSWORD@HOST:PORT/NAME") from None
    return {**_DEFAULTS, **given, "target_session_attrs": "read-write"}


def conninfo(url: str) -> str:
    """Return the parameters as a connection string; raises as ``parameters``."""
    return str(make_dsn(**parameters(url)))
