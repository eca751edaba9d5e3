"""The history of a run as the database has it: one journal row an entry, and readings that only grow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from shipyard_api.domain.actions import Control
from shipyard_api.storage.run_history import RunHistory
from tests import run_histories
from tests.simulated_peers import PEERS, scenario
from tests.simulated_world import SimulatedWorld, Site
from tests.world import SETTLE

NODES = {f"n{number}": {"rack": "r1" if number < 4 else "r2"} for number in range(6)}


@pytest.fixture(params=sorted(PEERS))
def world(database_url: str, request: pytest.FixtureRequest) -> Iterator[SimulatedWorld]:
    played = scenario({"n1": {"prepare": "fail", "reason": "as planned"}}, {"prepare_nodes": 20, "deploy_nodes": 30})
    world = SimulatedWorld(database_url, site=Site(NODES, played), make_peer=PEERS[request.param])
    yield world
    world.close()


def test_a_run_on_each_provisioner_keeps_every_rule(world: SimulatedWorld) -> None:
    history = run_histories.in_virtual_time(world.engine())
    world.run(world.worker(), lambda: history.read(world.clock.now()))

    peers = {world.peer.name: world.peer.events()}
    lines = [json.loads(line) for line in run_histories.lines(history, world.clock.now(), peers, settle=SETTLE)]
    effects = [one for one in lines[1:] if one.get("effect")]
    assert {(one["process"], one["type"]) for one in effects} == {(world.peer.name, "invoke")}
    times = Counter((one["operation"], node) for one in effects for node in one["nodes"])
    assert times == {
        **{("prepare", name): 1 for name in NODES},
        **{("deploy", name): 1 for name in NODES if name != "n1"},
    }
    assert {one["process"] for one in lines[1:] if "epoch" in one} <= {"api", "database", "worker-1"}
    assert {group["name"]: group["nodes"] for group in lines[0]["design"]["groups"]} == {
        "first": ["n0", "n1", "n2", "n3"],
        "second": ["n3", "n4", "n5"],
        "third": ["n5"],
        "empty": [],
    }
    assert lines[0]["design"]["groups"][0]["success_criteria"] == {"percent_successful_nodes": 50}
    assert len([one for one in lines if one.get("operation") == "reading"]) > 5
    assert run_histories.breaches("run", history, world.clock.now(), peers, settle=SETTLE) == []


def test_a_stop_and_a_hold_are_what_an_operator_did(world: SimulatedWorld) -> None:
    history = RunHistory(world.engine())
    world.worker().run(world.action)
    assert world.control(Control.STOP)
    entries = history.entries()
    stops = [one for one in entries if one["operation"] == "stop"]
    assert [(one["process"], one["type"], one["action"]) for one in stops] == [("operator", "ok", world.action)]


def test_a_reading_that_misses_a_row_is_noticed(world: SimulatedWorld) -> None:
    history = run_histories.in_virtual_time(world.engine())
    world.run(world.worker(), lambda: history.read(world.clock.now()))
    with world.engine().begin() as connection:
        connection.exec_driver_sql("DELETE FROM journal WHERE id = (SELECT min(id) + 3 FROM journal)")
    found = run_histories.breaches("lost", history, world.clock.now(), {world.peer.name: world.peer.events()})
    assert [text.split(": ", 2)[1] for text in found] == ["rows", "rows"]
    assert "it does not begin with the rows of journal that line" in found[1]
