"""Who a caller is, and what they may do. What establishes the first and decides the second is filled in by adapters."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Request = Mapping[str, Any]
"""A request as its WSGI environment (PEP 3333)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks. ``key`` is unique to whoever it is and may be told: the id of a token or of a user, never a secret.

    The ids of the project and the domains are empty where identities have none.
    """

    key: str
    user: str
    roles: frozenset[str]
    user_id: str = ""
    user_domain_id: str = ""
    project_id: str = ""
    project_domain_id: str = ""
    is_admin_project: bool = False


def digest(secret: str) -> bytes:
    """Return what is kept of a token, and what it is looked for by: 32 bytes, which nobody can choose.

    Nothing compares secrets. How long it takes to compare digests tells about digests that begin alike, and nothing
    about any secret.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


class Identities(Protocol):
    """Knows callers by what they send."""

    @property
    def challenge(self) -> str:
        """What ``WWW-Authenticate`` says to a caller who is not known."""

    def of(self, request: Request) -> Identity:
        """Return who asks. Raises Unauthenticated, StoreUnavailable, or a PeerError if nobody can tell right now."""


class PolicyBroken(Exception):
    """The rules themselves cannot be evaluated, so nobody can be let in."""


class Policy(Protocol):
    """Decides by rules which an operator may change."""

    def allows(self, rule: str, identity: Identity) -> bool:
        """Return whether the identity satisfies the rule; raises PolicyBroken."""
