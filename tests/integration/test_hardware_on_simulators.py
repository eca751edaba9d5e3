"""Expected hardware against what simulated provisioners have seen: every planted fault is named, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.actions import RunState
from shipyard_api.domain.documents import Collection, Rendering, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.hardware.golden import document
from shipyard_api.domain.hardware.seen import EVERYTHING, SeenHardware
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import MOST_REQUESTS, JobState, Marker, Operation, Work
from shipyard_api.yaml_stream import write_documents
from tests import factories, simulated_peers
from tests.combinations.site import DURATIONS
from tests.conftest import ROOT
from tests.factories import layering_policy, node_document
from tests.integration.api.description import check
from tests.integration.test_policy_on_simulators import DONE, PolicySite
from tests.planted_hardware import HIDDEN, PROFILE, SCHEMA, Planted, planted
from tests.simulated_peers import PEERS, Peer
from tests.virtual_time import VirtualClock

SCHEMAS = SchemaFiles(ROOT / "schemas")
R1 = Revision(1)
ALL_POLLS = 1000


def rendered(entries: Sequence[dict[str, Any]]) -> Rendering:
    parsed, faults = parse_documents([layering_policy(), *entries])
    assert faults == ()
    rendering, broken = render([StoredDocument(one, Collection("c"), R1) for one in parsed], DataSchemas())
    assert rendering is not None, broken
    return rendering


@dataclass
class Seen:
    """A provisioner that has inspected all servers of a site. ``requests``: how many were sent since the last look."""

    peer: Peer
    hardware: Hardware

    @property
    def requests(self) -> int:
        """How many requests the peer has answered."""
        return sum(event["event"] == "request" for event in self.peer.simulator.events())


@contextmanager
def inspected(name: str, site: Planted, entries: Sequence[dict[str, Any]] = ()) -> Iterator[Seen]:
    clock, rendering = VirtualClock(), rendered(entries or site.documents)
    machines = {} if name == "drydock" else dict.fromkeys(site.nodes, "Ready")
    scenario = simulated_peers.scenario({}, {}, hardware=dict(site.hardware), machines=machines)
    with closing(PEERS[name](clock, scenario, site.nodes)) as peer:
        provisioner = peer.provisioner(lambda _: rendering.machines)
        if name == "drydock":  # it collects the data of a node when it prepares it
            peer.publish(1, [node_document(node) for node in site.nodes])
            design = provisioner.design_reference(1)
            work = Work(Operation.PREPARE_NODES, design, tuple(map(NodeName, site.nodes)))
            job = provisioner.submit(Marker("m"), work)
            while provisioner.report(job, work).state is not JobState.ENDED:
                clock.advance(60)
        yield Seen(peer, Hardware(lambda _: rendering, SCHEMAS.check, provisioner))


@pytest.mark.parametrize("name", PEERS)
def test_every_planted_fault_is_named_and_no_right_server_is(name: str) -> None:
    site = planted(name, right_nodes=20)
    with inspected(name, site) as seen:
        compared = seen.hardware.compared(R1, polls=ALL_POLLS)

    twins = {node for pair in site.pairs for node in pair}
    assert compared.unknown == {}
    assert compared.unread == ()
    assert compared.mismatches.keys() == site.faults.keys() | twins
    for node, words in site.faults.items():
        assert any(words in text for text in compared.mismatches[NodeName(node)]), compared.mismatches[NodeName(node)]
    assert [pair[:2] for pair in compared.pairs] == list(site.pairs)
    assert len(compared.right) == 20
    assert len(list(compared.sentences())) == len(site.faults) + len(site.pairs)


@pytest.mark.parametrize("name", PEERS)
def test_the_document_of_a_golden_server_has_no_difference_to_it(name: str) -> None:
    site = planted(name, right_nodes=1, faults=(), twins=0)
    node = NodeName(site.nodes[0])
    with inspected(name, site) as seen:
        read = seen.hardware.seen([node], EVERYTHING)[node]
        assert isinstance(read, SeenHardware)
    golden = [node_document(node, hardware_profile=PROFILE), document(node, PROFILE, read)]
    with inspected(name, site, golden) as seen:
        compared = seen.hardware.compared(R1)
        aspects = seen.hardware.expected(R1)[node].aspects

    assert (compared.right, compared.mismatches, compared.unknown) == ((node,), {}, {})
    assert aspects == EVERYTHING - HIDDEN[name]


@pytest.mark.parametrize("name", PEERS)
def test_one_reading_sends_few_requests_and_the_next_goes_on(name: str) -> None:
    site = planted(name, right_nodes=50, faults=(), twins=0)
    with inspected(name, site) as seen:
        before = seen.requests
        first = seen.hardware.compared(R1)
        assert seen.requests - before <= MOST_REQUESTS  # Drydock's simulator counts none
        assert 0 < len(first.right) <= MOST_REQUESTS
        assert first.unread
        assert len(seen.hardware.compared(R1, first.unread).right) > 0


# --- The gate ---------------------------------------------------------------------------------------------------------

RIGHT, WRONG = {"cpu_model": "Right", "memory": 64}, {"cpu_model": "Wrong", "memory": 64}
EXPECTED = {"hardware_profiles": [PROFILE], "cpu": {"model": "Right"}}
DIFFERS = 'CPU model "Wrong" seen, "Right" expected'


class GatedSite(PolicySite):
    """Three nodes of which the second has the wrong processor, and a group of all of them that may lose one."""

    def __init__(self, url: str, provisioner: str, mode: str | None) -> None:
        self.mode = mode
        super().__init__(url, provisioner, {})

    def scenario(self, fates: Mapping[str, Any]) -> Any:
        hardware = {"n1": RIGHT, "n2": WRONG, "n3": RIGHT}
        return simulated_peers.scenario(fates, DURATIONS, hardware=hardware)

    def documents(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        found = super().documents(labels)
        for one in found:
            if one["schema"].endswith("/BaremetalNode/v1"):
                one["data"]["hardware_profile"] = PROFILE
            if one["schema"].endswith("/DeploymentStrategy/v1"):
                one["data"]["groups"][0]["success_criteria"] = {"minimum_successful_nodes": 2}
        return [*found, hardware_document(EXPECTED)]

    def section(self) -> Mapping[str, Any]:
        return {} if self.mode is None else {"hardware": self.mode}


def hardware_document(data: dict[str, Any]) -> dict[str, Any]:
    return factories.document(SCHEMA, "servers", data)


@pytest.mark.parametrize(
    ("provisioner", "mode"),
    [("maas", None), ("maas", "off"), ("maas", "fail"), ("ironic", "fail"), ("drydock", "fail"), ("ironic", "warn")],
)
def test_a_server_with_wrong_hardware_is_named_and_fails_if_the_design_says_so(
    module_database_url: str, provisioner: str, mode: str | None
) -> None:
    with closing(GatedSite(module_database_url, provisioner, mode)) as site:
        site.begin()
        site.run()
        nodes, sent, said = site.nodes(), site.sent(), site.said()
        state, journal = site.state(), site.journal()

    assert state is RunState.SUCCESS, journal
    if mode != "fail":
        assert nodes == dict.fromkeys(("n1", "n2", "n3"), DONE)
        assert sent == ["prepare n1 n2 n3", "deploy n1 n2 n3"]
        assert (f"n2: {DIFFERS}" in said) is (mode != "off")
        return
    assert nodes == {"n1": DONE, "n2": ("failure", "hardware"), "n3": DONE}
    # Ironic has inspected its nodes; the others learn of the hardware when they prepare a node.
    all_prepared = provisioner != "ironic"
    assert sent == ["prepare n1 n2 n3" if all_prepared else "prepare n1 n3", "deploy n1 n3"]
    assert f"n2: {DIFFERS}" in said


def test_a_wrong_server_is_shown_at_commit_in_the_plan_as_drift_and_on_its_page(module_database_url: str) -> None:
    with closing(GatedSite(module_database_url, "ironic", "warn")) as site:
        documents = write_documents(site.documents({}))
        site.ask("POST", "/configdocs/design?buffermode=replace", documents, expect=201)
        tried = site.ask("POST", "/commitconfigdocs?dryrun=true", expect=200).text
        site.commit()
        plan = site.ask("POST", "/plans", {"name": "deploy_site"}, expect=200).json
        assert site.create("deploy_site", {}).status_code == 201
        site.run()
        drift = site.get("/site/differences")["differences"]
        answer = site.ask("GET", "/nodes/n2/hardware", expect=200)
        right = site.get("/nodes/n1/hardware")
        site.ask("GET", "/nodes/n9/hardware", expect=404)

    check("GET", "/api/v1.0/nodes/n2/hardware", answer)
    assert any(f"n2: {DIFFERS}" in one["message"] for one in plan["findings"]), plan["findings"]
    assert DIFFERS.replace('"', '\\"') in tried
    assert [(one["node"], one["kind"], one["seen"]) for one in drift] == [("n2", "hardware", DIFFERS)]
    assert (answer.json["differences"], answer.json["seen"]["cpu_model"]) == ([DIFFERS], "Wrong")
    assert (right["expected"], right["differences"], right["unknown"]) == (True, [], "")
    assert answer.json["document"]["data"]["cpu"]["model"] == "Wrong"
