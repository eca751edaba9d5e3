"""The states in which requests are made, by name. Each is built over the API, or as the engine would leave it.

A state returns what cases may name as ``$name``. One that nothing changed is used again by the next case.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.identity import IdentityKind, IdentityOptions
from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.domain.actions import ActionId, RunState, StepState
from shipyard_api.domain.documents import Revision
from shipyard_api.storage import tables as t
from shipyard_api.storage.actions import Actions
from shipyard_api.storage.writer_lock import SqlWriterLock
from shipyard_api.wiring.settings import Severity, ValidationOptions
from tests.factories import document, group_entry, layering_policy, node_document, strategy_document
from tests.integration.api.wire import Site, configuration, small_design
from tests.peer import Answer
from tests.unit.adapters.deckhand.answers import several, single

UNKNOWN_ULID = "01BTTMFVDKZFRJM80FGD7J1AKN"
SUCCESS, FAILURE = "site-action-success", "site-action-failure"
# As Drydock lists what MAAS knows.
MACHINES = [
    {"hostname": "n0", "memory": 8192, "status_name": "Deployed", "power_state": "on", "boot_ip": "172.30.1.10"},
    {"hostname": "n1", "memory": 8192, "status_name": "Failed deployment", "power_state": "off", "boot_ip": None},
]
SOUND = {"kind": "Status", "status": "Success", "details": {"errorCount": 0, "messageList": []}}
MTU = {
    "message": "MTU of bond0 exceeds the switch",
    "error": True,
    "name": "DD2003",
    "documents": [{"schema": "drydock/Network/v1", "name": "oob"}],
    "level": "Error",
    "diagnostic": None,
    "kind": "ValidationMessage",
}
TOLD_INFO = {**MTU, "message": "No VLAN is tagged", "error": False, "name": "DD1001", "level": "Info"}

VERSION_DOCUMENT = document("pegleg/DeploymentData/v1", "deployment-version", {"documents": {"commit": "abc"}})
CIRCLE = strategy_document(group_entry("a", depends_on=["b"]), group_entry("b", depends_on=["a"]))
SCHEMA_OF_KIND = {
    "schema": "deckhand/DataSchema/v1",
    "metadata": {"schema": "metadata/Control/v1", "name": "a/Kind/v1"},
    "data": {
        "$schema": "http://json-schema.org/schema#",
        "type": "object",
        "properties": {"size": {"type": "integer"}},
        "required": ["size"],
        "additionalProperties": False,
    },
}
BAD_KIND = document("a/Kind/v1", "big", {"size": "large"})
SECRET = document("deckhand/Passphrase/v1", "password", "sesame-1728", storagePolicy="encrypted")


def extra(name: str, **data: Any) -> dict[str, Any]:
    """A document that means nothing to us."""
    return document("a/B/v1", name, data)


@dataclass
class Stage:
    """The site that a state is built on; ``stack`` holds what ends with the state."""

    site: Site
    engine: sa.Engine
    stack: ExitStack

    def load(self, collection: str, *documents: dict[str, Any], **params: Any) -> int:
        """Load documents, and return the revision that came of it."""
        answer = self.site.admin.load(collection, *documents, **params)
        assert answer.status_code == 201, answer.text
        return int(self.site.designs.heads().head)

    def empty(self, collection: str) -> int:
        """Take a collection out of the buffer's design."""
        answer = self.site.admin.post(f"/configdocs/{collection}", empty_collection="true")
        assert answer.status_code == 201, answer.text
        return int(self.site.designs.heads().head)

    def commit(self, **params: Any) -> int:
        """Put the buffer into force."""
        answer = self.site.admin.commit(**params)
        assert answer.status_code == 200, answer.text
        return int(self.site.designs.heads().head)

    def tag(self, revision: int, tag: str) -> None:
        """Mark a revision as a site action does."""
        self.site.designs.tag(Revision(revision), tag, {"dag_id": "deploy_site"})

    def create(self, body: str = '{"name": "deploy_site"}', **params: Any) -> dict[str, Any]:
        """Create an action; return what cases may name of it."""
        answer = self.site.admin.act(body, **params)
        assert answer.status_code == 201, answer.text
        return {
            "action": answer.json["id"],
            "marker": answer.json["context_marker"],
            "mark": answer.json["dag_execution_date"],
            "mark_unzoned": answer.json["dag_execution_date"].removesuffix("Z"),
        }

    def advance(self, action: str, *ends: StepState, begin: bool = True) -> list[str]:
        """Let the engine end steps in these states, one after another, and begin the next; return their ids."""
        now = datetime.now(UTC) + timedelta(seconds=1)
        steps: list[str] = []
        for end in (*ends, None):
            with self.site.store.begin() as tx:
                claim = tx.turns.claim(ActionId(action), now=now, worker="w")
                assert claim is not None
                if claim.step is None or (end is None and not begin):
                    break
                steps.append(claim.step)
                tx.turns.start_step(claim, {"v": 1}, now=now)
                now += timedelta(seconds=1)
                if end is not None:
                    skipped = claim.remaining if end is StepState.FAILED else ()
                    tx.turns.end_step(claim, end, "", skipped, now=now)
        return steps

    def end(self, action: str, state: RunState) -> None:
        """Let the engine end the action, its steps first."""
        now = datetime.now(UTC) + timedelta(seconds=1)
        last = StepState.FAILED if state is RunState.FAILED else StepState.SUCCESS
        while True:
            with self.site.store.begin() as tx:
                claim = tx.turns.claim(ActionId(action), now=now, worker="w")
                if claim is None:
                    break
                if claim.step is None or claim.failed:
                    tx.turns.end_action(claim, state, now=now)
                    break
                tx.turns.start_step(claim, {"v": 1}, now=now)
                now += timedelta(seconds=1)
                skipped = claim.remaining if last is StepState.FAILED else ()
                tx.turns.end_step(claim, last, "", skipped, now=now)

    def change(self, action: str, **values: Any) -> None:
        """Change the row of an action, for what only time brings about."""
        with self.engine.begin() as connection:
            connection.execute(t.actions.update().where(t.actions.c.id == action).values(**values))


