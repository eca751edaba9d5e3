"""An answer of the API server, in Kubernetes' own words."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from msgspec import Struct

from shipyard_api.domain.json_types import JsonObject, objects
from shipyard_api.http import Response, busy
from shipyard_api.ports.errors import Unavailable

SYSTEM = "Kubernetes"


class Answer(Struct, frozen=True):
    """A whole answer."""

    response: Response

    @property
    def status(self) -> int:
        """The status of HTTP."""
        return self.response.status

    def object(self) -> JsonObject:
        """Return the body, which must be a JSON object. Raises Unavailable if it is not."""
        return self.response.object()

    @property
    def busy(self) -> bool:
        """Whether the API server did nothing and asks for a later retry."""
        return busy(self.response)

    @property
    def text(self) -> str:
        """The message of a Status with those of its causes; other bodies are not the API server's."""
        messages = [self._status.get("message"), *(cause.get("message") for cause in self._causes)]
        return " ".join(dict.fromkeys(str(message) for message in messages if message))

    @property
    def reason(self) -> str:
        """Kubernetes' word for a failure, such as ``NotFound``."""
        return str(self._status.get("reason") or "")

    @property
    def causes(self) -> frozenset[str]:
        """Kubernetes' words for the causes of a failure, and the fields of invalid values."""
        return frozenset(str(cause[key]) for cause in self._causes for key in ("reason", "field") if cause.get(key))

    @property
    def lacks_object(self) -> bool:
        """Whether the API server says that it has no such object. A 404 of a proxy, or of a route, does not."""
        return self.status == 404 and self.reason == "NotFound" and bool(self._details.get("name"))

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the API server wants to be asked again, None if it does not say."""
        seconds = self._details.get("retryAfterSeconds")
        asked = self.response.retry_after
        return float(seconds) if asked is None and isinstance(seconds, int) else asked

    @property
    def server_time(self) -> datetime:
        """The API server's clock, in whole seconds; ours if a proxy has removed it."""
        try:
            date = parsedate_to_datetime(self.response.headers.get("date", ""))
        except ValueError:
            return datetime.now(UTC)
        return date if date.tzinfo else date.replace(tzinfo=UTC)

    @property
    def _status(self) -> JsonObject:
        try:
            status = self.response.object()
        except Unavailable:
            return {}
        return status if status.get("kind") == "Status" else {}

    @property
    def _details(self) -> JsonObject:
        details = self._status.get("details")
        return details if isinstance(details, dict) else {}

    @property
    def _causes(self) -> list[JsonObject]:
        return objects(self._details.get("causes"))
