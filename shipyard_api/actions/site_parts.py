"""deploy_site: from a committed design to running servers (contract: shipyard-actions, 5.1; product, section 5).

The software stage is not part of this release; it will follow ``drydock_build.prepare_and_deploy_nodes``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shipyard_api.actions.steps.baremetal_nodes import BaremetalNodes
from shipyard_api.actions.steps.mark_revision import MarkRevision
from shipyard_api.actions.steps.questions import Question
from shipyard_api.actions.steps.site_work import SiteWork
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.configdocs import Rendering, Revision
from shipyard_api.domain.findings import Finding, error, errors, info
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision
from shipyard_api.ports.provisioner import Operation, Provisioner
from shipyard_api.ports.store import Store
from shipyard_api.workflow.definition import Definition

CONCURRENCY = StepId("dag_concurrency_check")
PREFLIGHT = StepId("preflight.ucp_preflight_check")
CONFIGURATION = StepId("deployment_configuration")
VALIDATE_DOCUMENTS = StepId("validate_site_design.deckhand_validate_site_design")
VALIDATE_PROVISIONER = StepId("validate_site_design.drydock_validate_site_design")
VERIFY_SITE = StepId("drydock_build.verify_site")
PREPARE_SITE = StepId("drydock_build.prepare_site")
PREPARE_AND_DEPLOY_NODES = StepId("drydock_build.prepare_and_deploy_nodes")
TAG = StepId("create_action_tag")

BY_PROVISIONER = (VALIDATE_PROVISIONER, VERIFY_SITE, PREPARE_SITE, PREPARE_AND_DEPLOY_NODES)
"""The steps that need the provisioner."""

LOOKING = frozenset({CONCURRENCY, PREFLIGHT, CONFIGURATION, VALIDATE_DOCUMENTS, VALIDATE_PROVISIONER})
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
    """What the work is done with; ``cluster`` is None where Shipyard knows none that nodes could join."""

    provisioner: Provisioner
    cluster: Cluster | None = None


def definition(store: Store, designs: Designs, systems: Systems, rules: DesignRules, patience: Patience) -> Definition:
    """Return the steps of deploy_site, in order."""
    provisioner = systems.provisioner
    questions = _Questions(store, designs, provisioner, rules)

    def question(
        step: StepId, ask: Callable[[int], Sequence[Finding]], spares: tuple[StepId, ...] | None = None
    ) -> Question:
        return Question(step, ask, patience.questions, patience.pause, spares)

    return Definition(
        ActionName.DEPLOY_SITE,
        (
            question(CONCURRENCY, questions.is_alone),
            # The one place where a provisioner that is not well lets its steps be left out (contract, chapter 13).
            question(PREFLIGHT, questions.is_provisioner_healthy, BY_PROVISIONER),
            question(CONFIGURATION, questions.what_is_configured, ()),
            question(VALIDATE_DOCUMENTS, questions.are_documents_sound, ()),
            question(VALIDATE_PROVISIONER, questions.does_provisioner_accept),
            SiteWork(VERIFY_SITE, Operation.VERIFY_SITE, lambda c: c.verify_site, store, provisioner),
            SiteWork(PREPARE_SITE, Operation.PREPARE_SITE, lambda c: c.prepare_site, store, provisioner),
            BaremetalNodes(
                PREPARE_AND_DEPLOY_NODES, store, provisioner, systems.cluster, patience.questions, patience.pause
            ),
            MarkRevision(TAG, store, designs.store, LOOKING, patience.questions),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Questions:
    """What deploy_site wants to know before it changes anything; each answer is findings about a revision."""

    store: Store
    designs: Designs
    provisioner: Provisioner
    rules: DesignRules

    def is_alone(self, revision: int) -> Sequence[Finding]:
        """A unique index already refused a second site action; this says which one holds the site."""
        with self.store.begin() as tx:
            running = tx.actions.running_site_action()
        if running is None:
            return [error("SiteActionNotRunning", "No site action holds the site, although this one runs.")]
        return [info("SiteActionAlone", f"{running[1].value} {running[0]} is the only site action")]

    def is_provisioner_healthy(self, revision: int) -> Sequence[Finding]:
        """Any answer but success fails; unlike upstream, where an HTTP 500 passes."""
        self.provisioner.check_health()
        return [info("ProvisionerHealthy", f"{self.provisioner.name} is healthy")]

    def what_is_configured(self, revision: int) -> Sequence[Finding]:
        """Tell the configuration; the action works from what was frozen when it was created."""
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

    def are_documents_sound(self, revision: int) -> Sequence[Finding]:
        """Check the design once more, from what is stored."""
        return self._read(revision)[1]

    def does_provisioner_accept(self, revision: int) -> Sequence[Finding]:
        """Let the provisioner check the design as it reads it."""
        return self.provisioner.validate_design(self.provisioner.design_reference(revision))

    def _read(self, revision: int) -> tuple[SiteInputs | None, Sequence[Finding]]:
        try:
            return self.rules.read(revision, self.designs.rendered(Revision(revision)))
        except RenderingFailed as failed:
            return None, failed.findings
        except UnknownRevision as unknown:
            return None, (error("RevisionNotFound", str(unknown)),)
