"""The worker process: ``python -m shipyard_api.worker``."""

import os
import sys

from shipyard_api import bootstrap, logs
from shipyard_api.settings import SettingsError, load


def main() -> int:
    """Work until a signal asks to stop."""
    try:
        settings = load(os.environ)
        logs.configure(settings.log.level)
        return bootstrap.worker(settings).run()
    except SettingsError as error:
        sys.stderr.write("".join(f"shipyard: {fault}\n" for fault in error.faults))
        return 2


if __name__ == "__main__":
    sys.exit(main())