Build = Callable[[Stage], dict[str, Any]]


@dataclass(frozen=True)
class State:
    """How a state is made, and its settings; ``is_in_rows``: whether all of it is in rows and in Drydock's answers."""

    build: Build
    sections: dict[str, Any] = field(default_factory=dict)
    is_in_rows: bool = True


STATES: dict[str, State] = {}


def state(*, is_in_rows: bool = True, **sections: Any) -> Callable[[Build], Build]:
    """Enter a state under the name of its function."""

    def enter(build: Build) -> Build:
        STATES[build.__name__] = State(build, sections, is_in_rows)
        return build

    return enter


# --- documents ------------------------------------------------------------------------------------------------------


@state()
def empty(_: Stage) -> dict[str, Any]:
    """Nothing has ever been loaded."""
    return {}


@state()
def buffered(stage: Stage) -> dict[str, Any]:
    """A first design is in the buffer, nothing is committed."""
    return {"buffer": stage.load("design", *small_design()), "committed": 0}


@state()
def committed(stage: Stage) -> dict[str, Any]:
    """A design is committed, the buffer is empty."""
    stage.load("design", *small_design())
    return {"committed": stage.commit()}


@state()
def changed(stage: Stage) -> dict[str, Any]:
    """Collections of a committed design: one is as it was, one differs in the buffer, one is gone, one is new."""
    stage.load("kept", extra("kept", of="old"))
    stage.load("design", *small_design(), buffermode="append")
    stage.load("leaving", extra("leaving"), buffermode="append")
    revision = stage.commit()
    stage.load("design", *small_design(("n1", "n2", "n3")))
    answer = stage.site.admin.post("/configdocs/leaving", empty_collection="true", buffermode="append")
    assert answer.status_code == 201, answer.text
    return {"committed": revision, "buffer": stage.load("arriving", extra("arriving"), buffermode="append")}


@state()
def acted(stage: Stage) -> dict[str, Any]:
    """Four versions, four revisions: the last successful action, the last action, the commit, the buffer."""
    stage.load("design", *small_design())
    successful = stage.commit()
    stage.tag(successful, SUCCESS)
    stage.load("second", extra("second"))
    last = stage.commit()
    stage.tag(last, FAILURE)
    stage.load("third", extra("third"))
    revision = stage.commit()
    buffer = stage.load("fourth", extra("fourth"))
    return {"successful": successful, "last": last, "committed": revision, "buffer": buffer}


@state()
def intermediate(stage: Stage) -> dict[str, Any]:
    """Two commits, and no action on either."""
    stage.load("design", *small_design())
    first = stage.commit()
    stage.load("second", extra("second"))
    return {"first": first, "committed": stage.commit()}


