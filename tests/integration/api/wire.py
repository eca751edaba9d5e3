"""Callers of the API in this process, and the documents that they send."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.api.mount import Mount
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.strategy.strategy import DEFAULT_STRATEGY_NAME
from shipyard_api.storage import tables as t
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.yaml_stream import write_documents
from tests.conftest import ROOT
from tests.factories import (
    document,
    five_groups_data,
    five_groups_inventory,
    layering_policy,
    node_document,
    strategy_document,
)
from tests.integration.api import description
from tests.integration.api.in_process import Client
from tests.integration.storage import rows
from tests.peer import Peer

V1 = "/api/v1.0"
YAML = {"Content-Type": "application/x-yaml"}
JSON = {"Content-Type": "application/json"}

T = TypeVar("T")
_KEPT: dict[Callable[..., Any], tuple[Mapping[str, bytes], Any]] = {}
_DESIGN_TABLES = (t.revisions, t.document_contents, t.revision_documents, t.revision_tags)
_COMMITTED: dict[tuple[str, bytes], list[tuple[sa.Table, list[dict[str, Any]]]]] = {}


class Caller:
    """Somebody with a token, or without; every answer they get is held to the OpenAPI document."""

    def __init__(self, app: Mount, token: str | None) -> None:
        self.client = Client(app, headers={"X-Auth-Token": token} if token else None)

    def ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        query: str | None = None,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Result:
        """Send a request; ``query`` is a query string that is sent as it is."""
        answer = self.client.simulate_request(
            method, path, params=params, query_string=query, body=body, headers=headers
        )
        if method != "HEAD":
            description.check(method, path, answer)
        return answer

    def get(self, path: str, **params: Any) -> Result:
        """GET below the version's prefix; a ``_`` in the name of a parameter stands for ``-``."""
        return self.ask("GET", f"{V1}{path}", params=_dashed(params))

    def post(
        self, path: str, body: bytes | str | None = None, headers: Mapping[str, str] | None = None, **params: Any
    ) -> Result:
        """POST, in the same way."""
        return self.ask("POST", f"{V1}{path}", params=_dashed(params), body=body, headers=headers)

    def load(self, collection: str, *documents: Mapping[str, Any], **params: Any) -> Result:
        """Load documents into the buffer."""
        return self.post(f"/configdocs/{collection}", write_documents(documents), YAML, **params)

    def commit(self, **params: Any) -> Result:
        """Commit the buffer."""
        return self.post("/commitconfigdocs", **params)

    def act(self, body: str = '{"name": "deploy_site"}', **params: Any) -> Result:
        """Create an action."""
        return self.post("/actions", body, JSON, **params)


@dataclass(frozen=True)
class Site:
    """An API on an empty database: who may write, who may read, who fetches designs, who may nothing."""

    admin: Caller
    viewer: Caller
    peer: Caller
    nobody: Caller
    store: Store
    designs: SqlDesigns
    drydock: Peer

    def commit(self, *documents: Mapping[str, Any], collection: str = "design") -> int:
        """Put documents into force, and return the revision.

        What a process has once committed to an empty database is put there as rows from then on: what a commit
        says, asks and writes elsewhere is tested with ``admin.load`` and ``admin.commit``.
        """
        design = collection, write_documents(documents)
        with self.store._engine.begin() as connection:
            is_first = connection.exec_driver_sql("SELECT NOT EXISTS (SELECT FROM revisions)").scalar_one()
            if is_first and (kept := _COMMITTED.get(design)):
                for table, of_table in kept:
                    connection.execute(table.insert(), of_table)
                return 1
        assert self.admin.load(collection, *documents).status == falcon.HTTP_201
        answer = self.admin.commit()
        assert answer.status == falcon.HTTP_200, answer.text
        if is_first:
            self._keep(design)
        revision = Revision(self.admin.get("/configdocs").json[0]["new_revision"])
        self._check_later(revision)
        return revision

    def _check_later(self, revision: Revision) -> None:
        """No passing of time changes what an action reads of a design that was accepted."""
        design, now = RenderedDesigns(self.designs).of(revision), datetime.now(UTC)
        rules = [
            DesignRules(SchemaFiles(ROOT / "schemas").check, now=partial(now.__add__, timedelta(days=days)))
            for days in (0, 1, 31, 366)
        ]
        first, *later = [at_moment.read(revision, design) for at_moment in rules]
        assert all(found == first for found in later)

    def _keep(self, design: tuple[str, bytes]) -> None:
        with self.store._engine.connect() as connection:
            found = {table: connection.execute(table.select()).mappings().all() for table in _DESIGN_TABLES}
        # A store elsewhere leaves no rows, and the key of secrets is no part of a design.
        if all(found.values()) and all(row["sealed"] is None for row in found[t.document_contents]):
            _COMMITTED[design] = [(table, list(map(_kept, listed))) for table, listed in found.items()]

    def kept(self, build: Callable[["Site"], T]) -> T:
        """Return what ``build`` returns for an empty site: its rows are built once for a process, with their moments.

        ``build`` is a function of a module: what it depends on is the same for every test.
        """
        engine = self.store._engine
        if build in _KEPT:
            rows.put(engine, _KEPT[build][0])
        else:
            built = build(self)
            _KEPT[build] = rows.saved(engine), built
        found: T = _KEPT[build][1]
        return found

    def create_action(self) -> str:
        """Create an action on the committed revision, and return its id."""
        answer = self.admin.act()
        assert answer.status == falcon.HTTP_201, answer.text
        return str(answer.json["id"])


def kept(build: Callable[[Site], T]) -> Any:
    """Return a fixture of a state that is built once for a process (``Site.kept``)."""

    @pytest.fixture
    def found(site: Site) -> T:
        return site.kept(build)

    return found


def configuration(**sections: Any) -> dict[str, Any]:
    """The smallest deployment configuration, with more sections."""
    data = {"armada": {"manifest": "full-site"}, **sections}
    return document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", data)


def small_design(nodes: Sequence[str] = ("n1", "n2")) -> list[dict[str, Any]]:
    """A sound design without a strategy."""
    return [configuration(), *(node_document(name) for name in nodes), layering_policy()]


def five_groups_design() -> list[dict[str, Any]]:
    """A sound design: the example of five groups, with the 16 nodes that they hold."""
    nodes = [
        node_document(node.name, rack=node.rack, tags=sorted(node.tags))
        for node in five_groups_inventory().nodes.values()
        if node.name not in ("control05", "compute31")
    ]
    strategy = strategy_document(*five_groups_data()["groups"], name=DEFAULT_STRATEGY_NAME)
    return [layering_policy(), configuration(), strategy, *nodes]


def messages(answer: Result) -> list[dict[str, Any]]:
    """The messages of a Status object."""
    listed: list[dict[str, Any]] = answer.json["details"]["messageList"]
    return listed


def everything_said(answer: Result) -> str:
    """All that a person reads in a Status object."""
    status = answer.json
    lines = [str(status["message"]), str(status["reason"])]
    for entry in messages(answer):
        lines += [entry["message"], entry.get("path", ""), entry.get("diagnostic") or ""]
    return "\n".join(lines)


def _kept(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row says, without moments, which the database knows, and without empty columns."""
    return {name: value for name, value in row.items() if value is not None and name not in ("created_at", "set_at")}


def _dashed(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in params.items()}
