"""Pausing, stopping and trying again, and what becomes of work that goes on without us."""

import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise, product
from typing import Any, cast

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.actions import CONTROLLABLE, ENDED, ActionId, ActionName, Control, RunState, StepState
from shipyard_api.domain.error_kinds import Conflict, NotFound
from shipyard_api.domain.errors import InvalidDesign, WorkUnderWay, WrongState
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.version_rule import VersionRule
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.provisioner import Capabilities, Operation
from shipyard_api.ports.state.nodes import Straggler
from shipyard_api.storage import tables
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.stragglers import WatchStragglers
from shipyard_api.workflow.attempts import Again
from shipyard_api.workflow.turn import Engine
from tests.fakes.provisioner import Fate
from tests.refusals import refuses
from tests.world import RULES, SCHEMAS, SETTLE, Checkpoints, KilledError, World

Worlds = Callable[..., World]
ANN = Caller("ann", frozenset({"admin"}), str(uuid.uuid4()))
BEA = Caller("bea", frozenset({"admin"}), str(uuid.uuid4()))


def control(world: World, number: int = 2) -> ControlAction:
    return ControlAction(world.store(), world.definitions(Checkpoints()), lambda: str(number) * 26)


def drive(world: World, worker: Engine, until: Callable[[], bool], looks: int = 400) -> None:
    """Deliver turns, each when it is due, until something is true."""
    for _ in range(looks):
        if until():
            return
        worker.run(world.action)
        _, wait = world.stands()
        world.clock.advance(wait)
    raise AssertionError("it does not come to that")


def submitted(world: World, operation: Operation) -> bool:
    return any(one.work.operation is operation for one in world.provisioner.submissions)


def state(world: World, action: ActionId | None = None) -> RunState:
    with world.store().begin() as tx:
        record = tx.actions.get(action or world.action)
    assert record is not None
    return record.state


def wake_at(world: World) -> datetime | None:
    with world.engine().connect() as connection:
        query = sa.select(tables.actions.c.wake_at).where(tables.actions.c.id == world.action)
        return cast("datetime | None", connection.execute(query).scalar_one())


def stragglers(world: World) -> Sequence[Straggler]:
    with world.store().begin() as tx:
        return tx.stragglers.open()


def journal(world: World, kind: str) -> list[JournalEntry]:
    with world.store().begin() as tx:
        return [entry for entry in tx.journal.entries(world.action) if entry.kind == kind]


def audit(world: World) -> list[tuple[str, str]]:
    with world.store().begin() as tx:
        _, described = tx.actions.described(world.action, ()) or ("", None)
    assert described is not None
    return [(one.command, one.user) for one in described.commands]


def watch(world: World) -> WatchStragglers:
    return WatchStragglers(world.store(), world.provisioner, world.clock.now, 30.0, "watcher")


def create(world: World, rules: DesignRules = RULES, **parameters: object) -> ActionId:
    definitions = world.definitions(Checkpoints())
    made = CreateAction(
        store=world.store(),
        check=world.check(rules),
        definitions=definitions,
        new_id=lambda: "3" * 26,
    )
    return made(ActionRequest(ActionName("deploy_site"), parameters, True), ANN).action.id


def test_a_paused_action_watches_what_runs_and_starts_nothing_until_it_goes_on(worlds: Worlds) -> None:
    world = worlds()
    worker = world.worker()
    drive(world, worker, lambda: submitted(world, Operation.PREPARE_NODES))
    control(world)(world.action, Control.PAUSE, ANN)

    for _ in range(60):
        worker.run(world.action)
        _, wait = world.stands()
        world.clock.advance(wait)

    assert state(world) is RunState.PAUSED
    assert not submitted(world, Operation.DEPLOY_NODES)
    assert [entry.fact.status.value for entry in journal(world, "phase_ended")] == ["partial_success"]
    calls = len(world.provisioner.calls)
    worker.run(world.action)
    assert len(world.provisioner.calls) == calls  # nobody is asked while nothing runs

    control(world)(world.action, Control.UNPAUSE, ANN)
    with world.store().begin() as tx:  # the database's clock runs, the world's stands still
        tx.turns._connection.execute(tables.actions.update().values(wake_at=world.clock.now()))
    world.run(worker)
    assert submitted(world, Operation.DEPLOY_NODES)
    assert audit(world) == [("invoke", "tester"), ("pause", "ann"), ("unpause", "ann")]


