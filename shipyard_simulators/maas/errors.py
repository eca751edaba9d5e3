"""What MAAS refuses: a status, and a body that is plain text, or JSON where fields are named."""

from typing import Any


class MaasError(Exception):
    """An answer that is an error; ``retry_after``: seconds of the header, where there is one."""

    def __init__(self, status: int, body: Any, *, retry_after: int | None = None) -> None:
        super().__init__(body)
        self.status = status
        self.body = body
        self.retry_after = retry_after


def invalid(field: str, message: str) -> MaasError:
    """Return the error of a field that does not hold."""
    return MaasError(400, {field: [message]})


def unavailable(action: str) -> MaasError:
    """Return the error of an action that the status of the machine excludes, where MAAS takes that for a field."""
    return invalid("__all__", f"{action} is not available because of the current state of the node.")


def conflict(message: str) -> MaasError:
    """Return the error of an operation that the status of the machine excludes; repeating it does not help."""
    return MaasError(409, message)


FORBIDDEN = "You do not have the permission to do this."
LOCKED = "This machine is locked: unlock it first."
NO_MACHINE = "No Machine matches the given query."
