"""Validation of designs by Promenade (contract: promenade, POST /validatedesign)."""

from collections.abc import Callable

from shipyard_api.domain.findings import Finding, of_status
from shipyard_api.http import HttpClient
from shipyard_api.observing import request_context
from shipyard_api.ports.errors import Unavailable

SYSTEM = "Promenade"


class PromenadeValidation:
    """Validates designs with Promenade. ``base_url`` ends in ``/api/v1.0``; times in seconds.

    ``token`` is called before every request; on 401 ``renew_token`` is called and the request sent again.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: Callable[[], str],
        renew_token: Callable[[], None] = lambda: None,
        connect_timeout: float = 5.0,
        read_timeout: float = 300.0,
    ) -> None:
        self._http = HttpClient(
            base_url,
            system=SYSTEM,
            credentials=lambda: {"X-Auth-Token": token()},
            renew=renew_token,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            total_timeout=2 * read_timeout,
        )

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        """Return Promenade's messages about the design at this address; raises Unavailable for any other answer.

        A design that Promenade could not fetch is also reported as an error message.
        """
        self._http.scrubber.hide_address(design)
        body = {"rel": "design", "href": design, "type": "application/x-yaml"}
        answer = self._http.post("validatedesign", json=body, headers=request_context.headers())
        if answer.status not in (200, 400):
            raise Unavailable(SYSTEM, answer.operation, f"answered {answer.status}, which is no validation")
        return of_status(answer.scrubber.values(answer.json()), SYSTEM)
