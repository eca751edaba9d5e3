"""A TCP port for the server."""

import random
import socket

from shipyard_simulators.embedded_postgres.errors import PostgresError

# Below the ports that Linux and macOS give to clients: a client that knocks while the server restarts could
# otherwise be given the server's own port, be connected to itself, and keep the server out.
_RANGE = range(20000, 30000)


def is_free(port: int) -> bool:
    """Return whether a server could listen on the port of 127.0.0.1 now."""
    with socket.socket() as probe:
        # As PostgreSQL does: connections of the last run that are still closing do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free() -> int:
    """Return a port that is free now; another program may take it before it is used."""
    for port in random.SystemRandom().sample(_RANGE, 100):
        if is_free(port):
            return port
    raise PostgresError("There is no free port on 127.0.0.1: 100 between 20000 and 29999 were tried.")
