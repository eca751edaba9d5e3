"""A webhook as its receiver: one signed POST for each event."""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from shipyard_api.adapters.webhooks import Target, key_of
from shipyard_api.http import HttpClient
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.state.journal import EventFormat

# The part of an answer that is read; its content does not matter.
_MOST_BYTES = 64 * 1024
_TYPES = {
    EventFormat.SHIPYARD: "application/json",
    EventFormat.CLOUDEVENTS: "application/cloudevents+json; charset=UTF-8",
}


class WebhookReceiver:
    """Fills ``ports.webhooks.Receiver``; ``timeout``: seconds for an attempt. Redirects are not followed."""

    def __init__(self, target: Target, timeout: float, now: Callable[[], float] = time.time) -> None:
        self.name = target.name
        self.kinds = target.kinds
        self.format = target.format
        self._secrets = target.secrets
        self._now = now
        parts = urlsplit(target.url)
        self._path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        self._client = HttpClient(
            f"{parts.scheme}://{parts.netloc}",
            system=f"webhook {target.name}",
            scrubber=Scrubber(*target.secrets, self._path.lstrip("/")),
            connect_timeout=timeout,
            read_timeout=timeout,
            total_timeout=timeout,
            max_body=_MOST_BYTES,
        )

    def deliver(self, event: int, kind: str, body: bytes) -> None:
        """Send the event. Raises Unavailable or Busy without a complete answer, Refused for any but a 2xx."""
        at = str(int(self._now()))
        headers = {
            "Content-Type": _TYPES[self.format],
            "Webhook-Id": str(event),
            "Webhook-Timestamp": at,
            "Webhook-Signature": " ".join(
                standard_signature(key_of(secret), str(event), at, body) for secret in self._secrets
            ),
            "X-Shipyard-Delivery": str(event),
            "X-Shipyard-Event": kind,
            "X-Shipyard-Timestamp": at,
            "X-Shipyard-Signature": f"sha256={signature(self._secrets[0].encode(), at, body)}",
        }
        answer = self._client.post(self._path, body=body, headers=headers)
        if not answer.ok:
            raise Refused(self._client.system, "POST", f"answered {answer.status}")


def standard_signature(key: bytes, event: str, at: str, body: bytes) -> str:
    """Return a signature of Standard Webhooks 1.0.0, over id, timestamp and body."""
    signed = hmac.digest(key, f"{event}.{at}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(signed).decode()}"


def signature(key: bytes, at: str, body: bytes) -> str:
    """Return the HMAC-SHA256 of the timestamp, a full stop and the body, in hexadecimal digits."""
    return hmac.new(key, at.encode() + b"." + body, hashlib.sha256).hexdigest()
