"""The work items of the model and those of Postgres: the same calls, in any order, get the same answers."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionId, Control, RunState, StepId
from shipyard_api.domain.items import ItemId, ItemState, NewItem
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.turns import Claim, Intent, ItemClaim
from shipyard_api.storage.unit_of_work import Store
from tests.model.database import STEP, Database, Rows, controlled
from tests.model.item_rows import ItemRows, released

NOW = datetime(2099, 1, 1, tzinfo=UTC)  # after the times that the database itself writes
ITEMS = tuple(NewItem(ItemId(name), {"of": name}) for name in ("a", "b"))
VERSIONS = {StepId(STEP): 1}
Call = Callable[[Any], Any]


def intent(at: datetime, dice: Random) -> Intent:
    repeatable = dice.random() < 0.5
    return Intent(Marker("m"), {"v": 1}, at + timedelta(hours=1), at, at, dice.randint(1, 2), repeatable)


def of_item(dice: Random, now: datetime, *, paused: bool) -> tuple[str, Callable[[Any, ItemClaim], Any]]:
    """Return one of the calls of a turn of an item, by its name."""
    state, until = {"v": 1, "seen": dice.randint(0, 2)}, now + timedelta(seconds=dice.choice((0, 1, 30)))
    stored, over = intent(now, dice), dice.choice((ItemState.SUCCESS, ItemState.FAILED, ItemState.STOPPED))
    calls: dict[str, Callable[[Any, ItemClaim], Any]] = {
        "start": lambda rows, claim: rows.start(claim, state, now=now),
        "intend": lambda rows, claim: rows.intend(claim, stored),
        "renew": lambda rows, claim: rows.renew(claim),
        "record": lambda rows, claim: rows.record(claim, state, (), now=now, wake_at=None),
        "wait": lambda rows, claim: rows.record(claim, state, (), now=now, wake_at=until),
        "sleep": lambda rows, claim: rows.sleep(claim, until=until),
        "end": lambda rows, claim: rows.end(claim, over, "why", (), now=now),
    }
    if paused:  # without a pause, the time of Postgres would count
        calls["rest"] = lambda rows, claim: rows.rest(claim)
    name = dice.choice([name for name in calls if name != "end" or dice.random() < 0.3])
    return name, calls[name]


def of_action(dice: Random, now: datetime) -> tuple[str, Callable[[Any, Claim], Any]]:
    """Return one of the calls of a turn of the action, by its name."""
    calls: dict[str, Callable[[Any, Claim], Any]] = {
        "gather": lambda items, claim: items.gather(claim),
        "wake those at rest": lambda items, claim: items.wake_resting(claim, now=now),
        "stop": lambda items, claim: items.stop_open(claim, "enough", now=now),
    }
    name = dice.choice([name for name in calls if name != "stop" or dice.random() < 0.3])
    return name, calls[name]


def shown(value: Any) -> Any:
    """Return what the engine reads of an answer."""
    if isinstance(value, ItemClaim):
        return value.item, value.epoch, value.task, value.state, value.intent, value.paused, value.stopped
    return value


class Both:
    """The rows of the model beside those of Postgres."""

    def __init__(self, store: Store, action: ActionId) -> None:
        self.database, self.now = Database(), NOW
        self.holders: dict[str, str] = {}
        self._store, self._action = store, action

    def turns(self, ours: Call, theirs: Call) -> tuple[Any, Any]:
        rows = Rows(self.database, self.now, lambda: None, action=self._action)
        answers = [_answer(lambda: ours(rows))]
        if answers[0] != "fenced":
            self.database = rows.now_is
        with self._store.begin() as tx:
            answers.append(_answer(lambda: theirs(tx)))
        return answers[0], answers[1]

    def items(self, call: Callable[[Any, Any], Any], ours: Any, theirs: Any) -> tuple[Any, Any]:
        return self.turns(lambda rows: call(ItemRows(rows), ours), lambda tx: call(tx.items, theirs))

    def release(self, holder: str) -> None:
        """Deliver a run again."""
        items = tuple(
            released(item, self.now) if item.held and self.holders[item.id] == holder else item
            for item in self.database.items
        )
        self.database = replace(self.database, items=items)
        with self._store.begin() as tx:
            tx.items.start_run(self._action, VERSIONS, holder=holder, now=self.now)


def _answer(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Fenced:
        return "fenced"


@pytest.mark.parametrize("seed", range(4))
def test_the_items_of_the_model_answer_as_those_of_postgres(
    seed: int, store: Store, create: Callable[..., ActionId]
) -> None:
    dice, action = Random(seed), create(STEP)
    both, claims, story = Both(store, action), dict[str, tuple[Any, Any]](), list[str]()

    def turn(rows: Any) -> Claim:
        claim: Claim = rows.claim(action, now=both.now, worker="w")
        claim = rows.start_step(claim, {"v": 1}, now=both.now) if claim.state is None else claim
        rows.record(claim, {"v": 1}, (), now=both.now, wake_at=None, items=ITEMS)
        return claim

    for _ in range(60):
        run, verb = dice.choice(("1", "2")), dice.random()
        if verb < 0.15:
            both.now += timedelta(seconds=dice.choice((1, 5, 40)))
            continue
        if verb < 0.25:
            control = dice.choice((Control.PAUSE, Control.UNPAUSE, Control.UNPAUSE))
            story.append(control.value)
            both.database = controlled(both.database, control, "ann", both.now)
            with store.begin() as tx:
                tx.actions.control(action, control, "ann")
            continue
        if verb < 0.45 or not both.database.items:
            name, of_turn = of_action(dice, both.now)
            story.append(name)
            ours, theirs = both.turns(
                lambda rows: of_turn(ItemRows(rows), turn(rows)),  # noqa: B023  # called at once
                lambda tx: of_turn(tx.items, turn(tx.turns)),  # noqa: B023
            )
        elif verb < 0.6 or run not in claims:
            story.append(f"run {run} is delivered")
            both.release(run)
            claims.pop(run, None)
            ours, theirs = both.items(
                lambda items, _: items.claim(action, VERSIONS, holder=run, now=both.now, worker="w"),  # noqa: B023
                None,
                None,
            )
            if isinstance(ours, ItemClaim):
                claims[run] = ours, theirs
                both.holders[ours.item] = run
        else:
            name, call = of_item(dice, both.now, paused=both.database.state is RunState.PAUSED)
            story.append(f"run {run}: {name}")
            ours, theirs = both.items(lambda items, claim: call(items, claim), *claims[run])  # noqa: B023
            if isinstance(ours, ItemClaim):
                claims[run] = ours, theirs
            else:
                del claims[run]
        assert shown(ours) == shown(theirs), story
    assert len(story) > 30
