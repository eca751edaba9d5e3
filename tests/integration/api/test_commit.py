"""Putting the buffer into force: what is checked, what is found, and what comes of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import falcon
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.adapters.promenade.options import PromenadeOptions
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.wiring import bootstrap, parts
from tests.factories import document, group_entry, layering_policy, node_document, strategy_document
from tests.integration.api.conftest import NO_FAULT, new_site, settings
from tests.integration.api.contract.states import MTU
from tests.integration.api.wire import (
    Site,
    configuration,
    everything_said,
    messages,
    small_design,
)
from tests.integration.storage.rows import empty
from tests.peer import Answer, Peer, running

LOOP = [group_entry("a", depends_on=["b"]), group_entry("b", depends_on=["a"])]


def bad_design(*groups: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*small_design(), strategy_document(*groups)]


def outcome(answer: Result) -> tuple[str, str, str, int]:
    """HTTP status, status, message and count; the code in the body is always that of the answer."""
    assert answer.json["code"] == answer.status
    return answer.status, answer.json["status"], answer.json["message"], answer.json["details"]["errorCount"]


def names(answer: Result) -> list[str]:
    return [entry["name"] for entry in messages(answer)]


def is_committed(site: Site) -> bool:
    return site.viewer.get("/configdocs/design", version="committed").status == falcon.HTTP_200


def is_in_buffer(site: Site) -> bool:
    return site.viewer.get("/configdocs/design").status == falcon.HTTP_200


def test_all_faults_of_a_strategy_are_told_at_once(site: Site) -> None:
    site.admin.load(
        "design",
        *bad_design(
            group_entry("a", depends_on=["b"]),
            group_entry("b", depends_on=["c"]),
            group_entry("c", depends_on=["a", "ntp-nod"]),
            group_entry("a", critical="yes"),
            group_entry("ntp-node", depends_on=["ntp-node"], success_criteria={"percent_successful_nodes": 101}),
            group_entry("x", selectors=[{"node_label": ["k:v"]}], sucess_criteria={}),
            {"name": "y"},
        ),
    )

    answer = site.admin.commit()

    found = sorted((entry["name"], entry.get("path", "")) for entry in messages(answer))
    assert found == [
        ("DeploymentGroupCycleError", "/groups/0/depends_on"),
        ("DeploymentGroupCycleError", "/groups/4/depends_on/0"),
        ("DuplicateDeploymentGroup", "/groups/3/name"),
        ("SchemaError", "/groups/3/critical"),
        ("SchemaError", "/groups/4/success_criteria/percent_successful_nodes"),
        ("SchemaError", "/groups/5/selectors/0"),
        ("SchemaError", "/groups/6"),
        ("SchemaError", "/groups/6"),
        ("SchemaError", "/groups/6"),
        ("UnknownDeploymentGroup", "/groups/2/depends_on/1"),
        ("UnknownDeploymentGroupKey", "/groups/5/sucess_criteria"),
    ]
    said = everything_said(answer)
    for words in ("a -> b -> c -> a", "ntp-node -> ntp-node", "Did you mean 'ntp-node'?", "'success_criteria'"):
        assert words in said
    strategy = [{"schema": "shipyard/DeploymentStrategy/v1", "name": "deployment-strategy"}]
    assert all(entry["documents"] == strategy for entry in messages(answer))
    assert outcome(answer)[3] == 10  # the misspelt key is a warning


def test_warnings_and_notices_do_not_block(site: Site) -> None:
    site.admin.load(
        "design",
        layering_policy(),
        configuration(),
        node_document("n1", rack="r1", tags=["x"]),
        document("armada/Chart/v1", "old", {}),
        strategy_document(
            group_entry("none", selectors=[{"rack_names": ["nowhere"]}]),
            group_entry("few", success_criteria={"minimum_successful_nodes": 2}),
            group_entry("again", selectors=[{"node_tags": ["x"]}], note="hello"),
        ),
    )

    answer = site.admin.commit()

    assert outcome(answer) == (falcon.HTTP_200, "Success", "Validations succeeded", 0)
    assert {(entry["name"], entry["level"]) for entry in messages(answer)} == {
        ("ArmadaDocumentsIgnored", "Info"),
        ("UnknownDeploymentGroupKey", "Warning"),
        ("DeploymentGroupEmpty", "Warning"),
        ("DeploymentGroupMinimumUnreachable", "Warning"),
        ("NodesInSeveralDeploymentGroups", "Info"),
    }
    assert not any(entry["error"] for entry in messages(answer))


def test_the_strategy_that_the_configuration_names_is_the_one_that_counts(site: Site) -> None:
    """Others do not, nor does an abstract one without that; labels may be written either way."""
    labels = ({"node_labels": ["role: control", "role:control"]}, {"node_labels": [{"role": "control"}]})
    groups = [group_entry(name, selectors=[one]) for name, one in zip("ab", labels, strict=True)]
    design = [layering_policy(), node_document("n1", labels={"role": "control"}), strategy_document(*LOOP)]
    named = configuration(physical_provisioner={"deployment_strategy": "mine"})
    site.admin.load("design", *design, named, strategy_document(*groups, name="mine"))
    answer = site.admin.commit()
    found = [entry["name"] for entry in messages(answer) if entry["level"] != "Info" or "Several" in entry["name"]]
    assert (answer.status, found) == (falcon.HTTP_200, ["NodesInSeveralDeploymentGroups"])

    design[-1]["metadata"]["layeringDefinition"] = {"abstract": True, "layer": "global"}
    site.admin.load("design", *design, configuration(), buffermode="replace")
    answer = site.admin.commit()
    assert (answer.status, names(answer)) == (falcon.HTTP_200, ["DeploymentStrategyNotSpecified"])


def said_by_drydock(site: Site, *entries: dict[str, Any], code: int = 200) -> None:
    """Let Drydock say this about the next designs."""
    wrong = sum(entry["error"] for entry in entries)
    status = {"kind": "Status", "status": "Failure" if wrong else "Success"}
    site.drydock.on("POST /validatedesign", Answer(code, status | {"details": {"messageList": list(entries)}}))


def test_shipyards_own_findings_come_first_and_do_not_keep_the_peers_from_being_asked(site: Site) -> None:
    """What Drydock says, or cannot say, and what comes of it is in the wire cases of commits."""
    said_by_drydock(site, MTU)
    site.admin.load("design", *bad_design(*LOOP))

    answer = site.admin.commit(dryrun="true")

    assert [entry["name"] for entry in messages(answer) if entry["error"]] == ["DeploymentGroupCycleError", "DD2003"]
    (asked,) = site.drydock.asked("POST /validatedesign")
    assert asked.json == {"rel": "design", "href": "http://127.0.0.1:9/1", "type": "application/x-yaml"}


@dataclass
class Meanwhile(Answer):
    """An answer before which something else happens."""

    do: Callable[[], object] = str

    @property
    def content(self) -> bytes:
        self.do()
        return super().content


def test_what_is_loaded_while_drydock_looks_is_taken_and_the_commit_is_refused(site: Site) -> None:
    """Nobody waits for Drydock, which may take minutes, and nothing is committed that it did not see."""
    loaded: list[Result] = []
    other = node_document("n9")
    look = Meanwhile(body=NO_FAULT.body, do=lambda: loaded.append(site.admin.load("other", other, buffermode="append")))
    site.drydock.on("POST /validatedesign", look, NO_FAULT)
    site.admin.load("design", *small_design())

    answer = site.admin.commit()

    assert [one.status for one in loaded] == [falcon.HTTP_201]
    assert (answer.status, answer.json["message"]) == (
        falcon.HTTP_409, "Unable to commit configuration documents",
    )  # fmt: skip
    assert answer.json["reason"].startswith("The buffer was changed while it was checked: ")
    assert answer.json["retry"] is True
    assert (is_committed(site), is_in_buffer(site)) == (False, True)
    assert site.admin.commit().status == falcon.HTTP_200


def test_promenade_is_asked_at_the_commit_and_by_the_actions_where_it_is_set(
    shared_url: str, store: Store, engine: sa.Engine, drydock: Peer
) -> None:
    refusal = {"details": {"messageList": [{"message": "no etcd in it", "error": True, "name": "P1"}]}}
    with running() as promenade:
        promenade.on("POST /validatedesign", Answer(400, refusal))
        own = settings(shared_url, drydock.url, promenade=PromenadeOptions(url=promenade.url))
        empty(engine)
        site = new_site(bootstrap.api(own), store, engine, drydock)
        site.admin.load("design", *small_design())

        committed = site.admin.commit(force="true")
        definition = parts.definitions(parts.build(own))[ActionName("deploy_site")]
        step = definition.steps({})[StepId("validate_site_design.promenade_validate_site_design")]
        looked = step.ask(1)

    assert [one["message"] for one in messages(committed) if one["error"]] == ["no etcd in it"]
    assert [one.message for one in looked] == ["no etcd in it"]
    assert [one.json["href"] for one in promenade.asked("POST /validatedesign")] == ["http://127.0.0.1:9/1"] * 2
