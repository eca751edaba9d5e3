"""A real Ironic with its demo interfaces: nodes are prepared, deployed, undone, kept, stopped and destroyed.

Runs where the environment names one (``tests/real_ironic.py``); it enrols nodes of its own and removes them again.
"""

import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.domain.burn_in import BurnIn
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.findings import errors
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.nodes import Node as Machine
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Operation, Wipe, Work
from tests import real_ironic
from tests.conftest import ROOT
from tests.real_ironic import call
from tests.waiting import until

pytestmark = pytest.mark.skipif(not real_ironic.URL, reason="IRONIC_URL names no real Ironic to try the adapter on")

PREPARE, DEPLOY, DESTROY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES
COUNT = 10


class Site:
    """Freshly enrolled nodes, of which some fail as told."""

    def __init__(self) -> None:
        prefix = f"t{uuid.uuid4().hex[:6]}"
        self.names = tuple(NodeName(f"{prefix}-{number}") for number in range(COUNT))
        self.inventory = Inventory.of(map(Machine, self.names))
        self.client = real_ironic.client()
        self.provisioner = self.with_options()
        for name in self.names:
            call("POST", "/v1/nodes", {"driver": "fake-hardware", "name": name, "resource_class": "compute"})

    def with_options(self, **options: Any) -> IronicProvisioner:
        """Return another process's adapter."""
        return IronicProvisioner(self.client, lambda _: self.inventory, **options)

    def plot(self, name: NodeName, **extra: object) -> None:
        """Say what is to go wrong with a node."""
        call("PATCH", f"/v1/nodes/{name}", [{"op": "add", "path": f"/extra/{k}", "value": extra[k]} for k in extra])

    def node(self, name: NodeName) -> Any:
        return call("GET", f"/v1/nodes/{name}")

    def run(
        self,
        operation: Operation,
        *names: NodeName,
        wipe: Wipe = Wipe.ALL,
        port: IronicProvisioner | None = None,
        steps: Mapping[NodeName, Sequence[DeployStep]] | None = None,
    ) -> JobReport:
        """Do the work, asking for everything twice, and return how it ended."""
        port = port or self.provisioner
        work, marker, intended_at = (
            Work(operation, "revision:1", names or self.names, wipe, steps or {}),
            _marker(),
            _now(),
        )
        job = port.submit(marker, work)
        assert port.submit(marker, work) == job
        report = self.watch(port, job, work)
        assert port.find(marker, work, intended_at=intended_at) == job
        assert port.report(job, work) == report
        return report

    def watch(self, port: IronicProvisioner, job: JobId, work: Work) -> JobReport:
        def ended() -> JobReport | None:
            report = port.report(job, work)
            return None if report.state is JobState.RUNNING else report

        return until(ended, every=0.1)

    def remove(self) -> None:
        for name in self.names:
            with suppress(HTTPError):
                call("PUT", f"/v1/nodes/{name}/maintenance", {"reason": "the test is over"})
                call("DELETE", f"/v1/nodes/{name}")
        self.client.close()


def _marker() -> Marker:
    return Marker(str(uuid.uuid4()))


def _now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def site() -> Iterator[Site]:
    started = Site()
    yield started
    started.remove()


def test_a_runbook_is_read_with_its_traits_and_hidden_arguments(site: Site) -> None:
    steps = [
        {"interface": "power", "step": "reboot", "args": {}, "order": 2},
        {"interface": "bios", "step": "apply_configuration", "args": {"settings": [], "password": "x"}, "order": 1},
    ]
    name = f"{site.names[0]}-runbook"
    written = call("POST", "/v1/runbooks", {"name": name, "steps": steps})
    read = site.provisioner.capabilities.runbook
    assert read is not None
    try:
        call("PUT", f"/v1/runbooks/{written['uuid']}/traits/CUSTOM_SERVER")
        call("PUT", f"/v1/nodes/{site.names[0]}/traits/CUSTOM_SERVER")
        found = read(name, site.names[:2])
    finally:
        call("DELETE", f"/v1/runbooks/{written['uuid']}")
    assert found is not None
    assert [str(step.key) for step in found.steps.steps] == ["bios.apply_configuration", "power.reboot"]
    assert (found.unsuitable, list(map(str, found.masked))) == ({site.names[1]}, ["bios.apply_configuration"])
    assert read(name, site.names) is None


