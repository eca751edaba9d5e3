"""All operations on a node except deployment. Each is a generator that yields pauses."""

from math import inf
from typing import Any

from shipyard_simulators.ironic.conductor import Conductor, Operation
from shipyard_simulators.ironic.node import HOST, Node
from shipyard_simulators.ironic.states import LOCKED
from shipyard_simulators.ironic.steps import apply, burn_in_seconds, cleans, offers
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind
from shipyard_simulators.parts import Parts, ironic_inventory, ironic_plugin_data

FAILING = (
    NodeOutcomeKind.FAIL,
    NodeOutcomeKind.BOTH_LISTS,
    NodeOutcomeKind.NEITHER_LIST,
    NodeOutcomeKind.SILENT_BOOT_ACTION,
    NodeOutcomeKind.REFUSE,
)
"""The outcomes that mean failure. Ironic ignores how Drydock or MAAS would report it."""

UNREACHABLE = (NodeOutcomeKind.FAIL, NodeOutcomeKind.NEVER)
"""The outcomes of an unreachable management controller."""

CLEAN_STEPS = ({"interface": "deploy", "step": "erase_devices_metadata", "priority": 10},)
# The shares of booting the agent and of waiting for it; the conductor takes the rest.
_BOOT, _WAIT = 0.1, 0.6


def verify(conductor: Conductor, node: Node) -> Operation:
    """Verb manage on a new node: check that its management controller answers."""
    outcome = conductor.outcome(node, "verify")
    conductor.move(node, "verifying", "manage", target="manageable")
    yield pause_of(conductor, "verify_nodes", outcome)
    bmc = bmc_of(conductor, node)
    if outcome.kind in FAILING or bmc.kind in UNREACHABLE:
        reason = outcome.reason or bmc.reason or "the management controller did not answer"
        conductor.fail(node, f"Failed to get power state for node {node.uuid}. Error: {reason}")
        return
    node.values["last_error"] = None
    if node.has_agent and node.values["power_state"] is None:
        node.values["power_state"] = "power off"
    conductor.move(node, "manageable", "verified")


def inspect(conductor: Conductor, node: Node) -> Operation:
    """Verb inspect: collect the inventory."""
    outcome = conductor.outcome(node, "inspect", "prepare")
    conductor.move(node, "inspecting", "inspect", target="manageable")
    node.values["inspection_started_at"] = conductor.stamp()
    total = conductor.seconds(conductor.scenario.durations["prepare_nodes"] / 2, outcome)
    yield from with_agent(conductor, node, outcome, total, "inspecting", "inspect wait")
    if outcome.kind in FAILING:
        conductor.fail(node, f"Failed to inspect hardware. Reason: {outcome.reason or 'no answer from the ramdisk'}")
        return
    _inspected(conductor, node)


def inspect_again(conductor: Conductor, node: Node) -> Operation:
    """Continue an inspection that waits for its agent, after a restart."""
    yield conductor.scenario.durations["prepare_nodes"] / 2
    _inspected(conductor, node)


def _inspected(conductor: Conductor, node: Node) -> None:
    node.values["last_error"] = None
    store_inventory(conductor, node, conductor.scenario.parts(node.name))
    conductor.move(node, "manageable", "inspected")


def provide(conductor: Conductor, node: Node) -> Operation:
    """Verb provide: clean the node and make it available."""
    yield from clean(conductor, node, "provide", "available", phases=("clean", "prepare"))


def clean(conductor: Conductor, node: Node, cause: str, target: str, *, phases: tuple[str, ...]) -> Operation:
    """Run automated cleaning; a failure puts the node into maintenance."""
    conductor.move(node, "cleaning", cause, target=target)
    if node.values["automated_clean"] is False:
        yield from _cleaned(conductor, node, "cleaning is switched off")
        return
    outcome = conductor.outcome(node, *phases)
    node.values["clean_step"] = dict(CLEAN_STEPS[0])
    node.internal["clean_steps"] = [dict(step) for step in CLEAN_STEPS]
    conductor.record(node, "INFO", f"Starting automated cleaning with steps={list(CLEAN_STEPS)}")
    total = conductor.seconds(conductor.scenario.durations["prepare_nodes"] / 2, outcome)
    yield from with_agent(conductor, node, outcome, total, "cleaning", "clean wait", hold="clean hold")
    conductor.note("step", node, step="deploy.erase_devices_metadata", kind="clean")
    if outcome.kind in FAILING:
        text = (
            f"Node {node.uuid} failed step {dict(CLEAN_STEPS[0])}: {outcome.reason or 'the disks could not be erased'}"
        )
        conductor.fail(node, text)
        node.values |= {"maintenance": True, "maintenance_reason": text, "fault": "clean failure"}
        return
    conductor.record(node, "INFO", "Automated cleaning completed")
    yield from _cleaned(conductor, node, "cleaned")


