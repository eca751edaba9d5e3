"""The use cases on actions, built together: those that start an action share its checks."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from shipyard_api.domain.actions import ActionName
from shipyard_api.usecases.actions.approve import ApproveAction
from shipyard_api.usecases.actions.check import CheckAction
from shipyard_api.usecases.actions.check_software import CheckAcceptance, CheckSoftware
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.describe import DescribeAction, ListActions
from shipyard_api.usecases.actions.forecast import ForecastAction
from shipyard_api.usecases.actions.limits import ActionLimits
from shipyard_api.usecases.actions.overview import OverviewAction
from shipyard_api.usecases.actions.plan import PlanAction
from shipyard_api.usecases.actions.plan_content import content_of
from shipyard_api.usecases.actions.plan_software import PlanSoftware
from shipyard_api.usecases.actions.reconcile import ReconcileAction
from shipyard_api.usecases.actions.report import Places, ReportAction
from shipyard_api.usecases.actions.retry import RetryAction
from shipyard_api.usecases.actions.skipped_actions import FindSkippedActions
from shipyard_api.usecases.actions.stored_plans import StoredPlans
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps
from shipyard_api.usecases.nodes.build import NodeUseCases
from shipyard_api.usecases.parts import SiteParts
from shipyard_api.workflow.definition import Definition


class ActionUseCases(Struct, frozen=True):
    """What callers do with actions and ask about them. ``check_acceptance``: also a check of a design at its commit."""

    check_acceptance: CheckAcceptance
    create: CreateAction
    control: ControlAction
    limits: ActionLimits
    reconcile: ReconcileAction
    approve: ApproveAction
    retry: RetryAction
    plan: PlanAction
    plans: StoredPlans
    forecast: ForecastAction
    describe: DescribeAction
    overview: OverviewAction
    find_skipped_actions: FindSkippedActions
    list: ListActions
    report: ReportAction


def build(
    parts: SiteParts,
    *,
    definitions: Mapping[ActionName, Definition],
    new_id: Callable[[], str],
    places: Places,
    nodes: NodeUseCases,
    plan_steps: PlanDeploySteps,
) -> ActionUseCases:
    """Return the use cases. ``places``: pages of the provisioner."""
    store, designs, rendered, rules, clock = parts.store, parts.designs, parts.rendered, parts.rules, parts.clock
    schemas, cluster = parts.schemas, parts.cluster
    check_acceptance = CheckAcceptance(store, rendered, rules, parts.access.hosts if parts.access else None)
    check_software = CheckSoftware(store, rendered)
    check = CheckAction(
        designs, rendered, schemas, rules, plan_steps, check_acceptance, check_software, nodes.check_etcd, cluster
    )
    control = ControlAction(store, definitions, new_id, rules.closed)
    plan = PlanAction(
        store=store,
        check=check,
        control=control,
        hardware=nodes.hardware.hardware,
        designs=designs,
        rendered=rendered,
        definitions=definitions,
        plan_drain=nodes.plan_drain,
        plan_software=PlanSoftware(store, rendered, parts.access),
        clock=clock,
    )
    return ActionUseCases(
        check_acceptance=check_acceptance,
        create=CreateAction(
            store, check, definitions, new_id, plan.freeze, lambda case, frozen: content_of(plan.of(case, frozen))
        ),
        control=control,
        limits=ActionLimits(store),
        reconcile=ReconcileAction(store),
        approve=ApproveAction(store, clock.now),
        retry=RetryAction(control, plan),
        plan=plan,
        plans=StoredPlans(store, new_id, clock.now),
        forecast=ForecastAction(store, check, control, designs, rendered, clock),
        describe=DescribeAction(store),
        overview=OverviewAction(store, rendered, clock.now),
        find_skipped_actions=FindSkippedActions(store, definitions),
        list=ListActions(store, clock),
        report=ReportAction(store, clock, places),
    )
