"""Readiness of this process: queue, workers, peers and clocks."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shipyard_api.ports.state.errors import StoreUnavailable, UnsuitableDatabase
from shipyard_api.ports.state.measures import HistoryState, QueueHealth
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.clock_skew import Answered, ClockSkew

_LATE = 60.0  # seconds that a due job may wait
_SILENT = 60.0  # seconds without a heartbeat of any worker
_SKEWED = 300.0  # seconds; up to here, nothing depends on clocks (product, section 10: Clocks)


@dataclass(frozen=True, slots=True)
class Check:
    """A check. ``critical``: without the check, this process serves no request. ``detail``: for anyone, what failed or
    how old the answer is.
    """

    name: str
    ok: bool
    detail: str = ""
    critical: bool = False


@dataclass(frozen=True, slots=True)
class CheckHealth:
    """The use case. ``check_schema`` raises UnsuitableDatabase and StoreUnavailable.

    ``pooled``: the worker comes from a pool when there is work; until then the site needs none.
    """

    store: Store
    check_schema: Callable[[], None]
    clock_skew: ClockSkew
    pooled: bool = False

    def __call__(self) -> Sequence[Check]:
        """Return all checks, the critical one first. Peers are those of the latest answers; none are asked now."""
        answers = self.clock_skew.answers()
        try:
            self.check_schema()
            queue, replication, history = self.store.read(
                lambda tx: (tx.measures.queue(), tx.measures.replication().finding, tx.measures.history())
            )
        except UnsuitableDatabase as error:
            return [Check("database", False, str(error), critical=True)]
        except StoreUnavailable:
            return [Check("database", False, "it does not answer", critical=True), *_peers(answers)]
        database = (Check("replication", not replication, replication), _history(history))
        return [
            Check("database", True, critical=True),
            *database,
            *_work(queue, pooled=self.pooled),
            *_peers(answers),
            _clocks(answers),
        ]


def _history(history: HistoryState) -> Check:
    """Fail while actions ask the peers for what the database may have lost."""
    said = f"{history.difference}, noticed at {history.noticed_at:%Y-%m-%d %H:%M:%S} UTC" if history.noticed_at else ""
    asking = f"; {history.reconciling} action(s) ask the peers what they have been sent" if history.reconciling else ""
    return Check("history", not history.reconciling, f"{said}{asking}")


def _work(queue: QueueHealth, *, pooled: bool) -> Iterator[Check]:
    lag, heartbeat_age = queue.lag, queue.heartbeat_age
    yield Check("queue", lag <= _LATE, "" if lag <= _LATE else f"a job has been due for {lag:.0f} s")
    if pooled and heartbeat_age is None:
        yield Check("workers", True, "none until there is work")
        return
    lives = heartbeat_age is not None and heartbeat_age <= _SILENT
    said = (
        "no worker is registered" if heartbeat_age is None else f"no heartbeat of any worker for {heartbeat_age:.0f} s"
    )
    yield Check("workers", lives, f"last heartbeat {heartbeat_age:.0f} s ago" if lives else said)


def _peers(answers: Mapping[str, Answered]) -> Iterator[Check]:
    for name, answer in answers.items():
        if name != "database":
            age = "" if answer.at is None else f"asked {time.monotonic() - answer.at:.0f} s ago"
            yield Check(name, answer.up, age if answer.up else ", ".join(filter(None, ("it does not answer", age))))


def _clocks(answers: Mapping[str, Answered]) -> Check:
    skewed = [
        f"{name} {answer.ahead:+.0f} s"
        for name, answer in answers.items()
        if answer.ahead is not None and abs(answer.ahead) > _SKEWED
    ]
    return Check("clocks", not skewed, f"off by more than 5 minutes: {', '.join(skewed)}" if skewed else "")
