"""Random strategies with what will happen to their nodes, for the properties of a rollout."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from hypothesis import strategies as st
from msgspec.structs import replace

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import SERIAL, Mode, Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy

T = TypeVar("T")


@dataclass(frozen=True)
class Fate:
    """What happens to nodes and groups: which nodes fail where, which phases run out of time, who is slow then.

    ``queues``: the phases that the provisioner never begins.
    """

    fails: frozenset[tuple[Phase, NodeName]] = frozenset()
    times_out: frozenset[tuple[Phase, GroupName]] = frozenset()
    slow: frozenset[NodeName] = frozenset()
    queues: frozenset[tuple[Phase, GroupName]] = frozenset()

    def outcome(self, move: Move) -> Outcome:
        """Return how the move ends; the same move always ends alike."""
        if (move.phase, move.group) in self.queues:
            return Outcome(never_begun=True)
        timed_out = (move.phase, move.group) in self.times_out
        late = self.slow if timed_out else frozenset()
        good = {node for node in move.nodes if (move.phase, node) not in self.fails and node not in late}
        return Outcome(frozenset(good), timed_out)


@dataclass(frozen=True)
class Site:
    """A strategy, the nodes its groups hold, and the fate of all."""

    strategy: Strategy
    members: dict[GroupName, frozenset[NodeName]]
    fate: Fate

    def rollout(self, mode: Mode = SERIAL) -> Rollout:
        """Return the rollout before its first move."""
        return Rollout(self.strategy, self.members, mode)

    def apart(self) -> "Site":
        """Return the same site with each node in the first of its groups only."""
        taken: set[NodeName] = set()
        members = {}
        for group in self.strategy.groups:
            members[group.name] = self.members[group.name] - taken
            taken |= members[group.name]
        return dataclasses.replace(self, members=members)

    def with_fate(self, fate: Fate) -> "Site":
        """Return the same site with another fate."""
        return dataclasses.replace(self, fate=fate)


def run(site: Site, rollout: Rollout | None = None) -> tuple[Rollout, list[Move], list[Fact]]:
    """Play a rollout to its end; begin anew or go on with the one that is given."""
    rollout = rollout or site.rollout()
    moves: list[Move] = []
    facts: list[Fact] = []
    for move in list(rollout.running):
        facts += rollout.finish(move, site.fate.outcome(move))
    while (move := rollout.next_move()) is not None:
        moves.append(move)
        facts += rollout.start(move)
        if move.nodes:
            facts += rollout.finish(move, site.fate.outcome(move))
    return rollout, moves, facts


def weave(
    site: Site, rollout: Rollout, dice: Random, after: Callable[[], None] = lambda: None
) -> tuple[list[Move], list[Fact]]:
    """Play a rollout with all that it lets be in flight; what comes back first, and in how many parts, is random.

    ``after`` is called after every change.
    """
    moves: list[Move] = []
    facts: list[Fact] = []
    while not rollout.done:
        while (move := rollout.next_move()) is not None:
            moves.append(move)
            facts += rollout.start(move)
            after()
        if not rollout.running:
            break
        move = dice.choice(rollout.running)
        outcome = site.fate.outcome(move)
        if rollout.mode.wants_progress and not outcome.never_begun and dice.random() < 0.6:
            seen = frozenset(node for node in move.nodes if dice.random() < 0.5)
            facts += rollout.progress(
                move, replace(outcome, succeeded=outcome.succeeded & seen), seen - outcome.succeeded
            )
        else:
            facts += rollout.finish(move, outcome)
        after()
    return moves, facts


modes = st.builds(
    Mode,
    max_parallel_groups=st.integers(1, 4),
    max_nodes_in_flight=st.none() | st.integers(1, 5),
    deploy_as_prepared=st.booleans(),
)


NODES = [NodeName(f"n{number}") for number in range(10)]
GROUPS = [GroupName(f"g{number}") for number in range(7)]


def some(values: Sequence[T]) -> st.SearchStrategy[frozenset[T]]:
    """Draw about half of the values, in one draw: sets of sampled values would take most of the time of a test."""
    masks = st.integers(0, 2 ** len(values) - 1)
    return masks.map(lambda mask: frozenset(value for place, value in enumerate(values) if mask >> place & 1))


def few(values: Sequence[T]) -> st.SearchStrategy[frozenset[T]]:
    """Draw about one in eight of the values, often none."""
    return st.builds(lambda *drawn: frozenset.intersection(*drawn), *[some(values)] * 3)


criteria = st.one_of(
    st.just(SuccessCriteria()),
    st.builds(SuccessCriteria, percent_successful_nodes=st.integers(0, 100)),
    st.builds(SuccessCriteria, minimum_successful_nodes=st.integers(0, 4)),
    st.builds(SuccessCriteria, maximum_failed_nodes=st.integers(0, 3)),
    st.builds(SuccessCriteria, st.integers(0, 100), st.integers(0, 4), st.integers(0, 3)),
)


# Made once: making a strategy costs more than drawing from it.
SIZES = range(len(GROUPS) + 1)
booleans = st.booleans()
sizes = st.integers(0, len(GROUPS))
parents_of = [few(GROUPS[:size]) | some(GROUPS[:size]) for size in SIZES]
orders_of = [st.permutations(range(size)) for size in SIZES]
held = few(NODES) | some(NODES)
slow_nodes = some(NODES)
faults_of = {Phase.PREPARE: few(NODES), Phase.DEPLOY: held}
too_slow_of = [few(GROUPS[:size]) for size in SIZES]
neither = st.just(frozenset[GroupName]())


@st.composite
def sites(draw: st.DrawFn, *, timeouts: bool = True, queues: bool = False) -> Site:
    """Draw up to 7 groups over up to 10 nodes: any acyclic graph in any order of writing, groups that share nodes or
    have none, nodes that fail in either phase, and phases whose time is up with some of their nodes done. ``queues``:
    phases that never begin, too.
    """
    size = draw(sizes)
    groups = []
    members = {}
    for position, name in enumerate(GROUPS[:size]):
        parents = tuple(sorted(draw(parents_of[position])))
        groups.append(DeploymentGroup(name, draw(booleans), parents, (), draw(criteria)))
        members[name] = draw(held)
    fails = frozenset((phase, node) for phase in Phase for node in draw(faults_of[phase]))
    limits = too_slow_of[size] if timeouts else neither
    times_out = frozenset((phase, name) for phase in Phase for name in draw(limits))
    waits = frozenset((phase, name) for phase in Phase for name in draw(too_slow_of[size])) if queues else frozenset()
    fate = Fate(fails, times_out, draw(slow_nodes) if times_out else frozenset(), waits)
    return Site(Strategy(tuple(groups[place] for place in draw(orders_of[size]))), members, fate)
