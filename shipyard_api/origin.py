"""On whose behalf a thread works: a request or an action. Lines of the log name it, and so do requests to peers.

It belongs to the thread. Threads that do a part of its work get it by ``carried``; those that serve one request, or one
action, after another are told of the next one, or that there is none.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import ParamSpec, TypeVar
from urllib.parse import quote

NOBODY = "shipyard"
"""Whom peers are told of where there is no person behind what is asked."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Origin:
    """What is being worked on, for whom. ``marker``: a UUID, the caller's own or one that was made for them.

    ``fields`` are for the log alone.
    """

    marker: str = ""
    user: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


_NONE = Origin()
_CURRENT: ContextVar[Origin] = ContextVar("origin", default=_NONE)


def begin(origin: Origin) -> None:
    """Let this thread work for this origin from now on."""
    _CURRENT.set(origin)


def end() -> None:
    """Let this thread work for nobody."""
    _CURRENT.set(_NONE)


def name_user(user: str) -> None:
    """Add who it is, once that is known."""
    _CURRENT.set(replace(_CURRENT.get(), user=user))


@contextmanager
def kept() -> Iterator[None]:
    """Give the thread back, at the end, the origin that it has now."""
    before = _CURRENT.get()
    try:
        yield
    finally:
        _CURRENT.set(before)


def carried(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return the work as other threads are to do it: for whom this one works now."""
    origin = _CURRENT.get()

    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with kept():
            _CURRENT.set(origin)
            return work(*args, **kwargs)

    return run


def told() -> dict[str, str]:
    """Return what a line of the log says of it."""
    origin = _CURRENT.get()
    own = {"context_marker": origin.marker, "user": origin.user}
    return {**origin.fields, **{name: value for name, value in own.items() if value}}


def marker() -> str:
    """Return the marker, or an empty text where there is none."""
    return _CURRENT.get().marker


def headers() -> dict[str, str]:
    """Return what peers are told of it (contract: shipyard-rest, 1 and 14; shipyard-actions, 6)."""
    origin = _CURRENT.get()
    marked = {"X-Context-Marker": origin.marker} if origin.marker else {}
    return {**marked, "X-End-User": _written(origin.user or NOBODY)}


def _written(name: str) -> str:
    """Return a name as a header can carry it: as it is, or percent-encoded."""
    return name if name.isascii() and name.isprintable() and name == name.strip() else quote(name, safe="")
