"""A rack fails before simulated provisioners: its case, in a running action and after, in each place that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from shipyard_api.domain.documents import Revision
from shipyard_api.domain.facts.cases import KINDS
from shipyard_api.ports.documents import DesignStore
from shipyard_api.ports.errors import Unavailable
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.wiring.parts import Parts
from tests import simulated_peers
from tests.combinations.site import DURATIONS
from tests.factories import document, group_entry, layering_policy, node_document, strategy_document
from tests.integration.api.description import check
from tests.integration.test_late_on_simulators import LIMIT, SLOW, policy
from tests.integration.test_policy_on_simulators import PolicySite
from tests.planted_hardware import PROFILE, SCHEMA

NIGHT = tuple(f"n{number}" for number in range(1, 43))
DEAD = NIGHT[24:30]
IPMI = "IPMI session to 10.9.0.{} timed out after 30 s"


class RackSite(PolicySite):
    """Forty-two nodes in seven racks, and a group of all of them."""

    names: Sequence[str] = NIGHT

    def documents(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the documents of the design."""
        return [
            layering_policy(),
            *(node_document(name, rack=f"r{place // 6}") for place, name in enumerate(NIGHT)),
            strategy_document(
                *(
                    group_entry(name, depends_on=after, selectors=[{"node_names": [*nodes]}])
                    for name, after, nodes in self.parts
                )
            ),
            document(
                "shipyard/DeploymentConfiguration/v1",
                "deployment-configuration",
                {"armada": {"manifest": "full-site"}, "physical_provisioner": self.section()},
            ),
        ]

    @property
    def parts(self) -> Sequence[tuple[str, Sequence[str], Sequence[str]]]:
        """The groups, with those that come before and their nodes."""
        return [("all", [], NIGHT)]

    def fail_rack(self) -> None:
        """Let rack r4 fail in its preparation, and one more node for a reason of its own."""
        word = self.peer.words["prepare"]
        self.play({
            **{node: {word: "fail", "reason": IPMI.format(place)} for place, node in enumerate(DEAD)},
            "n3": {word: "fail", "reason": "disk sda is broken"},
        })  # fmt: skip

    def shown(self, view: str) -> Any:
        """Return the cases in a view of the action, which is as the API describes it."""
        answer = self.ask("GET", f"/actions/{self.action}{view}", expect=200)
        check("GET", f"/api/v1.0/actions/{self.action}{view}", answer)
        return answer.json.get("cases", [])

    def events(self) -> list[str]:
        """Return the kinds of the events about cases, in order."""
        with self.store.begin() as tx:
            return [entry.kind for entry in tx.journal.entries(self.action, KINDS)]


class StaggeredSite(RackSite):
    """The same, in two groups one after the other, and rack r4 in both."""

    @property
    def parts(self) -> Sequence[tuple[str, Sequence[str], Sequence[str]]]:
        """The groups, with those that come before and their nodes."""
        first = [*NIGHT[:24], *DEAD[:4]]
        return [("first", [], first), ("second", ["first"], [node for node in NIGHT if node not in first])]


