"""The routes of Promenade: those of real ones that Shipyard calls, and the teardown API of seed 004."""

import json
from typing import Any

import falcon

from shipyard_simulators.control import refuse as refuse_control
from shipyard_simulators.promenade.site import FAILURES, Outcome, PromenadeSite
from shipyard_simulators.promenade.wire import PromenadeError, success, unsound

_DEFAULTS = {"drain": 3600, "clear-labels": 1800, "remove-etcd": 1800}
_GRACE = 1800
_UNABLE = "Unable to access Etcd"


class Versions:
    """``/versions``."""

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return the only version."""
        resp.media = {"v1.0": {"path": "/api/v1.0", "status": "stable"}}


class Health:
    """``/health``."""

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return nothing; nothing is checked."""
        resp.status = falcon.HTTP_204


class ValidateDesign:
    """``/validatedesign``; every design is sound."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer that the design is sound; only ``href`` is read. Without it, the answer is that of an unsound one."""
        if _reference(req).get("href"):
            resp.media = success("Validation", text="Promenade validations succeeded")
        else:
            resp.status, resp.media = falcon.HTTP_400, unsound("The request names no design")


class Operation:
    """One operation of the teardown API on a node."""

    def __init__(self, site: PromenadeSite, operation: str) -> None:
        self._site, self._operation = site, operation

    def on_post(self, req: falcon.Request, resp: falcon.Response, node: str) -> None:
        """Run it to its end."""
        timeout = _seconds(req, "timeout", _DEFAULTS.get(self._operation, 1))
        if self._operation == "drain" and _seconds(req, "grace-period", _GRACE) >= timeout:
            raise _bad_request("grace-period must be less than timeout")
        if self._operation == "remove-etcd":
            _design(req)
        resp.media = success("Success", self._site.run(self._operation, node))


class EtcdHealth:
    """``/etcd-cluster-health-statuses``."""

    def __init__(self, site: PromenadeSite) -> None:
        self._site = site

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return one message for each cluster."""
        if not req.get_param("design_ref"):
            raise PromenadeError(400, "InvalidFormatError", "design_ref is missing", reason="MissingDesignRef")
        if not self._site.etcd:
            raise PromenadeError(404, "NotFound", "The design names no etcd", reason="NotFound")
        if "invalid" in self._site.etcd.values():
            raise PromenadeError(500, "EtcdNotAccessible", "Not an answer of etcd", reason="EtcdNotAccessible")
        messages = [
            {"message": health, "error": health == _UNABLE, "kind": "HealthMessage", "name": name}
            for name, health in self._site.etcd.items()
        ]
        resp.media = success("Success", messages)


class Control:
    """The routes below ``/simulator``."""

    def __init__(self, site: PromenadeSite) -> None:
        self._site = site

    def on_get_nodes(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return each node with the operations that have ended well."""
        resp.media = {name: sorted(node.done) for name, node in sorted(self._site.nodes.items())}

    def on_put_outcome(self, req: falcon.Request, resp: falcon.Response, operation: str) -> None:
        """Set how an operation goes from now on."""
        body = _json(req)
        if operation not in FAILURES or not set(body) <= {"seconds", "failures", "warnings", "nodes"}:
            refuse_control(resp, [f"should be one of {', '.join(FAILURES)}, with seconds, failures, warnings, nodes"])
            return
        failures, warnings = (tuple(map(str, body.get(name, ()))) for name in ("failures", "warnings"))
        nodes = frozenset(map(str, body.get("nodes", ())))
        self._site.outcomes[operation] = Outcome(float(body.get("seconds", 0)), failures, warnings, nodes)
        resp.status = falcon.HTTP_204

    def on_put_etcd(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set the clusters with the health message of each; "invalid" is no answer of etcd."""
        self._site.etcd = {str(name): str(health) for name, health in _json(req).items()}
        resp.status = falcon.HTTP_204


class Tokens:
    """Middleware for X-Auth-Token."""

    def __init__(self, token: str) -> None:
        self.token = token

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        """Reject a request before any resource sees it."""
        if req.path.startswith("/simulator") or req.path in ("/versions", "/api/v1.0/health"):
            return
        if req.get_header("X-Auth-Token") != self.token:
            raise PromenadeError(401, "ApiError", "Unauthenticated")


def _reference(req: falcon.Request) -> dict[str, Any]:
    # A body of any other type counts as absent, even one with a charset.
    return _json(req) if req.content_type == "application/json" else {}


def _design(req: falcon.Request) -> None:
    body = _reference(req)
    if body.get("rel") != "design" or not body.get("href") or body.get("type") != "application/x-yaml":
        raise PromenadeError(400, "InvalidFormatError", "no design reference", reason="BadRequest")


def _json(req: falcon.Request) -> dict[str, Any]:
    try:
        body = json.loads(req.bounded_stream.read() or b"{}")
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


def _seconds(req: falcon.Request, name: str, default: int) -> int:
    text = req.get_param(name, default=str(default))
    if not text.isdecimal() or int(text) == 0:
        raise _bad_request(f"{name} must be a whole number above 0")
    return int(text)


def _bad_request(text: str) -> PromenadeError:
    return PromenadeError(400, "InvalidFormatError", text, reason="BadRequest")
