"""Who asks, and how the request is told apart from others."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """The person or program behind a request. ``context_marker`` is theirs if they sent one, else the request's id.

    ``key``: tells callers apart who have the same name.
    """

    user: str
    roles: frozenset[str]
    context_marker: str
    key: str = ""
