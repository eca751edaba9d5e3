"""Judging a job by its reports: which limit applies, when it strikes, and what is known of the nodes by then."""

import dataclasses
from collections.abc import Collection
from contextlib import nullcontext
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from shipyard_api.actions.steps.job_watch import End, Job, Limits, Submitted, Watched, find, judge, last_operation
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.ports.errors import Undecided
from shipyard_api.ports.provisioner import EarlierWork, JobAhead, JobId, JobReport, JobState, Marker, Operation, Work
from shipyard_api.workflow.step import PeerFailure
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.actions.steps.instants import MOMENT, T0, at
from tests.unit.actions.steps.rollouts import store_with_jobs
from tests.unit.tables import every_row, table

LIMITS = Limits(interval=30, timeout=100, queue_limit=1000)
ID = JobId("job-1")
N1, N2 = NodeName("n1"), NodeName("n2")
QUEUED_JOB = Job(ID, T0)
# It ran from second 500 on: far enough from its submission that the two limits cannot be mistaken.
RUNNING_JOB = Job(ID, T0, at(500), frozenset({N1}))
SILENCE = PeerFailure("503 no answer", refused=False)
BUSY = PeerFailure("429 later", refused=False, retry_after=50)
REFUSAL = PeerFailure("404 not here", refused=True)
FOUR = JobAhead(JobId("job-4"), "mara", "prepare_nodes of n9")
BEHIND = "job job-4 (prepare_nodes of n9, submitted by mara)"
IN_QUEUE = "waited more than 1000 s in the provisioner's queue"
AT_WORK = "limit 100 s since it started"
SILENT = "the provisioner has not answered for 100 s since the submission; last answer: "
SILENT_IN_QUEUE = "the provisioner has not answered for 100 s; the job was in its queue"
UNKNOWN = "the provisioner no longer knows the job"


def report(state: JobState, *succeeded: NodeName, ok: bool = False) -> JobReport:
    return JobReport(ID, state, ok, frozenset(succeeded))


NEW_JOB = Job.submitted(ID, T0)
QUEUED, RUNNING, LOST = report(JobState.QUEUED), report(JobState.RUNNING, N2), report(JobState.LOST)
ENDED = report(JobState.ENDED, N1, N2, ok=True)


def silent(job: Job, since: float) -> Job:
    return replace(job, silent_since=at(since))


def behind(job: Job) -> Job:
    return replace(job, behind=BEHIND)


def started(since: datetime, *succeeded: NodeName) -> Job:
    return Job(ID, T0, since, frozenset(succeeded))


