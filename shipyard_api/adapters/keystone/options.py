"""Whose tokens are asked for, and where."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class Scope(Enum):
    """What a token of Keystone is good for."""

    PROJECT = "project"
    SYSTEM = "system"


class Interface(Enum):
    """Which of a service's addresses in Keystone's catalog is used."""

    PUBLIC = "public"
    INTERNAL = "internal"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class KeystoneOptions:
    """Where tokens come from. Only used by services whose ``auth`` is keystone.

    ``auth_url``: Keystone's address, with or without ``/v3``.
    ``user``: the name of the user whose tokens we use.
    ``password``: of that user.
    ``user_domain``: the name of the domain that the user belongs to.
    ``scope``: what tokens are for: project, or system for a user with a role on the whole system.
    ``project``: the name of the project in which the user has a role; empty for the scope system.
    ``project_domain``: the name of the domain that the project belongs to.
    ``region``: whose entries of the catalog count; empty: any region's.
    ``interface``: which addresses of the catalog are used: public, internal or admin.
    ``ca_file``: the authorities that may have signed Keystone's certificate; empty: those that everybody believes.
    ``connect_timeout_seconds``: how long to wait for a connection; with the service's own at most half of
    ``engine.settle_seconds``.
    ``read_timeout_seconds``: how long to wait for an answer.
    """

    auth_url: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    user_domain: str = "Default"
    scope: Scope = Scope.PROJECT
    project: str = ""
    project_domain: str = "Default"
    region: str = ""
    interface: Interface = Interface.PUBLIC
    ca_file: str = ""
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 15.0

    @property
    def whose(self) -> str:
        """Return the user and what the tokens are for, in words for a person."""
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
        if self.ca_file and not Path(self.ca_file).is_file():
            yield f"[keystone] ca_file: there is no file {self.ca_file}"