@state()
def acted_between(stage: Stage) -> dict[str, Any]:
    """Two commits; a site action that failed used the first."""
    stage.load("design", *small_design())
    first = stage.commit()
    stage.tag(first, FAILURE)
    stage.load("second", extra("second"))
    return {"first": first, "committed": stage.commit()}


@state()
def circular(stage: Stage) -> dict[str, Any]:
    """The buffer holds a strategy whose groups wait for each other."""
    return {"buffer": stage.load("design", *small_design(), CIRCLE)}


@state()
def circular_committed(stage: Stage) -> dict[str, Any]:
    """The same, committed by force, with something that is told beside it."""
    stage.load("design", *small_design(), CIRCLE, document("armada/Chart/v1", "old", {}))
    return {"committed": stage.commit(force="true")}


@state()
def unconfigured(stage: Stage) -> dict[str, Any]:
    """The buffer holds no deployment configuration."""
    return {"buffer": stage.load("design", layering_policy(), node_document("n1"))}


@state()
def unconfigured_committed(stage: Stage) -> dict[str, Any]:
    """The same, committed by force."""
    stage.load("design", layering_policy(), node_document("n1"))
    return {"committed": stage.commit(force="true")}


@state()
def strategy_missing(stage: Stage) -> dict[str, Any]:
    """The configuration names a strategy that is not there."""
    named = configuration(physical_provisioner={"deployment_strategy": "by-rack"})
    return {"buffer": stage.load("design", layering_policy(), node_document("n1"), named)}


@state()
def schema_broken(stage: Stage) -> dict[str, Any]:
    """The buffer holds a document that breaks a data schema that came with it."""
    return {"buffer": stage.load("design", *small_design(), SCHEMA_OF_KIND, BAD_KIND)}


@state()
def unrenderable(stage: Stage) -> dict[str, Any]:
    """A document of the buffer takes from one that does not exist."""
    taking = document(
        "a/B/v1",
        "taking",
        {},
        substitutions=[{"src": {"schema": "a/C/v1", "name": "none", "path": "."}, "dest": {"path": ".x"}}],
    )
    return {"buffer": stage.load("design", *small_design(), taking)}


@state()
def secret(stage: Stage) -> dict[str, Any]:
    """A password is committed."""
    stage.load("design", *small_design())
    stage.load("secrets", SECRET, buffermode="append")
    return {"committed": stage.commit()}


@state(in_deckhand=True)
def deckhand_objects(stage: Stage) -> dict[str, Any]:
    """Documents are kept in a Deckhand that has nothing, and will store that the next ones fail."""
    peer = stage.site.drydock
    errors = [
        {
            "schema": "a/Kind/v1",
            "name": "big",
            "message": "'large' is not of type 'integer'",
            "error_section": {"size": "large"},
            "path": ".size",
            "schema_path": ".properties.size.type",
        }
    ]
    entry = {"id": 0, "name": "deckhand-schema-validation", "status": "failure", "errors": errors}
    stored = [{**BAD_KIND, "id": 1, "status": {"bucket": "design", "revision": 1}}]
    peer.on("GET /revisions", single({"count": 0, "next": None, "prev": None, "results": []}))
    peer.on("PUT /buckets/design/documents", several(*stored))
    peer.on("GET /revisions/1/documents", several(*stored))
    peer.on("GET /revisions/1/validations/detail", single({"count": 1, "results": [entry]}))
    return {}


@state(validations=ValidationOptions(deployment_version_create=Severity.INFO))
def version_info(_: Stage) -> dict[str, Any]:
    """Loading without a deployment version is told."""
    return {}


@state(validations=ValidationOptions(deployment_version_create=Severity.WARNING))
def version_warning(_: Stage) -> dict[str, Any]:
    """Loading without a deployment version is a warning."""
    return {}


@state(validations=ValidationOptions(deployment_version_create=Severity.ERROR))
def version_error(_: Stage) -> dict[str, Any]:
    """Nothing is loaded without a deployment version."""
    return {}


@state(validations=ValidationOptions(deployment_version_commit=Severity.INFO))
def version_commit_info(stage: Stage) -> dict[str, Any]:
    """A committed design without a deployment version; that is told."""
    return committed(stage)


