"""Builds the Kubernetes adapter from the settings, for ``bootstrap``."""

from pathlib import Path
from typing import TYPE_CHECKING

from shipyard_api.adapters.kubernetes.options import KubernetesOptions
from shipyard_api.settings import Settings, SettingsError

if TYPE_CHECKING:
    from shipyard_api.adapters.kubernetes.access import Access
    from shipyard_api.adapters.kubernetes.cluster import KubernetesCluster


def cluster(settings: Settings) -> "KubernetesCluster | None":
    """Return the cluster that servers join, or None if the settings name none. Opens no connection.

    It fills the port ``Cluster``; its ``nodes`` fill the port ``ClusterNodes``.

    Raises SettingsError for settings that are unusable.
    """
    own = settings.kubernetes
    if faults := list(own.faults()):
        raise SettingsError(faults)
    access = _access(own)
    if access is None:
        return None
    # Imported late: only programs that reach Kubernetes need it.
    from shipyard_api.adapters.kubernetes.client import KubernetesClient
    from shipyard_api.adapters.kubernetes.cluster import KubernetesCluster

    try:
        client = KubernetesClient(
            access, connect_timeout=own.connect_timeout_seconds, read_timeout=own.read_timeout_seconds
        )
    except ValueError as error:
        raise SettingsError([f"[kubernetes] {'kubeconfig' if own.kubeconfig else 'url'}: {error}"]) from error
    return KubernetesCluster(client)


def _access(own: KubernetesOptions) -> "Access | None":
    if not own.kubeconfig and not own.url:
        return None
    from shipyard_api.adapters.kubernetes.access import Address, Kubeconfig

    if own.kubeconfig:
        return Kubeconfig(Path(own.kubeconfig).expanduser(), own.context)
    return Address(own.url, str(own.token), Path(own.ca_file).expanduser() if own.ca_file else None)
