"""What the site actions are made of: their steps, under the names that scripts know (contract: shipyard-actions, 5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shipyard_api.actions.steps.baremetal_nodes import BaremetalNodes
from shipyard_api.actions.steps.mark_revision import MarkRevision
from shipyard_api.actions.steps.questions import Question
from shipyard_api.actions.steps.site_work import SiteWork
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.documents import Rendering, Revision, scrubbed, scrubber
from shipyard_api.domain.findings import Finding, error, errors, info
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import Operation, Provisioner
from shipyard_api.ports.state.store import Store

CONCURRENCY = StepId("dag_concurrency_check")
PREFLIGHT = StepId("preflight.ucp_preflight_check")
CONFIGURATION = StepId("deployment_configuration")
VALIDATE_DOCUMENTS = StepId("validate_site_design.deckhand_validate_site_design")
VALIDATE_PROVISIONER = StepId("validate_site_design.drydock_validate_site_design")
VALIDATE_CLUSTER = StepId("validate_site_design.promenade_validate_site_design")
VERIFY_SITE = StepId("drydock_build.verify_site")
PREPARE_SITE = StepId("drydock_build.prepare_site")
VERIFY_NODES_EXIST = StepId("drydock_build.verify_nodes_exist")
PREPARE_AND_DEPLOY_NODES = StepId("drydock_build.prepare_and_deploy_nodes")
TAG = StepId("create_action_tag")

BY_PROVISIONER = (VALIDATE_PROVISIONER, VERIFY_SITE, PREPARE_SITE, VERIFY_NODES_EXIST, PREPARE_AND_DEPLOY_NODES)
"""The steps that need the provisioner."""

LOOKING = frozenset({CONCURRENCY, PREFLIGHT, CONFIGURATION, VALIDATE_DOCUMENTS, VALIDATE_PROVISIONER, VALIDATE_CLUSTER})
"""The steps that change nothing."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: how long a question to a peer is tried, and the pause between two attempts."""

    questions: float = 300.0
    pause: float = 10.0


@dataclass(frozen=True, slots=True)
class Designs:
    """What an action needs of the documents: the design of a revision, and where to leave its tag.

    ``rendered`` raises UnknownRevision and RenderingFailed.
    """

    store: DesignStore
    rendered: Callable[[Revision], Rendering]


@dataclass(frozen=True, slots=True)
class Systems:
    """What the work is done with; ``cluster`` is None where Shipyard knows none that nodes could join.

    ``promenade`` says what Promenade thinks of the design of a revision, and may raise ports.errors; None where there
    is none.
    """

    provisioner: Provisioner
    cluster: Cluster | None = None
    promenade: Callable[[int], Sequence[Finding]] | None = None


