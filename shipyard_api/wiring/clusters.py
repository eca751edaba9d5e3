"""Builds the Kubernetes adapter from the settings, for ``bootstrap``."""

from pathlib import Path
from typing import TYPE_CHECKING

from shipyard_api.adapters.kubernetes import KubernetesOptions
from shipyard_api.wiring.settings import Settings, SettingsError

if TYPE_CHECKING:
    from shipyard_api.adapters.kubernetes.access import Access
    from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster


def cluster(settings: Settings) -> "KubernetesCluster | None":
    """Return the cluster that servers join, or None if the settings name none. Opens no connection.

    It fills the port ``Cluster``; its ``nodes`` fill the port ``ClusterNodes``.

    Raises SettingsError for settings that are unusable.
    """
    options = settings.kubernetes
    if faults := list(options.faults()):
        raise SettingsError(faults)
    access = _access(options)
    if access is None:
        return None
    # Imported late: only programs that reach Kubernetes need it.
    from shipyard_api.adapters.kubernetes.client import KubernetesClient
    from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster

    try:
        client = KubernetesClient(
            access, connect_timeout=options.connect_timeout_seconds, read_timeout=options.read_timeout_seconds
        )
    except ValueError as error:
        raise SettingsError([f"[kubernetes] {'kubeconfig' if options.kubeconfig else 'url'}: {error}"]) from error
    return KubernetesCluster(client)


def _access(options: KubernetesOptions) -> "Access | None":
    if not options.kubeconfig and not options.url:
        return None
    from shipyard_api.adapters.kubernetes.access import Address, Kubeconfig

    if options.kubeconfig:
        return Kubeconfig(Path(options.kubeconfig).expanduser(), options.context)
    return Address(options.url, str(options.token), Path(options.ca_file).expanduser() if options.ca_file else None)
