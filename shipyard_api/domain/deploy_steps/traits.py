"""Names of traits, and the traits of a node in a design (seed 003; contract: Ironic deploy templates, 6)."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import NewType

from msgspec import Struct

from shipyard_api.domain.documents import Rendering
from shipyard_api.domain.findings import Finding, error, in_short, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.strategy.strategy import parse_selector

TraitName = NewType("TraitName", str)
"""A standard trait of OpenStack, or one of the operator's own."""

LONGEST_NAME = 255
"""Characters of a trait name."""

_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]+")
_SHOWN = 60


class NodeTraits(Struct, frozen=True):
    """``has``: the traits an operator gave the node. ``requested``: those that its deployment asks for."""

    has: frozenset[TraitName] = frozenset()
    requested: frozenset[TraitName] = frozenset()

    @property
    def missing(self) -> tuple[TraitName, ...]:
        """The requested traits that the node does not have, in order."""
        return tuple(sorted(self.requested - self.has))


def trait_fault(written: object) -> str | None:
    """Return the fault of a trait's name as a sentence, None if it has none."""
    if not isinstance(written, str):
        return "is not text"
    if not written:
        return "is empty"
    if len(written) > LONGEST_NAME:
        return f"has {len(written)} characters, and a trait at most {LONGEST_NAME}"
    if _CUSTOM.fullmatch(written) or written in _standard():
        return None
    return (
        f"{written[:_SHOWN]!r} is not a trait: write CUSTOM_ followed by capital letters, digits and underscores, "
        "or a standard trait such as HW_CPU_X86_VMX"
    )


def read_traits(written: object, path: str) -> tuple[frozenset[TraitName], tuple[Finding, ...]]:
    """Return the traits in a list, and an error for each entry that is none. None counts as an empty list.

    A trait that is listed twice counts once. ``path``: JSON pointer to the list.
    """
    if written is None:
        return frozenset(), ()
    if not isinstance(written, list):
        return frozenset(), (error("InvalidTraits", "Traits are a list of names.", path=path),)
    faults = [(place, fault) for place, trait in enumerate(written) if (fault := trait_fault(trait))]
    broken = {place for place, _ in faults}
    names = frozenset(TraitName(trait) for place, trait in enumerate(written) if place not in broken)
    return names, tuple(
        error("InvalidTrait", f"Trait {place} {fault}.", path=f"{path}/{place}") for place, fault in faults
    )


def in_words(names: Iterable[str]) -> str:
    """Return names as part of a sentence."""
    return ", ".join(names)


@cache
def _standard() -> frozenset[str]:
    # Imported here: it is a package of 50 modules, and most processes never read a trait.
    from os_traits import get_traits

    return frozenset(get_traits())


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
                message = f"The design has no node {in_short(unknown, _MOST_NAMED)}; correct the names."
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
