"""Every error that a caller can meet has a row in a dialect's table of codes: a new one cannot be forgotten."""

from collections.abc import Iterator

import pytest

import shipyard_api.api.airship.app
import shipyard_api.wiring.bootstrap  # noqa: F401  # together they import every module that can define an error
from shipyard_api.api.airship.error_answers import line_of
from shipyard_api.api.airship.texts import ROWS as AIRSHIP
from shipyard_api.api.fuel.error_answers import ROWS as FUEL
from shipyard_api.api.http.errors import JsonRequired, NotAnObject, SchemaViolated
from shipyard_api.api.ironic.error_answers import ROWS as IRONIC
from shipyard_api.domain import errors as domain
from shipyard_api.domain.errors import Forbidden, ShipyardError, TooManyRequests, Unauthenticated
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.state.errors import StoreUnavailable


def family(kind: type[Exception]) -> Iterator[type[Exception]]:
    """The class and all below it that can be raised: a base has classes below it, and no data of its own."""
    children = kind.__subclasses__()
    if not children:
        yield kind
    for child in children:
        yield from family(child)


OURS = sorted(set(family(ShipyardError)), key=str)
SYSTEM_FAILURES = sorted({*family(PeerError), *family(StoreUnavailable)}, key=str)


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__qualname__)
def test_every_error_has_a_row(kind: type[ShipyardError]) -> None:
    rows = [table[kind] for table in (AIRSHIP, IRONIC, FUEL) if kind in table]

    assert rows
    assert all(400 <= int(row.code[:3]) < 600 for row in rows)


def test_no_row_is_left_over() -> None:
    assert {*AIRSHIP, *IRONIC, *FUEL} == set(OURS)
    assert all(row.error_type for row in AIRSHIP.values())


def test_every_dialect_knows_what_any_request_can_meet() -> None:
    needs_an_object = {JsonRequired, NotAnObject, SchemaViolated}
    common = {kind for kind in OURS if kind.__module__ == "shipyard_api.api.http.errors"} - needs_an_object
    own = {
        name: {kind for kind in OURS if kind.__module__ == f"shipyard_api.domain.{name}.errors"}
        for name in ("deploy_steps", "task_graph")
    }

    assert set(IRONIC) == common | own["deploy_steps"] | {Forbidden, TooManyRequests}
    # What the use case that creates actions raises for the one action of this dialect.
    refused = {
        domain.HoldsNotOverridden,
        domain.IntermediateCommits,
        domain.InvalidDesign,
        domain.InvalidParameters,
        domain.NodeOperationRunning,
        domain.NodesHeld,
        domain.NothingCommitted,
        domain.ParametersBreakSchema,
        domain.SiteActionRunning,
        domain.UnknownNodes,
        domain.WorkUnderWay,
    }
    assert set(FUEL) == common | own["task_graph"] | refused | {Unauthenticated, Forbidden, TooManyRequests}
    assert common <= set(AIRSHIP)


@pytest.mark.parametrize("kind", SYSTEM_FAILURES, ids=lambda kind: kind.__qualname__)
def test_every_failure_of_a_system_has_a_row(kind: type[Exception]) -> None:
    code, error_type, _retry = line_of(kind)

    assert 400 <= int(code[:3]) < 600
    assert error_type


def test_the_walk_finds_errors_of_every_layer() -> None:
    modules = {kind.__module__.removeprefix("shipyard_api.") for kind in OURS}

    assert modules == {
        "domain.errors",
        "domain.deploy_steps.errors",
        "domain.rollout.errors",
        "domain.drift.errors",
        "domain.task_graph.errors",
        "domain.teardown.errors",
        "domain.task_graph.result_errors",
        "domain.touched_share",
        "api.http.errors",
        "api.airship.errors",
    }
