"""The worker process: ``python -m shipyard_api.worker``."""

import os
import sys

import click

from shipyard_api import bootstrap, logs
from shipyard_api.settings import load


@click.command()
def main() -> None:
    """Run actions until a signal stops the worker."""
    settings = load(os.environ)
    logs.configure(settings.log.level)
    sys.exit(bootstrap.worker(settings).run())


if __name__ == "__main__":
    sys.exit(bootstrap.run_program(lambda: main(prog_name="shipyard worker")))
