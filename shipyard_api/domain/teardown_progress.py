"""What goes on with nodes that are taken down, from the journal of their action."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.facts.teardown import TeardownChanged, TeardownWaits
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.order import Operation, Outcome

KINDS = frozenset({TeardownChanged.kind, TeardownWaits.kind})


class TeardownAtWork(Struct, frozen=True):
    """The operation of a node, since when it has been at work, and what it waits for (a sentence each)."""

    node: NodeName
    operation: Operation
    since: datetime
    waits_for: tuple[str, ...] = ()


def teardowns(journal: Iterable[JournalEntry]) -> Sequence[TeardownAtWork]:
    """Return the operations that have begun and not ended, in the order in which they began.

    An operation that waits before it may begin, such as for an etcd cluster, counts from its first wait on.
    """
    progress: dict[NodeName, TeardownAtWork] = {}
    for entry in journal:
        match entry.fact:
            case TeardownChanged(node, operation, Outcome.RUNNING):
                progress.pop(node, None)
                progress[node] = TeardownAtWork(node, operation, entry.at)
            case TeardownChanged(node, operation) if node in progress and progress[node].operation is operation:
                del progress[node]
            case TeardownWaits(node, operation, reasons) if node in progress and progress[node].operation is operation:
                progress[node] = replace(progress[node], waits_for=reasons)
            case TeardownWaits(node, operation, reasons) if node not in progress and reasons:
                progress[node] = TeardownAtWork(node, operation, entry.at, reasons)
    return list(progress.values())
