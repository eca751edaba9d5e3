"""Warn of deployed nodes that lack steps of their templates (product, section 8)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from shipyard_api.domain.deploy_steps.planning import PlannedNodes, in_short
from shipyard_api.domain.findings import Finding, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.remedies import remedies
from shipyard_api.domain.specification.given import STEPS

Differing = Mapping[NodeName, Collection[str] | None]


def templates_not_applied(
    planned: Sequence[PlannedNodes], differing: Differing, *, services: bool
) -> tuple[Finding, ...]:
    """Return a warning for nodes that are not deployed again and lack steps of their templates, with the way back.

    ``differing``: all aspects in which each node was given something else, None where that is unknown. ``services``:
    whether the provisioner can run steps on deployed nodes.
    """
    known = {node: aspects for node, aspects in differing.items() if aspects is not None}
    findings = []
    for plan in planned:
        templates = list(dict.fromkeys(name for name, _ in plan.requested))
        lacking = {node: _lacking(templates, differing[node]) for node in plan.nodes if node in differing}
        for remedy in remedies([node for node, names in lacking.items() if names], known, services=services):
            alike: defaultdict[str, list[NodeName]] = defaultdict(list)
            for node in remedy.nodes:
                alike[remedy.template or ", ".join(lacking[node])].append(node)
            for names, nodes in alike.items():
                already = f"{in_short(nodes)}: already deployed, so there is nothing to do"
                findings.append(warning("TemplatesNotApplied", f"{already}; {names} would need {remedy.way.value}."))
    return tuple(findings)


def _lacking(templates: Sequence[str], aspects: Collection[str] | None) -> Sequence[str]:
    return [name for name in templates if aspects is None or f"{STEPS}{name}" in aspects]
