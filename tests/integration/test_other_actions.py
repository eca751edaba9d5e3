"""update_site, update_software and test_site with everything but the wire."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.documents import RevisionTag
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.provisioner import Operation
from shipyard_api.storage import tables
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.callers import Caller
from tests.integration.test_deploy_site import PREFLIGHT, TAG, run, state, tags
from tests.world import Checkpoints, World

Worlds = Callable[..., World]
CONFIGURATION, DOCUMENTS = "deployment_configuration", "validate_site_design.deckhand_validate_site_design"
EXIST, NODES = "drydock_build.verify_nodes_exist", "drydock_build.prepare_and_deploy_nodes"
ANN = Caller("ann", frozenset({"admin"}), str(uuid.uuid4()))


def notes(world: World) -> list[str]:
    with world.store().begin() as tx:
        return [str(entry.fact.text) for entry in tx.journal.entries(world.action) if entry.kind == "noted"]


def test_update_site_deploys_by_groups_after_it_has_seen_that_machines_are_known(worlds: Worlds) -> None:
    world = worlds(name=ActionName("update_site"))

    steps = run(world)

    assert list(steps) == [
        "dag_concurrency_check",
        PREFLIGHT,
        CONFIGURATION,
        DOCUMENTS,
        "validate_site_design.drydock_validate_site_design",
        "validate_site_design.promenade_validate_site_design",
        "drydock_build.verify_site",
        "drydock_build.prepare_site",
        EXIST,
        NODES,
        TAG,
    ]
    assert {ended for ended, _ in steps.values()} == {"success"}
    assert steps[EXIST][1] == "Fake knows 6 machines"
    assert world.provisioner.sent(Operation.DEPLOY_NODES) == ["n0", "n2", "n3", "n4", "n5"]
    assert tags(world) == {RevisionTag.SITE_ACTION_SUCCESS}


def test_a_provisioner_that_lost_its_data_stops_an_update_before_any_node_is_touched(worlds: Worlds) -> None:
    world = worlds(name=ActionName("update_site"))
    world.provisioner.empty = True

    steps = run(world)

    assert steps[EXIST][0] == "failed"
    assert steps[EXIST][1].startswith("Fake knows no machine, and this site is said to run: it may have lost its data.")
    assert steps[NODES][0] == "upstream_failed"
    assert world.provisioner.sent(Operation.PREPARE_NODES) == []
    assert (state(world), tags(world)) == ("failed", {RevisionTag.SITE_ACTION_FAILURE})


def test_asked_to_continue_an_update_goes_on_all_the_same(worlds: Worlds) -> None:
    world = worlds(name=ActionName("update_site"), parameters={"continue-on-fail": "true"})
    world.provisioner.empty = True

    steps = run(world)

    assert steps[EXIST][0] == "success"
    assert steps[EXIST][1].startswith("went on, as continue-on-fail asks: Fake knows no machine")
    assert steps[NODES][0] == "success"


def test_update_software_checks_tags_and_says_what_it_does_not_do(worlds: Worlds) -> None:
    world = worlds(name=ActionName("update_software"))

    steps = run(world)

    assert list(steps) == ["dag_concurrency_check", CONFIGURATION, DOCUMENTS, TAG]
    assert {ended for ended, _ in steps.values()} == {"success"}
    assert world.provisioner.calls == []
    assert (state(world), tags(world)) == ("success", {RevisionTag.SITE_ACTION_SUCCESS})
    (note,) = notes(world)
    assert "Without a task graph no software is installed" in note


def test_test_site_asks_and_changes_nothing_not_even_a_tag(worlds: Worlds) -> None:
    world = worlds(name=ActionName("test_site"))

    steps = run(world)

    assert list(steps) == [PREFLIGHT, CONFIGURATION]
    assert {ended for ended, _ in steps.values()} == {"success"}
    assert (state(world), tags(world), world.provisioner.submissions) == ("success", set(), [])
    (note,) = notes(world)
    assert "Without a task graph no software is tested" in note


def test_a_provisioner_that_is_not_well_fails_the_test_of_a_site(worlds: Worlds) -> None:
    world = worlds(name=ActionName("test_site"))
    world.provisioner.fail_next("check_health", Refused("Fake", "check_health", "the database is gone"))

    steps = run(world)

    assert steps == {
        PREFLIGHT: ("failed", "Fake check_health: the database is gone"),
        CONFIGURATION: ("upstream_failed", ""),
    }
    assert state(world) == "failed"


@pytest.mark.parametrize(
    "name",
    [ActionName("update_site"), ActionName("update_software"), ActionName("test_site")],
    ids=lambda name: name,
)
def test_one_that_failed_can_be_tried_again(worlds: Worlds, name: ActionName) -> None:
    world = worlds(name=name)
    engine, actions = world.engine(), tables.actions
    with engine.begin() as connection:
        connection.execute(actions.update().values(state="failed", ended_at=world.clock.now()))
    again = ControlAction(world.store(), world.definitions(Checkpoints()), lambda: "1" * 26)

    action = again.retry(world.action, ANN, force=False)

    assert (action.name, action.state, action.revision) == (name, RunState.QUEUED, 1)
    world.action = ActionId(action.id)
    with engine.begin() as connection:
        connection.execute(actions.update().values(wake_at=world.clock.now()))
    assert {ended for ended, _ in run(world).values()} == {"success"}
