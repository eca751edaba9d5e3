"""What holds whatever is in flight at once: the bounds, the order, and the verdicts of the serial run."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.history import PhaseHistory, assume
from shipyard_api.domain.rollout.moves import SERIAL, Mode, Move, Outcome
from shipyard_api.domain.rollout.planning import plan_groups
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.criteria import shortfalls
from shipyard_api.domain.strategy.strategy import GroupName, Strategy
from tests.property.sites import GROUPS, Site, modes, run, sites, weave
from tests.property.test_rollout import resumed, stored

seeds = st.integers(0, 2**32)
UNDER_WAY = {GroupStatus.PREPARING, GroupStatus.DEPLOYING}
SENT_AS = {Phase.PREPARE: NodeStatus.NOT_STARTED, Phase.DEPLOY: NodeStatus.PREPARED}


@settings(max_examples=2 * settings.default.max_examples)
@given(sites(), modes, seeds)
def test_whatever_comes_back_first_no_bound_and_no_order_is_broken(site: Site, mode: Mode, seed: int) -> None:
    rollout = site.rollout(mode)

    def look() -> None:
        away = [
            (move.group, node)
            for move in rollout.running
            for node in move.nodes
            if rollout.nodes[node] is SENT_AS[move.phase]
        ]
        begun = {name for name, status in rollout.groups.items() if status in UNDER_WAY}
        assert len(begun | {group for group, _ in away}) <= mode.max_parallel_groups
        assert mode.max_nodes_in_flight is None or len(away) <= mode.max_nodes_in_flight
        assert len({node for _, node in away}) == len(away)

    moves, facts = weave(site, rollout, Random(seed), look)

    assert rollout.done
    assert not set(rollout.groups.values()) & {GroupStatus.NOT_STARTED, *UNDER_WAY}
    judge_moves(site, moves)
    judge_facts(site, facts)
    assert set(rollout.reasons) == {name for name, status in rollout.groups.items() if status is GroupStatus.FAILED}
    spared = {name for name, reason in rollout.reasons.items() if reason is Reason.DEPENDENCY}
    assert not spared & {move.group for move in moves}


def judge_moves(site: Site, moves: list[Move]) -> None:
    """No node is sent twice into a phase nor deployed unprepared; each batch of a group has its own number."""
    sent = Counter((move.phase, node) for move in moves for node in move.nodes)
    assert set(sent.values()) <= {1}
    prepared: set[NodeName] = set()
    for move in moves:
        if move.phase is Phase.PREPARE:
            prepared |= {node for node in move.nodes if node in site.fate.outcome(move).succeeded}
        else:
            assert prepared.issuperset(move.nodes)
    numbers = Counter((move.group, move.phase, move.batch) for move in moves)
    assert set(numbers.values()) <= {1}


def judge_facts(site: Site, facts: list[Fact]) -> None:
    """A group begins after its parents succeeded, and deploys nothing before its criteria of prepare hold."""
    groups = {group.name: group for group in site.strategy.groups}
    nodes = {node: NodeStatus.NOT_STARTED for members in site.members.values() for node in members}
    succeeded: set[GroupName] = set()
    for fact in facts:
        if isinstance(fact, NodesChanged):
            nodes.update(dict.fromkeys(fact.nodes, fact.status))
        if not isinstance(fact, GroupChanged):
            continue
        if fact.status is GroupStatus.PREPARING:
            assert succeeded.issuperset(groups[fact.group].depends_on)
        if fact.status is GroupStatus.SUCCESS:
            succeeded.add(fact.group)
        if fact.status is GroupStatus.DEPLOYING:
            members = site.members[fact.group]
            good = sum(nodes[node] in (NodeStatus.PREPARED, NodeStatus.SUCCESS) for node in members)
            assert not shortfalls(groups[fact.group].success_criteria, members=len(members), successful=good)


@given(sites(timeouts=False), modes, seeds)
def test_every_group_ends_as_in_the_serial_run_and_every_node_too_where_groups_share_none(
    site: Site, mode: Mode, seed: int
) -> None:
    alone = Strategy(tuple(structs.replace(group, depends_on=()) for group in site.strategy.groups))
    loose = replace(site, strategy=alone)
    for drawn in (site, site.apart(), loose):
        serial, _, _ = run(drawn)
        rollout = drawn.rollout(mode)
        weave(drawn, rollout, Random(seed))

        assert (rollout.groups, rollout.verdict()) == (serial.groups, serial.verdict())
        if drawn is loose:
            assert deployed(serial) <= deployed(rollout)
        elif drawn is not site:
            assert (rollout.reasons, rollout.nodes) == (serial.reasons, serial.nodes)


def deployed(rollout: Rollout) -> set[NodeName]:
    return {node for node, status in rollout.nodes.items() if status is NodeStatus.SUCCESS}


@given(sites(), modes, seeds)
def test_taken_up_after_every_change_it_ends_as_if_it_had_never_been_put_down(
    site: Site, mode: Mode, seed: int
) -> None:
    whole = site.rollout(mode)
    expected = weave(site, whole, Random(seed))
    walked = site.rollout(mode)
    dice = Random(seed)

    def put_down_and_take_up() -> None:
        again = resumed(site, stored(walked), mode)
        assert json.loads(stored(again)) == json.loads(stored(walked))
        vars(walked).update(vars(again))

    assert weave(site, walked, dice, put_down_and_take_up) == expected
    assert (walked.groups, walked.reasons, walked.nodes) == (whole.groups, whole.reasons, whole.nodes)


@given(sites(), seeds)
def test_the_serial_mode_is_the_serial_run(site: Site, seed: int) -> None:
    serial, moves, facts = run(site)
    rollout = site.rollout(SERIAL)

    assert weave(site, rollout, Random(seed)) == (moves, facts)
    assert rollout.nodes == serial.nodes


@given(sites(), modes, st.lists(st.integers(1, 9), min_size=14, max_size=14))
def test_the_plan_is_what_happens_if_phases_take_as_long_as_before(site: Site, mode: Mode, lengths: list[int]) -> None:
    seconds = dict(zip(product(Phase, GROUPS), lengths, strict=True))
    history = {
        phase: PhaseHistory(seconds=[5], groups={name: [seconds[phase, name]] for name in GROUPS}) for phase in Phase
    }
    rollout, now = site.rollout(mode), 0
    ends: dict[Move, int] = {}
    begun: list[GroupName] = []
    sent: dict[NodeName, GroupName] = {}
    while not rollout.done:
        if move := rollout.next_move():
            begun.append(move.group)
            sent |= {node: move.group for node in move.nodes if node not in sent}
            rollout.start(move)
            ends[move] = now + seconds[move.phase, move.group]
            continue
        first = min(rollout.running, key=ends.__getitem__)
        now = ends[first]
        rollout.finish(first, Outcome(frozenset(first.nodes)))

    planned = plan_groups(site.strategy, site.members, mode, (), assume(history, {}, {}))

    assert [one.group.name for one in planned if one.order] == list(dict.fromkeys(begun))
    assert {node: one.group.name for one in planned for node in one.sends} == sent
    assert {one.group.name for one in planned if one.can_succeed} == {
        name for name, status in rollout.groups.items() if status is GroupStatus.SUCCESS
    }
