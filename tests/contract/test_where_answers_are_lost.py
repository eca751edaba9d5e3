"""Where may I lose an answer? The rules of the model's peer (``tests/model``), asked of each adapter.

A calm run through the life of a server shows the requests that an adapter makes. Then each of them breaks in a run of
its own: it is lost, its answer is lost, it arrives after its sender has given up and before the next poll, or a
listing is old. By the peer's own record, what was begun on the server must be what the calm run began.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import JobReport, JobState, Operation, Work
from tests.breaking_proxy import Breakage, BreakingProxy, Call, proxy
from tests.contract.provisioner_sites import SITES, Plot, Site, marker
from tests.waiting import until

LIFE = (Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES)
NODE = "n1"
ATTEMPTS = 5
TIME_SCALE = 0.0002  # a prepare takes 12 ms: nothing here depends on how long the server works
Breaks = Callable[[Call], Breakage | None]


@dataclass(frozen=True)
class Run:
    """What was begun on the server by the peer's record, which requests there were, and which broke."""

    record: list[str]
    calls: list[Call]
    broken: list[Call]


def live(kind: str, directory: Path, breaks: Breaks = lambda _: None) -> Run:
    """Prepare, deploy and destroy a server, with requests that break."""
    with ExitStack() as cleanup:
        wires: list[BreakingProxy] = []

        def through(url: str) -> str:
            wires.append(cleanup.enter_context(proxy(url, breaks)))
            return wires[-1].url + urlsplit(url).path

        site = SITES[kind](Plot(through=through, time_scale=TIME_SCALE), cleanup, directory)
        for operation in LIFE:
            report = carried_out(site, wires[0], site.work(operation, NODE))
            assert report.ok, f"{operation.value}: {report}"
        wires[0].deliver()
        return Run(site.record(NODE), wires[0].calls, wires[0].broken)


def carried_out(site: Site, wire: BreakingProxy, work: Work) -> JobReport:
    """Do the work as the engine does: after a request without an answer, wait, look, and only then send it again."""
    mine, began, job = marker(), datetime.now(UTC), None
    wire.answers.clear()  # a listing is never older than the one that showed the end of the work before
    for attempt in range(ATTEMPTS):
        try:
            if attempt or not site.provisioner.capabilities.marks:
                job = site.provisioner.find(mine, work, intended_at=began)
            job = job or site.provisioner.submit(mine, work)
            break
        except PeerError:
            wire.deliver()
    assert job is not None
    found = job
    wire.deliver()
    wire.answers.clear()  # what a peer lists once it has accepted work shows that
    reports: list[JobReport] = []

    def ended() -> bool:
        try:
            reports.append(site.provisioner.report(found, work))
        except PeerError:
            return False
        finally:
            wire.deliver()  # before the next poll
        return reports[-1].state in (JobState.ENDED, JobState.LOST)

    until(ended)
    return reports[-1]


def once(call: Call, breakage: Breakage) -> Breaks:
    """Break this request."""
    return lambda other: breakage if other == call else None


@pytest.fixture(scope="module", params=["drydock", "maas", "ironic"])
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture(scope="module")
def calm(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return live(kind, tmp_path_factory.mktemp(kind))


def writes(run: Run) -> Iterator[Call]:
    """Return the requests that write, up to the second of each kind."""
    return (call for call in run.calls if not call.kind.startswith("GET") and call.number <= 2)


@pytest.mark.parametrize(
    "breakage", [Breakage.REFUSED, Breakage.RESET, Breakage.LATE], ids=lambda breakage: breakage.value
)
def test_nothing_is_begun_twice_wherever_a_request_or_its_answer_is_lost(
    kind: str, calm: Run, breakage: Breakage, tmp_path: Path
) -> None:
    assert calm.record, "the peer has no record of what was begun"
    broken = 0
    for call in writes(calm):
        run = live(kind, tmp_path, once(call, breakage))
        broken += len(run.broken)
        assert run.record == calm.record, f"{call} is {breakage.value}"
    assert broken >= len(LIFE)


def test_nothing_is_begun_twice_by_listings_that_are_old(kind: str, calm: Run, tmp_path: Path) -> None:
    for listing in sorted({call.kind for call in calm.calls if call.kind.startswith("GET") and "*" not in call.kind}):

        def breaks(call: Call, kind: str = listing) -> Breakage | None:
            """Answer every second listing as the first one."""
            return Breakage.STALE if call.kind == kind and call.number % 2 == 0 else None

        run = live(kind, tmp_path, breaks)
        assert run.record == calm.record, f"{listing} is old"
