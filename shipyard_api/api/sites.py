"""Many sites under one roof: the beginning of a path, ``/sites/NAME``, says whose application serves the request.

A site's application is made when it is first needed. The faults of a site are reported below its own addresses.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.airship import error_answers as airship_errors
from shipyard_api.api.airship.statuses import problem
from shipyard_api.api.dashboard.app import PREFIX as DASHBOARD
from shipyard_api.api.dashboard.app import Dashboard
from shipyard_api.api.events.resources import PATH as EVENTS
from shipyard_api.api.http import health
from shipyard_api.api.http.authentication import Guarded, Policy
from shipyard_api.api.http.dialect import Dialect, mounted
from shipyard_api.api.http.limits import MOUNTED, Application, Receive, Scope, Send
from shipyard_api.api.http.observation import Observation
from shipyard_api.api.http.problems import Problems
from shipyard_api.api.http.request_context import RequestContextMiddleware
from shipyard_api.api.http.security import SecurityHeaders
from shipyard_api.api.mount import Mount
from shipyard_api.observing import request_context

LOG = logging.getLogger(__name__)

PREFIX = "/sites"

# In the scope of a request for a site that cannot serve it: why.
_ABSENCE = "shipyard.absence"


class UnusableSite(Exception):
    """The settings of a site cannot be used; the text names the faults, for the log."""


class Site:
    """A site of the process. ``make`` returns its application or raises UnusableSite; it is called in a thread, once.

    ``is_cut_off``: whether its database was out of reach when it was last needed. ``fault``: why its settings cannot be
    used, as far as that is known.
    """

    def __init__(self, name: str, make: Callable[[], Application], is_cut_off: Callable[[], bool]) -> None:
        self.name = name
        self.fault = ""
        self._make = make
        self._is_cut_off = is_cut_off
        self.application: Application | None = None

    def open(self) -> None:
        """Make the application, unless it is made or cannot be."""
        if self.application is not None or self.fault:
            return
        try:
            self.application = Observation(self._make())
        except UnusableSite as error:
            self.fault = str(error)
        if self.fault:
            LOG.error("site cannot be served", extra={"site": self.name, "trouble": self.fault})

    def status(self) -> dict[str, str]:
        """Return the state of the site as far as this process knows it, for anyone."""
        trouble = "its settings are invalid" if self.fault else "its database is out of reach" * self._is_cut_off()
        return {
            "name": self.name,
            "url": f"{PREFIX}/{self.name}/",
            "status": "failed" if trouble else "ok",
            "detail": trouble,
        }


class Sites:
    """ASGI application.

    ``most_streams``: sites whose event streams may be open at the same time; each has a LISTEN. ``openapi``: the
    document about the addresses outside of all sites.
    """

    def __init__(self, sites: Mapping[str, Site], *, most_streams: int, openapi: Path) -> None:
        self._sites = sites
        self._most_streams = most_streams
        self._streams: Counter[str] = Counter()
        # One after another, so that no site is made twice.
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="site")
        self._absent = _absent()
        self._roof = _roof(routes(sites, openapi))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, to a site or to the pages of all of them."""
        path = scope.get("path", "")
        if not path.startswith(f"{PREFIX}/"):
            await self._roof(scope, receive, send)
            return
        name, slash, rest = path.removeprefix(f"{PREFIX}/").partition("/")
        if not slash and name in self._sites:
            await _redirect(f"{PREFIX}/{name}/", send)
            return
        # In place: outer applications read what inner ones write into the scope.
        scope["path"] = f"/{rest}"
        # ASGI promises an iterable, which may be read only once.
        scope["headers"] = [(key, value) for key, value in scope["headers"]]
        scope["root_path"] = scope[MOUNTED] = f"{PREFIX}/{name}"
        site = self._sites.get(name)
        if site is None:
            scope[_ABSENCE] = falcon.HTTPNotFound(title="Site not found", description=f"There is no site {name[:63]}.")
            await self._absent(scope, receive, send)
            return
        with request_context.within_site(name):
            await self._serve(site, scope, receive, send)

    async def _serve(self, site: Site, scope: Scope, receive: Receive, send: Send) -> None:
        if site.application is None and not site.fault:
            await asyncio.get_running_loop().run_in_executor(self._maker, request_context.propagated(site.open))
        if site.application is None:
            scope[_ABSENCE] = _unavailable(
                f"The settings of site {site.name} are invalid. `shipyard config check --sites` names the faults."
            )
            await self._absent(scope, receive, send)
        elif scope["path"] != EVENTS:
            await site.application(scope, receive, send)
        elif site.name not in self._streams and len(self._streams) >= self._most_streams:
            scope[_ABSENCE] = _unavailable("Too many sites have event streams open. Read again, or ask later.")
            await self._absent(scope, receive, send)
        else:
            self._streams[site.name] += 1
            try:
                await site.application(scope, receive, send)
            finally:
                self._streams[site.name] -= 1
                if not self._streams[site.name]:
                    del self._streams[site.name]


