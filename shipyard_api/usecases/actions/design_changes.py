"""How the nodes of a design differ from those that actions left deployed."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision


@dataclass(frozen=True, slots=True)
class DesignChanges:
    """Nodes in order of name: not deployed yet, deployed and not in the design, deployed with something else.

    A deployed node without a record of what it was given counts as changed.
    """

    added: Sequence[NodeName]
    removed: Sequence[NodeName]
    changed: Sequence[NodeName]


def design_changes(specifications: Specifications, revision: Revision) -> DesignChanges | None:
    """Return the changes of a revision, without those of deploy templates; None if it cannot be rendered."""
    try:
        designed = specifications.rendered(revision).machines.nodes
    except (RenderingFailed, UnknownRevision):
        return None
    left = {node.name for node in specifications.store.read(lambda tx: tx.observations.left_nodes(ActionId("")))}
    changed = specifications.differing(specifications.wanted(revision, left, {}))
    return DesignChanges(sorted(designed.keys() - left), sorted(left - designed.keys()), sorted(changed))
