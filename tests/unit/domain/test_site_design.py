"""What Shipyard reads from a design: all findings at once, and inputs only when none is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.documents import Collection, Rendering, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.findings import Level
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.domain.site_design import DesignRules, SiteInputs, read_design
from shipyard_api.domain.strategy.strategy import ALL_AT_ONCE
from tests.conftest import ROOT
from tests.factories import document, five_groups_data, group_entry, layering_policy, node_document, strategy_document
from tests.unit.tables import every_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMAS = SchemaFiles(ROOT / "schemas")


def configuration(**data: Any) -> dict[str, Any]:
    return document(
        "shipyard/DeploymentConfiguration/v1",
        "deployment-configuration",
        {"armada": {"manifest": "full-site"}, **data},
    )


def read(*entries: dict[str, Any]) -> tuple[SiteInputs | None, list[tuple[str, Level]]]:
    inputs, findings = read_design(3, rendered(*entries), SCHEMAS.check)
    return inputs, [(finding.name, finding.level) for finding in findings]


def rendered(*entries: dict[str, Any]) -> Rendering:
    documents, faults = parse_documents([layering_policy(), *entries])
    assert faults == ()
    rendering, broken = render([StoredDocument(one, Collection("c"), Revision(1)) for one in documents], DataSchemas())
    assert rendering is not None, broken
    return rendering


NODE = node_document("n1")


def test_without_a_configuration_there_is_nothing_to_work_from() -> None:
    assert read(NODE) == (
        None,
        [("DocumentNotFoundError", Level.ERROR), ("DeploymentStrategyNotSpecified", Level.INFO)],
    )


def test_a_strategy_that_is_named_must_exist() -> None:
    inputs, found = read(configuration(physical_provisioner={"deployment_strategy": "mine"}), NODE)
    assert inputs is None
    assert found == [("DocumentNotFoundError", Level.ERROR)]


def test_without_name_and_document_all_nodes_are_one_critical_group_and_the_finding_says_so() -> None:
    inputs, found = read(configuration(), NODE)
    assert inputs.strategy == ALL_AT_ONCE
    assert found == [("DeploymentStrategyNotSpecified", Level.INFO)]


def test_without_a_name_the_document_of_the_default_name_is_used() -> None:
    inputs, _found = read(configuration(), strategy_document(group_entry("one")), NODE)
    assert [group.name for group in inputs.strategy.groups] == ["one"]


def test_a_wrong_configuration_does_not_hide_what_is_wrong_with_the_strategy() -> None:
    inputs, found = read(
        configuration(physical_provisioner={"deployment_strategy": "mine", "deploy_timeout": "soon"}, nonsense=1),
        strategy_document(group_entry("a", depends_on=["a", "ghost"]), group_entry("a"), name="mine"),
        NODE,
    )
    assert inputs is None
    assert sorted(name for name, _level in found) == [
        "DeploymentGroupCycleError",
        "DuplicateDeploymentGroup",
        "SchemaError",
        "SchemaError",
        "UnknownDeploymentGroup",
    ]


def test_an_unsound_document_that_is_not_used_is_a_finding_for_information() -> None:
    unused = document("shipyard/DeploymentConfiguration/v1", "winter", {"nonsense": 1})
    loop, sound = group_entry("a", depends_on=["a", "ghost"]), group_entry("b")
    inputs, found = read(
        configuration(physical_provisioner={"deployment_strategy": "mine"}),
        strategy_document(sound, name="mine"),
        strategy_document(loop, name="night"),
        strategy_document(sound, name="spare"),
        unused,
        NODE,
    )
    assert inputs.configuration.strategy_name == "mine"
    assert found.count(("UnusedDocumentNotSound", Level.INFO)) == 2
    assert Level.ERROR not in {level for _, level in found}


def test_nodes_in_no_group_and_a_strategy_without_groups_are_told() -> None:
    _inputs, found = read(configuration(), strategy_document(), NODE)
    assert found == [("DeploymentStrategyEmpty", Level.WARNING), ("NodesInNoDeploymentGroup", Level.INFO)]


def test_armada_documents_are_left_alone_with_one_finding() -> None:
    charts = [document("armada/Chart/v1", name, {}) for name in ("one", "two")]
    _inputs, found = read(configuration(), *charts, NODE)
    assert found.count(("ArmadaDocumentsIgnored", Level.INFO)) == 1


@every_row([1.0, 0.01])
def test_inputs_are_stored_and_read_back_as_they_were(factor: float) -> None:
    inputs, _found = read(
        configuration(physical_provisioner={"deploy_timeout": 100}),
        document("shipyard/DeploymentStrategy/v1", "deployment-strategy", five_groups_data()),
        NODE,
    )
    scaled = inputs.scaled(factor)
    again = SiteInputs.from_json(scaled.to_json())
    assert again.to_json() == scaled.to_json()
    assert again.strategy == inputs.strategy
    assert again.configuration.deploy_nodes.timeout == 100 * factor


def test_a_simulated_site_scales_its_limits_and_an_action_s_own_are_seconds() -> None:
    rules = DesignRules(SCHEMAS.check, time_scale=0.01)
    design = rendered(configuration(physical_provisioner={"deploy_timeout": 100}), NODE)
    for reading in (rules.read, rules.read_configuration, rules.read_targeted):
        inputs, _ = reading(Revision(3), design)
        assert inputs.configuration.deploy_nodes.timeout == 1
        limits, faults = inputs.configuration.teardown.with_parameters({"drain-timeout": 7200})
        assert (limits.drain, limits.clear_labels, faults) == (7200, 18, ())
    assert rules.usual_limits.drain == 36


def test_windows_know_the_measured_durations_and_only_they_ask_for_them() -> None:
    asked: list[str] = []

    def measured() -> Mapping[Phase, Sequence[float]]:
        asked.append("history")
        return {Phase.PREPARE: [2.0, 3.0]}

    rules = DesignRules(SCHEMAS.check, time_scale=0.01, measured=measured)
    opened = {"open": [{"zone": "UTC", "start": "00:00", "minutes": 1440}]}
    seconds = []
    for policy in ({"windows": opened}, {"waves": [{"name": "canary", "nodes": 1}]}):
        inputs, _ = rules.read(Revision(3), rendered(configuration(physical_provisioner={"policy": policy}), NODE))
        seconds.append(inputs.policy.seconds["prepare"])

    assert seconds == pytest.approx([3.0, inputs.configuration.prepare_nodes.timeout])
    assert asked == ["history"]


@every_row([(True, []), (False, ["0/gates/1", "1/gates/0"])])
def test_a_gate_with_a_query_needs_a_prometheus(queries: bool, faults: list[str]) -> None:
    waves = [
        {"name": "canary", "nodes": 1, "gates": [{"soak": 60}, {"query": "up"}]},
        {"name": "tenth", "percent": 10, "gates": [{"query": "up"}]},
    ]
    design = rendered(configuration(physical_provisioner={"policy": {"waves": waves}}), NODE)

    _, findings = DesignRules(SCHEMAS.check, queries=queries).read(Revision(3), design)

    found = [(one.name, one.path) for one in findings if one.level is Level.ERROR]
    base = "/physical_provisioner/policy/waves"
    assert found == [("PolicyQueryUnanswerable", f"{base}/{place}") for place in faults]


def test_a_design_with_unusable_etcd_clusters_has_inputs_and_an_error() -> None:
    clusters = {"clusters": [{"name": "e", "endpoints": ["https://10.0.0.1:2379"]}]}
    inputs, findings = DesignRules(SCHEMAS.check).read(
        Revision(3), rendered(configuration(), NODE, document("promenade/EtcdClusters/v1", "etcd", clusters))
    )
    assert inputs is not None
    assert [(one.name, one.path) for one in findings if one.level is Level.ERROR] == [
        ("EtcdClusterInvalid", "/clusters/0/tls/ca")
    ]


def test_a_burn_in_gives_preparations_more_time_on_the_site_and_none_to_single_servers() -> None:
    design = rendered(configuration(physical_provisioner={"burn_in": {"cpu": 600, "disk": 0}}), NODE)
    rules = DesignRules(SCHEMAS.check, limits=ProvisionerLimits("Ironic", no_clean=""))
    inputs, _ = rules.read(Revision(3), design)
    assert inputs.configuration.prepare_nodes.timeout == 2400
    assert SiteInputs.from_json(inputs.to_json()) == inputs
    assert [len(steps) for steps in inputs.preparing([NodeName("n1")]).values()] == [1]

    single, _ = rules.read_targeted(Revision(3), design)
    assert (single.configuration.prepare_nodes.timeout, single.preparing([NodeName("n1")])) == (1800, {})


def test_a_burn_in_that_the_provisioner_does_not_have_leaves_nothing_to_work_from() -> None:
    design = rendered(configuration(physical_provisioner={"burn_in": {"cpu": 600}}), NODE)
    inputs, findings = DesignRules(SCHEMAS.check).read(Revision(3), design)
    assert inputs is None
    (found,) = [one for one in findings if one.name == "NoBurnIn"]
    assert found.message == "the provisioner cannot burn servers in: it has no such operation. Leave burn_in out."
    assert found.path == "/physical_provisioner/burn_in"
