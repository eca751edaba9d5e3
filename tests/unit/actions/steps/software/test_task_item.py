"""The work item of one task on some nodes: what each report of a node means."""

from typing import Any

import pytest
from msgspec.structs import replace

from shipyard_api.actions.steps.software.state import TaskOnNodes, TaskState
from shipyard_api.actions.steps.software.task_item import SILENCE_SECONDS, LookAtTask, StartTask, TaskItem
from shipyard_api.domain.facts.software import NodeResult, TaskChanged, TaskStatus
from shipyard_api.domain.facts.steps import Waiting
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.windows import ServerWindows
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Host, RemoteResult, RemoteState
from shipyard_api.workflow.step import Act, Done, Failed, Look, PeerFailure
from tests.unit.actions.steps.instants import at
from tests.unit.tables import every_row

A, B = NodeName("a"), NodeName("b")
HOSTS = (Host(A, "10.0.0.1"), Host(B, "10.0.0.2"))
WORK = TaskOnNodes(TaskId("t"), {"id": "t", "type": "shell", "parameters": {"cmd": "true"}}, "01A.0.0.0.0", HOSTS)
NEW = TaskState(WORK, (A, B))
RUNNING = TaskState(WORK, (), (A, B), began=at(0))
ITEM = TaskItem(None)
START, LOOK = StartTask(WORK, HOSTS), LookAtTask(WORK, HOSTS)


def results(**states: str) -> dict[NodeName, RemoteResult]:
    return {NodeName(node): RemoteResult(RemoteState(state)) for node, state in states.items()}


# State, question, report of the nodes; then which nodes wait and run, and why nodes have failed.
MEANING: dict[str, tuple[TaskState, Any, dict[NodeName, RemoteResult], tuple[Any, Any, dict[str, str]]]] = {
    "begun": (NEW, START, results(a="running", b="running"), ((), (A, B), {})),
    "not there yet": (NEW, START, results(a="unreachable", b="running"), ((A,), (B,), {})),
    "not let in": (
        NEW,
        START,
        results(a="refused", b="running"),
        ((), (B,), {"a": "the node did not let Shipyard in"}),
    ),
    "silent for a while": (RUNNING, LOOK, results(a="unreachable", b="running"), ((), (A, B), {})),
    "forgotten": (
        RUNNING,
        LOOK,
        results(a="unknown"),
        ((), (B,), {"a": "the node does not know the task any more: it may have been installed again"}),
    ),
    "too long": (RUNNING, LOOK, results(a="timed_out"), ((), (B,), {"a": "it took longer than its timeout"})),
    "killed": (
        RUNNING,
        LOOK,
        results(a="lost"),
        ((), (B,), {"a": "it was ended from outside, by a reboot for example"}),
    ),
    "a failure with a code": (
        RUNNING,
        LOOK,
        {A: RemoteResult(RemoteState.FAILED, 7, 3, 1.5, "the end", 7)},
        ((), (B,), {"a": "exit 7"}),
    ),
    "of a node that has ended": (replace(RUNNING, running=(B,)), LOOK, results(a="failed", b="success"), ((), (), {})),
}


@every_row(MEANING)
def test_what_a_report_means(state: TaskState, asked: Any, report: Any, expected: Any) -> None:
    after = ITEM.fold(state, asked, report, at(5)).state

    assert (after.waiting, after.running, dict(after.failed)) == expected


def test_a_node_has_failed_when_it_has_been_silent_for_too_long() -> None:
    first = ITEM.fold(RUNNING, LOOK, results(a="unreachable", b="unreachable"), at(5)).state
    answered = ITEM.fold(first, LOOK, results(a="unreachable", b="running"), at(10)).state

    late = ITEM.fold(answered, LOOK, results(a="unreachable", b="unreachable"), at(5 + SILENCE_SECONDS))

    assert (late.state.running, set(late.state.failed)) == ((B,), {A})
    fact, waiting = late.facts
    assert isinstance(waiting, Waiting)
    assert [(one.node, one.status) for one in fact.results] == [(A, TaskStatus.FAILED)]  # type: ignore[attr-defined]


def test_a_node_that_does_not_take_a_command_has_failed_soon_and_one_that_has_begun_it_has_not() -> None:
    command = replace(WORK, connect_timeout=10)
    start = ITEM.decide(TaskState(command, (A,), (B,)), at(3))
    effect = StartTask.from_json(start.effect.to_json())
    silent = {A: RemoteResult(RemoteState.UNREACHABLE, detail="refused"), **results(b="unreachable")}

    first = ITEM.fold(TaskState(command, (A,), (B,)), effect, silent, at(12))
    late = ITEM.fold(TaskState.from_json(first.state.to_json()), effect, silent, at(13))

    assert (effect, effect.asked) == (start.effect, at(3))
    assert (first.state.waiting, first.state.running, dict(first.state.failed)) == ((A,), (B,), {})
    assert [fact.deadline for fact in first.facts if isinstance(fact, Waiting)] == [at(13).isoformat()]
    assert first.awaited.deadline == at(13)
    assert (late.state.running, late.state.waiting) == ((B,), ())
    assert dict(late.state.failed) == {A: "it did not answer within 10 s: refused"}


