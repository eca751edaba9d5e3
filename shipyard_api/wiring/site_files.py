"""The sites of an installation: a directory with one settings file a site, whose name is the site's.

A site has its own database, peers, identities and policy. The process has the rest: log, traces, threads.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage.addresses import parameters
from shipyard_api.wiring.settings import Settings, SettingsError, as_variables, load

VARIABLE = "SHIPYARD_SITES"
"""The variable that names the directory; `--sites` of the command line sets it."""

_SUFFIX = ".conf"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# The beginnings of variables whose settings belong to the process and to no site.
_OF_PROCESS = (
    "SHIPYARD_LOG_",
    "SHIPYARD_TRACES_",
    "SHIPYARD_WORKER_STATUS_",
    *(f"SHIPYARD_API_{name}" for name in ("WORKERS", "THREADS", "HEAD_", "BODY_", "ANSWER_")),
)

Sites = Mapping[str, Settings | SettingsError]
"""The sites by name, in alphabetical order; for unusable settings, their faults."""


def load_process(environ: Mapping[str, str]) -> Settings:
    """Return the settings that all sites share; raises SettingsError.

    A database is refused: it would be that of a site without a name.
    """
    settings = load(environ)
    if settings.database.url:
        raise SettingsError(
            ["DATABASE_URL is set, but with --sites the file of each site names its database: unset it"]
        )
    return settings


def load_sites(directory: str) -> Sites:
    """Return the sites of a directory. Raises SettingsError if it cannot be read; a faulty file harms only its site."""
    try:
        paths = sorted(path for path in Path(directory).iterdir() if path.suffix == _SUFFIX and path.name[0] != ".")
    except OSError as error:
        raise SettingsError([f"--sites {directory}: {error.strerror}"]) from error
    sites = {path.stem: _site(path) for path in paths}
    for names in _by_database(sites).values():
        for name in names:
            others = ", ".join(other for other in names if other != name)
            if others:
                sites[name] = SettingsError([f"its database is also that of {others}; each site needs its own"])
    return sites


def _site(path: Path) -> Settings | SettingsError:
    if not _NAME.fullmatch(path.stem):
        return SettingsError(
            [f"{path}: a site's name has 1 to 63 small letters, digits and hyphens, and no hyphen at either end"]
        )
    environ = {"SHIPYARD_CONFIG": str(path)}
    try:
        settings = load(environ)
    except SettingsError as error:
        return error
    faults = [
        f"{path}: {name} belongs to the process" for name in as_variables(environ) if name.startswith(_OF_PROCESS)
    ]
    if not settings.database.url:
        faults.append(f"{path}: [database] url is not set")
    return SettingsError(faults) if faults else settings


def _by_database(sites: Sites) -> Mapping[tuple[str, ...], list[str]]:
    """Return the names of sites by the server and the name of their database, as far as an address shows them."""
    by_database: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, settings in sites.items():
        if isinstance(settings, Settings):
            try:
                known = {"port": "5432", **parameters(settings.database.url)}
            except StoreUnavailable:
                continue  # the site itself reports it
            by_database[tuple(known.get(part, "") for part in ("host", "hostaddr", "port", "dbname"))].append(name)
    return by_database
