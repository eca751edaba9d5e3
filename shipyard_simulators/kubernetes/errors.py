"""The errors of the API server: objects of kind Status, with the reasons and texts of a real one."""

from collections.abc import Mapping
from typing import Any

from shipyard_simulators.kubernetes.kinds import NODES, Kind


class ApiError(Exception):
    """A request that ends in a Status. ``code``: an HTTP status; ``reason``: Kubernetes' word for it."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details, self.metadata = details, dict(metadata or {})

    def body(self) -> dict[str, Any]:
        """Return the Status."""
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        fields = {"message": self.message, "reason": self.reason, "details": self.details, "code": self.code}
        return status | {key: value for key, value in fields.items() if value or value == {}}


def bad_request(message: str) -> ApiError:
    """Return the error for a malformed request."""
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    """Return the error for unknown credentials."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(user: str, verb: str, path: str) -> ApiError:
    """Return the error for a user without the right to a path that is no resource."""
    return ApiError(403, "Forbidden", f'forbidden: User "{user}" cannot {verb} path "{path}"')


def forbidden_resource(user: str, verb: str, resource: str, group: str, name: str, namespace: str) -> ApiError:
    """Return the error for a user without this right on a resource; an empty ``name`` means all of them."""
    qualified = resource.partition("/")[0] + (f".{group}" if group else "")
    what = f'{qualified} "{name}"' if name else qualified
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    message = f'{what} is forbidden: User "{user}" cannot {verb} resource "{resource}" in API group "{group}" {where}'
    details = {"name": name, "group": group, "kind": resource.partition("/")[0]}
    return ApiError(403, "Forbidden", message, details={key: value for key, value in details.items() if value})


def namespace_ends(namespace: str, kind: Kind, name: str) -> ApiError:
    """Return the error for a new object in a namespace that is being deleted."""
    cause = f"namespace {namespace} is being terminated"
    message = (
        f'{kind.qualified} "{name}" is forbidden: unable to create new content in namespace {namespace} '
        "because it is being terminated"
    )
    causes = [{"reason": "NamespaceTerminating", "message": cause, "field": "metadata.namespace"}]
    return ApiError(403, "Forbidden", message, details=_details(kind, name) | {"causes": causes})


def not_found(name: str, kind: Kind = NODES) -> ApiError:
    """Return the error for an unknown object."""
    return ApiError(404, "NotFound", f'{kind.qualified} "{name}" not found', details=_details(kind, name))


def already_exists(name: str, kind: Kind = NODES) -> ApiError:
    """Return the error for a second object of the same name."""
    return ApiError(409, "AlreadyExists", f'{kind.qualified} "{name}" already exists', details=_details(kind, name))


def conflict(name: str, cause: str, kind: Kind = NODES) -> ApiError:
    """Return the error for a change of an outdated object."""
    message = f'Operation cannot be fulfilled on {kind.qualified} "{name}": {cause}'
    return ApiError(409, "Conflict", message, details=_details(kind, name))


def another_uid(name: str, wanted: str, uid: str, kind: Kind = NODES) -> ApiError:
    """Return the error for a deletion of what has another uid."""
    message = (
        f'Operation cannot be fulfilled on {kind.name} "{name}": the UID in the precondition ({wanted}) does not match '
        f"the UID in record ({uid}). The object might have been deleted and then recreated"
    )
    return ApiError(409, "Conflict", message, details=_details(kind, name) | {"kind": kind.name})


def invalid(name: str, field: str, cause: str, kind: Kind = NODES) -> ApiError:
    """Return the error for an object with an invalid field."""
    causes = [{"reason": "FieldValueInvalid", "message": cause, "field": field}]
    details = {"name": name, "kind": kind.name, "causes": causes}
    return ApiError(422, "Invalid", f'{kind.name} "{name}" is invalid: {field}: {cause}', details=details)


def nameless(kind: Kind = NODES) -> ApiError:
    """Return the error for an object without a name."""
    cause, field = "Required value: name or generateName is required", "metadata.name"
    details = {"kind": kind.name, "causes": [{"reason": "FieldValueRequired", "message": cause, "field": field}]}
    return ApiError(422, "Invalid", f'{kind.name} "" is invalid: {field}: {cause}', details=details)


def expired(following: str) -> ApiError:
    """Return the error for a list that is no longer kept; ``following`` continues in the current one."""
    message = "The provided continue parameter is too old to display a consistent list result."
    return ApiError(410, "Expired", message, metadata={"continue": following})


def _details(kind: Kind, name: str) -> dict[str, Any]:
    details = {"name": name, "group": kind.group, "kind": kind.resource}
    return {key: value for key, value in details.items() if value}
