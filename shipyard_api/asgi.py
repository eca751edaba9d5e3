"""The ASGI application, for gunicorn: ``shipyard_api.asgi:app``."""

import os
import sys

from shipyard_api import bootstrap, logs
from shipyard_api.api.http.limits import CallerLimits
from shipyard_api.api.http.observation import Observation
from shipyard_api.api.http.threads import USUAL_THREADS, use_threads
from shipyard_api.settings import SettingsError, load

try:
    _settings = load(os.environ)
    try:
        logs.configure(_settings.log.level, _settings.log.audit_file)
    except OSError as error:
        raise SettingsError([f"[log] audit_file: {error}"]) from error
    # A request changes threads some ten times. Beside a thread that plans or forecasts, it waits this long each time.
    sys.setswitchinterval(0.0002)
    use_threads(int(os.environ.get("SHIPYARD_API_THREADS", str(USUAL_THREADS))))
    app = CallerLimits(
        Observation(bootstrap.api(_settings)),
        body=float(os.environ.get("SHIPYARD_API_BODY_SECONDS", "60")),
        answer=float(os.environ.get("SHIPYARD_API_ANSWER_SECONDS", "180")),
    )
except SettingsError as error:
    sys.stderr.write("".join(f"shipyard: {fault}\n" for fault in error.faults))
    raise SystemExit(2) from None
