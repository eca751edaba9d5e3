"""What holds for every rollout, whatever the strategy and whatever fails (design: Process)."""

import json
from typing import Any

from hypothesis import given, settings

from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import GroupStatus, Phase, Reason, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.moves import SERIAL, Mode, Move
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.criteria import shortfalls
from shipyard_api.domain.strategy.strategy import GroupName
from tests.property.sites import Site, run, sites

ENDED = {GroupStatus.SUCCESS, GroupStatus.FAILED}


# --- The model: the design's process, written down a second time and as plainly as possible ---------------------------


def model(
    site: Site,
) -> tuple[dict[GroupName, GroupStatus], dict[GroupName, Reason], dict[NodeName, NodeStatus], list[Move]]:
    groups: dict[GroupName, GroupStatus] = {}
    reasons: dict[GroupName, Reason] = {}
    nodes = {node: NodeStatus.NOT_STARTED for members in site.members.values() for node in members}
    in_queue: set[NodeName] = set()
    moves: list[Move] = []

    def phase(group: Any, which: Phase) -> Reason | None:
        """Play one phase; return why it failed the group, if it did."""
        before, after, good = {
            Phase.PREPARE: (NodeStatus.NOT_STARTED, NodeStatus.PREPARED, {NodeStatus.PREPARED, NodeStatus.SUCCESS}),
            Phase.DEPLOY: (NodeStatus.PREPARED, NodeStatus.SUCCESS, {NodeStatus.SUCCESS}),
        }[which]
        members = site.members[group.name]
        # Where nobody is sent nobody is waited for.
        sent = {node for node in members if nodes[node] is before} - in_queue
        if sent or which is Phase.PREPARE:
            moves.append(Move(group.name, which, tuple(sorted(sent))))
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
            return groups, reasons, nodes, moves
        why = phase(chosen, Phase.PREPARE) or phase(chosen, Phase.DEPLOY)
        groups[chosen.name] = GroupStatus.FAILED if why else GroupStatus.SUCCESS
        if why:
            reasons[chosen.name] = why


# One play for every sentence of the design, so it has the examples of several.
@settings(max_examples=3 * settings.default.max_examples)
@given(sites(queues=True))
def test_a_rollout_moves_ends_and_tells_as_the_process_of_the_design_does(site: Site) -> None:
    rollout, moves, facts = run(site)

    assert (rollout.groups, rollout.reasons, rollout.nodes, moves) == model(site)
    assert rollout.done
    lost = [group.name for group in site.strategy.groups if group.critical and group.name in rollout.reasons]
    assert (rollout.verdict() is Verdict.FAILED) == bool(lost)

    told = dict.fromkeys(rollout.nodes, NodeStatus.NOT_STARTED)
    ends: dict[GroupName, GroupChanged] = {}
    under_way: GroupName | None = None
    for fact in facts:
        if isinstance(fact, NodesChanged):
            assert fact.group == under_way
            told.update(dict.fromkeys(fact.nodes, fact.status))
        elif isinstance(fact, GroupChanged) and fact.status in ENDED:
            assert fact.group not in ends
            ends[fact.group] = fact
            under_way = None if fact.group == under_way else under_way
        elif isinstance(fact, GroupChanged):
            assert under_way in {None, fact.group}, "a group begins before another has ended"
            under_way = fact.group
    assert told == rollout.nodes
    assert {name: fact.status for name, fact in ends.items()} == rollout.groups
    assert {name: fact.reason for name, fact in ends.items() if fact.reason} == rollout.reasons


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
        again = resumed(site, stored(walked))
        assert stored(again) == stored(walked)
        rest, rest_moves, rest_facts = run(site, again)
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
