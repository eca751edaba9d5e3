"""Several groups and nodes in flight through the engine, and nodes that join a cluster (product, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.actions.site_steps import PREPARE_AND_DEPLOY_NODES
from shipyard_api.actions.steps.submissions import AFTER_REFUSAL
from shipyard_api.domain.actions import ActionName, Control
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.notes import notes
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.state.nodes import Straggler
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.callers import Caller
from tests.factories import group_entry
from tests.fakes.cluster import FakeCluster
from tests.fakes.provisioner import Breakage
from tests.world import Checkpoints, World

Worlds = Callable[..., World]
NODES = [NodeName(f"n{number}") for number in range(6)]
THREE = [
    group_entry(name, selectors=[{"node_names": held}])
    for name, held in (("a", ["n0", "n2"]), ("b", ["n3"]), ("c", ["n5"]))
]


def submissions(world: World) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (one.work.operation.value.removesuffix("_nodes"), one.work.nodes)
        for one in world.provisioner.submissions
        if one.work.nodes is not None
    ]


def statuses(world: World) -> dict[str, tuple[str, str | None]]:
    return {name: (status.value, reason) for name, status, reason, _group in world.ending()[3]}


def groups(world: World) -> dict[str, tuple[str, str | None]]:
    return {name: (status, reason) for name, status, reason, _phases in world.ending()[2]}


def journal(world: World, *kinds: str) -> Sequence[JournalEntry]:
    with world.store().begin() as tx:
        return tx.journal.entries(world.action, kinds)


def stragglers(world: World) -> Sequence[Straggler]:
    with world.store().begin() as tx:
        return tx.stragglers.open()


def control(world: World, verb: Control) -> None:
    ControlAction(world.store(), world.definitions(Checkpoints()), lambda: "9" * 26)(
        world.action, verb, Caller("tester", frozenset({"admin"}), "m")
    )


def steps(world: World, until: Callable[[], bool]) -> None:
    """Run turns until something is so."""
    worker = world.worker(attempts=1)
    for _ in range(200):
        if until():
            return
        worker.turn(world.action)
        world.clock.advance(world.stands()[1])
    raise AssertionError("it never comes to that")


# --- Parallel groups --------------------------------------------------------------------------------------------------


def test_groups_run_at_the_same_time_and_are_asked_about_together(worlds: Worlds) -> None:
    world = worlds(groups=THREE, configuration={"max_parallel_groups": 2})
    world.run(world.worker())

    assert submissions(world) == [
        ("prepare", ("n0", "n2")),
        ("prepare", ("n3",)),
        ("deploy", ("n0", "n2")),
        ("deploy", ("n3",)),
        ("prepare", ("n5",)),
        ("deploy", ("n5",)),
    ]
    assert set(groups(world).values()) == {("success", None)}
    asked_alone = worlds(groups=THREE)
    asked_alone.run(asked_alone.worker())
    assert world.provisioner.calls.count("report") < asked_alone.provisioner.calls.count("report")
    # The default is one group after another.
    assert [nodes for _, nodes in submissions(asked_alone)] == [
        ("n0", "n2"), ("n0", "n2"), ("n3",), ("n3",), ("n5",), ("n5",),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", [{}, {"max_parallel_groups": 3, "deploy_as_prepared": True}], ids=["serial", "all"])
def test_looks_that_tell_nothing_new_write_nothing_but_when_to_look_again(worlds: Worlds, mode: dict[str, Any]) -> None:
    world = worlds(groups=THREE, configuration=mode)
    steps(world, lambda: bool(submissions(world)))
    world.provisioner.running_reports = 50
    worker = world.worker()

    def look(times: int) -> None:
        for _ in range(times):
            worker.run(world.action)
            world.clock.advance(world.stands()[1])

    def versions() -> list[tuple[str, str]]:
        with world.engine().connect() as connection:
            versions = sa.text("SELECT id, xmin::text FROM steps UNION ALL SELECT count(*)::text, '' FROM journal")
            return [(row[0], row[1]) for row in connection.execute(versions)]

    look(3)  # until it is known since when the work runs
    before, looks = versions(), world.provisioner.calls.count("report")
    look(20)
    assert world.provisioner.calls.count("report") == looks + 20
    assert versions() == before


def test_a_group_that_has_nothing_to_send_needs_no_provisioner(worlds: Worlds) -> None:
    selected = {"a": [{"node_names": ["n0"]}], "away": [{"node_names": ["n0"]}], "empty": [{"node_tags": ["nobody"]}]}
    groups_of = [group_entry(name, selectors=selectors) for name, selectors in selected.items()]
    world = worlds(groups=groups_of, configuration={"max_parallel_groups": 3})
    world.run(world.worker())

    assert submissions(world) == [("prepare", ("n0",)), ("deploy", ("n0",))]
    assert groups(world) == dict.fromkeys(selected, ("success", None))


def test_a_phase_tells_when_it_was_handed_over_when_the_work_began_and_when_it_ended(worlds: Worlds) -> None:
    world = worlds(groups=THREE[:1], configuration={"deploy_timeout": 600})
    world.provisioner.running_reports = 3  # queued, running twice, ended; a look every 30 s
    world.run(world.worker())

    with world.store().begin() as tx:
        (group,) = tx.actions.groups(world.action, status=(), group=(), after=-1, limit=9)
    for phase in group.phases:
        assert phase.running_at is not None
        assert phase.ended_at is not None
        assert (phase.running_at - phase.submitted_at).total_seconds() == 30
        assert (phase.ended_at - phase.running_at).total_seconds() == 60
    assert [entry.fact.phase.value for entry in journal(world, "phase_running")] == ["prepare", "deploy"]
    # What the action waits for is one line for each change, however often it is polled.
    waits = [entry.fact.what for entry in journal(world, "waiting") if entry.step == PREPARE_AND_DEPLOY_NODES]
    states = ("", ", queued", ", running")
    assert waits == [
        "the nodes of the groups",
        *(f"{phase} of group a{state}" for phase in ("prepare", "deploy") for state in states),
    ]


def test_a_provisioner_that_is_silent_after_a_submission_is_shown_and_bounded(worlds: Worlds) -> None:
    world = worlds(groups=THREE[:1], configuration={"prepare_node_timeout": 600})
    steps(world, lambda: bool(submissions(world)))
    submitted = world.provisioner.submissions[-1]
    world.provisioner.mute.add(submitted.job)
    looks = world.provisioner.calls.count("report")
    steps(world, lambda: world.provisioner.calls.count("report") >= looks + 3)

    with world.store().begin() as tx:
        action = tx.actions.get(world.action)
    assert action is not None
    waiting = action.waiting_for
    assert waiting is not None
    assert (waiting.who, waiting.what) == ("Fake", "prepare of group a")
    assert waiting.answered_at is not None  # about the work before this
    assert waiting.answered_at <= waiting.since
    assert "nobody answers for it" in waiting.last_answer
    assert waiting.next_attempt is not None
    assert waiting.deadline is not None
    assert 0 <= (waiting.deadline - waiting.since).total_seconds() - 600 < 30

    world.run(world.worker())
    with world.store().begin() as tx:
        (failed,) = tx.actions.groups(world.action, status=(), group=(), after=-1, limit=9)
    assert (failed.status, failed.reason) == ("failed", "timeout")
    assert "the provisioner has not answered for 600 s since the submission; last answer: Fake report" in failed.detail


# --- Streaming --------------------------------------------------------------------------------------------------------


def test_nodes_are_deployed_as_they_are_prepared_and_each_batch_is_kept(worlds: Worlds) -> None:
    one = [group_entry("all", selectors=[{"node_names": ["n0", "n2", "n3"]}])]
    world = worlds(groups=one, configuration={"deploy_as_prepared": True}, early=("n2",))
    world.run(world.worker())

    assert submissions(world) == [("prepare", ("n0", "n2", "n3")), ("deploy", ("n2",)), ("deploy", ("n0", "n3"))]
    (_name, status, _reason, phases) = world.ending()[2][0]
    assert (status, phases) == (
        "success",
        [("prepare", 1, "success"), ("deploy", 1, "success"), ("deploy", 2, "success")],
    )


def test_no_more_nodes_are_handed_over_than_allowed(worlds: Worlds) -> None:
    """JSON Schema counts 2.0 as an integer, so a design with such a bound is committed."""
    one = [group_entry("all", selectors=[{"node_names": ["n0", "n2", "n3"]}])]
    world = worlds(groups=one, configuration={"max_nodes_in_flight": 2.0, "max_parallel_groups": 2.0})
    world.run(world.worker())

    assert submissions(world) == [
        ("prepare", ("n0", "n2")),
        ("prepare", ("n3",)),
        ("deploy", ("n0", "n2")),
        ("deploy", ("n3",)),
    ]


def test_criteria_judge_a_timeout_where_the_site_says_so(worlds: Worlds) -> None:
    world = worlds(configuration={"on_timeout": "judge_criteria"})
    world.run(world.worker())

    assert groups(world)["second"] == ("success", None)
    assert statuses(world)["n4"] == ("failure", "timeout")


# --- Control while several jobs run -----------------------------------------------------------------------------------


def test_while_it_is_paused_what_runs_is_watched_and_nothing_new_begins(worlds: Worlds) -> None:
    world = worlds(groups=THREE, configuration={"max_parallel_groups": 2})
    steps(world, lambda: len(submissions(world)) == 2)
    control(world, Control.PAUSE)
    looks = world.provisioner.calls.count("report")

    worker = world.worker()
    for _ in range(10):
        worker.run(world.action)
        ended, wait = world.stands()
        assert not ended
        world.clock.advance(max(wait, 1.0))

    assert len(submissions(world)) == 2
    assert world.provisioner.calls.count("report") > looks
    assert {entry.fact.group for entry in journal(world, "phase_ended")} == {"a", "b"}
    control(world, Control.UNPAUSE)
    world.run(worker)
    assert set(groups(world).values()) == {("success", None)}


def test_a_stop_leaves_every_job_to_be_watched_and_tells_how_all_stands(worlds: Worlds) -> None:
    world = worlds(groups=THREE, configuration={"max_parallel_groups": 2})
    steps(world, lambda: len(submissions(world)) == 2)
    control(world, Control.STOP)
    world.run(world.worker())

    assert {one.job for one in stragglers(world)} == {one.job for one in world.provisioner.submissions[-2:]}
    assert groups(world) == {"a": ("failed", "stopped"), "b": ("failed", "stopped"), "c": ("not_started", None)}
    told = statuses(world)
    assert {told[node] for node in ("n0", "n2", "n3")} == {("failure", "prepare")}
    assert told["n5"] == ("not_started", None)
    (ended,) = journal(world, "rollout_ended")
    assert ended.fact.to_json()["groups"] == {"failed": ("a", "b"), "not_started": ("c",)}


def test_a_refused_group_fails_alone_and_says_why_everywhere(worlds: Worlds) -> None:
    world = worlds(groups=[THREE[0] | {"critical": False}, *THREE[1:]])
    steps(world, lambda: len(world.provisioner.submissions) == 2)  # verify_site and prepare_site
    world.provisioner.fail_next("submit", Refused("Fake", "submit", "n2 is too long"))
    world.run(world.worker())

    assert world.ending()[0].value == "success"
    assert groups(world) == {"a": ("failed", "refused"), "b": ("success", None), "c": ("success", None)}
    assert statuses(world)["n2"] == ("not_started", "refused")
    why = f"prepare was refused: Fake submit: n2 is too long. {AFTER_REFUSAL}"
    with world.store().begin() as tx:
        (group, *_) = tx.actions.groups(world.action, status=(), group=(), after=-1, limit=1)
        (node, *_) = tx.actions.nodes(world.action, status=(), group=("a",), after="", limit=1)
        noted = notes(world.action, ActionName("deploy_site"), tx.journal.entries(world.action), 1)
    assert (group.detail, node.detail) == (why, why)
    assert f"group a: {why}" in [note.text for note in noted]


# --- Joining ----------------------------------------------------------------------------------------------------------


def joining(**members: bool) -> FakeCluster:
    cluster = FakeCluster()
    for node, ready in members.items():
        cluster.join(NodeName(node), ready=ready, why="" if ready else "KubeletNotReady: no network plugin")
    return cluster


def test_a_deployed_node_counts_once_it_is_ready_and_is_not_looked_at_before_join_wait(worlds: Worlds) -> None:
    cluster = joining(n0=True, n2=True, n3=True, n5=True)
    world = worlds(groups=THREE, cluster=cluster)
    asked: list[float] = []
    real = cluster.readiness

    def timed(nodes: Any) -> Any:
        asked.append(world.clock.seconds)
        return real(nodes)

    cluster.readiness = timed  # type: ignore[method-assign]  # only the time is noted
    world.run(world.worker())

    assert set(statuses(world).values()) == {("success", None)}
    awaited = journal(world, "join_awaited")
    assert [entry.fact.nodes for entry in awaited] == [("n0", "n2"), ("n3",), ("n5",)]
    began = (awaited[0].at - world.clock.at).total_seconds() + world.clock.seconds
    assert asked[0] == pytest.approx(began + 120)


def test_nodes_that_join_late_but_in_time_count_also_where_the_cluster_does_not_answer_at_first(worlds: Worlds) -> None:
    cluster = joining()
    cluster.fail_next(times=5)
    world = worlds(groups=THREE[:1], cluster=cluster)
    steps(world, lambda: bool(cluster.asked))
    cluster.join(NodeName("n0"))
    steps(world, lambda: statuses(world)["n0"][0] == "success")
    assert groups(world)["a"] == ("deploying", None)
    cluster.join(NodeName("n2"))
    world.run(world.worker())

    assert groups(world)["a"] == ("success", None)
    assert cluster.asked[-1] == {"n2"}


def test_a_site_that_does_not_want_it_joins_nothing(worlds: Worlds) -> None:
    cluster = joining()
    world = worlds(groups=THREE, cluster=cluster, kubernetes={"join": False})
    world.run(world.worker())

    assert set(groups(world).values()) == {("success", None)}
    assert cluster.asked == []


def test_an_interrupted_submission_beside_running_jobs_is_found_again(worlds: Worlds) -> None:
    world = worlds(groups=THREE, configuration={"max_parallel_groups": 3})
    steps(world, lambda: len(submissions(world)) == 1)
    world.provisioner.break_next("submit", Breakage.AFTER_EFFECT)
    world.run(world.worker())

    assert sorted(submissions(world)) == sorted(
        (phase, nodes) for phase in ("prepare", "deploy") for nodes in (("n0", "n2"), ("n3",), ("n5",))
    )
    assert set(groups(world).values()) == {("success", None)}
