"""Chapters 1 and 3: ``verbosity`` of every resource, and the spellings of booleans."""

from shipyard_api.yaml_stream import write_documents
from tests.integration.api.contract.case import JSON, YAML, Case, Who, verdict
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
    *(
        Case(
            section="1", name=f"verbosity={number} is taken", ask=f"GET actions?verbosity={number}", code=200, answer=[]
        )
        for number in range(6)
    ),
    *(
        Case(
            section="3",
            name=f"verbosity={written} is refused",
            ask=f"GET actions?verbosity={written}",
            code=400,
            answer=BAD_VERBOSITY,
        )
        for written in (
            *("6", "-1", "x", "1.5", "true", "1,2", "100000000000000000000", "0x1", "%20"),
            *("%2B1", "01", "%D9%A3", "1%00"),
        )
    ),
    *(
        Case(
            section="3",
            name=f"verbosity=6 is refused by {ask}",
            ask=f"{ask}?verbosity=6",
            who=Who.NOBODY,
            code=400,
            answer=BAD_VERBOSITY if "/versions" not in ask else BAD_VERBOSITY | {"apiVersion": "N/A"},
        )
        for ask in EVERYWHERE
    ),
    # The client sends verbosity on every call.
    Case(
        section="1",
        name="verbosity on a load",
        ask="POST configdocs/design?verbosity=1",
        sends=YAML,
        body=ONE_DOCUMENT,
        code=201,
        headers={"Location": "/api/v1.0/configdocs/design"},
        answer=LOADED,
    ),
    Case(
        section="1",
        name="verbosity on a commit",
        given="buffered",
        ask="POST commitconfigdocs?verbosity=1",
        code=200,
        answer=COMMITTED,
    ),
    Case(
        section="1",
        name="verbosity on documents",
        given="committed",
        ask="GET configdocs/design?version=committed&verbosity=1",
        code=200,
        answer=ANY_DOCUMENTS,
    ),
    Case(
        section="1",
        name="verbosity on site statuses",
        given="no_machines",
        ask="GET site_statuses?verbosity=1",
        code=200,
        answer={"nodes_provision_status": [], "machines_powerstate": []},
    ),
    Case(
        section="1",
        name="verbosity on a new action",
        given="committed",
        ask="POST actions?verbosity=1&allow-intermediate-commits=False",
        sends=JSON,
        body=ACT,
        code=201,
        headers={"Location": "/api/v1.0/actions/$id"},
        answer=CREATED,
    ),
    # --- booleans ---------------------------------------------------------------------------------------------------
    *(
        Case(
            section="1",
            name=f"dryrun={written} is true",
            given="buffered",
            ask=f"POST commitconfigdocs?dryrun={written}",
            code=200,
            answer=DRYRUN,
        )
        for written in TRUE
    ),
    *(
        Case(
            section="1",
            name=f"dryrun={written} is false",
            given="buffered",
            ask=f"POST commitconfigdocs?dryrun={written}",
            code=200,
            answer=COMMITTED,
        )
        for written in FALSE
    ),
    *(
        Case(
            section="1",
            name=f"cleartext-secrets={written} is true, which a viewer may not ask for",
            given="committed",
            ask=f"GET configdocs/design?version=committed&cleartext-secrets={written}",
            who=Who.VIEWER,
            code=403,
            answer=FORBIDDEN,
        )
        for written in TRUE[:2]
    ),
    *(
        Case(
            section="1",
            name=f"cleartext-secrets={written} is false, which a viewer may ask for",
            given="committed",
            ask=f"GET renderedconfigdocs?version=committed&cleartext-secrets={written}",
            who=Who.VIEWER,
            code=200,
            answer=ANY_DOCUMENTS,
        )
        for written in FALSE[:2]
    ),
    *(
        Case(
            section="1",
            name=f"empty-collection={written} needs no body",
            given="committed",
            ask=f"POST configdocs/design?empty-collection={written}",
            code=201,
            headers={"Location": "/api/v1.0/configdocs/design"},
            answer=LOADED,
        )
        for written in TRUE[:2]
    ),
    *(
        Case(
            section="1",
            name=f"allow-intermediate-commits={written} is kept as {kept}",
            given="committed",
            ask=f"POST actions?allow-intermediate-commits={written}",
            sends=JSON,
            body=ACT,
            code=201,
            headers={"Location": "/api/v1.0/actions/$id"},
            answer=CREATED.but(allow_intermediate_commits=kept),
        )
        for spellings, kept in ((TRUE[-2:], True), (FALSE[-2:], False))
        for written in spellings
    ),
    *(
        Case(
            section="3",
            name=f"{name}={written} is neither",
            given=given,
            ask=f"{ask}{written}",
            sends=JSON if "actions" in ask else YAML,
            body=ACT if "actions" in ask else ONE_DOCUMENT if "POST configdocs" in ask else None,
            code=400,
            answer=bad_boolean(name),
        )
        for name, (given, ask) in BOOLEANS.items()
        for written in (NEITHER if name in ("dryrun", "force") else NEITHER[:3])
    ),
    Case(
        section="3",
        name="cleartext-secrets=maybe of the rendered design is neither",
        given="committed",
        ask="GET renderedconfigdocs?version=committed&cleartext-secrets=maybe",
        code=400,
        answer=bad_boolean("cleartext-secrets"),
    ),
]
