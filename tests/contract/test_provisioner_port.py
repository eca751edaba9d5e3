"""What every provisioner promises, asked of each one (ports/provisioner.py)."""

import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.findings import Level, errors
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.strategy.selectors import Selector, select
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, JobState, Marker, Operation, Wipe, Work
from tests.contract.provisioner_sites import NODES, DrydockSite, Fate, Plot, Site, Slip, StartSite

ALL_NAMES = frozenset(node.name for node in NODES)
FACTORY_RESET = DeployStep(Interface.BIOS, "factory_reset", {}, 50)


def names(text: str) -> frozenset[NodeName]:
    return frozenset(map(NodeName, text.split()))


def marker() -> Marker:
    return Marker(str(uuid.uuid4()))


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def site(start_site: StartSite) -> Site:
    """A site where everything succeeds."""
    return start_site(Plot())


# Selecting

CTL, CMP = ("role", "ctl"), ("role", "cmp")
SELECTIONS = {
    "no selectors": ((), "n1 n2 n3 n4 n5"),
    "a blank selector": ((Selector(),), "n1 n2 n3 n4 n5"),
    "a blank selector beside another": ((Selector(names("n1")), Selector()), "n1 n2 n3 n4 n5"),
    "any of several names": ((Selector(names("n1 n5")),), "n1 n5"),
    "an unknown name": ((Selector(names("n9")),), ""),
    "a known and an unknown name": ((Selector(names("n1 n9")),), "n1"),
    "any of several tags": ((Selector(node_tags=frozenset({"control", "storage"})),), "n1 n2 n4"),
    "a label": ((Selector(node_labels=frozenset({CTL})),), "n1 n2"),
    "a label of no node": ((Selector(node_labels=frozenset({("role", "none")})),), ""),
    "any of several labels with one key": ((Selector(node_labels=frozenset({CTL, CMP})),), "n1 n2 n3 n4"),
    "any of several labels with two keys": ((Selector(node_labels=frozenset({CTL, ("gen", "a")})),), "n1 n2 n3"),
    "any of several racks": ((Selector(rack_names=frozenset({"r2", "r3"})),), "n3 n4 n5"),
    "all criteria of a selector": (
        (Selector(node_tags=frozenset({"storage"}), rack_names=frozenset({"r2"})),),
        "n4",
    ),
    "labels and a rack": (
        (Selector(node_labels=frozenset({CTL, CMP, ("gen", "b")}), rack_names=frozenset({"r1"})),),
        "n1 n2",
    ),
    "any of several selectors": (
        (Selector(node_tags=frozenset({"compute"})), Selector(rack_names=frozenset({"r3"}))),
        "n3 n4 n5",
    ),
}


def test_selectors_select_what_the_design_says(site: Site) -> None:
    groups = [selectors for selectors, _ in SELECTIONS.values()]
    selected = site.provisioner.select_nodes(site.design, groups)
    found = dict(zip(SELECTIONS, selected, strict=True))
    assert found == {title: names(expected) for title, (_, expected) in SELECTIONS.items()}


def test_the_table_of_selections_agrees_with_the_domain() -> None:
    inventory = Inventory.of(NODES)
    for title, (selectors, expected) in SELECTIONS.items():
        assert select(selectors, inventory) == names(expected), title


def test_many_groups_are_answered_in_their_order(site: Site) -> None:
    groups = [(Selector(frozenset({node.name})),) for node in NODES] * 8
    selected = site.provisioner.select_nodes(site.design, groups)
    assert selected == tuple(frozenset({node.name}) for node in NODES) * 8


def test_no_groups_are_answered_with_nothing(site: Site) -> None:
    assert site.provisioner.select_nodes(site.design, []) == ()


def test_a_design_that_cannot_be_read_is_refused(site: Site) -> None:
    unreadable = site.make_unreadable()
    with pytest.raises(Refused):
        site.provisioner.select_nodes(unreadable, [(Selector(names("n1")),)])


# Designs


def test_a_design_has_an_address(site: Site) -> None:
    assert site.provisioner.design_reference(1) == site.design
    assert site.provisioner.design_reference(2) != site.design


def test_a_good_design_has_no_errors(site: Site) -> None:
    assert errors(site.provisioner.validate_design(site.design)) == ()


