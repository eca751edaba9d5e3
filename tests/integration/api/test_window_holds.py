"""Holds that begin and end with the windows of the committed design."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import falcon
import pytest

from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.errors import Unavailable
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.holds.windows import PlaceWindowHolds
from tests.conftest import ROOT
from tests.integration.api.wire import Site, configuration, small_design

# Holds expire by the clock of the database.
NOW = datetime.now(UTC).replace(second=0, microsecond=0)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TODAY = {"zone": "UTC", "start": f"{NOW:%H:%M}", "minutes": 60}


class Clock:
    """A clock that only the test moves."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


def placing(site: Site, clock: Clock) -> PlaceWindowHolds:
    rules = DesignRules(SchemaFiles(ROOT / "schemas").check, now=clock)
    return PlaceWindowHolds(site.store, site.designs, RenderedDesigns(site.designs), rules, clock, 60.0)


def design(*others: dict[str, Any], **hold: Any) -> list[dict[str, Any]]:
    rule = {"name": "patching", "class": "no_deployment", "windows": [TODAY], **hold}
    return [configuration(physical_provisioner={"policy": {"holds": [*others, rule]}}), *small_design()[1:]]


def held(site: Site, **params: str) -> list[tuple[str, str, str, str]]:
    found = site.viewer.get("/holds", **params).json["holds"]
    return sorted((one["node"], one["kind"], one["class"], one["placed_by"]) for one in found)


def of(*nodes: str) -> list[tuple[str, str, str, str]]:
    return [(node, "maintenance", "no_deployment", "shipyard") for node in nodes]


def test_nodes_are_held_from_shortly_before_a_window_until_its_end(site: Site) -> None:
    # One whose windows are over takes no other away.
    site.commit(*design({"name": "over", "class": "all", "windows": [{**TODAY, "dates": ["2020-01-01"]}]}))
    clock = Clock(NOW - timedelta(minutes=3))
    place = placing(site, clock)
    assert (place(), held(site)) == (0, [])

    clock.at = NOW - timedelta(minutes=2)
    assert (place(), held(site)) == (2, of("n1", "n2"))
    (first, _) = site.viewer.get("/holds").json["holds"]
    assert first["until"] == f"{NOW + HOUR:%Y-%m-%dT%H:%M:%S.000000Z}"
    assert first["reason"] == "maintenance window patching"
    assert site.admin.act().status == falcon.HTTP_409


def test_windows_that_have_closed_are_wrong_or_are_not_looked_at_yet_hold_nothing(site: Site) -> None:
    clock = Clock(NOW)
    place = placing(site, clock)
    assert place() == 0
    site.admin.load("design", *design(windows=[{**TODAY, "zone": "Mars/Olympus"}]))
    site.admin.commit(force="true")
    assert placing(site, Clock(NOW))() == 0

    site.commit(*small_design(("n1", "n2", "n3")))
    clock.at += timedelta(minutes=1)
    assert place() == 0
    # A later design decides from the next look on.
    site.commit(*design())
    clock.at += timedelta(seconds=59)
    assert place() == 0
    clock.at += timedelta(seconds=1)
    assert place() == 2
    # One that has closed holds nothing although nobody released it.
    assert placing(site, Clock(NOW - DAY))() == 2
    assert held(site) == of("n1", "n2")
    assert len(held(site, ended="true")) == 4


def test_a_window_holds_each_node_once_whoever_looks_and_whoever_releases_it(site: Site) -> None:
    site.commit(*design(selectors=[{"node_names": ["n2"]}]))
    clock = Clock(NOW)
    place = placing(site, clock)
    assert [place(), place(), placing(site, clock)()] == [1, 0, 0]

    (hold,) = site.viewer.get("/holds").json["holds"]
    assert site.admin.ask("DELETE", f"/api/v1.0/holds/{hold['id']}").status == falcon.HTTP_200
    clock.at = NOW + timedelta(minutes=5)
    assert [place(), placing(site, clock)()] == [0, 0]
    assert held(site) == []

    clock.at = NOW + DAY
    assert (place(), held(site)) == (1, of("n2"))


def test_a_silent_document_store_is_logged_and_asked_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site.commit(*design())
    clock = Clock(NOW)
    place = placing(site, clock)

    def silent() -> None:
        raise Unavailable("Deckhand", "heads", "no answer")

    with monkeypatch.context() as patch:
        patch.setattr(type(site.designs), "heads", lambda _: silent())
        with caplog.at_level(logging.WARNING, "shipyard_api"):
            assert place() == 0
    assert [record.getMessage() for record in caplog.records] == ["windows not read"]

    clock.at += timedelta(minutes=1)
    assert place() == 2
