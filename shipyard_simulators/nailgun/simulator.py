"""The whole nailgun simulator and its port."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import falcon

from shipyard_simulators import control, request_log
from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.nailgun.site import FuelSite
from shipyard_simulators.server import Application, Simulated, in_thread

API = "/api/v1"


class NailgunSimulator(Simulated):
    """A simulated nailgun on 127.0.0.1, which only answers reads.

    ``token``: the token that clients must send (None: any client is accepted). ``clock`` replaces the one of
    ``time_scale``, real seconds per nominal second.
    """

    def __init__(
        self,
        site: FuelSite,
        *,
        time_scale: float = 1.0,
        port: int = 0,
        log_file: Path | None = None,
        token: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        log = EventLog(log_file)
        super().__init__(_app(site, clock or Clock(time_scale), log, token), port, log)

    def events(self) -> list[dict[str, Any]]:
        """Return the event log so far."""
        return self._log.events()


def running(site: FuelSite, **options: Any) -> AbstractContextManager[NailgunSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of NailgunSimulator."""
    return in_thread(NailgunSimulator(site, **options))


def _app(site: FuelSite, clock: Clock, log: EventLog, token: str | None) -> Application:
    app = falcon.App()
    app.req_options.strip_url_path_trailing_slash = True
    app.add_error_handler(falcon.HTTPError, _refuse)
    app.add_middleware(_Tokens(token))
    app.add_route(
        f"{API}/version", _Answer(lambda: {"release": site.version.value, "auth_required": token is not None})
    )
    app.add_route(f"{API}/releases", _Answer(lambda: [site.release()]))
    app.add_route(f"{API}/clusters", _Answer(lambda: [site.cluster()]))
    app.add_route(f"{API}/releases/2", _Answer(site.release))
    app.add_route(f"{API}/clusters/5", _Answer(site.cluster))
    app.add_route(f"{API}/releases/2/deployment_tasks", _Answer(site.tasks_of_release))
    app.add_route(f"{API}/clusters/5/deployment_tasks", _Answer(site.tasks_of_cluster))
    if site.has_tags:
        for word, own, of_release in (("roles", site.own_roles, site.roles), ("tags", site.own_tags, site.tags)):
            app.add_route(f"{API}/releases/2/{word}", _Answer(_labels(of_release)))
            app.add_route(f"{API}/clusters/5/{word}", _Answer(_labels({**of_release, **own})))
    app.add_route("/simulator/requests", control.Requests(log))
    return request_log.RequestLog(app, clock, log)


def _labels(labels: Mapping[str, Any]) -> Callable[[], object]:
    return lambda: [{"name": name, "meta": meta} for name, meta in labels.items()]


class _Tokens:
    """Refuses requests without the token, but for the version."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        """Raise for a missing or wrong token."""
        if self._token and req.path != f"{API}/version" and req.get_header("X-Auth-Token") != self._token:
            raise falcon.HTTPUnauthorized(description="Authentication required")


class _Answer:
    """One address that can be read."""

    def __init__(self, content: Callable[[], object]) -> None:
        self._content = content

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return the content as JSON."""
        resp.text = json.dumps(self._content())
        resp.content_type = falcon.MEDIA_JSON


def _refuse(_req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: Any) -> None:
    """Answer as nailgun does: JSON that calls itself HTML."""
    resp.status = error.status
    resp.text = json.dumps({"message": error.description or error.title, "errors": []})
    resp.content_type = "text/html"
