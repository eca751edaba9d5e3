"""The provisioner port, filled by an Ironic."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from shipyard_api.settings.types import Address, Secret, authority_faults


class IronicAuth(Enum):
    """How Shipyard authenticates to Ironic."""

    NONE = "none"
    BASIC = "basic"
    KEYSTONE = "keystone"


class Unhealthy(Enum):
    """From which health on a node is held."""

    NONE = "none"
    CRITICAL = "critical"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class IronicOptions:
    """Ironic: address, limits, and the treatment of nodes. Only used if Ironic provisions the site.

    ``url``: Ironic's address, with or without ``/v1``; empty: from Keystone's catalog, if ``auth`` is keystone.
    ``auth``: how to authenticate: none (Ironic with noauth), basic (http_basic), keystone (see its section).
    ``user``: the user name; only for basic.
    ``password``: the user's password; only for basic.
    ``ca_file``: the certificate authorities (PEM) to trust; empty: the well-known ones.
    ``connect_timeout_seconds``: timeout of a connection; at most half of ``engine.settle_seconds``.
    ``read_timeout_seconds``: timeout of an answer.
    ``instance_info_file``: a JSON file with the ``instance_info`` of every deployment, such as image and checksum.
    ``deploy_steps_file``: a JSON file with the deploy steps of hardware interfaces that Shipyard does not know.
    ``inspect``: whether preparing a node inspects its hardware first.
    ``remove``: whether ``remove_server`` deletes the node from Ironic; enrolling it again needs its BMC's password.
    ``hold_unhealthy``: the health that holds a node until it is OK: none, critical, warning (or worse); Ironic 1.109
    """

    url: Address = Address("")  # noqa: RUF009  # immutable
    auth: IronicAuth = IronicAuth.NONE
    user: str = ""
    password: Secret = Secret("")  # noqa: RUF009  # immutable
    ca_file: str = ""
    connect_timeout_seconds: float = 1.8
    read_timeout_seconds: float = 60.0
    instance_info_file: str = ""
    deploy_steps_file: str = ""
    inspect: bool = False
    remove: bool = True
    hold_unhealthy: Unhealthy = Unhealthy.NONE

    def required(self) -> dict[str, str]:
        """Return the settings of this section that must not be empty, by name."""
        match self.auth:
            case IronicAuth.NONE:
                return {"[ironic] url": self.url}
            case IronicAuth.BASIC:
                return {"[ironic] url": self.url, "[ironic] user": self.user, "[ironic] password": self.password}
            case IronicAuth.KEYSTONE:
                return {}

    def faults(self) -> Iterator[str]:
        """Yield the settings that contradict each other."""
        if self.auth is not IronicAuth.BASIC and (self.user or self.password):
            given = "user" if self.user else "password"
            yield f"[ironic] {given} is for auth = basic, and [ironic] auth is {self.auth.value}"
        if self.auth is IronicAuth.BASIC and ":" in self.user:
            yield "[ironic] user holds a colon, which http_basic does not allow"
        yield from authority_faults("[ironic] ca_file", self.ca_file)
