"""The rows of the model and those of Postgres: the same calls, in any order, get the same answers."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionId, Control, RunState, StepState
from shipyard_api.domain.holds import HoldKind, NodeWork
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.holds import NewHold
from shipyard_api.ports.state.turns import Claim, Intent
from shipyard_api.storage.unit_of_work import Store
from tests.model.database import Database, Rows, controlled

NOW = datetime(2099, 1, 1, tzinfo=UTC)  # after the times that the database itself writes
NODES = (NodeName("n1"), NodeName("n2"))
WORK = NodeWork.DEPLOYMENT


def intent(at: datetime, attempts: int) -> Intent:
    return Intent(Marker("m"), {"v": 1, "nodes": ["n1"]}, at + timedelta(hours=1), at, at, attempts, touches=NODES[:1])


def calls(dice: Random, now: datetime) -> tuple[str, Callable[[Any, Claim], Any]]:
    """Return one of the calls that a turn makes, by its name."""
    state = {"v": 1, "seen": dice.randint(0, 2)}
    until = now + timedelta(seconds=dice.choice((0, 1, 30)))
    ended = dice.choice((StepState.SUCCESS, StepState.FAILED))
    run = RunState.SUCCESS if ended is StepState.SUCCESS else RunState.FAILED
    attempts = dice.randint(1, 2)
    by_name: dict[str, Callable[[Any, Claim], Any]] = {
        "start": lambda rows, claim: rows.start_step(claim, state, now=now),
        "intend": lambda rows, claim: rows.intend(claim, intent(now, attempts)),
        "search": lambda rows, claim: rows.intend(claim, intent(now, attempts), now=until),
        "renew": lambda rows, claim: rows.renew(claim),
        "held": lambda rows, claim: (rows.renew(claim), rows.held(claim, NODES, WORK))[1],
        "record": lambda rows, claim: rows.record(claim, state, (), now=now, wake_at=None),
        "wait": lambda rows, claim: rows.record(claim, state, (), now=now, wake_at=until),
        "sleep": lambda rows, claim: rows.sleep(claim, until=until),
        "rest": lambda rows, claim: rows.rest(claim),
        "end the step": lambda rows, claim: rows.end_step(claim, ended, "", now=now),
        "end the action": lambda rows, claim: rows.end_action(claim, run, now=now),
    }
    names = [name for name in by_name if not name.startswith("end") or dice.random() < 0.15]
    name = dice.choice(names)
    return name, by_name[name]


def shown(value: Any) -> Any:
    """Return what the engine reads of an answer."""
    if isinstance(value, Claim):
        control = (value.paused, value.stopped_by, value.failed, value.step is None)
        return value.epoch, value.state, value.intent, control
    return sorted(hold.node for hold in value) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("seed", range(4))
def test_the_rows_of_the_model_answer_as_those_of_postgres(
    seed: int, store: Store, create: Callable[..., ActionId]
) -> None:
    dice, now, action = Random(seed), NOW, create("nodes")
    database, claims = Database(), dict[str, tuple[Claim, Claim]]()

    def both(call: Callable[[Any], Any]) -> tuple[Any, Any]:
        nonlocal database
        rows = Rows(database, now, lambda: None, action=action)
        answers: list[Any] = []
        try:
            answers.append(call(rows))
            database = rows.now_is
        except Fenced:
            answers.append("fenced")
        try:
            with store.begin() as tx:
                answers.append(call(tx.turns))
        except Fenced:
            answers.append("fenced")
        return answers[0], answers[1]

    story: list[str] = []
    for _ in range(50):
        worker, verb = dice.choice(("w1", "w2")), dice.random()
        if verb < 0.1:
            now += timedelta(seconds=dice.choice((1, 5, 40)))
            continue
        if verb < 0.2:
            control = dice.choice((Control.PAUSE, Control.UNPAUSE, Control.STOP))
            story.append(control.value)
            database = controlled(database, control, "ann", NOW - timedelta(days=1))
            with store.begin() as tx:
                tx.actions.control(action, control, "ann")
            continue
        if verb < 0.23:
            story.append("hold")
            database = Rows(database, now, lambda: None).with_hold(NODES[0])
            with store.begin() as tx:
                tx.holds.place(NewHold(NODES[0], HoldKind.OPERATOR, "why", "ann", None))
            continue
        if verb < 0.5 or worker not in claims:
            story.append(f"{worker} claims")
            ours, theirs = both(lambda rows: rows.claim(action, now=now, worker=worker))  # noqa: B023  # called at once
            if ours is not None and theirs is not None:
                claims[worker] = ours, theirs
        else:
            name, call = calls(dice, now)
            story.append(f"{worker}: {name}")
            mine, stored = claims[worker]
            ours, theirs = both(lambda rows: call(rows, mine if isinstance(rows, Rows) else stored))  # noqa: B023
            if isinstance(ours, Claim) and isinstance(theirs, Claim):
                claims[worker] = ours, theirs
            if ours == "fenced" or name in ("sleep", "rest", "wait", "end the step", "end the action"):
                del claims[worker]
        assert shown(ours) == shown(theirs), story
