"""One token for everybody: kept while it is good, asked for once by many, renewed when it is turned down."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from shipyard_api.adapters.keystone.client import Grant
from shipyard_api.adapters.keystone.tokens import LONGEST_MARGIN, Tokens
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from tests.waiting import PATIENCE

HOUR = 3600.0
CROWD = 8


class Source:
    """A Keystone's client that gives t1, t2 …, or the trouble that is told; ``meanwhile`` is done before it answers."""

    def __init__(self, lifetime: float = HOUR) -> None:
        self.lifetime = lifetime
        self.asked = 0
        self.closed = False
        self.troubles: list[PeerError] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def close(self) -> None:
        self.closed = True

    def grant(self) -> Grant:
        self.asked += 1
        self.meanwhile()
        if self.troubles:
            raise self.troubles.pop(0)
        return Grant(f"t{self.asked}", self.lifetime, access=None)  # type: ignore[arg-type]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(source: Source, clock: Clock) -> Tokens:
    return Tokens(source, monotonic=clock)  # type: ignore[arg-type]


def crowd(source: Source, ask: Callable[[], str]) -> list[Any]:
    """Ask with several threads, of which all but one come while the first one's answer is on its way."""
    arrived = threading.Semaphore(0)

    def others_wait() -> None:
        source.meanwhile = lambda: None
        for _ in range(CROWD):
            assert arrived.acquire(timeout=PATIENCE)

    def asking() -> object:
        arrived.release()
        try:
            return ask()
        except PeerError as error:
            return str(error)

    source.meanwhile = others_wait
    with ThreadPoolExecutor(CROWD) as pool:
        return [one.result() for one in [pool.submit(asking) for _ in range(CROWD)]]


def test_a_token_is_used_until_shortly_before_its_end(source: Source, clock: Clock) -> None:
    # A minute early, or a quarter of a short life; the time that Keystone takes to answer counts.
    for lifetime, answer_after, used in (
        (HOUR, 0, HOUR - LONGEST_MARGIN),
        (20.0, 0, 15.0),
        (HOUR, 100, HOUR - LONGEST_MARGIN - 100),
    ):

        def slowly(seconds: float = answer_after) -> None:
            clock.now += seconds

        source.lifetime, source.meanwhile, source.asked = lifetime, slowly, 0
        tokens = Tokens(source, monotonic=clock)  # type: ignore[arg-type]
        assert source.asked == 0
        assert tokens.token() == "t1"
        clock.now += used - 0.001
        assert tokens.token() == "t1"
        clock.now += 0.001
        assert tokens.token() == "t2"


def test_many_threads_get_one_token(tokens: Tokens, source: Source) -> None:
    assert crowd(source, tokens.token) == ["t1"] * CROWD
    assert source.asked == 1


def test_many_threads_share_the_trouble_that_one_met(tokens: Tokens, source: Source) -> None:
    source.troubles = [Unavailable("Keystone", "POST /auth/tokens", "down") for _ in range(CROWD)]
    assert crowd(source, tokens.token) == ["Keystone POST /auth/tokens: down"] * CROWD
    assert source.asked < CROWD  # once, but for a thread that was held up and came when it was over


def test_trouble_is_not_kept(tokens: Tokens, source: Source) -> None:
    source.troubles = [Refused("Keystone", "POST /auth/tokens", "no"), Unavailable("Keystone", "POST", "down")]
    for kind in (Refused, Unavailable):
        with pytest.raises(kind):
            tokens.token()
    assert tokens.token() == "t3"


def test_a_token_that_was_turned_down_is_replaced_and_never_used_again(tokens: Tokens, source: Source) -> None:
    assert tokens.token() == "t1"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(tokens.renew).result()  # a thread that was given nothing takes nothing away
    assert tokens.token() == "t1"
    tokens.renew()
    assert [tokens.token(), tokens.token()] == ["t2", "t2"]
    tokens.renew()
    source.troubles = [Refused("Keystone", "POST /auth/tokens", "no")]
    with pytest.raises(Refused):
        tokens.token()
    assert tokens.token() == "t4"


def test_the_connections_are_closed_with_the_tokens(tokens: Tokens, source: Source) -> None:
    tokens.token()
    assert not source.closed
    tokens.close()
    assert source.closed


def test_a_token_that_many_threads_see_turned_down_is_replaced_once(tokens: Tokens, source: Source) -> None:
    together = threading.Barrier(CROWD)

    def turned_down() -> str:
        tokens.token()
        together.wait(timeout=PATIENCE)
        tokens.renew()
        return tokens.token()

    with ThreadPoolExecutor(CROWD) as pool:
        answers = [one.result() for one in [pool.submit(turned_down) for _ in range(CROWD)]]
    assert answers == ["t2"] * CROWD
    assert source.asked == 2


def test_an_address_is_that_of_the_catalog_of_the_current_token(tokens: Tokens, source: Source) -> None:
    grant = SimpleNamespace(lifetime=HOUR, endpoint=lambda *asked, **further: (asked, further))
    source.grant = lambda: grant  # type: ignore[assignment, method-assign, return-value]
    asked = {"interface": "internal", "region": "r1"}
    found: Any = tokens.endpoint("baremetal", **asked)
    assert found == (("baremetal",), asked)
