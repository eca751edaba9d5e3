"""Target nodes of an action (contract: shipyard-actions, chapters 3 and 8.1)."""

from collections.abc import Iterable

from shipyard_api.domain.errors import InvalidTargets
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy

TARGET_GROUP = GroupName("target-group")
_NAME_LENGTH = 253  # as in DNS
_TARGETS = 10_000


def parse_targets(written: object) -> tuple[NodeName, ...]:
    """Return the names in the parameter ``target_nodes``, without duplicates and in order.

    The parameter is a list, or a text with commas. Blanks around names and empty parts are dropped. Raises Invalid if
    no name is left, or if an entry is not a name.
    """
    parts: Iterable[object] = written.split(",") if isinstance(written, str) else _list(written)
    names: list[str] = []
    for part in parts:
        if not isinstance(part, str):
            raise InvalidTargets
        # Entries of a list may contain commas, too.
        names.extend(name for name in map(str.strip, part.split(",")) if name)
    if not names or len(names) > _TARGETS or any(len(name) > _NAME_LENGTH or not name.isprintable() for name in names):
        raise InvalidTargets
    return tuple(NodeName(name) for name in dict.fromkeys(names))


def targeted(nodes: tuple[NodeName, ...], name: GroupName = TARGET_GROUP) -> Strategy:
    """Return the strategy of an action on these nodes: one critical group in which every node must succeed.

    The minimum also fails the group for a name that is not in the design.
    """
    criteria = SuccessCriteria(percent_successful_nodes=100, minimum_successful_nodes=len(nodes))
    group = DeploymentGroup(
        name,
        critical=True,
        selectors=(Selector(node_names=frozenset(nodes)),),
        success_criteria=criteria,
    )
    return Strategy((group,))


def _list(written: object) -> Iterable[object]:
    if isinstance(written, list | tuple):
        return written
    raise InvalidTargets
