"""What a retry reads of the actions before it: the model's answers, and those of Postgres, after the same facts."""

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest

from shipyard_api.domain.actions import ActionId, RunState
from shipyard_api.domain.facts.nodes import NodesChanged, NodesKept, TargetsKnown
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.storage.unit_of_work import Store
from tests.model.database import BEGAN, STEP, Past, changed
from tests.model.runs import Ended

NODES = (NodeName("n1"), NodeName("n2"))
GROUP = GroupName("all")


@pytest.mark.parametrize("seed", range(4))
def test_the_nodes_of_earlier_actions_are_those_of_postgres(
    seed: int, store: Store, create: Callable[..., ActionId]
) -> None:
    dice, past, ids = Random(seed), list[Past](), list[ActionId]()
    for number in range(3):
        action = create(STEP)
        ids.append(action)
        nodes = tuple((node, NodeStatus.NOT_STARTED) for node in NODES)
        with store.begin() as tx:
            claim = tx.turns.claim(action, now=BEGAN + timedelta(days=36_500), worker="w")
            assert claim is not None
            claim = tx.turns.start_step(claim, {"v": 1}, now=BEGAN)
            tx.turns.record(claim, {"v": 1}, [TargetsKnown(NODES)], now=BEGAN, wake_at=None)
            for node in NODES:
                status = dice.choice((*NodeStatus, None))
                if status is NodeStatus.NOT_STARTED:
                    continue
                kept = NodesKept((node,), "before")
                fact = kept if status is None else NodesChanged(GROUP, Phase.DEPLOY, status, (node,))
                tx.turns.record(claim, {"v": 1}, [fact], now=BEGAN, wake_at=None)
                nodes = changed(nodes, [fact])
            tx.turns.end_action(claim, RunState.FAILED, now=BEGAN)
        past.append(Past(number, RunState.FAILED, BEGAN + timedelta(days=number), "{}", nodes))
    ours = Ended(past)
    with store.begin() as tx:
        for old, action in zip(past, ids, strict=True):
            record = tx.actions.get(action)
            assert record is not None
            assert ours.deployed_by(old) == tx.actions.deployed(action)
            newest = tx.nodes.newest_since(record.created_at, NODES)
            assert ours.newest_since(old.created_at, NODES) == newest
