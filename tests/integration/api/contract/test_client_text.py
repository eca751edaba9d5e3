"""What our command line makes of these answers: sentences that scripts parse (contract: shipyard-cli, 4, 5.3, 8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from shipyard_api.cli.output import answers, status_text
from shipyard_api.yaml_stream import write_documents
from tests.integration.api.contract.case import JSON, YAML, Exchange, Nothing, Who
from tests.integration.api.contract.conftest import Given
from tests.integration.api.contract.states import BAD_KIND, UNKNOWN_ULID, extra
from tests.integration.api.contract.test_wire_cases import exchanged
from tests.unit.tables import every_row


@dataclass(frozen=True)
class Said:
    """What is asked in a state; the first lines that are printed, the last one, and whether that is a success."""

    given: str
    ask: str
    starts: tuple[str, ...]
    ends: str
    good: bool = False
    expected: int = 200
    sends: Mapping[str, str] | None = None
    body: bytes | None = None
    who: Who = Who.ADMIN


def line(errors: int, warnings: int = 0, infos: int = 0, other: int = 0) -> str:
    """The line that ends every Status, to the letter."""
    return f"####  Errors: {errors}, Warnings: {warnings}, Infos: {infos}, Other: {other}  ####"


def as_status(text: str) -> str:
    """The form of a good answer that is a Status."""
    return status_text.status_text(text, word="Status")


FORBIDDEN = "Error: Unauthorized to perform this action."
UNAUTHENTICATED = "Error: Command requires authentication. Check credential values"
NO_SUCH_TOKEN = "- Error: http://shipyard refuses the token that was sent: it is unknown, expired or revoked"
ONE = write_documents([extra("one")])
CASES = {
    "a commit": Said(
        "buffered",
        "POST commitconfigdocs",
        ("Status: Validations succeeded", "Reason: Validation"),
        line(0, 0, 1),
        good=True,
    ),
    "a commit with errors": Said(
        "circular", "POST commitconfigdocs", ("Error: Validations failed", "Reason: Validation"), line(1)
    ),
    "a commit with errors, forced": Said(
        "circular",
        "POST commitconfigdocs?force=true",
        ("Status: Validations failed FORCED SUCCESS", "Reason: Validation"),
        line(1),
        good=True,
    ),
    "a commit of nothing": Said(
        "empty",
        "POST commitconfigdocs",
        (
            "Error: Unable to commit configuration documents",
            "Reason: There are no documents in the buffer to commit",
            "",
        ),
        line(1),
    ),
    "Drydock objects": Said(
        "drydock_objects", "POST commitconfigdocs", ("Error: Validations failed", "Reason: Validation"), line(1, 0, 1)
    ),
    "a load": Said(
        "empty",
        "POST configdocs/x",
        ("Status: Validations succeeded", "Reason: Validation"),
        line(0),
        good=True,
        expected=201,
        sends=YAML,
        body=ONE,
    ),
    "a load of documents that fail": Said(
        "deckhand_objects",
        "POST configdocs/design",
        ("Status: Validations failed", "Reason: Validation"),
        line(1),
        good=True,
        expected=201,
        sends=YAML,
        body=write_documents([BAD_KIND]),
    ),
    "a load without a version, which is told": Said(
        "version_info",
        "POST configdocs/x",
        ("Status: Validations succeeded",),
        line(0, 0, 1),
        good=True,
        expected=201,
        sends=YAML,
        body=ONE,
    ),
    "a load without a version, which is a warning": Said(
        "version_warning",
        "POST configdocs/x",
        ("Status: Validations succeeded",),
        line(0, 1),
        good=True,
        expected=201,
        sends=YAML,
        body=ONE,
    ),
    "a load into a buffer that is not empty": Said(
        "buffered",
        "POST configdocs/x",
        ("Error: Invalid collection specified for buffer", "Reason: Buffermode : rejectoncontents"),
        line(1),
        expected=201,
        sends=YAML,
        body=ONE,
    ),
    "an unknown action": Said(
        "empty",
        f"GET actions/{UNKNOWN_ULID}",
        (
            "Error: Action not found",
            f"Reason: Unknown Action: {UNKNOWN_ULID}",
            "",
        ),
        line(1),
    ),
    "an intermediate commit": Said(
        "intermediate",
        "POST actions",
        ("Error: Intermediate commit detected",),
        line(1),
        expected=201,
        sends=JSON,
        body=b'{"name": "deploy_site"}',
    ),
    "who may not": Said("empty", "POST commitconfigdocs", (FORBIDDEN,), FORBIDDEN, who=Who.VIEWER),
    "nobody": Said("empty", "GET actions", (UNAUTHENTICATED,), NO_SUCH_TOKEN, who=Who.NOBODY),
}


def test_what_is_printed(given: Given) -> None:
    every_row(CASES)(partial(_printed, given))()


def _printed(given: Given, case: Said) -> None:
    callers, names = given.state(case.given)
    asked = Exchange(ask=case.ask, code=0, answer=Nothing(), who=case.who, sends=case.sends or {}, body=case.body)
    answer = exchanged(callers, asked, names)
    if answer.status_code < 400:
        given.leave()
    method = case.ask.partition(" ")[0]
    path, server = case.ask.partition(" ")[2], "http://shipyard"
    said = answers.Answer(method, answer.status_code, answer.headers["Content-Type"], answer.text, path, server)

    text, good = answers.rendered(said, "cli", expected=case.expected, cli=as_status)

    assert isinstance(text, str)
    printed = text.split("\n")
    assert tuple(printed[: len(case.starts)]) == case.starts
    assert (printed[-1], good) == (case.ends, case.good)
