"""``/.well-known/security.txt``: whom to tell about a vulnerability of this installation (RFC 9116)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy

# A reader asks again after this time. While the setting is there, the contact holds.
_VALID = timedelta(days=30)


class SecurityTxt:
    """``contact``: an address such as ``mailto:security@example.org``; empty: the installation names none."""

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
