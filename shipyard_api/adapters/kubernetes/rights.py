"""Which right a request needs, in the words of Kubernetes' RBAC. Pure."""

from dataclasses import dataclass

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Right:
    """A right to one verb on one resource. ``namespace`` is empty for all namespaces, and outside of any."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        resource, slash, subresource = self.resource.partition("/")
        named = f"{resource}.{self.group}" if self.group else resource
        return f"{self.verb} {named}{slash}{subresource}" + (f" in {self.namespace}" if self.namespace else "")


def needed_right(method: str, path: str) -> Right | None:
    """Return the right that a request needs, None for discovery, which every user may do."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    verb = _VERBS.get(method, "get" if len(rest) > 1 else "list")
    return Right(verb, "/".join((rest[0], *rest[2:])), group, namespace)
