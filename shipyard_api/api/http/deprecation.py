"""Answers of what will go away say since when it is deprecated and when it ends (RFC 9745, RFC 8594)."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from email.utils import format_datetime

import falcon
from msgspec import Struct


class Deprecated(Struct, frozen=True):
    """``since``: the day of the release that announced it. ``sunset``: the day from which it may be gone."""

    since: date
    sunset: date


DEPRECATED: Mapping[tuple[str, str], Deprecated] = {}
"""Methods and routes, such as ``("GET", "/api/v1.0/site_statuses")``; the page on stability names them, too."""


class Deprecation:
    """Middleware."""

    def __init__(self, deprecated: Mapping[tuple[str, str], Deprecated] = DEPRECATED) -> None:
        self._deprecated = deprecated

    async def process_resource(
        self, req: falcon.Request, resp: falcon.Response, _resource: object, _params: object
    ) -> None:
        """Add the headers, to errors too."""
        if deprecated := self._deprecated.get((req.method, req.uri_template or "")):
            resp.set_header("Deprecation", f"@{int(_midnight(deprecated.since).timestamp())}")
            resp.set_header("Sunset", format_datetime(_midnight(deprecated.sunset), usegmt=True))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
