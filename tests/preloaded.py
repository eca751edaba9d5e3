"""What API, worker and stack import before they work, but for metrics: those read their directory when imported."""

import pkgutil
import sys
from importlib import import_module

import shipyard_api.api

for module in pkgutil.walk_packages(shipyard_api.api.__path__, "shipyard_api.api."):
    import_module(module.name)
for name in (
    "gunicorn.app.wsgiapp",
    "gunicorn.workers.gasgi",
    "jsonschema_rs",
    "networkx",
    "procrastinate",
    "psycopg_pool",
    "requests",
    "shipyard_api.adapters.oslo_policy.policy",
    "shipyard_api.programs.stack",
    "shipyard_api.programs.worker",
):
    import_module(name)
assert "prometheus_client" not in sys.modules
