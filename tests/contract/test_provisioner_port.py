"""What every provisioner promises, asked of each one (ports/provisioner.py)."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.findings import Level, errors
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.strategy.selectors import Selector, select
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, JobState, Operation, Wipe, Work
from tests.contract.provisioner_sites import NODES, DrydockSite, Fate, Plot, Site, Slip, StartSite, marker, names

ALL_NAMES = frozenset(node.name for node in NODES)
FACTORY_RESET = DeployStep(Interface.BIOS, "factory_reset", {}, 50)


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
    provisioner = site.provisioner
    provisioner.check_health()
    groups = [selectors for selectors, _ in SELECTIONS.values()]
    found = dict(zip(SELECTIONS, provisioner.select_nodes(site.design, groups), strict=True))
    assert found == {title: names(expected) for title, (_, expected) in SELECTIONS.items()}
    many = [(Selector(frozenset({node.name})),) for node in NODES] * 8
    assert provisioner.select_nodes(site.design, many) == tuple(frozenset({node.name}) for node in NODES) * 8
    assert provisioner.select_nodes(site.design, []) == ()

    assert provisioner.design_reference(1) == site.design != provisioner.design_reference(2)
    assert errors(provisioner.validate_design(site.design)) == ()
    unreadable = site.make_unreadable()
    # One that fetches it cannot tell a design that is gone from a server of designs that restarts.
    kind = Unavailable if provisioner.name == "Drydock" else Refused
    with pytest.raises(kind):
        provisioner.select_nodes(unreadable, [(Selector(names("n1")),)])
    with pytest.raises(kind):
        provisioner.validate_design(unreadable)


def test_the_table_of_selections_agrees_with_the_domain() -> None:
    inventory = Inventory.of(NODES)
    for title, (selectors, expected) in SELECTIONS.items():
        assert select(selectors, inventory) == names(expected), title


# Designs


def test_a_bad_design_breaks_a_limit_or_has_errors_that_name_their_source(start_site: StartSite) -> None:
    site = start_site(Plot(invalid=True))
    found = errors(site.provisioner.validate_design(site.design))
    limits = site.provisioner.capabilities.limits
    assert limits.system == site.provisioner.name
    (nodes,) = site.provisioner.select_nodes(site.design, [()])
    assert found or not all(map(limits.accepts, nodes))
    assert all(one.source == site.provisioner.name and one.message for one in found)
    assert all(one.level is Level.ERROR for one in found)


# Health


def test_an_unhealthy_provisioner_is_unavailable(start_site: StartSite) -> None:
    site = start_site(Plot(unhealthy=True))
    with pytest.raises(Unavailable):
        site.provisioner.check_health()


# Work


def test_work_on_the_site_ends_well_and_is_found(site: Site) -> None:
    for operation in (Operation.VERIFY_SITE, Operation.PREPARE_SITE):
        mine, work, intended_at = marker(), site.work(operation), now()
        job = site.provisioner.submit(mine, work)
        assert site.provisioner.find(mine, work, intended_at=intended_at) == job
        report = site.watch(job, work)
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


def test_nodes_are_prepared_deployed_and_destroyed(site: Site) -> None:
    for operation, nodes in (
        (Operation.PREPARE_NODES, "n3 n1"),
        (Operation.DEPLOY_NODES, "n1"),
        (Operation.DESTROY_NODES, "n1 n3"),
    ):
        report = site.run(site.work(operation, *nodes.split()))
        assert (report.state, report.ok, report.succeeded) == (JobState.ENDED, True, names(nodes))
        if operation is Operation.PREPARE_NODES:
            told = site.provisioner.conditions()
            assert [one.name for one in told] == sorted(one.name for one in told)
            statuses = {one.name: one.status for one in told if one.name in ("n1", "n3")}
            assert statuses == dict.fromkeys(("n1", "n3"), site.ready)
            assert {one.power for one in told} <= {"on", "off", "unknown"}


def test_nodes_that_fail_to_deploy_are_told_with_a_reason(start_site: StartSite) -> None:
    """And those that fail before, or are not in the design."""
    site = start_site(Plot(fates={"n2": Fate.FAILS_PREPARE, "n3": Fate.FAILS_DEPLOY}))
    report = site.run(site.work(Operation.PREPARE_NODES, "n1", "n2", "n3", "n9"))
    assert (report.state, report.ok) == (JobState.ENDED, False)
    assert (report.succeeded, report.failed) == (names("n1 n3"), names("n2 n9"))
    assert report.reasons.keys() <= names("n2 n9")
    assert "n2" in report.reasons[NodeName("n2")]
    report = site.run(site.work(Operation.DEPLOY_NODES, "n1", "n3"))
    assert (report.succeeded, report.failed) == (names("n1"), names("n3"))
    assert "n3" in report.reasons[NodeName("n3")]


def test_several_jobs_are_reported_on_at_once_as_each_alone(site: Site) -> None:
    works = [site.work(Operation.PREPARE_NODES, "n1"), site.work(Operation.PREPARE_NODES, "n2")]
    jobs = {site.provisioner.submit(marker(), work): work for work in works}
    alone = {job: site.watch(job, work) for job, work in jobs.items()}
    assert site.provisioner.reports(jobs) == alone


def test_a_job_is_asked_about_the_rest_of_its_nodes_while_later_work_has_the_others(start_site: StartSite) -> None:
    site = start_site(Plot(fates={"n2": Fate.HANGS_PREPARE}))
    prepare = site.work(Operation.PREPARE_NODES, "n1", "n2")
    first = site.provisioner.submit(marker(), prepare)
    assert site.watch(first, prepare, until=lambda report: bool(report.succeeded)).succeeded == names("n1")
    deploy, rest = site.work(Operation.DEPLOY_NODES, "n1"), site.work(Operation.PREPARE_NODES, "n2")
    second = site.provisioner.submit(marker(), deploy)
    site.watch(second, deploy, until=lambda report: report.state is JobState.QUEUED)  # behind the first, for ever
    told = site.provisioner.reports({first: rest, second: deploy})
    assert (told[first].state, told[first].failed) == (JobState.RUNNING, frozenset())
    assert told[second].failed == frozenset()


# Destroying


def test_what_is_done_with_nodes_is_done_or_refused_as_the_limits_say(site: Site) -> None:
    limits = site.provisioner.capabilities.limits

    def played(operation: Operation, refused: bool, *, steps: bool = False, wipe: Wipe = Wipe.ALL) -> None:
        work = site.work(operation, "n1", wipe=wipe)
        work = replace(work, steps={NodeName("n1"): (FACTORY_RESET,)}) if steps else work
        if refused:
            with pytest.raises(Refused):
                site.provisioner.submit(marker(), work)
        else:
            assert site.run(work).succeeded == names("n1")

    played(Operation.PREPARE_NODES, limits.no_clean, steps=True)
    played(Operation.PREPARE_NODES, refused=False)
    played(Operation.DEPLOY_NODES, refused=False)
    for _ in range(2):
        played(Operation.SERVICE_NODES, limits.no_service, steps=True)
    played(Operation.POWER_CYCLE_NODES, limits.no_reboot)
    played(Operation.REBUILD_NODES, limits.no_rebuild)
    played(Operation.DESTROY_NODES, not limits.preserves_storage, wipe=Wipe.OS_DISK_ONLY)
    assert bool(site.jobs(Operation.DESTROY_NODES)) == limits.preserves_storage


# Power-cycling


def test_a_deployed_node_is_power_cycled_once_a_job_however_often_it_is_submitted(site: Site) -> None:
    provisioner, mine, work = site.provisioner, marker(), site.work(Operation.POWER_CYCLE_NODES, "n1", "n2")
    if provisioner.capabilities.limits.no_reboot:
        with pytest.raises(Refused):
            provisioner.submit(mine, work)
        return
    site.run(site.work(Operation.PREPARE_NODES, "n1"))
    site.run(site.work(Operation.DEPLOY_NODES, "n1"))
    before = site.restarts("n1")
    for _ in range(3):
        report = site.run(work, marker=mine)
        assert (report.succeeded, report.failed) == (names("n1"), names("n2"))
        assert "n2" in report.reasons[NodeName("n2")]
        assert (site.restarts("n1"), site.restarts("n2")) == (before + 1, 0)
    report = site.run(replace(work, nodes=(NodeName("n1"),)))
    assert (report.ok, site.restarts("n1")) == (True, before + 2)


# Stopping


def test_work_that_never_ends_is_power_cycled_and_stopped_or_that_is_refused(start_site: StartSite) -> None:
    site = start_site(Plot(fates={"n2": Fate.HANGS_PREPARE}))
    provisioner, work, hung = site.provisioner, site.work(Operation.PREPARE_NODES, "n1", "n2"), NodeName("n2")
    job = provisioner.submit(marker(), work)
    report = site.watch(job, work, seconds=0.3)
    assert (report.state, report.ok, report.failed) == (JobState.RUNNING, False, frozenset())
    assert report.succeeded <= names("n1")

    if provisioner.capabilities.limits.no_power_cycle:
        with pytest.raises(Refused):
            provisioner.power_cycle(job, work)
    else:
        site.watch(job, work, until=lambda report: site.hangs("n2"))
        refused = provisioner.power_cycle(job, replace(work, nodes=(hung, NodeName("unknown"))))
        assert list(refused) == [*(() if site.power_cycles_preparing else [hung]), "unknown"]
        assert provisioner.report(job, work).state is JobState.RUNNING

    if not provisioner.capabilities.aborts:
        with pytest.raises(Refused):
            provisioner.abort(job, work)
        return
    site.watch(job, work, until=lambda report: report.succeeded == names("n1") and site.hangs("n2"))
    for _ in range(2):
        provisioner.abort(job, work)
    site.let_go()
    report = site.watch(job, work)
    stopped = names("n2") if site.stops_at_once else frozenset()
    assert (report.state, report.failed) == (JobState.ENDED, stopped)
    assert report.succeeded == names("n1 n2") - stopped
    provisioner.abort(job, work)  # it has ended, so nothing changes
    assert provisioner.report(job, work).succeeded == report.succeeded


# Done between the listing and an effect


def test_a_node_that_its_job_has_deployed_is_neither_power_cycled_nor_stopped(site: Site) -> None:
    provisioner, work = site.provisioner, site.work(Operation.DEPLOY_NODES, "n1")
    site.run(site.work(Operation.PREPARE_NODES, "n1"))
    job = provisioner.submit(marker(), work)
    site.watch(job, work)
    before = site.effects("n1")

    if provisioner.capabilities.limits.no_power_cycle:
        with pytest.raises(Refused):
            provisioner.power_cycle(job, work)
    else:
        assert list(provisioner.power_cycle(job, work)) == ["n1"]
    if provisioner.capabilities.aborts:
        provisioner.abort(job, work)
    else:
        with pytest.raises(Refused):
            provisioner.abort(job, work)
    assert (site.effects("n1"), provisioner.report(job, work).succeeded) == (before, names("n1"))


def test_a_node_that_others_have_worked_on_since_the_listing_is_left_alone(site: Site) -> None:
    """Its destruction is decided by a listing; until its request another worker has done it, and deployed the node."""
    prepare, deploy, destroy = (
        site.work(operation, "n1")
        for operation in (Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES)
    )
    site.run(prepare)
    site.run(deploy)
    mine, between = marker(), []

    def others() -> None:
        if not between:
            between.append(True)
            for work, job in ((destroy, mine), (prepare, marker()), (deploy, marker())):
                site.run(work, marker=job)
            between.append(site.effects("n1"))

    if not site.before_effects(others):
        pytest.skip("it has jobs: what is sent is not decided by a listing of machines")
    with suppress(PeerError):
        site.provisioner.submit(mine, destroy)
    assert between[1:] == [site.effects("n1")]


# Finding again


def test_submitted_work_is_found_before_and_after_its_end_and_no_other_is_taken_for_it(site: Site) -> None:
    provisioner, prepare = site.provisioner, Operation.PREPARE_NODES
    mine, work, intended_at = marker(), site.work(prepare, "n2", "n1"), now()
    assert provisioner.find(mine, work, intended_at=intended_at) is None
    unknown = provisioner.report(JobId(str(uuid.uuid4())), site.work(Operation.VERIFY_SITE))
    assert (unknown.state, unknown.ok) == (JobState.LOST, False)
    with pytest.raises(Refused):
        provisioner.submit(marker(), site.work(prepare, nodes=()))
    assert site.jobs(prepare) == []

    job = provisioner.submit(mine, work)
    assert provisioner.find(mine, work, intended_at=intended_at) == job
    for others in ("n1", "n1 n2 n3", "n3"):
        assert provisioner.find(marker(), site.work(prepare, *others.split()), intended_at=now()) is None
    site.watch(job, work)
    assert provisioner.find(mine, work, intended_at=intended_at) == job
    assert provisioner.find(mine, work, intended_at=intended_at, known={job}) is None
    assert provisioner.find(mine, site.work(Operation.DEPLOY_NODES, "n2", "n1"), intended_at=now()) is None
    assert provisioner.find(marker(), work, intended_at=now() + timedelta(minutes=10)) is None


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


def test_a_node_in_both_lists_or_in_neither_or_with_a_silent_boot_action_has_failed(
    start_drydock: StartDrydock,
) -> None:
    site = start_drydock(
        nodes={
            "n2": {"prepare": "both_lists"},
            "n3": {"prepare": "neither_list"},
            "n4": {"deploy": "neither_list"},
            "n5": {"deploy": "silent_boot_action"},
        }
    )
    for operation, sent, failed in (
        (Operation.PREPARE_NODES, "n1 n2 n3 n4 n5", "n2 n3"),
        (Operation.DEPLOY_NODES, "n1 n4 n5", "n4 n5"),
    ):
        report = site.run(site.work(operation, *sent.split()))
        assert (report.state, report.failed) == (JobState.ENDED, names(failed))
        assert report.succeeded == names(sent) - names(failed)
        assert all(report.reasons[node] for node in names(failed))


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


def test_a_task_on_a_design_that_cannot_be_read_never_ends(start_drydock: StartDrydock) -> None:
    site = start_drydock()
    work = Work(Operation.PREPARE_NODES, site.make_unreadable(), (NodeName("n1"),))
    job = site.provisioner.submit(marker(), work)
    assert site.watch(job, work, seconds=0.3).state is JobState.RUNNING


def test_a_task_behind_another_one_is_queued(start_drydock: StartDrydock) -> None:
    site = start_drydock(nodes={"n1": {"prepare": "never"}})
    site.provisioner.submit(marker(), site.work(Operation.PREPARE_NODES, "n1"))
    work = site.work(Operation.PREPARE_NODES, "n2")
    job = site.provisioner.submit(marker(), work)
    assert site.watch(job, work, seconds=0.3).state is JobState.QUEUED


def test_a_subtask_that_drydock_made_itself_is_not_taken_for_ours_and_of_twins_the_first_is(
    start_drydock: StartDrydock,
) -> None:
    """Preparing several nodes makes Drydock prepare each in a subtask of the same action and design."""
    site, intended_at = start_drydock(), now()
    site.run(site.work(Operation.PREPARE_NODES, "n1", "n2"))
    work = site.work(Operation.PREPARE_NODES, "n1")
    assert site.provisioner.find(marker(), work, intended_at=intended_at) is None
    first = site.provisioner.submit(marker(), work)
    site.provisioner.submit(marker(), work)
    assert site.provisioner.find(marker(), work, intended_at=intended_at) == first


def test_reading_goes_on_after_a_passing_fault(start_drydock: StartDrydock) -> None:
    site = start_drydock(
        service=[
            {"method": "POST", "path": "/nodefilter", "action": "error", "first": 2},
            {"method": "GET", "path": "/tasks/*", "action": "drop", "first": 1},
        ]
    )
    assert site.provisioner.select_nodes(site.design, [()]) == (ALL_NAMES,)
    assert site.run(site.work(Operation.PREPARE_NODES, "n1")).ok


def test_a_drydock_that_stays_broken_is_unavailable(start_drydock: StartDrydock) -> None:
    site = start_drydock(service=[{"action": "error"}])
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
