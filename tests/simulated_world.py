"""deploy_site in process before a simulator: a real Postgres, the real adapter over HTTP, one time for all of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.documents import BufferMode, Revision
from shipyard_api.storage.writer_lock import SqlWriterLock
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs, CommitMode, Committed
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_simulators.scenario import Scenario
from tests.databases import empty
from tests.factories import document, layering_policy, node_document, strategy_document
from tests.simulated_peers import Peer
from tests.virtual_time import VirtualClock
from tests.world import RULES, Checkpoints, World

CONFIGURATION = "shipyard/DeploymentConfiguration/v1"


@dataclass(frozen=True)
class Site:
    """A design with the fates of its nodes: names, each with what else the builder of its document takes.

    Without ``groups``, a world has its own. ``provisioner`` is that section of the deployment configuration.
    ``further``: other documents.
    """

    nodes: Mapping[str, Mapping[str, Any]]
    scenario: Scenario
    groups: Sequence[Mapping[str, Any]] = ()
    provisioner: Mapping[str, Any] = field(default_factory=dict)
    further: Sequence[Mapping[str, Any]] = ()

    def documents(self, groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the documents of the design."""
        configuration = {"armada": {"manifest": "full-site"}, "physical_provisioner": dict(self.provisioner)}
        return [
            layering_policy(),
            *(node_document(name, **others) for name, others in self.nodes.items()),
            strategy_document(*(self.groups or groups)),
            document(CONFIGURATION, "deployment-configuration", configuration),
            *map(dict, self.further),
        ]


@dataclass
class SimulatedWorld(World):
    """A world whose provisioner is a real adapter, anew for each worker.

    ``make_peer`` is told the clock, the scenario and the nodes; ``front`` is where adapters find the peer, if it is not
    where it listens.
    """

    clock: VirtualClock = field(default_factory=VirtualClock)
    site: Site = field(kw_only=True)
    make_peer: Callable[[VirtualClock, Scenario, Sequence[str]], Peer] = field(kw_only=True)
    front: str = ""

    def __post_init__(self) -> None:
        self.peer = self.make_peer(self.clock, self.site.scenario, list(self.site.nodes))
        super().__post_init__()
        with self.store().begin() as tx:
            record = tx.actions.get(self.action)
        assert record is not None
        self.peer.publish(record.revision, self._documents)

    @classmethod
    def in_emptied(cls, url: str, **site: Any) -> SimulatedWorld:
        """Return a world in this database, of which nothing is left that was there before."""
        empty(url)
        return cls(url, **site)

    def _commit(self, groups: list[dict[str, Any]]) -> None:
        result = self.offer(groups)
        assert result.committed, result

    def offer(self, groups: list[dict[str, Any]]) -> Committed:
        """Load the design of the site, and commit it unless its findings forbid that."""
        self._documents = copy.deepcopy(self.site.documents(groups))  # a test may change its documents in place
        designs, lock = self.designs(), SqlWriterLock(self.engine())
        LoadConfigdocs(designs, lock, DataSchemas())("design", BufferMode.REPLACE, self._documents)
        return CommitConfigdocs(designs, self.rendered(), lock, RULES)(CommitMode.NORMAL)

    def worker(self, points: Checkpoints | None = None) -> Any:
        """Return a worker that has just been started: its adapter remembers nothing."""
        rendered = self.rendered()
        self.provisioner = self.peer.provisioner(  # type: ignore[assignment]  # fills the same port
            lambda revision: rendered.inventory(Revision(revision)), self.front
        )
        return super().worker(points)

    def ending(self) -> Any:
        """How everything ended, without times and ids."""
        with self.store().begin() as tx:
            record = tx.actions.get(self.action)
            steps = [(step.id, step.state) for step in tx.actions.steps([self.action])[self.action]]
            groups = tx.actions.groups(self.action, status=(), group=(), after=-1, limit=99)
            nodes = tx.actions.nodes(self.action, status=(), group=(), after="", limit=99)
        assert record is not None
        return (
            record.state.value,
            {step: state and state.value for step, state in steps},
            {one.name: (one.status, one.reason) for one in groups},
            {one.name: (one.status.value, one.reason) for one in nodes},
        )

    def told(self) -> str:
        """Return the journal of the action, a line for each entry but findings."""
        with self.store().begin() as tx:
            entries = tx.journal.entries(self.action)
        return "\n".join(
            f"{one.at:%H:%M:%S} {one.step} {one.kind} {one.fact}" for one in entries if one.kind != "finding"
        )

    def bury(self) -> None:
        """Let go of all that a worker held that is dead now."""
        super().close()

    def close(self) -> None:
        super().close()
        self.peer.close()
