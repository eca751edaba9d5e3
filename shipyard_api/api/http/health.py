"""Whether the service works, and the description of the API; the same for every dialect."""

import json
from pathlib import Path
from typing import Any, ClassVar

import falcon
import yaml

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded
from shipyard_api.usecases.actions.describe import DescribeAction


class Readiness:
    """``/health``: says whether this process can work: its database answers."""

    policy: ClassVar[Policy] = {"GET": None}

    def __init__(self, describe: DescribeAction) -> None:
        self._describe = describe

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer 204, or 503 with the error status."""
        self._describe.ping()
        resp.status = falcon.HTTP_204


class OpenApi:
    """``/openapi.json``: the description of this API, OpenAPI 3.1."""

    policy: ClassVar[Policy] = {"GET": None}

    def __init__(self, path: Path) -> None:
        document: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        self._body = json.dumps(document).encode()

    async def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the document."""
        resp.content_type = falcon.MEDIA_JSON
        resp.data = self._body
