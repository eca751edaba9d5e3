"""Builds what runs tasks on nodes from the settings, for ``bootstrap``."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shipyard_api.actions.site_checks import RemoteAccess
from shipyard_api.adapters.ssh import jump_host
from shipyard_api.domain import addressing
from shipyard_api.domain.documents import Document, Rendering
from shipyard_api.domain.findings import Finding, error, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.commands import differs_by_node, remote_task
from shipyard_api.domain.task_graph.roles import MASTER
from shipyard_api.domain.task_graph.site_plan import SitePlan
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.wiring.settings import Settings, SettingsError

if TYPE_CHECKING:
    from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks


_UNKNOWN = "the design does not have it"


def remote_tasks(settings: Settings) -> "SshRemoteTasks | None":
    """Return what runs tasks on nodes, None if no key is configured. Opens no connection; close it at the end.

    Raises SettingsError for settings that are unusable.
    """
    options = settings.ssh
    if faults := list(options.faults()):
        raise SettingsError(faults)
    if not options.key_file:
        return None
    # Imported late: asyncssh is large.
    from shipyard_api.adapters.ssh.login import Access, key_fault
    from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks

    access = Access(
        user=options.user,
        key_file=str(Path(options.key_file).expanduser()),
        known_hosts=str(Path(options.known_hosts).expanduser()),
        key_passphrase=str(options.key_passphrase),
        jump=jump_host(options.jump_host, options.user),
        connect_timeout=options.connect_timeout_seconds,
        connections_at_once=options.connections_at_once,
    )
    if fault := key_fault(access):
        raise SettingsError([f"[ssh] {fault}"])
    directory = Path(options.files).expanduser() if options.files else None
    return SshRemoteTasks(access, limit=options.read_timeout_seconds, directory=directory)


def hosts(settings: Settings, documents: Iterable[Document]) -> tuple[dict[NodeName, Host], dict[NodeName, str]]:
    """Return where SSH reaches each node of a design, and why it does not reach others."""
    options = settings.ssh
    addresses, missing = addressing.addresses(documents, options.network)
    if options.master:
        addresses[MASTER] = options.master
    else:
        missing[MASTER] = "[ssh] master does not name the host of tasks with the role master"
    return {name: Host(name, address, options.port) for name, address in addresses.items()}, missing


def access(settings: Settings) -> RemoteAccess | None:
    """Return the way to nodes for actions, None if no key is configured. Raises as ``remote_tasks``."""
    tasks = remote_tasks(settings)
    if tasks is None:
        return None

    def reach(rendering: Rendering, nodes: Sequence[NodeName]) -> tuple[Mapping[NodeName, Host], Sequence[Finding]]:
        reachable, missing = hosts(settings, (rendered.document for rendered in rendering.documents))
        lacking = [node for node in nodes if node not in reachable]
        return reachable, [error("NoAddress", f"Node {node}: {missing.get(node, _UNKNOWN)}.") for node in lacking]

    directory = Path(settings.ssh.files).expanduser() if settings.ssh.files else None

    def sources(site_plan: SitePlan) -> Sequence[Finding]:
        from shipyard_api.adapters.ssh import copies

        later = site_plan.plan.flow.tasks_after(MASTER) if site_plan.plan else frozenset()
        return [
            warning(
                "FileNotThereYet", f"Task '{name}': {fault.why}; a task of the master that runs before may make it."
            )
            if fault.is_missing and name in later
            else error("FileMissing", f"Task '{name}': {fault.why}.")
            for name, entry in site_plan.documents.items()
            # Files that differ by node are looked for when the task starts there.
            if not differs_by_node(entry)
            for fault in copies.faults(directory, remote_task(entry).copies)
        ]

    def digests(names: Collection[str]) -> Mapping[str, str]:
        from shipyard_api.adapters.ssh import copies

        return copies.digests(directory, names)

    return RemoteAccess(tasks, reach, sources, digests)
