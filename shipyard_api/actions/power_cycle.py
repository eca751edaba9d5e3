"""power_cycle: switch deployed servers off and on through the provisioner, drained first.

Group by group of the site's strategy, restricted to the servers of the action, ``max_parallel_nodes`` at a time: a
server is drained, switched off and on, becomes ready in Kubernetes, and pods may run on it again. Members of one etcd
cluster go one after another.
"""

import dataclasses

from msgspec.structs import replace

from shipyard_api.actions.action import Action, Case, Desk, Parts, strategy_of_site
from shipyard_api.actions.admission import (
    committed,
    design_sound,
    on_deployed_groups,
    paced,
    share_small,
    teardown_limits,
    windows_open,
)
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.errors import InvalidParameters
from shipyard_api.domain.findings import error
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.parameters import CONTINUES, DRAIN_LIMITS, DRAINS, FORCED, PARALLEL, TARGETS
from shipyard_api.domain.rollout.policy.policy import EVERY_RULE, Rule
from shipyard_api.domain.rollout.ways import Way, Ways
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.workflow.step import AnyStep

CHECK_POWER_CYCLE = StepId("check_power_cycle")


def possible(case: Case, desk: Desk) -> Case:
    """Refuse if the provisioner cannot switch deployed servers off and on."""
    limits = desk.rules.limits
    if not limits.no_reboot:
        return case
    message = f"{limits.system} cannot switch deployed servers off and on: {limits.no_reboot}."
    return case.refused(InvalidParameters([error("NoPowerCycle", message)]))


def targets_interrupted(case: Case, _: Desk) -> Case:
    """Let the targets be away for a while, as many at a time as the action says."""
    parameters, site = case.parameters, case.site
    ways = Ways(
        power_cycled=tuple(sorted(parameters.targets)),
        undrained=not parameters.drains,
        at_once=parameters.max_parallel_nodes,
    )
    return case.having(site=replace(site, ways=ways))


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    ways = inputs.ways
    way = Way.POWER_CYCLE_UNDRAINED if ways.undrained else Way.POWER_CYCLE
    step = parts.site.power_cycle_nodes(inputs.teardown, way)
    return (
        *parts.site.validation(),
        parts.teardown.check_interrupted(CHECK_POWER_CYCLE, ways, inputs),
        dataclasses.replace(step, takes_down=parts.teardown.taking_down(inputs)),
    )


POWER_CYCLE = Action(
    name=ActionName("power_cycle"),
    work={NodeWork.DEPLOYMENT, NodeWork.TEARDOWN},
    steps=_steps,
    parameters=(CONTINUES, FORCED, TARGETS, PARALLEL, DRAINS, DRAIN_LIMITS),
    admission=(
        committed,
        design_sound,
        paced,
        windows_open,
        possible,
        teardown_limits,
        on_deployed_groups,
        targets_interrupted,
        share_small,
    ),
    reads=DesignRules.read,
    groups=strategy_of_site,
    on_site=True,
    rules=EVERY_RULE - {Rule.LATE},
)
