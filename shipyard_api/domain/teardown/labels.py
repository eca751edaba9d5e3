"""Labels of a node that is torn down (seed 004, Clear Labels; contract: promenade, 4.2 and 4.5)."""

from collections.abc import Mapping

DECOMMISSION_KEY = "promenade-decomission"
DECOMMISSION_VALUE = "enabled"
"""The label that starts the DaemonSet which stops the kubelet, spelt as in the seed."""

CORDONED_KEY = "shipyard-teardown"
"""The label of a node that a teardown has cordoned; one that was cordoned before stays so when the teardown fails."""

SERVICE_CORDONED_KEY = "shipyard-service"
"""The label of a node that a service has cordoned; one that an operator had cordoned before stays so."""

_OWN_NAMESPACES = ("kubernetes.io", "k8s.io")


def is_kept(key: str) -> bool:
    """Return whether a label stays: the part before ``/`` is, or ends with, a namespace of Kubernetes itself."""
    namespace, slash, _ = key.partition("/")
    return bool(slash) and namespace.endswith(_OWN_NAMESPACES)


def to_clear(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys to remove from the node, in order; none once they are cleared."""
    return tuple(sorted(key for key in labels if not is_kept(key)))


def in_the_way(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that forbid the removal of the node from the cluster, in order."""
    return tuple(key for key in to_clear(labels) if (key, labels[key]) != (DECOMMISSION_KEY, DECOMMISSION_VALUE))
