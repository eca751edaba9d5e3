"""MAAS's own traps: it knows machines and no jobs, and the machines are not all ours (contract maas, 3 and 11)."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from shipyard_api.adapters.maas.decisions import Rules
from shipyard_api.adapters.maas.translate import MachineOptions
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, JobState, Operation, Wipe, Work
from tests.contract.provisioner_sites import MaasSite, marker, names

PREPARE, DEPLOY, DESTROY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES
StartMaas = Callable[..., MaasSite]


def ready(*nodes: str, **values: Any) -> dict[str, Any]:
    return {"machines": {node: {"status": "Ready", **values} for node in nodes}}


# Whose machines they are


def test_machines_of_somebody_else_and_unknown_ones_fail_at_once(start_maas: StartMaas) -> None:
    site = start_maas(machines={"n1": {"status": "Deploying", "owner": "alice"}, "n2": {"status": "Ready"}})
    report = site.run(site.work(DESTROY, "n1", "n2"))
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, names("n2"), names("n1"))
    assert "alice" in report.reasons[NodeName("n1")]
    assert set(site.past("n1")) <= {"Deploying", "Deployed"}  # what alice began goes on

    report = site.run(site.work(PREPARE, "n3", "n8"))
    assert (report.succeeded, report.failed) == (names("n3"), names("n8"))
    assert report.reasons == {NodeName("n8"): "n8: not enlisted in MAAS"}


def test_a_locked_machine_fails_where_something_had_to_be_done(start_maas: StartMaas) -> None:
    locked = {"n1": {"status": "New", "locked": True}, "n2": {"status": "Deployed", "locked": True}}
    site = start_maas(machines=locked)
    report = site.run(site.work(PREPARE, "n1", "n2"))
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, names("n2"), names("n1"))
    assert "locked" in report.reasons[NodeName("n1")]
    assert site.run(site.work(DEPLOY, "n2")).ok
    assert [site.past(name) for name in ("n1", "n2")] == [["New"], ["Deployed"]]


# Whose failures they are


def test_failures_of_before_are_mended_by_preparing(start_maas: StartMaas) -> None:
    statuses = ("Failed commissioning", "Broken", "Failed deployment", "Releasing failed", "Failed disk erasing")
    site = start_maas(machines={f"n{at}": {"status": status} for at, status in enumerate(statuses, 1)})
    assert site.run(site.work(PREPARE, "n1", "n2", "n3", "n4", "n5")).ok
    assert {site.past(f"n{at}")[-1] for at in range(1, 6)} == {"Ready"}
    assert ["Disk erasing" in site.past(f"n{at}") for at in range(1, 6)] == [False] * 4 + [True]


def test_a_failure_of_our_own_is_tried_once_and_by_a_later_job_again(start_maas: StartMaas) -> None:
    failing = {"prepare": "fail", "reason": "no PXE boot", "times": 1}
    site = start_maas(
        machines={"n1": {"status": "Failed commissioning"}},
        nodes={"n1": failing, "n2": {"deploy": "fail", "times": 1}},
    )
    report = site.run(site.work(PREPARE, "n1", "n2"))
    assert report.failed == names("n1")
    assert "no PXE boot" in report.reasons[NodeName("n1")]
    assert site.past("n1") == ["Failed commissioning", "Commissioning", "Failed commissioning"]
    assert site.run(site.work(PREPARE, "n1", "n2")).ok
    assert site.run(site.work(DEPLOY, "n1", "n2")).failed == names("n2")
    assert site.run(site.work(PREPARE, "n1", "n2")).ok
    for _ in range(2):
        assert site.run(site.work(DEPLOY, "n1", "n2")).ok
    assert [site.past(name).count("Deploying") for name in ("n1", "n2")] == [1, 2]


def test_failed_tests_do_not_count_where_the_operator_says_so(start_maas: StartMaas) -> None:
    options = MachineOptions(rules=Rules(override_failed_testing=True))
    site = start_maas(nodes={"n1": {"test": "fail"}}, options=options)
    assert site.run(site.work(PREPARE, "n1")).ok
    assert site.past("n1")[-1] == "Ready"


def test_a_deployment_that_finds_no_address_is_tried_until_the_caller_has_enough(start_maas: StartMaas) -> None:
    site = start_maas(**ready("n1", "n2"), nodes={"n1": {"deploy": "refuse", "times": 3}, "n2": {"deploy": "refuse"}})
    work = site.work(DEPLOY, "n1", "n2")
    job = site.provisioner.submit(marker(), work)
    report = site.watch(job, work, until=lambda one: bool(one.succeeded) and "answered 503" in one.message)
    assert (report.state, report.succeeded, report.failed) == (JobState.RUNNING, names("n1"), frozenset())
    assert "answered 503" in report.message


# Destroying


def test_a_destroyed_machine_is_erased_and_removed(start_maas: StartMaas) -> None:
    site = start_maas(machines={"n1": {"status": "Deployed"}, "n2": {"status": "Deployed"}})
    work = site.work(DESTROY, "n1", leaves=True)
    report = site.run(work)
    assert (report.ok, report.message) == (True, "")
    assert site.past("n1") == ["Deployed", "Disk erasing", "Releasing", "Ready", None]
    assert "n1" not in [one.name for one in site.provisioner.conditions()]
    assert site.run(work).ok
    assert site.run(site.work(DESTROY, "n2")).ok
    assert site.past("n2") == ["Deployed", "Disk erasing", "Releasing", "Ready"]


def test_a_machine_whose_disks_are_kept_is_not_erased(start_maas: StartMaas) -> None:
    site = start_maas(machines={"n1": {"status": "Deployed"}}, options=MachineOptions(rules=Rules(keep_enlisted=True)))
    assert site.run(site.work(DESTROY, "n1", wipe=Wipe.OS_DISK_ONLY, leaves=True)).ok
    assert site.past("n1") == ["Deployed", "Releasing", "Ready"]


def test_machines_that_maas_does_not_erase_release_or_delete_have_failed(start_maas: StartMaas) -> None:
    site = start_maas(
        machines={name: {"status": "Deployed"} for name in ("n1", "n2", "n3")},
        nodes={
            "n1": {"erase": "fail", "reason": "bad disk"},
            "n2": {"release": "refuse"},
            "n3": {"delete": "refuse"},
        },
    )
    report = site.run(site.work(DESTROY, "n1", "n2", "n3", leaves=True))
    assert (report.state, report.failed) == (JobState.ENDED, names("n1 n2 n3"))
    told = {"n1": "bad disk", "n2": "answered 4", "n3": "answered 4"}
    assert all(why in report.reasons[NodeName(name)] for name, why in told.items()), report.reasons
    assert site.past("n1")[-1] == "Failed disk erasing"


def test_machines_are_destroyed_from_wherever_they_are_and_what_could_not_be_erased_is_told(
    start_maas: StartMaas,
) -> None:
    told = "nothing could be erased on: n1, n2, n3, n4"
    for statuses, message in (
        (("New", "Ready", "Failed commissioning", "Failed testing", "Deployed"), told),
        (("Commissioning", "Deploying", "Testing", "Broken", "Allocated"), None),  # they go on meanwhile
    ):
        site = start_maas(machines={f"n{at}": {"status": status} for at, status in enumerate(statuses, 1)})
        report = site.run(site.work(DESTROY, "n1", "n2", "n3", "n4", "n5", leaves=True))
        assert report.ok
        assert message in (None, report.message)
        assert [site.past(f"n{at}")[-1] for at in range(1, 6)] == [None] * 5


# Stopping


def test_a_deployment_that_is_stopped_is_not_begun_again(start_maas: StartMaas) -> None:
    site = start_maas(**ready("n1", "n2"), nodes={"n1": {"deploy": "never"}, "n2": {"deploy": "ok"}})
    work = site.work(DEPLOY, "n1", "n2")
    job = site.provisioner.submit(marker(), work)
    site.watch(job, work, until=lambda report: report.succeeded == names("n2"))
    site.provisioner.abort(job, work)
    report = site.watch(job, work)
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, names("n2"), names("n1"))
    assert site.past("n1") == ["Ready", "Allocated", "Deploying", "Allocated"]


def test_an_erasing_that_never_ends_can_be_stopped(start_maas: StartMaas) -> None:
    site = start_maas(machines={"n1": {"status": "Deployed"}}, nodes={"n1": {"erase": "never"}})
    work = site.work(DESTROY, "n1")
    job = site.provisioner.submit(marker(), work)
    assert site.watch(job, work, seconds=0.3).state is JobState.RUNNING
    site.provisioner.abort(job, work)
    assert site.watch(job, work).failed == names("n1")
    assert site.past("n1") == ["Deployed", "Disk erasing", "Failed disk erasing"]


def test_a_stopped_job_leaves_alone_what_it_had_not_begun(start_maas: StartMaas) -> None:
    site = start_maas(nodes={"n*": {"prepare": "never"}}, options=MachineOptions(starts=2))
    work = site.work(PREPARE, "n1", "n2", "n3", "n4", "n5")
    job = site.provisioner.submit(marker(), work)
    site.provisioner.abort(job, work)
    report = site.watch(job, work)
    assert (report.state, report.failed) == (JobState.ENDED, frozenset(work.nodes or ()))
    pasts = sorted(len(site.past(node)) for node in work.nodes or ())
    assert pasts == [1, 1, 1, 3, 3]


# Without any memory of our own


def test_a_worker_that_starts_anew_goes_on_where_the_former_was(start_maas: StartMaas) -> None:
    site = start_maas(nodes={"n2": {"prepare": "fail"}})
    mine, work, intended_at = marker(), site.work(PREPARE, "n1", "n2"), datetime.now(UTC)
    site.provisioner.submit(mine, work)
    site.restart()
    job = site.provisioner.find(mine, work, intended_at=intended_at)
    assert job is not None
    while site.provisioner.report(job, work).state is not JobState.ENDED:
        site.restart()
    site.restart()
    report = site.provisioner.report(job, work)
    assert (report.succeeded, report.failed) == (names("n1"), names("n2"))
    assert [site.past(node).count("Commissioning") for node in ("n1", "n2")] == [1, 1]


def test_two_who_report_at_once_do_no_harm(start_maas: StartMaas) -> None:
    """What is begun takes longer than it takes to begin it: MAAS would commission a machine again that is Ready."""
    site = start_maas(durations={"prepare_nodes": 400, "deploy_nodes": 400, "full_erase": 400})
    nodes = ("n1", "n2", "n3", "n4", "n5")
    for operation, status in ((PREPARE, "Commissioning"), (DEPLOY, "Deploying"), (DESTROY, "Disk erasing")):
        work, mine = site.work(operation, *nodes), marker()
        with ThreadPoolExecutor(4) as pool:
            jobs = list(pool.map(lambda _: site.provisioner.submit(mine, work), range(4)))  # noqa: B023
            reports = list(pool.map(lambda job: site.watch(job, work), jobs))  # noqa: B023
        assert all(report.ok for report in reports)
        assert [site.past(node).count(status) for node in nodes] == [1] * 5


@pytest.mark.parametrize("old", [False, True], ids=["asked by status", "of a region without that filter"])
def test_machines_that_are_remembered_go_through_their_life_once(start_maas: StartMaas, old: bool) -> None:
    site = start_maas(
        nodes={"n2": {"deploy": "fail"}, "n3": {"erase": "fail"}},
        options=MachineOptions(shown=0),
        region={"filters_of_old_releases": old},
    )
    nodes = ("n1", "n2", "n3", "n4", "n5")
    reports = [site.run(site.work(operation, *nodes)) for operation in (PREPARE, DEPLOY, DESTROY)]
    assert [report.failed for report in reports] == [names(""), names("n2"), names("n3")]
    for node in nodes:
        past = site.past(node)
        assert [past.count(status) for status in ("Commissioning", "Deploying", "Disk erasing")] == [1, 1, 1]
    asked = [one["query"] for one in site.simulator.requests() if one["path"].endswith("/machines/")]
    assert all("hostname=" in query or "id=" in query for query in asked)
    assert any("not_status=" in query for query in asked)


@pytest.mark.parametrize(
    "what",
    [
        {"action": "error", "status": 409},
        {"action": "error", "status": 503},
        {"action": "error_after_effect", "status": 504},
        {"action": "drop_after_effect"},
    ],
    ids=str,
)
def test_operations_that_fail_in_passing_are_brought_to_their_end(start_maas: StartMaas, what: dict[str, Any]) -> None:
    fault = {"method": "POST", "path": "/machines/*", "first": 4, **what}
    site = start_maas(service=[fault])
    for operation in (PREPARE, DEPLOY, DESTROY):
        assert site.run(site.work(operation, "n1", "n2", "n3")).ok
    for node in ("n1", "n2", "n3"):
        assert [site.past(node).count(status) for status in ("Commissioning", "Deploying", "Disk erasing")] == [1, 1, 1]


def test_reading_goes_on_after_a_passing_fault(start_maas: StartMaas) -> None:
    faults = [{"method": "GET", "action": "error", "status": 502, "first": 1}]
    site = start_maas(service=[*faults, {"method": "GET", "action": "drop", "first": 1}])
    site.provisioner.check_health()
    assert site.run(site.work(PREPARE, "n1")).ok


def test_a_maas_that_stays_broken_is_unavailable(start_maas: StartMaas) -> None:
    site = start_maas(service=[{"action": "error"}])
    port, work = site.provisioner, site.work(PREPARE, "n1")
    calls: list[Callable[[], object]] = [
        port.check_health,
        port.conditions,
        lambda: port.validate_design(site.design),
        lambda: port.submit(marker(), work),
        lambda: port.find(marker(), work, intended_at=datetime.now(UTC)),
        lambda: port.report(JobId(str(uuid.uuid4())), work),
        lambda: port.abort(JobId(str(uuid.uuid4())), work),
    ]
    for call in calls:
        with pytest.raises(Unavailable):
            call()


# Designs


def test_nodes_that_are_not_enlisted_yet_are_a_warning(start_maas: StartMaas) -> None:
    site = start_maas(machines={"n1": {"status": "Deployed"}})
    assert site.run(site.work(DESTROY, "n1", leaves=True)).ok
    [finding] = site.provisioner.validate_design(site.design)
    assert (finding.name, finding.level) == ("NodeNotInProvisioner", Level.WARNING)
    assert "n1" in finding.message


def test_what_is_installed_is_what_the_operator_chose_or_every_node_fails_with_the_words_of_maas(
    start_maas: StartMaas,
) -> None:
    options = MachineOptions(distro_series="noble", user_data="#cloud-config\n", comment="by night")
    site = start_maas(**ready("n1"), options=options)
    assert site.run(site.work(Operation.VERIFY_SITE)).ok
    assert site.run(site.work(DEPLOY, "n1")).ok
    [machine] = [one for one in site.client.every_machine(dict) if one["hostname"] == "n1"]
    assert machine["distro_series"] == "noble"

    site = start_maas(**ready("n1"), options=MachineOptions(hwe_kernel="nonsense"))
    report = site.run(site.work(DEPLOY, "n1"))
    assert "nonsense is not available" in report.reasons[NodeName("n1")]


# Deploy steps

LAYOUT = DeployStep(Interface.DEPLOY, "set_storage_layout", {"storage_layout": "lvm", "root_size": 10**10}, 110)
SCRIPTS = DeployStep(
    Interface.MANAGEMENT, "run_commissioning_scripts", {"commissioning_scripts": ["bios", "raid"]}, 200
)


def changes(site: MaasSite, name: str) -> list[str]:
    """What was asked of a machine that changes it, in order."""
    system_id = next(one["system_id"] for one in site.client.every_machine(dict) if one["hostname"] == name)
    requests = [one for one in site.simulator.requests() if one["method"] == "POST"]
    return [one["query"].removeprefix("op=") for one in requests if one["path"].endswith(f"/machines/{system_id}/")]


def test_a_storage_layout_and_scripts_of_templates_come_before_the_deployment_of_their_node(
    start_maas: StartMaas,
) -> None:
    site = start_maas(**ready("n1", "n2"))
    work = Work(DEPLOY, site.design, tuple(map(NodeName, ("n1", "n2"))), steps={NodeName("n1"): [LAYOUT, SCRIPTS]})
    submitted = marker()

    job = site.provisioner.submit(submitted, work)
    site.restart()
    assert site.provisioner.find(submitted, work, intended_at=datetime.now(UTC)) == job
    assert site.provisioner.submit(submitted, work) == job
    report = site.watch(job, work)

    assert (report.ok, report.succeeded) == (True, names("n1 n2")), report
    assert site.past("n1") == ["Ready", "Commissioning", "Testing", "Ready", "Allocated", "Deploying", "Deployed"]
    assert changes(site, "n1") == ["commission", "set_storage_layout", "deploy"]
    assert changes(site, "n2") == ["deploy"]


def test_scripts_that_fail_fail_their_node_and_deploy_nothing(start_maas: StartMaas) -> None:
    site = start_maas(**ready("n1"), nodes={"n1": {"prepare": "fail", "reason": "script raid failed"}})
    work = Work(DEPLOY, site.design, (NodeName("n1"),), steps={NodeName("n1"): [SCRIPTS]})

    report = site.run(work)

    assert (report.failed, changes(site, "n1")) == (names("n1"), ["commission"])
    assert "script raid failed" in report.reasons[NodeName("n1")]


def test_steps_that_maas_does_not_have_are_refused_and_nothing_is_started(start_maas: StartMaas) -> None:
    site = start_maas(**ready("n1"))
    for step, why in (
        (DeployStep(Interface.RAID, "apply_configuration", {}, 1), "n1: MAAS does not run raid.apply_configuration"),
        (DeployStep(Interface.DEPLOY, "deploy", {}, 0), "n1: MAAS cannot do without deploy.deploy"),
    ):
        work = Work(DEPLOY, site.design, (NodeName("n1"),), steps={NodeName("n1"): [step]})
        with pytest.raises(Refused, match=why):
            site.provisioner.submit(marker(), work)
    assert site.past("n1") == ["Ready"]


def test_every_node_of_maas_supports_the_same_steps(start_maas: StartMaas) -> None:
    supported = start_maas(**ready("n1")).provisioner.supported_steps([NodeName("n1"), NodeName("n2")])

    steps = {str(key): (one.priority, one.lowest) for key, one in supported[NodeName("n1")].by_key().items()}
    assert steps == {
        "deploy.deploy": (100, 1),
        "deploy.set_storage_layout": (0, 101),
        "management.run_commissioning_scripts": (0, 200),
    }
    assert supported[NodeName("n2")] is supported[NodeName("n1")]
