"""Which nodes succeeded, which failed and why, and what MAAS adds."""

from typing import Any

import pytest

from shipyard_api.adapters.drydock import results
from shipyard_api.adapters.drydock.results import Machine
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Operation, Work
from tests.unit.tables import every_row

JOB = JobId("t1")
PREPARE = Work(Operation.PREPARE_NODES, "http://d/3", (NodeName("n1"), NodeName("n2")))


def task(
    status: str = "complete",
    *,
    result: str = "partial_success",
    successes: object = (),
    failures: object = (),
    messages: tuple[object, ...] = (),
    **more: object,
) -> dict[str, Any]:
    lists = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in {"successes": successes, "failures": failures}.items()
    }
    return {
        "task_id": JOB,
        "status": status,
        "result": {"status": result, "message": None, "reason": None, "details": {"messageList": list(messages)}}
        | lists,
    } | more


def error(text: str, node: str = "", **changes: object) -> dict[str, object]:
    kind = "node" if node else "task"
    return {"message": text, "error": True, "context_type": kind, "context": node or JOB, "ts": "1"} | changes


@every_row(
    {
        "all succeeded": (task(successes=("n1", "n2")), "n1 n2", {}),
        "one each": (task(successes=("n1",), failures=("n2",)), "n1", {}),
        "in both lists: failed": (
            task(successes=("n1", "n2"), failures=("n2",)),
            "n1",
            {"n2": "Drydock lists the node as succeeded and as failed"},
        ),
        "in neither list: failed": (
            task(successes=("n1",)),
            "n1",
            {"n2": "Drydock ended without a result for the node"},
        ),
        "success of nothing: failed": (
            task(result="success"),
            "",
            dict.fromkeys(("n1", "n2"), "Drydock ended without a result for the node"),
        ),
        "terminated is an end": (task("terminated", successes=("n1",), failures=("n2",)), "n1", {}),
        "lists that are none": (
            task(successes=None, failures="n1"),
            "",
            dict.fromkeys(("n1", "n2"), "Drydock ended without a result for the node"),
        ),
    },
)
def test_succeeded_is_sent_and_in_successes_and_not_in_failures(
    answer: dict[str, Any], succeeded: str, reasons: dict[str, str]
) -> None:
    report = results.read_report(JOB, PREPARE, answer)
    assert report.state is JobState.ENDED
    assert report.succeeded == set(succeeded.split())
    assert report.failed == {"n1", "n2"} - report.succeeded
    assert report.reasons == reasons
    assert report.ok is (report.succeeded == {"n1", "n2"})


@every_row(
    [
        ("requested", JobState.QUEUED),
        ("queued", JobState.QUEUED),
        ("running", JobState.RUNNING),
        ("terminating", JobState.RUNNING),
    ],
)
def test_before_the_end_only_what_the_lists_say_is_certain(word: str, state: JobState) -> None:
    report = results.read_report(JOB, PREPARE, task(word, successes=("n1",)))
    assert report == JobReport(JOB, state, ok=False, succeeded=frozenset({NodeName("n1")}))


@every_row(
    [
        ("complete", "success", True),
        ("complete", "partial_success", False),
        ("complete", "failure", False),
        ("terminated", "success", False),
        ("running", "incomplete", False),
    ],
)
def test_work_on_the_site_is_ok_only_when_complete_with_success(status: str, result: str, ok: bool) -> None:
    work = Work(Operation.PREPARE_SITE, "http://d/3")
    assert results.read_report(JOB, work, task(status, result=result)).ok is ok


@every_row(
    {
        "nothing": {},
        "an unknown status": task("paused"),
        "no result": task() | {"result": None},
    },
)
def test_what_is_no_task_is_no_answer(answer: dict[str, Any]) -> None:
    with pytest.raises(Unavailable, match="task t1"):
        results.read_report(JOB, PREPARE, answer)


# Reasons


def explained(answer: dict[str, Any], work: Work = PREPARE) -> JobReport:
    return results.explain(results.read_report(JOB, work, answer), work, answer)


def subtasks(*messages: object) -> dict[str, object]:
    return {f"s{number}": {"details": {"messageList": [one]}} for number, one in enumerate(messages)}


def test_reasons_come_from_the_error_messages_about_a_failed_node_in_the_order_of_time() -> None:
    messages = (
        error("second", "n2", ts="2026-03-02 09:41:22"),
        error("first", "n2", ts="2026-03-02 09:41:21"),
        error("second", "n2", ts="2026-03-02 09:41:23"),
        error("only told", "n2", error=False),
        error("got over it", "n1"),
        "noise",
    )
    report = explained(task(successes=("n1",), failures=("n2",), subtask_errors=subtasks(*messages)))
    assert report.reasons == {"n2": "first; second"}
    assert report.message == ""


def test_the_tasks_own_errors_count_too() -> None:
    report = explained(task(successes=("n1",), failures=("n2",), messages=(error("no power", "n2"),)))
    assert report.reasons == {"n2": "no power"}