class CabledSite(RackSite):
    """The same without racks in the design: only LLDP, which Ironic has collected, says where a node hangs."""

    def scenario(self, fates: Mapping[str, Any]) -> Any:
        """Return the scenario in which six nodes hang on each switch."""
        nics = {
            name: [{"name": "eno1", "switch": f"sw{place // 6}", "port": f"port {place % 6}"}]
            for place, name in enumerate(NIGHT)
        }
        hardware = {name: {"cpu_model": "Right", "nics": cards} for name, cards in nics.items()}
        return simulated_peers.scenario(fates, DURATIONS, hardware=hardware)

    def documents(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the documents of the design, which expects a processor."""
        found = super().documents(labels)
        for one in found:
            if one["schema"].endswith("/BaremetalNode/v1"):
                one["data"]["hardware_profile"] = PROFILE
                one["data"]["metadata"].pop("rack", None)
        return [*found, document(SCHEMA, "servers", {"hardware_profiles": [PROFILE], "cpu": {"model": "Right"}})]


class MixedSite(CabledSite):
    """The same with the racks in the design; those of rack r4 have another processor than all others."""

    def scenario(self, fates: Mapping[str, Any]) -> Any:
        """Return the scenario with the processors."""
        hardware = {name: {"cpu_model": "Wrong" if name in DEAD else "Right"} for name in NIGHT}
        return simulated_peers.scenario(fates, DURATIONS, hardware=hardware)

    def documents(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the documents of the design, which has the nodes in racks."""
        found = super().documents(labels)
        for place, one in enumerate(one for one in found if one["schema"].endswith("/BaremetalNode/v1")):
            one["data"]["metadata"]["rack"] = f"r{place // 6}"
        return found


class SlowSite(RackSite):
    """The same; a deployment is late after 150 seconds."""

    def section(self) -> Mapping[str, Any]:
        """Return the section of the provisioner in the deployment configuration."""
        return {"policy": policy("nothing"), "deploy_timeout": LIMIT}


@dataclass
class SometimesAway:
    """A design store that is out of reach at times."""

    store: Any
    away: bool = False

    def revision(self, revision: Revision) -> Any:
        """Return what the store knows of a revision."""
        if self.away:
            raise Unavailable("deckhand", "read revision 1", "no answer within 30 s")
        return self.store.revision(revision)

    def rendered(self, revision: Revision) -> Any:
        """Return the design of a revision."""
        return self.store.rendered(revision)


class UnreadSite(RackSite):
    """The same; what actions and callers read of designs is out of reach at times."""

    def joined(self, made: Parts) -> Parts:
        """Return these parts with such a design store."""
        self.designs_of_actions = SometimesAway(made.designs)
        return replace(super().joined(made), rendered=RenderedDesigns(cast(DesignStore, self.designs_of_actions)))


@pytest.fixture
def site(request: pytest.FixtureRequest, module_database_url: str) -> Iterator[RackSite]:
    kind, provisioner = request.param
    with closing(kind(module_database_url, provisioner, {})) as found:
        yield found


@pytest.mark.parametrize("site", [(RackSite, peer) for peer in ("drydock", "maas", "ironic")], indirect=True, ids=str)
def test_a_rack_that_fails_is_the_case_of_report_action_and_overview(site: RackSite) -> None:
    site.begin()
    site.fail_rack()
    site.run()

    (case,) = site.shown("/report")
    assert (case["feature"], case["value"], case["nodes"]) == ("rack", "r4", sorted(DEAD))
    assert case["sentence"].startswith("6 of the 7 that failed are in rack r4; none of 35 others are. Since ")
    assert case["command"] == f"shipyard retry {site.action}"
    assert site.shown("") == site.shown("/overview") == [case]
    assert site.events() == ["case_opened"]
    assert site.store.read(lambda tx: tx.measures.counts()).cases == 1


@pytest.mark.parametrize("site", [(StaggeredSite, "maas")], indirect=True, ids=str)
def test_a_running_action_proposes_to_hold_what_is_left_of_the_rack(site: RackSite) -> None:
    site.begin()
    site.fail_rack()
    site.turns(lambda: bool(site.shown("")))

    (case,) = site.shown("")
    assert (case["value"], case["nodes"], case["rest"]) == ("r4", sorted(DEAD[:4]), 2)
    assert case["command"] == "shipyard hold node 'n[29-30]' --reason 'rack r4'"
    site.run()
    (case,) = site.shown("")
    assert (len(case["nodes"]), case["rest"]) == (6, 0)
    assert site.events()[0] == "case_opened"
    assert set(site.events()[1:]) == {"case_changed"}


@pytest.mark.parametrize("site", [(CabledSite, "ironic")], indirect=True, ids=str)
def test_a_switch_that_another_worker_has_seen_is_the_case(site: RackSite) -> None:
    site.begin()
    site.fail_rack()
    site.turns(lambda: bool(site.sent()))
    site.engine = site.new_worker()
    site.run()

    (case,) = site.shown("")
    assert case["sentence"].startswith("6 of the 7 that failed hang on switch sw4; none of 35 others do. Since ")


TWO = {
    **{node: IPMI.format(place) for place, node in enumerate(DEAD)},
    **dict.fromkeys(NIGHT[6:11], "no DHCP answer"),
}
FATES = {
    "one node": ({"n3": "disk sda is broken"}, []),
    "two racks, two reasons": (
        TWO,
        ["6 of the 11 that failed are in rack r4", "All 5 remaining nodes that failed are in rack r1"],
    ),
    "every node": (dict.fromkeys(NIGHT, "no DHCP answer"), ["All 42 that failed give the same reason"]),
}


@pytest.mark.parametrize("site", [(RackSite, "maas")], indirect=True, ids=str)
@pytest.mark.parametrize(("fates", "said"), FATES.values(), ids=FATES)
def test_as_many_cases_as_causes(site: RackSite, fates: Mapping[str, str], said: Sequence[str]) -> None:
    word = site.peer.words["prepare"]
    site.begin()
    site.play({node: {word: "fail", "reason": reason} for node, reason in fates.items()})
    site.run()

    assert [case["sentence"][: len(text)] for case, text in zip(site.shown("/report"), said, strict=True)] == said
    assert site.store.read(lambda tx: tx.measures.counts()).cases == len(said)


@pytest.mark.parametrize("site", [(SlowSite, peer) for peer in ("maas", "ironic")], indirect=True, ids=str)
def test_late_nodes_of_one_rack_are_a_case_until_they_end(site: RackSite) -> None:
    site.begin()
    site.play({node: {"deploy": "slow", "seconds": SLOW} for node in DEAD})
    site.turns(lambda: bool(site.shown("")))

    (case,) = site.shown("")
    assert case["kind"] == "late"
    assert case["sentence"].startswith("All 6 that are late are in rack r4; none of 36 others are. Since ")
    assert case["command"] == "shipyard describe node n25"
    site.run()
    assert site.shown("/report") == []
    assert (site.events()[0], site.events()[-1]) == ("case_opened", "case_closed")
    assert not site.store.read(lambda tx: tx.measures.counts()).cases


@pytest.mark.parametrize("site", [(MixedSite, "ironic")], indirect=True, ids=str)
def test_servers_of_one_rack_that_differ_are_a_case_of_drift(site: RackSite) -> None:
    site.begin()
    site.run()

    answer = site.ask("GET", "/site/differences", expect=200)
    check("GET", "/api/v1.0/site/differences", answer)
    (case,) = answer.json["cases"]
    assert case["sentence"].startswith("All 6 that differ are in rack r4; none of 36 others are.")
    assert (case["kind"], case["nodes"], case["command"]) == ("drift", sorted(DEAD), "shipyard describe node n25")


@pytest.mark.parametrize("site", [(UnreadSite, "maas")], indirect=True, ids=str)
def test_a_cause_that_cannot_be_looked_for_is_said_to_be_unknown_and_found_later(site: UnreadSite) -> None:
    def action() -> Any:
        return site.get(f"/actions/{site.action}")

    site.begin()
    site.fail_rack()
    site.turns(lambda: bool(site.sent()))
    site.designs_of_actions.away = True
    site.turns(lambda: "cases_unknown" in action())
    for view in ("", "/overview", "/report"):
        answer = site.ask("GET", f"/actions/{site.action}{view}", expect=200)
        check("GET", f"/api/v1.0/actions/{site.action}{view}", answer)
        assert "no answer within 30 s" in answer.json["cases_unknown"]
    site.turn()
    site.designs_of_actions.away = False
    site.turns(lambda: "cases_unknown" not in action())

    assert [case["value"] for case in action()["cases"]] == ["r4"]
    assert site.events()[:3] == ["cases_unknown", "cases_unknown", "case_opened"]


@pytest.mark.parametrize("site", [(RackSite, "ironic")], indirect=True, ids=str)
def test_the_same_rack_in_later_actions_is_named_as_the_same(site: RackSite) -> None:
    site.begin()
    site.fail_rack()
    site.run()
    first = site.action
    for ordinal, last in (("Second", first), ("Third", None)):
        last, times = last or site.action, 1 if last else 2
        assert site.create("deploy_site", {}).status_code == 201
        site.run()
        (case,) = site.shown("")
        assert case["earlier"] == {"times": times, "first_at": case["earlier"]["first_at"], "action_id": last}
        assert case["sentence"].endswith(f"{ordinal} time since Monday; the last time in action {last}.")
