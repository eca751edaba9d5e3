"""A request as an operation sees it, its possible answers, and common checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shipyard_simulators.maas.accounts import ApiUser
from shipyard_simulators.maas.errors import FORBIDDEN, LOCKED, NO_MACHINE, MaasError
from shipyard_simulators.maas.forms import Fields
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.region import ChangeCause, Region


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is more than JSON. ``wait``: its delay in seconds."""

    content: Any = None
    status: int = 200
    content_type: str = "application/json"
    wait: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request: its user, path, fields and time. ``number``: its number in the request log."""

    region: Region
    account: ApiUser
    operation: str
    number: int
    now: float
    query: Fields
    body: Fields | None
    path: Mapping[str, str]

    @property
    def form(self) -> Fields:
        """The fields of the body. MAAS fails if there is no body at all."""
        if self.body is None:
            raise MaasError(500, "'NoneType' object has no attribute 'get'")
        return self.body

    @property
    def cause(self) -> ChangeCause:
        """The call as the cause of changes."""
        return ChangeCause(self.operation, self.account.name, self.number)

    def must_administer(self) -> None:
        """Raise MaasError unless the user is an administrator."""
        if not self.account.administrator:
            raise MaasError(403, FORBIDDEN)

    def sees(self, machine: Machine) -> bool:
        """Return whether the user may see the machine."""
        return self.account.administrator or machine.owner in (None, self.account.name)

    def machine(self) -> Machine:
        """Return the machine of the path. Raises MaasError."""
        machine = self.region.machines.get(self.path["system_id"])
        if machine is None:
            raise MaasError(404, NO_MACHINE)
        if not self.sees(machine):
            raise MaasError(403, FORBIDDEN)
        return machine

    def editable(self) -> Machine:
        """Return the machine of the path for a change. Raises MaasError."""
        machine = self.machine()
        if machine.locked:
            raise MaasError(403, LOCKED)
        return machine

    def administered(self) -> Machine:
        """Return the machine of the path for an administrator's operation; a lock does not matter."""
        machine = self.machine()
        self.must_administer()
        return machine


Operation = Callable[[Call], Any]
Operations = Mapping[tuple[str, str | None], Operation]
"""Operations by method and name; plain read, create, update and delete have no name."""
