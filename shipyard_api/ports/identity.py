"""Authentication and authorization: the caller's name and rights."""

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

Request = Mapping[str, Any]
"""A request as its WSGI environment (PEP 3333), and ``ACCEPTED``."""

ACCEPTED = "shipyard.accepted"
"""The address of ours that the request came in on; empty for a unix socket."""


class Identity(Struct, frozen=True):
    """A caller. ``key`` is unique and not secret: the id of a token or of a user.

    The ids of project and domains are empty for identities without them.
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
    """Return the digest of a token, 32 bytes: tokens are stored and looked up by it.

    Secrets are never compared. The time to compare digests reveals nothing about a secret.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


class Identities(Protocol):
    """Authenticates callers by their requests."""

    @property
    def challenge(self) -> str:
        """The ``WWW-Authenticate`` header for an unauthenticated caller."""

    def cached(self, request: Request) -> Identity | None:
        """Return the caller if that is known without waiting for anything; None if ``of`` must find out."""

    def of(self, request: Request) -> Identity:
        """Return the caller. Raises Unauthenticated; StoreUnavailable or a PeerError if it cannot be checked now."""


class PolicyBroken(Exception):
    """The rules cannot be evaluated, so every request is denied."""


class Policy(Protocol):
    """Decides by rules, which operators can change."""

    def allows(self, rule: str, identity: Identity) -> bool:
        """Return whether the identity satisfies the rule; raises PolicyBroken."""
