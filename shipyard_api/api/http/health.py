"""Whether the service works, and the description of the API; the same for every dialect."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ClassVar

import falcon
import yaml

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded
from shipyard_api.usecases.actions.skipped_actions import FindSkippedActions
from shipyard_api.usecases.health import CheckHealth, ClockSkew, clock_wording

SKIPPED_ACTIONS_HEADER = "X-Shipyard-Left-Alone"
CLOCK_SKEW_HEADER = "X-Shipyard-Clock-Skew"
_SHOWN = 5  # actions in the header


class Readiness:
    """``/health``: says whether this process can work: its database answers and has a schema of this release.

    Headers name the running actions that this release leaves to workers of another one, and how far the clocks of
    database and peers are from this host's.
    """

    policy: ClassVar[Policy] = {"GET": None}

    def __init__(
        self, check_schema: Callable[[], None], find_skipped_actions: FindSkippedActions, clock_skew: ClockSkew
    ) -> None:
        self._clock_skew = clock_skew
        self._check_schema = check_schema
        self._find_skipped_actions = find_skipped_actions

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer 204, or 503 with the error status."""
        self._check_schema()
        if left := self._find_skipped_actions():
            shown = ", ".join(f"{record.action} {record.unknown}" for record in left[:_SHOWN])
            resp.set_header(SKIPPED_ACTIONS_HEADER, shown.encode("ascii", "backslashreplace").decode())
        if skew := self._clock_skew.latest():
            resp.set_header(CLOCK_SKEW_HEADER, clock_wording(skew))
        resp.status = falcon.HTTP_204


class Live:
    """``/health/live``: says whether the event loop of this process moves, and nothing else."""

    policy: ClassVar[Policy] = {"GET": None}

    async def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer 204."""
        resp.status = falcon.HTTP_204


class Ready:
    """``/health/ready``: says whether this process can serve requests, with a check per peer.

    Only the database decides: without a peer, most requests still work.
    """

    policy: ClassVar[Policy] = {"GET": None}

    def __init__(self, check_health: CheckHealth) -> None:
        self._check_health = check_health

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer 200 or 503 with the checks."""
        checks = self._check_health()
        ready = all(check.ok for check in checks if check.critical)
        resp.status = falcon.HTTP_200 if ready else falcon.HTTP_503
        resp.media = {
            "status": "ready" if ready else "unready",
            "checks": [
                {
                    "name": check.name,
                    "status": "ok" if check.ok else "failed",
                    "critical": check.critical,
                    "detail": check.detail,
                }
                for check in checks
            ],
        }


class OpenApi:
    """``/openapi.json``: the description of this API, OpenAPI 3.1."""

    policy: ClassVar[Policy] = {"GET": None}

    def __init__(self, path: Path) -> None:
        self._path = path

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the document."""
        resp.content_type = falcon.MEDIA_JSON
        resp.data = _as_json(self._path)


@cache
def _as_json(path: Path) -> bytes:
    """Return the document as JSON. Parsing it takes longer than everything else that a process does at its start."""
    return json.dumps(yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)).encode()