@state(validations=ValidationOptions(deployment_version_commit=Severity.WARNING))
def version_commit_warning(stage: Stage) -> dict[str, Any]:
    """A committed design without a deployment version; that is a warning."""
    return committed(stage)


@state(validations=ValidationOptions(deployment_version_commit=Severity.ERROR))
def version_commit_error(stage: Stage) -> dict[str, Any]:
    """A design in the buffer without the deployment version that a commit must have."""
    return buffered(stage)


@state(validations=ValidationOptions(deployment_version_commit=Severity.ERROR))
def version_missing_committed(stage: Stage) -> dict[str, Any]:
    """The same, committed by force."""
    stage.load("design", *small_design())
    return {"committed": stage.commit(force="true")}


# --- who may what ---------------------------------------------------------------------------------------------------


@state(rules={"action_deploy_site": "!", "list_actions": "!", "get_action": "role:admin", "action_test_site": "@"})
def ruled(stage: Stage) -> dict[str, Any]:
    """An operator's own rules: nobody deploys the site or lists actions, viewers see no action."""
    return committed(stage)


@state(rules={"list_actions": "http://127.0.0.1:9/check"})
def rules_out_of_order(_: Stage) -> dict[str, Any]:
    """A rule that asks somebody who does not answer."""
    return {}


KEYSTONE = "http://127.0.0.1:9/v3"


@state(
    identity=IdentityOptions(kind=IdentityKind.KEYSTONE),
    keystone=KeystoneOptions(auth_url=KEYSTONE, user="shipyard", password="secret", project="service"),
)
def keystone(_: Stage) -> dict[str, Any]:
    """Tokens are those of a Keystone."""
    return {}


# --- other processes ------------------------------------------------------------------------------------------------


@state(is_in_rows=False)
def locked(stage: Stage) -> dict[str, Any]:
    """Another process is writing configdocs, with a design in the buffer."""
    names = buffered(stage)
    stage.stack.enter_context(SqlWriterLock(stage.engine).held())
    return names


@state(is_in_rows=False)
def broken(stage: Stage) -> dict[str, Any]:
    """A bug of ours."""

    def breaks(*_: object) -> None:
        raise RuntimeError("the password is swordfish")

    patch = stage.stack.enter_context(pytest.MonkeyPatch.context())
    patch.setattr(Actions, "__init__", breaks)
    return {}


@state()
def database_down(_: Stage) -> dict[str, Any]:
    """The database cannot be reached; the fixture gives this state an API of its own."""
    return {}


def _drydock_says(route: str, *answers: Answer) -> Callable[[Stage], dict[str, Any]]:
    def build(stage: Stage) -> dict[str, Any]:
        names = buffered(stage)
        stage.site.drydock.on(route, *answers)
        return names

    return build


def _validation(*messages: dict[str, Any], status: str) -> dict[str, Any]:
    errors = sum(bool(message["error"]) for message in messages)
    return {"kind": "Status", "status": status, "details": {"errorCount": errors, "messageList": list(messages)}}


_PEERS: dict[str, tuple[Answer, ...]] = {
    "drydock_objects": (Answer(200, _validation(MTU, status="Failure")),),
    "drydock_objects_400": (Answer(400, _validation(MTU, status="Failure")),),
    "drydock_remarks": (Answer(200, _validation(TOLD_INFO, status="Success")),),
    "drydock_breaks": (Answer(500, {"message": "out of order"}),),
    "drydock_without_details": (Answer(200, {"status": "Success"}),),
    "drydock_down": (),
}
for _name, _answers in _PEERS.items():
    STATES[_name] = State(_drydock_says("POST /validatedesign", *_answers))


def _site_says(*answers: Answer) -> Callable[[Stage], dict[str, Any]]:
    def build(stage: Stage) -> dict[str, Any]:
        stage.site.drydock.on("GET /nodes", *answers)
        return {}

    return build


STATES["machines"] = State(_site_says(Answer(200, MACHINES)))
STATES["no_machines"] = State(_site_says(Answer(200, [])))
# Not 403, which after an earlier state's answers would be the silence of a restarting peer.
STATES["machines_refused"] = State(_site_says(Answer(400, {"message": "no"})))
STATES["machines_broken"] = State(_site_says(Answer(500, {"message": "MAAS is away"})))
STATES["machines_silent"] = State(_site_says())


__all__ = ["MTU", "STATES", "TOLD_INFO", "UNKNOWN_ULID", "Stage", "State"]