def _cleaned(conductor: Conductor, node: Node, cause: str) -> Operation:
    node.values["clean_step"] = {}
    node.values["last_error"] = None
    node.internal["clean_steps"] = None
    if node.has_agent:
        node.values["power_state"] = "power off"
    conductor.move(node, "manageable" if node.values["retired"] else "available", cause)
    yield from ()


def clean_by_hand(conductor: Conductor, node: Node, steps: list[dict[str, Any]]) -> Operation:
    """Verb clean: run the requested steps; one that fails puts the node into maintenance, an unknown one does not."""
    outcome = conductor.outcome(node, "steps", "clean", "prepare")
    conductor.move(node, "cleaning", "clean", target="manageable")
    if unknown := next((step for step in steps if not cleans(node, step)), None):
        yield 0.0
        conductor.fail(node, f"Cannot clean node {node.uuid}: node does not support this clean step: {unknown}")
        return
    node.values["clean_step"] = dict(steps[0]) if steps else {}
    nominal = conductor.scenario.durations["prepare_nodes"] / 2 + burn_in_seconds(node, steps)
    total = conductor.seconds(nominal, outcome)
    yield from with_agent(conductor, node, outcome, total, "cleaning", "clean wait", hold="clean hold")
    for step in steps:
        args = step.get("args") or {}
        conductor.note("step", node, step=f"{step['interface']}.{step['step']}", kind="manual clean", args=args)
    if outcome.kind in FAILING:
        text = f"Node {node.uuid} failed step {node.values['clean_step']}: {outcome.reason or 'it could not be run'}"
        conductor.fail(node, text)
        node.values |= {"maintenance": True, "maintenance_reason": text, "fault": "clean failure"}
        return
    for step in steps:
        apply(node, step)
    node.values["clean_step"] = {}
    node.values["last_error"] = None
    conductor.move(node, "manageable", "cleaned")


def undeploy(conductor: Conductor, node: Node) -> Operation:
    """Verb deleted: remove the instance, then clean."""
    outcome = conductor.outcome(node, "destroy")
    conductor.move(node, "deleting", "deleted", target="available")
    nominal = conductor.scenario.durations["destroy_nodes"] / 2
    yield inf if outcome.kind is NodeOutcomeKind.NEVER else conductor.seconds(nominal, outcome)
    if outcome.kind in FAILING:
        conductor.fail(node, f"Failed to tear down: {outcome.reason or 'the node could not be switched off'}")
        return
    node.values |= {"instance_uuid": None, "instance_info": {}, "instance_name": None, "power_state": "power off"}
    conductor.registry.allocations.pop(node.values["allocation_uuid"], None)
    node.values["allocation_uuid"] = None
    # Automated cleaning is part of destroying a node here, whose outcome has been applied already.
    yield from clean(conductor, node, "torn down", "available", phases=("clean", "erase"))


def adopt(conductor: Conductor, node: Node) -> Operation:
    """Verb adopt: take the node as deployed without touching its disk."""
    conductor.move(node, "adopting", "adopt", target="active")
    yield conductor.scenario.durations["verify_nodes"]
    conductor.move(node, "active", "adopted")


def service(conductor: Conductor, node: Node, steps: list[dict[str, Any]]) -> Operation:
    """Verb service: run the requested steps in their order; a step that fails puts the node into maintenance."""
    outcome = conductor.outcome(node, "service")
    conductor.move(node, "servicing", "service", target="active")
    unknown = next((step for step in steps if not offers(node, step)), None)
    if unknown:
        yield 0.0
        conductor.fail(node, f"Cannot service node {node.uuid}: node does not support this service step: {unknown}")
        return
    node.values["service_step"] = dict(steps[0])
    total = conductor.seconds(conductor.scenario.durations["prepare_nodes"] / 2, outcome)
    yield from with_agent(conductor, node, outcome, total, "servicing", "service wait", hold="service hold")
    if outcome.kind in FAILING:
        text = f"Node {node.uuid} failed step {steps[0]}: {outcome.reason or 'it could not be run'}"
        conductor.fail(node, text)
        node.values |= {"maintenance": True, "maintenance_reason": text, "fault": "service failure"}
        return
    for step in steps:
        args = step.get("args") or {}
        conductor.note("step", node, step=f"{step['interface']}.{step['step']}", kind="service", args=args)
        apply(node, step)
    node.values |= {"service_step": {}, "last_error": None, "power_state": "power on"}
    conductor.move(node, "active", "serviced")


def there_and_back(conductor: Conductor, node: Node, verb: str) -> Operation:
    """Verbs rescue and unrescue: a busy state, then its target."""
    busy, end = {
        "rescue": ("rescuing", "rescue"),
        "unrescue": ("unrescuing", "active"),
    }[verb]
    conductor.move(node, busy, verb, target=end)
    yield conductor.scenario.durations["verify_nodes"]
    conductor.move(node, end, f"{verb} ended")