def test_the_end_is_the_same_however_often_it_was_paused(worlds: Worlds) -> None:
    calm = worlds()
    calm.run(calm.worker())
    expected = calm.ending()
    world = worlds()
    worker = world.worker()
    for _ in range(400):
        if state(world) in ENDED:
            break
        if state(world) is RunState.RUNNING:
            control(world)(world.action, Control.PAUSE, ANN)
            worker.run(world.action)
            control(world)(world.action, Control.UNPAUSE, ANN)
            with world.store().begin() as tx:
                tx.turns._connection.execute(tables.actions.update().values(wake_at=world.clock.now()))
        worker.run(world.action)
        world.clock.advance(max(world.stands()[1], 5.0))

    assert world.ending() == expected


def test_a_stop_before_anything_was_done_leaves_nothing_behind(worlds: Worlds) -> None:
    world = worlds()
    worker = world.worker(attempts=1)
    worker.turn(world.action)
    control(world)(world.action, Control.STOP, ANN)

    world.run(worker)

    assert (world.provisioner.submissions, list(stragglers(world))) == ([], [])
    assert state(world) is RunState.FAILED


def test_a_stop_is_neither_taken_back_by_a_pause_nor_accepted_twice(worlds: Worlds) -> None:
    world = worlds()
    worker = world.worker()
    drive(world, worker, lambda: submitted(world, Operation.PREPARE_NODES))
    sent = len(world.provisioner.submissions)
    control(world)(world.action, Control.STOP, ANN)

    for verb in (Control.PAUSE, Control.STOP):
        with refuses(WrongState) as refused:
            control(world)(world.action, verb, BEA)
        assert refused.value.data == {"control": verb, "needed": "running", "actual": "being stopped"}
    assert audit(world) == [("invoke", "tester"), ("stop", "ann")]
    with world.store().begin() as tx:  # as a turn that was under way meanwhile leaves it
        far = world.clock.now().replace(year=2030)
        tx.turns._connection.execute(tables.actions.update().values(wake_at=far))
    world.run(worker)

    # It ends at once, although the action wanted to sleep, and its running work is left behind.
    ending = world.ending()
    assert state(world) is RunState.FAILED
    assert dict(ending[1])["drydock_build.prepare_and_deploy_nodes"].value == "failed"
    assert len(world.provisioner.submissions) == sent
    groups = {name: (status, reason) for name, status, reason, _ in ending[2]}
    assert groups["first"] == ("failed", "stopped")
    assert groups["second"] == ("not_started", None)
    (left,) = stragglers(world)
    assert (left.work.operation, left.why) == (Operation.PREPARE_NODES, "stopped by ann")
    assert left.work.nodes == ("n0", "n1", "n2", "n3")


def test_of_stops_and_pauses_at_the_same_time_one_stop_is_accepted_and_no_pause_after_it(worlds: Worlds) -> None:
    world = worlds()
    engine = connect(world.url, pool_size=8)
    act = ControlAction(Store(engine, ProcrastinateWakeup()), {}, lambda: "")
    for _ in range(15):
        with engine.begin() as connection:
            connection.execute(tables.command_audit.delete())
            connection.execute(tables.actions.update().values(state="running", stopped_by=None))
        start = threading.Barrier(8)

        def ask(verb: Control, start: threading.Barrier = start) -> Control | None:
            start.wait()
            try:
                act(world.action, verb, ANN)
            except Conflict:
                return None
            return verb

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(ask, [Control.STOP, Control.PAUSE] * 4))

        accepted = [command for command, _ in audit(world)]
        assert accepted in (["stop"], ["pause", "stop"])
        assert sorted(verb.value for verb in answers if verb) == accepted
    engine.dispose()


def test_a_stop_does_not_wait_for_the_answer_of_a_peer(worlds: Worlds) -> None:
    world = worlds()
    drive(world, world.worker(), lambda: submitted(world, Operation.PREPARE_NODES))

    def stop() -> None:
        """While the provisioner has not answered: the queue delivers another turn beside the one that waits."""
        control(world)(world.action, Control.STOP, ANN)
        with world.engine().connect() as connection:
            jobs = sa.text("SELECT lock FROM procrastinate_jobs WHERE status = 'todo' ORDER BY id DESC LIMIT 1")
            assert connection.execute(jobs).scalar_one() is None
        world.run(world.worker())
        assert state(world) is RunState.FAILED

    points = Checkpoints(2, stop)
    world.worker(points).run(world.action)

    assert points.names[2] == "before reports"
    assert [straggler.why for straggler in stragglers(world)] == ["stopped by ann"]
    assert state(world) is RunState.FAILED


