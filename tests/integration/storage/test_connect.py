"""How the database is reached: a host that vanished is noticed, and what an operator put into the URL counts."""

from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage.unit_of_work import connect

OURS = "-c tcp_keepalives_idle=20 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"


class CaughtError(Exception):
    """Instead of a connection."""


def parameters(url: str) -> dict[str, Any]:
    """What libpq would be given for a connection."""
    engine = connect(url)
    caught: dict[str, Any] = {}

    @sa.event.listens_for(engine, "do_connect")
    def _catch(_dialect: Any, _record: Any, _arguments: Any, given: dict[str, Any]) -> None:
        caught.update(given)
        raise CaughtError

    with pytest.raises(CaughtError):
        engine.connect()
    return caught


@pytest.fixture(autouse=True)
def _no_options_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGOPTIONS", raising=False)


def test_both_ends_ask_whether_the_other_is_still_there() -> None:
    given = parameters("postgresql://me@db/x")

    assert given["options"] == OURS
    assert (given["keepalives"], given["keepalives_idle"]) == (1, 20)
    assert (given["keepalives_interval"], given["keepalives_count"]) == (10, 3)


def test_a_vanished_host_is_given_up_within_a_minute(database_url: str) -> None:
    engine = connect(database_url)
    with engine.connect() as connection:
        idle, interval, count = (
            int(connection.execute(sa.text(f"SHOW tcp_keepalives_{name}")).scalar_one())
            for name in ("idle", "interval", "count")
        )
    engine.dispose()

    assert 0 < idle + interval * count < 60


@pytest.mark.parametrize(
    ("query", "options"),
    [
        pytest.param("options=-c%20search_path%3Dsite", f"{OURS} -c search_path=site", id="another option"),
        pytest.param(
            "options=-c%20tcp_keepalives_idle%3D5", f"{OURS} -c tcp_keepalives_idle=5", id="the same: the last wins"
        ),
        pytest.param("options=-c%20a.a%3D1&options=-c%20a.b%3D2", f"{OURS} -c a.a=1 -c a.b=2", id="twice"),
        pytest.param("options=", OURS, id="empty"),
        pytest.param("sslmode=require", OURS, id="something else"),
    ],
)
def test_options_of_the_url_are_kept(query: str, options: str) -> None:
    assert parameters(f"postgresql://me@db/x?{query}")["options"] == options


def test_options_of_the_environment_are_kept_unless_the_url_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """As libpq does it."""
    monkeypatch.setenv("PGOPTIONS", "-c search_path=site")

    assert parameters("postgresql://me@db/x")["options"] == f"{OURS} -c search_path=site"
    assert parameters("postgresql://me@db/x?options=-c%20a.b%3D1")["options"] == f"{OURS} -c a.b=1"


def test_keepalives_of_the_url_win() -> None:
    given = parameters("postgresql://me@db/x?keepalives_idle=7&sslmode=require")

    assert (given["keepalives_idle"], given["keepalives_interval"], given["sslmode"]) == ("7", 10, "require")


def test_the_server_takes_the_last_of_an_option(database_url: str) -> None:
    engine = connect(f"{database_url}?options=-c%20tcp_keepalives_idle%3D5%20-c%20statement_timeout%3D7s")
    with engine.connect() as connection:
        found = [
            connection.execute(sa.text(f"SHOW {name}")).scalar_one()
            for name in ("tcp_keepalives_idle", "tcp_keepalives_count", "statement_timeout")
        ]
    engine.dispose()

    assert found == ["5", "3", "7s"]


def test_what_is_no_url_is_not_shown() -> None:
    with pytest.raises(StoreUnavailable) as caught:
        connect("postgresql//me:secret@db")

    assert "secret" not in str(caught.value)
