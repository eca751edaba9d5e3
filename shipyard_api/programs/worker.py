"""The worker process: ``python -m shipyard_api.programs.worker``."""

import contextlib
import ctypes
import gc
import http.client
import os
import sys
from http import HTTPStatus

import click

from shipyard_api.adapters.gunicorn.metrics_directory import memory_directory, own_directory
from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.observing import logs
from shipyard_api.programs import launch
from shipyard_api.wiring import bootstrap, monitoring
from shipyard_api.wiring.settings import SettingsError, load
from shipyard_api.wiring.site_files import load_process

_PROBE = 3.0  # seconds
_M_ARENA_MAX, _ARENAS = -8, 2  # of glibc's mallopt()


@click.command()
@click.option("--probe", is_flag=True, help="Ask the running worker whether it is alive, and exit 0 or 1.")
@launch.SITES
def main(probe: bool, sites: str | None) -> None:
    """Run actions until a signal stops the worker."""
    settings = load_process(os.environ) if sites else load(os.environ)
    if probe:
        sys.exit(_probe(settings.worker))
    logs.configure(settings.log.level.value)
    _limit_arenas()
    if sites:
        if settings.worker.status_port:
            # Set before prometheus_client is imported: the workers of the sites keep their values there.
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = own_directory(memory_directory())
        from shipyard_api.programs import worker_pool  # a single worker needs none of it

        sys.exit(worker_pool.run(sites, settings))
    worker = bootstrap.worker(settings)
    gc.freeze()  # modules and tables stay: a look at all of them takes a tenth of a second
    with monitoring.status_port(settings.worker, lambda: worker.heartbeat_age):
        sys.exit(worker.run())


def _limit_arenas() -> None:
    """Let threads share two heaps: with one for each, what a large answer needed stays with the thread that read it."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def _probe(options: WorkerOptions) -> int:
    """Return the exit code for the worker at the port of these settings."""
    if not options.status_port:
        raise SettingsError(["[worker] status_port is not set: the worker answers probes there"])
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.status_address, options.status_address)  # noqa: S104
    connection = http.client.HTTPConnection(host, int(options.status_port), timeout=_PROBE)
    try:
        connection.request("GET", "/health/live")
        if connection.getresponse().status == HTTPStatus.NO_CONTENT:
            return 0
        fault = f"has sent no heartbeat for {options.stalled_seconds:g} s"
    except OSError as error:
        fault = f"does not answer: {error}"
    finally:
        connection.close()
    click.echo(f"The worker at {host}:{options.status_port} {fault}", err=True)
    return 1


if __name__ == "__main__":
    sys.exit(launch.run_program(lambda: main(prog_name="shipyard worker")))
