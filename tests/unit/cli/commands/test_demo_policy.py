"""The rollout policy of a scenario: the design that it is put into, and the approvals that the demo answers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import jsonschema
import pytest
import yaml

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands.demo_policy import Operator, place, with_parts
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output.snapshot import Snapshot
from shipyard_simulators.scenario import SCENARIOS
from tests.conftest import ROOT
from tests.unit.cli import samples
from tests.unit.cli.fake_api import FakeApi, Reply
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 26, 23, 57, 29, tzinfo=UTC)
SITE = (ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml").read_bytes()
SCHEMA = yaml.safe_load((ROOT / "schemas" / "deployment_configuration_v1.yaml").read_text())
PARTS = {
    path.stem: {part: value for part in ("policy", "burn_in") if (value := yaml.safe_load(path.read_text()).get(part))}
    for path in SCENARIOS.glob("*.yaml")
}


def configuration(design: bytes) -> Any:
    (found,) = [
        one for one in yaml.load_all(design, yaml.CSafeLoader) if one["schema"] == "shipyard/DeploymentConfiguration/v1"
    ]
    return found["data"]


@every_row(
    [
        (NOW, ["23:56", "23:59", "22:00"]),
        (NOW + timedelta(seconds=1), ["23:57", "00:00", "22:00"]),
    ],
)
def test_windows_are_counted_from_the_next_full_minute_that_is_half_a_minute_away(
    now: datetime, starts: list[str]
) -> None:
    windows = [{"zone": "UTC", "start": start, "minutes": 1} for start in ("-2", "+1", "22:00")]

    policy = configuration(with_parts(SITE, {"policy": {"windows": {"open": windows}}}, now))
    policy = policy["physical_provisioner"]["policy"]

    assert [window["start"] for window in policy["windows"]["open"]] == starts


@every_row([name for name, parts in PARTS.items() if parts])
def test_what_shipped_scenarios_add_to_the_design_is_valid_and_changes_nothing_else(name: str) -> None:
    changed = configuration(with_parts(SITE, PARTS[name], NOW))

    jsonschema.validate(changed, SCHEMA)
    for part in PARTS[name]:
        del changed["physical_provisioner"][part]
    assert changed == configuration(SITE)


def test_a_design_without_a_configuration_has_no_place_for_a_policy() -> None:
    with pytest.raises(LookupError, match="DeploymentConfiguration"):
        with_parts(b"schema: a/A/v1\n", {"policy": {"budgets": []}}, NOW)


def test_holds_are_placed_one_by_one() -> None:
    served = FakeApi({f"POST /nodes/{node}/holds": Reply(201, {}) for node in ("n1", "n2")})
    holds = [{"node": "n1", "class": "no_alerts", "reason": "a"}, {"node": "n2", "reason": "b"}]

    place(Api(GlobalOptions(url=served.start(), token="t")), holds)
    served.stop()

    bodies = [yaml.safe_load(one.body) for one in served.requests]
    assert bodies == [{"class": "no_alerts", "reason": "a"}, {"reason": "b"}]


def test_each_approval_is_answered_once_it_was_shown() -> None:
    served = FakeApi({f"POST /actions/{samples.ID}/approvals": Reply(200, {"waiting": [], "given": []})})
    api = Api(GlobalOptions(url=served.start(), token="t"))
    gate = {"who": "operator", "what": "approval after wave canary: shipyard approve"}
    asking, working = Snapshot.of(samples.action(waiting_for=gate)), Snapshot.of(samples.action())
    notes: list[str] = []
    operator = Operator(api, lambda _, note: notes.append(note), [{"wave": "canary"}, {"approve": False}])

    for snapshot in (working, *[asking] * 11, working, *[asking] * 11, *[asking] * 11):
        operator(snapshot, "")
    served.stop()

    assert [yaml.safe_load(one.body) for one in served.requests] == [
        {"approve": True, "wave": "canary"},
        {"approve": False},
    ]
    assert [note.rpartition(" ")[2] for note in notes if note] == ["approve", "refuse"]
