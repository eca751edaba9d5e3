"""The log of a step as text: contract shipyard-rest, 7.4, row by row, and what is in it."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import create_scope

from shipyard_api.api.mount import Mount
from shipyard_api.domain.actions import ActionId, StepId, StepState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.jobs import JobStarted
from shipyard_api.domain.facts.steps import AttemptFailed
from shipyard_api.domain.findings import Finding, Level
from shipyard_api.storage import tables as t
from shipyard_api.storage.journal import Journal
from shipyard_api.usecases.tokens import ApiTokens
from tests.integration.api.recorded import statements
from tests.integration.api.wire import V1, Site, kept, small_design

if TYPE_CHECKING:
    from shipyard_api.storage.unit_of_work import Store

ALONE = StepId("dag_concurrency_check")
PREFLIGHT = StepId("preflight.ucp_preflight_check")
VERIFY = StepId("drydock_build.verify_site")
WORKER = "worker-0:4711"
BEGUN = datetime(2026, 11, 21, 1, 24, 40, 102_000, tzinfo=UTC)


def run(store: "Store", action: str, facts: dict[StepId, tuple[Fact, ...]]) -> None:
    """Let the engine run the steps up to the last of these, each with its facts, a second apart."""
    moment = datetime.now(UTC) + timedelta(seconds=1)
    left = dict(facts)
    while left:
        with store.begin() as tx:
            claim = tx.turns.claim(ActionId(action), now=moment, worker=WORKER)
            assert claim is not None
            tx.turns.start_step(claim, {"v": 1}, now=BEGUN)
            told = left.pop(claim.step, ()) if claim.step else ()
            for second, fact in enumerate(told, start=1):
                tx.turns.record(claim, {"v": 1}, (fact,), now=BEGUN + timedelta(seconds=second), wake_at=None)
            end = BEGUN + timedelta(seconds=len(told) + 1)
            tx.turns.end_step(claim, StepState.SUCCESS, f"{claim.step} is done", (), now=end)
            tx.turns.sleep(claim, until=moment)


@kept
def action(site: Site) -> str:
    """An action whose provisioner was away at first, and that has verified the site."""
    site.commit(*small_design())
    action = site.create_action()
    away = "Drydock GET /health: answered 503"
    run(
        site.store,
        action,
        {
            PREFLIGHT: (
                AttemptFailed(1, away, 10.0),
                AttemptFailed(2, "Drydock GET /health:\nno connection", 10.0),
                FindingReported(Finding("ProvisionerHealthy", Level.INFO, "Drydock is healthy")),
            ),
            VERIFY: (JobStarted("verify_site", "job-0"),),
        },
    )
    return action


def log(site: Site, action: str, step: str, **params: Any) -> list[str]:
    answer = site.viewer.get(f"/actions/{action}/steps/{step}/logs", **params)
    assert answer.status == falcon.HTTP_200, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.text == "" or answer.text.endswith("\n")
    return answer.text.splitlines()


FIRST = [
    "2026-11-21T01:24:40.102Z step started     by worker-0:4711",
    "2026-11-21T01:24:41.102Z attempt failed   attempt 1: Drydock GET /health: answered 503; asking again in 10 s",
]
SECOND = [
    "2026-11-21T01:24:42.102Z attempt failed   attempt 2: Drydock GET /health:\\nno connection; asking again in 10 s",
]
THIRD = [
    "2026-11-21T01:24:43.102Z finding          Info ProvisionerHealthy: Drydock is healthy",
    f"2026-11-21T01:24:44.102Z step ended       success; {PREFLIGHT} is done",
]


def test_every_attempt_at_a_step_has_its_log(site: Site, engine: sa.Engine, action: str) -> None:
    """The latest if nothing else is said; the bare id of a group of steps stands for them."""
    for params, expected in (
        *(({}, THIRD), ({"try": ""}, THIRD), ({"try": "1"}, FIRST), ({"try": "+02", "verbosity": "0"}, SECOND)),
        ({"try": "3"}, THIRD),
    ):
        for step in (PREFLIGHT, "preflight"):
            assert log(site, action, step, **params) == expected, params
    assert log(site, action, "drydock_build")[1].endswith("job started      verify_site: job job-0")
    assert log(site, action, "create_action_tag") == log(site, action, "create_action_tag", **{"try": "1"}) == []
    steps = (ALONE, PREFLIGHT, VERIFY, "preflight")
    described = {step: site.viewer.get(f"/actions/{action}/steps/{step}").json for step in steps}
    assert [one["try_number"] for one in described.values()] == [1, 3, 1, 3]
    assert {(one["hostname"], one["pid"]) for one in described.values()} == {("worker-0", 4711)}
    # An attempt that is no integer is found before the action.
    wrong = site.viewer.get(f"/actions/x/steps/{PREFLIGHT}/logs", **{"try": "x"})
    assert wrong.json["message"] == 'The "try" parameter is invalid. The value must be an integer.'
    with engine.begin() as connection:
        connection.execute(t.steps.delete().where(t.steps.c.action_id == action))
    lost = site.viewer.get(f"/actions/{action}/steps/{PREFLIGHT}/logs")
    told = (lost.status, lost.json["message"], lost.json["reason"])
    assert told == (falcon.HTTP_404, "Steps Not Found!", "Unable to retrieve Information on Steps")


# What a site of ten thousand nodes leaves behind, many times over: 60 lines that name all of them.
LINES = 60
NODES = [f"node-{number:05}" for number in range(10_000)]


def begun(site: Site) -> str:
    site.commit(*small_design())
    action = site.create_action()
    run(site.store, action, {VERIFY: ()})
    return action


@pytest.fixture
def large(site: Site, engine: sa.Engine) -> str:
    action = site.kept(begun)
    facts = {"group": "a", "phase": "prepare", "batch": 1, "job": "job-1", "nodes": NODES}
    line = {"action_id": action, "epoch": 1, "step_id": VERIFY, "kind": "phase_started", "at": BEGUN, "worker": WORKER}
    with engine.begin() as connection:
        connection.execute(t.journal.insert(), [{**line, "facts": facts} for _ in range(LINES)])
    return action


class Reader:
    """A server that takes the answer piece by piece, and is told to go on by the test."""

    def __init__(self, site: Site, app: Mount, path: str) -> None:
        secret = ApiTokens(site.store).create("reader", "viewer")[1]
        self._scope = create_scope(path=f"{V1}{path}", headers={"X-Auth-Token": secret})
        self._app = app
        self._loop = asyncio.new_event_loop()
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue()
        self._taken = asyncio.Semaphore(0)
        self._begun = False
        self._task = self._loop.create_task(self._ask())

    async def _ask(self) -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                assert message["status"] == 200
                assert b"content-length" not in dict(message["headers"])
            elif message.get("body"):
                await self._pieces.put(message["body"])
                await self._taken.acquire()

        await self._app(self._scope, receive, send)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._begun:
            self._taken.release()
        self._begun = True

        async def piece() -> bytes | None:
            wanted = asyncio.ensure_future(self._pieces.get())
            await asyncio.wait([wanted, self._task], return_when=asyncio.FIRST_COMPLETED)
            if wanted.done():
                return wanted.result()
            wanted.cancel()
            self._task.result()
            return None

        found = self._loop.run_until_complete(piece())
        if found is None:
            raise StopIteration
        return found

    def close(self) -> None:
        """Hang up."""
        if not self._loop.is_closed():
            self._task.cancel()
            self._loop.run_until_complete(asyncio.wait([self._task]))
            self._loop.close()


Ask = Callable[[str], Reader]


@pytest.fixture
def ask(site: Site, app: Mount) -> Iterator[Ask]:
    readers: list[Reader] = []

    def asked(path: str) -> Reader:
        readers.append(Reader(site, app, path))
        return readers[-1]

    yield asked
    for reader in readers:
        reader.close()


def test_a_large_log_is_sent_while_it_is_read(ask: Ask, large: str) -> None:
    body = ask(f"/actions/{large}/steps/{VERIFY}/logs")
    gc.collect()
    tracemalloc.start()
    try:
        size = sum(map(len, body))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert size > LINES * sum(map(len, NODES))
    assert peak < size


def test_a_page_is_asked_for_when_it_is_wanted_and_a_reader_that_goes_away_leaves_nothing_open(
    ask: Ask, large: str
) -> None:
    lent: list[int] = []
    out, back = (lambda *_: lent.append(1)), (lambda *_: lent.append(-1))
    sa.event.listen(sa.pool.Pool, "checkout", out)
    sa.event.listen(sa.pool.Pool, "checkin", back)
    try:
        with statements() as sent:
            body = ask(f"/actions/{large}/steps/{VERIFY}/logs")
            first = next(body)
        held = sum(lent)
        body.close()
    finally:
        sa.event.remove(sa.pool.Pool, "checkout", out)
        sa.event.remove(sa.pool.Pool, "checkin", back)

    assert first.count(b"\n") < LINES / 4
    assert len([one for one in sent if "pg_column_size" in one]) == 1
    assert len(lent) > 2
    assert held == sum(lent) == 0


def test_a_database_that_goes_away_between_two_pages_breaks_the_answer_off(
    ask: Ask, large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = ask(f"/actions/{large}/steps/{VERIFY}/logs")
    next(body)

    def gone(*_: Any, **__: Any) -> None:
        raise sa.exc.OperationalError("", {}, Exception("server closed the connection"))

    monkeypatch.setattr(Journal, "step_entries", gone)
    with pytest.raises(Exception, match="server closed"):
        next(body)
