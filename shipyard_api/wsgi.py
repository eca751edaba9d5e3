"""The WSGI application, for gunicorn: ``shipyard_api.wsgi:app``."""

import os
import sys

from shipyard_api import bootstrap, logs
from shipyard_api.settings import SettingsError, load

try:
    _settings = load(os.environ)
    logs.configure(_settings.log.level)
    app = bootstrap.api(_settings)
except SettingsError as error:
    sys.stderr.write("".join(f"shipyard: {fault}\n" for fault in error.faults))
    raise SystemExit(2) from None
