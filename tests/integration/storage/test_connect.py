"""How the database is reached: a host that vanished is noticed, and the operator's URL and settings count."""

import socket
from contextlib import closing

import psycopg2
import pytest
import sqlalchemy as sa
from psycopg2.extensions import make_dsn, parse_dsn

from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage.addresses import conninfo, open_connection, parameters, prefer_host
from shipyard_api.storage.unit_of_work import connect

OURS = ["5", "2", "3", "8000", "8s"]


@pytest.fixture(autouse=True)
def _no_options_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGOPTIONS", raising=False)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param(
            "postgresql://me:secret@h1:5432,h2:5433/db?target_session_attrs=read-write",
            {"host": "h1,h2", "port": "5432,5433", "user": "me", "password": "secret", "dbname": "db"},
            id="several hosts",
        ),
        pytest.param("host=h1,h2 dbname=db", {"host": "h1,h2", "dbname": "db"}, id="a connection string"),
        pytest.param(
            "postgresql://db/x?target_session_attrs=any", {"target_session_attrs": "read-write"}, id="never a standby"
        ),
        pytest.param("postgresql://db/x", {"keepalives_idle": "5", "tcp_user_timeout": "10000"}, id="keepalives"),
        pytest.param(
            "postgresql://db/x?keepalives_idle=7&sslmode=require",
            {"keepalives_idle": "7", "keepalives_interval": "2", "sslmode": "require"},
            id="keepalives of the URL win",
        ),
        pytest.param("postgresql://db/x?options=-c%20a.b%3D1", {"options": "-c a.b=1"}, id="options of the URL"),
    ],
)
def test_libpq_reads_the_url(url: str, expected: dict[str, str]) -> None:
    assert parameters(url).items() >= expected.items()
    assert parse_dsn(conninfo(url)) == parameters(url)


@pytest.mark.parametrize("url", ["postgresql//me:hunter2@db", "hunter2"])
def test_an_invalid_url_is_not_shown(url: str) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        connect(url)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", OURS, id="given up within seconds"),
        pytest.param("?options=-c%20tcp_keepalives_idle%3D60", ["60", *OURS[1:]], id="options of the operator stay"),
    ],
)
def test_the_server_gives_up_a_vanished_client(database_url: str, query: str, expected: list[str]) -> None:
    engine = connect(database_url + query)
    with engine.connect() as connection:
        names = [f"tcp_keepalives_{name}" for name in ("idle", "interval", "count")]
        names += ["tcp_user_timeout", "idle_in_transaction_session_timeout"]
        found = [connection.execute(sa.text(f"SHOW {name}")).scalar_one() for name in names]
    engine.dispose()

    assert found == expected


@pytest.fixture
def second(database_url: str) -> str:
    """The address of two hosts, the first of which does not answer."""
    address = parse_dsn(database_url)
    hosts, ports = f"127.0.0.1,{address['host']}", f"9,{address['port']}"
    return str(make_dsn(**{**address, "host": hosts, "port": ports}))


def test_a_host_that_does_not_answer_is_passed_over_and_then_tried_last(database_url: str, second: str) -> None:
    port = parse_dsn(database_url)["port"]
    engine = connect(second)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT inet_server_port()")).scalar_one() == int(port)
    engine.dispose()

    assert parameters(second)["port"] == f"{port},9"


def test_the_host_that_accepts_writes_is_found(database_url: str, second: str) -> None:
    port = parse_dsn(database_url)["port"]
    with closing(open_connection(second)) as connection:
        assert str(connection.info.port) == port
    assert parameters(second)["port"] == f"{port},9"

    with pytest.raises(psycopg2.OperationalError, match=r"(?s)port 9 .*; .*port 10 "):
        open_connection("host=127.0.0.1,127.0.0.1 port=9,10")


def test_the_host_that_accepted_writes_last_is_asked_alone(database_url: str) -> None:
    address = parse_dsn(database_url)
    with socket.create_server(("127.0.0.1", 0)) as other:
        ports = f"{other.getsockname()[1]},{address['port']}"
        both = str(make_dsn(**{**address, "host": f"127.0.0.1,{address['host']}", "port": ports}))
        prefer_host(both, 1)
        open_connection(both).close()
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()


def test_the_connection_that_was_used_last_is_used_next(database_url: str) -> None:
    engine = connect(database_url)
    with closing(engine.connect()) as first, closing(engine.connect()) as second:
        last = first.connection.dbapi_connection
        second.close()
        first.close()

    with engine.connect() as following:
        assert following.connection.dbapi_connection is last
    engine.dispose()
