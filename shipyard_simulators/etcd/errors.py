"""The failures of etcd's gateway: gRPC's numbers, and the statuses that belong to them."""

from typing import Any


class EtcdError(Exception):
    """A request that ends in a failure. ``status``: of HTTP; ``code``: gRPC's number."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    def body(self) -> dict[str, Any]:
        """Return the answer."""
        return {"error": str(self), "message": str(self), "code": self.code}


def invalid(message: str) -> EtcdError:
    """Return the failure of a request that cannot be read."""
    return EtcdError(400, 3, message)


def not_found(message: str) -> EtcdError:
    """Return the failure of a request for something that is not there."""
    return EtcdError(404, 5, message)


def no_space() -> EtcdError:
    """Return the failure of a write while the alarm NOSPACE is on."""
    return EtcdError(429, 8, "etcdserver: mvcc: database space exceeded")


def failed_precondition(message: str) -> EtcdError:
    """Return the failure of a request that does not fit the cluster."""
    return EtcdError(412, 9, message)


def unavailable(message: str) -> EtcdError:
    """Return the failure of a request that the cluster cannot serve now."""
    return EtcdError(503, 14, message)
