"""Tags that stand for jobs in MAAS; pure (contract maas, 8).

A job's tag exists as long as the job is known, and is set on every machine that the job has claimed. Its comment is the
job's record.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from shipyard_api.domain.findings import in_short
from shipyard_api.domain.markers import same_action
from shipyard_api.ports.provisioner import JobId, Work

PREFIX = "shipyard-"
MOST_UNERASED = 50  # nodes named in the record of a job
_STOPPED = "-stopped"
_SCRIPTS = "-scripts"
_BEGUN = "-begun"
_ON = "-on"

_TAG_TEXT = re.compile(r"[A-Za-z0-9_-]{1,200}")
_RECORD = re.compile(
    r"Shipyard (?P<operation>\w+) at (?P<at>\S+Z), work (?P<work>[0-9a-f]{16})"
    r"(; after event (?P<newest>\d{1,18}))?(; nothing erased on: (?P<unerased>.*))?"
)


class Record(Struct, frozen=True):
    """The comment of a job's tag: the fingerprint of its work, when it was submitted, the nodes it could not erase.

    ``operation``: that of the work, by its value. ``newest``: MAAS's newest event before the job began anything (None:
    not recorded).
    """

    work: str
    at: datetime
    unerased: str = ""
    newest: int | None = None
    operation: str = ""


def job_tag(job: str) -> str:
    """Return the tag of a job, which marks the machines that it has claimed."""
    kept = _TAG_TEXT.fullmatch(job) and not job.endswith((_STOPPED, _SCRIPTS, _BEGUN, _ON))
    return PREFIX + (job if kept else hashlib.sha256(job.encode()).hexdigest()[:40])


def stop_tag(job: str) -> str:
    """Return the tag that marks a job as aborted."""
    return job_tag(job) + _STOPPED


def scripts_tag(job: str) -> str:
    """Return the tag of machines whose commissioning scripts a deployment has started."""
    return job_tag(job) + _SCRIPTS


def begun_tag(job: str) -> str:
    """Return the tag that a job sets on a machine before the operation, so that none is sent twice."""
    return job_tag(job) + _BEGUN


def on_tag(job: str) -> str:
    """Return the tag that a power cycle sets on a machine before it switches it on."""
    return job_tag(job) + _ON


def record_text(work: Work, at: datetime, unerased: Sequence[str] = (), *, newest: int | None = None) -> str:
    """Return the comment of the job's tag, as text that ``read_record`` parses."""
    note = f"; nothing erased on: {in_short(unerased, MOST_UNERASED)}" if unerased else ""
    event = "" if newest is None else f"; after event {newest}"
    when = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"Shipyard {work.operation.value} at {when}, work {fingerprint(work)}{event}{note}"


def read_record(comment: str) -> Record | None:
    """Return the record in a comment, or None if the comment is not ours."""
    match = _RECORD.fullmatch(comment)
    if match is None:
        return None
    try:
        at = datetime.fromisoformat(match["at"])
    except ValueError:
        return None
    newest = int(match["newest"]) if match["newest"] else None
    return Record(match["work"], at, match["unerased"] or "", newest, match["operation"])


def of_the_action(job: str, tags: Mapping[str, str]) -> dict[JobId, Record]:
    """Return the other jobs of a job's action, by id."""
    records = {}
    for name, comment in tags.items():
        other = name.removeprefix(PREFIX).removesuffix(_BEGUN)
        record = read_record(comment) if other != job and same_action(job, other) else None
        if record is not None:
            records[JobId(other)] = record
    return records


def fingerprint(work: Work) -> str:
    """Return a short hash of the work."""
    nodes = None if work.nodes is None else sorted(set(work.nodes))
    whole = json.dumps([work.operation.value, work.design, work.wipe.value, nodes])
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def stale_tags(tags: Mapping[str, str], *, before: datetime, spared: JobId) -> list[str]:
    """Return the tags of jobs that were submitted or aborted before a time, oldest first."""
    kept = {job_tag(spared), stop_tag(spared), scripts_tag(spared), begun_tag(spared), on_tag(spared)}
    records = ((name, read_record(comment)) for name, comment in tags.items() if name.startswith(PREFIX))
    old = [(record.at, name) for name, record in records if record and record.at < before and name not in kept]
    return [name for _, name in sorted(old)]
