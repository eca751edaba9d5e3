"""A worker is killed between two calls of an adapter, and the peer ends every phase without any worker.

Judged by the peer's own log: no verb that must not be repeated was sent twice, and every job ended like the calm run's.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.http import HttpClient, Response
from shipyard_api.ports.provisioner import JobState, Marker, Operation, Work
from tests.breaking_proxy import kind_of
from tests.simulated_peers import PEERS, scenario
from tests.virtual_time import VirtualClock
from tests.world import KilledError

PREPARE, DEPLOY, DESTROY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES
REBUILD, SERVICE = Operation.REBUILD_NODES, Operation.SERVICE_NODES
POLL, AWAY = 15.0, 300.0  # seconds between two polls, and until the next worker has started
ENOUGH = 60  # polls of one job
NODES = {
    "n1": {"prepare": "ok"},
    "n2": {"prepare": "fail"},
    "n3": {"deploy": "fail"},
    "n4": {"service": "fail"},
}
# What fails is prepared again: that releases n3, and tries n2 a second time in a job of its own.
JOBS = {
    "maas": ((PREPARE, "n1 n2 n3 n4"), (DEPLOY, "n1 n3 n4"), (PREPARE, "n2 n3"), (DESTROY, "n1 n2 n3 n4")),
    "ironic": (
        *((PREPARE, "n1 n2 n3 n4"), (DEPLOY, "n1 n3 n4"), (PREPARE, "n3"), (REBUILD, "n1"), (SERVICE, "n1 n4")),
        (DESTROY, "n1 n3 n4"),
    ),
}
VERBS = ("op=commission", "op=deploy", "op=release", "provide", "active", "rebuild", "service", "deleted")
DURATIONS = {"prepare_nodes": 40, "test_machines": 5, "deploy_nodes": 40, "full_erase": 20}
# MAAS runs scripts as a commissioning of its own, before the deployment.
SCRIPTS = DeployStep(Interface.MANAGEMENT, "run_commissioning_scripts", {"commissioning_scripts": ["bios"]}, 200)
RESET = DeployStep(Interface.BIOS, "factory_reset", {}, 100)


@dataclass(frozen=True)
class Played:
    """The kinds of the calls, the phases that the peer began by its own log, and the outcome of every job."""

    calls: list[str]
    begun: Counter[tuple[str, str]]
    outcomes: list[tuple[Operation, JobState, Collection[NodeName]]]


def play(peer_name: str, monkeypatch: pytest.MonkeyPatch, killed_after: int | None = None) -> Played:
    """Do all jobs one after another; the worker is killed right after this call."""
    random.seed(0)  # the order in which machines are started
    clock = VirtualClock()
    peer = PEERS[peer_name](clock, scenario(NODES, DURATIONS), list(NODES))
    calls: list[str] = []
    send = HttpClient.send

    def sending(client: HttpClient, method: str, path: str, **options: Any) -> Response:
        answer = send(client, method, path, **options)
        calls.append(kind_of(method, path, b"" if options.get("json") is None else _target(options["json"])))
        if len(calls) - 1 == killed_after:
            raise KilledError
        return answer

    try:
        with monkeypatch.context() as patched:
            patched.setattr(HttpClient, "send", sending)
            outcomes = [
                _do(lambda: peer.provisioner(lambda _: Inventory.of(())), clock, *job) for job in _jobs(peer_name)
            ]
        return Played(calls, Counter((one.phase, one.node) for one in (*peer.begun(), *peer.destroyed())), outcomes)
    finally:
        peer.close()


def _jobs(peer_name: str) -> list[tuple[Marker, Work]]:
    numbers = count(1)
    with_steps = {("maas", DEPLOY): {NodeName("n1"): [SCRIPTS]}}
    with_steps["ironic", SERVICE] = {NodeName(name): [RESET] for name in ("n1", "n4")}

    def work(operation: Operation, names: str) -> Work:
        steps = with_steps.get((peer_name, operation), {})
        leaves = operation is DESTROY
        return Work(operation, "revision:1", tuple(map(NodeName, names.split())), steps=steps, leaves=leaves)

    return [(Marker(f"job-{next(numbers)}"), work(*job)) for job in JOBS[peer_name]]


def _target(body: Any) -> bytes:
    target = body.get("target") if isinstance(body, dict) else None
    return f'{{"target": "{target}"}}'.encode() if target else b""


def _do(
    new: Callable[[], Any], clock: VirtualClock, marker: Marker, work: Work
) -> tuple[Operation, JobState, Collection[NodeName]]:
    """Do one job as the engine does: look for the job of an intent without an outcome, and submit it only if lost."""
    adapter, job, intended_at, again = new(), None, clock.now(), False
    for _ in range(ENOUGH):
        try:
            if job is None:
                found = adapter.find(marker, work, intended_at=intended_at) if again else None
                job = found or adapter.submit(marker, work)
            report = adapter.report(job, work)
            if report.state in (JobState.ENDED, JobState.LOST):
                return work.operation, report.state, sorted(report.succeeded)
            clock.advance(POLL)
        except KilledError:
            again = True
            adapter = new()
            clock.advance(AWAY)
    raise AssertionError(f"{work} never ends")


@pytest.fixture(scope="module", params=JOBS)
def calm(request: pytest.FixtureRequest) -> tuple[str, Played]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return request.param, play(request.param, monkeypatch)


def test_in_the_calm_run_each_job_ends_and_each_kind_of_failure_occurs(calm: tuple[str, Played]) -> None:
    peer, played = calm
    assert {state for _, state, _ in played.outcomes} == {JobState.ENDED}
    succeeded = [(operation, " ".join(names)) for operation, _, names in played.outcomes]
    assert (
        succeeded
        == {
            "maas": [(PREPARE, "n1 n3 n4"), (DEPLOY, "n1 n4"), (PREPARE, "n3"), (DESTROY, "n1 n2 n3 n4")],
            "ironic": [
                *((PREPARE, "n1 n3 n4"), (DEPLOY, "n1 n4"), (PREPARE, "n3"), (REBUILD, "n1"), (SERVICE, "n1")),
                (DESTROY, "n1 n3 n4"),
            ],
        }[peer]
    )


@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.crash)], ids=["last of each verb", "every call"]
)
def test_killed_between_two_calls_no_verb_is_sent_twice(
    calm: tuple[str, Played], monkeypatch: pytest.MonkeyPatch, every: bool
) -> None:
    peer, expected = calm
    lasts = {kind: number for number, kind in enumerate(expected.calls) if kind.split()[-1] in VERBS}
    assert len(lasts) > 2
    for number in range(len(expected.calls)) if every else lasts.values():
        played = play(peer, monkeypatch, number)
        where = f"killed after call {number}, {expected.calls[number]}"
        assert played.begun - expected.begun == Counter(), where
        assert played.outcomes == expected.outcomes, where
