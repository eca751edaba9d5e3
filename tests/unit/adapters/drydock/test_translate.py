"""Our words into Drydock's: filters, task bodies, recognising a task, findings."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from shipyard_api.adapters.drydock import translate
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.drift.observations import MachineState, ObservedMachine
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.provisioner import JobId, Marker, Operation, Wipe, Work
from tests.unit.tables import every_row

DESIGN = "deckhand+http://127.0.0.1:9000/api/v1.0/revisions/3/rendered-documents"
MARKER = Marker("7f4d4d0e-3a2f-4d57-9d1b-0a51d5c0a6f3")
NOON = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)


def names(*values: str) -> frozenset[NodeName]:
    return frozenset(map(NodeName, values))


def labels(*pairs: str) -> frozenset[tuple[str, str]]:
    return frozenset((key, value) for key, _, value in (pair.partition("=") for pair in pairs))


def intersection(**criteria: Any) -> dict[str, Any]:
    return {"filter_type": "intersection"} | criteria


# Selectors


SELECTORS = {
    "no selectors mean every node": ((), None),
    "a blank selector means every node": ((Selector(),), None),
    "a blank selector beside others means every node": ((Selector(node_names=names("n1")), Selector()), None),
    "values are sorted and empty criteria left out": (
        (Selector(node_names=names("n2", "n1")),),
        [intersection(node_names=["n1", "n2"])],
    ),
    "the criteria of one selector stand in one filter": (
        (Selector(names("n1"), frozenset({"control"}), labels("a=b"), frozenset({"rack03"})),),
        [intersection(node_names=["n1"], node_tags=["control"], node_labels={"a": "b"}, rack_names=["rack03"])],
    ),
    "one filter per selector, in order": (
        (Selector(rack_names=frozenset({"r2"})), Selector(node_tags=frozenset({"t"}))),
        [intersection(rack_names=["r2"]), intersection(node_tags=["t"])],
    ),
    "two labels with one key: one filter per value, other criteria in each": (
        (Selector(node_labels=labels("role=b", "role=a"), rack_names=frozenset({"r1"})),),
        [
            intersection(rack_names=["r1"], node_labels={"role": "a"}),
            intersection(rack_names=["r1"], node_labels={"role": "b"}),
        ],
    ),
    "labels with different keys: one filter each, so that any of them matches": (
        (Selector(node_labels=labels("b=2", "a=1")),),
        [intersection(node_labels={"a": "1"}), intersection(node_labels={"b": "2"})],
    ),
    "equal selectors are asked once": (
        (Selector(node_tags=frozenset({"t"})), Selector(node_tags=frozenset({"t"}))),
        [intersection(node_tags=["t"])],
    ),
}


@every_row(SELECTORS)
def test_selectors_become_a_union_of_intersections(
    selectors: tuple[Selector, ...], filters: list[dict[str, Any]] | None
) -> None:
    expected = None if filters is None else {"filter_set_type": "union", "filter_set": filters}
    assert translate.node_filter(selectors) == expected


# Work


def test_named_nodes_are_sent_as_a_union_of_names() -> None:
    work = Work(Operation.DEPLOY_NODES, DESIGN, (NodeName("n2"), NodeName("n1"), NodeName("n2")))
    assert translate.task_body(MARKER, work) == {
        "action": "deploy_nodes",
        "design_ref": DESIGN,
        "node_filter": {
            "filter_set_type": "union",
            "filter_set": [{"filter_type": "union", "node_names": ["n1", "n2"]}],
        },
    }


@every_row(
    {
        "an empty set of nodes": (Work(Operation.PREPARE_NODES, DESIGN, ()), "no node is named"),
        "no set of nodes, which is all": (Work(Operation.DEPLOY_NODES, DESIGN), "no node is named"),
        "nodes for the site": (Work(Operation.VERIFY_SITE, DESIGN, (NodeName("n1"),)), "takes no nodes"),
        "deploy steps": (
            Work(
                Operation.DEPLOY_NODES,
                DESIGN,
                (NodeName("n1"),),
                steps={NodeName("n1"): [DeployStep(Interface.RAID, "apply_configuration", {}, 110)]},
            ),
            "runs no deploy steps",
        ),
        "disks to keep": (
            Work(Operation.DESTROY_NODES, DESIGN, (NodeName("n1"),), Wipe.OS_DISK_ONLY),
            "cannot keep any",
        ),
        "a rebuild": (Work(Operation.REBUILD_NODES, DESIGN, (NodeName("n1"),)), "cannot rebuild machines"),
        "a service": (Work(Operation.SERVICE_NODES, DESIGN, (NodeName("n1"),)), "no steps on deployed machines"),
        "a power cycle": (Work(Operation.POWER_CYCLE_NODES, DESIGN, (NodeName("n1"),)), "cannot power-cycle"),
        "no design address": (Work(Operation.VERIFY_SITE, ""), "0 characters"),
        "a long address": (Work(Operation.VERIFY_SITE, "http://h/" + "d" * 120), "129 characters"),
        "a long name": (Work(Operation.PREPARE_NODES, DESIGN, (NodeName("n1"), NodeName("m" * 33))), "m" * 33),
    },
)
def test_work_that_drydock_would_misread_is_refused(work: Work, told: str) -> None:
    with pytest.raises(Refused, match=told) as caught:
        translate.task_body(MARKER, work)
    assert (caught.value.system, caught.value.operation) == ("Drydock", work.operation.value)
    assert (caught.value.marker, caught.value.whole_site) == (MARKER, "the design address" in str(caught.value))


def test_the_longest_allowed_name_and_address_are_accepted() -> None:
    work = Work(Operation.PREPARE_NODES, "http://h/" + "d" * 119, (NodeName("m" * 32),))
    assert translate.task_body(MARKER, work)["design_ref"] == work.design
    assert translate.task_body(MARKER, Work(Operation.VERIFY_SITE, "d"))["design_ref"] == "d"
    template = "http://dh/{revision}/" + "d" * 107
    translate.check_design_template(template)
    assert len(translate.design_reference(template, translate.LARGEST_REVISION)) == 128


@every_row(
    {
        "version 4": (MARKER, MARKER),
        "version 4 in capitals": (MARKER.upper(), MARKER),
        "version 1": ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", None),
        "no uuid": ("deploy:group-a:prepare", None),
        "nothing": ("", None),
    },
)
def test_only_a_uuid_of_version_4_goes_into_the_context_marker(marker: str, sent: str | None) -> None:
    assert translate.context_marker(marker) == sent


# Design addresses


@every_row(
    {
        "deckhand over https": ("deckhand+https://dh/{revision}", "scheme"),
        "another scheme": ("ftp://reader:s3cret@dh/{revision}", r"ftp://\*\*\*@dh/"),
        "no scheme": ("dh/{revision}", "scheme"),
        "no place for the revision": ("deckhand+http://dh/revisions/3", r"\{revision\}"),
        "too long with the largest revision": ("http://dh/{revision}/" + "d" * 108, "129 characters"),
    },
)
def test_an_address_that_drydock_cannot_use_is_refused_at_once(template: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        translate.check_design_template(template)
    assert "s3cret" not in str(caught.value)


# Finding a task again

WORK = Work(Operation.PREPARE_NODES, DESIGN, (NodeName("n1"), NodeName("n2")))


def task(**changes: Any) -> dict[str, Any]:
    filters = [{"filter_type": "union", "node_names": ["n2", "n1"]}]
    return {
        "task_id": "t1",
        "action": "prepare_nodes",
        "parent_task_id": None,
        "design_ref": DESIGN,
        "node_filter": {"filter_set_type": "union", "filter_set": filters},
        "status": "queued",
        "created": "2026-03-02 12:00:01.5",
        "created_by": "shipyard",
    } | changes


def one_filter(**changes: Any) -> dict[str, Any]:
    filters = [{"filter_type": "union", "node_names": ["n1", "n2"]} | changes]
    return {"filter_set_type": "union", "filter_set": filters}


AT_NOON = translate.Since.intent(NOON, ours=NOON, theirs=NOON)


@every_row(
    {
        "the same in another order": ({}, True),
        "empty criteria written out": ({"node_filter": one_filter(node_tags=None, rack_names=[])}, True),
        "created with an offset": ({"created": "2026-03-02 12:00:01.500000+00:00"}, True),
        "created at that very moment, without a fraction": ({"created": "2026-03-02 12:00:00"}, True),
        "created before, as clocks may differ": ({"created": "2026-03-02 11:55:00"}, True),
        "created before": ({"created": "2026-03-02 11:54:59.999"}, False),
        "created before, in another zone": ({"created": "2026-03-02 13:00:00+02:00"}, False),
        "created nobody knows when": ({"created": None}, False),
        "a subtask": ({"parent_task_id": "t0"}, False),
        "without an id": ({"task_id": None}, False),
        "another action": ({"action": "deploy_nodes"}, False),
        "another design": ({"design_ref": DESIGN + "?v=2"}, False),
        "every node": ({"node_filter": None}, False),
        "fewer nodes": ({"node_filter": one_filter(node_names=["n1"])}, False),
        "more nodes": ({"node_filter": one_filter(node_names=["n1", "n2", "n3"])}, False),
        "another type of filter": ({"node_filter": one_filter(filter_type="intersection")}, False),
        "a second criterion": ({"node_filter": one_filter(node_tags=["t"])}, False),
        "two filters": (
            {"node_filter": {"filter_set_type": "union", "filter_set": [*one_filter()["filter_set"] * 2]}},
            False,
        ),
        "a text": ({"node_filter": "n1,n2"}, False),
        "an empty object": ({"node_filter": {}}, False),
    },
)
def test_a_task_is_ours_if_it_does_exactly_this_work_since_the_intent(changes: dict[str, Any], found: bool) -> None:
    job = translate.find_job([task(task_id="other", action="noop"), task(**changes)], WORK, since=AT_NOON)
    assert job == (JobId("t1") if found else None)


def test_of_several_tasks_the_oldest_since_the_intent_is_ours() -> None:
    created = {"late": "2026-03-02 12:00:09", "ours": "2026-03-02 12:00:02", "before": "2026-03-02 11:00:00"}
    tasks = [task(task_id=name, created=when) for name, when in created.items()]
    assert translate.find_job(tasks, WORK, since=AT_NOON) == "ours"
    del tasks[:2]
    tasks.append(task(task_id="a minute before", created="2026-03-02 11:59:00"))
    tasks.append(task(task_id="two minutes before", created="2026-03-02 11:58:00"))
    assert translate.find_job(tasks, WORK, since=AT_NOON) == "a minute before"
    tasks += [task(task_id=at, created=f"2026-03-02 {at}") for at in ("11:59:59", "11:59:58", "11:59:57")]
    assert translate.find_job(tasks, WORK, since=AT_NOON) == "11:59:58"  # as old as a right Date allows


ALL_NODES = ["n4", "n1", "n3", "n2", "n5"]
QUEUES: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "nothing else": ([], None),
    "ended tasks": ([task(task_id="x", status="complete"), task(task_id="y", status="terminated")], None),
    "older ones that have ended": (
        [task(task_id=how, status=how, created="2026-03-02 11:00:00") for how in ("complete", "terminated")],
        None,
    ),
    "the running one, however new": (
        [
            task(task_id="x", created="2026-03-02 11:00:00"),
            task(task_id="y", status="running", created="2026-03-02 13:00:00", created_by="mara"),
        ],
        "job y (prepare_nodes of n1, n2, submitted by mara)",
    ),
    "the oldest queued one": (
        [task(task_id="x", created="2026-03-02 11:30:00"), task(task_id="y", created="2026-03-02 11:00:00")],
        "job y (prepare_nodes of n1, n2, submitted by shipyard)",
    ),
    "the only older one": (
        [task(task_id="x", created="2026-03-02 11:30:00")],
        "job x (prepare_nodes of n1, n2, submitted by shipyard)",
    ),
    "one of the same moment": ([task(task_id="x")], None),
    "a running one without an id": ([task(task_id=None, status="running")], None),
    "later ones wait for this one": ([task(task_id="x", created="2026-03-02 13:00:00")], None),
    "subtasks": ([task(task_id="x", status="running", parent_task_id="y")], None),
    "work on the site": (
        [task(task_id="x", status="running", action="verify_site", node_filter=None, created_by=None)],
        "job x (verify_site)",
    ),
    "three nodes": (
        [task(task_id="x", status="running", node_filter=one_filter(node_names=["n3", "n1", "n2"]))],
        "job x (prepare_nodes of n1, n2, n3, submitted by shipyard)",
    ),
    "many nodes": (
        [task(task_id="x", status="terminating", node_filter=translate.names_filter(map(NodeName, ALL_NODES)))],
        "job x (prepare_nodes of n1, n2, n3 and 2 more, submitted by shipyard)",
    ),
}


@every_row(QUEUES)
def test_a_queued_task_waits_for_the_one_that_runs_or_the_oldest(
    others: list[dict[str, Any]], expected: str | None
) -> None:
    found = translate.task_ahead([*others, task(task_id="own")], JobId("own"))
    assert (found and str(found)) == expected


def test_work_on_the_site_has_no_filter_and_is_found_by_that() -> None:
    work = Work(Operation.VERIFY_SITE, DESIGN)
    body = translate.task_body(MARKER, work)
    assert body == {"action": "verify_site", "design_ref": DESIGN, "node_filter": None}
    with_nodes = task(task_id="t0", action="verify_site")
    assert translate.find_job([with_nodes], work, since=AT_NOON) is None
    assert translate.find_job([with_nodes | {"node_filter": "all"}], work, since=AT_NOON) is None
    assert translate.find_job([with_nodes, task(action="verify_site", node_filter=None)], work, since=AT_NOON) == "t1"


HOUR = timedelta(hours=1)
SECONDS = timedelta(seconds=5)


@every_row(
    {
        "all agree": (0 * HOUR, 0 * HOUR, 0 * HOUR),
        "Date seconds ahead": (0 * HOUR, SECONDS, 0 * HOUR),
        "Date ahead": (0 * HOUR, HOUR, 0 * HOUR),
        "Date behind": (0 * HOUR, -HOUR, 0 * HOUR),
        "no Date": (0 * HOUR, None, -4 * timedelta(minutes=1)),
        "tasks ahead": (0 * HOUR, 0 * HOUR, HOUR),
        "Drydock ahead": (0 * HOUR, HOUR, HOUR),
        "Drydock behind": (0 * HOUR, -HOUR, -HOUR),
        "our database ahead": (HOUR, 0 * HOUR, 0 * HOUR),
        "our database behind": (-HOUR, 0 * HOUR, 0 * HOUR),
    },
)
def test_a_task_of_ours_is_found_whichever_clock_is_off(
    ours: timedelta, dates: timedelta | None, tasks: timedelta
) -> None:
    """Each clock by how far it is off; the task is created a second after the intent and looked for after a minute."""
    arrival = NOON + timedelta(minutes=1)
    theirs = None if dates is None else arrival + dates
    since = translate.Since.intent(NOON + ours, ours=arrival + ours, theirs=theirs)
    created = NOON + timedelta(seconds=1) + tasks

    assert translate.find_job([task(created=created.isoformat())], WORK, since=since) == "t1"


def test_a_date_that_is_behind_moves_both_limits_back() -> None:
    since = translate.Since.intent(NOON, ours=NOON, theirs=NOON - HOUR)
    assert since == translate.Since(NOON - HOUR - timedelta(seconds=2), NOON - HOUR - timedelta(minutes=5))


def test_creation_times_are_utc_unless_they_say_otherwise() -> None:
    assert translate.created_at({"created": "2026-03-02 09:14:51.674255"}) == datetime(
        2026, 3, 2, 9, 14, 51, 674255, tzinfo=UTC
    )
    elsewhere = timezone(timedelta(hours=2))
    assert translate.created_at({"created": "2026-03-02 11:14:51+02:00"}) == datetime(
        2026, 3, 2, 11, 14, 51, tzinfo=elsewhere
    )
    assert translate.created_at({}) is None


@every_row(
    [
        ("Deployed", MachineState.DEPLOYED),
        ("Deploying", MachineState.INSTALLING),
        ("Ready", MachineState.FREE),
        ("Rescue mode", MachineState.OTHER),
        (None, MachineState.UNKNOWN),
    ],
)
def test_a_condition_has_maas_s_label_and_the_address_that_stays(label: str | None, state: MachineState) -> None:
    listed = {"status_name": label, "power_state": "on", "boot_mac": "00:AA"}
    found = translate.condition("n1", listed, Scrubber())
    assert found == ObservedMachine("n1", label or "unknown", "on", state, "00:aa")


@every_row(
    {
        "the same work": ({}, True),
        "another operation": ({"action": "deploy_nodes"}, True),
        "no operation on nodes": ({"action": "noop"}, False),
        "a job with a record": ({"task_id": "known"}, False),
        "a subtask": ({"parent_task_id": "t0"}, False),
        "another design": ({"design_ref": "file:///other"}, False),
        "before the loss": ({"created": "2026-03-02 11:00:00"}, False),
        "the whole site": ({"node_filter": None}, False),
        "some nodes": ({"node_filter": translate.names_filter([NodeName("n1"), NodeName("n9")])}, True),
        "other nodes": ({"node_filter": translate.names_filter([NodeName("n9")])}, False),
    },
)
def test_earlier_work_is_what_may_be_ours_on_the_same_nodes(changes: dict[str, Any], found: bool) -> None:
    earlier = translate.earlier_work([task(**changes)], WORK, since=AT_NOON, known=[JobId("known")])
    assert [one.job for one in earlier] == (["t1"] if found else [])


def test_earlier_work_is_in_order() -> None:
    tasks = [task(task_id=name, created=f"2026-03-02 12:00:0{at}") for name, at in (("b", 2), ("a", 1), ("c", 3))]
    assert [one.job for one in translate.earlier_work(tasks, WORK, since=AT_NOON, known=())] == ["a", "b", "c"]


def test_earlier_work_that_is_older_than_a_right_clock_allows_is_unlikely() -> None:
    moments = ("11:54:59", "11:55:00", "11:59:57", "11:59:58")
    tasks = [task(task_id=at, created=f"2026-03-02 {at}") for at in moments]
    earlier = translate.earlier_work(tasks, WORK, since=AT_NOON, known=())
    assert [(one.job, one.likely) for one in earlier] == [(at, at == "11:59:58") for at in moments[1:]]
