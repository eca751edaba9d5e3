"""Late nodes before simulated provisioners: shown, done to once, and never judged, by the peers' own logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from shipyard_api.domain.actions import RunState
from tests.combinations.site import NODES
from tests.integration.test_policy_on_simulators import DONE, PolicySite
from tests.simulated_peers import PEERS

SLOW, USUAL = 1500, 600
# Drydock deploys the nodes of a task step by step, and is done with all of them at its end.
LATE = {"drydock": list(NODES), "maas": ["n1"], "ironic": ["n1"]}
WHOLE = ["prepare n1 n2 n3", "deploy n1 n2 n3"]


def policy(on_late: str) -> dict[str, Any]:
    return {"late": {"durations": {"prepare": SLOW, "deploy": USUAL}, "on_late": on_late}}


class LateSite(PolicySite):
    """n1 is slow to deploy, and ends well."""

    def late(self) -> dict[str, Any]:
        """Return since when which nodes are late."""
        return {one["name"]: one["late"] for one in self._rows() if one["late"]}

    def begin_slowly(self) -> None:
        """Begin, with n1 slow, and go on until it is late."""
        self.begin()
        self.play({"n1": {"deploy": "slow", "seconds": SLOW}})
        self.turns(lambda: bool(self.late()))


@pytest.fixture
def site(request: pytest.FixtureRequest, module_database_url: str) -> Iterator[LateSite]:
    with closing(LateSite(module_database_url, *request.param)) as found:
        yield found


@pytest.mark.parametrize("site", [(peer, policy("nothing")) for peer in PEERS], ids=PEERS, indirect=True)
def test_a_late_node_is_shown_and_its_work_goes_on(site: LateSite) -> None:
    site.begin_slowly()

    late = LATE[str(site.row["provisioner"])]
    assert {node: one["usual_seconds"] for node, one in site.late().items()} == dict.fromkeys(late, USUAL)
    assert f"running, late: {' '.join(late)}" in site.waits_for()
    assert site.get("/nodes/n1")["late"] == site.late()["n1"]
    assert site.store.read(lambda tx: tx.measures.counts()).late == len(late)
    site.run()

    assert (site.state(), site.nodes(), site.late()) == (RunState.SUCCESS, dict.fromkeys(NODES, DONE), {})
    assert site.sent() == WHOLE, site.journal()
    assert site.journal().count("deploy: late after") == 1
    assert site.get("/holds")["holds"] == []


@pytest.mark.parametrize("site", [("ironic", policy("power_cycle"))], ids=["ironic"], indirect=True)
def test_a_late_node_is_power_cycled_once_by_the_log_of_ironic(site: LateSite) -> None:
    site.begin_slowly()
    site.run()

    assert [(one["node"], one["verb"]) for one in site.peer.events() if one["event"] == "power"] == [
        ("n1", "rebooting")
    ]
    assert (site.state(), site.nodes()) == (RunState.SUCCESS, dict.fromkeys(NODES, DONE))
    assert site.sent() == WHOLE, site.journal()
    assert site.journal().count("node n1, late in deploy: once; its phase goes on") == 1


@pytest.mark.parametrize("site", [("maas", policy("hold"))], ids=["maas"], indirect=True)
def test_a_late_node_is_held_and_its_work_goes_on(site: LateSite) -> None:
    site.begin_slowly()
    site.run()

    assert [(one["node"], one["kind"]) for one in site.get("/holds")["holds"]] == [("n1", "late")]
    assert (site.state(), site.nodes()) == (RunState.SUCCESS, dict.fromkeys(NODES, DONE))
    assert site.sent() == WHOLE


@pytest.mark.parametrize("peer", ["drydock", "maas"])
def test_a_power_cycle_that_the_provisioner_cannot_do_is_refused_at_commit(module_database_url: str, peer: str) -> None:
    with closing(LateSite(module_database_url, peer, policy("power_cycle"))) as site:
        with pytest.raises(AssertionError, match="PolicyPowerCycleImpossible"):
            site.begin()
        assert site.peer.begun() == []
