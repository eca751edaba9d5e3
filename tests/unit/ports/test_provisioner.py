"""Asking about several jobs: one that cannot be told of does not hide the others."""

import pytest

from shipyard_api.ports.errors import PeerError, Unavailable
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Operation, Work, each_report

WORK = Work(Operation.VERIFY_SITE, "a design")


def test_for_a_job_that_cannot_be_told_of_there_is_the_error() -> None:
    def report(job: JobId, _work: Work) -> JobReport:
        if job == "b":
            raise Unavailable("Fake", "report b", "gone")
        return JobReport(job, JobState.RUNNING, ok=False)

    told = each_report({JobId(name): WORK for name in "abc"}, report)

    assert list(told) == ["a", "b", "c"]
    assert isinstance(told[JobId("b")], Unavailable)
    assert told[JobId("c")] == JobReport(JobId("c"), JobState.RUNNING, ok=False)


def test_if_nothing_can_be_told_of_any_the_first_error_is_raised() -> None:
    def report(job: JobId, _work: Work) -> JobReport:
        raise Unavailable("Fake", f"report {job}", "gone")

    with pytest.raises(PeerError, match="report a"):
        each_report({JobId(name): WORK for name in "ab"}, report)


def test_about_no_jobs_there_is_nothing_to_tell() -> None:
    assert each_report({}, lambda _job, _work: pytest.fail("nobody asked")) == {}
