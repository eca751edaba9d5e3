"""Requests that are sent twice: with the same Idempotency-Key they come to one action, of the caller who sent them."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.adapters.identity import IdentityKind, IdentityOptions
from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.storage import tables as t
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import bootstrap
from tests import simulated_keystone
from tests.integration.api.conftest import settings
from tests.integration.api.test_create_action import rows
from tests.integration.api.wire import JSON, Caller, Site, small_design
from tests.unit.tables import every_row
from tests.world import KilledError

MOST_STATEMENTS = 60


def keyed(caller: Caller, key: str, body: str = '{"name": "deploy_site"}', **params: Any) -> Result:
    return caller.post("/actions", body, {**JSON, "Idempotency-Key": key}, **params)


def test_the_same_key_gives_the_same_action(site: Site, engine: sa.Engine) -> None:
    assert keyed(site.admin, "night-shift").status == falcon.HTTP_400  # what was refused may be sent again
    site.commit(*small_design())

    first = keyed(site.admin, "night-shift")
    again = keyed(site.admin, "night-shift")

    assert (first.status, again.status) == (falcon.HTTP_201, falcon.HTTP_201)
    assert again.json == first.json
    assert again.headers["Location"] == first.headers["Location"]
    assert ("Idempotency-Replayed" in first.headers, again.headers["Idempotency-Replayed"]) == (False, "true")
    for same in ({"strict": "false"}, {"verbosity": "3"}):
        assert keyed(site.admin, "night-shift", **same).json == first.json
    for other in ({"allow_intermediate_commits": "true"}, {"strict": "true"}):
        assert keyed(site.admin, "night-shift", **other).status_code == 422
    assert len(rows(engine, t.actions)) == 1
    assert len(rows(engine, sa.table("procrastinate_jobs"))) == 1
    for key in ("", "x" * 256, "a\tb", "é"):
        wrong = keyed(site.admin, key)
        assert (wrong.status, wrong.json["message"]) == (falcon.HTTP_400, "Invalid Idempotency-Key")
    assert keyed(site.admin, "x" * 255, '{"name": "test_site"}').status == falcon.HTTP_201


def test_an_api_that_ends_at_any_statement_creates_one_action(site: Site, engine: sa.Engine) -> None:
    """The client asks again with its key, whatever the process was at when it was killed."""
    site.commit(*small_design())
    left = 0

    def end(*_: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KilledError

    for number in range(MOST_STATEMENTS):
        left = number
        sa.event.listen(sa.Engine, "before_cursor_execute", end)
        try:
            answer = keyed(site.admin, f"key-{number}", '{"name": "test_site"}')
        except KilledError:
            answer = None
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", end)
        again = keyed(site.admin, f"key-{number}", '{"name": "test_site"}')
        assert again.status == falcon.HTTP_201
        assert len(rows(engine, t.actions)) == len(rows(engine, sa.table("procrastinate_jobs"))) == number + 1
        if answer is not None:
            assert answer.json == again.json
            break
    assert 5 < number < MOST_STATEMENTS - 1  # it was killed at each statement, and lived once


OTHERS = {
    "another action": ({"name": "test_site"}, {"name": "deploy_site"}),
    "another value": ({"name": "test_site", "foo": 1}, {"name": "test_site", "foo": 2}),
    "a further key": ({"name": "test_site"}, {"name": "test_site", "foo": None}),
    "a key less": ({"name": "test_site", "foo": []}, {"name": "test_site"}),
    "another value deep down": ({"name": "test_site", "a": [{"b": [1, 2]}]}, {"name": "test_site", "a": [{"b": [2]}]}),
    "another order of a list": ({"name": "test_site", "a": [1, 2]}, {"name": "test_site", "a": [2, 1]}),
    "a number and a text": ({"name": "test_site", "foo": 1}, {"name": "test_site", "foo": "1"}),
    "a number and a truth": ({"name": "test_site", "foo": 1}, {"name": "test_site", "foo": True}),
    "no parameters, said": ({"name": "test_site"}, {"name": "test_site", "parameters": {}}),
}


SPELLINGS = {
    "order and white space": (
        '{"name": "test_site", "parameters": {"a": 1, "b": {"c": 2, "d": 3}}, "further": "key"}',
        '{ "further":"key","parameters" : {"b": {"d": 3,  "c": 2}, "a": 1},\n "name":"test_site" }',
    ),
    "characters": ('{"name": "test_site", "foo": "\\u00e9/"}', '{"name": "test_site", "foo": "é\\/"}'),
    "whole numbers": (
        '{"name": "test_site", "parameters": {"x": 1}, "foo": [0, 10, {"a": 100}]}',
        '{"name": "test_site", "parameters": {"x": 1.0}, "foo": [-0.0, 1e1, {"a": 100.00}]}',
    ),
    "broken numbers": ('{"name": "test_site", "foo": 0.5}', '{"name": "test_site", "foo": 5.0E-1}'),
}


def test_another_body_with_the_same_key_is_refused_and_another_spelling_is_none(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())

    @every_row({name: (name, *bodies) for name, bodies in OTHERS.items()})
    def refused(key: str, body: dict[str, Any], other: dict[str, Any]) -> None:
        first = keyed(site.admin, key, json.dumps(body))
        before = len(rows(engine, t.actions))
        answer = keyed(site.admin, key, json.dumps(other))
        assert (first.status_code, answer.status_code) == (201, 422)
        assert answer.json["message"] == "Idempotency-Key used before"
        assert first.json["id"] in answer.json["reason"]
        assert len(rows(engine, t.actions)) == before

    @every_row({name: (name, *bodies) for name, bodies in SPELLINGS.items()})
    def repeated(key: str, body: str, other: str) -> None:
        first, again = keyed(site.admin, key, body), keyed(site.admin, key, other)
        assert again.json == first.json
        assert again.headers["Idempotency-Replayed"] == "true"

    refused()
    repeated()


@pytest.mark.parametrize("name", ["deploy_site", "test_site"])
def test_of_ten_with_one_key_at_the_same_time_all_get_the_one_action(site: Site, engine: sa.Engine, name: str) -> None:
    """One of them is kept out by the site being busy, the other only by the key."""
    site.commit(*small_design())
    start = threading.Barrier(10)

    def send(_number: int) -> Result:
        start.wait()
        return keyed(site.admin, "k", json.dumps({"name": name}))

    with ThreadPoolExecutor(10) as threads:
        answers = list(threads.map(send, range(10)))

    assert {answer.status for answer in answers} == {falcon.HTTP_201}
    assert len({answer.json["id"] for answer in answers}) == 1
    assert len(rows(engine, t.actions)) == 1


# --- whose key it is ---


def namesake(site: Site) -> Caller:
    """Another token, of the same name and roles."""
    return Caller(site.admin.client.app, ApiTokens(site.store).create("ann", "admin")[1])


@pytest.fixture
def of_two_domains(site: Site, shared_url: str) -> Iterator[tuple[Caller, Caller]]:
    """Two users of a Keystone who have the same name, since they are of different domains."""
    with simulated_keystone.running() as keystone:
        tokens = [keystone.give("admin", "admin") for _ in range(2)]
        keystone.tokens[tokens[1]]["user"] |= {"id": "another", "domain": {"id": "other", "name": "Other"}}
        options = KeystoneOptions(
            auth_url=keystone.url,
            user=simulated_keystone.ACCOUNT,
            password=simulated_keystone.PASSWORD,
            project="service",
            connect_timeout_seconds=1,
        )
        identity = IdentityOptions(kind=IdentityKind.KEYSTONE, project="site")
        app = bootstrap.api(settings(shared_url, identity=identity, keystone=options))
        yield Caller(app, tokens[0]), Caller(app, tokens[1])


@pytest.fixture(params=["tokens of one name", "users of one name in two domains"])
def namesakes(request: pytest.FixtureRequest, site: Site) -> tuple[Caller, Caller]:
    if request.param == "tokens of one name":
        return site.admin, namesake(site)
    found: tuple[Caller, Caller] = request.getfixturevalue("of_two_domains")
    return found


def test_a_key_belongs_to_the_caller_and_not_to_all_of_that_name(
    site: Site, engine: sa.Engine, namesakes: tuple[Caller, Caller]
) -> None:
    site.commit(*small_design())
    one, other = namesakes
    body = '{"name": "test_site"}'

    first, second = keyed(one, "k", body), keyed(other, "k", body)

    assert (first.status, second.status) == (falcon.HTTP_201, falcon.HTTP_201)
    assert first.json["user"] == second.json["user"]
    assert first.json["id"] != second.json["id"]
    assert "Idempotency-Replayed" not in second.headers
    for caller, made in ((one, first), (other, second)):
        assert keyed(caller, "k", body).json["id"] == made.json["id"]
    assert len(rows(engine, t.actions)) == 2
    different = keyed(other, "k2", '{"name": "test_site", "parameters": {"release": "r"}}')
    told = keyed(one, "k2", body)
    assert (told.status, different.json["id"] in told.text) == (falcon.HTTP_201, False)


def test_a_token_that_takes_the_place_of_another_has_keys_of_its_own(site: Site) -> None:
    site.commit(*small_design())
    tokens = ApiTokens(site.store)
    (old,) = [token for token in tokens.all() if token.name == "ann"]
    made = keyed(site.admin, "k", '{"name": "test_site"}').json["id"]
    renewed = namesake(site)
    tokens.revoke(old.id)

    assert keyed(renewed, "k", '{"name": "test_site"}').json["id"] != made


def test_two_of_one_name_at_the_same_time_have_an_action_each(
    site: Site, engine: sa.Engine, namesakes: tuple[Caller, Caller]
) -> None:
    site.commit(*small_design())
    start = threading.Barrier(2)

    def send(caller: Caller) -> Result:
        start.wait()
        return keyed(caller, "k", '{"name": "test_site"}')

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(send, namesakes))

    assert {answer.status for answer in answers} == {falcon.HTTP_201}
    assert len({row.caller for row in rows(engine, t.actions)}) == 2
