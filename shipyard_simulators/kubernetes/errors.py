"""The errors of the API server: objects of kind Status, with the reasons and texts of a real one."""

from collections.abc import Mapping
from typing import Any


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
        self.details, self.metadata = dict(details or {}), dict(metadata or {})

    def body(self) -> dict[str, Any]:
        """Return the Status."""
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        fields = {"message": self.message, "reason": self.reason, "details": self.details, "code": self.code}
        return status | {key: value for key, value in fields.items() if value}


def bad_request(message: str) -> ApiError:
    """Return the error for a malformed request."""
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    """Return the error for unknown credentials."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(user: str, verb: str, path: str) -> ApiError:
    """Return the error for a user without the right."""
    return ApiError(403, "Forbidden", f'forbidden: User "{user}" cannot {verb} path "{path}"')


def forbidden_nodes(user: str, verb: str, name: str) -> ApiError:
    """Return the error for a user without this right on nodes; an empty ``name`` means all of them."""
    what = f'nodes "{name}"' if name else "nodes"
    message = f'{what} is forbidden: User "{user}" cannot {verb} resource "nodes" in API group "" at the cluster scope'
    return ApiError(403, "Forbidden", message, details={"name": name, "kind": "nodes"} if name else {"kind": "nodes"})


def not_found(name: str) -> ApiError:
    """Return the error for an unknown node."""
    return ApiError(404, "NotFound", f'nodes "{name}" not found', details={"name": name, "kind": "nodes"})


def already_exists(name: str) -> ApiError:
    """Return the error for a second node of the same name."""
    return ApiError(409, "AlreadyExists", f'nodes "{name}" already exists', details={"name": name, "kind": "nodes"})


def conflict(name: str, cause: str) -> ApiError:
    """Return the error for a change of an outdated object."""
    message = f'Operation cannot be fulfilled on nodes "{name}": {cause}'
    return ApiError(409, "Conflict", message, details={"name": name, "kind": "nodes"})


def invalid(name: str, field: str, cause: str) -> ApiError:
    """Return the error for a node with an invalid field."""
    causes = [{"reason": "FieldValueInvalid", "message": cause, "field": field}]
    details = {"name": name, "kind": "Node", "causes": causes}
    return ApiError(422, "Invalid", f'Node "{name}" is invalid: {field}: {cause}', details=details)


def expired(following: str) -> ApiError:
    """Return the error for a list that is no longer kept; ``following`` continues in the current one."""
    message = "The provided continue parameter is too old to display a consistent list result."
    return ApiError(410, "Expired", message, metadata={"continue": following})