def test_a_bad_design_breaks_a_limit_or_has_errors_that_name_their_source(start_site: StartSite) -> None:
    site = start_site(Plot(invalid=True))
    found = errors(site.provisioner.validate_design(site.design))
    limits = site.provisioner.capabilities.limits
    assert limits.system == site.provisioner.name
    (nodes,) = site.provisioner.select_nodes(site.design, [()])
    assert found or not all(map(limits.accepts, nodes))
    assert all(one.source == site.provisioner.name and one.message for one in found)
    assert all(one.level is Level.ERROR for one in found)


def test_judging_a_design_that_cannot_be_read_is_refused(site: Site) -> None:
    unreadable = site.make_unreadable()
    with pytest.raises(Refused):
        site.provisioner.validate_design(unreadable)


# Health


def test_a_healthy_provisioner_says_nothing(site: Site) -> None:
    site.provisioner.check_health()


def test_an_unhealthy_provisioner_is_unavailable(start_site: StartSite) -> None:
    site = start_site(Plot(unhealthy=True))
    with pytest.raises(Unavailable):
        site.provisioner.check_health()


# Work


@pytest.mark.parametrize("operation", [Operation.VERIFY_SITE, Operation.PREPARE_SITE])
def test_work_on_the_site_ends_well(site: Site, operation: Operation) -> None:
    report = site.run(site.work(operation))
    assert (report.state, report.ok) == (JobState.ENDED, True)
    assert report.succeeded == report.failed == frozenset()


@pytest.mark.parametrize("operation", [Operation.VERIFY_SITE, Operation.PREPARE_SITE])
def test_work_on_the_site_that_fails_is_not_ok(start_site: StartSite, operation: Operation) -> None:
    site = start_site(Plot(failing=operation))
    if operation in site.never_fails:
        pytest.skip(f"{site.provisioner.name} has nothing to do for it")
    report = site.run(site.work(operation))
    assert (report.state, report.ok) == (JobState.ENDED, False)
    assert report.message


def test_nodes_are_prepared_and_then_deployed(site: Site) -> None:
    prepared = site.run(site.work(Operation.PREPARE_NODES, "n1", "n3"))
    assert (prepared.state, prepared.ok, prepared.succeeded) == (JobState.ENDED, True, names("n1 n3"))
    deployed = site.run(site.work(Operation.DEPLOY_NODES, "n1", "n3"))
    assert (deployed.state, deployed.ok, deployed.succeeded) == (JobState.ENDED, True, names("n1 n3"))


def test_nodes_that_fail_to_prepare_are_told_with_a_reason(start_site: StartSite) -> None:
    site = start_site(Plot(fates={"n2": Fate.FAILS_PREPARE}))
    report = site.run(site.work(Operation.PREPARE_NODES, "n1", "n2"))
    assert (report.state, report.ok) == (JobState.ENDED, False)
    assert (report.succeeded, report.failed) == (names("n1"), names("n2"))
    assert report.reasons.keys() == names("n2")
    assert "n2" in report.reasons[NodeName("n2")]


def test_nodes_that_fail_to_deploy_are_told_with_a_reason(start_site: StartSite) -> None:
    site = start_site(Plot(fates={"n2": Fate.FAILS_DEPLOY}))
    assert site.run(site.work(Operation.PREPARE_NODES, "n1", "n2")).ok
    report = site.run(site.work(Operation.DEPLOY_NODES, "n1", "n2"))
    assert (report.succeeded, report.failed) == (names("n1"), names("n2"))
    assert "n2" in report.reasons[NodeName("n2")]


def test_a_node_that_is_not_in_the_design_fails(site: Site) -> None:
    report = site.run(site.work(Operation.PREPARE_NODES, "n1", "n9"))
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, names("n1"), names("n9"))


def test_work_that_never_ends_is_never_reported_as_ended(start_site: StartSite) -> None:
    site = start_site(Plot(fates={"n2": Fate.HANGS_PREPARE}))
    work = site.work(Operation.PREPARE_NODES, "n1", "n2")
    job = site.provisioner.submit(marker(), work)
    report = site.watch(job, work, seconds=1.0)
    assert report.state is JobState.RUNNING
    assert not report.ok
    assert report.succeeded <= names("n1")
    assert report.failed == frozenset()


def test_an_empty_set_of_nodes_is_refused_and_nothing_is_started(site: Site) -> None:
    with pytest.raises(Refused):
        site.provisioner.submit(marker(), site.work(Operation.PREPARE_NODES, nodes=()))
    assert site.jobs(Operation.PREPARE_NODES) == []


