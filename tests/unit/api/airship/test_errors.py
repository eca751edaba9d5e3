"""The sentences of Shipyard v1.0, which scripts compare: a row is an error, its code and its texts."""

from shipyard_api.api.airship import errors as ours
from shipyard_api.api.airship.errors import text_of
from shipyard_api.api.http.errors import status_of
from shipyard_api.domain import errors
from shipyard_api.domain.actions import Control
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.domain.findings import error, warning
from tests.unit.tables import every_row

SIX = [f"n{number}" for number in range(6)]


@every_row(
    [
        (
            errors.InvalidParameters([error("A", "First."), error("B", "Second.")]),
            400,
            "Invalid parameters",
            "First. Second.",
        ),
        (
            errors.InvalidDocuments([warning("W", "odd"), *(error("E", f"e{number}") for number in range(6))]),
            400,
            "Document(s) invalid syntax or otherwise unsuitable",
            "e0; e1; e2; e3; e4",
        ),
        (
            errors.WrongState(Control.STOP, "running", "being stopped"),
            409,
            "Unable to stop action",
            "dag_run state must be running, but is being stopped",
        ),
        (
            errors.WorkUnderWay("deploy_nodes", SIX, "j1", "A1", "stopped"),
            409,
            "Work of an earlier action goes on",
            "deploy_nodes of node n0, n1, n2, n3, n4 and 1 more is still under way: job j1 of action A1 (stopped). "
            "Wait until it has ended, or use the parameter force=true.",
        ),
        (
            errors.WorkUnderWay("prepare_site", None, "j1", "A1", "stopped"),
            409,
            "Work of an earlier action goes on",
            "prepare_site of the site is still under way: job j1 of action A1 (stopped). Wait until it has ended, or "
            "use the parameter force=true.",
        ),
        (
            errors.TooManyRequests(9.2),
            429,
            "Too many requests",
            "This caller has written as often as is allowed; ask again in 10 s",
        ),
    ],
)
def test_an_error_has_its_sentence(failed: ShipyardError, code: int, title: str, reason: str) -> None:
    text = text_of(failed)

    assert (status_of(failed.kind.family)[:3], text.title, text.reason) == (str(code), title, reason)


@every_row(
    {
        "retry": (
            errors.WrongState(Control.RETRY, "failed", "queued"),
            "Only an action that is failed or has nodes that did not succeed can be retried; this one is queued",
        ),
        "action": (ours.UnsupportedAction("deploysite"), "Did you mean 'deploy_site'? It is one of: "),
        "long": (ours.UnsupportedAction("x" * 99), f"There is no action '{'x' * 60}…'. It is one of"),
        "control": (ours.ControlNotFound("Pause"), "Did you mean 'pause'?"),
    },
)
def test_what_is_behind_an_error_is_in_its_list(failed: ShipyardError, cause: str) -> None:
    assert cause in text_of(failed).cause


@every_row(
    [
        ("/actions", "/api/v1.0/actions"),
        ("/api/v1.0/acts", "/api/v1.0/actions"),
        ("/api/v1.0/actions/A1/step/s", "/api/v1.0/actions/{action_id}/steps/{step_id}"),
        ("/", None),
        ("/api/v1.0/" + "x" * 5000, None),
    ],
)
def test_an_unknown_address_leads_to_the_nearest(path: str, nearest: str | None) -> None:
    templates = ["/health", "/api/v1.0/actions", "/api/v1.0/actions/{action_id}/steps/{step_id}"]

    said = ours.unknown_address(path, templates)

    assert said.startswith(f"There is no address {path[:200]}.")
    assert f" The nearest is {nearest}. " in said if nearest else "nearest" not in said
