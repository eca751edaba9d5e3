"""A database that loses the end of its history: nothing is done twice, judged by the log of the peer alone.

Each run is played to a checkpoint, where the database is copied; it goes on for some turns, and then with the copy,
which knows nothing of them, as after a fail-over to an asynchronous standby, or with a restored dump.
"""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
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
from tests.crash.test_backup import run
from tests.factories import group_entry
from tests.redeploy_world import NODES, RedeployWorld
from tests.simulated_peers import PEERS, scenario
from tests.simulated_world import SimulatedWorld, Site
from tests.software_world import SoftwareWorld
from tests.standby import pair
from tests.two_histories import Loss, play

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

        assert state(url) == (1, "", "")
        servers.unlink()
        assert state(url)[2].startswith("replication is asynchronous")
        check_old_primary(url)

        servers.promote()
        with pytest.raises(UnsuitableDatabase, match="two database servers accept writes"):
            check_old_primary(url)
        check_old_primary(url)  # the newer one is preferred from now on

        number, difference, _ = state(url)
        assert (number, difference) == (
            2,
            "a standby became the primary, or a backup was restored (timeline 2 after 1)",
        )


def state(url: str) -> tuple[int, str, str]:
    """Return what a new connection finds: the number of the history, its difference, and what is wrong."""
    engine = connect(url, pool_size=1)
    with Store(engine, ProcrastinateWakeup()).begin() as tx:
        history, replication = tx.measures.history(), tx.measures.replication()
    engine.dispose()
    return history.number, history.difference, replication.finding


LESS = "the server has written less than before, as from a copy of its files or from a snapshot"


@pytest.mark.crash
@pytest.mark.parametrize(
    ("loss", "said"),
    {
        "base backup": LESS,
        "copy of the directory": LESS,
        "the way back to the old primary": "the old primary is used again (timeline 1 after 2)",
        "pg_restore --clean": "its tables were created again or emptied, as for a dump",
    }.items(),
)
def test_a_process_that_lives_notices_what_leaves_no_sign_in_the_database(loss: str, said: str, tmp_path: Path) -> None:
    """On real servers, the dump in the living database; a process that has just started may not notice the others."""
    with pair() as servers:
        made = connect(servers.primary_url, pool_size=1)
        migrations.upgrade(made, ROOT / "migrations")
        made.dispose()
        servers.unlink()
        assert state(servers.primary_url)[0] == 1
        kept, dump = None, tmp_path / "dump"
        if loss == "the way back to the old primary":
            servers.lose_primary()
        elif loss == "pg_restore --clean":
            run("pg_dump", "--format=custom", f"--file={dump}", servers.primary_url)
        else:
            kept = servers.keep(plain_copy=loss == "copy of the directory")
        servers._ask(servers.primary, "CREATE TABLE lost AS SELECT generate_series(1, 100000)")
        before = state(servers.primary_url)[0]

        if loss == "pg_restore --clean":
            run("pg_restore", "--clean", "--no-owner", f"--dbname={servers.primary_url}", str(dump))
        else:
            servers.go_back(kept)
        assert state(servers.primary_url)[:2] == (2, said), before
        assert state(servers.primary_url)[0] == 2  # once


