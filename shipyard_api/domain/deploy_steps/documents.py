"""The traits of nodes in a design: the documents shipyard/NodeTraits/v1 (product, section 8; seed 003, Example).

A document gives traits to the nodes that its selectors match, and says which of them their deployment asks for: what a
flavor says in the seed. Several documents add up.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from shipyard_api.domain.deploy_steps.traits import NodeTraits, TraitName, in_words, read_traits
from shipyard_api.domain.documents import Rendering
from shipyard_api.domain.findings import Finding, error, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.strategy.strategy import parse_selector

SCHEMA = "shipyard/NodeTraits/v1"
SHIPPED = "node_traits_v1"
_MOST_NAMED = 5
HAS, REQUESTED = "traits", "requested_traits"


def read_node_traits(
    rendering: Rendering, check: Callable[[str, object], tuple[Finding, ...]]
) -> tuple[Mapping[NodeName, NodeTraits], tuple[Finding, ...]]:
    """Return the traits of each node that has or requests any, and all findings on the documents.

    ``check``: checks a value against a schema that ships with Shipyard. A document with an error counts for no node.
    """
    traits_documents = [entry for entry in rendering.documents if entry.document.schema == SCHEMA]
    if not traits_documents:
        return {}, ()
    machines = rendering.machines
    has: defaultdict[NodeName, set[TraitName]] = defaultdict(set)
    requested: defaultdict[NodeName, set[TraitName]] = defaultdict(set)
    findings: list[Finding] = []
    for traits_document in traits_documents:
        document, faults = traits_document.document, list[Finding]()
        if traits_document.secret:
            faults.append(error("SecretInDeploymentDocument", f"A {SCHEMA} cannot be secret: plans show what it says."))
        faults += [] if faults else check(SHIPPED, document.data)
        given, asked = frozenset[TraitName](), frozenset[TraitName]()
        if not faults:
            given, wrong = read_traits(document.data.get(HAS), f"/{HAS}")
            asked, also_wrong = read_traits(document.data.get(REQUESTED), f"/{REQUESTED}")
            faults += [*wrong, *also_wrong]
        if not faults:
            selectors = [parse_selector(selector) for selector in document.data["selectors"]]
            named = frozenset[NodeName]().union(*(selector.node_names for selector in selectors))
            if unknown := sorted(named - machines.nodes.keys()):
                omitted = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
                message = f"The design has no node {in_words(unknown[:_MOST_NAMED])}{omitted}; correct the names."
                faults.append(warning("TraitsOfUnknownNode", message, path="/selectors"))
            chosen = select(selectors, machines)
            for node in chosen:
                has[node] |= given
                requested[node] |= asked
            if not chosen:
                message = f"No node of the design has the traits {in_words(sorted(given | asked))}: none is selected."
                faults.append(warning("TraitsOfNoNode", message, path="/selectors"))
        findings += [fault.about(document.ref) for fault in faults]
    nodes = sorted(has.keys() | requested.keys())
    return {node: NodeTraits(frozenset(has[node]), frozenset(requested[node])) for node in nodes}, tuple(findings)
