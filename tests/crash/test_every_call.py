"""deploy_site through each real adapter, with each of its calls broken once on the wire: nothing comes of it.

A calm run tells which requests there are. Then each of them breaks, in each way in which a request can break, in a run
of its own, which has to end as the calm one did, with no node prepared or deployed twice by the peer's own log.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.breaking_proxy import ON_THE_WIRE, Breakage, Call, proxy
from tests.simulated_peers import PEERS, Begun, scenario
from tests.simulated_world import SimulatedWorld, Site

SLICES = 4

# Seconds of the wall clock. A simulator answers within some milliseconds, on a machine that is busy perhaps in a
# second; what is lost costs a test as long as it waits. A run in which nothing is lost is the same however long.
PATIENCE = 20.0
PATIENCE_WITH_WHAT_IS_LOST = 1.0

# Two polls of the worker see the end of a phase, so that a run has few calls, and of each kind a first and a last one.
SITE = Site(
    nodes={f"n{number}": {"rack": "r1" if number < 4 else "r2"} for number in range(6)},
    scenario=scenario(
        {"n1": {"prepare": "fail", "reason": "no PXE boot"}, "n4": {"deploy": "never"}},
        {"verify_nodes": 5, "prepare_nodes": 20, "test_machines": 5, "deploy_nodes": 20},
    ),
    provisioner={"deploy_timeout": 80},
)

N5 = {"drydock": ("failure", "timeout")}  # it tells of no node before the task ends, and this one never does


each_breakage = pytest.mark.parametrize("breakage", ON_THE_WIRE, ids=lambda one: one.value.replace(" ", "-"))


@dataclass(frozen=True)
class Run:
    """How a run ended, by our database and by the peer's log, and which calls were made in it."""

    peer: str
    ending: Any
    begun: list[Begun]
    calls: list[Call]
    broken: list[Call]
    journal: str

    @property
    def twice(self) -> dict[tuple[str, str], list[str]]:
        """Every phase that was begun more than once on a node, with the peer's times."""
        times: dict[tuple[str, str], list[str]] = {}
        for one in self.begun:
            times.setdefault((one.phase, one.node), []).append(f"{one.at:%H:%M:%S}")
        return {what: at for what, at in times.items() if len(at) > 1}


def run(
    url: str, peer: str, breaks: Callable[[Call], Breakage | None] = lambda _: None, patience: float = PATIENCE
) -> Run:
    """Deploy the site, with a request that breaks."""
    world = SimulatedWorld.in_emptied(url, site=SITE, make_peer=partial(PEERS[peer], patience=patience))
    try:
        with proxy(world.peer.url, breaks) as between:
            world.front = between.url
            world.run(world.worker())
            return Run(peer, world.ending(), world.peer.begun(), between.calls, between.broken, world.told())
    finally:
        world.close()


def test_the_calm_run_is_what_the_design_says(calm: Run) -> None:
    state, steps, groups, nodes = calm.ending
    assert state == "success", calm.journal
    assert set(steps.values()) == {"success"}
    assert groups == {
        "first": ("success", None),
        "second": ("failed", "timeout"),
        "third": ("failed", "dependency"),
        "empty": ("success", None),
    }
    assert nodes == {
        "n0": ("success", None),
        "n1": ("failure", "prepare"),
        "n2": ("success", None),
        "n3": ("success", None),
        "n4": ("failure", "timeout"),
        "n5": N5.get(calm.peer, ("success", None)),
    }
    assert sorted((one.phase, one.node) for one in calm.begun) == [
        *(("deploy", node) for node in ("n0", "n2", "n3", "n4", "n5")),
        *(("prepare", node) for node in sorted(SITE.nodes)),
    ]


@pytest.fixture(scope="module", params=PEERS)
def calm(request: pytest.FixtureRequest, module_database_url: str) -> Run:
    return run(module_database_url, request.param)


# The first ones break in each way, but for what a peer may answer to nobody: that is the same code for each of them.
# The last ones find another state, and break in the way that has most to lose: the peer has done the work, and its
# answer is cut. Those that read have a run of their own: a write that breaks changes how often is read.
SAMPLES = {
    "drydock": [("first", Breakage.LOST), ("last that writes", Breakage.RESET)],
    "maas": [("first", Breakage.REFUSED), ("last that writes", Breakage.RESET)],
    "ironic": [("first", Breakage.RESET), ("last that writes", Breakage.RESET), ("last that reads", Breakage.RESET)],
}


def test_the_first_or_last_call_of_every_kind_breaks_in_one_run_and_it_ends_like_the_calm_one(
    module_database_url: str, calm: Run
) -> None:
    """One run breaks what ``./dev crash`` breaks in a run each."""
    firsts = {call for call in calm.calls if call.number == 1}
    lasts = set({call.kind: call for call in calm.calls}.values())
    reading = {call for call in lasts if call.kind.startswith("GET ")}
    chosen = {"first": firsts, "last that reads": reading, "last that writes": lasts - reading}
    for which, breakage in SAMPLES[calm.peer]:
        check(module_database_url, breakage, chosen[which], calm)


@pytest.mark.crash
@pytest.mark.parametrize("slice_", range(SLICES), ids=lambda number: f"slice-{number}")
@each_breakage
def test_whichever_call_breaks_once_it_ends_like_the_calm_run(
    module_database_url: str, calm: Run, breakage: Breakage, slice_: int
) -> None:
    for call in calm.calls[slice_::SLICES]:
        check(module_database_url, breakage, {call}, calm)


def check(url: str, breakage: Breakage, calls: Collection[Call], calm: Run) -> None:
    patience = PATIENCE_WITH_WHAT_IS_LOST if breakage is Breakage.LOST else PATIENCE
    found = run(url, calm.peer, lambda one: breakage if one in calls else None, patience)
    what = f"{', '.join(map(str, calls))} broke ({breakage.value}) between Shipyard and {calm.peer}"
    assert set(found.broken) == calls, f"{what}: not all were made"
    assert found.ending == calm.ending, f"{what}: it ended otherwise\n{found.journal}"
    assert found.twice == {}, f"{what}: nodes were worked on twice\n{found.journal}"
    assert {(one.phase, one.node) for one in found.begun} == {(one.phase, one.node) for one in calm.begun}, what
