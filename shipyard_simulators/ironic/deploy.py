"""Deployment: run the steps in order and, on real hardware, wait for the agent in between."""

from collections.abc import Sequence
from copy import deepcopy
from math import inf
from typing import Any

from shipyard_simulators.ironic import steps as deploy_steps
from shipyard_simulators.ironic.conductor import Conductor, Operation, forget_deployment
from shipyard_simulators.ironic.errors import IronicError
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.operations import FAILING
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind

# The shares of preparing and of waiting for the agent; the steps take the rest.
_PREPARE, _WAIT = 0.1, 0.4


def deploy(conductor: Conductor, node: Node, requested: Sequence[dict[str, Any]], configdrive: Any) -> Operation:
    """Verb active: prepare, run the steps that need no agent, wait for the agent, run the others."""
    outcome = conductor.outcome(node, "deploy")
    total = conductor.seconds(conductor.scenario.durations["deploy_nodes"], outcome)
    conductor.move(node, "deploying", "active", target="active")
    node.values["last_error"] = None
    node.internal["user_deploy_steps"] = deepcopy(list(requested))
    if configdrive is not None:
        node.values["instance_info"]["configdrive"] = configdrive
    if "image_source" in node.values["instance_info"]:
        node.values["instance_info"].setdefault("image_type", "whole-disk")
    steps = deploy_steps.merge(node, requested, _templates(conductor, node), agent=False)
    if not steps:
        yield 0.0
        conductor.fail(node, "No deploy steps returned by the driver")
        return
    conductor.record(node, "INFO", f"Starting deployment with steps={[_dotted(step) for step in steps]}")
    node.internal.update(deploy_steps=steps, deploy_step_index=None)
    yield total * _PREPARE
    if outcome.kind is NodeOutcomeKind.NEVER:
        yield inf
    if node.has_agent:
        # deploy.deploy boots the agent; the management controller runs steps of a higher priority before it.
        first = next((place for place, step in enumerate(steps) if _dotted(step) == "deploy.deploy"), -1) + 1
        yield from _run(conductor, node, steps[:first], 0.0, at=0)
        yield from _wait(conductor, node, total, outcome)
    else:
        yield from _finish(conductor, node, outcome, total * (1 - _PREPARE), start=0)


def resume(conductor: Conductor, node: Node) -> Operation:
    """Continue a deployment that waits for its agent, after a restart or on request of an operator."""
    outcome = conductor.outcome(node, "deploy")
    yield from _wait(conductor, node, conductor.seconds(conductor.scenario.durations["deploy_nodes"], outcome), outcome)


def _wait(conductor: Conductor, node: Node, total: float, outcome: NodeOutcome) -> Operation:
    agent = conductor.outcome(node, "agent")
    node.values["power_state"] = "power on"
    if agent.kind is NodeOutcomeKind.HOLD and node.state == "deploying":
        conductor.move(node, "deploy hold", "a step asks a person to look")
        yield inf
    conductor.move(node, "wait call-back", "the agent is booting")
    yield inf if agent.kind is NodeOutcomeKind.NEVER else conductor.seconds(total * _WAIT, agent)
    if agent.kind in FAILING:
        conductor.fail(node, agent.reason or f"Timeout reached while waiting for callback for node {node.uuid}")
        return
    conductor.move(node, "deploying", "the agent called back")
    requested = node.internal["user_deploy_steps"]
    templates = _templates(conductor, node)
    try:
        deploy_steps.check_request(node, requested, templates, agent=True)
    except IronicError as refusal:
        conductor.fail(node, f"Failed to validate the final deploy steps list for node {node.uuid}: {refusal.text}")
        return
    done = node.internal["deploy_steps"][: (node.internal["deploy_step_index"] or 0) + 1]
    ran = {_dotted(step) for step in done} if node.internal["deploy_step_index"] is not None else set[str]()
    steps = deploy_steps.merge(node, requested, templates, agent=True)
    before = [step for step in steps if _dotted(step) in ran]
    node.internal["deploy_steps"] = before + [step for step in steps if _dotted(step) not in ran]
    yield from _finish(conductor, node, outcome, total * (1 - _PREPARE - _WAIT), start=len(before))


def _finish(conductor: Conductor, node: Node, outcome: NodeOutcome, seconds: float, *, start: int) -> Operation:
    steps = node.internal["deploy_steps"][start:]
    fails = outcome.kind in FAILING
    if fails:
        # The middle step fails: there are steps before and after it.
        good, bad = steps[: len(steps) // 2], steps[len(steps) // 2 :]
        yield from _run(conductor, node, good, seconds / 2, at=start)
        if bad:
            node.values["deploy_step"] = {key: bad[0][key] for key in ("interface", "step", "priority")}
        yield seconds / 2
        reason = outcome.reason or "the image could not be written"
        step = _dotted(bad[0]) if bad else "deploy.deploy"
        conductor.fail(node, f"Deploy step {step} failed: Failed to deploy instance: {reason}.")
        return
    yield from _run(conductor, node, steps, seconds, at=start)
    conductor.record(node, "INFO", "Deployment completed")
    node.values |= {"deploy_step": {}, "power_state": "power on", "last_error": None}
    forget_deployment(node)
    conductor.move(node, "active", "deployed")


def _run(conductor: Conductor, node: Node, steps: Sequence[dict[str, Any]], seconds: float, *, at: int) -> Operation:
    for index, step in enumerate(steps, start=at):
        node.internal["deploy_step_index"] = index
        node.values["deploy_step"] = {key: step[key] for key in ("interface", "step", "priority")}
        conductor.touch(node)
        yield seconds / len(steps)
        conductor.note("step", node, step=_dotted(step), kind="deploy", args=step.get("args") or {})
        deploy_steps.apply(node, step)
    if not steps:
        yield seconds


def _templates(conductor: Conductor, node: Node) -> list[dict[str, Any]]:
    traits = node.values["instance_info"].get("traits")
    return conductor.registry.templates_for(traits) if isinstance(traits, list) else []


def _dotted(step: dict[str, Any]) -> str:
    return ".".join(deploy_steps.key_of(step))
