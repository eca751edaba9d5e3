"""Each class of hold, placed while an action waits between two waves, judged by the logs of simulated provisioners."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle

import pytest

from shipyard_api.adapters.ironic import Unhealthy
from shipyard_api.adapters.ironic.plugin import SHARED_SECONDS
from shipyard_api.domain.actions import RunState
from shipyard_api.usecases.holds.health import PollHealth, ReportHealth
from shipyard_api.usecases.holds.manage import NodeHolds
from shipyard_api.usecases.holds.windows import PlaceWindowHolds
from tests.integration.test_policy_on_simulators import DONE, GATED, IN_WAVES, ONE_A_RACK, PolicySite
from tests.simulated_peers import PEERS, IronicPeer

HELD, FAILED = ("failure", "held"), ("failure", "deploy")
ONLY_N3 = [*IN_WAVES[:2], "prepare n3", "deploy n3"]


@dataclass(frozen=True)
class Case:
    """``classes``: of the holds on n2; ``fails``: whether its deployment fails."""

    classes: Sequence[str]
    sent: Sequence[str]
    n2: tuple[str, str | None]
    state: RunState
    fails: bool = False
    n3: tuple[str, str | None] = DONE


CASES: Mapping[str, Case] = {
    # The wave has lost a node, and begins no other.
    "all": Case(["all"], IN_WAVES[:2], HELD, RunState.FAILED, n3=("not_started", "policy")),
    "no deployment": Case(["no_deployment"], IN_WAVES[:2], HELD, RunState.FAILED, n3=("not_started", "policy")),
    "no alerts, and it fails": Case(["no_alerts"], IN_WAVES, FAILED, RunState.FAILED, fails=True),
    "no teardown, no criteria": Case(["no_teardown", "no_criteria"], IN_WAVES, DONE, RunState.SUCCESS),
    "no criteria, and it fails": Case(["no_criteria"], IN_WAVES, FAILED, RunState.SUCCESS, fails=True),
    "left out": Case(["no_deployment", "no_criteria"], ONLY_N3, HELD, RunState.SUCCESS),
}


@pytest.fixture
def site(request: pytest.FixtureRequest, module_database_url: str) -> Iterator[PolicySite]:
    with closing(PolicySite(module_database_url, *request.param)) as found:
        yield found


@pytest.mark.parametrize(
    ("site", "case"),
    [
        pytest.param((peer, GATED), case, id=f"{name} on {peer}")
        for (name, case), peer in zip(CASES.items(), cycle(PEERS))
    ],
    indirect=["site"],
)
def test_a_hold_keeps_from_its_node_what_its_class_says(site: PolicySite, case: Case) -> None:
    site.begin()
    site.fail(("n2",) if case.fails else ())
    site.turns(lambda: site.waits_for().startswith("operator"))
    for hold_class in case.classes:
        site.ask("POST", "/nodes/n2/holds", {"reason": "fans", "class": hold_class}, expect=201)
    site.answer(approve=True)
    site.run()

    assert site.sent() == case.sent, site.journal()
    assert site.nodes() == {"n1": DONE, "n2": case.n2, "n3": case.n3}
    assert site.state() is case.state
    assert ("in no criteria or budget from now on: n2" in site.said()) is ("no_criteria" in case.classes)


@pytest.mark.parametrize(
    "site",
    [pytest.param((peer, ONE_A_RACK), id=peer) for peer in ("ironic", "maas")],
    indirect=True,
)
def test_a_failed_node_is_not_undeployed_while_a_hold_forbids_teardown(site: PolicySite) -> None:
    site.begin()
    site.fail(("n2",))
    site.run()
    assert site.nodes()["n2"] == FAILED
    hold = site.ask("POST", "/nodes/n2/holds", {"reason": "its data", "class": "no_teardown"}, expect=201).json["id"]
    site.cure()
    site.settle()
    assert site.retry().status_code == 201
    site.run()
    assert site.nodes()["n2"] == HELD, site.journal()
    assert site.peer.destroyed() == []

    site.ask("DELETE", f"/holds/{hold}", expect=200)
    assert site.retry().status_code == 201
    site.run()
    assert site.state() is RunState.SUCCESS, site.journal()
    assert [one.node for one in site.peer.destroyed()] == ["n2"]


# Holds expire by the clock of the database, so the window is one of that clock.
OPEN = {"zone": "UTC", "start": f"{datetime.now(UTC):%H:%M}", "minutes": 60}
IN_WINDOW = {
    "holds": [
        {"name": hold_class, "class": hold_class, "selectors": [{"node_names": ["n2"]}], "windows": [OPEN]}
        for hold_class in ("no_deployment", "no_criteria")
    ]
}


@pytest.mark.parametrize("site", [pytest.param(("ironic", {**GATED, **IN_WINDOW}), id="ironic")], indirect=True)
def test_a_window_that_opens_while_an_action_runs_leaves_its_nodes_out(site: PolicySite) -> None:
    site.begin()
    site.turns(lambda: site.waits_for().startswith("operator"))
    made = site.made
    place = PlaceWindowHolds(made.store, made.designs, made.rendered, made.rules, lambda: datetime.now(UTC), 60.0)
    assert place() == 2
    site.answer(approve=True)
    site.run()

    assert site.sent() == ONLY_N3, site.journal()
    assert site.nodes() == {"n1": DONE, "n2": HELD, "n3": DONE}
    assert site.state() is RunState.SUCCESS


def test_a_node_is_held_from_the_moment_ironic_shows_it_as_unhealthy_until_it_is_ok(
    module_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(IronicPeer, "unhealthy", Unhealthy.CRITICAL)
    with closing(PolicySite(module_database_url, "ironic", GATED)) as site:
        made = site.made
        holds = NodeHolds(made.store, made.designs, made.rendered, made.clock)
        poll = PollHealth(ReportHealth(holds), made.provisioner, site.clock.now, 0.0)

        def show(health: str | None) -> int:
            site.peer.simulator.put("n2", health=health)
            site.clock.advance(SHARED_SECONDS)
            return poll()

        site.begin()
        site.turns(lambda: site.waits_for().startswith("operator"))
        assert [show(health) for health in ("OK", "Warning", "Critical", "Critical", None, "Warning")] == [
            0,
            0,
            1,
            0,
            0,
            0,
        ]
        (hold,) = site.get("/holds")["holds"]
        assert (hold["kind"], hold["class"], hold["reason"]) == (
            "health",
            "no_deployment",
            "Ironic reports health Critical",
        )
        site.answer(approve=True)
        site.run()
        assert site.sent() == IN_WAVES[:2], site.journal()
        assert site.nodes()["n2"] == HELD

        assert show("OK") == 1
        assert site.get("/holds")["holds"] == []
        site.settle()
        assert site.retry().status_code == 201
        site.turns(lambda: site.waits_for().startswith("operator"))
        site.answer(approve=True)
        site.run()
        assert (site.state(), site.sent()) == (RunState.SUCCESS, IN_WAVES)
