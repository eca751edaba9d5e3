"""update_site: bring a running site to a newer design (contract: shipyard-actions, 5.2; product, section 14).

As deploy_site, but a provisioner that knows no machine at all stops it. By default every provisioner leaves running
nodes alone, and they count as deployed; those of which only labels differ get them. With ``on-change`` changed servers
are serviced or installed again, on ways of their own through the groups of the strategy (ADR 0049). With ``on-removed``
servers that have left the design are taken down for good, one after another, once the groups have ended.
"""

import dataclasses

from msgspec.structs import replace

from shipyard_api.actions.action import Parts
from shipyard_api.actions.deploy_site import DEPLOY_SITE
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.redeploy_server import CHECK_TEARDOWN, DESTROY_NODES, numbered
from shipyard_api.actions.relabel_nodes import relabelling
from shipyard_api.actions.site_steps import VERIFY_NODES_EXIST
from shipyard_api.actions.steps.baremetal_nodes import BaremetalNodes
from shipyard_api.actions.update_checks import changes_known, servers_removed
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesRelabelled
from shipyard_api.domain.facts.software import SoftwareGiven
from shipyard_api.domain.parameters import AT_ONCE, CHANGES, REINSTALLS, REMOVALS
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.workflow.step import AnyStep

CHECK_REMOVAL = StepId("check_removal")


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    site, ways = parts.site, inputs.ways
    # In a retry a member of etcd may be missing that will be back when the turn of a server comes.
    checked = ways.interrupted and not inputs.retried
    return (
        *site.validation(),
        *((parts.teardown.check_interrupted(CHECK_TEARDOWN, ways, inputs),) if checked else ()),
        site.verify_site(),
        site.prepare_site(),
        site.check(VERIFY_NODES_EXIST, site.checks.provisioner_knows_nodes, spares=(), asks=site.provisioner),
        *_relabel(parts, inputs),
        _nodes(parts, ways, inputs),
        *_removal(parts, inputs),
        *parts.software.steps(inputs, deploys=True),
        site.mark_revision(),
    )


def _nodes(parts: Parts, ways: Ways, inputs: ActionInputs) -> BaremetalNodes:
    step = parts.site.prepare_and_deploy_nodes()
    if ways.serviced:
        step = dataclasses.replace(step, drains=parts.site.drains(inputs.teardown))
    return dataclasses.replace(step, takes_down=parts.teardown.taking_down(inputs)) if ways.interrupted else step


def _removal(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    """Return the steps that take down the servers that have left the design, one after another."""
    steps: list[AnyStep] = []
    for number, (node, revision) in enumerate(removed := sorted((inputs.removed or {}).items())):
        left = tuple(name for name, _ in removed[number:])
        steps.append(parts.teardown.check_removal(numbered(CHECK_REMOVAL, number), left, inputs))
        step = numbered(DESTROY_NODES, number)
        steps.append(parts.teardown.nodes(step, (node,), inputs, leaves=True, revision=revision))
    return tuple(steps)


def _relabel(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    nodes = inputs.labels or inputs.relabelled or {}
    return (relabelling(parts, inputs, list(nodes), tolerant=True),) if nodes else ()


def _first_facts(_parts: Parts, inputs: ActionInputs) -> tuple[Fact, ...]:
    """Return the nodes that were only moved in the design, or lost all their tasks: nothing is done to a server."""
    moved = (NodesRelabelled({}, inputs.moved),) if inputs.moved else ()
    return (*moved, *((SoftwareGiven(0, dict.fromkeys(inputs.untasked, "")),) if inputs.untasked else ()))


UPDATE_SITE = replace(
    DEPLOY_SITE,
    name=ActionName("update_site"),
    steps=_steps,
    first_facts=_first_facts,
    parameters=(*DEPLOY_SITE.parameters, CHANGES, REINSTALLS, REMOVALS, AT_ONCE),
    asks_peers=(*DEPLOY_SITE.asks_peers, changes_known, servers_removed),
)
