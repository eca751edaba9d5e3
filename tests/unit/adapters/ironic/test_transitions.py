"""The mark of a node that needs no transition, and how long the adapter waits for Ironic."""

from typing import Any, cast

import pytest
from msgspec.structs import replace

from shipyard_api.adapters.ironic.client import IronicClient, Reply
from shipyard_api.adapters.ironic.decisions import Done, Failed, Job, Waiting
from shipyard_api.adapters.ironic.patches import Payload
from shipyard_api.adapters.ironic.transitions import LOCK_PAUSES, STEP_PAUSES, Outcome, Transitions
from shipyard_api.adapters.ironic.translate import Node
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import Operation
from tests.unit.tables import every_row

FIRST, LATER = (f"0199a1b2-c3d4-4e5f-8a6b-00000000000{number}" for number in (1, 2))
JOB = Job(FIRST, Operation.PREPARE_NODES)
LOCKED = Reply(409, "Node u1 is locked by host c1, please retry")


def shown(state: str = "available", **mark: str) -> dict[str, Any]:
    return {"uuid": "u1", "name": "n1", "provision_state": state, "extra": {"shipyard": mark} if mark else {}}


OURS = shown(marker=FIRST, operation="prepare_nodes")
CLEANS = shown("cleaning", marker=FIRST, operation="prepare_nodes")
ANOTHER = shown(marker="7f4d", operation="prepare_nodes")


class Ironic:
    """Shows the node so and answers so, in turn, the last for ever."""

    def __init__(self, *nodes: dict[str, Any] | None, answers: tuple[Reply | Exception, ...] = (Reply(200),)) -> None:
        self.nodes, self.answers = list(nodes), list(answers)
        self.changes: list[Any] = []
        self.slept: list[float] = []
        self.transitions = Transitions(cast(IronicClient, self), sleep=self.slept.append)

    def node(self, _: str, __: object) -> dict[str, Any] | None:
        return self.nodes.pop(0) if len(self.nodes) > 1 else self.nodes[0]

    def patch(self, _: str, patch: Any) -> Reply:
        self.changes.append(patch)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    power = provision = patch

    def version(self) -> int:
        return 90


@every_row(
    {
        "listed with the mark": (OURS, shown(), Reply(200), True, 0),
        "marked meanwhile": (shown(), OURS, Reply(200), True, 0),
        "beyond": (ANOTHER, shown("active", marker=LATER, operation="deploy_nodes"), Reply(200), True, 0),
        "marked by another job": (ANOTHER, ANOTHER, Reply(200), True, 1),
        "needs a transition": (shown(), shown("enroll"), Reply(200), False, 0),
        "cannot be worked on": (shown(), shown("rescue"), Reply(200), False, 0),
        "gone": (shown(), None, Reply(200), False, 0),
        "refused": (shown(), shown(), Reply(403), False, 1),
        "locked for long": (shown(), shown(), LOCKED, False, len(LOCK_PAUSES) + 1),
    }
)
def test_a_mark_is_written_once(
    listed: dict[str, Any], now: dict[str, Any] | None, answer: Reply, there: bool, changes: int
) -> None:
    ironic = Ironic(now, answers=(answer,))
    assert ironic.transitions.mark(Node.read(listed), JOB) is there
    assert len(ironic.changes) == changes


@every_row([*range(len(LOCK_PAUSES) + 2)])
def test_a_locked_node_is_asked_again_after_each_pause(locked: int) -> None:
    ironic = Ironic(CLEANS, answers=(*[LOCKED] * locked, Reply(202)))
    refused = ironic.transitions.reboot(NodeName("n1"), JOB)
    assert (refused == "") is (locked <= len(LOCK_PAUSES))
    assert ironic.slept == [*LOCK_PAUSES[:locked]]


def test_a_reboot_that_never_left_us_is_not_done() -> None:
    ironic = Ironic(CLEANS, answers=(Unavailable("Ironic", "PUT", "down", sent=False),))
    with pytest.raises(Unavailable):
        ironic.transitions.reboot(NodeName("n1"), JOB)


NO, FULL, DONE = Reply(403, "no"), Reply(503, "full"), Reply(202)
AGAIN = replace(JOB, again=frozenset({NodeName("n1")}))
HELD = shown("clean wait", marker=FIRST, operation="prepare_nodes")


@every_row(
    {
        "nothing to do": (shown(), JOB, (NO,), Outcome(Done())),
        "nothing to do, and marked": (OURS, JOB, (NO,), Outcome(Done(), marked=True)),
        "gone": (None, JOB, (NO,), Outcome(Failed("n1 is not enrolled in Ironic, or not visible to Shipyard's user"))),
        "may not be marked": (shown("enroll"), JOB, (NO,), Outcome(Failed("n1: no"), denied=True)),
        "cannot be marked now": (shown("enroll"), JOB, (FULL,), Outcome(Waiting("n1: full"))),
        "begun": (shown("enroll"), JOB, (DONE,), Outcome(Waiting("manage"), marked=True)),
        "cannot be begun now": (shown("enroll"), JOB, (DONE, FULL), Outcome(Waiting("n1: full"), marked=True)),
        "interrupted": (HELD, AGAIN, (DONE,), Outcome(Waiting("abort"), marked=True)),
        "may not be interrupted": (HELD, AGAIN, (NO,), Outcome(Waiting("n1: no"), marked=True)),
    }
)
def test_a_start_has_the_outcome_of_each_answer(
    now: dict[str, Any] | None, job: Job, answers: tuple[Reply, ...], outcome: Outcome
) -> None:
    assert Ironic(now, answers=answers).transitions.start(Node.read(shown()), job, Payload()) == outcome


def deploying(state: str, *final: str) -> dict[str, Any]:
    steps = [{"interface": "raid", "step": step, "priority": 5} for step in ("a", "b")]
    internal = {"user_deploy_steps": steps, "deploy_steps": [{**steps[0], "step": step} for step in final]}
    return shown(state) | {"driver_internal_info": internal}


@every_row(
    {
        "at once": ([deploying("deploying", "a", "b")], (), 1),
        "one is left out": ([deploying("deploying", "a")], ("raid.b",), 1),
        "later": ([deploying("deploying")] * 2 + [deploying("deploying", "a")], ("raid.b",), 3),
        "it has ended": ([deploying("deploying"), deploying("active")], None, 2),
        "gone": ([None], None, 1),
        "never": ([deploying("deploying")], None, len(STEP_PAUSES)),
    }
)
def test_steps_are_asked_for_until_ironic_knows_them(
    nodes: list[dict[str, Any] | None], left_out: tuple[str, ...] | None, asked: int
) -> None:
    ironic = Ironic(*nodes)
    assert ironic.transitions.steps_left_out(Node.read(shown())) == left_out
    assert ironic.slept == [*STEP_PAUSES[:asked]]
