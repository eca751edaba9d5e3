"""What a design expects of the hardware of its nodes: shipyard/ExpectedHardware/v1."""

from __future__ import annotations

from typing import Any

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.documents import Collection, Rendering, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.hardware.expected import SCHEMA, Cpu, Memory, read_expected
from shipyard_api.domain.hardware.seen import Aspect
from shipyard_api.domain.nodes import NodeName
from tests.conftest import ROOT
from tests.factories import document, layering_policy, node_document
from tests.unit.tables import every_row

SCHEMAS = SchemaFiles(ROOT / "schemas")
N1, N2 = NodeName("n1"), NodeName("n2")
CABLE = {"e0": {"switch": "sw1", "port": "p1"}}


def expects(name: str = "all", *, secret: bool = False, **data: Any) -> dict[str, Any]:
    found = document(SCHEMA, name, data)
    found["metadata"]["storagePolicy"] = "encrypted" if secret else "cleartext"
    return found


def rendered(*entries: dict[str, Any]) -> Rendering:
    machines = [node_document("n1", hardware_profile="a"), node_document("n2", hardware_profile="b")]
    documents, faults = parse_documents([layering_policy(), *machines, *entries])
    assert faults == ()
    rendering, broken = render([StoredDocument(one, Collection("c"), Revision(1)) for one in documents], DataSchemas())
    assert rendering is not None, broken
    return rendering


def test_no_document_expects_nothing() -> None:
    assert read_expected(rendered(), SCHEMAS.check) == ({}, ())


def test_a_node_has_what_its_profile_says_except_for_its_own() -> None:
    everything = expects(
        hardware_profiles=["a", "b"], cpu={"threads": 8}, memory={"size": 5}, nodes={"n2": {"memory": {"modules": 2}}}
    )
    expected, findings = read_expected(
        rendered(everything, expects("cables", nodes={"n1": {"cabling": CABLE}})), SCHEMAS.check
    )
    assert findings == ()
    assert (expected[N1].cpu, expected[N1].memory) == (Cpu(threads=8), Memory(size=5))
    assert (expected[N2].cpu, expected[N2].memory) == (Cpu(threads=8), Memory(modules=2))
    assert expected[N1].aspects == {Aspect.CPU, Aspect.MEMORY, Aspect.CABLING}
    assert expected[N2].aspects == {Aspect.CPU, Aspect.MODULES}


@every_row(
    [
        ([expects(hardware_profiles=["a"], secret=True)], "SecretInDeploymentDocument", []),
        ([expects(cpu={"threads": 8})], "ExpectedHardwareOfNothing", []),
        ([expects(cpu={"threads": 8}, nodes={"n1": {"cpu": {"cores": 1}}})], "ExpectedHardwareOfNothing", []),
        ([expects(hardware_profiles=["a"], cpu={"threads": 0})], "SchemaError", []),
        ([expects(hardware_profiles=["a"], memory={"size": "many"})], "SchemaError", []),
        ([expects(hardware_profiles=["a"], disks=[{"type": "nvme"}])], "SchemaError", []),
        ([expects(nodes={"n1": {"cabling": {"e0": {"switch": "sw1"}}}})], "SchemaError", []),
        ([expects(hardware_profiles=["z"], cpu={"threads": 8})], "ExpectedHardwareUnused", []),
        ([expects(nodes={"n9": {"cpu": {"threads": 8}}})], "ExpectedHardwareUnused", []),
        ([expects(nodes={"n1": {"cabling": CABLE}, "n2": {"cabling": CABLE}})], "SwitchPortTwice", [N1, N2]),
        (
            [
                expects(hardware_profiles=["a"], cpu={"threads": 8}),
                expects("b", hardware_profiles=["a"], cpu={"cores": 4}),
            ],
            "ExpectedHardwareTwice",
            [N1],
        ),
    ]
)
def test_findings(entries: list[dict[str, Any]], name: str, nodes: list[NodeName]) -> None:
    expected, findings = read_expected(rendered(*entries), SCHEMAS.check)
    assert [finding.name for finding in findings] == [name]
    assert all(finding.documents for finding in findings)
    assert list(expected) == nodes