def test_boards_without_known_settings_or_firmware_and_unknown_nodes_are_left_out(site: Site) -> None:
    able = site.provisioner.capabilities
    for read in (able.bios, able.firmware):
        assert read is not None
        assert read([*site.names[:2], NodeName("unknown")]) == {}


def test_the_site_is_healthy_and_verified(site: Site) -> None:
    site.provisioner.check_health()
    for operation in (Operation.VERIFY_SITE, Operation.PREPARE_SITE):
        work = Work(operation, "revision:1")
        assert site.provisioner.report(site.provisioner.submit(_marker(), work), work).ok
    assert errors(site.provisioner.validate_design("revision:1")) == ()


def test_ten_nodes_of_which_one_fails_are_prepared_and_deployed(site: Site) -> None:
    bad = site.names[3]
    site.plot(bad, demo_fail=["deploy.write_image"])
    assert site.run(PREPARE).succeeded == set(site.names)
    deployed = site.run(DEPLOY)
    assert deployed.failed == {bad}
    assert "write_image was told to fail" in deployed.reasons[bad]
    assert site.run(PREPARE).ok  # undoes the failed one, leaves the others alone
    assert {site.node(name)["provision_state"] for name in site.names if name != bad} == {"active"}
    conditions = {one.name: one for one in site.provisioner.conditions()}
    assert {(conditions[name].status, conditions[name].power) for name in site.names if name != bad} == {
        ("active", "on")
    }


def test_a_node_that_fails_cleaning_fails_once_and_is_prepared_by_the_next_job(site: Site) -> None:
    bad = site.names[0]
    site.plot(bad, demo_fail=["deploy.erase_devices_metadata"])
    first = site.run(PREPARE, *site.names[:2])
    assert (first.failed, first.succeeded) == ({bad}, {site.names[1]})
    assert site.node(bad)["maintenance"] is True
    site.plot(bad, demo_fail=[])
    assert site.run(PREPARE, bad).ok
    assert site.node(bad)["maintenance"] is False


def test_steps_run_before_a_deployment_and_one_that_fails_fails_its_node(site: Site) -> None:
    good, bad = site.names[:2]
    site.plot(bad, demo_fail=["bios.factory_reset"])
    step = DeployStep(Interface.BIOS, "factory_reset", {}, 1)
    report = site.run(PREPARE, good, bad, steps={good: [step], bad: [step]})
    assert (report.succeeded, report.failed) == ({good}, {bad})
    assert "factory_reset was told to fail" in report.reasons[bad]
    assert (site.node(bad)["provision_state"], site.node(bad)["maintenance"]) == ("clean failed", True)
    assert site.run(DEPLOY, good).ok


def test_nodes_are_burned_in_once_although_their_deployment_failed(site: Site) -> None:
    good, bad = names = site.names[:2]
    tests = [one.step for one in BurnIn({"cpu": 60, "memory": 30}).steps]
    burn_in = dict.fromkeys(names, tests)
    for name in names:
        call("PATCH", f"/v1/nodes/{name}", [{"op": "add", "path": "/deploy_interface", "value": "burn-in"}])
    site.plot(bad, demo_fail=["deploy.burnin_memory"])
    report = site.run(PREPARE, *names, steps=burn_in)
    assert (report.succeeded, report.failed) == ({good}, {bad})
    assert "deploy.burnin_memory fails on this node" in report.reasons[bad]
    assert site.node(good)["driver_info"]["agent_burnin_vm_timeout"] == 30

    site.plot(bad, demo_fail=[])
    assert site.run(PREPARE, *names, steps=burn_in).ok
    log = map(json.loads, Path(real_ironic.STEP_LOG).read_text().splitlines())
    ran = [(one["name"], one["step"], one["args"]["seconds"]) for one in log if one["kind"] == "manual clean"]
    once = [("deploy.burnin_cpu", 60), ("deploy.burnin_memory", 30)]
    assert [one[1:] for one in ran if one[0] == good] == once
    assert [one[1:] for one in ran if one[0] == bad] == [*once, *once]


def test_nodes_are_inspected_where_that_is_wanted(site: Site) -> None:
    good, bad = site.names[:2]
    site.plot(bad, demo_fail=["inspect"])
    report = site.run(PREPARE, good, bad, port=site.with_options(inspect=True))
    assert (report.succeeded, report.failed) == ({good}, {bad})
    assert site.node(good)["inspection_finished_at"]


