"""How gunicorn serves the API; docs/howto/harden.md gives the reasons, https://docs.gunicorn.org every setting."""

import gc
import logging
import os
import resource
import shutil
import sys
from typing import Any

from shipyard_api.adapters.gunicorn import first_check
from shipyard_api.adapters.gunicorn.logger import JsonLogger
from shipyard_api.adapters.gunicorn.metrics_directory import memory_directory, own_directory
from shipyard_api.wiring.settings import SettingsError, load
from shipyard_api.wiring.site_files import VARIABLE, load_process

try:
    settings = load_process(os.environ) if os.environ.get(VARIABLE) else load(os.environ)
except SettingsError as error:
    sys.stderr.write("".join(f"Error: {fault}\n" for fault in error.faults))
    sys.exit(2)

bind = os.environ.get("SHIPYARD_BIND", "127.0.0.1:9000")
workers = settings.api.workers
# One event loop a process; SHIPYARD_API_THREADS is the size of the pool in which requests work (programs/asgi.py).
worker_class = "asgi"
# Connections that one process holds; more are closed at once. Each is an open file, and the rest needs some.
worker_connections = max(16, min(2000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100))
backlog = 2048
# A worker whose loop stalls for longer is killed; a slow request does not stall the loop.
timeout = 300
graceful_timeout = 30
keepalive = 5
limit_request_line = 8190
limit_request_fields = 64
limit_request_field_size = 8190
# No header names the caller, the start of the service's path, or a secure connection; gunicorn
# would believe every caller of a unix socket.
forwarded_allow_ips = ""
forwarder_headers = ""
secure_scheme_headers = {}
header_map = "drop"
# Two instances of one user would otherwise fight over one control socket in the home directory.
control_socket_disable = True
# A process starts although the disk of temporary files is full.
worker_tmp_dir = memory_directory()
logger_class = JsonLogger
accesslog = None
errorlog = "-"
loglevel = "warning"
# Each process keeps its metrics in files here, and /metrics of any of them sums up all. Set before prometheus_client
# is imported, and always new: files of an earlier start would count again.
os.environ["PROMETHEUS_MULTIPROC_DIR"] = own_directory(memory_directory())
# Requests leave few cycles, so garbage is searched for at every 50,000th new object instead of every 700th.
gc.set_threshold(50_000, 20, 20)


def on_starting(server: Any) -> None:
    """Refuse settings and a database that the service cannot use, before it has a port.

    Both are checked again: the settings by each process, the database by /health.
    """
    # Once for the check and for all processes, which are forks of this one: it would take each more than a second. What
    # this imports starts no thread and leaves metrics alone.
    from shipyard_api.wiring import bootstrap, site_serving  # noqa: F401

    if not first_check.passes(_check):
        if server.pidfile is not None:
            server.pidfile.unlink()
        sys.exit(2)


def _check() -> None:
    """Do what each process of the server does later, and look at the database; one that is away is an outage."""
    import shipyard_api.programs.asgi  # noqa: F401  # reports faults, and exits
    from shipyard_api.ports.state.errors import StoreUnavailable, UnsuitableDatabase
    from shipyard_api.storage.schema import check_database

    if os.environ.get(VARIABLE):
        return  # a site that cannot be served keeps no other one from it
    try:
        check_database(settings.database.url)
    except UnsuitableDatabase as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)
    except StoreUnavailable:
        pass  # requests get 503 until it is over


def on_exit(_server: Any) -> None:
    """Remove the metrics of this start."""
    shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)


def post_worker_init(worker: Any) -> None:
    """Bound the connections of this process; the first one logs that the API is ready."""
    from shipyard_api.adapters.gunicorn.connection import use_bounded_connections

    gc.freeze()  # imported modules stay; they need no search
    use_bounded_connections(worker, head_seconds=settings.api.head_seconds)
    if worker.age == 1:  # its number among all that were ever started
        addresses = [str(listener) for listener in worker.sockets]
        fields = {"addresses": addresses, "processes": worker.cfg.workers}
        logging.getLogger("shipyard_api.programs.asgi").info("API is ready", extra=fields)


def when_ready(server: Any) -> None:
    """Refuse to serve other machines without authentication. Authentication is checked again by each request."""
    from shipyard_api.adapters.identity import IdentityKind
    from shipyard_api.adapters.identity.loopback import open_to_others

    kind = settings.identity.kind
    if kind is IdentityKind.NONE and (found := open_to_others(one.sock.getsockname() for one in server.LISTENERS)):
        server.halt(
            f"[identity] kind = none is for this machine only, and {', '.join(found)} can be reached from others: "
            "bind to 127.0.0.1, or choose another kind",
            2,
        )
