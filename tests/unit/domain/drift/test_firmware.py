"""Which versions of firmware a design wants on its nodes: shipyard/FirmwareVersions/v1."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Collection, Rendering, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.drift.differences import Kind
from shipyard_api.domain.drift.firmware import SCHEMA, read_firmware
from shipyard_api.domain.drift.observations import LeftNode
from shipyard_api.domain.drift.settings import Wanted, of_boards
from shipyard_api.domain.nodes import NodeName
from tests.conftest import ROOT
from tests.factories import document, layering_policy, node_document
from tests.unit.tables import every_row

SCHEMAS = SchemaFiles(ROOT / "schemas")
N1, N2 = NodeName("n1"), NodeName("n2")
RUNBOOK = "runbook=firmware-2026"


def wants(*names: str, secret: bool = False, **data: Any) -> dict[str, Any]:
    whole = {"selectors": [{"node_names": list(names)}], "versions": {"bios": "2.1"}, "runbook": "firmware-2026"} | data
    found = document(SCHEMA, "-".join((*names, *data)) or "all", {k: v for k, v in whole.items() if v is not None})
    found["metadata"]["storagePolicy"] = "encrypted" if secret else "cleartext"
    return found


def rendered(*entries: dict[str, Any]) -> Rendering:
    documents, faults = parse_documents([layering_policy(), *map(node_document, ("n1", "n2")), *entries])
    assert faults == ()
    rendering, broken = render([StoredDocument(one, Collection("c"), Revision(1)) for one in documents], DataSchemas())
    assert rendering is not None, broken
    return rendering


def test_no_document_wants_nothing() -> None:
    assert read_firmware(rendered(), SCHEMAS.check) == ({}, ())


def test_documents_add_up_and_each_says_what_installs_it() -> None:
    bmc = {"versions": {"bmc": "7.1", "bios": "2.1"}, "runbook": None, "template": "CUSTOM_BMC"}
    wanted, findings = read_firmware(rendered(wants("n1", "n2"), wants("n2", **bmc)), SCHEMAS.check)
    assert findings == ()
    assert wanted[N1] == {"bios": Wanted("2.1", RUNBOOK)}
    assert {name: one.value for name, one in wanted[N2].items()} == {"bios": "2.1", "bmc": "7.1"}
    assert wanted[N2]["bmc"].by == "template=CUSTOM_BMC"


@every_row(
    [
        ([wants("n1", secret=True)], "SecretInDeploymentDocument", {}),
        ([wants("n1", runbook=None)], "FirmwareWithoutService", {}),
        ([wants("n1", template="CUSTOM_A")], "FirmwareWithoutService", {}),
        ([wants("n1", versions={"bios": 2})], "SchemaError", {}),
        ([wants("n9")], "FirmwareOfUnknownNode", {}),
        ([wants("n1", "n9")], "FirmwareOfUnknownNode", {N1}),
        ([wants(selectors=[{"rack_names": ["r9"]}])], "FirmwareOfNoNode", {}),
        ([wants("n1"), wants("n1", "n2", versions={"bios": "3"})], "FirmwareVersionsDiffer", {N1}),
    ],
)
def test_a_document_with_a_fault_counts_for_no_node(entries: list[Any], finding: str, wanted: Any) -> None:
    found, findings = read_firmware(rendered(*entries), SCHEMAS.check)
    assert (set(found), {one.name for one in findings}) == (set(wanted), {finding})


def test_another_version_is_a_difference_with_the_service_that_installs_the_wanted_one() -> None:
    left = [LeftNode(node, ActionId("A"), datetime(2026, 1, 1, tzinfo=UTC), None) for node in (N1, N2)]
    wanted, _ = read_firmware(rendered(wants("n1", "n2")), SCHEMAS.check)
    (found,) = of_boards(left, wanted, {N1: {"bios": "2.0", "bmc": "7"}, N2: {"bios": "2.1"}}, Kind.FIRMWARE)
    way = f"shipyard create action service_server --param={RUNBOOK} --param=target_nodes=n1"
    assert (found.node, found.kind, found.expected, found.seen) == (N1, Kind.FIRMWARE, "bios=2.1", f"bios=2.0: {way}")
