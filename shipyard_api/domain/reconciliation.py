"""What a person is asked about jobs whose record may be lost, and the answers. Pure.

A provisioner without markers cannot show whose job is whose. What is sent twice, or taken for done, is decided by an
operator and never guessed (product, section 10: Postgres is our HA).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from shipyard_api.domain.findings import Finding, error, in_short
from shipyard_api.domain.json_types import JsonObject, are_texts
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.stored import ByFields

OURS, OTHERS = "ours", "others"


class DoubtfulJob(ByFields, Struct, frozen=True):
    """A job that may be the action's or another client's, and all nodes that it names."""

    job: str
    operation: str
    nodes: tuple[NodeName, ...]

    def __str__(self) -> str:
        """Return the job as part of a sentence."""
        return f"job {self.job} ({self.operation} of {in_short(self.nodes)})"


class Doubt(ByFields, Struct, frozen=True):
    """An ``operation`` on ``nodes`` that is not sent to ``provisioner`` before it is known whose the jobs are."""

    provisioner: str
    operation: str
    nodes: tuple[NodeName, ...]
    jobs: tuple[DoubtfulJob, ...]

    def __str__(self) -> str:
        """Return why nothing is sent."""
        return (
            f"history was lost, and {', '.join(map(str, self.jobs))} may be this action's or another client's: "
            f"{self.operation} is not sent to {in_short(self.nodes)}"
        )


class JobAnswers(ByFields, Struct, frozen=True):
    """Jobs that a person has called the action's own, and jobs of other clients."""

    ours: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()

    def with_later(self, later: "JobAnswers") -> "JobAnswers":
        """Return these answers with later ones, which outweigh them."""
        return JobAnswers((self.ours - later.others) | later.ours, (self.others - later.ours) | later.others)

    def __str__(self) -> str:
        """Return the answers as part of a sentence."""
        parts = []
        if self.ours:
            parts.append(f"{', '.join(sorted(self.ours))} {_are(self.ours)} this action's")
        if self.others:
            parts.append(f"{', '.join(sorted(self.others))} {_are(self.others)} not this action's")
        return ", ".join(parts)


def unanswered(doubts: Sequence[Doubt], answers: JobAnswers) -> list[Doubt]:
    """Return the doubts that lack an answer about one of their jobs at least."""
    known = answers.ours | answers.others
    return [doubt for doubt in doubts if not known.issuperset(job.job for job in doubt.jobs)]


def parse_answers(written: JsonObject, doubts: Sequence[Doubt]) -> tuple[JobAnswers, tuple[Finding, ...]]:
    """Return the answers as an operator wrote them, and their faults."""
    faults = tuple(_faults(written, {job.job for doubt in doubts for job in doubt.jobs}))
    if faults:
        return JobAnswers(), faults
    return JobAnswers(frozenset(written.get(OURS, ())), frozenset(written.get(OTHERS, ()))), ()


def _faults(written: JsonObject, asked: set[str]) -> Iterator[Finding]:
    for name in written:
        if name not in (OURS, OTHERS):
            yield error("UnknownAnswer", f"There is no answer {name[:60]!r}. There are: {OURS}, {OTHERS}.")
    named: list[Any] = []
    for name in (OURS, OTHERS):
        jobs = written.get(name, [])
        if not are_texts(jobs):
            yield error("NoListOfJobs", f"{name} is no list of jobs.")
            return
        named += jobs
    if not named:
        yield error("NoJobNamed", f"No job is named. Name jobs in {OURS} or {OTHERS}.")
    for job in sorted({job for job in named if job not in asked}):
        known = f"It is asked about: {', '.join(sorted(asked))}." if asked else "It is asked about none."
        yield error("UnknownJob", f"The action is not asked about job {job[:60]!r}. {known}")
    for job in sorted({job for job in named if named.count(job) > 1}):
        yield error("TwoAnswers", f"Job {job[:60]} is named twice.")


def _are(jobs: frozenset[str]) -> str:
    return "is" if len(jobs) == 1 else "are"
