"""Event streams over the notices of a real Postgres. What a slow listener may hold is in test_slow_callers.py."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any

import falcon
import pytest
import sqlalchemy as sa

from shipyard_api.adapters.postgres_listen import PostgresNotices
from shipyard_api.api.events import hub
from shipyard_api.api.events import hub as hub_module
from shipyard_api.api.events.hub import Hub, TooManyListeners
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.errors import ActionNotFound
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.state.journal import EventFormat
from shipyard_api.storage import journal
from shipyard_api.storage.addresses import conninfo
from shipyard_api.storage.projections import Line
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.journal.follow import FollowJournal
from tests.integration.api import description
from tests.integration.api.wire import Site
from tests.integration.storage.conftest import new_action
from tests.refusals import refuses
from tests.waiting import PATIENCE

AT = datetime(2026, 11, 22, 7, 0, 0, 250_000, tzinfo=UTC)
Stream = AsyncIterator[hub.Block]


def write(connection: sa.Connection, action: ActionId, *texts: str) -> None:
    journal.record(connection, Line(action, 1, None, AT, "w1"), [Noted("Test", text) for text in texts])


def commit(engine: sa.Engine, action: ActionId, *texts: str) -> None:
    with engine.begin() as connection:
        write(connection, action, *texts)


@pytest.fixture
def actions(site: Site, engine: sa.Engine) -> tuple[ActionId, ActionId]:
    with site.store.begin() as tx:
        first = tx.actions.create(new_action("a_step")).id
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE actions SET exclusive = false"))  # so that there may be another one
    with site.store.begin() as tx:
        return first, tx.actions.create(new_action("a_step")).id


@pytest.fixture
def hub(shared_url: str, store: Store) -> Callable[..., Hub]:
    return partial(Hub, FollowJournal(store), PostgresNotices(partial(conninfo, shared_url)))


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), PATIENCE))


async def blocks(stream: Stream) -> AsyncIterator[dict[str, str]]:
    """The fields of each block; comments have the name "comment"."""
    async for part in stream:
        for block in part.serialize().decode().removesuffix("\n\n").split("\n\n"):
            fields = [line.split(": ", 1) for line in block.split("\n")]
            yield {name or "comment": value for name, value in fields}


async def texts(stream: AsyncIterator[dict[str, str]], number: int) -> list[str]:
    """The texts of so many events, without the topic."""
    found: list[str] = []
    while len(found) < number:
        block = await anext(stream)
        if "data" in block:
            found.append(json.loads(block["data"])["text"].removeprefix("Test: "))
    return found


def test_a_stream_goes_on_from_its_cursor_over_all_actions_and_late_commits(
    hub: Callable[..., Hub], engine: sa.Engine, actions: tuple[ActionId, ActionId]
) -> None:
    async def test() -> None:
        own = hub()
        stream = blocks(await own.open(None, None))
        beginning = await anext(stream)
        with engine.connect() as slow, engine.connect() as quick:
            write(slow, actions[0], "a")  # has the lower id
            write(quick, actions[1], "b")
            quick.commit()
            slow.commit()
        event = await anext(stream)
        resumed = blocks(await own.open(None, int(event["id"])))
        of_one = blocks(await own.open(actions[1], int(beginning["id"])))
        commit(engine, actions[0], "c")
        with engine.connect() as broken_off:
            write(broken_off, actions[0], "never")
            commit(engine, actions[1], "d")
            broken_off.rollback()

        assert set(beginning) == {"retry", "id"}
        assert (event["event"], json.loads(event["data"])) == (
            "noted",
            {
                "action_id": actions[0],
                "action": "deploy_site",
                "at": "2026-11-22T07:00:00.250+00:00",
                "step": None,
                "kind": "noted",
                "text": "Test: a",
            },
        )
        assert await texts(stream, 3) == ["b", "c", "d"]
        assert (await anext(resumed))["id"] == event["id"]
        assert await texts(resumed, 3) == ["b", "c", "d"]
        assert await texts(of_one, 2) == ["b", "d"]

    run(test)


def test_a_listener_may_have_cloud_events(
    hub: Callable[..., Hub], engine: sa.Engine, actions: tuple[ActionId, ActionId]
) -> None:
    async def test() -> None:
        own = hub()
        plain = blocks(await own.open(None, None))
        beginning = await anext(plain)
        commit(engine, actions[0], "a")
        commit(engine, actions[1], "b")
        assert await texts(plain, 2) == ["a", "b"]
        resumed = blocks(await own.open(actions[1], int(beginning["id"]), written=EventFormat.CLOUDEVENTS))
        await anext(resumed)
        missed = json.loads((await anext(resumed))["data"])
        commit(engine, actions[1], "c")
        live = await anext(resumed)

        assert await texts(plain, 1) == ["c"]
        assert missed["data"]["text"] == "Test: b"
        assert json.loads(live["data"])["data"]["text"] == "Test: c"
        assert json.loads(live["data"])["id"] == live["id"]
        assert list(description.validator("#/components/schemas/CloudEvent").iter_errors(missed)) == []

    run(test)


def test_a_listener_who_falls_behind_gets_everything_once(
    hub: Callable[..., Hub], engine: sa.Engine, actions: tuple[ActionId, ActionId], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MOST_WAITING", 1000)

    async def test() -> None:
        own = hub()
        slow, quick = blocks(await own.open(None, None)), blocks(await own.open(None, None))
        commit(engine, actions[0], "0")
        assert [await texts(one, 1) for one in (slow, quick)] == [["0"], ["0"]]
        for number in range(1, 30):
            commit(engine, actions[0], str(number))
            assert await texts(quick, 1) == [str(number)]

        assert await texts(slow, 29) == [str(number) for number in range(1, 30)]
        commit(engine, actions[0], "30")
        assert await texts(slow, 1) == ["30"]

    run(test)


def test_streams_go_on_when_the_connection_of_notices_was_lost(
    hub: Callable[..., Hub], engine: sa.Engine, actions: tuple[ActionId, ActionId]
) -> None:
    kill = sa.text(
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
        "WHERE query LIKE 'LISTEN%' AND datname = current_database()"
    )

    async def test() -> None:
        own = hub()
        stream = blocks(await own.open(None, None))
        commit(engine, actions[0], "a")
        assert await texts(stream, 1) == ["a"]
        with engine.begin() as connection:
            assert connection.execute(kill).scalar() == 1
            write(connection, actions[0], "b", "c")

        assert await texts(stream, 2) == ["b", "c"]

    run(test)


def test_a_quiet_stream_has_heartbeats_with_a_cursor_and_ends_after_its_lifetime(
    hub: Callable[..., Hub], engine: sa.Engine, actions: tuple[ActionId, ActionId]
) -> None:
    async def test() -> None:
        own = hub(heartbeat=0.05, lifetime=0.5)
        stream = blocks(await own.open(actions[1], None))
        beginning = await anext(stream)
        commit(engine, actions[0], "of another action")
        beats = [beat async for beat in stream]

        assert {beat["comment"] for beat in beats} == {"heartbeat"}
        assert int(beats[-1]["id"]) > int(beginning["id"])
        # Streams end when the process stops.
        for stopping in [await own.open(action, None, lambda: False) for action in (None, actions[0])]:
            assert len([block async for block in blocks(stopping)]) == 1

    run(test)


def test_what_cannot_be_served_is_refused_before_the_stream_begins(
    hub: Callable[..., Hub], actions: tuple[ActionId, ActionId]
) -> None:
    away = Store(connect("postgresql://nobody@127.0.0.1:9/none"), None)  # type: ignore[arg-type]  # never wakes

    async def test() -> None:
        own = hub(most=1)
        with refuses(ActionNotFound):
            await own.open(ActionId("01M7XV7VKPMDHXJVA7WMC7P6XP"), None)
        stream = await own.open(None, 10**17)  # of a journal that a fail-over has shortened
        await anext(stream)
        with pytest.raises(TooManyListeners):
            await own.open(None, None)
        with pytest.raises(StoreUnavailable):
            await Hub(FollowJournal(away), PostgresNotices("")).open(None, None)

    run(test)


def test_a_ticket_opens_streams_and_nothing_else_until_it_expires(site: Site, engine: sa.Engine) -> None:
    issued = site.viewer.ask("POST", "/events/tickets")
    assert issued.status == falcon.HTTP_200, issued.text
    ticket = issued.json["ticket"]

    assert (issued.json["expires_in"], issued.headers["Cache-Control"]) == (60, "no-store")
    # What is wrong with the cursor is found behind authentication.
    for query, status in (
        (f"ticket={ticket}&last_event_id=x", falcon.HTTP_400),
        (f"ticket={ticket[:-1]}&last_event_id=x", falcon.HTTP_401),
        ("ticket=&last_event_id=x", falcon.HTTP_401),
        ("last_event_id=x", falcon.HTTP_401),
    ):
        assert site.nobody.ask("GET", "/events", query=query).status == status, query
    assert site.nobody.ask("POST", "/events/tickets", query=f"ticket={ticket}").status == falcon.HTTP_401
    assert site.nobody.ask("GET", "/api/v1.0/actions", query=f"ticket={ticket}").status == falcon.HTTP_401
    # It expires, and the next one takes its place.
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE event_tickets SET expires_at = now()"))
    assert site.nobody.ask("GET", "/events", query=f"ticket={ticket}&last_event_id=x").status == falcon.HTTP_401
    site.viewer.ask("POST", "/events/tickets")
    with engine.begin() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM event_tickets")).scalar() == 1
