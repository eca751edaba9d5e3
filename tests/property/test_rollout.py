"""What holds for every rollout, whatever the strategy and whatever fails (design: Process)."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import GroupStatus, Phase, Reason, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.modes import SERIAL, Mode
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.criteria import shortfalls
from shipyard_api.domain.strategy.strategy import GroupName, Strategy
from tests.property.sites import NODES, Site, run, sites

ENDED = {GroupStatus.SUCCESS, GroupStatus.FAILED}


# --- The model: the design's process, written down a second time and as plainly as possible ---------------------------


def model(site: Site) -> tuple[dict[GroupName, GroupStatus], dict[GroupName, Reason], dict[NodeName, NodeStatus]]:
    groups: dict[GroupName, GroupStatus] = {}
    reasons: dict[GroupName, Reason] = {}
    nodes = {node: NodeStatus.NOT_STARTED for members in site.members.values() for node in members}
    in_queue: set[NodeName] = set()

    def phase(group: Any, which: Phase) -> Reason | None:
        """Play one phase; return why it failed the group, if it did."""
        before, after, good = {
            Phase.PREPARE: (NodeStatus.NOT_STARTED, NodeStatus.PREPARED, {NodeStatus.PREPARED, NodeStatus.SUCCESS}),
            Phase.DEPLOY: (NodeStatus.PREPARED, NodeStatus.SUCCESS, {NodeStatus.SUCCESS}),
        }[which]
        members = site.members[group.name]
        # Where nobody is sent nobody is waited for.
        sent = {node for node in members if nodes[node] is before} - in_queue
        if sent and (which, group.name) in site.fate.queues:
            in_queue.update(sent)
            return Reason.QUEUE_TIMEOUT
        timed_out = bool(sent) and (which, group.name) in site.fate.times_out
        for node in members:
            if node in sent:
                fails = (which, node) in site.fate.fails or (timed_out and node in site.fate.slow)
                nodes[node] = NodeStatus.FAILURE if fails else after
        if timed_out:
            return Reason.TIMEOUT
        successful = len([node for node in members if nodes[node] in good])
        missed = shortfalls(group.success_criteria, members=len(members), successful=successful)
        return Reason(which.value) if missed else None

    while True:
        for group in site.strategy.groups * len(site.strategy.groups):
            if group.name not in groups and any(groups.get(up) is GroupStatus.FAILED for up in group.depends_on):
                groups[group.name], reasons[group.name] = GroupStatus.FAILED, Reason.DEPENDENCY
        ready = (
            group
            for group in site.strategy.groups
            if group.name not in groups and all(groups.get(up) is GroupStatus.SUCCESS for up in group.depends_on)
        )
        chosen = next(ready, None)
        if chosen is None:
            return groups, reasons, nodes
        why = phase(chosen, Phase.PREPARE) or phase(chosen, Phase.DEPLOY)
        groups[chosen.name] = GroupStatus.FAILED if why else GroupStatus.SUCCESS
        if why:
            reasons[chosen.name] = why


@given(sites(queues=True))
def test_a_rollout_ends_as_the_process_of_the_design_does(site: Site) -> None:
    rollout, _, _ = run(site)

    assert (rollout.groups, rollout.reasons, rollout.nodes) == model(site)


# --- What is sent -----------------------------------------------------------------------------------------------------


@given(sites(queues=True))
def test_no_node_is_prepared_twice_or_deployed_twice(site: Site) -> None:
    _, moves, _ = run(site)

    sent = Counter((move.phase, node) for move in moves for node in move.nodes)

    assert set(sent.values()) <= {1}


@given(sites())
def test_no_node_is_deployed_that_was_not_prepared_with_success_before(site: Site) -> None:
    _, moves, _ = run(site)

    prepared: set[NodeName] = set()
    for move in moves:
        if move.phase is Phase.DEPLOY:
            assert prepared.issuperset(move.nodes)
        else:
            prepared |= site.fate.outcome(move).succeeded


@given(sites())
def test_a_group_sends_its_own_nodes_only_and_in_order_of_name(site: Site) -> None:
    _, moves, _ = run(site)

    for move in moves:
        assert site.members[move.group].issuperset(move.nodes)
        assert list(move.nodes) == sorted(move.nodes)


@given(sites())
def test_a_group_makes_at_most_two_moves_prepare_and_then_deploy_at_once(site: Site) -> None:
    _, moves, _ = run(site)

    for position, move in enumerate(moves):
        if move.phase is Phase.DEPLOY:
            assert (moves[position - 1].group, moves[position - 1].phase) == (move.group, Phase.PREPARE)
    assert set(Counter((move.group, move.phase) for move in moves).values()) <= {1}


@given(sites())
def test_every_node_that_was_sent_ends_prepared_successful_or_failed_and_no_other_changes(site: Site) -> None:
    rollout, moves, _ = run(site)

    sent = {node for move in moves for node in move.nodes}

    assert {node for node, status in rollout.nodes.items() if status is not NodeStatus.NOT_STARTED} == sent


@given(sites())
def test_a_node_is_left_out_only_if_no_group_that_holds_it_was_processed(site: Site) -> None:
    rollout, moves, _ = run(site)

    processed = {move.group for move in moves}
    for node, status in rollout.nodes.items():
        holders = {name for name, members in site.members.items() if node in members}
        assert (status is NodeStatus.NOT_STARTED) == holders.isdisjoint(processed)


# --- Order and dependencies -------------------------------------------------------------------------------------------


@given(sites())
def test_dependents_of_a_failed_group_are_never_started(site: Site) -> None:
    rollout, moves, _ = run(site)

    started = {move.group for move in moves}
    for group in site.strategy.groups:
        if any(rollout.groups[parent] is GroupStatus.FAILED for parent in group.depends_on):
            assert group.name not in started
            assert rollout.groups[group.name] is GroupStatus.FAILED
            assert rollout.reasons[group.name] is Reason.DEPENDENCY


@given(sites())
def test_a_group_starts_only_after_all_its_parents_succeeded(site: Site) -> None:
    parents = {group.name: set(group.depends_on) for group in site.strategy.groups}
    _, _, facts = run(site)

    succeeded: set[GroupName] = set()
    for fact in facts:
        if isinstance(fact, GroupChanged):
            if fact.status is GroupStatus.PREPARING:
                assert parents[fact.group] <= succeeded
            if fact.status is GroupStatus.SUCCESS:
                succeeded.add(fact.group)


@given(sites())
def test_a_group_ends_before_another_begins(site: Site) -> None:
    _, _, facts = run(site)

    under_way: GroupName | None = None
    for fact in facts:
        if isinstance(fact, NodesChanged):
            assert fact.group == under_way
        elif isinstance(fact, GroupChanged) and fact.status in ENDED:
            under_way = None if fact.group == under_way else under_way
        elif isinstance(fact, GroupChanged):
            assert under_way in {None, fact.group}
            under_way = fact.group
    assert under_way is None


@given(sites())
def test_every_group_ends_and_every_end_is_told_once(site: Site) -> None:
    rollout, _, facts = run(site)

    told = [fact for fact in facts if isinstance(fact, GroupChanged) and fact.status in ENDED]

    assert rollout.done
    assert {fact.group: fact.status for fact in told} == rollout.groups
    assert len(told) == len(rollout.groups)
    assert {fact.group: fact.reason for fact in told if fact.reason} == rollout.reasons


@given(sites())
def test_a_group_that_failed_has_one_reason_and_one_that_succeeded_has_none(site: Site) -> None:
    rollout, _, _ = run(site)

    assert set(rollout.reasons) == {name for name, status in rollout.groups.items() if status is GroupStatus.FAILED}


@given(sites())
def test_the_node_statuses_are_what_the_facts_tell(site: Site) -> None:
    rollout, _, facts = run(site)

    told = dict.fromkeys(rollout.nodes, NodeStatus.NOT_STARTED)
    for fact in facts:
        if isinstance(fact, NodesChanged):
            told.update(dict.fromkeys(fact.nodes, fact.status))

    assert told == rollout.nodes


# --- Verdicts ---------------------------------------------------------------------------------------------------------


@given(sites())
def test_the_verdict_is_failed_exactly_when_a_critical_group_failed(site: Site) -> None:
    rollout, _, _ = run(site)

    lost = [group.name for group in site.strategy.groups if group.critical and group.name in rollout.reasons]

    assert (rollout.verdict() is Verdict.FAILED) == bool(lost)


@given(sites(), st.data())
def test_what_is_critical_decides_the_verdict_and_nothing_else(site: Site, data: st.DataObject) -> None:
    groups = tuple(replace(group, critical=data.draw(st.booleans())) for group in site.strategy.groups)
    rollout, moves, facts = run(site)

    other, other_moves, other_facts = run(replace(site, strategy=Strategy(groups)))

    assert (other.groups, other.nodes) == (rollout.groups, rollout.nodes)
    assert (other_moves, other_facts) == (moves, facts)


@given(sites(timeouts=False), st.data())
def test_without_timeouts_a_group_is_judged_alike_in_every_order(site: Site, data: st.DataObject) -> None:
    """Sharing nodes changes who sends them, never what becomes of the group: status is kept per node."""
    shuffled = replace(site, strategy=Strategy(tuple(data.draw(st.permutations(site.strategy.groups)))))

    assert run(shuffled)[0].groups == run(site)[0].groups


@given(sites(timeouts=False))
def test_without_timeouts_a_group_succeeds_exactly_when_its_parents_do_and_its_nodes_suffice(site: Site) -> None:
    rollout, _, _ = run(site)

    for group in site.strategy.groups:
        members = site.members[group.name]
        sound = [node for node in members if not {(Phase.PREPARE, node), (Phase.DEPLOY, node)} & site.fate.fails]
        suffice = not shortfalls(group.success_criteria, members=len(members), successful=len(sound))
        parents = all(rollout.groups[parent] is GroupStatus.SUCCESS for parent in group.depends_on)
        assert (rollout.groups[group.name] is GroupStatus.SUCCESS) == (parents and suffice)


@given(sites(timeouts=False), st.sampled_from(NODES))
def test_one_more_node_that_succeeds_never_turns_a_success_into_a_failure(site: Site, healed: NodeName) -> None:
    fails = frozenset(fault for fault in site.fate.fails if fault[1] != healed)
    before, _, _ = run(site)

    after, _, _ = run(site.with_fate(replace(site.fate, fails=fails)))

    for name, status in before.groups.items():
        assert status is GroupStatus.FAILED or after.groups[name] is GroupStatus.SUCCESS
    assert before.verdict() is Verdict.FAILED or after.verdict() is Verdict.SUCCESS


# --- Resuming ---------------------------------------------------------------------------------------------------------


def stored(rollout: Rollout) -> str:
    return json.dumps(
        {
            "nodes": {name: status.value for name, status in rollout.nodes.items()},
            "groups": {name: status.value for name, status in rollout.groups.items()},
            "reasons": {name: reason.value for name, reason in rollout.reasons.items()},
            "running": [[move.group, move.phase.value, move.nodes, move.batch] for move in rollout.running],
            "batches": {
                name: {phase.value: count for phase, count in made.items()} for name, made in rollout.batches.items()
            },
            "in_queue": sorted(rollout.in_queue),
        }
    )


def resumed(site: Site, state: str, mode: Mode = SERIAL) -> Rollout:
    value = json.loads(state)
    rollout = site.rollout(mode)
    rollout.restore(
        nodes={NodeName(name): NodeStatus(status) for name, status in value["nodes"].items()},
        groups={GroupName(name): GroupStatus(status) for name, status in value["groups"].items()},
        reasons={GroupName(name): Reason(reason) for name, reason in value["reasons"].items()},
        running=[
            Move(GroupName(group), Phase(phase), tuple(map(NodeName, nodes)), batch)
            for group, phase, nodes, batch in value["running"]
        ],
        batches={
            GroupName(name): {Phase(phase): count for phase, count in made.items()}
            for name, made in value["batches"].items()
        },
        in_queue=map(NodeName, value["in_queue"]),
    )
    return rollout


@given(sites(queues=True))
def test_resuming_from_stored_json_at_any_point_ends_as_an_uninterrupted_run_does(site: Site) -> None:
    whole, moves, facts = run(site)
    walked = site.rollout()
    made, told = 0, 0

    def check() -> None:
        rest, rest_moves, rest_facts = run(site, resumed(site, stored(walked)))
        assert (rest.groups, rest.nodes, rest.reasons) == (whole.groups, whole.nodes, whole.reasons)
        assert rest_moves == moves[made:]
        assert rest_facts == facts[told:]
        assert rest.verdict() is whole.verdict()

    check()
    while (move := walked.next_move()) is not None:
        told += len(walked.start(move))
        made += 1
        check()
        if move.nodes:
            told += len(walked.finish(move, site.fate.outcome(move)))
            check()
    assert made == len(moves)


@given(sites(queues=True))
def test_what_is_stored_is_what_is_resumed(site: Site) -> None:
    rollout = site.rollout()
    while (move := rollout.next_move()) is not None:
        rollout.start(move)
        assert stored(resumed(site, stored(rollout))) == stored(rollout)
        if move.nodes:
            rollout.finish(move, site.fate.outcome(move))
    assert stored(resumed(site, stored(rollout))) == stored(rollout)