def test_whenever_a_stop_is_accepted_the_action_ends_as_failed(worlds: Worlds) -> None:
    """At every third point at which no transaction of the turn is open; a pause follows every stop, if it can."""
    points = Checkpoints()
    first = worlds(name=ActionName("update_software"))
    first.run(first.worker(points))
    open_at = [number for number, name in enumerate(points.names) if name != "before commit"]
    ended = []
    sample = sorted({*open_at[::3], *open_at[-2:]})
    for chosen in sample:
        world = worlds(name=ActionName("update_software"))

        def stop(world: World = world) -> None:
            for verb in (Control.STOP, Control.PAUSE):
                with suppress(Conflict):
                    control(world)(world.action, verb, ANN)

        world.run(world.worker(Checkpoints(chosen, stop)))
        commands = [command for command, _ in audit(world)]
        assert commands in (["invoke"], ["invoke", "stop"])
        assert state(world) is (RunState.FAILED if "stop" in commands else RunState.SUCCESS), chosen
        ended.append(state(world))

    assert ended.count(RunState.FAILED) == len(sample) - 1  # the last one is when it has ended


def test_a_paused_action_can_be_stopped(worlds: Worlds) -> None:
    world = worlds()
    worker = world.worker()
    drive(world, worker, lambda: submitted(world, Operation.PREPARE_NODES))
    control(world)(world.action, Control.PAUSE, ANN)

    control(world)(world.action, Control.STOP, BEA)

    world.run(worker)
    assert state(world) is RunState.FAILED
    assert audit(world) == [("invoke", "tester"), ("pause", "ann"), ("stop", "bea")]
    (left,) = stragglers(world)
    assert left.why == "stopped by bea"


def test_what_was_stopped_and_is_paused_all_the_same_comes_to_its_end(worlds: Worlds) -> None:
    """As a release left it that let a pause follow a stop; unpaused or not."""
    world = worlds()
    worker = world.worker()
    drive(world, worker, lambda: submitted(world, Operation.PREPARE_NODES))
    with world.store().begin() as tx:
        tx.turns._connection.execute(tables.actions.update().values(state="paused", stopped_by="ann"))
    then = world.moment()
    for unpaused in (True, False):
        world = world.at(then)
        if unpaused:
            control(world)(world.action, Control.UNPAUSE, ANN)

        world.run(world.worker())

        assert state(world) is RunState.FAILED
        assert dict(world.ending()[1])["create_action_tag"].value == "success"


def send(act: ControlAction, verb: Control, action: str) -> None:
    match verb:
        case Control.RETRY:
            act.retry(action, ANN, force=False)
        case Control.ACKNOWLEDGE:
            act.acknowledge(action, ANN, "")
        case _:
            act(action, verb, ANN)


def test_what_a_state_does_not_allow_is_refused_and_changes_nothing(worlds: Worlds) -> None:
    """One action serves for all refusals, as none of them changes it; what is allowed is played above."""
    world = worlds()
    for verb, stands in product(Control, RunState):
        if stands in CONTROLLABLE[verb]:
            continue
        ended = world.clock.now() if stands in ENDED else None
        with world.store().begin() as tx:
            tx.turns._connection.execute(tables.actions.update().values(state=stands.value, ended_at=ended))
        with refuses(WrongState) as refused:
            send(control(world), verb, world.action)
        assert refused.value.data == {"control": verb, "needed": CONTROLLABLE[verb][0].value, "actual": stands.value}
        assert audit(world) == [("invoke", "tester")]
    for verb in Control:
        with pytest.raises(NotFound):
            send(control(world), verb, "9" * 26)


def test_a_phase_that_timed_out_leaves_its_work_behind_and_it_is_watched_to_its_end(worlds: Worlds) -> None:
    world = worlds()
    world.run(world.worker())
    (left,) = stragglers(world)
    assert (left.work.operation, left.work.nodes) == (Operation.DEPLOY_NODES, ("n4",))  # n5 is done with it
    before, then = world.ending(), world.moment()

    assert watch(world)() == 0  # n4 still hangs
    assert watch(world)() == 0  # and nobody looks before it is due
    looks = world.provisioner.calls.count("report")
    assert watch(world)() == 0
    assert world.provisioner.calls.count("report") == looks
    world.provisioner.fates = {}
    world.provisioner.break_next("report")
    world.clock.advance(31)
    assert watch(world)() == 0  # no answer: it is asked again later
    world.clock.advance(31)
    assert [watch(world)(), watch(world)()] == [1, 0]  # two watchers do not look at the same work

    assert list(stragglers(world)) == []
    (late,) = journal(world, "late")
    assert (late.fact.succeeded, late.fact.job) == (("n4",), left.job)
    assert world.ending() == before  # late is late: nothing of the verdict changes

    # Work that can be stopped is asked to stop.
    world = world.at(then)
    world.provisioner.capabilities = Capabilities(selects=True, aborts=True)
    assert watch(world)() == 1
    (late,) = journal(world, "late")
    assert late.fact.failed == ("n4",)