def test_a_job_that_nobody_knows_is_lost(site: Site) -> None:
    report = site.provisioner.report(JobId(str(uuid.uuid4())), site.work(Operation.VERIFY_SITE))
    assert (report.state, report.ok) == (JobState.LOST, False)


def test_several_jobs_are_reported_on_at_once_as_each_alone(site: Site) -> None:
    works = [site.work(Operation.PREPARE_NODES, "n1"), site.work(Operation.PREPARE_NODES, "n2")]
    jobs = {site.provisioner.submit(marker(), work): work for work in works}
    alone = {job: site.watch(job, work) for job, work in jobs.items()}
    assert site.provisioner.reports(jobs) == alone


def test_a_job_is_asked_about_the_rest_of_its_nodes_while_later_work_has_the_others(start_site: StartSite) -> None:
    site = start_site(Plot(fates={"n2": Fate.HANGS_PREPARE}))
    prepare = site.work(Operation.PREPARE_NODES, "n1", "n2")
    first = site.provisioner.submit(marker(), prepare)
    deadline = time.monotonic() + 5.0
    while "n1" not in site.provisioner.report(first, prepare).succeeded:
        if time.monotonic() > deadline:
            pytest.skip("it tells of no node before the job has ended")
        time.sleep(0.02)
    deploy, rest = site.work(Operation.DEPLOY_NODES, "n1"), site.work(Operation.PREPARE_NODES, "n2")
    second = site.provisioner.submit(marker(), deploy)
    site.watch(second, deploy)
    told = site.provisioner.reports({first: rest, second: deploy})
    assert (told[first].state, told[first].failed) == (JobState.RUNNING, frozenset())
    assert told[second].failed == frozenset()


# Conditions


def test_machines_are_told_by_name_with_their_power(site: Site) -> None:
    assert site.run(site.work(Operation.PREPARE_NODES, "n3", "n1")).ok
    told = site.provisioner.conditions()
    assert [one.name for one in told] == sorted(one.name for one in told)
    assert {one.name: one.status for one in told if one.name in ("n1", "n3")} == dict.fromkeys(("n1", "n3"), site.ready)
    assert {one.power for one in told} <= {"on", "off", "unknown"}


# Destroying


def test_nodes_are_destroyed_whatever_was_done_with_them(site: Site) -> None:
    assert site.run(site.work(Operation.PREPARE_NODES, "n1", "n2")).ok
    assert site.run(site.work(Operation.DEPLOY_NODES, "n1")).ok
    report = site.run(site.work(Operation.DESTROY_NODES, "n1", "n2"))
    assert (report.state, report.ok, report.succeeded) == (JobState.ENDED, True, names("n1 n2"))


def test_disks_are_kept_or_the_work_is_refused(site: Site) -> None:
    assert site.run(site.work(Operation.PREPARE_NODES, "n1")).ok
    assert site.run(site.work(Operation.DEPLOY_NODES, "n1")).ok
    work = site.work(Operation.DESTROY_NODES, "n1", wipe=Wipe.OS_DISK_ONLY)
    if site.provisioner.capabilities.limits.preserves_storage:
        assert site.run(work).succeeded == names("n1")
    else:
        with pytest.raises(Refused):
            site.provisioner.submit(marker(), work)
        assert site.jobs(Operation.DESTROY_NODES) == []


def test_deployed_nodes_are_rebuilt_or_the_work_is_refused(site: Site) -> None:
    assert site.run(site.work(Operation.PREPARE_NODES, "n1")).ok
    assert site.run(site.work(Operation.DEPLOY_NODES, "n1")).ok
    work = site.work(Operation.REBUILD_NODES, "n1")
    if not site.provisioner.capabilities.limits.no_rebuild:
        assert site.run(work).succeeded == names("n1")
    else:
        with pytest.raises(Refused):
            site.provisioner.submit(marker(), work)


def test_steps_run_on_deployed_nodes_or_the_work_is_refused(site: Site) -> None:
    limits = site.provisioner.capabilities.limits
    work = replace(site.work(Operation.SERVICE_NODES, "n1"), steps={NodeName("n1"): (FACTORY_RESET,)})
    if limits.no_service:
        with pytest.raises(Refused):
            site.provisioner.submit(marker(), work)
        return
    assert site.run(site.work(Operation.PREPARE_NODES, "n1")).ok
    assert site.run(site.work(Operation.DEPLOY_NODES, "n1")).ok
    assert site.run(work).succeeded == names("n1")
    assert site.run(work).succeeded == names("n1")


