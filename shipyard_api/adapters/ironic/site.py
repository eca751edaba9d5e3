"""Work on the whole site, which for Ironic is a check of the service: it changes and stores nothing."""

from collections.abc import Collection

from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Operation

from .client import SYSTEM, IronicClient

OPERATIONS = frozenset({Operation.VERIFY_SITE, Operation.PREPARE_SITE})


def job_of(marker: str, operation: Operation) -> JobId:
    """Return the job of this work; Ironic stores no job of a site, so the id holds the whole job."""
    return JobId(f"{operation.value}:{marker}")


def find(marker: str, operation: Operation, known: Collection[JobId]) -> JobId | None:
    """Return the job of this work, which exists from its intent on."""
    job = job_of(marker, operation)
    return None if job in known else job


def report(client: IronicClient, job: JobId, operation: Operation) -> JobReport:
    """Return whether Ironic is usable: a supported API version, and at least one conductor alive."""
    if not job.startswith(f"{operation.value}:"):
        return JobReport(job, JobState.LOST, ok=False, message=f"{job} is no job of {operation.value}")
    if operation is Operation.PREPARE_SITE:
        return JobReport(job, JobState.ENDED, ok=True, message="Ironic has nothing to prepare on a site")
    try:
        version = client.renew_version()
    except Refused as error:
        return JobReport(job, JobState.ENDED, ok=False, message=error.detail)
    if (conductors := _conductors(client)) is None:
        message = f"Ironic speaks 1.{version}; its conductors are not visible to Shipyard's user"
        return JobReport(job, JobState.ENDED, ok=True, message=message)
    dead, alive = conductors
    notes = [f"Ironic speaks 1.{version}", f"conductors alive: {', '.join(alive) or 'none'}"]
    notes.extend([f"not alive: {', '.join(dead)}"] if dead else [])
    return JobReport(job, JobState.ENDED, ok=bool(alive), message="; ".join(notes))


def check_health(client: IronicClient) -> None:
    """Return if the service answers and a conductor is alive; raise Unavailable or Refused otherwise.

    Conductors that our user may not see count as alive.
    """
    client.renew_version()
    conductors = _conductors(client)
    if conductors and not conductors[1]:
        raise Unavailable(SYSTEM, "GET /v1/conductors", "no conductor is alive, so no node can change state")


def _conductors(client: IronicClient) -> tuple[list[str], list[str]] | None:
    """Return the conductors that are not alive, and those that are; None if our user may not see them."""
    listed = client.conductors()
    if listed is None:
        return None
    alive = sorted(str(conductor.get("hostname")) for conductor in listed if conductor.get("alive") is True)
    return sorted({str(conductor.get("hostname")) for conductor in listed} - set(alive)), alive
