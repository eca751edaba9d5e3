"""Makes the cluster that the settings name; ``bootstrap`` puts it in its place."""

from pathlib import Path

from shipyard_api.adapters.kubernetes.access import Access, Address, Kubeconfig
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.cluster import KubernetesCluster
from shipyard_api.ports.cluster import Cluster
from shipyard_api.settings import Kubernetes, Settings, SettingsError


def cluster(settings: Settings) -> Cluster | None:
    """Return the cluster that servers join, or None if the settings name none; connects to nothing yet.

    Raises SettingsError for what is set, but cannot be used.
    """
    own = settings.kubernetes
    faults = _faults(own)
    if faults:
        raise SettingsError([f"[kubernetes] {fault}" for fault in faults])
    access = _access(own)
    if access is None:
        return None
    try:
        client = KubernetesClient(
            access, connect_timeout=own.connect_timeout_seconds, read_timeout=own.read_timeout_seconds
        )
    except ValueError as error:
        raise SettingsError([f"[kubernetes] {'kubeconfig' if own.kubeconfig else 'url'}: {error}"]) from error
    return KubernetesCluster(client)


def _faults(own: Kubernetes) -> list[str]:
    faults = []
    if own.kubeconfig and own.url:
        faults.append("kubeconfig and url: both say where the cluster is; give one of them")
    if own.context and not own.kubeconfig:
        faults.append("context: is one of a kubeconfig; give kubeconfig, too")
    faults += [
        f"{name}: belongs to url, which is not given"
        for name in ("token", "ca_file")
        if getattr(own, name) and not own.url
    ]
    files = {"kubeconfig": own.kubeconfig, "ca_file": own.ca_file}
    return faults + [f"{name}: there is no file {file}" for name, file in files.items() if file and not _is_file(file)]


def _is_file(file: str) -> bool:
    return Path(file).expanduser().is_file()


def _access(own: Kubernetes) -> Access | None:
    if own.kubeconfig:
        return Kubeconfig(Path(own.kubeconfig).expanduser(), own.context)
    if own.url:
        return Address(own.url, str(own.token), Path(own.ca_file).expanduser() if own.ca_file else None)
    return None
