"""The nodes that a targeted action is for (contract: shipyard-actions, chapters 3 and 8.1)."""

from collections.abc import Iterable

from shipyard_api.domain.criteria import SuccessCriteria
from shipyard_api.domain.errors import Invalid
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.selectors import Selector
from shipyard_api.domain.strategy import DeploymentGroup, GroupName, Strategy

TARGET_GROUP = GroupName("target-group")
_LONGEST = 253  # characters of a name, as in DNS
_MOST = 10_000


def parse_targets(written: object) -> tuple[NodeName, ...]:
    """Return the names in the parameter ``target_nodes``, each once and in its order: a list, or a text with commas.

    Blanks around names and empty parts are dropped. Raises Invalid if none is left, or what is given are no names.
    """
    parts: Iterable[object] = written.split(",") if isinstance(written, str) else _list(written)
    names: list[str] = []
    for part in parts:
        if not isinstance(part, str):
            raise _invalid()
        # A text with commas inside a list means what it means alone.
        names.extend(name for name in map(str.strip, part.split(",")) if name)
    if not names or len(names) > _MOST or any(len(name) > _LONGEST or not name.isprintable() for name in names):
        raise _invalid()
    return tuple(NodeName(name) for name in dict.fromkeys(names))


def targeted(nodes: tuple[NodeName, ...]) -> Strategy:
    """Return the strategy of an action on these nodes: one critical group, of which every node must succeed.

    The minimum makes the group fail also for a name that no node of the design has.
    """
    criteria = SuccessCriteria(percent_successful_nodes=100, minimum_successful_nodes=len(nodes))
    group = DeploymentGroup(
        TARGET_GROUP,
        critical=True,
        selectors=(Selector(node_names=frozenset(nodes)),),
        success_criteria=criteria,
    )
    return Strategy((group,))


def _list(written: object) -> Iterable[object]:
    if isinstance(written, list | tuple):
        return written
    raise _invalid()


def _invalid() -> Invalid:
    return Invalid(
        "Invalid target_nodes parameter",
        "The target_nodes parameter for this action should be a list with one or more string values representing "
        "node names",
    )