# The job, what is answered when, the job afterwards, and when to ask again, or how it ends and why.
POLLS: dict[str, tuple[Job, JobReport | PeerFailure, datetime, Job, End | None, datetime | str]] = {
    # Never answered: the limit of the work counts from the submission, whatever the answer was instead.
    "never answered": (NEW_JOB, SILENCE, at(10), NEW_JOB, None, at(40)),
    "never answered just before the limit": (NEW_JOB, SILENCE, at(100) - MOMENT, NEW_JOB, None, at(100)),
    "never answered limit": (NEW_JOB, SILENCE, at(100), NEW_JOB, End.TIME_UP, f"{SILENT}503 no answer"),
    "first late": (NEW_JOB, QUEUED, at(5000), QUEUED_JOB, End.QUEUE_TIMEOUT, IN_QUEUE),
    "first answer": (NEW_JOB, RUNNING, at(99), started(at(99), N2), None, at(129)),
    # Retry-After moves the next poll, and no limit.
    "busy longer than the interval": (NEW_JOB, BUSY, at(10), NEW_JOB, None, at(60)),
    "busy longer than the limit": (NEW_JOB, BUSY, at(70), NEW_JOB, None, at(100)),
    # In the queue: only the queue's limit counts, since the submission.
    "behind another job": (NEW_JOB, replace(QUEUED, ahead=FOUR), at(10), behind(QUEUED_JOB), None, at(40)),
    "queued beyond work limit": (QUEUED_JOB, QUEUED, at(100), QUEUED_JOB, None, at(130)),
    "queued just before": (QUEUED_JOB, QUEUED, at(1000) - MOMENT, QUEUED_JOB, None, at(1000)),
    "queued at limit": (QUEUED_JOB, QUEUED, at(1000), QUEUED_JOB, End.QUEUE_TIMEOUT, IN_QUEUE),
    "queued behind another job at the limit": (
        QUEUED_JOB,
        replace(QUEUED, ahead=FOUR),
        at(1000),
        behind(QUEUED_JOB),
        End.QUEUE_TIMEOUT,
        f"{IN_QUEUE}, behind {BEHIND}",
    ),
    # Silence in the queue is bounded by the limit of the work, and by that of the queue.
    "queued no answer": (QUEUED_JOB, SILENCE, at(200), silent(QUEUED_JOB, 200), None, at(230)),
    "queued no answer just before": (
        silent(QUEUED_JOB, 200),
        SILENCE,
        at(300) - MOMENT,
        silent(QUEUED_JOB, 200),
        None,
        at(300),
    ),
    "queued no answer at the limit": (
        silent(QUEUED_JOB, 200),
        SILENCE,
        at(300),
        silent(QUEUED_JOB, 200),
        End.TIME_UP,
        f"{SILENT_IN_QUEUE}; last answer: 503 no answer",
    ),
    "silent at the limit of the queue": (
        silent(QUEUED_JOB, 950),
        SILENCE,
        at(1000),
        silent(QUEUED_JOB, 950),
        End.QUEUE_TIMEOUT,
        f"{IN_QUEUE}; last answer: 503 no answer",
    ),
    "queued answers again": (silent(QUEUED_JOB, 200), QUEUED, at(299), QUEUED_JOB, None, at(329)),
    # It starts: from this poll on the limit of the work counts, however long it was queued.
    "starts after the limit": (QUEUED_JOB, RUNNING, at(5000), started(at(5000), N2), None, at(5030)),
    # At work: the limit counts from the first report that it runs, whatever later reports say.
    "running just before": (RUNNING_JOB, RUNNING, at(600) - MOMENT, started(at(500), N2), None, at(600)),
    "running at the limit": (RUNNING_JOB, RUNNING, at(600), started(at(500), N2), End.TIME_UP, AT_WORK),
    "queued again keeps start": (RUNNING_JOB, QUEUED, at(520), RUNNING_JOB, None, at(550)),
    "queued again work limit": (RUNNING_JOB, QUEUED, at(600), RUNNING_JOB, End.TIME_UP, AT_WORK),
    "running no answer": (RUNNING_JOB, SILENCE, at(520), silent(RUNNING_JOB, 520), None, at(550)),
    "running no answer just before": (
        silent(RUNNING_JOB, 520),
        SILENCE,
        at(600) - MOMENT,
        silent(RUNNING_JOB, 520),
        None,
        at(600),
    ),
    "running no answer at the limit": (
        silent(RUNNING_JOB, 520),
        SILENCE,
        at(600),
        silent(RUNNING_JOB, 520),
        End.TIME_UP,
        f"{AT_WORK}; last answer: 503 no answer",
    ),
    # The end counts whenever it is reported.
    "ended": (RUNNING_JOB, ENDED, at(520), RUNNING_JOB, End.ENDED, ""),
    "ended after the limit": (RUNNING_JOB, ENDED, at(9999), RUNNING_JOB, End.ENDED, ""),
    "ended is the last word on nodes": (RUNNING_JOB, report(JobState.ENDED), at(520), RUNNING_JOB, End.ENDED, ""),
    "lost keeps early successes": (RUNNING_JOB, LOST, at(520), RUNNING_JOB, End.LOST, UNKNOWN),
    "lost in queue": (QUEUED_JOB, LOST, at(10), QUEUED_JOB, End.LOST, UNKNOWN),
}


@every_row(POLLS)
def test_what_a_poll_of_a_job_means(
    job: Job, answer: JobReport | PeerFailure, now: datetime, after: Job, end: End | None, told: datetime | str
) -> None:
    current = answer if isinstance(answer, JobReport) else None
    # Its end is the last word on its nodes.
    succeeded = current.succeeded if current and end is End.ENDED else after.succeeded
    why, poll_at = (told, now) if isinstance(told, str) else ("", told)

    assert judge(job, answer, LIMITS, now) == Watched(after, end, current, succeeded, why, poll_at)


WORK = Work(Operation.PREPARE_SITE, "fake://design/7")


