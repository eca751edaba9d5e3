"""List every node that an action ever held, its history, and what the provisioner shows of the machines."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.drift.observations import ObservedMachine
from shipyard_api.domain.errors import NodeNotFound
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.specification.impact import NodeImpact
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.state.nodes import LastNodeRecord, NodeHistory, NodeRecord, TeardownRecord
from shipyard_api.storage.unit_of_work import Store, Transaction

MOST_TEARDOWNS = 100
"""How many of the latest lines of a node's teardowns are shown."""


class OneNode(Struct, frozen=True):
    """A node with its history of actions and teardowns, newest first."""

    last: LastNodeRecord
    history: Sequence[NodeHistory]
    teardowns: Sequence[TeardownRecord]


class ListNodes(Struct, frozen=True):
    """The use case; changes nothing. ``job_address``, ``page_of``: where the provisioner shows them; None: nowhere.

    ``designed``: the nodes of the committed design; None if they are not known. ``compare``: returns what that design
    asks of nodes, the second ones of which actions left deployed.
    """

    store: Store
    job_address: Callable[[str], str | None]
    page_of: Callable[[str], str | None]
    designed: Callable[[], Collection[NodeName] | None]
    compare: Callable[[Collection[NodeName], Collection[NodeName]], Mapping[NodeName, NodeImpact]] = lambda *_: {}

    def page(
        self, *, status: Collection[str], prefix: str, names: Collection[str] = (), after: str, limit: int
    ) -> Sequence[LastNodeRecord]:
        """Return nodes after a name, filtered by their last status, the beginning of their name, and their names."""
        with self.store.begin() as tx:
            records = tx.nodes.latest(status=status, prefix=prefix, names=names, after=after, limit=limit)
            completed = _completed(tx, records)
        return self._compared(completed)

    def one(self, node: str, *, before: str | None, limit: int) -> OneNode:
        """Return a node and a page of its history, newest first; raises NotFound.

        A node that was only torn down by single operations has no history of deployments.
        """
        with self.store.begin() as tx:
            history = tx.nodes.history(node, before=before, limit=limit)
            last = tx.nodes.last(node)
            teardowns = tx.nodes.teardowns(node, limit=MOST_TEARDOWNS)
            if last is None and teardowns:
                record = NodeRecord(node, NodeStatus.NOT_STARTED, None, "", None, [], teardowns[0].at)
                last = LastNodeRecord(teardowns[0].action, record)
            if last is None:
                raise NodeNotFound(node)
            completed = _completed(tx, [last])
        return OneNode(self._compared(completed)[0], history, teardowns)

    def _compared(self, records: Sequence[LastNodeRecord]) -> Sequence[LastNodeRecord]:
        """Return the records with what the committed design has and asks of the nodes."""
        names = [NodeName(record.node.name) for record in records]
        deployed = [NodeName(record.node.name) for record in records if record.node.status is NodeStatus.SUCCESS]
        impacts, designed = self.compare(names, deployed), self.designed() if records else None
        return [
            replace(record, impact=impacts.get(name), in_design=None if designed is None else name in designed)
            for name, record in zip(names, records, strict=True)
        ]


def _completed(tx: Transaction, records: Sequence[LastNodeRecord]) -> Sequence[LastNodeRecord]:
    """Return the records with what other tables have of the nodes."""
    names = [NodeName(record.node.name) for record in records]
    holds, cordons, assigned = tx.holds.active(names), tx.nodes.left_cordons(names), tx.software.assigned(names)
    pending = tx.nodes.pending([hold.node for hold in holds]) if holds else {}
    by_name = defaultdict(list)
    for hold in holds:
        by_name[hold.node].append(hold)
    return [
        replace(
            record,
            holds=by_name[name],
            cordon=cordons.get(name),
            pending=pending.get(name, ()),
            roles=assigned.get(name, ((), ()))[0],
            tags=assigned.get(name, ((), ()))[1],
        )
        for name, record in zip(names, records, strict=True)
    ]


class StatusKind(Enum):
    """Kinds of machine status; the values are the words of the parameter (contract: shipyard-rest, 10)."""

    PROVISIONING = "nodes-provision-status"
    POWER = "machines-power-state"


class SiteStatuses(Struct, frozen=True):
    """The use case; changes nothing. Raises the provisioner's errors. May take minutes on a large site."""

    provisioner: Provisioner

    def __call__(self, kinds: Collection[StatusKind]) -> Mapping[StatusKind, Sequence[tuple[str, str]]]:
        """Return the status of every machine by name, for each kind, with a single call to the provisioner."""
        machines = sorted(self.provisioner.conditions(), key=lambda machine: machine.name)
        return {
            kind: [(machine.name, _status(machine, kind)) for machine in machines]
            for kind in StatusKind
            if kind in kinds
        }


def _status(condition: ObservedMachine, kind: StatusKind) -> str:
    return condition.status if kind is StatusKind.PROVISIONING else condition.power
