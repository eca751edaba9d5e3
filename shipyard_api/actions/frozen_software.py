"""What an action reads of the site's task graph: read once, when the action is created (product, section 13).

Plan, hash and run are made from this value by ``plan_run`` and ``acceptance_of``, so that what a person has approved is
what runs, whatever becomes of the graph, of roles, tags and settings.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.actions.site_checks import RemoteAccess
from shipyard_api.actions.steps.acceptance import Acceptance
from shipyard_api.actions.steps.software.state import StageSoftware
from shipyard_api.domain.addressing import networks_of
from shipyard_api.domain.documents import Rendering, secret_texts
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.strategy import Strategy
from shipyard_api.domain.task_graph.command_run import COMMAND, connect_timeout
from shipyard_api.domain.task_graph.commands import CommandError, filled, remote_task, secrets_in, with_digests
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.node_facts import Addresses, SiteFacts, node_faults, read_settings
from shipyard_api.domain.task_graph.roles import MASTER, ClusterNode, Primaries, facts_of
from shipyard_api.domain.task_graph.run_values import RunValues
from shipyard_api.domain.task_graph.site_plan import SitePlan, SiteRun, accepting_groups, check_acceptance, plan_site
from shipyard_api.domain.task_graph.tasks import Kind, TaskId, parse_tasks
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.ports.state.software import SoftwareSite
from shipyard_api.storage.unit_of_work import Transaction

NO_SSH = "Shipyard cannot reach the nodes: configure [ssh]."
_UNKNOWN = "the design does not have it"


class FrozenSoftware(Struct, frozen=True, kw_only=True):
    """``tasks``: the effective graph; the files that tasks copy have their digests in it. ``nodes``: all of the site.

    ``primaries``, ``status``, ``models`` and ``keys``: as of ``SiteRun``. ``hosts``: where SSH reaches nodes;
    ``unreachable``: why it does not reach others. Both are empty where the API has no SSH: the worker then knows them
    (``reached``). ``addresses``: as of ``SiteFacts``.
    """

    tasks: Sequence[JsonObject]
    nodes: Sequence[ClusterNode]
    primaries: Primaries
    status: str
    models: Mapping[str, Mapping[str, Any]]
    keys: Mapping[str, str]
    hosts: Mapping[NodeName, Host] = field(default_factory=dict)
    unreachable: Mapping[NodeName, str] = field(default_factory=dict)
    addresses: Addresses = field(default_factory=dict)

    @classmethod
    def of(cls, site: SoftwareSite, rendering: Rendering, access: RemoteAccess | None) -> "FrozenSoftware":
        """Return the site as it is now, without the digests of files."""
        frozen = cls(
            tasks=site.tasks,
            nodes=site.nodes,
            primaries=site.primaries,
            status=site.status,
            models=site.models,
            keys=site.keys,
            addresses=networks_of(rendered.document for rendered in rendering.documents),
        )
        return frozen.reached(rendering, access) if access else frozen

    def reached(self, rendering: Rendering, access: RemoteAccess) -> "FrozenSoftware":
        """Return it with where SSH reaches nodes, unless it has that."""
        if self.hosts or self.unreachable:
            return self
        names = [*(node.name for node in self.nodes), MASTER]
        hosts, lacking = access.hosts(rendering, names)
        unknown = (name for name in names if name not in hosts)
        return replace(
            self,
            keys={**self.keys, **({"MASTER_IP": hosts[MASTER].address} if MASTER in hosts else {})},
            hosts={name: hosts[name] for name in names if name in hosts},
            unreachable={name: finding.message for name, finding in zip(unknown, lacking, strict=False)},
        )

    def run(self, written: JsonObject, deployed: Collection[NodeName] | None) -> SiteRun:
        """Return a run on this site. ``written`` and ``deployed``: as of ``SiteRun``."""
        return SiteRun(self.tasks, self.nodes, self.primaries, self.status, self.models, written, deployed, self.keys)

    def facts(self, written: JsonObject, secrets: Collection[str] = ()) -> SiteFacts:
        """Return what tasks may know of the site. ``written``: the limits of the run, with its values."""
        read = facts_of((), (), status=self.status, models=self.models)
        settings = read_settings(parse_tasks(self.tasks), read)
        values = RunValues.read(written.get("values"))
        return SiteFacts.of(self.nodes, self.primaries, self.addresses, settings, secrets, values)

    def filled(self, tasks: Collection[TaskId]) -> Mapping[TaskId, JsonObject]:
        """Return tasks of the graph with the values of all nodes in them. Raises CommandError."""
        return {TaskId(entry["id"]): filled(entry, self.keys) for entry in self.tasks if entry["id"] in tasks}

    def unreached(self, nodes: Collection[NodeName]) -> Sequence[Finding]:
        """Return an error for each of the nodes that SSH does not reach."""
        lacking = [node for node in sorted(nodes) if node not in self.hosts]
        return [error("NoAddress", self.unreachable.get(node, f"Node {node}: {_UNKNOWN}.")) for node in lacking]

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {
            "v": 1,
            "tasks": list(self.tasks),
            "nodes": [[node.name, node.roles, node.tags, node.ready] for node in self.nodes],
            "primaries": [dict(self.primaries.roles), dict(self.primaries.tags)],
            "status": self.status,
            "models": dict(self.models),
            "keys": dict(self.keys),
            "hosts": {name: [host.address, host.port] for name, host in self.hosts.items()},
            "unreachable": dict(self.unreachable),
            "addresses": dict(self.addresses),
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> "FrozenSoftware":
        """Return it from its stored form."""
        return cls(
            tasks=tuple(stored["tasks"]),
            nodes=tuple(
                ClusterNode(NodeName(name), tuple(roles), tuple(tags), ready=ready)
                for name, roles, tags, ready in stored["nodes"]
            ),
            primaries=Primaries(*stored["primaries"]),
            status=stored["status"],
            models=stored["models"],
            keys=stored["keys"],
            hosts={NodeName(name): Host(NodeName(name), *where) for name, where in stored["hosts"].items()},
            unreachable=stored["unreachable"],
            addresses=stored["addresses"],
        )


class RunPlan(Struct, frozen=True):
    """The plan of a run: ``stage`` is what runs unless ``findings`` have errors; None if there is no plan."""

    site_plan: SitePlan
    findings: Sequence[Finding]
    stage: StageSoftware | None = None


def has_graph(tx: Transaction, written: JsonObject) -> bool:
    """Return whether the site has a task graph, or these limits name a command that runs without one."""
    cluster = tx.software.cluster(SITE)
    return cluster is not None and bool(cluster.layer.tasks or COMMAND in written)


def freeze(
    site: SoftwareSite, rendering: Rendering, access: RemoteAccess | None, written: JsonObject, *, deploys: bool = False
) -> FrozenSoftware:
    """Return what an action reads of the site, with the digests of the files that its tasks may copy.

    ``deploys``: the run is on nodes that the action deploys first: any node of the design. A file that a task of the
    master may make before has no digest.
    """
    frozen = FrozenSoftware.of(site, rendering, access)
    copying = {TaskId(entry["id"]) for entry in frozen.tasks if entry.get("type") == Kind.COPY_FILES.value}
    if access is None or not copying:
        return frozen
    everywhere = [node.name for node in frozen.nodes]
    flow = getattr(plan_site(frozen.run(written, everywhere if deploys else None)).plan, "flow", None)
    made_by_master = flow.tasks_after(MASTER) if flow else frozenset()
    nodes_of = flow.nodes_of if flow else {}
    facts = frozen.facts(written)
    tasks = []
    for entry in frozen.tasks:
        if (task := TaskId(entry["id"])) not in copying:
            tasks.append(entry)
            continue
        # A group may accept its nodes by the task, which then runs on any node.
        nodes = everywhere if deploys else nodes_of.get(task, ())
        sources = frozenset(_sources(entry, frozen.keys, [facts.keys(node) for node in nodes]))
        tasks.append(with_digests(entry, {} if task in made_by_master else access.digests(sources)))
    return replace(frozen, tasks=tuple(tasks))


def plan_run(
    frozen: FrozenSoftware,
    rendering: Rendering,
    written: JsonObject,
    deployed: Collection[NodeName] | None,
    access: RemoteAccess | None,
) -> RunPlan:
    """Return what runs on a site: shown by a plan, covered by its hash, and carried out by the software stage."""
    site_plan = plan_site(frozen.run(written, deployed))
    if access is None:
        findings = [*site_plan.findings, error("NoSsh", NO_SSH)]
    else:
        findings = [*site_plan.findings, *frozen.unreached(site_plan.nodes), *access.sources(site_plan)]
    if site_plan.plan is None or site_plan.rules is None:
        return RunPlan(site_plan, findings)
    known = secret_texts(rendering.secrets)
    facts = frozen.facts(written, known)
    findings += node_faults(site_plan.documents, site_plan.plan.flow.nodes_of, facts)
    stage = StageSoftware(
        site_plan.plan.flow,
        site_plan.rules,
        site_plan.documents,
        frozen.hosts,
        tuple(finding.message for finding in findings),
        tuple(sorted({*_secrets(known, site_plan.documents), *facts.values.secret_texts})),
        facts=facts,
        noop=bool(written.get("noop")),
        connect_timeout=connect_timeout(written),
        skipped={task: reason.value for task, reason in sorted(site_plan.plan.skipped.items())},
    )
    return RunPlan(site_plan, findings, stage)


def acceptance_of(
    frozen: FrozenSoftware, rendering: Rendering, action: str, strategy: Strategy, nodes: Collection[NodeName]
) -> Acceptance | Sequence[Finding]:
    """Return the acceptance tasks of the groups on these nodes, or why they cannot run."""
    if faults := (*check_acceptance(strategy, frozen.tasks, frozen.keys), *frozen.unreached(nodes)):
        return faults
    tasks = accepting_groups(strategy)
    entries = frozen.filled({task for ids in tasks.values() for task in ids})
    hosts = {node: frozen.hosts[node] for node in nodes if node in frozen.hosts}
    return Acceptance(action, tasks, entries, hosts, _secrets(secret_texts(rendering.secrets), entries))


def _sources(entry: JsonObject, keys: Mapping[str, str], of_nodes: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield the files that a task copies to nodes with these values; a task that cannot run copies none."""
    for own in of_nodes:
        try:
            yield from (copy.source for copy in remote_task(filled(filled(entry, keys), own)).copies)
        except CommandError:
            continue


def _secrets(known: Collection[str], entries: Mapping[TaskId, JsonObject]) -> tuple[str, ...]:
    return tuple(sorted({text for entry in entries.values() for text in secrets_in(entry, known)})) if known else ()
