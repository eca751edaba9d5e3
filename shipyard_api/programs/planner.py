"""The second process of an API process, for plans: ``python -m shipyard_api.programs.planner DESCRIPTOR``."""

import logging
import os
import sys

from shipyard_api.api.airship.costly_work import UNBOUNDED, CostlyWork
from shipyard_api.api.http import second_process
from shipyard_api.observing import logs
from shipyard_api.wiring import bootstrap, site_serving
from shipyard_api.wiring.settings import load
from shipyard_api.wiring.site_files import VARIABLE

LOG = logging.getLogger(__name__)


def main(descriptor: int) -> int:
    """Serve until the first process hangs up; return the exit code."""
    sites = os.environ.get(VARIABLE)
    settings = load(os.environ)
    logs.configure(settings.log.level.value)
    # The first process has admitted what comes here, and audits it with the caller's address.
    logging.getLogger(logs.AUDIT).disabled = True
    try:
        costly = CostlyWork(UNBOUNDED, UNBOUNDED)
        application = site_serving.api(sites, settings, costly) if sites else bootstrap.api(settings, costly)
        second_process.serve(application, descriptor)
    except Exception:
        LOG.exception("second process ends")  # a line of the log like every other, and not a traceback
        return 1
    return 0


if __name__ == "__main__":
    second_process.lower_priority()
    sys.exit(main(int(sys.argv[1])))
