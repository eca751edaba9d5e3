"""Judging the wait for deployed nodes: when the cluster is asked, when the time is up, and why a node is lost."""

from datetime import datetime

from msgspec.structs import replace

from shipyard_api.actions.steps.joining import Answer, Joined, Joining, judge
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.workflow.step import PeerFailure
from tests.unit.actions.steps.instants import MOMENT, T0, at
from tests.unit.tables import every_row

# First poll at second 120, deadline at second 620, a poll every 30 s.
SITE = DeploymentConfiguration(join_wait=120, node_status=PhaseLimits(30, 500))
N1, N2 = NodeName("n1"), NodeName("n2")
BOTH, NONE = frozenset({N1, N2}), frozenset[NodeName]()
WAIT = Joining(T0, BOTH, timed_out=True, message="the deploy's own message")
SILENCE = PeerFailure("503 no answer", refused=False)
REFUSAL = PeerFailure("403 forbidden", refused=True)
READY, NOT_READY = ObservedMember(ready=True), ObservedMember(ready=False, why="no network plugin")
ALL_READY = {N1: READY, N2: READY}
ONE_READY = {N1: READY, N2: NOT_READY}
LATE = "not ready in Kubernetes within 620 s after its deployment: "


def waits(poll_at: datetime, ready: frozenset[NodeName] = NONE) -> Joined:
    return Joined(replace(WAIT, nodes=BOTH - ready), ready, {}, poll_at)


def over(ready: frozenset[NodeName], **lost: str) -> Joined:
    reasons = {NodeName(node): f"{LATE}{why}" for node, why in lost.items()}
    return Joined(replace(WAIT, nodes=NONE), ready, reasons, None)


@every_row(
    {
        # Not asked.
        "not-asked-just-before-the-first-poll": (None, at(120) - MOMENT, waits(at(120))),
        "not-asked-at-the-first-poll": (None, at(120), waits(at(150))),
        "not-asked-near-the-deadline": (None, at(610), waits(at(620))),
        "not-asked-at-the-deadline-asks-at-once": (None, at(620), waits(at(620))),
        # Some are ready.
        "one-ready": (ONE_READY, at(120), waits(at(150), frozenset({N1}))),
        "one-ready-nothing-about-the-other": ({N1: READY}, at(120), waits(at(150), frozenset({N1}))),
        "nothing-about-any": ({}, at(200), waits(at(230))),
        "nodes-of-others-do-not-count": ({NodeName("other"): READY}, at(200), waits(at(230))),
        "answer-before-the-first-poll": (ONE_READY, at(110), waits(at(120), frozenset({N1}))),
        "less-than-an-interval-left": (ONE_READY, at(600), waits(at(620), frozenset({N1}))),
        "just-before-the-deadline": (ONE_READY, at(620) - MOMENT, waits(at(620), frozenset({N1}))),
        # All are ready.
        "all-ready": (ALL_READY, at(120), over(BOTH)),
        "all-ready-at-the-deadline": (ALL_READY, at(620), over(BOTH)),
        # The deadline: the wait before the first poll and the limit of the site together.
        "at-the-deadline": (ONE_READY, at(620), over(frozenset({N1}), n2="no network plugin")),
        "at-the-deadline-nothing-about-one": (
            {N2: NOT_READY},
            at(620),
            over(NONE, n1="no answer about it", n2="no network plugin"),
        ),
        # No answer only costs time, and is named when the time is up.
        "no-answer": (SILENCE, at(120), waits(at(150))),
        "no-answer-just-before-the-deadline": (SILENCE, at(620) - MOMENT, waits(at(620))),
        "no-answer-at-the-deadline": (SILENCE, at(620), over(NONE, n1="503 no answer", n2="503 no answer")),
        "refused-answer-at-the-deadline": (REFUSAL, at(620), over(NONE, n1="403 forbidden", n2="403 forbidden")),
    },
)
def test_what_an_answer_of_the_cluster_means(answer: Answer | None, now: datetime, expected: Joined) -> None:
    assert judge(WAIT, answer, SITE, now) == expected


def test_a_wait_without_nodes_is_over() -> None:
    assert judge(replace(WAIT, nodes=NONE), None, SITE, T0) == over(NONE)
