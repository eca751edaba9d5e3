"""What hosts of one address say about themselves; two real primaries are in tests/crash/test_two_histories.py."""

from contextlib import closing

import psycopg2
from psycopg2.extensions import make_dsn, parse_dsn

from shipyard_api.domain.histories import Writable
from shipyard_api.storage import rivals
from shipyard_api.storage.addresses import current_host, hosts

_CONTROL = "SELECT system_identifier, timeline_id FROM pg_control_system(), pg_control_checkpoint()"


def test_a_host_that_accepts_writes_names_its_system_and_timeline(database_url: str) -> None:
    (host,) = hosts(database_url)
    with closing(psycopg2.connect(database_url)) as connection, connection.cursor() as cursor:
        cursor.execute(_CONTROL)
        system, timeline = cursor.fetchone()

    assert rivals._ask(host) == Writable(system, timeline)
    assert rivals._ask({**host, "port": "9"}) is None


def test_one_server_behind_two_addresses_has_no_rival(database_url: str) -> None:
    address = parse_dsn(database_url)
    both = str(make_dsn(**{**address, "host": f"{address['host']},localhost", "port": address["port"]}))
    assert len(hosts(both)) == 2
    rivals.check_old_primary(both)
    assert current_host(both) == 0
