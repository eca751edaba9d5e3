"""Traits of nodes in a design: shipyard/NodeTraits/v1 (product, section 8; seed 003, Example)."""

from typing import Any

from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.deploy_steps.traits import SCHEMA, read_node_traits
from shipyard_api.domain.documents import Collection, Document, RenderedDocument, Rendering, Revision
from shipyard_api.domain.findings import Level
from tests.conftest import ROOT
from tests.factories import document
from tests.unit.tables import every_row

SCHEMAS = SchemaFiles(ROOT / "schemas")
RACKS = {"n1": "r1", "n2": "r1", "n3": "r2"}
POOL = {"selectors": [], "traits": ["CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"]}
ALL = "CUSTOM_A CUSTOM_B HW_CPU_X86_VMX"


def rendering(*traits: Any, secret: bool = False) -> Rendering:
    nodes = [document("drydock/BaremetalNode/v1", name, {"metadata": {"rack": rack}}) for name, rack in RACKS.items()]
    about = [document(SCHEMA, f"t{number}", data) for number, data in enumerate(traits)]
    documents = [
        Document(one["schema"], one["metadata"]["name"], "site", one["metadata"], one["data"])
        for one in (*nodes, *about)
    ]
    return Rendering(tuple(RenderedDocument(one, Collection("c"), Revision(1), secret) for one in documents))


def shown(*traits: Any, secret: bool = False) -> tuple[dict[str, str], list[str]]:
    """What each node has / requests, and name and path of each finding."""
    found, findings = read_node_traits(rendering(*traits, secret=secret), SCHEMAS.check)
    assert all(document.schema == SCHEMA for one in findings for document in one.documents)
    return (
        {node: f"{' '.join(sorted(own.has))} / {' '.join(sorted(own.requested))}" for node, own in found.items()},
        [f"{one.name} {one.path}" for one in findings],
    )


@every_row(
    {
        "none": ([], {}),
        "no selector is every node": ([POOL], dict.fromkeys(RACKS, f"{ALL} / ")),
        "a selector": (
            [{"selectors": [{"rack_names": ["r2"]}], "traits": ["CUSTOM_A"], "requested_traits": ["CUSTOM_A"]}],
            {"n3": "CUSTOM_A / CUSTOM_A"},
        ),
        "a pool and a flavor": (
            [POOL, {"selectors": [{"node_names": ["n1"]}, {"rack_names": ["r2"]}], "requested_traits": ["CUSTOM_B"]}],
            {"n1": f"{ALL} / CUSTOM_B", "n2": f"{ALL} / ", "n3": f"{ALL} / CUSTOM_B"},
        ),
        "documents add up": (
            [
                POOL | {"requested_traits": ["CUSTOM_A"]},
                {"selectors": [], "requested_traits": ["CUSTOM_B", "CUSTOM_B"]},
            ],
            dict.fromkeys(RACKS, f"{ALL} / CUSTOM_A CUSTOM_B"),
        ),
        "requested and not there: the plan says so": (
            [{"selectors": [], "requested_traits": ["CUSTOM_X"]}],
            dict.fromkeys(RACKS, " / CUSTOM_X"),
        ),
    },
)
def test_nodes_have_the_traits_of_all_documents_that_select_them(
    documents: list[Any], expected: dict[str, str]
) -> None:
    assert shown(*documents) == (expected, [])


@every_row(
    [
        ({}, ["required"]),
        ({"traits": ["CUSTOM_A"]}, ["required"]),
        ({"selectors": {}}, ["type"]),
        ({"selectors": [{"nodes": ["n1"]}]}, ["additionalProperties"]),
        ({"selectors": [{"node_names": "n1"}]}, ["type"]),
        ({"selectors": [], "trait": ["CUSTOM_A"]}, ["additionalProperties"]),
        ({"selectors": [], "traits": "CUSTOM_A"}, ["type"]),
        ({"selectors": [], "traits": ["CUSTOM_A"] * 201}, ["maxItems"]),
        ({"selectors": [], "traits": ["CUSTOM_A", "CUSTOM-B"]}, ["InvalidTrait /traits/1"]),
        ({"selectors": [], "traits": ["A", "CUSTOM_"]}, ["InvalidTrait /traits/0", "InvalidTrait /traits/1"]),
        ({"selectors": [], "requested_traits": ["BAD"]}, ["InvalidTrait /requested_traits/0"]),
    ],
)  # fmt: skip
def test_a_document_with_a_fault_counts_for_no_node(data: Any, findings: list[str]) -> None:
    nodes, found = shown(data)

    assert nodes == {}
    if findings[0].startswith("InvalidTrait"):
        assert found == findings
    else:
        (fault,) = read_node_traits(rendering(data), SCHEMAS.check)[1]
        assert fault.diagnostic.startswith(findings[0])


def test_a_node_that_the_design_does_not_have_is_a_warning() -> None:
    known = next(iter(shown({"selectors": [], "traits": ["CUSTOM_A"]})[0]))
    data = {"selectors": [{"node_names": [known, "typo"]}], "traits": ["CUSTOM_A"]}
    nodes, findings = read_node_traits(rendering(data), SCHEMAS.check)
    assert list(nodes) == [known]
    assert [(one.name, one.message) for one in findings] == [
        ("TraitsOfUnknownNode", "The design has no node typo; correct the names.")
    ]


def test_traits_of_no_node_are_a_warning_and_secret_ones_an_error() -> None:
    assert shown({"selectors": [{"rack_names": ["r9"]}], "traits": ["CUSTOM_A"]}) == ({}, ["TraitsOfNoNode /selectors"])
    assert shown(POOL, secret=True) == ({}, ["SecretInDeploymentDocument "])
    levels = [
        one.level for one in read_node_traits(rendering({"selectors": [{"rack_names": ["r9"]}]}), SCHEMAS.check)[1]
    ]
    assert levels == [Level.WARNING]