def test_steps_run_before_a_deployment_or_the_work_is_refused(site: Site) -> None:
    work = replace(site.work(Operation.PREPARE_NODES, "n1"), steps={NodeName("n1"): (FACTORY_RESET,)})
    if site.provisioner.capabilities.limits.no_clean:
        with pytest.raises(Refused):
            site.provisioner.submit(marker(), work)
        return
    assert site.run(work).succeeded == names("n1")
    assert site.run(site.work(Operation.DEPLOY_NODES, "n1")).ok


def test_a_machine_that_works_is_power_cycled_or_that_is_refused(start_site: StartSite) -> None:
    site = start_site(Plot(fates={"n1": Fate.HANGS_PREPARE}))
    nodes, work = [NodeName("n1")], site.work(Operation.PREPARE_NODES, "n1")
    if site.provisioner.capabilities.limits.no_power_cycle:
        with pytest.raises(Refused):
            site.provisioner.power_cycle(nodes)
        return
    job = site.provisioner.submit(marker(), work)
    site.watch(job, work, until=lambda report: site.hangs("n1"))

    refused = site.provisioner.power_cycle([*nodes, NodeName("unknown")])

    assert list(refused) == [*(() if site.power_cycles_preparing else nodes), "unknown"]
    assert site.provisioner.report(job, work).state is JobState.RUNNING


# Stopping


def test_work_is_stopped_or_that_is_refused(start_site: StartSite) -> None:
    site = start_site(Plot(fates={"n2": Fate.HANGS_PREPARE}))
    work = site.work(Operation.PREPARE_NODES, "n1", "n2")
    job = site.provisioner.submit(marker(), work)
    if not site.provisioner.capabilities.aborts:
        with pytest.raises(Refused):
            site.provisioner.abort(job, work)
        return
    site.watch(job, work, until=lambda report: report.succeeded == names("n1") and site.hangs("n2"))
    for _ in range(2):
        site.provisioner.abort(job, work)
    report = site.watch(job, work)
    stopped = names("n2") if site.stops_at_once else frozenset()
    assert (report.state, report.failed) == (JobState.ENDED, stopped)
    assert report.succeeded == names("n1 n2") - stopped


def test_stopping_work_that_has_ended_changes_nothing(site: Site) -> None:
    if not site.provisioner.capabilities.aborts:
        pytest.skip("it cannot stop work at all")
    work = site.work(Operation.PREPARE_NODES, "n1")
    job = site.provisioner.submit(marker(), work)
    assert site.watch(job, work).ok
    site.provisioner.abort(job, work)
    assert site.provisioner.report(job, work).succeeded == names("n1")


# Finding again


def test_work_that_was_never_submitted_is_not_found(site: Site) -> None:
    work = site.work(Operation.PREPARE_NODES, "n1")
    assert site.provisioner.find(marker(), work, intended_at=now()) is None


def test_submitted_work_is_found_before_and_after_its_end(site: Site) -> None:
    mine, work, intended_at = marker(), site.work(Operation.PREPARE_NODES, "n2", "n1"), now()
    job = site.provisioner.submit(mine, work)
    assert site.provisioner.find(mine, work, intended_at=intended_at) == job
    site.watch(job, work)
    assert site.provisioner.find(mine, work, intended_at=intended_at) == job


def test_a_job_of_another_intent_of_ours_is_not_found(site: Site) -> None:
    work, intended_at, mine = site.work(Operation.PREPARE_NODES, "n1"), now(), marker()
    job = site.provisioner.submit(mine, work)
    assert site.provisioner.find(mine, work, intended_at=intended_at, known={job}) is None


def test_work_on_the_site_is_found_too(site: Site) -> None:
    mine, work, intended_at = marker(), site.work(Operation.VERIFY_SITE), now()
    job = site.provisioner.submit(mine, work)
    assert site.provisioner.find(mine, work, intended_at=intended_at) == job


@pytest.mark.parametrize("nodes", ["n1", "n1 n2 n3", "n3"])
def test_work_on_other_nodes_is_not_taken_for_ours(site: Site, nodes: str) -> None:
    site.provisioner.submit(marker(), site.work(Operation.PREPARE_NODES, "n1", "n2"))
    work = site.work(Operation.PREPARE_NODES, *nodes.split())
    assert site.provisioner.find(marker(), work, intended_at=now()) is None


