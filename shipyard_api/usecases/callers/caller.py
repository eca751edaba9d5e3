"""The caller of a request."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """The person or program behind a request.

    ``context_marker``: the caller's, or the request's id if none was sent. ``key``: unique to the caller, unlike
    ``user``.
    """

    user: str
    roles: frozenset[str]
    context_marker: str
    key: str = ""