class SiteList:
    """``/sites``: the sites, and which of them cannot be served. Their names are no secret to who reaches the port."""

    policy: ClassVar[Policy] = {"GET": None}

    def __init__(self, sites: Mapping[str, Site]) -> None:
        self._sites = sites

    async def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with all sites."""
        resp.media = {"sites": [site.status() for site in self._sites.values()]}


class SitesHealth:
    """``/health`` and ``/health/ready`` of all sites: this process can work; the sites that cannot be served are named.

    A sick site leaves the process in service: other sites need the process.
    """

    policy: ClassVar[Policy] = {"GET": None}

    def __init__(self, sites: Mapping[str, Site]) -> None:
        self._sites = sites

    async def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer 200 with the sites in trouble."""
        failed = [status for status in (site.status() for site in self._sites.values()) if status["status"] != "ok"]
        resp.media = {"status": "ready", "sites": len(self._sites), "failed": failed}


class _Absence:
    """Middleware that answers every request with what the scope says."""

    async def process_request(self, req: falcon.asgi.Request, _resp: falcon.Response) -> None:
        raise req.scope[_ABSENCE]


def routes(sites: Mapping[str, Site], openapi: Path) -> Mapping[str, Guarded]:
    """Return the addresses outside of all sites, with their resources."""
    ready = SitesHealth(sites)
    return {
        PREFIX: SiteList(sites),
        "/health": ready,
        "/health/ready": ready,
        "/health/live": health.Live(),
        "/openapi.json": health.OpenApi(openapi),
    }


def _roof(resources: Mapping[str, Guarded]) -> Mount:
    """Return what serves the addresses outside of all sites."""
    # An address of a single site's installation is explained as one that is not known.
    addresses = (*resources, f"{PREFIX}/{{name}}/api/v1.0/actions")
    app = _app(partial(airship_errors.install, addresses=addresses), Problems(problem))
    for address, resource in resources.items():
        app.add_route(address, resource)
    page = Dashboard(otherwise=app, page="/sites.html")
    return Mount(app, {"/": page, DASHBOARD: page})


def _absent() -> Mount:
    """Return what answers for a site that is not there, in the form of each dialect."""

    def app(dialect: Dialect) -> Any:
        forms = (one for one in dialect.middleware if isinstance(one, Problems))
        return _app(dialect.install_errors, *forms, _Absence())

    return Mount(_app(partial(airship_errors.install, addresses=()), Problems(problem), _Absence()), mounted(app))


def _app(install: Callable[[Any], None], *middleware: object) -> Any:
    middlewares: list[Any] = [SecurityHeaders(), RequestContextMiddleware(), *middleware]
    app: Any = falcon.asgi.App(middleware=middlewares)
    install(app)
    return app


def _unavailable(why: str) -> falcon.HTTPError:
    return falcon.HTTPServiceUnavailable(title="Site not available", description=why, retry_after=30)


async def _redirect(to: str, send: Send) -> None:
    """Answer that the page has a slash at its end, which the addresses in it need."""
    headers = [(b"location", to.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 308, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
