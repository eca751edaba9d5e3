"""Writers of configdocs, as threads or as processes: each adds lines of its own to one shared document.

As a program: ``python -m tests.integration.storage.writers URL NAME COUNT``; with a COUNT of 0 it adds one line and
then holds the lock until it is killed.
"""

import sys
import time

import sqlalchemy as sa

from shipyard_api.domain.documents import Collection, Document, Revision
from shipyard_api.ports.documents import LockHeld
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.storage.writer_lock import SqlWriterLock
from tests.waiting import PATIENCE

SHARED = Collection("shared")


def lines(designs: SqlDesigns, revision: Revision) -> list[str]:
    """What has been written so far."""
    return [line for stored in designs.documents(revision, SHARED) for line in stored.document.data]


def write(engine: sa.Engine, name: str, count: int) -> None:
    """Add so many lines, each under the lock, and wait for it as long as it takes."""
    designs = SqlDesigns(engine, None, lambda _: lambda _: ())
    lock = SqlWriterLock(engine)
    deadline = time.monotonic() + PATIENCE
    done = 0
    while done < max(count, 1):
        try:
            with lock.held():
                add_line(designs, f"{name} {done}")
                if count == 0:
                    print("held", flush=True)
                    time.sleep(PATIENCE)
        except LockHeld:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            done += 1


def add_line(designs: SqlDesigns, line: str) -> None:
    head = designs.heads().head
    data = [*lines(designs, head), line]
    document = Document("a/B/v1", "shared", "site", {"name": "shared", "schema": "metadata/Document/v1"}, data)
    designs.put(SHARED, [document], base=head, head=head)


if __name__ == "__main__":
    write(connect(sys.argv[1], pool_size=2), sys.argv[2], int(sys.argv[3]))
