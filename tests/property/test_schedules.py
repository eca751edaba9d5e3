"""What holds for all that decides which unit may begin: groups of a strategy, and tasks of a graph (ADR 0052)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from typing import Any, Protocol

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.domain.groups import GroupStatus, Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.moves import Mode, Move, Outcome
from shipyard_api.domain.task_graph.execution import Ended, Execution, Piece, Rules
from shipyard_api.domain.task_graph.plan import Plan
from tests.property.sites import Site, modes, sites
from tests.property.test_task_graph import SITES, documents, expected_edges
from tests.task_graphs import graph
from tests.task_plans import attempt

Work = tuple[str, NodeName]
"""What a node does once at most: a phase, or a task."""


class Schedule(Protocol):
    """``begin`` returns what begins now, by key; ``end`` says which of its nodes failed. ``most``: nodes at once."""

    most: int | None

    def begin(self) -> Mapping[object, Sequence[Work]]:
        """Return the works that begin now."""

    def end(self, key: object, failed: Collection[NodeName]) -> None:
        """Record that a unit ended."""

    def before(self, work: Work) -> Iterable[Work]:
        """Return what must have been done before this, but on nodes that are lost."""

    def lost(self) -> Collection[NodeName]:
        """Return the nodes that failed, or lack something that they need."""

    def left(self) -> Mapping[Work, bool]:
        """Return, after the end, the works that never began, with whether the schedule says why."""


class Groups:
    """A rollout. Every move ends at once, well or badly."""

    def __init__(self, site: Site, mode: Mode) -> None:
        self.rollout, self.most = site.rollout(mode), mode.max_nodes_in_flight
        self.depends_on = {group.name: group.depends_on for group in site.strategy.groups}

    def begin(self) -> Mapping[object, Sequence[Work]]:
        begun: dict[object, Sequence[Work]] = {}
        while (move := self.rollout.next_move()) is not None:
            parents = (self.rollout.groups[parent] for parent in self.depends_on[move.group])
            assert all(status is GroupStatus.SUCCESS for status in parents)
            self.rollout.start(move)
            if move.nodes:
                begun[move] = [(move.phase.value, node) for node in move.nodes]
        return begun

    def end(self, key: object, failed: Collection[NodeName]) -> None:
        assert isinstance(key, Move)
        self.rollout.finish(key, Outcome(frozenset(key.nodes).difference(failed)))

    def before(self, work: Work) -> Iterable[Work]:
        return [(Phase.PREPARE.value, work[1])] if work[0] == Phase.DEPLOY.value else []

    def left(self) -> Mapping[Work, bool]:
        assert self.rollout.done
        assert all(status in (GroupStatus.SUCCESS, GroupStatus.FAILED) for status in self.rollout.groups.values())
        failed = {name for name, status in self.rollout.groups.items() if status is GroupStatus.FAILED}
        works = [(phase.value, node) for phase in Phase for node in self.rollout.nodes]
        lost, groups_of = self.lost(), self.rollout.groups_of
        return {work: work[1] in lost or failed.issuperset(groups_of[work[1]]) for work in works}

    def lost(self) -> Collection[NodeName]:
        return {node for node, status in self.rollout.nodes.items() if status is NodeStatus.FAILURE}


class Tasks:
    """A run of a task graph."""

    def __init__(self, entries: list[dict[str, Any]], made: Plan, roles: dict[str, list[str]], most: int) -> None:
        self.most: int | None = most
        self.execution = Execution(made.flow, Rules.of(graph(*entries), made.groups, most))
        self.roles, self.entries, self.pieces = roles, entries, dict[str, Piece]()
        self.ended: list[Ended] = []
        works = [(str(task), str(node)) for task, nodes in made.flow.nodes_of.items() for node in nodes]
        self.works = [(task, NodeName(node)) for task, node in works]
        self.edges = list(expected_edges(entries, dict.fromkeys(works, (0, 0)), roles))

    def begin(self) -> Mapping[object, Sequence[Work]]:
        self.execution, pieces = self.execution.advance(self.ended)
        self.ended.clear()
        self.pieces.update((piece.id, piece) for piece in pieces)
        return {piece.id: [(piece.task, node) for node in piece.nodes] for piece in pieces}

    def end(self, key: object, failed: Collection[NodeName]) -> None:
        piece = self.pieces[str(key)]
        self.ended.append(Ended(piece.id, {node: "it broke" for node in piece.nodes if node in failed}))

    def before(self, work: Work) -> Iterable[Work]:
        return [(task, NodeName(node)) for (task, node), later in self.edges if later == work != (task, node)]

    def left(self) -> Mapping[Work, bool]:
        assert self.execution.has_ended
        lost = self.lost()
        return {work: bool(self.execution.stopped) or work[1] in lost for work in self.works}

    def lost(self) -> Collection[NodeName]:
        return {*self.execution.failed, *self.execution.unmet()}


def play(schedule: Schedule, fails: Collection[Work], dice: Random) -> None:
    """Play a schedule to its end, whatever comes back first, and hold it to what every schedule promises."""
    begun, over, failed = set[Work](), set[Work](), set[NodeName]()
    open_units: dict[object, Sequence[Work]] = {}
    while True:
        for key, works in schedule.begin().items():
            lost = schedule.lost()
            busy = {node for other in open_units.values() for _, node in other}
            for work in works:
                assert work not in begun, "nothing is done twice"
                assert work[1] not in busy, "a node does one thing at a time"
                assert work[1] not in failed, "a node that failed does nothing more"
                missing = [before for before in schedule.before(work) if before not in over and before[1] not in lost]
                assert not missing, f"{work} began before {missing}"
            begun.update(works)
            open_units[key] = works
            assert schedule.most is None or sum(map(len, open_units.values())) <= schedule.most
        if not open_units:
            break
        key = dice.choice([*open_units])
        works = open_units.pop(key)
        wrong = {work[1] for work in works if work in fails}
        over.update(works)
        failed |= wrong
        schedule.end(key, wrong)
    assert all(why for work, why in schedule.left().items() if work not in begun), "what did not begin is explained"


@given(sites(), modes, st.integers(0, 2**16))
def test_groups_of_a_strategy(site: Site, mode: Mode, seed: int) -> None:
    play(Groups(site, mode), {(phase.value, node) for phase, node in site.fate.fails}, Random(seed))


@given(documents(forwards=True), SITES, st.integers(1, 6), st.integers(0, 3), st.integers(0, 2**16))
def test_tasks_of_a_graph(entries: list[dict[str, Any]], nodes: list[Any], most: int, failures: int, seed: int) -> None:
    for entry in entries:
        if entry["type"] == "group":
            entry["fault_tolerance"] = Random(f"{seed} {entry['id']}").choice([0, 1, 2, "50%", "-1"])
    made, _ = attempt(entries, nodes)
    if made is None:
        return
    dice, schedule = Random(seed), Tasks(entries, made, {one.name: list(one.roles) for one in nodes}, most)
    fails = dice.sample(schedule.works, min(failures, len(schedule.works)))
    play(schedule, fails, dice)