@pytest.mark.parametrize(("found", "expected"), [(ID, Submitted(ID)), (None, None)], ids=["a job", "no job"])
def test_an_earlier_submission_is_searched_among_jobs_that_no_other_intent_has(
    found: JobId | None, expected: Submitted | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    known = [JobId("another")]

    def jobs_since(since: datetime) -> list[JobId]:
        asked.append(since)
        return known

    def of_peer(marker: Marker, work: Work, **keywords: Any) -> JobId | None:
        asked.append((marker, work, keywords))
        return found

    store: Any = SimpleNamespace(
        begin=lambda: nullcontext(SimpleNamespace(journal=SimpleNamespace(jobs_since=jobs_since)))
    )
    provisioner = FakeProvisioner()
    monkeypatch.setattr(provisioner, "find", of_peer)

    assert find(store, provisioner, Marker("m"), WORK, T0, JobAnswers()) == expected
    # A peer's clock may be behind ours, by a day at most.
    assert asked == [T0 - timedelta(days=1), ("m", WORK, {"intended_at": T0, "known": frozenset(known)})]


N3 = NodeName("n3")
MOVE = Work(Operation.DEPLOY_NODES, "fake://design/7", (N1, N2))


def earlier(job: str, *nodes: NodeName, operation: Operation = Operation.DEPLOY_NODES) -> EarlierWork:
    return EarlierWork(JobId(job), operation, nodes)


OLDER = EarlierWork(JobId("o"), Operation.DEPLOY_NODES, (N1, N2), likely=False)
PREPARED = earlier("p", N1, N2, operation=Operation.PREPARE_NODES)


@table(
    ("found", "marks", "expected"),
    {
        "the same nodes": ([earlier("c", N1), earlier("d", N1, N2)], False, Submitted(JobId("d"))),
        "the first since then": ([OLDER, earlier("d", N2, N1), earlier("e", N1, N2)], False, Submitted(JobId("d"))),
        "the last, if a clock is wrong": ([OLDER, replace(OLDER, job=JobId("p"))], False, Submitted(JobId("p"))),
        "one that has a record": ([earlier("known", N1, N2)], False, None),
        "nothing": ([], False, None),
        "another operation": ([PREPARED], False, None),
        "some of the nodes": ([PREPARED, earlier("d", N2)], False, Submitted(JobId("d"), (N2,))),
        "marks tell, node by node": ([earlier("d", N1, N3)], True, None),
    },
)
def test_a_job_without_a_record_is_taken_up_also_for_some_of_the_nodes(
    found: list[EarlierWork], marks: bool, expected: Submitted | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    provisioner = recalled(found, monkeypatch, marks=marks)
    assert find(STORE, provisioner, Marker("m"), MOVE, T0, JobAnswers()) == expected


BOTH = earlier("d", N1, N3), earlier("e", N2, N3)


@table(
    ("found", "ours", "others", "expected"),
    {
        "no answer": (BOTH[:1], "", "", ["d"]),
        "the others are left": (BOTH, "", "d", ["e"]),
        "ours": (BOTH, "e", "", Submitted(JobId("e"), (N2,))),
        "ours and not": (BOTH, "e", "d", Submitted(JobId("e"), (N2,))),
        "none of them": (BOTH, "", "de", None),
        "the same nodes, and not ours": ([earlier("d", N1, N2)], "", "d", None),
    },
)
def test_whose_a_job_with_further_nodes_is_must_be_answered(
    found: list[EarlierWork],
    ours: str,
    others: str,
    expected: Submitted | list[str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provisioner = recalled(found, monkeypatch)
    answers = JobAnswers(frozenset(ours), frozenset(others))
    if not isinstance(expected, list):
        assert find(STORE, provisioner, Marker("m"), MOVE, T0, answers) == expected
        return
    with pytest.raises(Undecided, match="deploy_nodes is not sent to n1, n2") as asked:
        find(STORE, provisioner, Marker("m"), MOVE, T0, answers)
    assert [one.job for one in asked.value.doubt.jobs] == expected


def test_a_job_that_is_ours_is_taken_up_again_for_its_other_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time gave it a record, by which it would be taken for another move's."""
    provisioner = recalled([earlier("known", N1, N3)], monkeypatch)
    answers = JobAnswers(ours=frozenset({"known"}))
    assert find(STORE, provisioner, Marker("m"), dataclasses.replace(MOVE, nodes=(N3,)), T0, JobAnswers()) is None
    found = find(STORE, provisioner, Marker("m"), dataclasses.replace(MOVE, nodes=(N3,)), T0, answers)
    assert found == Submitted(JobId("known"), (N3,))


@table(
    ("found", "answers", "expected"),
    {
        "nothing": ([], JobAnswers(), None),
        "the last": ([PREPARED, earlier("d", N1)], JobAnswers(), Operation.DEPLOY_NODES),
        "a node that the action does not have": ([earlier("d", N1, N3)], JobAnswers(), Undecided),
        "ours": ([earlier("d", N1, N3)], JobAnswers(frozenset("d")), Operation.DEPLOY_NODES),
        "not ours": ([earlier("d", N1, N3)], JobAnswers(others=frozenset("d")), None),
    },
)
def test_the_last_operation_on_a_node_is_known_for_its_teardown(
    found: list[EarlierWork],
    answers: JobAnswers,
    expected: Operation | type[Undecided] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provisioner = recalled(found, monkeypatch)
    with pytest.raises(Undecided) if expected is Undecided else nullcontext():
        last = last_operation(STORE, provisioner, Marker("m"), MOVE, T0, answers, (N1, N2))
        assert last is expected


STORE = store_with_jobs("known")


def recalled(found: list[EarlierWork], monkeypatch: pytest.MonkeyPatch, *, marks: bool = False) -> FakeProvisioner:
    """Return a provisioner that shows this work."""
    provisioner = FakeProvisioner()
    provisioner.capabilities = replace(provisioner.capabilities, marks=marks)

    def unknown(*_: Any, known: Collection[JobId], **_keywords: Any) -> list[EarlierWork]:
        return [one for one in found if one.job not in known]

    monkeypatch.setattr(provisioner, "earlier_work", unknown)
    return provisioner
