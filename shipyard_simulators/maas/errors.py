"""MAAS's errors: a status, and a body that is plain text, or JSON if it names fields."""

from typing import Any


class MaasError(Exception):
    """An error answer; ``retry_after``: the seconds of that header, if it has one."""

    def __init__(self, status: int, body: Any, *, retry_after: int | None = None) -> None:
        super().__init__(body)
        self.status = status
        self.body = body
        self.retry_after = retry_after


def invalid(field: str, message: str) -> MaasError:
    """Return the error for an invalid field."""
    return MaasError(400, {field: [message]})


def unavailable(action: str) -> MaasError:
    """Return the error for an action that the machine's status forbids, where MAAS reports it as a field error."""
    return invalid("__all__", f"{action} is not available because of the current state of the node.")


def conflict(message: str) -> MaasError:
    """Return the error for an operation that the machine's status forbids; a retry does not help."""
    return MaasError(409, message)


FORBIDDEN = "You do not have the permission to do this."
LOCKED = "This machine is locked: unlock it first."
NO_MACHINE = "No Machine matches the given query."
