"""Servers behind Redfish, without Drydock, MAAS or Ironic: the marker of a job is in the asset tags of its servers.

An operation boots an image over HTTP: ``prepare_nodes``, ``deploy_nodes`` or ``destroy_nodes`` below ``image_url``. An
image has done its work when its system reports ``OSRunning``, and has failed when its health is ``Critical``.
"""

import base64
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.drift.observations import MachineState, ObservedMachine
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.markers import same_action
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.domain.strategy.selectors import Selector, select
from shipyard_api.http import HttpClient, Response, refusal, segment
from shipyard_api.ports import provisioner as port
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import EarlierWork, JobId, JobReport, JobState, Marker, Operation, Work
from shipyard_api.ports.provisioner_plugin import ProvisionerPlugin, Surroundings
from shipyard_api.settings.types import Address, Secret

SYSTEM = "Redfish"
IMAGES = (Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES)
ON_SITE = (Operation.VERIFY_SITE, Operation.PREPARE_SITE)
LIMITS = ProvisionerLimits(SYSTEM, longest_name=64, preserves_storage=False)


@dataclass(frozen=True, slots=True)
class RedfishOptions:
    """How to reach the servers.

    ``url``: the Redfish service that has all of them as its systems, each with the name of its node as Id.
    ``user``: the user name. ``password``: the user's password.
    ``image_url``: the images of the operations are below it.
    ``connect_timeout_seconds``: timeout of a connection; at most half of ``engine.settle_seconds``.
    """

    url: Address = Address("")  # noqa: RUF009  # immutable
    user: str = ""
    password: Secret = Secret("")  # noqa: RUF009  # immutable
    image_url: str = ""
    connect_timeout_seconds: float = 1.8


@dataclass(frozen=True, slots=True)
class Server:
    """A server as Redfish shows it. ``begun``: it was restarted for the operation, and not only marked."""

    name: str
    marker: str
    operation: str
    begun: bool
    progress: str
    fault: str
    power: str
    uuid: str

    @classmethod
    def read(cls, system: Mapping[str, Any]) -> "Server":
        """Read a system; what is missing is empty."""
        operation, marker, begun = (*str(system.get("AssetTag") or "").split(":"), "", "", "")[:3]
        status, progress = system.get("Status") or {}, system.get("BootProgress") or {}
        fault = ""
        if status.get("Health") == "Critical":
            fault = (
                "; ".join(one.get("Message", "") for one in status.get("Conditions") or ()) or "its health is Critical"
            )
        words = (progress.get("LastState"), fault, system.get("PowerState"), system.get("UUID"))
        return cls(str(system.get("Id")), marker, operation, begun == "begun", *(str(word or "") for word in words))

    def carries(self, job: str, operation: Operation) -> bool:
        """Return whether the job was the last to have the server."""
        return (self.marker, self.operation) == (job, operation.value)

    def is_beyond(self, job: str, operation: Operation) -> bool:
        """Return whether the action of the job has gone on to a later operation on the server."""
        return same_action(self.marker, job) and port.goes_beyond(self.operation, operation)