def test_a_step_that_ironic_drops_fails_its_node(site: Site) -> None:
    dropping, plain = site.names[:2]
    step = DeployStep(Interface.DEPLOY, "hold", {}, 70)
    assert site.run(PREPARE, dropping, plain).ok
    report = site.run(DEPLOY, dropping, plain, steps={dropping: [step]})
    assert (report.succeeded, report.failed) == ({plain}, {dropping})
    assert "not supported by the node: deploy.hold" in report.reasons[dropping]


def test_nodes_are_destroyed_with_and_without_cleaning(site: Site) -> None:
    kept, wiped = site.names[:2]
    assert site.run(PREPARE, kept, wiped).ok
    assert site.run(DEPLOY, kept, wiped).ok
    assert site.run(DESTROY, kept, wipe=Wipe.OS_DISK_ONLY).ok
    assert site.run(DESTROY, wiped).ok
    for name in (kept, wiped):
        node = site.node(name)
        assert (node["provision_state"], node["power_state"]) == ("available", "power off")
        assert (node["automated_clean"], node["instance_uuid"]) == (None, None)
    started = [
        [one["event"] for one in call("GET", f"/v1/nodes/{name}/history")["history"] if "Starting auto" in one["event"]]
        for name in (kept, wiped)
    ]
    assert [len(events) for events in started] == [1, 2]
    removing, work = site.with_options(remove=True), Work(DESTROY, "revision:1", (wiped,), leaves=True)
    assert site.watch(removing, removing.submit(_marker(), work), work).ok
    assert wiped not in {one.name for one in site.provisioner.conditions()}


def test_somebody_elses_node_is_left_alone(site: Site) -> None:
    foreign, held = site.names[:2]
    assert site.run(PREPARE, foreign, held).ok
    call("PATCH", f"/v1/nodes/{foreign}", [{"op": "add", "path": "/instance_uuid", "value": str(uuid.uuid4())}])
    call("PUT", f"/v1/nodes/{held}/maintenance", {"reason": "fan"})
    before = [site.node(name) for name in (foreign, held)]
    for operation in (PREPARE, DEPLOY, DESTROY):
        port, work = site.provisioner, Work(operation, "revision:1", (foreign, held))
        assert site.watch(port, port.submit(_marker(), work), work).failed == {foreign, held}
    assert [site.node(name) for name in (foreign, held)] == before


def test_stopped_work_begins_nothing_more(site: Site) -> None:
    moving = site.names[0]
    site.plot(moving, demo_delay=1)
    port, work = site.provisioner, Work(PREPARE, "revision:1", (moving,))
    job = port.submit(_marker(), work)
    port.abort(job, work)
    report = site.watch(port, job, work)
    assert (report.state, report.failed) == (JobState.ENDED, {moving})
    assert site.node(moving)["provision_state"] in {"enroll", "manageable"}


def test_a_crash_at_any_point_is_taken_up_by_another_process(site: Site) -> None:
    """A marked node with its verb not sent, a claimed one, and one that was never reached."""
    assert site.run(PREPARE).ok
    marker, work = _marker(), Work(DEPLOY, "revision:1", site.names[:3])
    half: Callable[..., object] = site.client.provision
    site.client.provision = lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        site.provisioner.submit(marker, work)
    site.client.provision = half  # type: ignore[method-assign, assignment]
    other = site.with_options()
    job = other.find(marker, work, intended_at=_now())
    assert job is not None
    assert site.watch(other, job, work).succeeded == set(site.names[:3])


def test_a_deployed_node_is_rebuilt_once_and_not_cleaned(site: Site) -> None:
    name = site.names[0]
    port = site.with_options(instance_info={"image_source": "http://images.example.org/os.qcow2"})
    assert site.run(PREPARE, name, port=port).ok
    assert site.run(DEPLOY, name, port=port).ok
    # Cleaning would fail, and with it the rebuild.
    site.plot(name, demo_fail=["deploy.erase_devices_metadata"])
    before = site.node(name)

    assert site.run(Operation.REBUILD_NODES, name, port=port).ok

    after = site.node(name)
    assert (after["provision_state"], after["instance_uuid"]) == ("active", before["instance_uuid"])
    assert after["provision_updated_at"] > before["provision_updated_at"]


@pytest.mark.skipif("IRONIC_PYTHON" not in os.environ, reason="IRONIC_PYTHON names no Python that has Ironic")
def test_the_table_of_steps_is_that_of_the_classes_of_this_ironic() -> None:
    command = [os.environ["IRONIC_PYTHON"], "-W", "ignore", str(ROOT / ".ci" / "ironic_steps.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
