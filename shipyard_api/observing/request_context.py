"""The request or action that the current thread works for: its marker, its user, and fields for log lines.

The API sets it for each request, the engine for each turn. Log lines and requests to peers read it. Threads that do a
part of the work receive it through ``propagated``.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import ParamSpec, TypeVar
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.observing.telemetry import traceparent

SERVICE_USER = "shipyard"
"""The end user that peers see when no person is behind a request."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class RequestContext(Struct, frozen=True):
    """``marker``: a UUID, the caller's own or generated. ``fields`` appear in log lines only."""

    marker: str = ""
    user: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


class _Process:
    """``site``: the site that all of this process works for."""

    site = ""


_NONE = RequestContext()
_CURRENT: ContextVar[RequestContext] = ContextVar("request_context", default=_NONE)
_SITE: ContextVar[str] = ContextVar("site", default="")


def begin(context: RequestContext) -> None:
    """Make this the context of the current thread."""
    _CURRENT.set(context)


def end() -> None:
    """Clear the context of the current thread."""
    _CURRENT.set(_NONE)


def name_user(user: str) -> None:
    """Add the user to the current context, once the caller is authenticated."""
    _CURRENT.set(replace(_CURRENT.get(), user=user))


def add_fields(fields: Mapping[str, str]) -> None:
    """Add fields to the log lines of the current context."""
    current = _CURRENT.get()
    _CURRENT.set(replace(current, fields={**current.fields, **fields}))


@contextmanager
def within_site(name: str) -> Iterator[None]:
    """Work for a site, in a process that serves many."""
    token = _SITE.set(name)
    try:
        yield
    finally:
        _SITE.reset(token)


def work_for_site(name: str) -> None:
    """Let all threads of this process work for a site."""
    _Process.site = name


def site() -> str:
    """Return the site that the current thread works for; empty in an installation of one site."""
    return _SITE.get() or _Process.site


@contextmanager
def restored() -> Iterator[None]:
    """Restore the current context on exit."""
    before = _CURRENT.get()
    try:
        yield
    finally:
        _CURRENT.set(before)


def propagated(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that runs ``work`` in any thread under the context of this one, that of traces included."""
    current = copy_context()

    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        # A copy for each call: several threads may run at once, and a context can be entered by one.
        return current.copy().run(work, *args, **kwargs)

    return run


def log_fields() -> dict[str, str]:
    """Return the fields that every log line of this thread carries."""
    current = _CURRENT.get()
    trace = traceparent()
    fields = {"context_marker": current.marker, "user": current.user, "trace": trace.split("-")[1] if trace else ""}
    fields["site"] = site()
    return {**current.fields, **{name: value for name, value in fields.items() if value}}


def marker() -> str:
    """Return the marker, or an empty text where there is none."""
    return _CURRENT.get().marker


def headers() -> dict[str, str]:
    """Return the headers that identify marker and end user to a peer (contract: shipyard-rest, 1 and 14)."""
    current = _CURRENT.get()
    marked = {"X-Context-Marker": current.marker} if current.marker else {}
    return {**marked, "X-End-User": _header_value(current.user or SERVICE_USER)}


def _header_value(name: str) -> str:
    """Return a name as a header can carry it: as it is, or percent-encoded."""
    return name if name.isascii() and name.isprintable() and name == name.strip() else quote(name, safe="")
