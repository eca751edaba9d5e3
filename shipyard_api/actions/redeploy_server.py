"""redeploy_server: take servers down safely and install them again (seed 004; contract: shipyard-actions, 5.4).

One batch of targets after another, by default one server: its teardown, its destruction, its deployment, until it has
joined. The steps of a ``runbook`` clean a destroyed server before it is deployed, since Ironic cleans no deployed one.
With ``rebuild`` nothing is destroyed: a server leaves the cluster, and the provisioner installs its system disk
again. A batch begins only when the one before it has succeeded, so that a fault hurts no further server. What can be
known of all batches is checked before the first server is touched.
"""

from collections.abc import Sequence

from shipyard_api.actions.action import Action, Parts
from shipyard_api.actions.admission import (
    batches_fit,
    cleaning_possible,
    cleaning_steps,
    committed,
    design_sound,
    disks_preserved,
    etcd_allows,
    of_target_revision,
    on_targets,
    paced,
    rebuild_possible,
    share_small,
    something_drains,
    target_revision_exists,
    target_steps,
    teardown_limits,
    windows_open,
)
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_steps import PREPARE_AND_DEPLOY_NODES
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import (
    CONTINUES,
    FORCED,
    LIMITS,
    MODES,
    PARALLEL,
    PRESERVES,
    REVISION,
    RUNBOOKS,
    SERVERS,
    Parameters,
)
from shipyard_api.domain.rollout.policy.policy import ON_SERVERS
from shipyard_api.domain.rollout.ways import Way
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.domain.strategy.strategy import Strategy
from shipyard_api.domain.targets import TARGET_GROUP, in_batch, in_batches, targeted_in_batches
from shipyard_api.ports.provisioner import Wipe
from shipyard_api.workflow.step import AnyStep

CHECK_TEARDOWN = StepId("check_teardown")
DESTROY_NODES = StepId("destroy_nodes")


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    site, teardown = parts.site, parts.teardown
    rebuild = inputs.rebuild
    steps: list[AnyStep] = [*site.validation()]
    for number, nodes in enumerate(batches(inputs)):
        # All that can be known of any batch is known before the first server is touched. In a retry, an etcd member
        # may be missing that will be back when the turn of a later batch comes.
        checked = [nodes] if number or inputs.retried else batches(inputs)
        steps.append(teardown.check(numbered(CHECK_TEARDOWN, number), checked, inputs))
        if number == 0:
            steps += [site.verify_site(), site.prepare_site()]
        taken_down = teardown.drains or not rebuild
        if taken_down:
            steps.append(teardown.nodes(numbered(DESTROY_NODES, number), nodes, inputs))
        step, group = numbered(PREPARE_AND_DEPLOY_NODES, number), in_batch(TARGET_GROUP, number)
        steps.append(site.prepare_and_deploy_nodes(step, nodes, group, way=_way(inputs), begins=not taken_down))
    return tuple(steps)


def _way(inputs: ActionInputs) -> Way:
    if inputs.rebuild:
        return Way.REBUILD
    return Way.NEW if inputs.wipe in (None, Wipe.ALL) else Way.PRESERVING


def batches(inputs: ActionInputs) -> Sequence[tuple[NodeName, ...]]:
    """Return the targets in the batches in which they are taken down."""
    return in_batches(inputs.targets, inputs.max_parallel_nodes or 1)


def numbered(name: str, number: int) -> StepId:
    """Return the id of a step of this batch."""
    return StepId(in_batch(name, number))


def batches_of_targets(parameters: Parameters, inputs: SiteInputs | None) -> Strategy:
    """Return the groups of an action on single servers: its batches, which budgets of a policy may make smaller."""
    size = (inputs and inputs.max_parallel_nodes) or parameters.max_parallel_nodes
    return targeted_in_batches(parameters.targets, size)


def _facts(_parts: Parts, inputs: ActionInputs) -> tuple[Fact, ...]:
    """Return the groups of all batches, so that every target has its row before the first one is touched."""
    strategy = inputs.of_site.strategy
    members = dict(zip((group.name for group in strategy.groups), map(frozenset, batches(inputs)), strict=True))
    return (MembersKnown.of(strategy, members),)


REDEPLOY_SERVER = Action(
    name=ActionName("redeploy_server"),
    work={NodeWork.DEPLOYMENT, NodeWork.TEARDOWN},
    steps=_steps,
    parameters=(CONTINUES, FORCED, SERVERS, PRESERVES, REVISION, MODES, PARALLEL, LIMITS, RUNBOOKS),
    first_facts=_facts,
    admission=(
        committed,
        of_target_revision,
        design_sound,
        target_revision_exists,
        on_targets,
        disks_preserved,
        rebuild_possible,
        cleaning_possible,
        teardown_limits,
        paced,
        batches_fit,
        windows_open,
        something_drains,
        share_small,
    ),
    asks_peers=(target_steps, cleaning_steps, etcd_allows),
    reads=DesignRules.read_targeted,
    groups=batches_of_targets,
    deploys=True,
    tears_down=True,
    limited=True,
    rules=ON_SERVERS,
)
