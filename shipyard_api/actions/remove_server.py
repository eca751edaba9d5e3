"""remove_server: take servers down for good: the teardown of redeploy_server without a deployment (seed 004).

The provisioner forgets them, too. One batch of servers after another, by default one server. A server may have left
the committed design: the action works from the last revision that has it. What etcd keeps is checked for all servers
together before the first is touched.
"""

from shipyard_api.actions.action import Action, Parts
from shipyard_api.actions.admission import (
    batches_fit,
    committed,
    design_sound,
    disks_preserved,
    etcd_allows,
    of_last_with_targets,
    on_targets,
    paced,
    share_small,
    something_drains,
    teardown_limits,
    windows_open,
)
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.redeploy_server import CHECK_TEARDOWN, DESTROY_NODES, batches, batches_of_targets, numbered
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import TargetsKnown
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.parameters import CONTINUES, FORCED, LIMITS, PARALLEL, PRESERVES, SERVERS
from shipyard_api.domain.rollout.policy.policy import ON_SERVERS
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.workflow.step import AnyStep


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    steps: list[AnyStep] = [*parts.site.validation(), parts.site.verify_site()]
    remaining = [*batches(inputs)]
    for number, nodes in enumerate(batches(inputs)):
        left = tuple(node for batch in remaining[number:] for node in batch)
        steps.append(parts.teardown.check_removal(numbered(CHECK_TEARDOWN, number), left, inputs))
        steps.append(parts.teardown.nodes(numbered(DESTROY_NODES, number), nodes, inputs, leaves=True))
    return tuple(steps)


def _facts(parts: Parts, inputs: ActionInputs) -> tuple[Fact, ...]:
    left = [
        parts.teardown.nodes(numbered(DESTROY_NODES, number), nodes, inputs, leaves=True).begin(inputs).nodes
        for number, nodes in enumerate(batches(inputs))
    ]
    return (TargetsKnown(tuple(node for nodes in left for node in nodes)),)


REMOVE_SERVER = Action(
    name=ActionName("remove_server"),
    work={NodeWork.TEARDOWN},
    steps=_steps,
    parameters=(CONTINUES, FORCED, SERVERS, PRESERVES, PARALLEL, LIMITS),
    first_facts=_facts,
    admission=(
        committed,
        of_last_with_targets,
        design_sound,
        on_targets,
        disks_preserved,
        teardown_limits,
        paced,
        batches_fit,
        windows_open,
        something_drains,
        share_small,
    ),
    asks_peers=(etcd_allows,),
    reads=DesignRules.read_targeted,
    groups=batches_of_targets,
    tears_down=True,
    limited=True,
    rules=ON_SERVERS,
)
