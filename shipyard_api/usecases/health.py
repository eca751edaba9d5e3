"""Readiness of this process: queue, workers, peers, clocks, and whether a fail-over may lose writes."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.state.errors import StoreUnavailable, UnsuitableDatabase
from shipyard_api.ports.state.measures import HistoryState, QueueHealth
from shipyard_api.storage.unit_of_work import Store

# Seconds for which a reading is kept: peers are not asked for every health check.
_KEPT = 15.0
_AT_ONCE = 8

Reading = Callable[[], float | None]
"""Returns how many seconds a clock is ahead of this host's; None if that cannot be read. Raises PeerError."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Whether a system answered, and how many seconds its clock is ahead; None if that could not be read.

    ``at``: when it was asked, on this process's monotonic clock.
    """

    up: bool
    ahead: float | None
    at: float | None = field(default=None, compare=False)


class ClockSkew(Struct):
    """The use case. ``clocks``: by the name of their system."""

    clocks: Mapping[str, Reading]
    _found: dict[str, Answered] = msgspec.field(default_factory=dict)
    _asked: float | None = None
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def measure(self) -> Mapping[str, float | None]:
        """Read every clock now; takes a few seconds at most."""
        return {name: answer.ahead for name, answer in self._read().items()}

    def latest(self) -> Mapping[str, float]:
        """Return the clocks that could be read, by the latest answers."""
        return {name: answer.ahead for name, answer in self.answers().items() if answer.ahead is not None}

    def answers(self) -> Mapping[str, Answered]:
        """Return the latest answers, none before the first ones.

        They are read in the background, all at once, and at most every few seconds.
        """
        with self._lock:
            is_stale = self._asked is None or time.monotonic() - self._asked > _KEPT
            if is_stale:
                self._asked = time.monotonic()
        if is_stale:
            threading.Thread(target=self._refresh, name="clock-skew", daemon=True).start()
        return self._found

    def _refresh(self) -> None:
        self._found = self._read()

    def _read(self) -> dict[str, Answered]:
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="clock-skew") as pool:
            return dict(zip(self.clocks, pool.map(_answer, self.clocks.values()), strict=True))


def _answer(read: Reading) -> Answered:
    try:
        return Answered(True, read(), time.monotonic())
    except PeerError:
        return Answered(False, None, time.monotonic())


def clock_wording(skew: Mapping[str, float]) -> str:
    """Return the clocks as one line: ``database +0.1 s, Drydock -3.0 s``."""
    return ", ".join(f"{name} {ahead:+.1f} s" for name, ahead in skew.items())


_LATE = 60.0  # seconds that a due job may wait
_SILENT = 60.0  # seconds without a heartbeat of any worker
_SKEWED = 300.0  # seconds; up to here, nothing depends on clocks (product, section 10: Clocks)


class Check(Struct, frozen=True):
    """A check. ``critical``: without the check, this process serves no request. ``detail``: for anyone, what failed or
    how old the answer is.
    """

    name: str
    ok: bool
    detail: str = ""
    critical: bool = False


class CheckHealth(Struct, frozen=True):
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


LOG = logging.getLogger(__name__)

_PAUSE = 60.0  # seconds; /health and `config check` look when they are asked


@dataclass(slots=True)
class WatchReplication:
    """The use case."""

    store: Store
    _said: str = field(default="", init=False)
    _next: float = field(default=0.0, init=False)

    def __call__(self) -> None:
        """Look once a minute; raises StoreUnavailable."""
        if time.monotonic() < self._next:
            return
        finding = self.store.read(lambda tx: tx.measures.replication()).finding
        if finding != self._said:
            self._said = finding
            if finding:
                LOG.warning("fail-over may lose writes", extra={"finding": finding})
            else:
                LOG.info("replication is synchronous, or there is no standby")
        self._next = time.monotonic() + _PAUSE
