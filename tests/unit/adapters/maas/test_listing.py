"""Which machines a poll asks MAAS for, and which decisions need no answer."""

from collections.abc import Collection, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shipyard_api.adapters.maas import listing
from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.maas.decisions import Kind, Status
from shipyard_api.adapters.maas.listing import MachineLister
from shipyard_api.adapters.maas.reconcile import Observation, ReconcilePass
from shipyard_api.adapters.maas.translate import MachineOptions
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import JobId, Operation, Work
from tests.unit.tables import every_row

PREPARE, DEPLOY, DESTROY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES
SHOWN = MachineOptions().shown
WAIT, DONE, START, FAIL = Kind.WAIT, Kind.DONE, Kind.START, Kind.FAIL


class Region:
    """Machines of a MAAS, and what was asked of it. ``old``: it does not know the filter of statuses."""

    def __init__(self, count: int, status: Status, *, old: bool = False) -> None:
        self.found = {f"n{at}": self.machine(f"n{at}", status) for at in range(count)}
        self.old = old
        self.named: list[list[str]] = []
        self.shown = self.asked_by_status = 0

    @staticmethod
    def machine(name: str, status: Status, **values: Any) -> dict[str, Any]:
        return {"system_id": f"id-{name}", "hostname": name, "status": int(status), "owner": "us"} | values

    def machines(self, hostnames: Collection[str]) -> Iterator[dict[str, Any]]:
        self.named.append(sorted(hostnames))
        for one in self.found.values():
            if one["hostname"] in hostnames:
                self.shown += 1
                yield one

    def machines_not_in(self, statuses: Iterable[str], system_ids: Collection[str]) -> Iterator[dict[str, Any]]:
        self.asked_by_status += 1
        excluded = set() if self.old else {Status[word.upper()] for word in statuses}
        for one in self.found.values():
            if one["system_id"] in system_ids and one["status"] not in excluded:
                self.shown += 1
                yield one


class Polls:
    """Polls of one worker, whose passes start nothing."""

    def __init__(self, region: Region, *, starts: int = 100, shown: int = SHOWN) -> None:
        self.region, self.options = region, MachineOptions(starts=starts)
        self.lister = MachineLister(cast(MaasClient, region), shown)

    def poll(self, operation: Operation = DEPLOY, nodes: Collection[str] | None = None) -> dict[NodeName, Observation]:
        """Poll a job with these nodes (all machines that were there first) and forget what was asked before."""
        self.region.named.clear()
        self.region.shown = 0
        names = tuple(map(NodeName, self.region.found if nodes is None else nodes))
        work = Work(operation, "revision:1", names)
        one_pass = ReconcilePass(cast(MaasClient, self.region), self.options, "us", JobId("job"), work)
        observed = one_pass.observe(self.lister.poll([one_pass]))
        self.lister.remember(one_pass, observed)
        return observed

    def kinds(self, operation: Operation = DEPLOY, nodes: Collection[str] | None = None) -> set[Kind]:
        return {one.decision.kind for one in self.poll(operation, nodes).values()}


@every_row([0, 1, SHOWN])
def test_few_machines_are_read_by_name_in_each_poll(count: int) -> None:
    region = Region(count, Status.DEPLOYING)
    polls = Polls(region)
    for _ in range(2):
        assert polls.kinds() == ({WAIT} if count else set())
        assert region.named == ([sorted(region.found)] if count else [])


def test_a_poll_of_many_machines_shows_no_more_than_one_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    region = Region(1000, Status.DEPLOYING)
    polls = Polls(region)
    for shown in (1000, SHOWN, SHOWN):
        assert polls.kinds() == {WAIT}
        assert region.shown == shown
    monkeypatch.setattr(listing, "LAPSE", 0.0)  # they were not polled for long
    assert polls.kinds() == {WAIT}
    assert region.shown == 1000


@every_row([False, True])
def test_changed_machines_are_seen_at_once(old: bool) -> None:
    region = Region(200, Status.DEPLOYING, old=old)
    polls = Polls(region)
    polls.poll()
    for name in ("n0", "n77", "n199"):
        region.found[name] = region.machine(name, Status.DEPLOYED)
    region.found["n5"] = region.machine("n5", Status.FAILED_DEPLOYMENT)
    seen = polls.poll()
    assert {node for node, one in seen.items() if one.decision.kind is DONE} == {"n0", "n77", "n199"}
    assert {node for node, one in seen.items() if one.decision.kind is FAIL} == {"n5"}
    assert old or region.shown <= SHOWN


def test_tests_are_a_part_of_commissioning() -> None:
    region = Region(200, Status.COMMISSIONING)
    polls = Polls(region)
    polls.poll(PREPARE)
    nodes = list(region.found)
    region.found = {name: region.machine(name, Status.TESTING) for name in nodes}
    assert polls.kinds(PREPARE) == {WAIT}
    assert region.shown == SHOWN


