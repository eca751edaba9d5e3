"""The statements and the transactions that an action costs: ``python benchmarks/statements.py``.

Engine, storage and Postgres are real; the provisioner takes no time. Counted at the driver is every statement of the
worker from the first turn of a ``deploy_site`` to its end; BEGIN and COMMIT count as no statements. The sites are
chains of groups of three nodes: what a further group adds is two phases, each an intent, a submission, a poll and a
verdict.
Exits 1 if a phase costs more than ``MOST`` statements: a count is the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import installation
import sqlalchemy as sa
from loop import Run
from timed_sites import flat

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.ports.provisioner import Capabilities
from shipyard_api.storage.clock import DatabaseClock

MOST = 8
GROUPS = (1, 2, 4, 8)


@dataclass
class Counted:
    """What a driver sent."""

    statements: int = 0
    transactions: int = 0


@contextmanager
def counting(database: sa.Engine) -> Iterator[Counted]:
    """Count until the context is left."""
    counted = Counted()

    def sent(*_: object) -> None:
        counted.statements += 1

    def ended(*_: object) -> None:
        counted.transactions += 1

    events = (("before_cursor_execute", sent), ("commit", ended), ("rollback", ended))
    for name, heard in events:
        sa.event.listen(database, name, heard)
    yield counted
    for name, heard in events:
        sa.event.remove(database, name, heard)


def main() -> int:
    print(
        f"{'deploy_site, 3 nodes a group':<32}{'steps':>6}{'statements':>12}{'transactions':>14}{'a further phase':>18}"
    )
    each = 0.0
    with installation.database() as database:
        clock = DatabaseClock(database, ProcrastinateWakeup())
        for marks in (True, False):
            before: tuple[int, Counted] | None = None
            for number, groups in enumerate(GROUPS):
                run = Run.of(database, flat(groups, 3, number), {}, clock, instant=True)
                run.provisioner.capabilities = Capabilities(selects=True, marks=marks)
                with counting(database) as counted:
                    run.engine.run(run.action)
                steps = run.steps()
                further = ""
                if before is not None:
                    phases = 2 * (groups - before[0])
                    each = (counted.statements - before[1].statements) / phases
                    further = f"{each:.1f} and {(counted.transactions - before[1].transactions) / phases:.1f}"
                title = f"  {groups} groups{', the peer keeps marks' if marks else ''}"
                print(f"{title:<32}{steps:>6}{counted.statements:>12}{counted.transactions:>14}{further:>18}")
                before = groups, counted
    if each > MOST:
        print(f"TOO MUCH: a phase costs {each:.1f} statements, at most {MOST}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
