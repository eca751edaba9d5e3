"""The steps that site actions are made of, under the names that scripts know (contract: shipyard-actions, 5)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from msgspec import Struct

from shipyard_api.actions.site_checks import SiteChecks
from shipyard_api.actions.software_steps import SoftwareSteps
from shipyard_api.actions.steps import pacing
from shipyard_api.actions.steps.baremetal_nodes import BaremetalNodes
from shipyard_api.actions.steps.checks import Check
from shipyard_api.actions.steps.draining import Drains
from shipyard_api.actions.steps.mark_revision import MarkRevision
from shipyard_api.actions.steps.site_work import SiteWork
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.ways import Way
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.targets import TARGET_GROUP
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.provisioner import Operation
from shipyard_api.workflow.step import AnyStep

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

READ_ONLY = frozenset(
    {CONCURRENCY, PREFLIGHT, CONFIGURATION, VALIDATE_DOCUMENTS, VALIDATE_PROVISIONER, VALIDATE_CLUSTER}
)
"""The steps that change nothing."""


class RetryPolicy(Struct, frozen=True):
    """How a peer that does not answer is retried: every ``pause`` seconds, for ``give_up_after`` seconds."""

    give_up_after: float = 300.0
    pause: float = 10.0


class SiteSteps(Struct, frozen=True):
    """The steps that site actions share. An action lists its steps in its order."""

    checks: SiteChecks
    retry: RetryPolicy

    def validation(self) -> tuple[AnyStep, ...]:
        """Return the checks that come before every deployment, in order."""
        checks = self.checks
        return (
            self.alone(checks.no_other_site_action),
            # The one place where it is decided what continue-on-fail skips (contract, chapter 13).
            self.check(PREFLIGHT, checks.provisioner_is_healthy, spares=BY_PROVISIONER, asks=self.provisioner),
            replace(self.check(CONFIGURATION, checks.site_is_configured, spares=()), planned=False),
            self.sound(),
            self.check(VALIDATE_PROVISIONER, checks.provisioner_accepts_design, asks=self.provisioner),
            self.check(VALIDATE_CLUSTER, checks.promenade_accepts_design, asks=lambda: "Promenade"),
        )

    def alone(self, function: Callable[[int], Sequence[Finding]]) -> Check:
        """Return the step that checks whether nothing excluded runs beside the action."""
        return replace(self.check(CONCURRENCY, function), planned=False)

    def sound(self) -> Check:
        """Return the step that reads the stored design once more, as the admission did."""
        return replace(self.check(VALIDATE_DOCUMENTS, self.checks.documents_are_sound, spares=()), planned=False)

    def check(
        self,
        step: StepId,
        function: Callable[[int], Sequence[Finding]],
        spares: tuple[StepId, ...] | None = None,
        *,
        asks: Callable[[], str] | None = None,
    ) -> Check:
        """Return a step that runs the function on the revision; see ``Check``."""
        check = Check(step, function, self.retry.give_up_after, self.retry.pause, spares)
        return check if asks is None else replace(check, asks=asks)

    def provisioner(self) -> str:
        """Return the name of the provisioner."""
        return self.checks.systems.provisioner.name

    def verify_site(self) -> SiteWork:
        """Return the step in which the provisioner verifies the site."""
        checks = self.checks
        return SiteWork(
            VERIFY_SITE, Operation.VERIFY_SITE, lambda c: c.verify_site, checks.store, checks.systems.provisioner
        )

    def prepare_site(self) -> SiteWork:
        """Return the step in which the provisioner prepares the site."""
        checks = self.checks
        return SiteWork(
            PREPARE_SITE, Operation.PREPARE_SITE, lambda c: c.prepare_site, checks.store, checks.systems.provisioner
        )

    def prepare_and_deploy_nodes(
        self,
        step: StepId = PREPARE_AND_DEPLOY_NODES,
        targets: tuple[NodeName, ...] = (),
        group: str = TARGET_GROUP,
        *,
        way: Way = Way.NEW,
        begins: bool = True,
    ) -> BaremetalNodes:
        """Return the step that prepares and deploys the nodes, group by group; or only ``targets``, as one group.

        ``begins``: as of the step.
        """
        systems = self.checks.systems
        return BaremetalNodes(
            step,
            self.checks.store,
            systems.provisioner,
            systems.cluster,
            self.retry.give_up_after,
            self.retry.pause,
            targets=targets,
            group=GroupName(group),
            way=way,
            acceptance=SoftwareSteps(self.checks).acceptance,
            gates=pacing.answers(self.checks.store, systems.queries),
            specifications=self.checks.specifications,
            begins=begins,
            cases=self.checks.cases,
            hardware=self.checks.hardware,
        )

    def drain_and_service_nodes(self, limits: TeardownLimits) -> BaremetalNodes:
        """Return the step that drains nodes and runs the steps of a template on them, group by group."""
        return replace(self.prepare_and_deploy_nodes(way=Way.SERVICE), drains=self.drains(limits))

    def power_cycle_nodes(self, limits: TeardownLimits, way: Way) -> BaremetalNodes:
        """Return the step that switches nodes off and on, group by group. They are given nothing new."""
        return replace(self.prepare_and_deploy_nodes(way=way), drains=self.drains(limits), specifications=None)

    def drains(self, limits: TeardownLimits) -> Drains:
        """Return who drains nodes that stay installed."""
        return Drains(self.checks.systems.nodes, limits)

    def mark_revision(self) -> MarkRevision:
        """Return the step that tags the revision with how the action ended."""
        return MarkRevision(TAG, self.checks.store, self.checks.designs.store, READ_ONLY, self.retry.give_up_after)
