"""Late nodes before simulated provisioners: shown, done to once, and never judged, by the peers' own logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from shipyard_api.domain.actions import RunState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Operation, Work
from tests.combinations.site import NODES
from tests.integration.test_policy_on_simulators import DONE, PolicySite
from tests.world import SETTLE

SLOW, USUAL, LIMIT = 600, 150, 900
# Drydock deploys the nodes of a task step by step, and is done with all of them at its end.
LATE = {"drydock": list(NODES), "maas": ["n1"], "ironic": ["n1"]}
WHOLE = ["prepare n1 n2 n3", "deploy n1 n2 n3"]


def policy(on_late: str, phase: str = "deploy") -> dict[str, Any]:
    return {"late": {"durations": {"prepare": SLOW, "deploy": SLOW} | {phase: USUAL}, "on_late": on_late}}


class LateSite(PolicySite):
    """n1 is slow to deploy, and ends well."""

    def section(self) -> dict[str, Any]:
        """Return the section of the provisioner in the deployment configuration."""
        return {"policy": self.policy, "deploy_timeout": LIMIT}

    def late(self) -> dict[str, Any]:
        """Return since when which nodes are late."""
        return {one["name"]: one["late"] for one in self._rows() if one["late"]}

    def begin_slowly(self, *nodes: str, phase: str = "deploy") -> None:
        """Begin, with n1 or these nodes slow, and go on until one is late."""
        self.begin()
        self.play({node: {phase: "slow", "seconds": SLOW} for node in nodes or ("n1",)})
        self.turns(lambda: bool(self.late()))

    def phases(self, phase: str) -> Sequence[dict[str, Any]]:
        """Return the moves of a phase."""
        groups = self.get(f"/actions/{self.action}/groups")["groups"]
        return [one for group in groups for one in group["phases"] if one["phase"] == phase]

    def begun(self) -> Counter[tuple[str, str]]:
        """Return how often the peer began each phase with each node, by its own log."""
        return Counter((one.phase, one.node) for one in self.peer.begun())


@pytest.fixture
def site(request: pytest.FixtureRequest, module_database_url: str) -> Iterator[LateSite]:
    with closing(LateSite(module_database_url, *request.param)) as found:
        yield found


RECOVERIES = {"drydock": "nothing", "maas": "hold", "ironic": "power_cycle"}


@pytest.mark.parametrize("site", [(peer, policy(on_late)) for peer, on_late in RECOVERIES.items()], indirect=True)
def test_a_late_node_is_shown_and_its_work_goes_on(site: LateSite) -> None:
    site.begin_slowly()

    peer = str(site.row["provisioner"])
    late = LATE[peer]
    assert {node: one["usual_seconds"] for node, one in site.late().items()} == dict.fromkeys(late, USUAL)
    assert f"running, late: {' '.join(late)}" in site.waits_for()
    assert site.get("/nodes/n1")["late"] == site.late()["n1"]
    assert site.store.read(lambda tx: tx.measures.counts()).late == len(late)
    site.run()

    assert (site.state(), site.nodes(), site.late()) == (RunState.SUCCESS, dict.fromkeys(NODES, DONE), {})
    assert site.sent() == WHOLE, site.journal()
    assert site.journal().count("deploy: late after") == 1
    held = [(one["node"], one["kind"]) for one in site.get("/holds")["holds"]]
    assert held == ([("n1", "late")] if peer == "maas" else [])
    if peer == "ironic":
        powered = [(one["node"], one["verb"]) for one in site.peer.events() if one["event"] == "power"]
        assert powered == [("n1", "rebooting")]
        assert site.journal().count("node n1, late in deploy: once; its phase goes on") == 1


ONCE = Counter((phase, node) for phase in ("prepare", "deploy") for node in NODES)
ENDS = {
    "it fails": ({"deploy": "fail", "reason": "a burnt disk"}, ("failure", "deploy")),
    "it hangs": ({"agent": "never"}, ("failure", "timeout")),
}


@pytest.mark.parametrize("site", [("ironic", policy("retry"))], ids=["ironic"], indirect=True)
@pytest.mark.parametrize(("fate", "status"), ENDS.values(), ids=ENDS)
def test_a_late_deployment_is_begun_once_more_and_its_end_counts(
    site: LateSite, fate: dict[str, Any], status: tuple[str, str | None]
) -> None:
    site.begin_slowly()
    site.play({"n1": fate})
    site.run()

    assert site.begun() == ONCE + Counter({("deploy", "n1"): 1}), site.journal()
    assert site.nodes() == {**dict.fromkeys(NODES, DONE), "n1": status}
    assert site.journal().count("node n1, late in deploy: once; the time limit of its phase stays") == 1
    if fate.get("reason"):
        assert "a burnt disk" in site.get("/nodes/n1")["detail"]


@pytest.mark.parametrize("site", [("ironic", policy("retry", "prepare"))], ids=["ironic"], indirect=True)
def test_two_late_preparations_are_begun_once_more_each(site: LateSite) -> None:
    site.begin_slowly("n1", "n3", phase="prepare")
    site.play({})
    site.run()

    assert site.begun() == ONCE + Counter({("prepare", "n1"): 1, ("prepare", "n3"): 1}), site.journal()
    assert (site.state(), site.nodes()) == (RunState.SUCCESS, dict.fromkeys(NODES, DONE))


@pytest.mark.parametrize("site", [("ironic", policy("retry"))], ids=["ironic"], indirect=True)
def test_a_node_is_not_begun_a_third_time_for_an_action_that_has_forgotten_the_second(site: LateSite) -> None:
    site.begin_slowly()
    site.play({"n1": {"agent": "never"}})
    site.turns(lambda: site.begun()["deploy", "n1"] == 2)
    (row,) = site.phases("deploy")
    work = Work(Operation.DEPLOY_NODES, "revision:1", (NodeName("n1"),), again=frozenset({NodeName("n1")}))
    for _ in range(3):
        site.clock.advance(60)
        assert not site.made.provisioner.report(row["job"], work).failed
    site.play({"n1": {"deploy": "ok"}})
    site.run()

    assert site.begun()["deploy", "n1"] == 2
    assert site.nodes()["n1"] == ("failure", "timeout")


class Killed(BaseException):
    """The worker has died."""


@pytest.mark.parametrize("site", [("ironic", policy("retry"))], ids=["ironic"], indirect=True)
@pytest.mark.parametrize(("request_", "moment"), [("abort", "after"), ("mark", "before"), ("active", "after")])
def test_a_worker_that_dies_at_a_request_of_a_retry_begins_no_node_a_third_time(
    site: LateSite, monkeypatch: pytest.MonkeyPatch, request_: str, moment: str
) -> None:
    site.begin_slowly()
    site.play({})
    client, deaths = site.made.provisioner._client, []

    def dying(real: Callable[[str, Any], Any], node: str, body: Any) -> Any:
        is_it = request_ == ("mark" if isinstance(body, list) else body["target"])
        if not is_it or deaths:
            return real(node, body)
        deaths.append(real(node, body) if moment == "after" else None)
        raise Killed

    for name in ("patch", "provision"):
        monkeypatch.setattr(client, name, partial(dying, getattr(client, name)))
    with pytest.raises(Killed):
        site.run()
    site.engine = site.new_worker()
    site.clock.advance(SETTLE)
    site.run()

    assert site.begun() == ONCE + Counter({("deploy", "n1"): 1}), site.journal()
    assert (site.state(), site.nodes()) == (RunState.SUCCESS, dict.fromkeys(NODES, DONE))


@pytest.mark.parametrize("site", [("maas", policy("power_cycle"))], ids=["maas"], indirect=True)
def test_a_recovery_that_the_provisioner_cannot_do_is_refused_at_commit(site: LateSite) -> None:
    for on_late, finding in (("power_cycle", "PolicyPowerCycleImpossible"), ("retry", "PolicyRetryImpossible")):
        site.policy = policy(on_late)
        with pytest.raises(AssertionError, match=finding):
            site.begin()
    assert site.peer.begun() == []
