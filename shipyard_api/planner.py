"""The second process of an API process, for plans and forecasts: ``python -m shipyard_api.planner DESCRIPTOR``."""

import logging
import os
import sys

from shipyard_api import logs
from shipyard_api.api.airship.costly_work import UNBOUNDED, CostlyWork
from shipyard_api.api.http import second_process
from shipyard_api.settings import load
from shipyard_api.site_files import VARIABLE
from shipyard_api.wiring import bootstrap, site_serving

if __name__ == "__main__":
    second_process.lower_priority()
    sites = os.environ.get(VARIABLE)
    settings = load(os.environ)
    logs.configure(settings.log.level.value)
    # The first process has admitted what comes here, and audits it with the caller's address.
    logging.getLogger(logs.AUDIT).disabled = True
    costly = CostlyWork(UNBOUNDED, UNBOUNDED)
    application = site_serving.api(sites, settings, costly) if sites else bootstrap.api(settings, costly)
    second_process.serve(application, int(sys.argv[1]))
