"""service_server: run the steps of a deploy template, or of a runbook, on servers that run (product, section 8).

Group by group of the site's strategy, restricted to the servers of the action: a group is drained, its servers run the
steps as service steps, and they join the cluster again. Success criteria and dependencies are those of a deployment.
"""

from shipyard_api.actions.action import Action, Parts, strategy_of_site
from shipyard_api.actions.admission import (
    committed,
    design_sound,
    on_deployed_groups,
    paced,
    service_possible,
    service_steps,
    share_small,
    teardown_limits,
    windows_open,
)
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.parameters import CONTINUES, DRAIN_LIMITS, FORCED, RUNBOOKS, SOME_TARGETS, TEMPLATES
from shipyard_api.domain.rollout.policy.policy import EVERY_RULE, Rule
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.workflow.step import AnyStep

CHECK_SERVICE = StepId("check_service")


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    limits = inputs.teardown
    check = parts.teardown.check_service(CHECK_SERVICE, inputs)
    return (*parts.site.validation(), check, parts.site.drain_and_service_nodes(limits))


SERVICE_SERVER = Action(
    name=ActionName("service_server"),
    work={NodeWork.DEPLOYMENT, NodeWork.TEARDOWN},
    steps=_steps,
    parameters=(CONTINUES, FORCED, SOME_TARGETS, TEMPLATES, RUNBOOKS, DRAIN_LIMITS),
    admission=(
        committed,
        design_sound,
        paced,
        windows_open,
        service_possible,
        teardown_limits,
        on_deployed_groups,
        share_small,
    ),
    asks_peers=(service_steps,),
    reads=DesignRules.read,
    groups=strategy_of_site,
    on_site=True,
    services=True,
    rules=EVERY_RULE - {Rule.LATE},
)
