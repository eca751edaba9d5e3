"""Routes, policy and the OpenAPI document say the same."""

from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import falcon
import pytest
import yaml
from jsonschema import Draft202012Validator

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.adapters.drydock import DrydockOptions
from shipyard_api.api import sites
from shipyard_api.api.airship import app as app_module
from shipyard_api.api.airship.holds import FORCE_RULE, POLICY_RULE
from shipyard_api.api.airship.plans import STORE_RULE
from shipyard_api.api.http.authentication import Guarded
from shipyard_api.api.http.dialect import DIALECTS
from shipyard_api.api.mount import Mount
from shipyard_api.domain.actions import RunState, StepState
from shipyard_api.domain.cases.case import CaseKind
from shipyard_api.domain.documents import Version
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus, Reason
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.policy import DELETE_BLOCKED, GUARDS, WITHOUT_APPROVAL, default_roles
from shipyard_api.settings.types import Secret
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import DatabaseOptions, Settings, share_directory
from tests.integration.api import description
from tests.integration.api.in_process import Client
from tests.unit.tables import every_row

WRITE = {"admin", "admin_ucp"}
READ = WRITE | {"admin_ucp_viewer", "viewer"}
# What changes nothing, although it is a POST.
HEALTH_RULE = "workflow_orchestrator:report_health"  # a health source places and ends its own holds, and no others
LOOKING = {
    "workflow_orchestrator:create_plan",
    "workflow_orchestrator:get_action",
    "workflow_orchestrator:get_forecast",
}


@pytest.fixture(scope="module")
def application() -> tuple[Mount, dict[str, Any]]:
    """The application and its routes; nothing is asked that would need the database."""
    tables: list[dict[str, Any]] = []
    real = app_module.routes

    def recorded(own: app_module.Collaborators) -> dict[str, Any]:
        tables.append(real(own))
        return tables[-1]

    settings = Settings(
        database=DatabaseOptions(url=Secret("postgresql://nobody@127.0.0.1:9/none")),
        of_plugins={"drydock": DrydockOptions(url="http://127.0.0.1:9", design_url="http://127.0.0.1:9/{revision}")},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_module, "routes", recorded)
        made = bootstrap.api(settings)
    return made, tables[0]


@pytest.fixture
def routes(application: tuple[Mount, dict[str, Any]]) -> dict[str, Any]:
    return application[1]


def _methods(resource: object) -> set[str]:
    return {method for method in falcon.COMBINED_METHODS if hasattr(resource, f"on_{method.lower()}")}


def _of_every_dialect(routes: dict[str, Any]) -> dict[str, Any]:
    further = (dialect.routes(Mock()) for dialect in DIALECTS.installed().values())
    return routes | {path: resource for own in further for path, resource in own.items()}


def test_the_document_has_exactly_the_routes(routes: dict[str, Any]) -> None:
    everything = _of_every_dialect(routes)
    served = {(method, path) for path, resource in everything.items() for method in _methods(resource)}
    described = {(method, path) for method, path, _ in description.operations()}

    assert described == served
    assert set(description.read()["paths"]) == set(everything)


def test_the_document_of_many_sites_has_exactly_the_routes_outside_of_them() -> None:
    resources = sites.routes({}, Path("unread"))
    served = {(method, path) for path, resource in resources.items() for method in _methods(resource)}
    document = description.read("openapi-sites")

    assert {(method, path) for method, path, _ in description.operations(document)} == served
    assert {rule for resource in resources.values() for rule in resource.policy.values()} == {None}
    assert document["security"] == []
    assert document["info"]["version"] == description.read()["info"]["version"]