@dataclass(frozen=True, slots=True)
class SiteParts:
    """The steps that site actions share. An action names those that it has, in its order."""

    store: Store
    designs: Designs
    systems: Systems
    rules: DesignRules
    patience: Patience

    def is_alone(self) -> Question:
        """Tell that no other site action holds the site."""
        return self._question(CONCURRENCY, self._is_alone)

    def is_provisioner_healthy(self, *, by_provisioner: Sequence[StepId] | None = BY_PROVISIONER) -> Question:
        """Ask the provisioner how it is; where the action continues on a failure, its steps are left out.

        The one place where that is decided (contract, chapter 13). None: the action fails all the same.
        """
        spares = None if by_provisioner is None else tuple(by_provisioner)
        return self._question(PREFLIGHT, self._is_provisioner_healthy, spares)

    def is_site_configured(self) -> Question:
        """Tell how patient to be and in which groups to deploy."""
        return self._question(CONFIGURATION, self._is_site_configured, ())

    def is_configuration_there(self) -> Question:
        """Look for the deployment configuration alone."""
        return self._question(CONFIGURATION, self._is_configuration_there)

    def are_documents_sound(self) -> Question:
        """Check the design once more, from what is stored."""
        return self._question(VALIDATE_DOCUMENTS, lambda revision: self._read(revision)[1], ())

    def is_configuration_sound(self) -> Question:
        """Check as much of the design as an action needs that deploys no groups."""
        return self._question(VALIDATE_DOCUMENTS, self._is_configuration_sound, ())

    def does_provisioner_accept(self) -> Question:
        """Let the provisioner check the design as it reads it."""
        return self._question(VALIDATE_PROVISIONER, self._does_provisioner_accept)

    def does_promenade_accept(self) -> Question:
        """Let Promenade check the design as it reads it; where there is no Promenade, the step says so and succeeds."""
        return self._question(VALIDATE_CLUSTER, self._does_promenade_accept)

    def verify_site(self) -> SiteWork:
        """Let the provisioner verify the site."""
        return SiteWork(
            VERIFY_SITE, Operation.VERIFY_SITE, lambda c: c.verify_site, self.store, self.systems.provisioner
        )

    def prepare_site(self) -> SiteWork:
        """Let the provisioner prepare the site."""
        return SiteWork(
            PREPARE_SITE, Operation.PREPARE_SITE, lambda c: c.prepare_site, self.store, self.systems.provisioner
        )

    def does_provisioner_know_nodes(self) -> Question:
        """Guard a site that runs against a provisioner that lost its data."""
        return self._question(VERIFY_NODES_EXIST, self._does_provisioner_know_nodes, ())

    def prepare_and_deploy_nodes(self) -> BaremetalNodes:
        """Prepare and deploy the nodes, group by group."""
        systems, patience = self.systems, self.patience
        return BaremetalNodes(
            PREPARE_AND_DEPLOY_NODES,
            self.store,
            systems.provisioner,
            systems.cluster,
            patience.questions,
            patience.pause,
        )

    def mark_revision(self) -> MarkRevision:
        """Tag the revision with how the action went."""
        return MarkRevision(TAG, self.store, self.designs.store, LOOKING, self.patience.questions)

    def _question(
        self, step: StepId, ask: Callable[[int], Sequence[Finding]], spares: tuple[StepId, ...] | None = None
    ) -> Question:
        return Question(step, ask, self.patience.questions, self.patience.pause, spares)

    def _is_alone(self, _revision: int) -> Sequence[Finding]:
        """A unique index already refused a second site action; this says which one holds the site."""
        with self.store.begin() as tx:
            running = tx.actions.running_site_action()
        if running is None:
            return [error("SiteActionNotRunning", "No site action holds the site, although this one runs.")]
        return [info("SiteActionAlone", f"{running[1].value} {running[0]} is the only site action")]

    def _is_provisioner_healthy(self, _revision: int) -> Sequence[Finding]:
        """Any answer but success fails; unlike upstream, where an HTTP 500 passes."""
        provisioner = self.systems.provisioner
        provisioner.check_health()
        return [info("ProvisionerHealthy", f"{provisioner.name} is healthy")]

    def _is_site_configured(self, revision: int) -> Sequence[Finding]:
        """The action works from what was frozen when it was created; this tells it."""
        inputs, findings = self._read(revision)
        if inputs is None or errors(findings):
            return findings
        configuration = inputs.configuration
        return [
            info(
                "DeploymentConfigured",
                f"revision {revision}, strategy {inputs.strategy_name or 'all at once'}; a group may take "
                f"{configuration.prepare_nodes.timeout:g} s to prepare and {configuration.deploy_nodes.timeout:g} s "
                "to deploy",
            )
        ]

    def _is_configuration_there(self, revision: int) -> Sequence[Finding]:
        if not revision:
            return [error("NoCommittedConfigdocs", "Unable to locate a committed revision: no configdocs are in force")]
        inputs, findings = self._read(revision, self.rules.read_configuration)
        return findings if inputs is None else [info("ConfigurationFound", f"revision {revision} is configured")]

    def _is_configuration_sound(self, revision: int) -> Sequence[Finding]:
        return self._read(revision, self.rules.read_configuration)[1]

    def _does_provisioner_accept(self, revision: int) -> Sequence[Finding]:
        provisioner = self.systems.provisioner
        return self._said_of(revision, lambda: provisioner.validate_design(provisioner.design_reference(revision)))

    def _does_promenade_accept(self, revision: int) -> Sequence[Finding]:
        ask = self.systems.promenade
        if ask is None:
            return [info("PromenadeNotConfigured", "no Promenade is configured, so none was asked")]
        return self._said_of(revision, lambda: ask(revision))

    def _said_of(self, revision: int, ask: Callable[[], Sequence[Finding]]) -> Sequence[Finding]:
        """Ask a peer, and take out of its answer what it quotes of secrets, as at the commit."""
        try:
            secrets = self.designs.rendered(Revision(revision)).secrets
        except RenderingFailed as failed:
            return failed.findings
        except UnknownRevision as unknown:
            return [error("RevisionNotFound", str(unknown))]
        try:
            return scrubbed(ask(), secrets)
        except PeerError as trouble:
            raise trouble.worded(scrubber(secrets)(trouble.detail)) from None

    def _does_provisioner_know_nodes(self, _revision: int) -> Sequence[Finding]:
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

    def _read(self, revision: int, read: "Reader | None" = None) -> tuple[SiteInputs | None, Sequence[Finding]]:
        try:
            return (read or self.rules.read)(revision, self.designs.rendered(Revision(revision)))
        except RenderingFailed as failed:
            return None, failed.findings
        except UnknownRevision as unknown:
            return None, (error("RevisionNotFound", str(unknown)),)


Reader = Callable[[int, Rendering], tuple[SiteInputs | None, Sequence[Finding]]]
