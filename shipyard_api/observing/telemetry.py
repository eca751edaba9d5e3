"""Observation points: the code that does a piece of work names it once, and metrics and traces observe it.

``wiring.monitoring`` installs the observers. Without any, an activity costs some microseconds.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from enum import Enum

from msgspec import Struct, field


class Kind(Enum):
    """The observed operations. A peer call is one HTTP request or SSH command; each retry is one more."""

    REQUEST = "request"
    TURN = "turn"
    ITEM = "item"
    EFFECT = "effect"
    PEER = "peer"


SUCCESS = "success"
FAILED = "failed"
NO_ANSWER = "no_answer"
"""The outcome of a peer call without a complete answer: no connection, a timeout, an answer cut short."""


class Activity(Struct):
    """A piece of work. ``labels`` have few different values: no names of nodes, no ids. ``details`` may have many.

    A detail with a full stop in its name has this name in the semantic conventions of OpenTelemetry.

    ``name``: for people, such as ``GET Drydock``. ``outcome``: one of a few words, set before the activity ends.
    ``parent``: trace context that it continues, as a W3C ``traceparent``; empty: that of the activity around it.
    """

    kind: Kind
    name: str
    labels: dict[str, str] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)
    outcome: str = SUCCESS
    parent: str = ""


Observer = Callable[[Activity], AbstractContextManager[object]]
"""Begins to observe an activity; the context ends with it, and by then labels and outcome are complete."""

_OBSERVERS: list[Observer] = []
_TRACE: ContextVar[str] = ContextVar("trace", default="")


def observe_with(observer: Observer) -> Callable[[], None]:
    """Install an observer for this process, once; return a function that removes it."""
    if observer not in _OBSERVERS:
        _OBSERVERS.append(observer)
    return lambda: _OBSERVERS.remove(observer)


@contextmanager
def within(trace: str) -> Iterator[None]:
    """Make this the trace context of the block, as a W3C ``traceparent``; for an observer that traces."""
    token = _TRACE.set(trace)
    try:
        yield
    finally:
        _TRACE.reset(token)


def traceparent() -> str:
    """Return the trace context of the current activity, to be stored or sent; empty without one."""
    return _TRACE.get()


def of_status(status: int) -> str:
    """Return the outcome of an HTTP exchange: ``success``, ``busy`` (429), ``refused`` (4xx) or ``error`` (5xx)."""
    if status == 429:
        return "busy"
    return SUCCESS if status < 400 else "refused" if status < 500 else "error"


@contextmanager
def observed(kind: Kind, name: str, labels: Mapping[str, str] = {}, *, parent: str = "") -> Iterator[Activity]:
    """Observe the work of a block. An exception makes the outcome ``failed`` unless it was set before."""
    activity = Activity(kind, name, dict(labels), parent=parent)
    with ExitStack() as observers:
        for observer in _OBSERVERS:
            observers.enter_context(observer(activity))
        try:
            yield activity
        except BaseException:
            if activity.outcome == SUCCESS:
                activity.outcome = FAILED
            raise
