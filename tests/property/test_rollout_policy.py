"""Rollouts with random policies, judged by an oracle that reads moves, policy and what happened to nodes."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.policy import PolicyStopped
from shipyard_api.domain.groups import GroupStatus, Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.assumptions import PhaseAssumption
from shipyard_api.domain.rollout.enforcing import blocked, enforce
from shipyard_api.domain.rollout.group_runs import Progress
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import Mode, Move
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget
from shipyard_api.domain.rollout.policy.gates import Answer, AtLimit, Gate, GateKind
from shipyard_api.domain.rollout.policy.pacing import Pace
from shipyard_api.domain.rollout.policy.policy import Policy
from shipyard_api.domain.rollout.policy.waves import Scope, Wave, Waves
from shipyard_api.domain.rollout.policy.windows import Unit, Window, Windows
from shipyard_api.domain.rollout.rehearsal import rehearse
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.criteria import SuccessCriteria, shortfalls
from shipyard_api.domain.strategy.strategy import GroupName
from tests.property.sites import NODES, Fate, Site, modes, run, sites
from tests.property.test_rollout_modes import deployed

BEGIN = datetime(2026, 11, 23, 12, tzinfo=UTC)
RACKS = {node: {"rack": f"r{int(node[1:]) % 3}"} for node in NODES}
seeds = st.integers(0, 2**32)

amounts = st.builds(Amount, st.integers(1, 4)) | st.builds(Amount, st.sampled_from([10, 34, 50, 100]), st.just(True))
budgets = st.lists(
    st.builds(
        Budget,
        st.sampled_from(["a", "b"]),
        st.sampled_from(["", "rack"]),
        st.none() | amounts,
        st.none() | st.builds(Amount, st.integers(0, 3)),
    ),
    max_size=2,
).map(tuple)
gates = st.lists(
    st.builds(Gate, st.just(GateKind.SOAK), st.sampled_from([60.0, 600.0]))
    | st.builds(
        Gate, st.just(GateKind.APPROVAL), limit=st.none() | st.just(300.0), at_limit=st.sampled_from(list(AtLimit))
    ),
    max_size=2,
).map(tuple)
thresholds = st.one_of(
    st.builds(SuccessCriteria, maximum_failed_nodes=st.integers(0, 2)),
    st.builds(SuccessCriteria, percent_successful_nodes=st.sampled_from([50, 100])),
    st.just(SuccessCriteria()),
)
waves = st.builds(
    lambda sizes, limits, doors, scope, stop_after: Waves(
        tuple(
            Wave(f"w{place}", size, (), limit, door)
            for place, (size, limit, door) in enumerate(zip(sizes, limits, doors, strict=True))
        ),
        scope,
        stop_after,
    ),
    st.tuples(amounts, amounts),
    st.tuples(thresholds, thresholds),
    st.tuples(gates, gates),
    st.sampled_from(list(Scope)),
    st.integers(1, 2),
)
NIGHTS = (Window("Europe/Berlin", time(22), 6 * 3600.0), Window("UTC", time(3), 3600.0, frozenset({5, 6})))
windows = st.builds(Windows, st.just(NIGHTS), st.sampled_from(list(Unit)))
policies = st.builds(
    Policy,
    st.none() | waves,
    budgets,
    st.none() | windows,
    topology=st.just(RACKS),
    seconds=st.sampled_from([{Phase.PREPARE: 600.0, Phase.DEPLOY: 1200.0}]),
)


@dataclass
class Watcher:
    """What the moves of a rollout say: which nodes are away, ended, and when each began."""

    site: Site
    mode: Mode
    away: Counter[NodeName] = field(default_factory=Counter)
    status: dict[NodeName, NodeStatus] = field(default_factory=dict)
    begun: dict[NodeName, datetime] = field(default_factory=dict)
    given_up: set[NodeName] = field(default_factory=set)
    uncounted: frozenset[NodeName] = frozenset()
    withheld: set[NodeName] = field(default_factory=set)
    sent: Counter[tuple[Phase, NodeName]] = field(default_factory=Counter)

    def of(self, node: NodeName) -> NodeStatus:
        return self.status.get(node, NodeStatus.NOT_STARTED)

    def ended(self, node: NodeName) -> bool:
        settled = self.of(node) in (NodeStatus.SUCCESS, NodeStatus.FAILURE)
        return not self.away[node] and (settled or node in self.withheld or node in self.given_up)

    def lost(self, nodes: frozenset[NodeName]) -> int:
        bad = {node for node in nodes if self.of(node) is NodeStatus.FAILURE or node in self.given_up}
        return len(bad - self.uncounted)

    def unavailable(self, nodes: frozenset[NodeName]) -> int:
        return sum(node in self.begun and self.of(node) is not NodeStatus.SUCCESS for node in nodes)


def play(
    site: Site,
    policy: Policy,
    mode: Mode,
    dice: Random,
    spared: Collection[NodeName] = (),
    uncounted: frozenset[NodeName] = frozenset(),
) -> tuple[Rollout, list[Fact], Watcher]:
    """Play a rollout in virtual time: work takes minutes, waits are skipped, people answer gates as the dice say.

    ``spared``: nodes that are prepared before. ``uncounted``: nodes that no rule counts.
    """
    pacing = Pace(policy, site.members, at_once=mode.max_nodes_in_flight)
    rollout = Rollout(site.strategy, site.members, mode, pacing)
    known = [node for node in rollout.nodes if node in spared]
    rollout.restore(nodes=dict.fromkeys(known, NodeStatus.PREPARED), spared=known)
    rollout.leave_out(uncounted)
    watcher, now = Watcher(site, mode, uncounted=uncounted), BEGIN
    watcher.status.update(dict.fromkeys(known, NodeStatus.PREPARED))
    facts = list(enforce(rollout, now))
    for _ in range(2_000):
        while (move := rollout.next_move(now)) is not None:
            judge_move(watcher, policy, move, now)
            for node in move.nodes:
                watcher.sent[move.phase, node] += 1
                watcher.begun.setdefault(node, now)
                watcher.away[node] = 1
            facts += rollout.start(move)
            facts += enforce(rollout, now)
            watcher.withheld = set(rollout.withheld)
        if rollout.done:
            break
        if rollout.running and dice.random() < 0.8:
            now += timedelta(seconds=dice.randint(60, 1200))
            move = dice.choice(rollout.running)
            outcome = site.fate.outcome(move)
            facts += rollout.finish(move, outcome)
            for node in move.nodes:
                watcher.away[node] = 0
                if outcome.never_begun:
                    watcher.given_up.add(node)
                else:
                    good = NodeStatus.PREPARED if move.phase is Phase.PREPARE else NodeStatus.SUCCESS
                    watcher.status[node] = good if node in outcome.succeeded else NodeStatus.FAILURE
        elif (reason := blocked(rollout, now)) is not None:
            if reason.until is not None:
                now = max(now, reason.until)
            elif reason.gate is not None:
                place, gate = reason.gate
                rollout.pace.answer(place, gate.index, Answer(dice.random() < 0.7, now, "ops"))
            else:
                assert rollout.running, f"stuck: {reason}"
        else:
            assert rollout.running, "stuck for no reason"
        facts += enforce(rollout, now)
        watcher.withheld = set(rollout.withheld)
    else:
        raise AssertionError("the rollout does not end")
    return rollout, facts, watcher


def judge_move(watcher: Watcher, policy: Policy, move: Move, now: datetime) -> None:
    """Hold a move against the policy, from what happened before."""
    begins = [node for node in move.nodes if node not in watcher.begun]
    counted = [node for node in begins if node not in watcher.uncounted]
    for budget in policy.budgets:
        values = {RACKS[node]["rack"] for node in counted} if budget.by else {""}
        for value in values if counted else ():
            everybody = frozenset().union(*watcher.site.members.values()) - watcher.uncounted
            nodes = frozenset(node for node in everybody if not budget.by or RACKS[node]["rack"] == value)
            limit = budget.max_unavailable
            if limit is not None:
                most = max(limit.number * len(nodes) // 100, 1) if limit.percent else limit.number
                assert watcher.unavailable(nodes) + len(nodes.intersection(begins)) <= most
            if budget.max_lost is not None:
                assert watcher.lost(nodes) <= budget.max_lost.number
    if policy.windows and policy.windows.unit is Unit.SERVER and begins:
        assert any(
            begin <= now and now + timedelta(seconds=1800) <= end
            for window in NIGHTS
            for begin, end in [next(window.after(now))]
        )
    if policy.waves is not None and policy.waves.scope is Scope.GROUP and begins:
        judge_waves(watcher, policy.waves, move.group, frozenset(begins))


def judge_waves(watcher: Watcher, rule: Waves, group: GroupName, begins: frozenset[NodeName]) -> None:
    """Earlier waves of the group have ended, and not too many in a row were bad."""
    left, total = sorted(watcher.site.members[group]), len(watcher.site.members[group])
    bad_in_a_row = 0
    for wave in rule.waves:
        assert wave.size is not None
        size = -(-wave.size.number * total // 100) if wave.size.percent else wave.size.number
        nodes, left = frozenset(left[:size]), left[size:]
        counted = nodes - watcher.uncounted
        good = len(counted) - watcher.lost(counted)
        missed = shortfalls(wave.threshold, members=len(counted), successful=good) if nodes else ()
        bad_in_a_row = bad_in_a_row + 1 if missed else 0
        assert bad_in_a_row < rule.stop_after
        if not begins & frozenset(left):
            return
        assert all(map(watcher.ended, nodes)), f"{wave.name} has not ended"


few = st.just(frozenset[NodeName]()) | st.frozensets(st.sampled_from(NODES))


@given(sites(queues=True), policies, modes, seeds, few, few)
def test_no_move_breaks_a_rule_and_every_rollout_ends(
    site: Site, policy: Policy, mode: Mode, seed: int, spared: frozenset[NodeName], uncounted: frozenset[NodeName]
) -> None:
    rollout, facts, watcher = play(site, policy, mode, Random(seed), spared, uncounted)

    assert not spared & {node for phase, node in watcher.sent if phase is Phase.PREPARE}
    assert not set(rollout.groups.values()) & {GroupStatus.NOT_STARTED, GroupStatus.PREPARING, GroupStatus.DEPLOYING}
    assert max(watcher.sent.values(), default=0) <= 1
    for node in rollout.withheld:
        assert watcher.of(node) is rollout.nodes[node]
        assert watcher.of(node) in (NodeStatus.NOT_STARTED, NodeStatus.PREPARED)
    assert sum(fact.nodes for fact in facts if isinstance(fact, PolicyStopped)) == len(rollout.withheld)
    for group in site.strategy.groups:
        counted = site.members[group.name] - uncounted
        good = sum(watcher.of(node) is NodeStatus.SUCCESS for node in counted)
        if shortfalls(group.success_criteria, members=len(counted), successful=good):
            assert rollout.groups[group.name] is GroupStatus.FAILED


@given(sites(timeouts=False), modes, few)
def test_a_group_fares_as_one_without_its_uncounted_nodes(
    site: Site, mode: Mode, uncounted: frozenset[NodeName]
) -> None:
    site = site.apart()
    without = dataclasses.replace(site, members={name: nodes - uncounted for name, nodes in site.members.items()})
    expected, _, _ = run(without, without.rollout(mode))
    rollout = site.rollout(mode)
    rollout.leave_out(uncounted)
    run(site, rollout)

    assert (rollout.groups, rollout.reasons) == (expected.groups, expected.reasons)
    assert {node: status for node, status in rollout.nodes.items() if node not in uncounted} == expected.nodes


@given(sites(timeouts=False), waves, modes, seeds)
def test_no_policy_changes_no_outcome_and_waves_none_where_no_node_fails(
    site: Site, rule: Waves, mode: Mode, seed: int
) -> None:
    apart = site.apart()
    plain, _, _ = run(apart)
    rollout, _, _ = play(apart, Policy(), mode, Random(seed))

    assert (rollout.groups, rollout.reasons, rollout.nodes) == (plain.groups, plain.reasons, plain.nodes)

    site = site.with_fate(Fate())
    rule = replace(rule, waves=tuple(replace(wave, gates=wave.gates[:0]) for wave in rule.waves))
    plain, _, _ = run(site)
    rollout, _, _ = play(site, Policy(rule), mode, Random(seed))

    assert rollout.groups == plain.groups
    assert deployed(rollout) == deployed(plain)


@given(sites(timeouts=False), policies, modes, seeds)
def test_a_rehearsal_with_a_policy_ends(site: Site, policy: Policy, mode: Mode, seed: int) -> None:
    membership = Membership(site.strategy, site.members)
    pace = Pace(policy, membership.members, at_once=mode.max_nodes_in_flight)
    assumptions = {Phase.PREPARE: PhaseAssumption(0.0, [300.0, 600.0]), Phase.DEPLOY: PhaseAssumption(0.0, [1200.0])}
    good = {phase: {node for node in NODES if (phase, node) not in site.fate.fails} for phase in Phase}

    ended = rehearse(membership, mode, Progress(at=BEGIN), good, assumptions, Random(seed), pace)

    assert ended.rollout.done