def test_another_operation_on_the_same_nodes_is_not_taken_for_ours(site: Site) -> None:
    mine = marker()
    site.run(site.work(Operation.PREPARE_NODES, "n1"), marker=mine)
    assert site.provisioner.find(mine, site.work(Operation.DEPLOY_NODES, "n1"), intended_at=now()) is None


def test_the_same_work_of_long_ago_is_not_taken_for_ours(site: Site) -> None:
    work = site.work(Operation.PREPARE_NODES, "n1")
    site.run(work)
    assert site.provisioner.find(marker(), work, intended_at=now() + timedelta(minutes=10)) is None


def test_work_whose_answer_was_lost_is_found_and_was_started_once(start_site: StartSite) -> None:
    site = start_site(Plot(first_submit=Slip.ANSWER_LOST))
    mine, work, intended_at = marker(), site.work(Operation.PREPARE_NODES, "n1", "n2"), now()
    with pytest.raises(Unavailable):
        site.provisioner.submit(mine, work)
    job = site.provisioner.find(mine, work, intended_at=intended_at)
    assert site.jobs(Operation.PREPARE_NODES) == [job]
    assert job is not None
    assert site.watch(job, work).succeeded == names("n1 n2")


def test_work_that_never_arrived_is_not_found_and_can_be_submitted_again(start_site: StartSite) -> None:
    site = start_site(Plot(first_submit=Slip.BROKEN))
    mine, work, intended_at = marker(), site.work(Operation.PREPARE_NODES, "n1"), now()
    with pytest.raises(Unavailable):
        site.provisioner.submit(mine, work)
    assert site.provisioner.find(mine, work, intended_at=intended_at) is None
    job = site.provisioner.submit(mine, work)
    assert site.jobs(Operation.PREPARE_NODES) == [job]


def test_work_may_be_submitted_again_where_marks_are_kept(site: Site) -> None:
    if not site.provisioner.capabilities.marks:
        pytest.skip("it keeps no marks: a second submission is a second job")
    mine, work = marker(), site.work(Operation.PREPARE_NODES, "n1", "n2")
    jobs = {site.provisioner.submit(mine, work) for _ in range(3)}
    assert [site.watch(job, work).succeeded for job in jobs] == [names("n1 n2")]
    assert site.provisioner.submit(mine, work) in jobs
    assert site.jobs(Operation.PREPARE_NODES) == list(jobs)
    assert site.watch(*jobs, work).ok


# Drydock's own traps (contract drydock, section 7)

StartDrydock = Callable[..., DrydockSite]


@pytest.mark.parametrize(
    ("operation", "trap"),
    [
        (Operation.PREPARE_NODES, "both_lists"),
        (Operation.PREPARE_NODES, "neither_list"),
        (Operation.DEPLOY_NODES, "neither_list"),
        (Operation.DEPLOY_NODES, "silent_boot_action"),
    ],
)
def test_a_node_in_both_lists_or_in_neither_or_with_a_silent_boot_action_has_failed(
    start_drydock: StartDrydock, trap: str, operation: Operation
) -> None:
    phase = operation.value.partition("_")[0]
    known = {"n1": "Ready", "n2": "Ready"} if operation is Operation.DEPLOY_NODES else {}
    site = start_drydock(nodes={"n2": {phase: trap}}, machines=known)
    report = site.run(site.work(operation, "n1", "n2"))
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, names("n1"), names("n2"))
    assert report.reasons[NodeName("n2")]


def test_a_node_that_fails_commissioning_unnoticed_by_drydock_has_failed(start_drydock: StartDrydock) -> None:
    site = start_drydock(nodes={"n2": {"prepare": "false_success"}})
    work = site.work(Operation.PREPARE_NODES, "n1", "n2")
    report = site.run(work)
    [task] = site.tasks(Operation.PREPARE_NODES)
    assert set(task["result"]["successes"]) == {"n1", "n2"}
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, names("n1"), names("n2"))
    assert "Failed commissioning" in report.reasons[NodeName("n2")]


