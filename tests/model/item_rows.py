"""The rows of work items in one transaction: what ``storage.items`` promises to the engine."""

import dataclasses
import json
from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId, RunState, StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.holds import Hold, NodeWork
from shipyard_api.domain.items import EndedItem, ItemId, ItemState
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.turns import Claim, Intent, ItemClaim, stopped_by
from shipyard_api.storage.rows import intent_from, intent_json
from tests.model.database import STEP, Item, Rows, intent_key, stored


def released(item: Item, now: datetime) -> Item:
    """Return an item that its run has lost: the delivery of the run is repeated."""
    return dataclasses.replace(item, held=False, wake_at=now)


class ItemRows:
    """The items of the only step, in the transaction of ``rows``."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @staticmethod
    def key_of(method: str, value: Any) -> Hashable:
        """Return what distinguishes the answers of a method. The epoch of a claim counts on its own."""
        match method:
            case "claim" if value is not None:
                flags = (value.item, value.paused, value.stopped, value.lost)
                intent = None if value.intent is None else intent_key(stored(intent_json(value.intent)))
                return (stored(value.state), intent, flags)
            case "record" | "renew":
                return (value.paused, value.stopped)
            case "held":
                return tuple(hold.node for hold in value)
            case "gather":
                ended, is_open = value
                return tuple((item.id, item.outcome.value, item.detail) for item in ended), is_open
            case "stop_open":
                return bool(value)
        return None

    # What turns of the action do.

    def gather(self, claim: Claim) -> tuple[tuple[EndedItem, ...], bool]:
        items = self._rows.now_is.items
        ended = [item for item in items if item.ended and not item.gathered]
        in_order = sorted(ended, key=lambda item: (item.ended_at, items.index(item)))
        self._put(*(dataclasses.replace(item, gathered=True) for item in ended))
        told = (EndedItem(ItemId(item.id), item.state, item.detail, _json(item.memory)) for item in in_order)
        return tuple(told), self._any_open

    def waiting_for(self, claim: Claim) -> WaitingFor | None:
        """Return nothing: what items wait for is only shown."""
        return None

    def wake_resting(self, claim: Claim, *, now: datetime) -> None:
        resting = (item for item in self._rows.now_is.items if not item.ended and not item.held)
        self._put(*(dataclasses.replace(item, wake_at=now) for item in resting if item.wake_at is None))

    def stop_open(self, claim: Claim, why: str, *, now: datetime) -> bool:
        for item in self._rows.now_is.items:
            if item.ended or item.stop is not None:
                continue
            intent = _json(item.intent)
            is_free = not item.held or intent is None or bool(intent.get("repeatable"))
            stopped = dataclasses.replace(item, stop=why)
            self._put(released(stopped, now) if is_free else stopped)
        return self._any_open

    # What turns of an item do.

    def claim(
        self, action: ActionId, versions: Mapping[StepId, int], *, holder: str, now: datetime, worker: str
    ) -> ItemClaim | None:
        items = self._rows.now_is.items
        due = [item for item in items if not item.ended and item.wake_at is not None and item.wake_at <= now]
        if not due:
            return None
        in_order = sorted(due, key=lambda item: (item.wake_at, items.index(item)))
        item = in_order[self._rows.choose(len(due))]
        epoch = self._rows.next_epoch(item.id, item.epoch)
        claimed = dataclasses.replace(item, epoch=epoch, state=ItemState.RUNNING, held=True, wake_at=None)
        self._put(claimed)
        self._rows.claimed = item.id
        self._rows.did.append(f"a turn of {item.id} begins")
        return ItemClaim(
            action=action,
            step=STEP,
            item=ItemId(item.id),
            epoch=claimed.epoch,
            worker=worker,
            task=json.loads(item.task),
            state=_json(item.memory),
            intent=intent_from(json.loads(item.intent)) if item.intent else None,
            **self._control(item),
            user="user",
            context_marker="context",
            traceparent="",
            lost=self._rows.lost(now),
        )

    def start(self, claim: ItemClaim, state: JsonObject, *, now: datetime) -> ItemClaim:
        return replace(claim, state=state)

    def intend(self, claim: ItemClaim, intent: Intent, *, now: datetime | None = None) -> ItemClaim:
        self._fenced(claim, intent=stored(intent_json(intent)), memory=stored(claim.state))
        self._rows.did.append("an intent to send" if now is None else "a search")
        if now is None:
            self._rows.permitted = intent.touches
        return replace(claim, intent=intent)

    def wait(self, claim: ItemClaim, waiting: WaitingFor) -> ItemClaim:
        return claim

    def renew(self, claim: ItemClaim) -> ItemClaim:
        return replace(claim, **self._control(self._fenced(claim)))

    def held(self, claim: ItemClaim, nodes: Collection[NodeName], work: NodeWork) -> Sequence[Hold]:
        return self._rows.holds_on(nodes)

    def record(
        self,
        claim: ItemClaim,
        state: JsonObject,
        facts: Sequence[Fact],
        *,
        now: datetime,
        wake_at: datetime | None,
        items: Sequence[object] = (),
        waiting: WaitingFor | None = None,
    ) -> ItemClaim:
        rests = {} if wake_at is None else {"wake_at": wake_at, "held": False}
        item = self._fenced(claim, memory=stored(state), intent=None, **rests)
        self._rows.did.append("an outcome")
        self._rows.write_facts(facts, now)
        return replace(claim, state=state, intent=None, waiting=waiting, **self._control(item))

    def tell(self, claim: ItemClaim, facts: Sequence[Fact], *, now: datetime) -> None:
        self._rows.write_facts(facts, now)

    def sleep(self, claim: ItemClaim, *, until: datetime, waiting: WaitingFor | None = None) -> None:
        self._fenced(claim, wake_at=until, held=False)
        self._rows.did.append("a pause")

    def rest(self, claim: ItemClaim, *, waiting: WaitingFor | None = None) -> None:
        paused = self._rows.now_is.state is RunState.PAUSED
        self._fenced(claim, held=False, wake_at=None if paused else self._rows.now)
        self._rows.did.append("a rest")

    def end(self, claim: ItemClaim, outcome: ItemState, detail: str, facts: Sequence[Fact], *, now: datetime) -> None:
        memory = {} if claim.state is None else {"memory": stored(claim.state)}
        over = {"state": outcome, "detail": detail, "intent": None, "wake_at": None, "held": False, "ended_at": now}
        self._fenced(claim, **over, **memory)
        self._rows.write_facts(facts, now)
        self._rows.did.append(f"{claim.item} ends with {outcome.value}")

    @property
    def _any_open(self) -> bool:
        return any(not item.ended for item in self._rows.now_is.items)

    def _control(self, item: Item) -> dict[str, Any]:
        database = self._rows.now_is
        stopped = item.stop or (stopped_by(database.stopped_by) if database.stopped_by else None)
        return {"paused": database.state is RunState.PAUSED, "stopped": stopped}

    def _fenced(self, claim: ItemClaim, **values: Any) -> Item:
        item = next(item for item in self._rows.now_is.items if item.id == claim.item)
        if item.epoch != claim.epoch:
            raise Fenced(f"{claim.item}: turn {claim.epoch} is over")
        self._rows.written.add(item.id)
        written = dataclasses.replace(item, **values) if values else item
        self._put(written)
        return written

    def _put(self, *written: Item) -> None:
        by_id = {item.id: item for item in written}
        if by_id:
            self._rows.put_items(tuple(by_id.get(item.id, item) for item in self._rows.now_is.items))


def _json(text: str | None) -> JsonObject | None:
    return None if text is None else json.loads(text)