@every_row(
    {
        "vanished": lambda region: region.found.pop("n99"),
        "renamed": lambda region: region.found["n99"].update(hostname="other"),
        "taken": lambda region: region.found["n99"].update(owner="alice"),
        "one of two of its name": lambda region: region.found.update(
            twin=region.machine("n99", Status.DEPLOYED, system_id="id-twin")
        ),
    },
)
def test_what_no_status_shows_is_seen_after_a_turn_of_all_machines(change: Any) -> None:
    region = Region(100, Status.DEPLOYING)
    polls, nodes = Polls(region), list(region.found)
    polls.poll()
    change(region)
    seen = [polls.poll(nodes=nodes)[NodeName("n99")].decision.kind for _ in range(100 // SHOWN + 1)]
    assert seen[-1] is FAIL


def test_a_machine_that_changed_and_was_renamed_is_read_by_name() -> None:
    region = Region(100, Status.DEPLOYING)
    polls, nodes = Polls(region), list(region.found)
    polls.poll()
    region.found["n99"] = region.machine("n99", Status.DEPLOYED, hostname="other")
    assert polls.poll(nodes=nodes)[NodeName("n99")].decision.kind is FAIL


@every_row([(PREPARE, DONE), (DESTROY, START)])
def test_another_job_decides_from_machines_that_it_reads(operation: Operation, kind: Kind) -> None:
    region = Region(200, Status.DEPLOYING)
    polls = Polls(region, starts=1000)
    polls.poll(DEPLOY)
    assert polls.kinds(operation) == {kind}
    assert region.shown == 200


@every_row(
    [(Status.READY, 100, {START, WAIT}), (Status.DEPLOYED, 1000, {DONE}), (Status.NEW, 1000, {FAIL})],
)
def test_machines_are_read_until_a_pass_has_enough_to_start(status: Status, shown: int, kinds: set[Kind]) -> None:
    region = Region(1000, status)
    polls = Polls(region)
    assert polls.kinds() == kinds
    assert region.shown == shown


@every_row([(SHOWN, 0), (SHOWN + 1, 1)])
def test_only_many_machines_are_asked_for_by_status(count: int, asked: int) -> None:
    polls = Polls(Region(count, Status.DEPLOYING))
    polls.poll()
    polls.poll()
    assert polls.region.asked_by_status == asked


@every_row({"few shown": (4, 1), "an eighth": (40, 5), "an eighth, rounded down": (47, 5)})
def test_however_many_have_changed_some_others_are_read_by_name(shown: int, least: int) -> None:
    region = Region(200, Status.DEPLOYING)
    polls = Polls(region, shown=shown)
    polls.poll()
    for at in range(100):
        region.found[f"n{at}"]["status"] = int(Status.DEPLOYED)
    polls.poll()
    ((*named,),) = region.named
    assert len(named) == least
    assert {region.found[name]["status"] for name in named} == {Status.DEPLOYING}


def test_machines_that_are_waited_for_no_longer_are_read_by_name_within_the_same_number() -> None:
    region = Region(100, Status.DEPLOYING)
    polls = Polls(region)
    polls.poll()
    done = {f"n{at}" for at in range(30)}
    for name in done:
        region.found[name]["status"] = int(Status.DEPLOYED)
    polls.poll()
    for _ in range(2):
        polls.poll()
        ((*named,),) = region.named
        assert done <= set(named)
        assert region.shown == len(named) == SHOWN


@every_row({"in time": (listing.LAPSE - 1, SHOWN), "late": (listing.LAPSE, 200)})
def test_a_poll_that_is_not_late_keeps_what_is_remembered(pause: float, shown: int) -> None:
    clock = [1000.0]
    polls = Polls(Region(200, Status.DEPLOYING))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        polls.poll()
        for _ in range(3):
            clock[0] += pause
            polls.poll()
            assert polls.region.shown == shown


@every_row(
    {"all can be started": ((), 100), "one of the first cannot": (("n99",), 300), "a later one cannot": (("n5",), 100)}
)
def test_as_many_are_read_in_random_order_as_may_start(failing: tuple[str, ...], shown: int) -> None:
    region = Region(1000, Status.READY)
    for name in failing:
        region.found[name]["status"] = int(Status.NEW)
    one_pass = ReconcilePass(
        cast(MaasClient, region),
        MachineOptions(),
        "us",
        JobId("job"),
        Work(DEPLOY, "revision:1", tuple(map(NodeName, region.found))),
    )
    with pytest.MonkeyPatch.context() as patch:
        # Rather in a known order: from n999 back to n91, so that n99 is among the first and n5 is not.
        patch.setattr(listing, "random", SimpleNamespace(shuffle=list.reverse))
        found = MachineLister(cast(MaasClient, region), SHOWN).first(one_pass)
    assert region.named[0] == sorted(region.found)[-100:]
    assert (region.shown, len(found.machines), len(found.unread)) == (shown, shown, 1000 - shown)
