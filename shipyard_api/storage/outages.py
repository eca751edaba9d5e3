"""Tell an outage of the database from a faulty statement."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shipyard_api.ports.state.errors import StoreFull, StoreUnavailable


@contextmanager
def outages() -> Iterator[None]:
    """Turn errors of an unreachable database into StoreUnavailable, of a full one into StoreFull."""
    try:
        yield
    except (DisconnectionError, PoolTimeout) as error:
        raise StoreUnavailable(str(error)) from error
    except DBAPIError as error:
        if getattr(error.orig, "pgcode", None) == _DISK_FULL:
            raise StoreFull(_first_line(error)) from error
        if error.connection_invalidated or _is_outage(error):
            raise StoreUnavailable(_first_line(error)) from error
        raise


_DISK_FULL = "53100"
# SQLSTATE classes that mean a server fault, not a statement fault: connection failure, out of resources, shutdown or
# startup. A deadlock is the fault of neither: the transaction was rolled back, and the same work succeeds later.
_OUTAGES = ("08", "53", "57P", "40P01")


def _is_outage(error: DBAPIError) -> bool:
    state = getattr(error.orig, "pgcode", None)
    if state is None:
        return isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)
    return str(state).startswith(_OUTAGES)


def _first_line(error: DBAPIError) -> str:
    return (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
