"""deploy_site: from a committed design to running servers (contract: shipyard-actions, 5.1; product, section 5).

On a site with a task graph the software stage follows, on the nodes that were deployed.
"""

from shipyard_api.actions.action import Action, Parts, strategy_of_site
from shipyard_api.actions.admission import (
    acceptance_runs,
    commits_used,
    committed,
    design_sound,
    paced,
    share_small,
    site_steps,
    windows_open,
)
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.parameters import CONTINUES, FORCED, INTERMEDIATE
from shipyard_api.domain.rollout.policy.policy import EVERY_RULE
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.workflow.step import AnyStep


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    site = parts.site
    return (
        *site.validation(),
        site.verify_site(),
        site.prepare_site(),
        site.prepare_and_deploy_nodes(),
        *parts.software.steps(inputs, deploys=True),
        site.mark_revision(),
    )


DEPLOY_SITE = Action(
    name=ActionName("deploy_site"),
    work={NodeWork.DEPLOYMENT, NodeWork.OTHER},
    steps=_steps,
    parameters=(CONTINUES, INTERMEDIATE, FORCED),
    admission=(committed, commits_used, design_sound, paced, windows_open, share_small),
    asks_peers=(acceptance_runs, site_steps),
    reads=DesignRules.read,
    groups=strategy_of_site,
    on_site=True,
    deploys=True,
    runs_tasks=True,
    rules=EVERY_RULE,
)
