"""An action at one moment, and the lines that tell two moments apart."""

from datetime import timedelta

from shipyard_api.cli.output.snapshot import Snapshot, change_lines
from tests.unit.cli import samples
from tests.unit.cli.samples import NOW
from tests.unit.tables import every_row


def test_changes_of_a_working_group_are_told_and_of_a_waiting_one_are_not():
    before = Snapshot.of(samples.action(), [samples.group("a", "preparing"), samples.group("b")])
    counts = {"prepared": 1, "not_started": 1}
    after = Snapshot.of(
        samples.action(), [samples.group("a", "preparing", counts=counts), samples.group("b", counts=counts)]
    )
    assert change_lines(before, after, NOW) == ["   7:16  group a is preparing, 2 nodes: 1 prepared, 1 not started"]


def test_nodes_that_the_policy_stops_are_told_once_with_its_rule():
    nodes = [samples.node(name, "not_started", reason="policy", detail="wave canary: 1 failed") for name in ("a", "b")]
    before, after = Snapshot.of(samples.action()), Snapshot.of(samples.action(), [], nodes)
    assert change_lines(before, after, NOW) == ["   7:16  nodes a, b stopped (policy: wave canary: 1 failed)"]
    assert change_lines(after, after, NOW) == []


def test_what_a_teardown_waits_for_is_told_when_it_changes():
    drains = {"node": "n1", "operation": "drain", "since": NOW.isoformat(), "waits_for": [], "waits": 0}
    waits = drains | {"waits_for": ["default/db: budget default/db allows no disruption at all"], "waits": 3}
    before = Snapshot.of(samples.action() | {"teardowns": [drains]})
    after = Snapshot.of(samples.action() | {"teardowns": [waits]})
    assert change_lines(before, after, NOW) == [
        "   7:16  node n1: drain waits for default/db: budget default/db allows no disruption at all and 2 more"
    ]


def test_an_ended_action_took_until_its_last_phase_ended():
    phases = [samples.phase("prepare", [], at=1), samples.phase("deploy", [], at=40) | {"ended_at": None}]
    ended = Snapshot.of(samples.action("Complete"), [samples.group("g", phases=phases)])
    assert ended.elapsed(NOW) == timedelta(seconds=6, microseconds=361882)


def test_the_clock_of_the_lines_does_not_run_backwards():
    before = Snapshot.of(samples.action())
    ended = Snapshot.of(samples.action("Complete", ended_at="2026-11-21T01:31:00Z"))
    shown = before.elapsed(NOW)
    assert ended.elapsed(NOW) < shown
    assert change_lines(before, ended, NOW, shown)[-1] == "   7:16  action is Complete"


def test_a_failed_verdict_is_no_success_even_if_the_action_is_complete():
    assert not Snapshot.of(samples.action("Complete", verdict="failed")).succeeded
    assert Snapshot.of(samples.action("Complete")).succeeded


ORDERS = {
    "as the server lists them": ({"b": [], "a": []}, "ba"),
    "parents first": ({"a": ["b"], "b": ["c"], "c": []}, "cba"),
    "what starts at once is together": ({"a": [], "b": ["a"], "c": [], "d": ["c"]}, "acbd"),
    "an unknown parent": ({"a": ["x"], "b": []}, "ab"),
    "a circle": ({"a": ["b"], "b": ["a"], "c": []}, "cab"),
}


@every_row(ORDERS)
def test_groups_in_run_order(parents, order):
    groups = [samples.group(name, depends_on=above) for name, above in parents.items()]
    assert "".join(group.name for group in Snapshot.of(samples.action(), groups).groups_in_order) == order