def test_which_nodes_do_not_answer_is_said_at_the_first_look_and_once() -> None:
    away = {A: RemoteResult(RemoteState.UNREACHABLE, detail="Connection refused"), **results(b="running")}
    until = at(5 + SILENCE_SECONDS).isoformat()

    first = ITEM.fold(RUNNING, LOOK, away, at(5))
    again = ITEM.fold(first.state, LOOK, away, at(10))
    back = ITEM.fold(again.state, LOOK, results(a="running", b="unreachable"), at(15))
    part = SPLITTING.begin(replace(WORK, hosts=HOSTS[:1], before=first.state.part((A,))).to_json())

    assert first.facts == (Waiting("SSH", "t on 1 node(s): a: Connection refused", until),)
    assert again.facts == ()
    waits = Awaited("SSH", "t on 1 node(s): a", "a: Connection refused", deadline=at(5 + SILENCE_SECONDS))
    assert (first.awaited, again.awaited) == (waits, waits)
    assert ITEM.fold(again.state, LOOK, results(a="running", b="running"), at(15)).awaited is None
    assert [fact.what for fact in back.facts if isinstance(fact, Waiting)] == ["t on 1 node(s): b: it does not answer"]
    assert SPLITTING.fold(part, LOOK, {A: away[A]}, at(10)).facts == ()

    none = ITEM.fold(NEW, START, PeerFailure("no route", refused=False), at(5))
    assert [fact.what for fact in none.facts if isinstance(fact, Waiting)] == [
        "t on 2 node(s): a: no route; b: no route"
    ]


def test_a_node_that_a_task_reboots_may_be_away_and_let_nobody_in_for_the_time_of_the_task() -> None:
    document = {"id": "t", "type": "reboot", "parameters": {"timeout": 900}}
    reboot = replace(RUNNING, work=replace(WORK, document=document))
    first = ITEM.fold(reboot, LOOK, results(a="unreachable", b="refused"), at(5)).state
    later = ITEM.fold(first, LOOK, results(a="unreachable", b="refused"), at(904)).state
    assert (later.running, dict(later.failed)) == ((A, B), {})
    done = ITEM.fold(later, LOOK, results(a="success", b="unreachable"), at(905)).state
    assert (done.running, set(done.failed)) == ((), {B})

    silent = replace(NEW, work=reboot.work, silent={A: at(5)})
    assert ITEM.fold(silent, START, results(a="refused", b="running"), at(9)).state.waiting == (A,)


TROUBLE = {
    "the nodes are held": (
        PeerFailure("node a is held", refused=True, nodes={A: "held: disk"}),
        ((B,), (), {"a": "held: disk"}),
    ),
    "the settings are unusable": (PeerFailure("no key", refused=True), ((), (), {"a": "no key", "b": "no key"})),
    "nobody answered": (PeerFailure("broken", refused=False), ((A, B), (), {})),
}


@every_row(TROUBLE)
def test_what_trouble_means(trouble: PeerFailure, expected: Any) -> None:
    after = ITEM.fold(NEW, START, trouble, at(5)).state

    assert (after.waiting, after.running, dict(after.failed)) == expected


def test_nodes_that_run_are_looked_at_beside_those_that_have_not_begun() -> None:
    decision = ITEM.decide(TaskState(WORK, (B,), (A,), began=at(0)), at(5))

    assert (decision.effect.waiting, decision.effect.running) == (HOSTS[1:], HOSTS[:1])
    assert decision.give_up_at == at(5 + SILENCE_SECONDS)
    assert ITEM.touches(decision.effect) == (B,)
    assert decision.repeatable
    assert ITEM.decide(RUNNING, at(5)) == ITEM.watch(RUNNING, at(5)) == Look(LOOK)
    assert ITEM.watch(NEW, at(5)) is None
    begun = ITEM.fold(NEW, START, results(a="running"), at(5))
    assert begun.facts == (TaskChanged(WORK.task, WORK.marker, (NodeResult(A, TaskStatus.RUNNING),)),)
    assert begun.state.began == at(5)


@every_row([("abc", "a: no; b: no; c: no"), ("abcd", "a: no; b: no; c: no and 1 more")])
def test_a_failure_names_three_nodes_and_counts_those_that_have_ended(failed: str, why: str) -> None:
    work = replace(WORK, hosts=tuple(Host(NodeName(name), name) for name in f"{failed}z"))
    state = TaskState(work, (), (NodeName("z"),), failed=dict.fromkeys(map(NodeName, failed), "no"))
    count = len(failed)
    assert SPLITTING.decide(state, at(0)) == Failed(f"t failed on {count} of {count} node(s): {why}")


