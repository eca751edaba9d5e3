"""Two hosts of one address that both accept writes: after a fail-over that left the old primary alive.

Writes to the old one are lost. A worker uses the host with the higher timeline, and ends when it finds that it
works on the other.
"""

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing

import psycopg2
from psycopg2.extensions import make_dsn

from shipyard_api.domain.histories import Writable, successor
from shipyard_api.ports.state.errors import UnsuitableDatabase
from shipyard_api.storage.addresses import current_host, hosts, prefer_host

LOG = logging.getLogger(__name__)

_PATIENCE = 1.0  # seconds; a host that takes longer is asked again next time
_ASK = """
SELECT system_identifier, CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END
FROM pg_control_system()
"""


def avoid_old_primary(url: str) -> str:
    """Let connections go to the newest of the hosts that accept writes; return the reason if the server changed."""
    addresses = hosts(url)
    if len(addresses) < 2:
        return ""
    pool = ThreadPoolExecutor(len(addresses), thread_name_prefix="rivals")
    asked = [pool.submit(_ask, host) for host in addresses]
    wait(asked, _PATIENCE)
    pool.shutdown(wait=False, cancel_futures=True)
    servers = [future.result() if future.done() else None for future in asked]
    current = current_host(url)
    place = successor(servers, current)
    if place is None:
        return ""
    prefer_host(url, place)
    old, new = (f"{addresses[at].get('host')}:{addresses[at].get('port', 5432)}" for at in (current, place))
    why = f"two database servers accept writes: {new} has replaced {old}, which must be stopped"
    LOG.error("old primary accepts writes", extra={"detail": why})
    return why


def check_old_primary(url: str) -> None:
    """Raise UnsuitableDatabase if this process works on a server that another one has replaced."""
    if why := avoid_old_primary(url):
        raise UnsuitableDatabase(why)


def _ask(host: Mapping[str, str]) -> Writable | None:
    try:
        with closing(psycopg2.connect(str(make_dsn(**{**host, "target_session_attrs": "any"})))) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(_ASK)
                system, segment = cursor.fetchone() or (0, None)
    except psycopg2.Error:
        return None
    return Writable(system, int(segment[:8], 16)) if segment else None
