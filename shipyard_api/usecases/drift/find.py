"""Find drift: how nodes differ from what an action left (product, section 9)."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace as with_fields

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.cases.case import Case, CaseKind
from shipyard_api.domain.cases.features import Features
from shipyard_api.domain.cases.find import MOST_CASES, NodeFact, Seen, find_cases
from shipyard_api.domain.cases.ranking import LEAST
from shipyard_api.domain.deploy_steps.planning import RequestedSteps, only
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.drift.differences import (
    Difference,
    Kind,
    of_design,
    of_down,
    of_hardware,
    of_machines,
    of_members,
    of_teardowns,
)
from shipyard_api.domain.drift.observations import DownNode, LeftNode, MachineState, ObservedMachine
from shipyard_api.domain.drift.settings import WantedValues, of_boards, wanted_settings
from shipyard_api.domain.errors import NoSiteAction
from shipyard_api.domain.hardware.compare import Compared
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.specification.impact import Impact, NodeImpact
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.design_changes import DesignChanges

T = TypeVar("T")


class Since(Enum):
    """The action whose result is compared; the values are those of the parameter."""

    SUCCESSFUL_SITE_ACTION = "successful-site-action"
    LAST_SITE_ACTION = "last-site-action"


class Unanswered(Struct, frozen=True):
    """A system that could not be asked."""

    system: str
    why: str


class Drift(Struct, frozen=True):
    """The differences of each system, and what could not be compared.

    ``compared``: how many nodes were; ``skipped``: nodes that an action works on now. ``unsighted``: compared nodes of
    which it is not known yet which machine and installation they had. ``to_do``: no drift, but what the design that is
    committed asks of nodes as they were given; None if it is not known. ``cases``: what nodes that differ share.
    """

    base: ActionRecord
    differences: Mapping[str, Sequence[Difference]]
    unanswered: Sequence[Unanswered]
    compared: int
    skipped: Mapping[NodeName, ActionId]
    unsighted: Sequence[NodeName]
    to_do: Mapping[NodeName, NodeImpact] | None = None
    cases: Sequence[Case] = ()


class FindDrift(Struct, frozen=True):
    """The use case; changes nothing, and makes one listing of each peer. May take minutes on a large site.

    ``steps``: returns what the deploy templates of a revision ask for; ``firmware``: which versions it wants. Boards
    are read node by node, of those nodes alone of which the design wants anything. ``committed``: returns the nodes
    of the committed design, None if they are unknown: then those of the action's design are the servers of the site.
    ``hardware``: compares nodes with the hardware that a revision expects, as often as it takes to read all of it.
    ``changes``: returns what the committed design asks of the site, of which the provisioner shows these as deployed.
    ``features``: returns what may be the cause of differences.
    """

    store: Store
    provisioner: Provisioner
    cluster: Cluster | None
    inventory: Callable[[Revision], Inventory]
    steps: Callable[[Revision], RequestedSteps]
    firmware: Callable[[Revision], WantedValues] = lambda _: {}
    committed: Callable[[], Collection[NodeName] | None] = lambda: None
    changes: Callable[[Collection[NodeName] | None], DesignChanges | None] = lambda _: None
    features: Callable[[Revision, Collection[NodeName]], Features] = lambda _, nodes: Features(list(nodes))
    hardware: Callable[[Revision, Collection[NodeName]], Compared] = lambda *_: Compared()

    def __call__(self, since: Since) -> Drift:
        """Return the drift; raises NoSiteAction if there is nothing to compare with."""
        with self.store.begin() as tx:
            base = tx.observations.last_of(ACTIONS.of_the_site, succeeded=since is Since.SUCCESSFUL_SITE_ACTION)
            if base is None:
                raise NoSiteAction(since.value)
            left, taken = tx.observations.left_nodes(base.id), tx.observations.taken_down(base.id)
            names = [*(node.name for node in left), *(node.name for node in taken)]
            moving = tx.observations.at_work()
            held = {hold.node for hold in tx.holds.active(names)}
        before = self._at_work(moving)
        unanswered: list[Unanswered] = []
        machines = _asked(self.provisioner.name, self.provisioner.conditions, unanswered)
        members = None
        if self.cluster is not None:
            readiness = self.cluster.readiness
            members = _asked(self.cluster.name, lambda: readiness(names), unanswered)
        # Work that began or ended while the peers answered explains what they showed, too.
        with self.store.begin() as tx:
            moving = [*moving, *tx.observations.at_work()]
            now = {node.name: node for node in tx.observations.left_nodes(base.id)}
            down = set(taken).intersection(tx.observations.taken_down(base.id))
        busy = {**before, **self._at_work(moving)}
        still = [node for node in left if node.name not in busy and _is_same(node, now.get(node.name))]
        differences = {}
        if (designed := self._designed(base, unanswered)) is not None:
            differences["design"] = self._not_in_design(base, designed, busy)
        if machines is not None:
            boards = () if designed is None else self._boards(base, still, unanswered)
            lost = of_down((node for node in self._down(designed) if node.name not in busy), machines)
            differences[self.provisioner.name] = [*of_machines(still, machines), *boards, *lost]
        if self.cluster is not None and members is not None:
            differences[self.cluster.name] = [
                *of_members(still, members, cordoned_by_us=held),
                *of_teardowns((node for node in down if node.name not in busy), members, cordoned_by_us=held),
            ]
        return Drift(
            base,
            differences,
            unanswered,
            len(still),
            {node.name: busy[node.name] for node in left if node.name in busy},
            [node.name for node in still if node.observation is None],
            self._to_do(machines, busy, unanswered),
            self._cases(base, [node.name for node in still], differences, unanswered),
        )

    def _cases(
        self,
        base: ActionRecord,
        compared: Sequence[NodeName],
        differences: Mapping[str, Sequence[Difference]],
        unanswered: list[Unanswered],
    ) -> Sequence[Case]:
        """Return what the compared nodes share that differ in the same way; each command shows one of them."""
        by_kind: defaultdict[Kind, dict[NodeName, str]] = defaultdict(dict)
        for system, rows in differences.items():
            for row in rows:
                by_kind[row.kind][row.node] = f"{system}: {row.kind.value}"
        if base.revision is None or max(map(len, by_kind.values()), default=0) < LEAST:
            return ()
        try:
            features = self.features(base.revision, compared)
        except (UnreadableDesign, PeerError) as error:
            unanswered.append(Unanswered("the design", f"what servers that differ share is not known: {error}"))
            return ()
        cases: list[Case] = []
        for differ in by_kind.values():
            facts = {node: NodeFact(Seen.SPARED) for node in compared}
            facts |= {node: NodeFact(Seen.AFFECTED, why) for node, why in differ.items()}
            cases += find_cases(CaseKind.DRIFT, facts, features)
        first = sorted(cases, key=lambda case: -len(case.nodes))[:MOST_CASES]
        return [with_fields(case, command=f"shipyard describe node {case.nodes[0]}") for case in first]

    def _to_do(
        self,
        machines: Sequence[ObservedMachine] | None,
        busy: Collection[NodeName],
        unanswered: list[Unanswered],
    ) -> Mapping[NodeName, NodeImpact] | None:
        """Return the class of each node that is not as the committed design says."""
        shown = [machine for machine in machines or () if machine.state is MachineState.DEPLOYED]
        deployed = None if machines is None else [NodeName(machine.name) for machine in shown]
        changes = _asked("the design", lambda: self.changes(deployed), unanswered)
        if changes is None:
            return None
        nodes = changes.nodes.items()
        return {node: entry for node, entry in nodes if entry.impact is not Impact.UNCHANGED and node not in busy}

    def _designed(self, base: ActionRecord, unanswered: list[Unanswered]) -> Collection[NodeName] | None:
        """Return the nodes of the action's design."""
        if base.revision is None:
            return None
        try:
            return self.inventory(base.revision).nodes.keys()
        except (UnreadableDesign, PeerError) as error:
            unanswered.append(Unanswered("the design", str(error)))
            return None

    def _not_in_design(
        self, base: ActionRecord, designed: Collection[NodeName], busy: Collection[NodeName]
    ) -> Sequence[Difference]:
        """Return the deployed nodes that the design of the action lacks, whichever action deployed them."""
        left = self.store.read(lambda tx: tx.observations.left_nodes(ActionId("")))
        return of_design([node for node in left if node.name not in busy], designed, base.revision or 0)

    def _down(self, designed: Collection[NodeName] | None) -> Sequence[DownNode]:
        """Return the servers of the site that no action left deployed."""
        servers = self.committed() or designed or ()
        return self.store.read(lambda tx: tx.observations.down(servers))

    def _boards(
        self, base: ActionRecord, nodes: Sequence[LeftNode], unanswered: list[Unanswered]
    ) -> Sequence[Difference]:
        """Return how boards of nodes differ from what the design wants: settings of its templates, and firmware."""
        revision, names = base.revision, [node.name for node in nodes]
        if revision is None:
            return ()
        able, name = self.provisioner.capabilities, self.provisioner.name
        requested = able.bios and _asked(name, lambda: self.steps(Revision(revision)), unanswered)
        firmware = able.firmware and _asked(name, lambda: self.firmware(Revision(revision)), unanswered)
        differences: list[Difference] = []
        for kind, read, wanted in (
            (Kind.SETTINGS, able.bios, wanted_settings(only(requested or {}, names))),
            (Kind.FIRMWARE, able.firmware, {node: firmware[node] for node in names if firmware and node in firmware}),
        ):
            if read and wanted:
                seen = _asked(name, partial(read, wanted.keys()), unanswered)
                differences += of_boards(nodes, wanted, seen or {}, kind)
        compared = _asked(name, lambda: self.hardware(Revision(revision), names), unanswered)
        differences += of_hardware(nodes, compared or Compared())
        return differences

    def _at_work(self, moving: Sequence[ActionRecord]) -> Mapping[NodeName, ActionId]:
        """Return the nodes that actions and stragglers work on, those of a target list from the start."""
        with self.store.begin() as tx:
            known = tx.observations.nodes_at_work([action.id for action in moving])
        named = {node: action.id for action in moving for node in ACTIONS.targets(action.name, action.parameters)}
        return {**named, **known}


def _is_same(left: LeftNode, now: LeftNode | None) -> bool:
    return now is not None and (now.action, now.in_cluster) == (left.action, left.in_cluster)


def _asked(system: str, ask: Callable[[], T], unanswered: list[Unanswered]) -> T | None:
    """Return an answer, or note that there is none."""
    try:
        return ask()
    except PeerError as error:
        unanswered.append(Unanswered(system, str(error)))
        return None
