"""The kinds of objects beside nodes, and where the API serves them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind, its plural name in addresses, and its API group with version. ``namespaced``: its objects are."""

    name: str
    resource: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The group with its version, as objects have it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def base(self) -> str:
        """The prefix of its addresses."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def qualified(self) -> str:
        """The resource as errors name it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


NODES = Kind("Node", "nodes", namespaced=False)
NAMESPACES = Kind("Namespace", "namespaces", namespaced=False)
PODS = Kind("Pod", "pods")
DAEMON_SETS = Kind("DaemonSet", "daemonsets", "apps")
REPLICA_SETS = Kind("ReplicaSet", "replicasets", "apps")
LEASES = Kind("Lease", "leases", "coordination.k8s.io")
BUDGETS = Kind("PodDisruptionBudget", "poddisruptionbudgets", "policy")
BUDGETS_V1BETA1 = Kind("PodDisruptionBudget", "poddisruptionbudgets", "policy", "v1beta1")


def kinds(policy: str) -> tuple[Kind, ...]:
    """Return all kinds but nodes; ``policy``: the served version of budgets."""
    budgets = BUDGETS if policy == "v1" else BUDGETS_V1BETA1
    return (NAMESPACES, PODS, DAEMON_SETS, REPLICA_SETS, LEASES, budgets)
