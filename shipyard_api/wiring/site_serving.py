"""Wires an API of many sites: an application for each, on what they share."""

from functools import partial

from shipyard_api.api.airship.costly_work import CostlyWork
from shipyard_api.api.http.limits import Application
from shipyard_api.api.sites import Site, Sites, UnusableSite
from shipyard_api.storage.connections import ConnectionBound
from shipyard_api.wiring import bootstrap, monitoring
from shipyard_api.wiring.settings import Settings, SettingsError, share_directory
from shipyard_api.wiring.site_files import load_sites

# Two engines a site, each with its pool and as many connections beyond: all sites together have what one may have.
_POOLS = 4


def api(directory: str, settings: Settings, costly: CostlyWork) -> Sites:
    """Return the application of the sites of a directory. ``settings``: of the process. Raises SettingsError."""
    monitoring.trace("api", settings.traces)
    bound = ConnectionBound(_POOLS * settings.database.pool_size)
    sites = {}
    for name, loaded in load_sites(directory).items():
        url = loaded.database.url if isinstance(loaded, Settings) else ""
        sites[name] = Site(
            name, partial(_application, name, loaded, costly, bound), partial(bound.is_out_of_reach, url)
        )
        if isinstance(loaded, SettingsError):
            sites[name].open()  # logs the faults
    openapi = share_directory() / "schemas" / "openapi-sites.yaml"
    return Sites(sites, most_streams=2 * settings.database.pool_size, openapi=openapi)


def _application(
    name: str, loaded: Settings | SettingsError, costly: CostlyWork, bound: ConnectionBound
) -> Application:
    try:
        if isinstance(loaded, SettingsError):
            raise loaded
        return bootstrap.api(loaded, costly, site=name, bound=bound)
    except SettingsError as error:
        raise UnusableSite(str(error)) from error