def test_every_method_has_a_rule_that_exists_and_no_rule_is_left_over(routes: dict[str, Any]) -> None:
    used: set[str | None] = set()
    for path, resource in _of_every_dialect(routes).items():
        assert isinstance(resource, Guarded), path
        assert set(resource.policy) == _methods(resource), path
        used |= {*resource.policy.values(), getattr(resource, "cleartext_rule", None)}

    used |= {ACTIONS[name].right for name in ACTIONS.listed}  # what POST /actions asks as well
    used |= {FORCE_RULE, POLICY_RULE, DELETE_BLOCKED, STORE_RULE, WITHOUT_APPROVAL}
    assert used - {None} == {rule.name for rule in GUARDS}


def test_what_changes_something_is_for_admins_only(routes: dict[str, Any]) -> None:
    for path, resource in routes.items():
        for method, rule in resource.policy.items():
            if rule is not None:
                writers = WRITE | {"health"} if rule == HEALTH_RULE else WRITE
                allowed = (READ, READ | {"peer"}) if method == "GET" or rule in LOOKING else (writers,)
                assert default_roles(rule) in allowed, f"{method} {path}"
        if rule := getattr(resource, "cleartext_rule", None):
            assert default_roles(rule) in (WRITE, WRITE | {"peer"}), path


def test_the_document_tells_who_may_do_what(routes: dict[str, Any]) -> None:
    everything = _of_every_dialect(routes)
    for method, path, operation in description.operations():
        rule = everything[path].policy[method]
        assert operation.get("x-policy") == rule, f"{method} {path}"
        assert (operation.get("security") == []) == (rule is None), f"{method} {path}"


@every_row({f"{one[0]} {one[1]}": one for one in description.airship_operations()})
def test_every_operation_names_its_answers(method: str, path: str, operation: dict[str, Any]) -> None:
    codes = set(operation["responses"])
    wanted = {"400"}  # the verbosity is checked everywhere
    if operation.get("security") != []:
        wanted |= {"401", "403", "417", "503"}
    if "{action_id}" in path or "{revision}" in path:
        wanted |= {"404"}
    if "requestBody" in operation:
        wanted |= {"413"}

    assert wanted <= codes
    assert any(code.startswith(("2", "303")) for code in codes)
    resolved = _parameters(path, operation)
    # An empty parameter counts as absent; of a list, an empty value is one that the form of a query cannot show. An
    # operation on a node refuses an empty limit.
    operates = method.upper() == "POST" and path.startswith("/api/v1.0/nodes/{node_name}/")
    for one in resolved:
        refuses = one["schema"].get("type") == "array" or (operates and one["name"] != "verbosity")
        assert one.get("allowEmptyValue", False) == (one["in"] == "query" and not refuses), one["name"]
    assert {"verbosity", "X-Context-Marker"} <= {one["name"] for one in resolved}


def _parameters(path: str, operation: dict[str, Any]) -> list[dict[str, Any]]:
    parameters = [*description.read()["paths"][path].get("parameters", ()), *operation.get("parameters", ())]
    return [description.at(one["$ref"]) if "$ref" in one else one for one in parameters]


def test_every_operation_has_a_tag_and_an_id_of_its_own_and_the_parameters_of_its_path() -> None:
    """The page of the API has a chapter for each tag; what the specification asks for, ./dev check asks too."""
    tags = {tag["name"] for tag in description.read()["tags"]}
    ids = Counter(operation["operationId"] for _, _, operation in description.operations())
    for method, path, operation in description.operations():
        assert set(operation["tags"]) <= tags, f"{method} {path}"
        in_path = {one["name"] for one in _parameters(path, operation) if one["in"] == "path"}
        assert in_path == {part[1:-1] for part in path.split("/") if part.startswith("{")}, f"{method} {path}"
    assert set(ids.values()) == {1}


def test_every_answer_names_the_request() -> None:
    for method, path, operation in description.operations():
        for code, response in operation["responses"].items():
            found = description.at(response["$ref"]) if "$ref" in response else response
            assert "X-Shipyard-Req" in found["headers"], f"{method} {path} {code}"
            assert ("Location" in found["headers"]) == (code == "201")
            assert ("WWW-Authenticate" in found["headers"]) == (code == "401")


