"""Chapter 10: GET /site_statuses, the machines as the provisioner knows them."""

from typing import Any

from tests.integration.api.contract.case import Case, Who, error
from tests.integration.api.contract.matching import Pattern
from tests.integration.api.contract.texts import FORBIDDEN

ONE, OTHER = "nodes-provision-status", "machines-power-state"
STATUS = {
    "nodes_provision_status": [
        {"hostname": "n0", "status": "Deployed"},
        {"hostname": "n1", "status": "Failed deployment"},
    ]
}
POWER = {"machines_powerstate": [{"hostname": "n0", "power_state": "on"}, {"hostname": "n1", "power_state": "off"}]}
TITLES = {ONE: "Unable to retrieve nodes status", OTHER: "Unable to retrieve nodes power-state"}


def unsupported(word: str) -> dict[str, Any]:
    """400: no such filter."""
    return error(
        400, "Not a valid status filter", f"filter {word} is not supported", cause="There is no filter .+power-state.*"
    )


def trouble(code: int, title: str, *, retry: bool) -> dict[str, Any]:
    """docs/design/conformance.md: the texts of the contract, with 503 (ask again) or 502 (refused) instead of 500."""
    return error(code, title, Pattern("Drydock has responded unexpectedly: .+"), kind="AppError", retry=retry)


def statuses(name: str, query: str, given: str = "machines", **rest: Any) -> Case:
    """A look at the machines."""
    fields = {"section": "10", "name": name, "given": given, "ask": f"GET site_statuses{query}", "who": Who.VIEWER}
    return Case(**{**fields, **rest})


CASES = [
    statuses("both, by default", "", code=200, answer=STATUS | POWER),
    statuses("an admin may ask", "", who=Who.ADMIN, code=200, answer=STATUS | POWER),
    statuses("a provisioner may not", "", who=Who.PEER, code=403, answer=FORBIDDEN),
    statuses("an empty filter is none", "?filters=", code=200, answer=STATUS | POWER),
    statuses("the status only", f"?filters={ONE}", code=200, answer=STATUS),
    statuses("the power only", f"?filters={OTHER}", code=200, answer=POWER),
    statuses("both, with a plain comma", f"?filters={ONE},{OTHER}", code=200, answer=STATUS | POWER),
    statuses("both, with an escaped comma", f"?filters={ONE}%2C{OTHER}", code=200, answer=STATUS | POWER),
    statuses("both, the other way round", f"?filters={OTHER},{ONE}", code=200, answer=STATUS | POWER),
    statuses("as the client sends it", f"?filters={ONE}%2C{OTHER}&verbosity=1", code=200, answer=STATUS | POWER),
    statuses("both, repeated", f"?filters={ONE}&filters={OTHER}", code=200, answer=STATUS | POWER),
    statuses("twice the same", f"?filters={ONE},{ONE}", code=200, answer=STATUS),
    statuses("another parameter", f"?filter={OTHER}&FILTERS={OTHER}", code=200, answer=STATUS | POWER),
    # 1: what is empty counts as absent, between commas as well.
    *(
        statuses(f"{query!r} asks for one", f"?filters={query}", code=200, answer=STATUS)
        for query in (f"{ONE},", f",{ONE}", f",,{ONE},", f"{ONE}%2C", f"&filters={ONE}&filters=,")
    ),
    *(
        statuses(f"{query!r} asks for nothing in particular", f"?filters={query}", code=200, answer=STATUS | POWER)
        for query in (",", ",,", "%2C", f"{ONE},,{OTHER}")
    ),
    statuses("a blank is a word", f"?filters={ONE},%20", code=400, answer=unsupported(" ")),
    statuses(
        "no machine",
        "",
        given="no_machines",
        code=200,
        answer={"nodes_provision_status": [], "machines_powerstate": []},
    ),
    *(
        statuses(f"{word!r} is no filter", f"?filters={word}", code=400, answer=unsupported(word))
        # 15: the keys of the answer are not the names of the filters.
        for word in ("nodes", "nodes_provision_status", "machines_powerstate", ONE.upper())
    ),
    *(
        statuses(f"{query!r} has a word that is none", f"?filters={query}", code=400, answer=unsupported(word))
        for query, word in {
            f"{ONE},power": "power",
            f"{ONE}&filters=power": "power",
            "a,b": "a",
            f"{ONE};{OTHER}": f"{ONE};{OTHER}",
            "n%C3%B6des": "nödes",
        }.items()
    ),
    *(
        statuses(
            f"{given}: {one}",
            f"?filters={one}",
            given=given,
            code=code,
            answer=trouble(code, TITLES[one], retry=retry),
        )
        for given, code, retry in (
            ("machines_broken", 503, True),
            ("machines_silent", 503, True),
            ("machines_refused", 502, False),
        )
        for one in (ONE, OTHER)
    ),
]
