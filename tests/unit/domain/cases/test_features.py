"""The features that a design gives its nodes."""

from shipyard_api.actions.steps.cases import FindCases
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.cases.features import Features, of_design
from shipyard_api.domain.documents import Collection, Rendering, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.hardware.expected import Cable, Expectation
from shipyard_api.domain.nodes import NodeName
from tests.factories import document, layering_policy, node_document

N1, N2 = NodeName("n1"), NodeName("n2")


def _design() -> Rendering:
    entries = [
        layering_policy(),
        document("drydock/Rack/v1", "r1", {"tor_switches": {"sw1": {}, "sw2": {}}}),
        document("drydock/Network/v1", "oob", {"cidr": "10.9.0.0/24"}),
        document("drydock/HardwareProfile/v1", "big", {"vendor": "Dell", "generation": "8", "bios_version": "2.2"}),
        document(
            "drydock/HostProfile/v1",
            "compute",
            {"hardware_profile": "big", "oob": {"network": "oob"}, "platform": {"image": "jammy"}},
        ),
        node_document("n1", rack="r1", tags=["a"], labels={"pdu": "p1", "x": "y"}, host_profile="compute"),
        node_document("n2"),
    ]
    documents, findings = parse_documents(entries, DataSchemas())
    assert not findings
    stored = [StoredDocument(entry, Collection("site"), Revision(1)) for entry in documents]
    design, findings = render(stored, DataSchemas())
    assert design is not None, findings
    return design


def _of(features: Features, node: NodeName) -> dict[str, object]:
    place = features.names.index(node)
    return {name: column[place] for name, column in features.columns.items()}


def test_inheritance_is_followed_and_what_is_not_said_is_not_known() -> None:
    features = of_design(_design())
    assert _of(features, N1) == {
        "switch": frozenset({"sw1", "sw2"}),
        "rack": "r1",
        "power_domain": "p1",
        "bmc_subnet": "10.9.0.0/24",
        "model": "Dell 8",
        "hardware_profile": "big",
        "firmware": "2.2",
        "image": "jammy",
        "host_profile": "compute",
        "label": frozenset({"x=y"}),
        "tag": frozenset({"a"}),
    }
    assert {name for name, value in _of(features, N2).items() if value != ""} == {"label", "tag"}


def test_the_expected_cabling_names_the_switches_of_a_node_before_its_rack_does() -> None:
    wanted = {N1: Expectation(cabling={"eno1": Cable("sw7", "1/1")})}
    cases = FindCases(None, lambda _: _design(), expected=lambda _: wanted)  # type: ignore[arg-type]  # reads no store
    assert _of(cases.design(Revision(1), [N1, N2]), N1)["switch"] == frozenset({"sw7"})