@every_row([(0, 2), (60, 2), (180, 6), (3600, 15)])
def test_a_long_task_is_looked_at_less_often(taken: float, pause: float) -> None:
    folded = ITEM.fold(RUNNING, LOOK, results(a="running", b="running"), at(taken))

    assert folded.wait_until == folded.watch_at == at(taken + pause)
    assert folded.facts == ()


SPLITTING = TaskItem(None, splits=True)
PARTS = {
    "one has ended": (results(a="success", b="running"), [("b",)], {}),
    "one has failed": (results(a="failed", b="running"), [("b",)], {"a": "exit None"}),
    "one is silent": (results(a="unreachable", b="running"), [("b",), ("a",)], {}),
    "all are silent": (results(a="unreachable", b="unreachable"), [("a", "b")], None),
    "all go on": (results(a="running", b="running"), [("a", "b")], None),
    "all have ended": (results(a="success", b="success"), [], {}),
}


@every_row(PARTS)
def test_an_item_that_splits_ends_when_its_nodes_go_different_ways(report: Any, parts: Any, failed: Any) -> None:
    folded = SPLITTING.fold(RUNNING, LOOK, report, at(5))
    decision = SPLITTING.decide(folded.state, at(5))

    assert list(folded.state.parts) == parts
    assert isinstance(decision, Done | Failed) == (folded.wait_until is None) == (failed is not None)
    if failed is not None:
        assert dict(folded.state.failed) == failed


def test_a_part_goes_on_where_the_item_before_it_was() -> None:
    before = SPLITTING.fold(RUNNING, LOOK, results(a="running", b="unreachable"), at(5)).state

    work = replace(WORK, hosts=HOSTS[1:], before=before.part((B,)))
    part = SPLITTING.begin(work.to_json())

    assert part == TaskState(replace(WORK, hosts=HOSTS[1:]), (), (B,), silent={B: at(5)}, began=at(0))
    late = SPLITTING.fold(part, LOOK, results(b="unreachable"), at(5 + SILENCE_SECONDS))
    assert dict(late.state.failed) == {B: f"the node has not answered for {SILENCE_SECONDS:.0f} s"}


def test_a_success_keeps_the_end_of_its_output_and_a_failure_all_of_it() -> None:
    long = "x" * 4000
    report = {A: RemoteResult(RemoteState.SUCCESS, 0, tail=long), B: RemoteResult(RemoteState.FAILED, 1, tail=long)}

    (fact,) = ITEM.fold(RUNNING, LOOK, report, at(5)).facts

    assert {one.node: len(one.tail) for one in fact.results} == {A: 200, B: 4000}  # type: ignore[attr-defined]


def test_a_stop_names_the_nodes_where_it_goes_on() -> None:
    (fact,) = ITEM.leave(RUNNING, "stopped by ann")

    assert [(one.node, one.status, one.detail) for one in fact.results] == [  # type: ignore[attr-defined]
        (A, TaskStatus.LEFT, "stopped by ann"),
        (B, TaskStatus.LEFT, "stopped by ann"),
    ]
    assert ITEM.leave(NEW, "stopped by ann") == ()


def test_a_task_is_refused_once_the_nodes_can_be_reached_no_more() -> None:
    for ask in (lambda: ITEM.perform(START, Marker("m")), lambda: ITEM.ask(LOOK)):
        with pytest.raises(Refused, match="not configured any more"):
            ask()


EVENING = ServerWindows([{"zone": "UTC", "start": "22:00", "minutes": 60}])


def test_a_node_begins_with_its_first_task_in_a_window_and_goes_on_after_it() -> None:
    now = at(0).replace(hour=12)
    state = TaskState(replace(WORK, windows=EVENING), (A, B))
    waits = ITEM.decide(state, now)
    folded = ITEM.fold(state, waits.question, ITEM.ask(waits.question), now)

    assert (waits, ITEM.ask(waits.question)) == (Look(LookAtTask(state.work, ())), {})
    assert (folded.state, folded.facts) == (state, ())
    assert folded.wait_until == now.replace(hour=22, minute=0, second=0)
    assert folded.awaited is not None
    assert folded.awaited.what.startswith("windows: closed until")
    assert isinstance(ITEM.decide(folded.state, folded.wait_until), Act)
    for begun in ({"began": now}, {"waiting": (A,), "running": (B,)}, {"silent": {A: now}}):
        assert isinstance(ITEM.decide(ITEM.load_state(replace(folded.state, **begun).to_json()), now), Act)


def test_nodes_for_which_no_window_comes_fail_without_a_task() -> None:
    never = ServerWindows([{**EVENING.open[0], "dates": ["2020-01-01"]}])
    state = TaskState(replace(WORK, windows=never), (A, B))
    asked = ITEM.decide(state, at(0))
    folded = ITEM.fold(state, asked.question, {}, at(0))

    assert sorted(folded.state.failed) == [A, B]
    assert folded.state.failed[A] == "windows: no window is as long as the 0 s of a server"
    assert isinstance(ITEM.decide(folded.state, at(0)), Failed)
