"""Chapters 1 and 3: ``verbosity`` of every resource, and the spellings of booleans."""

from shipyard_api.yaml_stream import write_documents
from tests.integration.api.contract.case import JSON, YAML, Who, asked, verdict
from tests.integration.api.contract.entities import CREATED
from tests.integration.api.contract.states import extra
from tests.integration.api.contract.texts import (
    ANY_DOCUMENTS,
    BAD_VERBOSITY,
    COMMITTED,
    FORBIDDEN,
    LOADED,
    NO_STRATEGY,
    bad_boolean,
)

ACT = '{"name": "deploy_site"}'
ONE_DOCUMENT = write_documents([extra("one")])
TRUE = ("true", "True", "t", "yes", "y", "1", "on")
FALSE = ("false", "False", "f", "no", "n", "0", "off")
NEITHER = ("maybe", "TRUE", "Yes", "2", "-1", "truee", "None", "true,false", "%20true")
EVERYWHERE = (
    *(
        "GET /versions",
        "GET health",
        "GET configdocs",
        "GET configdocs/x",
        "POST configdocs/x",
        "GET renderedconfigdocs",
    ),
    *("POST commitconfigdocs", "GET actions", "POST actions", "GET actions/x", "POST actions/x/control/stop"),
    *("GET actions/x/validations/y", "GET actions/x/steps/y", "GET actions/x/steps/y/logs", "GET notedetails/x"),
    *("GET workflows", "GET workflows/x", "GET site_statuses"),
)
# What each boolean belongs to, in a state in which everything else is in order.
BOOLEANS = {
    "force": ("buffered", "POST commitconfigdocs?dryrun=true&force="),
    "dryrun": ("buffered", "POST commitconfigdocs?dryrun="),
    "empty-collection": ("buffered", "POST configdocs/design?buffermode=replace&empty-collection="),
    "cleartext-secrets": ("committed", "GET configdocs/design?version=committed&cleartext-secrets="),
    "allow-intermediate-commits": ("committed", "POST actions?allow-intermediate-commits="),
}
DRYRUN = verdict(200, "Validations succeeded DRYRUN", [NO_STRATEGY])

CASES = [
    *(asked("1", f"verbosity={number} is taken", f"GET actions?verbosity={number}", 200, []) for number in range(6)),
    *(
        asked("3", f"verbosity={written} is refused", f"GET actions?verbosity={written}", 400, BAD_VERBOSITY)
        for written in (
            *("6", "-1", "x", "1.5", "true", "1,2", "100000000000000000000", "0x1", "%20"),
            *("%2B1", "01", "%D9%A3"),
        )
    ),
    *(
        asked(
            "3",
            f"verbosity=6 is refused by {ask}",
            f"{ask}?verbosity=6",
            400,
            BAD_VERBOSITY if "/versions" not in ask else BAD_VERBOSITY | {"apiVersion": "N/A"},
            who=Who.NOBODY,
        )
        for ask in EVERYWHERE
    ),
    # The client sends verbosity on every call.
    asked(
        "1",
        "verbosity on a load",
        "POST configdocs/design?verbosity=1",
        201,
        LOADED,
        sends=YAML,
        body=ONE_DOCUMENT,
        headers={"Location": "/api/v1.0/configdocs/design"},
    ),
    asked("1", "verbosity on a commit", "POST commitconfigdocs?verbosity=1", 200, COMMITTED, given="buffered"),
    asked(
        "1",
        "verbosity on documents",
        "GET configdocs/design?version=committed&verbosity=1",
        200,
        ANY_DOCUMENTS,
        given="committed",
    ),
    asked(
        "1",
        "verbosity on site statuses",
        "GET site_statuses?verbosity=1",
        200,
        {"nodes_provision_status": [], "machines_powerstate": []},
        given="no_machines",
    ),
    asked(
        "1",
        "verbosity on a new action",
        "POST actions?verbosity=1&allow-intermediate-commits=False",
        201,
        CREATED,
        given="committed",
        sends=JSON,
        body=ACT,
        headers={"Location": "/api/v1.0/actions/$id"},
    ),
    # --- booleans ---------------------------------------------------------------------------------------------------
    *(
        asked(
            "1", f"dryrun={written} is true", f"POST commitconfigdocs?dryrun={written}", 200, DRYRUN, given="buffered"
        )
        for written in TRUE
    ),
    *(
        asked(
            "1",
            f"dryrun={written} is false",
            f"POST commitconfigdocs?dryrun={written}",
            200,
            COMMITTED,
            given="buffered",
        )
        for written in FALSE
    ),
    *(
        asked(
            "1",
            f"cleartext-secrets={written} is true, which a viewer may not ask for",
            f"GET configdocs/design?version=committed&cleartext-secrets={written}",
            403,
            FORBIDDEN,
            given="committed",
            who=Who.VIEWER,
        )
        for written in TRUE[:2]
    ),
    *(
        asked(
            "1",
            f"cleartext-secrets={written} is false, which a viewer may ask for",
            f"GET renderedconfigdocs?version=committed&cleartext-secrets={written}",
            200,
            ANY_DOCUMENTS,
            given="committed",
            who=Who.VIEWER,
        )
        for written in FALSE[:2]
    ),
    *(
        asked(
            "1",
            f"empty-collection={written} needs no body",
            f"POST configdocs/design?empty-collection={written}",
            201,
            LOADED,
            given="committed",
            headers={"Location": "/api/v1.0/configdocs/design"},
        )
        for written in TRUE[:2]
    ),
    *(
        asked(
            "1",
            f"allow-intermediate-commits={written} is kept as {kept}",
            f"POST actions?allow-intermediate-commits={written}",
            201,
            CREATED.but(allow_intermediate_commits=kept),
            given="committed",
            sends=JSON,
            body=ACT,
            headers={"Location": "/api/v1.0/actions/$id"},
        )
        for spellings, kept in ((TRUE[-2:], True), (FALSE[-2:], False))
        for written in spellings
    ),
    *(
        asked(
            "3",
            f"{name}={written} is neither",
            f"{ask}{written}",
            400,
            bad_boolean(name),
            given=given,
            sends=JSON if "actions" in ask else YAML,
            body=ACT if "actions" in ask else ONE_DOCUMENT if "POST configdocs" in ask else None,
        )
        for name, (given, ask) in BOOLEANS.items()
        for written in (NEITHER if name in ("dryrun", "force") else NEITHER[:3])
    ),
    asked(
        "3",
        "cleartext-secrets=maybe of the rendered design is neither",
        "GET renderedconfigdocs?version=committed&cleartext-secrets=maybe",
        400,
        bad_boolean("cleartext-secrets"),
        given="committed",
    ),
]