def unhold(conductor: Conductor, node: Node) -> Operation:
    """Verb unhold: wait for the agent again, which then continues."""
    conductor.move(node, "clean wait", "unhold")
    yield conductor.scenario.durations["verify_nodes"]
    conductor.move(node, "cleaning", "the agent called back")
    yield conductor.scenario.durations["verify_nodes"]
    if node.values["target_provision_state"] == "manageable":
        node.values["clean_step"] = {}
        conductor.move(node, "manageable", "cleaned")
    else:
        yield from _cleaned(conductor, node, "cleaned")


def switch_power(conductor: Conductor, node: Node, verb: str, end: str) -> Operation:
    """Switch the node's power; the node is locked meanwhile."""
    values = node.values
    values |= {"reservation": HOST, "target_power_state": end, "last_error": None}
    bmc = bmc_of(conductor, node)
    yield conductor.seconds(2.0, NodeOutcome(bmc.kind))
    release(node)
    values["target_power_state"] = None
    if bmc.kind in UNREACHABLE:
        reason = bmc.reason or "the management controller did not answer"
        values |= {"power_state": "error", "last_error": f"Failed to change power state to '{verb}': {reason}"}
        conductor.record(node, "ERROR", values["last_error"])
    else:
        values["power_state"] = end
    conductor.touch(node)
    conductor.note("power", node, verb=verb, power_state=values["power_state"])


def hold_lock(node: Node, host: str, seconds: float) -> Operation:
    """Hold the lock of a node, as a background operation does."""
    node.values["reservation"] = host
    yield seconds
    release(node)


def release(node: Node) -> None:
    """Release the lock of a node, unless an operation runs on it."""
    node.values["reservation"] = HOST if node.state in LOCKED else None


def bmc_of(conductor: Conductor, node: Node) -> NodeOutcome:
    """Return the outcome of the node's management controller."""
    return conductor.scenario.node_outcome(node.name, "bmc")


def pause_of(conductor: Conductor, duration: str, outcome: NodeOutcome) -> float:
    """Return the duration of an operation under this outcome; infinite if it never ends."""
    if outcome.kind is NodeOutcomeKind.NEVER:
        return inf
    return conductor.seconds(conductor.scenario.durations[duration], outcome)


def with_agent(
    conductor: Conductor, node: Node, outcome: NodeOutcome, total: float, busy: str, waiting: str, *, hold: str = ""
) -> Operation:
    """Let the time of an operation pass. On real hardware, the agent boots and is waited for in between.

    A node that never finishes stays in the waiting state, where it can be aborted; one without an agent stays in its
    current state.
    """
    if outcome.kind is NodeOutcomeKind.HOLD and hold:
        yield total * _BOOT
        conductor.move(node, hold, "a step asks a person to look")
        yield inf
    if not node.has_agent:
        yield inf if outcome.kind is NodeOutcomeKind.NEVER else total
        return
    yield total * _BOOT
    node.values["power_state"] = "power on"
    conductor.move(node, waiting, "the agent is booting")
    yield inf if outcome.kind is NodeOutcomeKind.NEVER else total * _WAIT
    conductor.move(node, busy, "the agent called back")
    yield total * (1 - _BOOT - _WAIT)


def store_inventory(conductor: Conductor, node: Node, parts: Parts | None) -> None:
    """Store what an inspection finds: the hardware that the scenario gives the node, else that of every node."""
    facts = {"cpus": 8, "memory_mb": 32768, "local_gb": 465, "cpu_arch": "x86_64"}
    node.inventory, node.plugin_data = inventory_of(node), {}
    if parts is not None:
        facts |= {"cpus": parts.threads, "memory_mb": parts.memory * 1024}
        macs = mac_addresses(node, len(parts.nics))
        node.inventory = ironic_inventory(parts, macs, node.uuid)
        node.plugin_data = ironic_plugin_data(parts)
        node.firmware |= {"bmc": parts.bmc} if parts.bmc else {}
    node.values["properties"] = {**node.values["properties"], **facts}
    node.values["inspection_finished_at"] = conductor.stamp()


def mac_addresses(node: Node, count: int) -> list[str]:
    """Return the addresses of the network cards of a node."""
    mark = node.uuid.replace("-", "")
    return [":".join(("52", "54", f"{each:02x}", mark[2:4], mark[4:6], mark[6:8])) for each in range(count)]


def inventory_of(node: Node) -> dict[str, Any]:
    """Return the inventory that an inspection finds."""
    mark = node.uuid.replace("-", "")
    mac = ":".join(("52", "54", mark[0:2], mark[2:4], mark[4:6], mark[6:8]))
    return {
        "cpu": {"architecture": "x86_64", "count": 8, "model_name": "simulated"},
        "memory": {"physical_mb": 32768},
        "disks": [{"name": "/dev/sda", "size": 500107862016, "rotational": False, "serial": f"disk-{mark[:8]}"}],
        "interfaces": [{"name": "eno1", "mac_address": mac}],
        "system_vendor": {"manufacturer": "Shipyard", "product_name": "simulated", "serial_number": node.uuid},
    }