def test_the_next_action_does_not_start_on_a_node_that_is_still_worked_on(worlds: Worlds) -> None:
    world = worlds()
    world.run(world.worker())
    (left,) = stragglers(world)
    then = world.moment()

    with refuses(WorkUnderWay) as refused:
        create(world)

    work = {"operation": "deploy_nodes", "nodes": ["n4"], "job": left.job, "action": world.action}
    assert work.items() <= refused.value.data.items()
    assert create(world, force="true") == "3" * 26

    world = world.at(then)
    world.commit_again(strategy_of=["n0", "n1"])  # work on other nodes is in nobody's way
    assert create(world) == "3" * 26

    # A failed check of the documents refuses an action unless it is to continue.
    world = world.at(then)
    world.provisioner.fates = {}
    watch(world)()
    strict = DesignRules(SCHEMAS.check, VersionRule(Level.ERROR))
    with refuses(InvalidDesign) as invalid:
        create(world, strict)
    assert [finding.level for finding in invalid.value.findings if finding.level is Level.ERROR] == [Level.ERROR]
    assert create(world, strict, **{"continue-on-fail": "TRUE"}) == "3" * 26


def test_trying_again_keeps_what_is_deployed_and_tries_the_rest(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.fates = {NodeName(f"n{number}"): Fate.FAILS_DEPLOY for number in (0, 1, 2)}
    world.run(world.worker())
    assert state(world) is RunState.FAILED
    with world.store().begin() as tx:
        kept = set(tx.actions.deployed(world.action))
    assert kept == {"n3"}
    before = len(world.provisioner.submissions)
    old = world.action
    world.provisioner.fates = {}

    again = control(world).retry(old, ANN, force=False)
    world.action = again.id
    with world.store().begin() as tx:
        tx.turns._connection.execute(
            tables.actions.update().where(tables.actions.c.id == again.id).values(wake_at=world.clock.now())
        )
    for _ in range(400):
        world.worker().run(world.action)
        if state(world) in ENDED:
            break
        world.clock.advance(world.stands()[1])

    assert state(world) is RunState.SUCCESS
    sent = {name for one in world.provisioner.submissions[before:] for name in one.work.nodes or ()}
    assert sent == {f"n{number}" for number in range(6)} - kept
    with world.store().begin() as tx:
        nodes = tx.actions.nodes(world.action, status=(), group=(), after="", limit=99)
    assert {node.name for node in nodes if node.status.value == "success"} == {f"n{number}" for number in range(6)}
    assert {node.name for node in nodes if f"retry of {old}" in node.detail} == kept
    assert again.revision == 1


def test_trying_a_retry_again_that_did_not_come_far_keeps_the_nodes_of_the_first(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.fates = {NodeName(f"n{number}"): Fate.FAILS_DEPLOY for number in (0, 1, 2)}
    world.run(world.worker())
    world.provisioner.fates = {}

    def tried_again(number: int) -> None:
        world.action = control(world, number).retry(world.action, ANN, force=False).id
        with world.store().begin() as tx:
            tx.turns._connection.execute(tables.actions.update().values(wake_at=world.clock.now()))
        world.run(world.worker())

    world.provisioner.fail_next("check_health", Refused("Fake", "check_health", "the database is gone"))
    tried_again(4)
    assert state(world) is RunState.FAILED
    sent = len(world.provisioner.submissions)
    tried_again(5)

    assert state(world) is RunState.SUCCESS
    again = {name for one in world.provisioner.submissions[sent:] for name in one.work.nodes or ()}
    assert again == {"n0", "n1", "n2", "n4", "n5"}


def test_work_on_nodes_that_are_kept_is_in_no_retrys_way(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.fates = {NodeName("n0"): Fate.HANGS_PREPARE}
    world.run(world.worker())
    (left,) = stragglers(world)

    def deployed(nodes: Sequence[NodeName]) -> None:
        with world.store().begin() as tx:
            held = tables.action_nodes.c.name.in_(nodes)
            tx.turns._connection.execute(tables.action_nodes.update().where(held).values(status="success", reason=None))

    assert state(world) is RunState.FAILED
    assert left.work.nodes
    deployed(left.work.nodes[1:])
    with refuses(WorkUnderWay, match="n0"):
        control(world).retry(world.action, ANN, force=False)
    then = world.moment()
    assert control(world).retry(world.action, ANN, force=True).state is RunState.QUEUED
    world = world.at(then)
    deployed(left.work.nodes)
    assert control(world).retry(world.action, ANN, force=False).state is RunState.QUEUED


# --- Stops beside work on the whole site ----------------------------------------------------------------------------


def test_a_stop_while_the_site_is_prepared_leaves_that_behind(worlds: Worlds) -> None:
    world = worlds()
    worker = world.worker(attempts=1)
    drive(world, worker, lambda: submitted(world, Operation.PREPARE_SITE))
    control(world)(world.action, Control.STOP, ANN)
    world.run(worker)

    (left,) = stragglers(world)
    assert (left.work.operation, left.job) == (Operation.PREPARE_SITE, world.provisioner.submissions[-1].job)


def test_a_preparation_of_the_site_that_is_out_of_time_is_left_behind(worlds: Worlds) -> None:
    world = worlds()
    worker = world.worker()
    drive(world, worker, lambda: submitted(world, Operation.PREPARE_SITE))
    world.provisioner.running_reports = 10**6
    world.run(worker)

    (left,) = stragglers(world)
    assert (state(world), left.work.operation) == (RunState.FAILED, Operation.PREPARE_SITE)
    assert left.why.startswith("limit ")


def test_what_was_submitted_by_a_worker_that_died_is_left_behind_by_a_stop(worlds: Worlds) -> None:
    world = worlds()

    class Killed(Checkpoints):
        def passed(self, name: str) -> None:
            if name == "after submit":
                raise KilledError

    with pytest.raises(KilledError):
        drive(world, world.worker(Killed()), lambda: False)
    control(world)(world.action, Control.STOP, ANN)
    world.run(world.worker())

    assert state(world) is RunState.FAILED
    assert [one.job for one in stragglers(world)] == [one.job for one in world.provisioner.submissions]


# --- Pauses between steps, and turns that break ---------------------------------------------------------------------


def test_paused_before_a_step_has_begun_it_rests_and_goes_on_from_there(worlds: Worlds) -> None:
    world = worlds(name=ActionName("update_software"))
    worker = world.worker()

    def between() -> bool:
        with world.store().begin() as tx:
            states = [step.state for step in tx.actions.steps([world.action])[world.action]]
        return StepState.SUCCESS in states and StepState.RUNNING not in states

    while not between():
        worker.turn(world.action)
    control(world)(world.action, Control.PAUSE, ANN)
    begun = len(journal(world, "step_started"))
    for _ in range(3):
        assert worker.turn(world.action) is Again.LATER
        assert wake_at(world) is None
    assert len(journal(world, "step_started")) == begun

    control(world)(world.action, Control.UNPAUSE, ANN)
    with world.store().begin() as tx:
        tx.turns._connection.execute(tables.actions.update().values(wake_at=world.clock.now()))
    world.run(worker)
    assert state(world) is RunState.SUCCESS


@pytest.mark.parametrize("times", [4, 5])
def test_a_step_fails_at_the_fifth_turn_in_a_row_that_breaks(worlds: Worlds, times: int) -> None:
    world = worlds()
    worker = world.worker()
    drive(world, worker, lambda: submitted(world, Operation.VERIFY_SITE))
    left, moments, report = [times], list[datetime](), world.provisioner.report

    def bug(*given: Any) -> Any:
        if left[0]:
            left[0] -= 1
            moments.append(world.clock.now())
            raise ZeroDivisionError
        return report(*given)

    world.provisioner.report = bug  # type: ignore[method-assign]  # a bug of ours, as far as the engine can know
    world.run(worker)

    assert left == [0]
    verified = dict(world.ending()[1])["drydock_build.verify_site"].value
    assert verified == ("failed" if times == 5 else "success")
    assert [entry.fact.in_a_row for entry in journal(world, "broke")] == list(range(1, times + 1))
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    assert gaps == [timedelta(seconds=SETTLE * number) for number in range(1, times)]