class RedfishProvisioner:
    """A job is its marker, in the asset tag of each of its servers, all of which are marked before one is restarted.

    ``find`` is exact: a job of which a server lacks the mark was interrupted, and is submitted again. The gap that
    remains: a worker that dies between a restart and the note of it (``begun``) restarts the server once more.
    """

    name = SYSTEM
    capabilities = port.Capabilities(marks=True, limits=LIMITS)

    def __init__(self, http: HttpClient, image_url: str, inventory: Callable[[int], Inventory]) -> None:
        self._http, self._image_url, self._inventory = http, image_url.rstrip("/"), inventory

    def check_health(self) -> None:
        self._get("redfish/v1/")

    def design_reference(self, revision: int) -> str:
        return f"revision:{revision}"

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        self._nodes(design)
        return ()

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        inventory = self._nodes(design)
        if not inventory.nodes:
            raise Refused(SYSTEM, "select_nodes", f"the design {design} names no node")
        return tuple(select(selectors, inventory) for selectors in groups)

    def conditions(self) -> Sequence[ObservedMachine]:
        return [_condition(server) for _, server in sorted(self._servers().items())]

    def supported_steps(self, nodes: Collection[NodeName]) -> Mapping[NodeName, SupportedSteps]:
        return dict.fromkeys(nodes, SupportedSteps.none(SYSTEM, "it has no steps"))

    def submit(self, marker: Marker, work: Work) -> JobId:
        if work.operation in ON_SITE:
            return _of_site(marker, work)
        if work.operation not in IMAGES or not work.nodes or work.wipe is not port.Wipe.ALL or any(work.steps.values()):
            raise Refused(SYSTEM, work.operation.value, "it cannot do such work", marker=marker)
        servers, errors = self._servers(), []
        for mine in [servers[node] for node in work.nodes if node in servers]:
            if not mine.carries(marker, work.operation) and not mine.is_beyond(marker, work.operation):
                try:
                    self._check_unchanged(mine)
                    self._mark(mine.name, marker, work.operation, "claimed")
                except Unavailable as error:
                    errors.append(error)
        if errors:
            raise errors[0]
        self.report(JobId(marker), work)
        return JobId(marker)

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        job = _of_site(marker, work) if work.nodes is None else JobId(marker)
        if job in known:
            return None
        servers = self._servers()
        mine = [servers[node] for node in work.nodes or () if node in servers]
        marked = [one.carries(job, work.operation) or one.is_beyond(job, work.operation) for one in mine]
        return job if work.nodes is None or (marked and all(marked)) else None

    def earlier_work(
        self, marker: Marker, work: Work, *, since: datetime, known: Collection[JobId] = ()
    ) -> Sequence[EarlierWork]:
        servers = self._servers()
        return [
            EarlierWork(JobId(server.marker), Operation(server.operation), (node,))
            for node in work.nodes or ()
            if (server := servers.get(node)) and same_action(server.marker, marker) and server.marker not in known
        ]

    def report(self, job: JobId, work: Work) -> JobReport:
        return self._report(job, work, self._servers())

    def reports(self, jobs: Mapping[JobId, Work]) -> port.Reports:
        servers = self._servers()
        return port.each_report(jobs, lambda job, work: self._report(job, work, servers))

    def abort(self, job: JobId, work: Work) -> None:
        raise Refused(SYSTEM, f"abort {job}", "an image that runs cannot be stopped")

    def power_cycle(self, job: JobId, work: Work) -> Mapping[NodeName, str]:
        raise Refused(SYSTEM, "power_cycle", LIMITS.no_power_cycle)

    def _report(self, job: JobId, work: Work, servers: Mapping[str, Server]) -> JobReport:
        """Report on a job, and restart the servers that it has marked only."""
        if work.nodes is None:
            known = job.startswith(f"{work.operation.value}:")
            return JobReport(job, JobState.ENDED if known else JobState.LOST, ok=known)
        mine = {node: servers[node] for node in work.nodes if node in servers}
        reasons = {node: f"{node} is no system of this Redfish service" for node in work.nodes if node not in mine}
        beyond = {node for node, one in mine.items() if one.is_beyond(job, work.operation)}
        ours = {node: one for node, one in mine.items() if one.carries(job, work.operation)}
        if mine and not ours and not beyond:
            return JobReport(job, JobState.LOST, ok=False, message=f"no asset tag has the marker {job}")
        for node in mine.keys() - ours.keys() - beyond:
            reasons[node] = f"{node} was taken by other work: its asset tag names {mine[node].marker or 'no job'}"
        for node, server in ours.items():
            if not server.begun:
                self._restart(server, job, work.operation)
            elif server.fault:
                reasons[node] = f"{node}: {self._http.scrubber(server.fault)}"
        done = {node for node, one in ours.items() if one.begun and not one.fault and one.progress == "OSRunning"}
        ended = len(done) + len(beyond) + len(reasons) == len(work.nodes)
        state = JobState.ENDED if ended else JobState.RUNNING
        succeeded = frozenset(done | beyond)
        return JobReport(job, state, ended and not reasons, succeeded, frozenset(reasons), reasons)

    def _restart(self, server: Server, job: str, operation: Operation) -> None:
        self._check_unchanged(server)
        path, image = f"redfish/v1/Systems/{segment(server.name)}", f"{self._image_url}/{operation.value}"
        boot = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp", "HttpBootUri": image}
        self._write("PATCH", path, {"Boot": boot})
        how = "On" if server.power == "Off" else "ForceRestart"
        self._write("POST", f"{path}/Actions/ComputerSystem.Reset", {"ResetType": how})
        self._mark(server.name, job, operation, "begun")

    def _check_unchanged(self, server: Server) -> None:
        """Return if other work has not taken the server since it was listed; what follows acts on it."""
        now = Server.read(self._get(f"redfish/v1/Systems/{segment(server.name)}").object())
        if (now.marker, now.operation, now.begun) != (server.marker, server.operation, server.begun):
            raise Unavailable(SYSTEM, f"read {server.name}", "other work has changed it since it was listed")

    def _mark(self, name: str, job: str, operation: Operation, state: str) -> None:
        self._write("PATCH", f"redfish/v1/Systems/{segment(name)}", {"AssetTag": f"{operation.value}:{job}:{state}"})

    def _servers(self) -> Mapping[str, Server]:
        systems = self._get("redfish/v1/Systems?$expand=.").objects("Members")
        return {server.name: server for server in map(Server.read, systems)}

    def _nodes(self, design: str) -> Inventory:
        try:
            return self._inventory(int(design.removeprefix("revision:")))
        except UnreadableDesign as error:
            raise Refused(SYSTEM, "read design", f"the design {design} cannot be read: {error}") from error

    def _get(self, path: str) -> Response:
        return self._checked(self._http.get(path))

    def _write(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        self._checked(self._http.request(method, path, json=body))

    def _checked(self, answer: Response) -> Response:
        if answer.ok:
            return answer
        detail = f"answered {answer.status}: {self._http.scrubber.line(answer.text, 500)}"
        error: PeerError = refusal(answer, detail)
        if answer.status >= 500:
            error = Unavailable(SYSTEM, answer.operation, detail)
        raise error


def _of_site(marker: Marker, work: Work) -> JobId:
    """Return the job of work on the whole site, for which there is nothing to do."""
    return JobId(f"{work.operation.value}:{marker}")


def _condition(server: Server) -> ObservedMachine:
    state = MachineState.FREE
    if server.operation == Operation.DEPLOY_NODES.value:
        is_deployed = server.progress == "OSRunning" and not server.fault
        state = MachineState.DEPLOYED if is_deployed else MachineState.INSTALLING
    power = {"On": "on", "Off": "off"}.get(server.power, "unknown")
    status = f"{server.operation or 'never used'} {server.progress}".strip()
    return ObservedMachine(server.name, status, power, state, machine=server.uuid, installed=server.marker)


def _build(
    options: RedfishOptions, _around: Surroundings, inventory: Callable[[int], Inventory], _now: Callable[[], datetime]
) -> RedfishProvisioner:
    login = base64.b64encode(f"{options.user}:{options.password}".encode()).decode()
    http = HttpClient(
        options.url,
        system=SYSTEM,
        credentials=lambda: {"Authorization": f"Basic {login}"},
        connect_timeout=options.connect_timeout_seconds,
    )
    http.scrubber.hide(options.password, login)
    return RedfishProvisioner(http, options.image_url, inventory)


REDFISH = ProvisionerPlugin(
    options=RedfishOptions,
    build=_build,
    required=lambda options: {"[redfish] url": options.url, "[redfish] image_url": options.image_url},
)
