"""The kinds of faults, and which of them plays each row of the table of what Shipyard survives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.crash.random_plans import fault_of
from tests.simulated_peers import PEERS

ALL_PEERS = frozenset(PEERS)


def _nothing(_random: Random, _peer: str) -> Any:
    return None


def _seconds(*choice: float) -> Callable[[Random, str], Any]:
    return lambda random, _: {"seconds": random.choice(choice)}


@dataclass(frozen=True)
class Kind:
    """A kind of fault. ``most``: how often a run has it. ``drawn`` returns what else a seed decides of one.

    ``amid``: it strikes in the middle of a turn, at one of its next checkpoints; ``outside``: of every transaction.
    """

    name: str
    most: int = 3
    amid: bool = False
    outside: bool = False
    needs_database: bool = False
    drawn: Callable[[Random, str], Any] = _nothing
    peers: frozenset[str] = ALL_PEERS


def _mistreated(random: Random, peer: str) -> Any:
    seconds = random.choice((5, 15, 40, 90))
    return {"seconds": seconds, "faults": [fault_of(random, peer) for _ in range(random.randint(1, 3))]}


def _lost(random: Random, _peer: str) -> Any:
    return {"age": random.choice((1, 5, 30, 120, 300)), "sign": random.random() < 0.5, "lives": random.random() < 0.5}


def _aged(random: Random, _peer: str) -> Any:
    return {"age": random.choice((1, 5, 30, 120, 300))}


def _some(random: Random, _peer: str) -> Any:
    return {"operation": random.choice(("prepare_nodes", "deploy_nodes")), "share": random.random()}


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("kill", most=8, amid=True),
        Kind("freeze", amid=True, outside=True, drawn=_seconds(2, 5, 20, 100)),
        Kind("answers", most=4, drawn=_mistreated),
        Kind("cut off", most=2, amid=True, drawn=_seconds(5, 20, 60)),
        Kind("stumble", most=2),
        Kind("api answer lost", most=2),
        Kind("api killed", most=4),
        Kind("clock set", needs_database=True, drawn=_seconds(-3601.3, -90.7, -5.9, 5.9, 90.7, 3601.3)),
        Kind("fail-over", amid=True, needs_database=True, drawn=_seconds(1, 10, 60)),
        Kind("full disk", amid=True, needs_database=True, drawn=_seconds(5, 60, 300)),
        Kind("lost history", most=2, needs_database=True, drawn=_lost),
        Kind("another's task", drawn=_some, peers=frozenset({"drydock"})),
        Kind("restore", most=0, amid=True, needs_database=True),  # the second half of a lost history
        Kind("dump", most=1, needs_database=True, drawn=_aged),
    )
}


@dataclass(frozen=True)
class NotHere:
    """Why a row of the table cannot be played in one process, in virtual time."""

    why: str


_SERVERS = NotHere("needs two database servers: tests/crash plays it with real ones")
_RELEASES = NotHere("needs the programs of another release: tests/crash plays it with real ones")
_LOST = ("lost history", "restore")

SURVIVED: Mapping[str, tuple[str, ...] | NotHere] = {
    "the database loses its last writes during a deployment, by a fail-over to an asynchronous standby or by a "
    "restored dump": _LOST,
    "the same during `redeploy_server`": _LOST,
    "the same during `redeploy_server` with `mode=rebuild`, and during `service_server`, on Ironic": _LOST,
    "the same without a sign: a base backup or a snapshot is started plainly, the stopped directory is copied back, "
    "the old primary is used again, `pg_restore --clean` into the living database; during `deploy_site`, "
    "`redeploy_server`, `remove_server`, `service_server`": _LOST,
    "the same, and a promoted standby that lagged, under an API and two supervised workers that go on, with Drydock": (
        _LOST  # workers end and are started again here, too; real processes and servers are tests/crash's
    ),
    "a server goes back in time while a worker lives": _LOST,
    "the same during the software stage": _LOST,
    "the same, and Drydock has a task for nodes of a move and for others": ("another's task", *_LOST),
    "Patroni with etcd, asynchronous: three switch-overs, and three kills of a leader whose last writes its standby "
    "never had": _SERVERS,
    "the same, synchronous": _SERVERS,
    "a standby is promoted and the old primary still accepts writes": _SERVERS,
    "a dump is restored into tables that were emptied with `TRUNCATE`": ("dump",),
    "the same under a worker that lives, which the dump names for a job of its time": NotHere(
        "the queue of the torture has no workers of its own: tests/integration plays it with the program's"
    ),
    "a worker that was in the middle of a turn when the history was lost": _LOST,
    "a worker is killed": ("kill",),
    "the API is killed within a request that creates an action": ("api killed", "api answer lost"),
    "the database fails over": ("fail-over",),
    "a host is killed, or cut off from everything, or from the database": ("kill", "api killed", "freeze", "fail-over"),
    "a host is cut off from the provisioner": ("cut off",),
    "a peer accepts connections and does not answer": ("answers",),
    "the host is lost, and an earlier dump is restored on another server while a deployment is under way": _LOST,
    "the same without the keys": NotHere("the keys are a setting of processes: tests/crash starts them without"),
    "the clock of the database's host is set while a site deploys": ("clock set",),
    "the site is upgraded while it deploys: schema first, then both releases beside each other, then the new one; and "
    "back": _RELEASES,
    "the way back meets an action that the newer release has stored in a form of its own": _RELEASES,
    "0.1.0 is stopped during a deployment, and upgraded": _RELEASES,
    "the disk of the database server is full": ("full disk",),
    "the disk of the host of API and worker is full, with its temporary files and logs": NotHere(
        "one process has no disk of its own: tests/crash gives a host a small one"
    ),
}
"""Each row of docs/explanation/what-survives.md, by its first column: the faults that play it, or why none does."""
