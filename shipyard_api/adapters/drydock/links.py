"""Drydock's own texts about a task or a machine, and the addresses at which it shows them."""

import re
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from shipyard_api.http import HttpClient, segment
from shipyard_api.observing import request_context
from shipyard_api.ports.errors import Refused, Unavailable

from .translate import SYSTEM

LARGEST = 32 * 1024 * 1024  # bytes: the logs of one machine are some hundred kilobytes each


class DrydockLinks:
    """Fetches addresses below ``base_url``.

    In seconds: ``connect_timeout``; ``read_timeout``, also for a whole answer. On 401 ``renew_token`` is called and the
    request sent again. ``design_url``: the address of designs; tasks quote it with its password.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: Callable[[], str],
        renew_token: Callable[[], None] = lambda: None,
        design_url: str = "",
        connect_timeout: float = 5.0,
        read_timeout: float = 10.0,
    ) -> None:
        self._http = HttpClient(
            base_url,
            system=SYSTEM,
            credentials=lambda: {"X-Auth-Token": token()},
            renew=renew_token,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            total_timeout=read_timeout,
            max_body=LARGEST,
            read_attempts=1,
        )
        self._http.scrubber.hide_address(design_url)

    def fetch(self, address: str) -> str:
        """Return the text, which must be JSON, to exclude a proxy's page."""
        base = f"{self._http.base_url}/"
        if not address.startswith(base) or {".", ".."} & set(unquote(urlsplit(address).path).split("/")):
            raise Refused(SYSTEM, "link", "the address is not Drydock's")
        answer = self._http.get(address.removeprefix(base), headers=request_context.headers())
        if not answer.ok:
            kind = Refused if answer.status < 500 else Unavailable
            raise kind(SYSTEM, answer.operation, f"answered {answer.status}")
        answer.json()
        return answer.scrubber.json(answer.text)


class DrydockAddresses(Struct, frozen=True):
    """Addresses below ``base_url``, without a user and password in it."""

    base_url: str

    def node(self, name: str) -> str:
        """Return the address of a node's newest hardware data and logs of commissioning, testing and deployment.

        Drydock stores them by node: a requested task delegates its work and collects no data.
        """
        return f"{self._base}/nodes/{segment(name)}/builddata?latest=true"

    def job(self, job: str) -> str:
        """Return the address of a task with the errors of all its subtasks."""
        return f"{self._base}/tasks/{segment(job)}?subtaskerrors=true"

    @property
    def _base(self) -> str:
        return re.sub(r"//[^/@]*@", "//", self.base_url).rstrip("/")
