"""Tokens and addresses of services, from a Keystone."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from shipyard_api.settings.types import Address, authority_faults


class Scope(Enum):
    """The scope of a Keystone token."""

    PROJECT = "project"
    SYSTEM = "system"


class Interface(Enum):
    """The interfaces of a service in Keystone's catalog."""

    PUBLIC = "public"
    INTERNAL = "internal"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class KeystoneOptions:
    """How to reach Keystone. Only used if [identity] kind is keystone, or if the ``auth`` of a peer is.

    ``auth_url``: Keystone's address, with or without ``/v3``.
    ``user``: the name of Shipyard's user.
    ``password``: the user's password.
    ``user_domain``: the domain of the user.
    ``scope``: the scope of tokens: project, or system for a user with a role on the whole system.
    ``project``: the project in which the user has a role; empty for the scope system.
    ``project_domain``: the domain of the project.
    ``region``: the region in the catalog; empty: any region.
    ``interface``: the interface in the catalog: public, internal or admin.
    ``ca_file``: the certificate authorities (PEM) to trust; empty: the well-known ones.
    ``connect_timeout_seconds``: timeout of a connection; together with the peer's at most half of
    ``engine.settle_seconds``.
    ``read_timeout_seconds``: timeout of an answer.
    """

    auth_url: Address = Address("")  # noqa: RUF009  # immutable
    user: str = ""
    password: str = field(default="", repr=False)
    user_domain: str = "Default"
    scope: Scope = Scope.PROJECT
    project: str = ""
    project_domain: str = "Default"
    region: str = ""
    interface: Interface = Interface.PUBLIC
    ca_file: str = ""
    connect_timeout_seconds: float = 1.2
    read_timeout_seconds: float = 15.0

    @property
    def whose(self) -> str:
        """Return the user and the scope as text."""
        wanted = "the whole system"
        if self.scope is Scope.PROJECT:
            wanted = f"project {self.project} of domain {self.project_domain}"
        return f"user {self.user} of domain {self.user_domain} for {wanted}"

    def required(self) -> dict[str, str]:
        """Return the settings that must not be empty, by name."""
        project = {"[keystone] project": self.project} if self.scope is Scope.PROJECT else {}
        return {
            "[keystone] auth_url": self.auth_url,
            "[keystone] user": self.user,
            "[keystone] password": self.password,
            **project,
        }

    def faults(self) -> Iterator[str]:
        """Yield the settings that contradict each other, and files that do not exist."""
        if self.scope is Scope.SYSTEM and self.project:
            yield "[keystone] project is for scope = project, and [keystone] scope is system"
        yield from authority_faults("[keystone] ca_file", self.ca_file)
