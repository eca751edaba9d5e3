"""Putting the buffer into force: what is checked, what is found, and what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass

import falcon
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.adapters.promenade import PromenadeOptions
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.wiring import bootstrap, parts
from tests.factories import node_document
from tests.integration.api.conftest import NO_FAULT, new_site, settings
from tests.integration.api.contract.states import CIRCLE, MTU
from tests.integration.api.wire import Site, messages, small_design
from tests.integration.storage.rows import empty
from tests.peer import Answer, Peer, running


def test_shipyards_own_findings_come_first_and_do_not_keep_the_peers_from_being_asked(site: Site) -> None:
    """What Drydock says, or cannot say, and what comes of it is in the wire cases of commits."""
    status = {"kind": "Status", "status": "Failure", "details": {"messageList": [MTU]}}
    site.drydock.on("POST /validatedesign", Answer(200, status))
    site.admin.load("design", *small_design(), CIRCLE)

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
    held = [site.viewer.get("/configdocs/design", **version).status_code for version in ({"version": "committed"}, {})]
    assert held == [404, 200]
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
        step = definition.steps(ActionInputs())[StepId("validate_site_design.promenade_validate_site_design")]
        looked = step.ask(1)

    assert [one["message"] for one in messages(committed) if one["error"]] == ["no etcd in it"]
    assert [one.message for one in looked] == ["no etcd in it"]
    assert [one.json["href"] for one in promenade.asked("POST /validatedesign")] == ["http://127.0.0.1:9/1"] * 2
