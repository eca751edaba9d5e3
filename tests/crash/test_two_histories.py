"""A database that loses the end of its history: nothing is done twice, judged by the log of the peer alone.

Each run is played to a checkpoint, where the database is copied; it goes on for some turns, and then with the copy,
which knows nothing of them, as after a fail-over to an asynchronous standby, or with a restored dump.
"""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import closing
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

import pytest

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.ports.state.deploy_templates import TemplateId
from shipyard_api.ports.state.errors import UnsuitableDatabase
from shipyard_api.storage import migrations
from shipyard_api.storage.rivals import check_old_primary
from shipyard_api.storage.unit_of_work import Store, connect
from tests.conftest import ROOT
from tests.factories import group_entry
from tests.redeploy_world import NODES, RedeployWorld
from tests.simulated_peers import PEERS, scenario
from tests.simulated_world import SimulatedWorld, Site
from tests.software_world import SoftwareWorld
from tests.standby import pair
from tests.two_histories import play

ALL = 100
PROVISIONERS = tuple(PEERS)
MODES: tuple[dict[str, Any], ...] = ({}, {"max_parallel_groups": 2, "deploy_as_prepared": True})


def twice(things: Any) -> dict[Any, int]:
    """Return what is there more than once."""
    return {thing: count for thing, count in Counter(things).items() if count > 1}


@pytest.mark.crash
def test_a_promoted_standby_tells_another_history() -> None:
    """On two real servers; the old primary goes on accepting writes."""
    with pair() as servers:
        made = connect(servers.primary_url, pool_size=1)
        migrations.upgrade(made, ROOT / "migrations")
        made.dispose()
        url = servers.url

        def state() -> tuple[int, str, str]:
            engine = connect(url, pool_size=1)
            with Store(engine, ProcrastinateWakeup()).begin() as tx:
                history, replication = tx.measures.history(), tx.measures.replication()
            engine.dispose()
            return history.number, history.difference, replication.finding

        assert state() == (1, "", "")
        servers._ask(servers.primary, "ALTER SYSTEM RESET synchronous_standby_names")
        servers._ask(servers.primary, "SELECT pg_reload_conf()")
        assert state()[2].startswith("replication is asynchronous")
        check_old_primary(url)

        servers.promote()
        with pytest.raises(UnsuitableDatabase, match="two database servers accept writes"):
            check_old_primary(url)
        check_old_primary(url)  # the newer one is preferred from now on

        number, difference, _ = state()
        assert (number, difference) == (
            2,
            "a standby became the primary, or a backup was restored (timeline 2 after 1)",
        )


def seeds(*every_day: int) -> list[Any]:
    """Return all seeds, each with a provisioner; those of every day are no long tests."""
    return [
        pytest.param(
            seed,
            PROVISIONERS[seed % len(PROVISIONERS)],
            marks=[pytest.mark.crash] if seed not in every_day else [],
            id=f"{PROVISIONERS[seed % len(PROVISIONERS)]}-{seed}",
        )
        for seed in range(ALL)
    ]


