"""update_site: bring a running site to a newer design (contract: shipyard-actions, 5.2).

As deploy_site, but a provisioner that knows no machine at all stops it. Every provisioner leaves running nodes alone,
and they count as deployed. Those of which only labels differ get them first: nothing is drained or erased by it.
"""

from dataclasses import replace

from shipyard_api.actions.action import Parts
from shipyard_api.actions.admission import labels_changed
from shipyard_api.actions.deploy_site import DEPLOY_SITE
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.relabel_nodes import relabelling
from shipyard_api.actions.site_steps import VERIFY_NODES_EXIST
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesRelabelled
from shipyard_api.workflow.step import AnyStep


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    site = parts.site
    return (
        *site.validation(),
        site.verify_site(),
        site.prepare_site(),
        site.check(VERIFY_NODES_EXIST, site.checks.provisioner_knows_nodes, spares=(), asks=site.provisioner),
        *_relabel(parts, inputs),
        site.prepare_and_deploy_nodes(),
        *parts.software.steps(inputs, deploys=True),
        site.mark_revision(),
    )


def _relabel(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    nodes = inputs.labels or inputs.relabelled or {}
    return (relabelling(parts, inputs, list(nodes), tolerant=True),) if nodes else ()


def _first_facts(_parts: Parts, inputs: ActionInputs) -> tuple[Fact, ...]:
    """Return the nodes that were only moved in the design: no server has to be told."""
    return (NodesRelabelled({}, inputs.moved),) if inputs.moved else ()


UPDATE_SITE = replace(
    DEPLOY_SITE,
    name=ActionName("update_site"),
    steps=_steps,
    first_facts=_first_facts,
    asks_peers=(*DEPLOY_SITE.asks_peers, labels_changed),
)
