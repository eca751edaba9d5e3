"""How the nodes of a design differ from those that actions left deployed."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.documents.machines import BAREMETAL_NODE
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns


@dataclass(frozen=True, slots=True)
class DesignChanges:
    """Nodes in order of name: not deployed yet, deployed and not in the design, deployed from another document."""

    added: Sequence[NodeName]
    removed: Sequence[NodeName]
    changed: Sequence[NodeName]


def design_changes(store: Store, rendered: RenderedDesigns, revision: Revision) -> DesignChanges | None:
    """Return the changes of a revision; None if it cannot be rendered.

    A node whose earlier document can no longer be read counts as unchanged.
    """
    now = _machines(rendered, revision)
    if now is None:
        return None
    with store.begin() as tx:
        left = {node.name: node.action for node in tx.observations.left_nodes(ActionId(""))}
        revisions = {action.id: action.revision for action in tx.actions.by_ids(set(left.values()))}
    deployed_from: defaultdict[Revision, list[NodeName]] = defaultdict(list)
    for node, action in left.items():
        if node in now and (earlier := revisions[action]) not in (None, revision):
            deployed_from[earlier].append(node)
    changed: list[NodeName] = []
    for earlier, nodes in deployed_from.items():
        before = _machines(rendered, earlier) or {}
        changed += [node for node in nodes if node in before and before[node] != now[node]]
    return DesignChanges(sorted(now.keys() - left), sorted(left.keys() - now), sorted(changed))


def _machines(rendered: RenderedDesigns, revision: Revision) -> Mapping[NodeName, Any] | None:
    try:
        documents = [rendered.document for rendered in rendered.of(revision).documents]
    except (RenderingFailed, UnknownRevision):
        return None
    return {NodeName(document.name): document.data for document in documents if document.schema == BAREMETAL_NODE}
