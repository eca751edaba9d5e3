"""remove_server: take servers down for good: the teardown of redeploy_server without a deployment (seed 004).

One batch of servers after another, by default one server. A server may have left the committed design: the action works
from the last revision that has it. What etcd keeps is checked for all servers together before the first is touched.
"""

from shipyard_api.actions.redeploy_server import CHECK_TEARDOWN, DESTROY_NODES, batches, numbered
from shipyard_api.actions.site_parts import SiteParts
from shipyard_api.actions.teardown_parts import TeardownParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import TargetsKnown
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep, Json


def definition(parts: SiteParts, teardown: TeardownParts) -> Definition:
    """Return the steps of remove_server."""

    def steps(inputs: Json) -> tuple[AnyStep, ...]:
        found: list[AnyStep] = [*parts.validation(), parts.verify_site()]
        remaining = [*batches(inputs)]
        for number, nodes in enumerate(batches(inputs)):
            left = tuple(node for batch in remaining[number:] for node in batch)
            found.append(teardown.check_removal(numbered(CHECK_TEARDOWN, number), left, inputs))
            found.append(teardown.nodes(numbered(DESTROY_NODES, number), nodes, inputs))
        return tuple(found)

    def targets(inputs: Json) -> tuple[Fact, ...]:
        left = [
            teardown.nodes(numbered(DESTROY_NODES, number), nodes, inputs).begin(inputs).nodes
            for number, nodes in enumerate(batches(inputs))
        ]
        return (TargetsKnown(tuple(node for nodes in left for node in nodes)),)

    return Definition(ActionName.REMOVE_SERVER, steps, first_facts=targets)
