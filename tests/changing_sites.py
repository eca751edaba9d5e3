"""Sites whose design changes, before simulated peers: the documents as their operators wrote them, layers and all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from msgspec.structs import replace

from shipyard_api.actions.frozen_software import FrozenSoftware
from shipyard_api.actions.site_checks import RemoteAccess
from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.adapters.encryption.fernet import FernetEncryption, new_key
from shipyard_api.adapters.etcd.gateway import EtcdGateway
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.documents import BAREMETAL_NODE, Revision, Version
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.layers import SITE, Layer, ReleaseId
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.plan import Plan, PlanAction
from shipyard_api.usecases.actions.plan_software import PlanSoftware
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.nodes.drain_plan import PlanDrain
from shipyard_api.yaml_stream import read_documents
from tests.conftest import ROOT, site_file
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.redeploy_world import RedeployWorld
from tests.simulated_world import Site
from tests.world import SCHEMAS, Checkpoints

WRITTEN: Mapping[str, Callable[[], bytes]] = {
    "small-site": (ROOT / "docs" / "examples" / "small-site.yaml").read_bytes,
    "seaworthy": lambda: site_file("seaworthy.yaml").read_bytes(),
    "airsloop": lambda: site_file("airsloop.yaml").read_bytes(),
}
"""The streams of documents, by the name of their site; a real one skips the test where the data is not there."""

Documents = list[dict[str, Any]]
_KEY = new_key()


def written(name: str) -> Documents:
    """Return the documents of a site, of which a test may change each."""
    return list(read_documents(WRITTEN[name]()))


def servers_of(documents: Documents) -> list[str]:
    """Return the servers of a design."""
    concrete = (entry for entry in documents if not entry["metadata"].get("layeringDefinition", {}).get("abstract"))
    return [entry["metadata"]["name"] for entry in concrete if entry["schema"] == BAREMETAL_NODE]


@dataclass(frozen=True)
class WrittenSite(Site):
    """A site with its own documents, whatever the groups of its world."""

    written: Sequence[Mapping[str, Any]] = ()

    def documents(self, groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [*map(dict, self.written), *map(dict, self.further)]


@cache
def _encryption() -> FernetEncryption:
    return FernetEncryption([_KEY])


@dataclass
class ChangingWorld(RedeployWorld):
    """A deployed site that keeps secrets, reaches its servers over SSH, and says what an action would do.

    Its programs render each revision once, as those of the product.
    """

    tasks: FakeRemoteTasks = field(default_factory=FakeRemoteTasks)
    _rendered: RenderedDesigns | None = field(default=None, init=False)
    _logged: int = field(default=0, init=False)

    def designs(self) -> SqlDesigns:
        return SqlDesigns(self.engine(), _encryption(), DataSchemas())

    def rendered(self) -> RenderedDesigns:
        if self._rendered is None:
            self._rendered = RenderedDesigns(self.designs())
        return self._rendered

    def freeze(self, name: ActionName, revision: Revision | None, written: JsonObject) -> FrozenSoftware | None:
        return self.planner().freeze(name, revision, written)

    def plan(self, name: ActionName, **parameters: Any) -> Plan:
        """Return the plan of an action on the committed design."""
        return self.planner()(ActionRequest(name, parameters, None), Version.COMMITTED, complete=True)

    def planner(self) -> PlanAction:
        store, definitions, rendered = self.store(), self.definitions(Checkpoints()), self.rendered()
        check = self.check()
        return PlanAction(
            store=store,
            check=check,
            control=ControlAction(store, definitions, lambda: ""),
            designs=self.designs(),
            rendered=rendered,
            definitions=definitions,
            plan_drain=PlanDrain(self.check_etcd(rendered).protection, None, EtcdGateway()),
            plan_software=PlanSoftware(store, rendered, RemoteAccess(self.tasks, self.reach)),
            hardware=Hardware(rendered.of, SCHEMAS.check, self.provisioner),
            clock=self.clock,
        )

    def give_tasks(self, graph: Sequence[Mapping[str, Any]], roles: Mapping[str, Sequence[str]]) -> None:
        """Give the site a task graph, none with an empty one, and its servers their roles in it."""
        with self.store().begin() as tx:
            release = tx.software.release(ReleaseId(1))
            assert release
            tx.software.save_release(replace(release, layer=Layer(tuple(map(dict, graph)))))
            known = {node.name for node in tx.software.nodes(SITE)}
            tx.software.add_nodes(SITE, [NodeName(name) for name in roles if name not in known])
            for node in tx.software.nodes(SITE):
                tx.software.save_node(replace(node, roles=tuple(roles[node.name])))

    def ran(self) -> Mapping[str, Sequence[str]]:
        """Return the commands that each server has run since the newest action began, by the servers' own log."""
        found: dict[str, list[str]] = {}
        for key in self.tasks.log[self._logged :]:
            found.setdefault(key[1], []).append(str(self.tasks.sent[key].command))
        return found

    def make_due(self) -> None:
        self._logged = len(self.tasks.log)
        super().make_due()
