"""Sites, the Ironic simulator as a program, and openstacksdk as its client."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import requests

from shipyard_simulators.ironic.simulator import running
from shipyard_simulators.ironic.site import SiteUnreadable, read_site
from shipyard_simulators.tests.ironic.client import DEFAULTS, LATEST, VERSION, StartIronic, step
from shipyard_simulators.tests.programs import FIVE_GROUPS, refusal, started
from shipyard_simulators.tests.waiting import PATIENCE, until


def test_a_site_is_enrolled_with_its_selectors(start: StartIronic) -> None:
    ironic = start("machines: {mon01: Deployed, ntp01: Allocated}", site=read_site(FIVE_GROUPS), site_state="available")

    fields = "uuid,name,provision_state,traits,extra,instance_uuid"
    nodes = {node["name"]: node for node in ironic.get(f"/v1/nodes?fields={fields}")["nodes"]}

    assert len(nodes) == 16
    compute = next(node for node in nodes.values() if node["name"].startswith("cmp01"))
    assert (compute["extra"]["rack"], "compute" in compute["extra"]["tags"]) == ("rack01", True)
    assert "CUSTOM_TAG_COMPUTE" in compute["traits"]
    assert (nodes["mon01"]["provision_state"], nodes["ntp01"]["provision_state"]) == ("active", "available")
    assert nodes["ntp01"]["instance_uuid"] is not None
    assert compute["instance_uuid"] is None


def test_a_site_that_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "site.yaml"
    broken.write_text("a: [")
    with pytest.raises(SiteUnreadable):
        read_site(broken)


def test_the_program_stops_on_a_signal_and_resumes_from_its_state(tmp_path: Path) -> None:
    options = ["--site", FIVE_GROUPS, "--auth", "basic", "--state", tmp_path / "kept.json", "--time-scale", "0.001"]
    more: dict[str, Any] = {"headers": {VERSION: LATEST}, "auth": ("admin", "right"), "timeout": PATIENCE}
    for is_first in (True, False):
        with started("ironic", tmp_path, *options, SIMULATOR_BASIC_PASSWORD="right") as (process, url):
            node = f"{url}/v1/nodes/ntp01"
            if is_first:
                assert requests.get(node, **more).json()["provision_state"] == "enroll"
                requests.put(f"{node}/states/provision", json={"target": "manage"}, **more).raise_for_status()
            until(lambda node=node: requests.get(node, **more).json()["provision_state"] == "manageable")
            process.terminate()
            assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--auth", "basic"], "--auth basic: needs --basic-password"),
        (["--highest-version", "200"], "--highest-version: 200 is not between 1 and 115"),
        (["--site", "nowhere.yaml"], "--site: nowhere.yaml cannot be read"),
        (["--workers", "-1"], "--workers: -1 is below 0"),
        (["--state", "/nowhere/at/all"], "--state: there is no directory /nowhere/at"),
    ],
)
def test_the_program_names_the_faults_of_its_options(options: list[str], text: str) -> None:
    code, lines = refusal("ironic", "--port", "0", *options)
    assert (code, text in "".join(lines)) == (2, True), lines


@pytest.mark.filterwarnings("ignore")  # the client warns of its own changes, which are not ours
def test_a_foreign_client_takes_a_node_through_its_life() -> None:
    openstack = pytest.importorskip("openstack", reason="openstacksdk is not installed; it is not needed otherwise")
    with running(time_scale=0.001) as simulator:
        baremetal = openstack.connect(
            auth_type="none", endpoint=simulator.url, baremetal_endpoint_override=simulator.url
        ).baremetal
        node = baremetal.create_node(driver="redfish", name="n1", resource_class="small")
        assert node.provision_state == "enroll"

        for verb, state in (("manage", "manageable"), ("inspect", "manageable"), ("provide", "available")):
            node = baremetal.set_node_provision_state(node, verb, wait=True, timeout=PATIENCE)
            assert node.provision_state == state
        baremetal.add_node_trait(node, "CUSTOM_A")
        baremetal.create_deploy_template(name="CUSTOM_A", steps=[step("bios.factory_reset", 150)])
        node = baremetal.get_node("n1")  # otherwise it takes the trait for a change of its own
        node = baremetal.update_node(node, instance_info={"traits": ["CUSTOM_A"]}, instance_id=str(uuid4()))
        node = baremetal.set_node_provision_state(
            node, "active", deploy_steps=[step("raid.delete_configuration", 140)], wait=True, timeout=PATIENCE
        )
        assert (node.provision_state, node.power_state) == ("active", "power on")
        steps = [each["step"] for each in simulator.events() if each["event"] == "step" and each["kind"] == "deploy"]
        assert steps[-8:] == ["bios.factory_reset", "raid.delete_configuration", *DEFAULTS]
        assert baremetal.validate_node(node)["deploy"].result is True
        node = baremetal.set_node_provision_state(node, "deleted", wait=True, timeout=PATIENCE)
        assert (node.provision_state, node.instance_id) == ("available", None)
        baremetal.set_node_power_state(node, "power on", wait=True, timeout=PATIENCE)
        baremetal.set_node_maintenance(node, reason="tired")
        assert [each.name for each in baremetal.nodes(is_maintenance=True)] == ["n1"]
        baremetal.delete_node(node)
        assert list(baremetal.nodes()) == []