def test_what_the_lists_tell_stands_before_the_messages() -> None:
    answer = task(successes=("n1", "n2"), failures=("n2",), subtask_errors=subtasks(error("not found in MAAS", "n2")))
    assert explained(answer).reasons == {"n2": "Drydock lists the node as succeeded and as failed; not found in MAAS"}


def test_errors_about_anything_else_explain_the_job() -> None:
    site = Work(Operation.PREPARE_SITE, "http://d/3")
    messages = (error("no network", ts="1"), error("rack sick", "rack1", ts="2"))
    report = explained(task(result="partial_success", subtask_errors=subtasks(*messages)), site)
    assert report.message == "the task ended with partial_success; no network; rack sick"


def test_a_report_says_that_its_task_was_terminated_and_what_is_noted_later() -> None:
    report = explained(task(status="terminated", successes=("n1", "n2")))
    assert report.message == "the task was terminated in Drydock"
    assert results.with_note(report, "late").message == "the task was terminated in Drydock; late"
    assert results.with_note(explained(task(successes=("n1", "n2"))), "late").message == "late"
    running = explained(task(status="running", result="incomplete"), Work(Operation.VERIFY_SITE, "http://d/3"))
    assert running.message == ""


def test_many_attempts_are_told_by_their_last_messages() -> None:
    messages = [error(f"try {number}", "n2", ts=str(number)) for number in range(9)]
    report = explained(task(successes=("n1",), failures=("n2",), subtask_errors=subtasks(*messages)))
    assert report.reasons == {"n2": "try 4; try 5; try 6; try 7; try 8"}


def test_a_failed_erase_that_later_succeeds_stays_a_warning_in_the_report_of_a_destroy() -> None:
    destroy = Work(Operation.DESTROY_NODES, "http://d/3", (NodeName("n1"), NodeName("n2")))
    report = explained(task(successes=("n1", "n2"), subtask_errors=subtasks(error("bad disk", "n2"))), destroy)
    assert (report.ok, report.reasons) == (True, {})
    assert report.message == "removed from MAAS after a failed erase, their disks may still hold data: n2 (bad disk)"


# What MAAS says after a prepare


@every_row(
    [
        ("Ready", Machine.FIT),
        ("Allocated", Machine.FIT),
        ("Deploying", Machine.FIT),
        ("Deployed", Machine.FIT),
        ("Commissioning", Machine.SETTLING),
        ("Testing", Machine.SETTLING),
        ("Failed commissioning", Machine.UNFIT),
        ("Failed testing", Machine.UNFIT),
        ("Releasing failed", Machine.UNFIT),
        ("Broken", Machine.UNFIT),
        ("New", Machine.UNCLEAR),
        ("Rescue mode", Machine.UNCLEAR),
    ],
)
def test_every_status_of_a_machine_has_a_meaning(label: str, meaning: Machine) -> None:
    assert results.machine(label) is meaning


def prepared(*successes: str, status: str = "complete") -> JobReport:
    failures = tuple({"n1", "n2"} - set(successes)) if status == "complete" else ()
    return results.read_report(JOB, PREPARE, task(status, successes=successes, failures=failures))


SETTLED: dict[str, tuple[JobReport, dict[str, str], tuple[JobState, str, str], str]] = {
    "fit": (prepared("n1", "n2"), {"n1": "Ready", "n2": "Deployed"}, (JobState.ENDED, "n1 n2", ""), ""),
    "still commissioning": (
        prepared("n1", "n2"),
        {"n1": "Ready", "n2": "Commissioning"},
        (JobState.RUNNING, "n1", ""),
        "Drydock's task has ended, MAAS is not done with n2 (Commissioning)",
    ),
    "failed commissioning": (
        prepared("n1", "n2"),
        {"n1": "Ready", "n2": "Failed commissioning"},
        (JobState.ENDED, "n1", "n2"),
        "Drydock reports success, but in MAAS it is Failed commissioning",
    ),
    "MAAS says nothing of it": (
        prepared("n1", "n2"),
        {"n2": "New"},
        (JobState.ENDED, "n1 n2", ""),
        "reported by Drydock, not confirmed by MAAS: n1 (not listed), n2 (New)",
    ),
    "failed, whatever MAAS says": (prepared("n1"), {"n1": "Ready", "n2": "Ready"}, (JobState.ENDED, "n1", "n2"), ""),
    "while Drydock runs": (
        prepared("n1", "n2", status="running"),
        {"n1": "Ready", "n2": "Failed commissioning"},
        (JobState.RUNNING, "n1", ""),
        "",
    ),
}


@every_row(SETTLED)
def test_what_maas_says_settles_what_drydock_has_prepared(
    report: JobReport, labels: dict[str, str], end: tuple[JobState, str, str], told: str
) -> None:
    found = results.settle(report, labels)
    assert (found.state, " ".join(sorted(found.succeeded)), " ".join(sorted(found.failed))) == end
    assert found.ok is (end == (JobState.ENDED, "n1 n2", ""))
    assert found.reasons.get(NodeName("n2"), found.message) == told
