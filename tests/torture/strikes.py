"""How each kind of fault strikes a world."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from shipyard_api.storage import histories
from tests.torture.history import Numbers
from tests.torture.plan import Deed
from tests.torture.world import STALLED, Strike, Worker, World
from tests.world import KilledError

Value = Mapping[str, Any]
SOON = 5.0
MOST_STATEMENTS = 40  # that a request runs; a shorter one is answered, and the next one is killed


def _kill(_world: World, _value: Value, _worker: Worker | None) -> None:
    raise KilledError


def _freeze(world: World, value: Value, worker: Worker | None) -> None:
    """Let a worker stand still; others take its job, and it ends with its turn, if that lasts long enough."""
    assert worker is not None
    if value["seconds"] > STALLED:
        worker.is_doomed = True
        if worker.job is not None:
            world.requeue(worker.job, STALLED)
    worker.stands_still, acting, world.acting = True, world.acting, None
    world.play(until=lambda: False, most=value["seconds"])
    worker.stands_still, world.acting = False, acting


def _answers(world: World, value: Value, _worker: Worker | None) -> None:
    world.peer.play(value["faults"])
    world.mistreats_until = world.clock.seconds + value["seconds"]
    world.later(value["seconds"], lambda: world.peer.play(()))


def _cut_off(world: World, value: Value, worker: Worker | None) -> None:
    """Cut the host of a worker off from all peers."""
    assert worker is not None
    worker.is_cut_off = True

    def mend() -> None:
        worker.is_cut_off = False

    world.later(value["seconds"], mend)


def _may_lose_records(world: World) -> bool:
    planned, struck = Counter(deed.kind for deed in world.plan.faults), Counter(world.struck)
    to_come = any(planned[kind] > struck[kind] for kind in ("lost history", "dump", "fail-over"))
    return to_come or struck["lost history"] > struck["restore"] or world.dumps_kept > 0


def _stumble(world: World, value: Value, _worker: Worker | None) -> None:
    """Restart the provisioner, once no submission is on its way: one without a record would be sent again.

    Drydock loses its tasks, and is let be while the database may still lose their records.
    """
    if world.plan.row["provisioner"] == "drydock" and _may_lose_records(world):
        return
    undecided = "SELECT (SELECT count(*) FROM steps WHERE intent IS NOT NULL)"
    undecided += " + (SELECT count(*) FROM work_items WHERE intent IS NOT NULL)"
    if not world.has_database or world.virtual.one(undecided)[0]:
        world.later(SOON, lambda: _stumble(world, value, None))
        return
    world.peer.stumble()
    world.of_site.await_peers()


def _fail_over(world: World, value: Value, worker: Worker | None) -> None:
    """End all sessions, and let the database accept none for a while."""
    world.virtual.go_away()
    _bury_others(world, worker)

    def come_back() -> None:
        world.virtual.come_back()
        world.of_site.tell()

    world.later(value["seconds"], come_back)


def _full_disk(world: World, value: Value, _worker: Worker | None) -> None:
    world.virtual.fill(is_full=True)
    world.is_full = True

    def make_room() -> None:
        world.virtual.fill(is_full=False)
        world.is_full = False

    world.later(value["seconds"], make_room)


def _lost_history(world: World, value: Value, _worker: Worker | None) -> None:
    """Copy the database, and let the copy take its place some time later, in the middle of a turn."""
    copy = world.virtual.keep()
    world.kept[copy] = world.history.numbers
    deed = Deed(0.0, "restore", {**value, "copy": copy})
    world.later(value["age"], lambda: world.due(deed))


def _restore(world: World, value: Value, worker: Worker | None) -> None:
    world.history.losing()
    world.virtual.go_back(value["copy"], world.of_site.of_database(), sign=value["sign"])
    if not value["lives"]:
        histories.HIGHEST.clear()
    _changed(world, worker, world.kept[value["copy"]])


def _dump(world: World, value: Value, _worker: Worker | None) -> None:
    """Dump all rows, and restore them some time later into the living database, emptied with TRUNCATE."""
    rows, kept = world.virtual.dump(), world.history.numbers
    world.dumps_kept += 1

    def restore() -> None:
        if not world.has_database:
            world.later(SOON, restore)
            return
        world.dumps_kept -= 1
        world.history.losing()
        world.virtual.truncate_and_restore(rows)
        _changed(world, None, kept)

    world.later(value["age"], restore)


def _api_answer_lost(world: World, _value: Value, _worker: Worker | None) -> None:
    """Let an operator not hear the answer to the next action that is created."""
    world.unheard += 1


def _clock_set(world: World, value: Value, _worker: Worker | None) -> None:
    """Set the clock of the database's host, which Shipyard's time does not follow while an action runs."""
    world.history.read()
    world.of_site.ahead += value["seconds"]
    world.of_site.tell()


def _api_killed(world: World, _value: Value, _worker: Worker | None) -> None:
    """Let the API process end within the next request that writes, at one of its statements."""
    world.ends_within.append(world.dice.randint(0, MOST_STATEMENTS))


def _anothers_task(world: World, value: Value, _worker: Worker | None) -> None:
    """Let somebody else send Drydock a task for some nodes."""
    nodes = world.names[: max(1, round(value["share"] * len(world.names)))]
    chosen = {"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": nodes}]}
    task = {"action": value["operation"], "design_ref": "file:///designs/1.yaml", "node_filter": chosen}
    headers = {"X-Auth-Token": "another", "Content-Type": "application/json"}
    asked = Request(f"{world.peer.url}/api/v1.0/tasks", json.dumps(task).encode(), headers, method="POST")
    # A task whose answer is lost would be one that nobody intended.
    with world.peer.behaving(), suppress(HTTPError, ConnectionError), urlopen(asked) as answer:
        world.foreign.add(json.load(answer)["task_id"])
    world.of_site.rest()


def _changed(world: World, worker: Worker | None, kept: Numbers) -> None:
    """Let the site go on with another history."""
    world.histories += 1
    _bury_others(world, worker)
    world.requeue(None, STALLED)
    world.accepted = [action for action in world.accepted if action in world.actions_there()]
    world.history.restored(kept)


def _bury_others(world: World, worker: Worker | None) -> None:
    """Let each worker end that loses its sessions; one that is in a turn does it after that."""
    for other in world.workers:
        if other is worker or other.stands_still:
            other.is_doomed = True
        elif other.is_up:
            world.bury(other)


STRIKES: Mapping[str, Strike] = {
    "kill": _kill,
    "freeze": _freeze,
    "answers": _answers,
    "cut off": _cut_off,
    "stumble": _stumble,
    "fail-over": _fail_over,
    "full disk": _full_disk,
    "lost history": _lost_history,
    "restore": _restore,
    "dump": _dump,
    "api answer lost": _api_answer_lost,
    "api killed": _api_killed,
    "clock set": _clock_set,
    "another's task": _anothers_task,
}
