"""The database's address, parsed once by libpq: every driver gets the same parameters.

Of several hosts, a process tries first the one that accepted writes last: after a fail-over, a host that no longer
answers does not delay every connection.
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from types import MappingProxyType

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812  # the driver's name for a class
from psycopg2.extensions import make_dsn, parse_dsn

from shipyard_api.ports.state.errors import StoreUnavailable

_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "connect_timeout": "3",
        "application_name": "shipyard",
        # A database host that vanishes is given up after 10 s without an acknowledgement, of a statement or of a probe;
        # probes start after 5 s of silence.
        "tcp_user_timeout": "10000",  # milliseconds
        "keepalives": "1",
        "keepalives_idle": "5",
        "keepalives_interval": "2",
        "keepalives_count": "5",
    }
)
_LISTS = ("host", "hostaddr", "port")

_HEAD_START = 1.0  # seconds
# By URL: the place of the host that accepted writes last.
_latest: dict[str, int] = {}

SERVER_KEEPALIVES = """
SELECT set_config(wanted.name, wanted.value, false)
FROM (VALUES ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '2'), ('tcp_keepalives_count', '3'),
('tcp_user_timeout', '8000'), ('idle_in_transaction_session_timeout', '8000'))
AS wanted (name, value) JOIN pg_settings USING (name) WHERE source = 'default'
"""
"""Run on each new connection: for a client host that vanishes, whose locks the server would keep for hours.

Keepalives end an idle session. Where the server still waits for an acknowledgement of its answer it sends none, and
tries for a quarter of an hour: tcp_user_timeout bounds that. A session in a transaction, whose row locks stop the
successors of its action, ends even if its host lives and only the process is frozen. No transaction waits for a peer.

A setting of the operator stays: one of the URL, of PGOPTIONS, of the role, the database or the server. It is not sent
with the connection, because PgBouncer rejects options that it does not know.
"""

NO_IDLE_LIMIT = "SET idle_in_transaction_session_timeout = 0"
"""For a transaction of the administration: it computes or imports between statements, for long on a busy host."""


def check_address(url: str) -> None:
    """Raise StoreUnavailable for an invalid URL, without quoting it: it may contain a password."""
    _parsed(url)


def parameters(url: str) -> dict[str, str]:
    """Return libpq's parameters for a URL or connection string as libpq documents it; several hosts are tried in order.

    A standby is never used. Raises as ``check_address``.
    """
    parsed = _parsed(url)
    for name in _LISTS:
        values = parsed.get(name, "").split(",")
        if len(values) > 1:
            values.insert(0, values.pop(current_host(url)))
            parsed[name] = ",".join(values)
    return parsed


def conninfo(url: str) -> str:
    """Return the parameters as a connection string; raises as ``check_address``."""
    return str(make_dsn(**parameters(url)))


def current_host(url: str) -> int:
    """Return the place of the host that accepted writes last."""
    return _latest.get(url, 0)


def prefer_host(url: str, place: int) -> None:
    """Let the next connections of this process try the host at this place first."""
    _latest[url] = place


def open_connection(url: str) -> Connection:
    """Connect to the host that accepts writes, and remember it.

    If the first host is silent for a second, the others are asked meanwhile. Raises psycopg2.OperationalError if no
    host accepts writes; StoreUnavailable as ``check_address``.
    """
    addresses = hosts(url)
    if len(addresses) == 1:
        return _connect(addresses[0])
    addresses.insert(0, addresses.pop(current_host(url)))
    pool = ThreadPoolExecutor(len(addresses), thread_name_prefix="database")
    first = pool.submit(_connect, addresses[0])
    done, _ = wait([first], _HEAD_START)
    accepts = done and first.exception() is None
    attempts = [first, *(pool.submit(_connect, host) for host in addresses[1:] if not accepts)]
    pool.shutdown(wait=False)
    for attempt in as_completed(attempts):
        if attempt.exception() is not None:
            continue
        for other in attempts:
            if other is not attempt:
                other.add_done_callback(_close)
        connection = attempt.result()
        _remember(url, connection)
        return connection
    refusals = [str(attempt.exception()).strip().partition("\n")[0] for attempt in attempts]
    raise psycopg2.OperationalError("; ".join(refusals))


def _remember(url: str, connection: Connection) -> None:
    """Let the next connections of this process try the host of this one first."""
    info = connection.info
    for place, host in enumerate(hosts(url)):
        name = host.get("host") or host.get("hostaddr")
        if name == info.host and host.get("port", "") in ("", str(info.port)):
            _latest[url] = place
            return


def _connect(host: Mapping[str, str]) -> Connection:
    return psycopg2.connect(str(make_dsn(**host)))


def _close(attempt: "Future[Connection]") -> None:
    if attempt.exception() is None:
        attempt.result().close()


def _parsed(url: str) -> dict[str, str]:
    try:
        given = parse_dsn(url)
    except psycopg2.ProgrammingError:
        raise StoreUnavailable("DATABASE_URL is not of the form postgresql://USER:PASSWORD@HOST:PORT/NAME") from None
    return {**_DEFAULTS, **given, "target_session_attrs": "read-write"}


def hosts(url: str) -> list[dict[str, str]]:
    """Return the parameters of each host, in the order of the URL; those of all if libpq rejects the lists."""
    parsed = _parsed(url)
    lists = {name: parsed[name].split(",") for name in _LISTS if name in parsed}
    count = max((len(values) for values in lists.values()), default=1)
    if not {len(values) for values in lists.values()} <= {1, count}:
        return [parsed]
    # One port is that of all hosts.
    return [
        {**parsed, **{name: values[place % len(values)] for name, values in lists.items()}} for place in range(count)
    ]
