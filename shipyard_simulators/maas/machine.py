"""A machine as the region knows it, with its planned changes."""

from dataclasses import asdict, dataclass, field
from typing import Any

from shipyard_simulators.maas.statuses import Status


@dataclass(slots=True)
class Change:
    """A change of a machine at a moment: of its status, its power state, or both."""

    moment: float
    cause: str
    status: int | None = None
    power: str | None = None
    text: str = ""


@dataclass(slots=True)
class ScriptSet:
    """The results of one commissioning (0), installation (1) or testing (2)."""

    number: int
    kind: int
    started: float
    ended: float | None = None
    passed: bool = True
    output: str = ""


@dataclass(slots=True, kw_only=True)
class Machine:
    """One machine. ``pending``: its planned changes, soonest first. ``attempts``: how often each phase was tried."""

    number: int
    system_id: str
    hostname: str
    status: Status = Status.NEW
    previous: Status = Status.NEW
    domain: str = "maas"
    owner: str | None = None
    agent_name: str = ""
    locked: bool = False
    power_type: str = "ipmi"
    power_state: str = "off"
    power_parameters: dict[str, Any] = field(default_factory=dict)
    mac_addresses: list[str] = field(default_factory=list)
    ip_address: str = ""
    tags: list[str] = field(default_factory=list)
    zone: str = "default"
    pool: str = "default"
    description: str = ""
    architecture: str = "amd64/generic"
    cpu_count: int = 32
    memory: int = 131072
    storage: float = 960197.1
    annotations: dict[str, str] = field(default_factory=dict)
    osystem: str = ""
    distro_series: str = ""
    hwe_kernel: str = ""
    user_data: str = ""
    ephemeral_deploy: bool = False
    netboot: bool = True
    error_description: str = ""
    message: str = ""
    pending: list[Change] = field(default_factory=list)
    scripts: list[ScriptSet] = field(default_factory=list)
    attempts: dict[str, int] = field(default_factory=dict)

    @property
    def fqdn(self) -> str:
        """The host name with the domain."""
        return f"{self.hostname}.{self.domain}"

    def schedule(self, *changes: Change) -> None:
        """Add a planned change."""
        self.pending = sorted([*self.pending, *changes], key=lambda change: change.moment)

    def interrupt(self, moment: float) -> None:
        """Drop all planned changes, and end the running scripts."""
        self.pending = []
        self.end_scripts(moment, passed=False, output="aborted")

    def end_scripts(self, moment: float, *, passed: bool, output: str) -> None:
        """End the running scripts."""
        for scripts in self.scripts:
            if scripts.ended is None:
                scripts.ended, scripts.passed, scripts.output = moment, passed, output

    def enter(self, status: Status) -> None:
        """Enter the status, with everything that always comes with it."""
        before, self.status = self.status, status
        if status is Status.RELEASING or (status is Status.READY and before is not Status.READY):
            self.annotations, self.agent_name, self.user_data = {}, "", ""
            self.osystem = self.distro_series = self.hwe_kernel = ""
            self.ephemeral_deploy, self.netboot = False, True
        if status in (Status.READY, Status.NEW):
            self.owner, self.error_description = None, ""
        if status is Status.DEPLOYED:
            self.netboot = False

    def to_json(self) -> dict[str, Any]:
        """Return the machine for the state file."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Machine":
        """Return the machine of the state file."""
        machine = cls(**content)
        machine.status, machine.previous = Status(machine.status), Status(machine.previous)
        machine.pending = [Change(**each) for each in content["pending"]]
        machine.scripts = [ScriptSet(**each) for each in content["scripts"]]
        return machine
