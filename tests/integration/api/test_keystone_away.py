"""A Keystone that accepts connections and answers nothing, behind the API as gunicorn serves it, with eight threads."""

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from tests import simulated_keystone
from tests.integration.api.served import Answer, Server, gunicorn

pytest.importorskip("webob", reason="the extra keystone is not installed")


@pytest.fixture(scope="module")
def keystone() -> Iterator[simulated_keystone.Keystone]:
    with simulated_keystone.running() as running:
        yield running


@pytest.fixture(scope="module")
def server(module_database_url: str, keystone: simulated_keystone.Keystone) -> Iterator[Server]:
    known = keystone.give("ann", "admin", seconds=3600)
    with gunicorn(
        module_database_url,
        known,
        SHIPYARD_IDENTITY_KIND="keystone",
        SHIPYARD_IDENTITY_KEYSTONE_CACHE_SECONDS="3600",
        SHIPYARD_IDENTITY_KEYSTONE_ANSWER_SECONDS="60",
        SHIPYARD_KEYSTONE_AUTH_URL=keystone.url,
        SHIPYARD_KEYSTONE_USER=simulated_keystone.ACCOUNT,
        SHIPYARD_KEYSTONE_PASSWORD=simulated_keystone.PASSWORD,
        SHIPYARD_KEYSTONE_PROJECT="service",
    ) as running:
        yield running


def see(server: Server, token: str) -> Answer:
    [answer] = server.send(server.request("GET /api/v1.0/actions", f"X-Auth-Token: {token}\r\n", token=False))
    return answer


def test_strangers_hold_up_nobody_who_is_known(server: Server, keystone: simulated_keystone.Keystone) -> None:
    assert see(server, server.token).code == 200

    with ThreadPoolExecutor(24) as threads, keystone.silent():
        asked = len(keystone.asked)
        strangers = [threads.submit(see, server, uuid.uuid4().hex) for _ in range(24)]
        while len(keystone.asked) < asked + 6:
            time.sleep(0.01)
        while sum(one.done() for one in strangers) < 18:
            time.sleep(0.01)
        refused, waiting = wait(strangers, timeout=0)
        for _ in range(20):
            assert see(server, server.token).code == 200
        assert not any(one.done() for one in waiting)
    for one in refused:
        answer = one.result()
        assert (answer.code, answer.headers["retry-after"]) == (503, "1")
        assert answer.status["message"] == "Keystone does not answer as it should"
        assert answer.status["retry"] is True
    assert {one.result().code for one in waiting} == {503}
    assert see(server, keystone.give("bob", "admin")).code == 200
