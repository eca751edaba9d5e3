"""Headers of every answer: browsers must trust its content type, run nothing of it, and show it to no other site.

There is no CORS here: without ``Access-Control-Allow-Origin`` no page of another origin can read an answer, and what a
page of another origin sends carries no token, since tokens are no cookies. Also whom to tell about a vulnerability.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy

_ALWAYS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
# An answer of the API is data, whatever a browser makes of it.
_POLICY = ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
# Everything below these addresses shows a site, and some of it its passwords.
_PRIVATE = ("/api/", "/v1/")
# A reader asks again after this time. While the setting is there, the contact holds.
_VALID = timedelta(days=30)


class SecurityTxt:
    """``/.well-known/security.txt`` (RFC 9116). ``contact``: such as ``mailto:security@example.org``; "" for none."""

    policy: ClassVar[Policy] = {"GET": None}

    def __init__(self, contact: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._contact = contact
        self._now = now

    async def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the contact, or 404 if none is configured."""
        if not self._contact:
            raise falcon.HTTPNotFound(title="No contact", description="[api] security_contact is not set.")
        # Whole days, so that the answer and its tag stay the same for a day.
        expires = self._now().replace(hour=0, minute=0, second=0) + _VALID
        resp.content_type = "text/plain; charset=utf-8"
        resp.text = f"Contact: {self._contact}\nExpires: {expires:%Y-%m-%dT%H:%M:%SZ}\nPreferred-Languages: en\n"


class SecurityHeaders:
    """Middleware. A resource that serves a page sets a content security policy and a cache control of its own."""

    async def process_response(
        self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool
    ) -> None:
        """Add the headers, to errors too."""
        for name, value in _ALWAYS:
            resp.set_header(name, value)
        if resp.get_header(_POLICY[0]) is None:
            resp.set_header(*_POLICY)
        if req.path.startswith(_PRIVATE):
            resp.set_header("Cache-Control", "no-store")
