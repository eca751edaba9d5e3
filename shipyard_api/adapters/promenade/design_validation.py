"""Validation of designs by Promenade (contract: promenade, POST /validatedesign)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from shipyard_api.domain.findings import DocumentRef, Finding, Level
from shipyard_api.domain.json_types import member, objects
from shipyard_api.http import HttpClient, Response
from shipyard_api.observing import request_context
from shipyard_api.ports.errors import Unavailable

SYSTEM = "Promenade"
_LONGEST = 2000
_LEVELS = {"warn": Level.WARNING, "warning": Level.WARNING, "info": Level.INFO, "debug": Level.INFO}


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
        return tuple(_finding(message) for message in _messages(answer))


def _messages(answer: Response) -> Sequence[Mapping[str, Any]]:
    """Return the messages; an answer without details is one error (contract: shipyard-rest, 5.5)."""
    status = answer.scrubber.values(answer.json())
    listed = member(status, "details", "messageList")
    if not isinstance(listed, list):
        return [{"message": answer.scrubber(answer.text, _LONGEST), "error": True}]
    return [entry if isinstance(entry, dict) else {"message": str(entry), "error": True} for entry in listed]


def _finding(entry: Mapping[str, Any]) -> Finding:
    failed = entry.get("error") is True
    level = Level.ERROR if failed else _LEVELS.get(str(entry.get("level")).lower(), Level.INFO)
    finding = Finding(
        str(entry.get("name") or "PromenadeValidation"),
        level,
        str(entry.get("message") or "no message"),
        diagnostic=str(entry.get("diagnostic") or ""),
        source=SYSTEM,
    )
    named = objects(entry.get("documents"))
    return replace(
        finding, documents=tuple(DocumentRef(str(entry.get("schema")), str(entry.get("name"))) for entry in named)
    )
