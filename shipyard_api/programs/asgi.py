"""The ASGI application, for gunicorn: ``shipyard_api.programs.asgi:app``."""

import os
import sys

from shipyard_api.api.airship.costly_work import CostlyWork
from shipyard_api.api.http import second_process
from shipyard_api.api.http.limits import CallerLimits
from shipyard_api.api.http.observation import Observation
from shipyard_api.api.http.threads import use_threads
from shipyard_api.observing import logs
from shipyard_api.wiring import bootstrap, site_serving
from shipyard_api.wiring.settings import SettingsError, load
from shipyard_api.wiring.site_files import VARIABLE, load_process

_PLANNER = second_process.command("shipyard_api.programs.planner")

try:
    _sites = os.environ.get(VARIABLE)
    _settings = load_process(os.environ) if _sites else load(os.environ)
    try:
        logs.configure(_settings.log.level.value, _settings.log.audit_file)
    except OSError as error:
        raise SettingsError([f"[log] audit_file: {error}"]) from error
    # A request changes threads some ten times. Beside a thread that plans or forecasts, it waits this long each time.
    sys.setswitchinterval(0.0002)
    use_threads(_settings.api.threads)
    # Of several sites, one has at most half of them.
    _planners = [second_process.SecondProcess(_PLANNER) for _ in range(2 if _sites else 1)]
    _costly = CostlyWork(seconds=_planners)
    app = CallerLimits(
        site_serving.api(_sites, _settings, _costly) if _sites else Observation(bootstrap.api(_settings, _costly)),
        body=_settings.api.body_seconds,
        answer=_settings.api.answer_seconds,
    )
except SettingsError as error:
    sys.stderr.write("".join(f"Error: {fault}\n" for fault in error.faults))
    # gunicorn's WORKER_BOOT_ERROR: at any other code it starts the process again, for ever.
    raise SystemExit(3) from None
