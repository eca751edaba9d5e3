"""Power-cycling nodes while other work on them goes on."""

from collections.abc import Callable, Mapping, Sequence

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import PeerError

from . import translate
from .client import IronicClient
from .transitions import Transitions
from .translate import Node

Each = Callable[[Callable[[NodeName], str], Sequence[NodeName]], Sequence[str | PeerError | None]]
"""Calls a function for each node, a few at a time, and returns the outcomes in order."""


def cycle(
    client: IronicClient, transitions: Transitions, each: Each, scrub: Callable[[str], str], names: Sequence[NodeName]
) -> Mapping[NodeName, str]:
    """Reboot the nodes, and return why not, of those that Ironic refused or that are not known."""
    known = translate.by_name(map(Node.read, client.nodes(("name", "uuid"))))

    def reboot(name: NodeName) -> str:
        return transitions.reboot(known[name].uuid) if name in known else "there is no such node in Ironic"

    return {name: scrub(str(answer)) for name, answer in zip(names, each(reboot, names), strict=True) if answer}
