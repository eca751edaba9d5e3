"""What site actions check before they change anything: functions from a revision to findings."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.cases import FindCases
from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.domain.documents import Rendering, Revision, scrubbed, scrubber
from shipyard_api.domain.findings import Finding, error, errors, info
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.domain.task_graph.site_plan import SitePlan
from shipyard_api.ports.cluster import Cluster, ClusterNodes
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision
from shipyard_api.ports.errors import PeerError, Refused
from shipyard_api.ports.etcd import Etcd
from shipyard_api.ports.metrics import Queries
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.remote_tasks import Host, RemoteTasks
from shipyard_api.ports.teardown_service import TeardownService
from shipyard_api.storage.unit_of_work import Store

Reader = Callable[[int, Rendering], tuple[SiteInputs | None, Sequence[Finding]]]
Reads = Callable[[DesignRules, int, Rendering], tuple[SiteInputs | None, Sequence[Finding]]]
"""Reads as much of a design as an action needs: a method of ``DesignRules``."""


class ActionDesigns(Struct, frozen=True):
    """The documents an action works with: the rendered design of a revision, and the store that takes its tag.

    ``rendered`` raises UnknownRevision and RenderingFailed.
    """

    store: DesignStore
    rendered: Callable[[Revision], Rendering]

    def as_made(self, inputs: ActionInputs) -> "ActionDesigns":
        """Return the documents for an action, which refuse another design under the number of its revision."""
        revision, made = inputs.revision, inputs.made
        if made is None:  # of an earlier release, or without a design
            return self

        def read(wanted: Revision) -> Rendering:
            rendering = self.rendered(wanted)
            if wanted == revision and made_at(self.store, wanted) != made:
                why = "it holds another design under this number than when the action was created. Create a new action"
                raise Refused(self.store.name, f"revision {wanted}", why)
            return rendering

        return replace(self, rendered=read)


def made_at(store: DesignStore, revision: Revision) -> str:
    """Return when a revision was made, in its stored form. Raises UnknownRevision, and ports.errors."""
    return store.revision(revision).created_at.isoformat()


class RemoteAccess(Struct, frozen=True):
    """The way to nodes over SSH. ``hosts`` returns where the design says that they are, and what it lacks.

    ``sources``: the faults of local files that tasks of a plan copy to nodes. ``digests``: the SHA-256 of such files,
    without those that cannot be read.
    """

    tasks: RemoteTasks
    hosts: Callable[[Rendering, Sequence[NodeName]], tuple[Mapping[NodeName, Host], Sequence[Finding]]]
    sources: Callable[[SitePlan], Sequence[Finding]] = lambda _made: ()
    digests: Callable[[Collection[str]], Mapping[str, str]] = lambda _sources: {}


class Systems(Struct, frozen=True):
    """The peers of an action; ``cluster`` and ``nodes`` are None where no Kubernetes is configured.

    ``service``: the Promenade that does teardowns by itself; None where Kubernetes and etcd are worked on directly.
    ``design_of``: the address under which Promenade fetches the design of a revision.

    ``access``: None where no SSH is configured. ``queries``: None where no Prometheus is configured.

    ``promenade`` returns Promenade's findings on the design of a revision and may raise ports.errors; None where no
    Promenade is configured.
    """

    provisioner: Provisioner
    cluster: Cluster | None = None
    promenade: Callable[[int], Sequence[Finding]] | None = None
    nodes: ClusterNodes | None = None
    etcd: Etcd | None = None
    service: TeardownService | None = None
    design_of: Callable[[int], str] = str
    access: RemoteAccess | None = None
    queries: Queries | None = None


class SiteChecks(Struct, frozen=True):
    """The checks. Each gets the revision, returns findings and may raise ports.errors.

    ``reads``: reads the design for the action, as its admission does.
    """

    store: Store
    designs: ActionDesigns
    systems: Systems
    rules: DesignRules
    reads: Reads = DesignRules.read

    def as_made(self, inputs: ActionInputs) -> "SiteChecks":
        """Return the checks for an action, which refuse another design under the number of its revision."""
        return replace(self, designs=self.designs.as_made(inputs))

    @property
    def specifications(self) -> Specifications:
        """The comparison of what nodes are given with what they were given."""
        return Specifications(
            self.store,
            self.designs.rendered,
            lambda text: self.designs.store.fingerprint(text),
            self.systems.provisioner,
            lambda schema, data: self.rules.check(schema, data),
        )

    @property
    def cases(self) -> FindCases:
        """The search for what failed nodes have in common."""
        return FindCases(self.store, self.designs.rendered, self.hardware.seen_features, self.hardware.expected)

    @property
    def hardware(self) -> Hardware:
        """The comparison of the hardware of nodes with what the design expects."""
        rendered, provisioner = self.designs.rendered, self.systems.provisioner
        return Hardware(rendered, lambda schema, data: self.rules.check(schema, data), provisioner, self.store)

    def no_other_site_action(self, _revision: int) -> Sequence[Finding]:
        """Name the action that holds the site; a unique index has refused a second one already."""
        return self._alone(None)

    def no_other_action_on(self, nodes: Collection[NodeName] | None) -> Callable[[int], Sequence[Finding]]:
        """Return the same check for an action that excludes only others on these nodes; None: any other."""
        return lambda _revision: self._alone(nodes)

    def _alone(self, nodes: Collection[NodeName] | None) -> Sequence[Finding]:
        with self.store.begin() as tx:
            running = tx.actions.running_site_action(nodes)
        if running is None:
            return [error("SiteActionNotRunning", "No site action holds the site, although this one runs.")]
        where = f" on {', '.join(running.nodes)}" if running.nodes else ""
        return [info("SiteActionAlone", f"{running.name} {running.action} is the only site action{where}")]

    def provisioner_is_healthy(self, _revision: int) -> Sequence[Finding]:
        """Any answer but success fails; unlike upstream, where an HTTP 500 passes."""
        provisioner = self.systems.provisioner
        provisioner.check_health()
        return [info("ProvisionerHealthy", f"{provisioner.name} is healthy")]

    def site_is_configured(self, revision: int) -> Sequence[Finding]:
        """Show the limits and the strategy; the action works from those that were frozen when it was created."""
        inputs, findings = self._read(revision, partial(self.reads, self.rules))
        if inputs is None or errors(findings):
            return findings
        configuration = inputs.configuration
        return [
            info(
                "DeploymentConfigured",
                f"revision {revision}, strategy {configuration.strategy_name or 'all at once'}; a group may take "
                f"{configuration.prepare_nodes.timeout:g} s to prepare and {configuration.deploy_nodes.timeout:g} s "
                "to deploy",
            )
        ]

    def configuration_exists(self, revision: int) -> Sequence[Finding]:
        """Look for the deployment configuration alone."""
        if not revision:
            return [error("NoCommittedConfigdocs", "Unable to locate a committed revision: no configdocs are in force")]
        inputs, findings = self._read(revision, self.rules.read_configuration)
        return findings if inputs is None else [info("ConfigurationFound", f"revision {revision} is configured")]

    def documents_are_sound(self, revision: int) -> Sequence[Finding]:
        """Check the stored design once more."""
        return self._read(revision, partial(self.reads, self.rules))[1]

    def provisioner_accepts_design(self, revision: int) -> Sequence[Finding]:
        """Return the provisioner's own findings on the design."""
        provisioner = self.systems.provisioner
        return self._scrubbed(revision, lambda: provisioner.validate_design(provisioner.design_reference(revision)))

    def promenade_accepts_design(self, revision: int) -> Sequence[Finding]:
        """Return Promenade's findings on the design; without a Promenade, an info finding says so."""
        validate = self.systems.promenade
        if validate is None:
            return [info("PromenadeNotConfigured", "no Promenade is configured, so none was asked")]
        return self._scrubbed(revision, lambda: validate(revision))

    def provisioner_knows_nodes(self, _revision: int) -> Sequence[Finding]:
        """Guard a running site against a provisioner that lost its data."""
        provisioner = self.systems.provisioner
        known = provisioner.conditions()
        if not known:
            return [
                error(
                    "NoNodesKnown",
                    f"{provisioner.name} knows no machine, and this site is said to run: it may have lost its data. If "
                    "it has not, run deploy_site, or ask with continue-on-fail.",
                )
            ]
        return [info("NodesKnown", f"{provisioner.name} knows {len(known)} machines")]

    def _scrubbed(self, revision: int, validate: Callable[[], Sequence[Finding]]) -> Sequence[Finding]:
        """Remove secrets of the design from the findings of a peer, as the commit does."""
        try:
            secrets = self.designs.rendered(Revision(revision)).secrets
        except RenderingFailed as failed:
            return failed.findings
        except UnknownRevision as unknown:
            return [error("RevisionNotFound", str(unknown))]
        try:
            return scrubbed(validate(), secrets)
        except PeerError as trouble:
            raise trouble.worded(scrubber(secrets)(trouble.detail)) from None

    def _read(self, revision: int, read: Reader) -> tuple[SiteInputs | None, Sequence[Finding]]:
        try:
            return read(revision, self.designs.rendered(Revision(revision)))
        except RenderingFailed as failed:
            return None, failed.findings
        except UnknownRevision as unknown:
            return None, (error("RevisionNotFound", str(unknown)),)