def seeds(*every_day: int) -> list[Any]:
    """Return all seeds, each with a provisioner; those of every day are not long."""
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
    deployed_once(database_url, kind, Lost(Random(f"histories {seed}"), copies), MODES[seed // 3 % len(MODES)])


@pytest.mark.parametrize(("seed", "kind"), seeds(1, 2))
def test_a_server_is_erased_once_whatever_the_database_forgets(
    database_url: str, copies: list[str], seed: int, kind: str
) -> None:
    dice = Random(f"histories of {seed}")
    count, verb = dice.choice((1, 1, 2)), "remove_server" if seed % 8 == 7 else "redeploy_server"
    erased_once(database_url, kind, Lost(dice, copies), verb, count)


@dataclass
class Lost:
    """What is lost of a run, and how."""

    dice: Random
    copies: list[str]
    loss: Loss = Loss.DUMP
    living: bool = True

    def play(self, world: Any) -> str:
        return play(world, self.dice, self.copies, self.loss, living=self.living)

    @property
    def known(self) -> bool:
        """Whether anything shows it."""
        return self.living or self.loss in (Loss.DUMP, Loss.CLEAN)


def deployed_once(url: str, kind: str, lost: Lost, mode: dict[str, Any]) -> None:
    names = [f"n{number}" for number in range(1, lost.dice.choice((2, 3, 6)) + 1)]
    half = len(names) // 2
    groups = [
        group_entry("first", selectors=[{"node_names": names[:half]}]),
        group_entry("second", selectors=[{"node_names": names[half:]}]),
    ]
    site = Site({name: {} for name in names}, scenario({}, {}), groups, mode)
    world = SimulatedWorld.in_emptied(url, site=site, make_peer=partial(PEERS[kind]))
    with closing(world):
        said = lost.play(world)

        again = twice((one.phase, one.node) for one in world.peer.begun())
        assert not again, f"{said}\n{world.told()}"
        if in_time(said):
            assert world.ending()[0] == "success", f"{said}\n{world.told()}"


def erased_once(url: str, kind: str, lost: Lost, verb: str, count: int) -> None:
    world = RedeployWorld.deployed(url, kind)
    with closing(world):
        targets = NODES[:count]
        if verb == "remove_server":
            world.leave(*targets)
        world.create(ActionName(verb), target_nodes=",".join(targets))
        said = lost.play(world)

        since = [one for one in (*world.peer.begun(), *world.peer.destroyed()) if one.at > world.since]
        again = twice((one.phase, one.node) for one in since)
        assert not again, f"{said}\n{world.told()}\n{world.story()}"
        # A server that was removed took its mark with it: that Kubernetes lacks it is a fault where no loss is known.
        if in_time(said) and (lost.known or verb != "remove_server"):
            assert world.state() is RunState.SUCCESS, f"{said}\n{world.told()}"


def in_time(said: str) -> bool:
    """Whether no time of a phase can be over because of what was done."""
    return " -3600 " not in said and " 3600 " not in said


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
    count = dice.choice((1, 1, 2))
    left_whole(database_url, Lost(dice, copies), verb, count)


def left_whole(url: str, lost: Lost, verb: str, count: int) -> None:
    world = RedeployWorld.deployed(url, "ironic")
    with closing(world):
        targets = ",".join(NODES[:count])
        erased = world.peer.erased()
        if verb == "rebuild":
            world.create(ActionName("redeploy_server"), target_nodes=targets, mode="rebuild")
        else:
            with world.store().begin() as tx:
                tx.deploy_templates.create(TemplateId(str(UUID(int=0))), BIOS, {})
            # With force: two of three etcd members may be away at once.
            world.create(ActionName("service_server"), target_nodes=targets, template=BIOS.name, force="true")
        said = lost.play(world)

        verbs = [one for one in world.peer.begun() if one.at > world.since]
        steps = [(one["node"], one["step"]) for one in world.peer.events() if one.get("kind") == "service"]
        again = twice([*((one.phase, one.node) for one in verbs), *steps])
        assert not again, f"{said}\n{world.told()}\n{world.story()}"
        assert world.peer.erased() == erased
        assert world.peer.destroyed() == []
        if in_time(said):
            assert world.state() is RunState.SUCCESS, f"{said}\n{world.told()}"


SEEDS = 10
QUIET = (Loss.BASE, Loss.COPY, Loss.BACK, Loss.CLEAN)
WORK = (
    *itertools.product(("deploy_site", "redeploy_server", "remove_server"), PROVISIONERS),
    ("service_server", "ironic"),  # no other provisioner has a verb for it
)


def quiet_losses() -> list[Any]:
    """Every loss that leaves little or no sign, workers that live on and that were killed, every action, ten times.

    ``one-of-each`` is every action at every provisioner, with other losses each; Drydock's belong to every day.
    """
    found, ways = [], [*itertools.product(QUIET, (True, False))]
    for place, (verb, kind) in enumerate(WORK):
        for number, (loss, living) in enumerate(ways):
            for seed in range(SEEDS):
                one = seed == 0 and number == place * 3 % len(ways)
                name = f"{verb}-{kind}-{loss.name}-{'living' if living else 'killed'}-{seed}"
                marks = [] if one and kind == "drydock" else [pytest.mark.crash]
                found.append(pytest.param(verb, kind, loss, living, seed, marks=marks, id=name + "-one-of-each" * one))
    return found


@pytest.mark.parametrize(("verb", "kind", "loss", "living", "seed"), quiet_losses())
def test_a_loss_that_leaves_no_sign_repeats_nothing(
    database_url: str, copies: list[str], verb: str, kind: str, loss: Loss, living: bool, seed: int
) -> None:
    lost = Lost(Random(f"{verb} {kind} {loss.name} {living} {seed}"), copies, loss, living)
    if verb == "deploy_site":
        deployed_once(database_url, kind, lost, MODES[seed % len(MODES)])
    elif verb == "service_server":
        left_whole(database_url, lost, "service", 2)
    else:
        erased_once(database_url, kind, lost, verb, 2)
