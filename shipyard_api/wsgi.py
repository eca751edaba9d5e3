"""The WSGI application, for gunicorn: ``shipyard_api.wsgi:app``."""

import os
import sys

from shipyard_api import bootstrap, logs
from shipyard_api.settings import SettingsError, load

try:
    _settings = load(os.environ)
    try:
        logs.configure(_settings.log.level, _settings.log.audit_file)
    except OSError as error:
        raise SettingsError([f"[log] audit_file: {error}"]) from error
    app = bootstrap.api(_settings)
except SettingsError as error:
    sys.stderr.write("".join(f"shipyard: {fault}\n" for fault in error.faults))
    raise SystemExit(2) from None