def test_references_lead_somewhere_and_nothing_is_left_over() -> None:
    used = {reference for reference in _references(description.read()) if description.at(reference) is not None}

    components = description.read()["components"]
    kept = {
        f"#/components/{kind}/{name}"
        for kind in ("parameters", "responses", "headers", "schemas")
        for name in components[kind]
    }
    assert kept == used
    schemes = {name for requirement in description.read()["security"] for name in requirement}
    assert schemes == set(components["securitySchemes"])


def test_schemas_and_their_examples_are_sound() -> None:
    for schema in description.read()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for place, schema, example in _examples(description.read(), "#"):
        is_stream = isinstance(example, str) and "Document" in str(schema)
        value = _documents(example, schema) if is_stream else example
        faults = [fault.message for fault in description.validator(place).iter_errors(value)]
        assert faults == [], place


def test_the_body_of_a_new_action_is_what_its_schema_says() -> None:
    """Two copies, since the document is served to those who have no files of ours."""
    shown = dict(description.read()["components"]["schemas"]["ActionRequest"])
    shown["properties"] = {name: _bare(one) for name, one in shown["properties"].items()} | {"name": {"type": "string"}}
    limit = shown["properties"]["parameters"].pop("maxProperties")
    directory = share_directory() / "schemas"
    held = yaml.safe_load((directory / "action_v1.yaml").read_text(encoding="utf-8"))

    assert {key: shown[key] for key in ("type", "required", "properties")} == {
        key: held[key] for key in ("type", "required", "properties")
    }
    for name in ACTIONS.listed:
        parameters = yaml.safe_load((directory / "actions" / f"{name}.yaml").read_text(encoding="utf-8"))
        assert parameters["maxProperties"] == limit


@every_row(
    [
        pytest.param(Version, "Version", id="versions"),
        pytest.param(GroupStatus, "GroupStatus", id="statuses of groups"),
        pytest.param(NodeStatus, "NodeStatus", id="statuses of nodes"),
        pytest.param(RunState, "ActionFields/properties/dag_status", id="states of actions"),
        pytest.param(StepState, "StepState", id="states of steps"),
        pytest.param(Reason, "DeploymentGroup/properties/reason", id="reasons of groups"),
        pytest.param(Phase, "ListedPhase/properties/phase", id="phases"),
        pytest.param(CaseKind, "Case/properties/kind", id="kinds of cases"),
        pytest.param(PhaseStatus, "ListedPhase/properties/status", id="phase statuses"),
    ],
)
def test_the_words_of_the_wire_are_those_of_the_domain(words: Any, pointer: str) -> None:
    listed = description.at(f"#/components/schemas/{pointer}")["enum"]

    assert [word for word in listed if word is not None] == [word.value for word in words]


def test_the_actions_of_the_wire_are_those_of_the_catalog() -> None:
    assert description.at("#/components/schemas/ActionName")["enum"] == [action.name for action in ACTIONS]


def test_the_document_is_served_as_it_is(application: tuple[Mount, dict[str, Any]]) -> None:
    answer = Client(application[0]).simulate_get("/openapi.json")

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json == description.read()


def _documents(example: str, schema: Any) -> Any:
    """The documents of an answer are described as an array, those of a load one by one."""
    documents = list(yaml.safe_load_all(example))
    return documents if "StoredDocuments" in str(schema) else documents[0]


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [found for item in value.values() for found in _references(item)]
    return [found for item in value for found in _references(item)] if isinstance(value, list) else []


def _examples(value: Any, place: str) -> list[tuple[str, Any, Any]]:
    """Every example beside a schema: where the schema is, the schema, the example."""
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in _examples(item, f"{place}/{index}")]
    if not isinstance(value, dict):
        return []
    own = [(f"{place}/schema", value["schema"], value["example"])] if {"schema", "example"} <= set(value) else []
    return own + [
        found for key, item in value.items() for found in _examples(item, f"{place}/{description.escape(key)}")
    ]


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "description"}
