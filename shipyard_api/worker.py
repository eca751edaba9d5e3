"""The worker process: ``python -m shipyard_api.worker``."""

import os
import sys

from shipyard_api import bootstrap, logs
from shipyard_api.settings import load


def main() -> int:
    """Work until a signal asks to stop."""
    settings = load(os.environ)
    logs.configure(settings.log.level)
    return bootstrap.worker(settings).run()


if __name__ == "__main__":
    sys.exit(bootstrap.run_program(main))
