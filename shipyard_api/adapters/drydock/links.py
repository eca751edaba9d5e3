"""What Drydock keeps about a task or a machine, as it says it."""

from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from shipyard_api import request_context
from shipyard_api.http import HttpClient
from shipyard_api.ports.errors import Refused, Unavailable

from .translate import SYSTEM

LARGEST = 32 * 1024 * 1024  # bytes: the logs of one machine are some hundred kilobytes each


class DrydockLinks:
    """Fetches what is below ``base_url``. Seconds: ``connect_timeout``; ``read_timeout``, for the whole answer, too.

    ``design_url``: where Drydock gets designs; tasks hold it, with the password that is in it.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: Callable[[], str],
        design_url: str = "",
        connect_timeout: float = 5.0,
        read_timeout: float = 10.0,
    ) -> None:
        self._http = HttpClient(
            base_url,
            system=SYSTEM,
            credentials=lambda: {"X-Auth-Token": token()},
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            total_timeout=read_timeout,
            max_body=LARGEST,
            read_attempts=1,
        )
        self._http.scrubber.hide_address(design_url)

    def fetch(self, address: str) -> str:
        """Return the text, which is JSON: a page of some proxy in between is not what was asked for."""
        base = f"{self._http.base_url}/"
        if not address.startswith(base) or {".", ".."} & set(unquote(urlsplit(address).path).split("/")):
            raise Refused(SYSTEM, "link", "the address is not one of Drydock's own")
        answer = self._http.get(address.removeprefix(base), headers=request_context.headers())
        if not answer.ok:
            kind = Refused if answer.status < 500 else Unavailable
            raise kind(SYSTEM, answer.operation, f"answered {answer.status}")
        answer.json()
        return answer.scrubber.json(answer.text)