def test_a_failed_erase_that_drydock_reports_as_success_stays_a_warning(start_drydock: StartDrydock) -> None:
    site = start_drydock(nodes={"n2": {"destroy": "false_success"}}, machines={"n1": "Deployed", "n2": "Deployed"})
    report = site.run(site.work(Operation.DESTROY_NODES, "n1", "n2"))
    assert (report.ok, report.succeeded) == (True, names("n1 n2"))
    assert report.message.startswith("removed from MAAS after a failed erase")
    assert "n2" in report.message


def test_prepare_site_that_succeeds_in_part_has_failed(start_drydock: StartDrydock) -> None:
    site = start_drydock(tasks={"prepare_site": "partial"})
    report = site.run(site.work(Operation.PREPARE_SITE))
    assert (report.state, report.ok) == (JobState.ENDED, False)
    assert "partial_success" in report.message


def test_a_task_on_a_design_that_cannot_be_read_never_ends(start_drydock: StartDrydock) -> None:
    site = start_drydock()
    work = Work(Operation.PREPARE_NODES, site.make_unreadable(), (NodeName("n1"),))
    job = site.provisioner.submit(marker(), work)
    assert site.watch(job, work, seconds=0.5).state is JobState.RUNNING


def test_a_task_behind_another_one_is_queued(start_drydock: StartDrydock) -> None:
    site = start_drydock(nodes={"n1": {"prepare": "never"}})
    site.provisioner.submit(marker(), site.work(Operation.PREPARE_NODES, "n1"))
    work = site.work(Operation.PREPARE_NODES, "n2")
    job = site.provisioner.submit(marker(), work)
    assert site.watch(job, work, seconds=0.5).state is JobState.QUEUED


def test_a_subtask_that_drydock_made_itself_is_not_taken_for_ours(start_drydock: StartDrydock) -> None:
    """Preparing several nodes makes Drydock prepare each in a subtask of the same action and design."""
    site = start_drydock()
    intended_at = now()
    site.run(site.work(Operation.PREPARE_NODES, "n1", "n2"))
    assert site.provisioner.find(marker(), site.work(Operation.PREPARE_NODES, "n1"), intended_at=intended_at) is None


def test_of_twins_the_first_is_found(start_drydock: StartDrydock) -> None:
    site, intended_at = start_drydock(), now()
    work = site.work(Operation.PREPARE_NODES, "n1")
    first = site.provisioner.submit(marker(), work)
    site.provisioner.submit(marker(), work)
    assert site.provisioner.find(marker(), work, intended_at=intended_at) == first


@pytest.mark.parametrize("action", ["error_after_effect", "drop_after_effect"])
def test_a_submission_that_breaks_after_its_effect_leaves_one_task(start_drydock: StartDrydock, action: str) -> None:
    site = start_drydock(service=[{"method": "POST", "path": "/tasks", "action": action, "first": 1}])
    mine, work, intended_at = marker(), site.work(Operation.PREPARE_NODES, "n1"), now()
    with pytest.raises(Unavailable):
        site.provisioner.submit(mine, work)
    job = site.provisioner.find(mine, work, intended_at=intended_at)
    assert [job] == site.jobs(Operation.PREPARE_NODES)


@pytest.mark.parametrize("action", ["error", "drop"])
def test_reading_goes_on_after_a_passing_fault(start_drydock: StartDrydock, action: str) -> None:
    site = start_drydock(
        service=[
            {"method": "POST", "path": "/nodefilter", "action": "error", "first": 2},
            {
                "method": "GET",
                "path": "/tasks/*",
                "action": action,
                "first": 1,
                **({"status": 503} if action == "error" else {}),
            },
        ]
    )
    assert site.provisioner.select_nodes(site.design, [()]) == (ALL_NAMES,)
    assert site.run(site.work(Operation.PREPARE_NODES, "n1")).ok


@pytest.mark.parametrize("action", ["error", "drop"])
def test_a_drydock_that_stays_broken_is_unavailable(start_drydock: StartDrydock, action: str) -> None:
    site = start_drydock(service=[{"action": action}])
    port, work = site.provisioner, site.work(Operation.VERIFY_SITE)
    calls: list[Callable[[], object]] = [
        port.check_health,
        lambda: port.validate_design(site.design),
        lambda: port.select_nodes(site.design, [()]),
        lambda: port.submit(marker(), work),
        lambda: port.find(marker(), work, intended_at=now()),
        lambda: port.report(JobId(str(uuid.uuid4())), work),
    ]
    for call in calls:
        with pytest.raises(Unavailable):
            call()