@pytest.mark.parametrize(("seed", "kind"), seeds(0, 4))
def test_a_deployment_is_sent_once_whatever_the_database_forgets(
    database_url: str, copies: list[str], seed: int, kind: str
) -> None:
    dice = Random(f"histories {seed}")
    mode = MODES[seed // len(PROVISIONERS) % len(MODES)]
    names = [f"n{number}" for number in range(1, dice.choice((2, 3, 6)) + 1)]
    half = len(names) // 2
    groups = [
        group_entry("first", selectors=[{"node_names": names[:half]}]),
        group_entry("second", selectors=[{"node_names": names[half:]}]),
    ]
    site = Site({name: {} for name in names}, scenario({}, {}), groups, mode)
    world = SimulatedWorld.in_emptied(database_url, site=site, make_peer=partial(PEERS[kind]))
    with closing(world):
        said = play(world, dice, copies)

        again = twice((one.phase, one.node) for one in world.peer.begun())
        assert not again, f"{said}\n{world.told()}"
        if " -3600 " not in said and " 3600 " not in said:  # times of phases may be over
            assert world.ending()[0] == "success", f"{said}\n{world.told()}"


@pytest.mark.parametrize(("seed", "kind"), seeds(1, 2))
def test_a_server_is_erased_once_whatever_the_database_forgets(
    database_url: str, copies: list[str], seed: int, kind: str
) -> None:
    dice = Random(f"histories of {seed}")
    world = RedeployWorld.deployed(database_url, kind)
    with closing(world):
        targets = NODES[: dice.choice((1, 1, 2))]
        if seed % 8 == 7:
            world.leave(*targets)
            world.create(ActionName("remove_server"), target_nodes=",".join(targets))
        else:
            world.create(ActionName("redeploy_server"), target_nodes=",".join(targets))
        said = play(world, dice, copies)

        since = [one for one in (*world.peer.begun(), *world.peer.destroyed()) if one.at > world.since]
        again = twice((one.phase, one.node) for one in since)
        assert not again, f"{said}\n{world.told()}\n{world.story()}"
        if " -3600 " not in said and " 3600 " not in said:
            assert world.state() is RunState.SUCCESS, f"{said}\n{world.told()}"


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.crash] if seed else []) for seed in range(ALL)])
def test_a_task_is_started_once_whatever_the_database_forgets(database_url: str, copies: list[str], seed: int) -> None:
    dice = Random(f"histories of tasks {seed}")
    world = SoftwareWorld(database_url)
    with closing(world):
        said = play(world, dice, copies)

        world.started()
        assert world.state() is RunState.SUCCESS, f"{said}\n{world.steps()}"


BIOS = DeployTemplate(
    TraitName("CUSTOM_BIOS"),
    (
        DeployStep(Interface.BIOS, "factory_reset", {}, 10),
        DeployStep(Interface.BIOS, "apply_configuration", {"settings": [{"name": "vt", "value": "on"}]}, 20),
    ),
)
OTHERS = ("rebuild", "service")  # Ironic's verbs that leave the disks of a node as they are


@pytest.mark.parametrize(
    ("seed", "verb"),
    [
        pytest.param(seed, verb, marks=[pytest.mark.crash] if seed >= 2 else [], id=f"{verb}-{seed}")
        for seed, verb in zip(range(ALL), itertools.cycle(OTHERS), strict=False)
    ],
)
def test_a_server_is_rebuilt_or_serviced_once_whatever_the_database_forgets(
    database_url: str, copies: list[str], seed: int, verb: str
) -> None:
    dice = Random(f"histories of verbs {seed}")
    world = RedeployWorld.deployed(database_url, "ironic")
    with closing(world):
        targets = ",".join(NODES[: dice.choice((1, 1, 2))])
        erased = world.peer.erased()
        if verb == "rebuild":
            world.create(ActionName("redeploy_server"), target_nodes=targets, mode="rebuild")
        else:
            with world.store().begin() as tx:
                tx.deploy_templates.create(TemplateId(str(UUID(int=0))), BIOS, {})
            # With force: two of three etcd members may be away at once.
            world.create(ActionName("service_server"), target_nodes=targets, template=BIOS.name, force="true")
        said = play(world, dice, copies)

        verbs = [one for one in world.peer.begun() if one.at > world.since]
        steps = [(one["node"], one["step"]) for one in world.peer.events() if one.get("kind") == "service"]
        again = twice([*((one.phase, one.node) for one in verbs), *steps])
        assert not again, f"{said}\n{world.told()}\n{world.story()}"
        assert world.peer.erased() == erased
        assert world.peer.destroyed() == []
        if " -3600 " not in said and " 3600 " not in said:
            assert world.state() is RunState.SUCCESS, f"{said}\n{world.told()}"
