"""Requests for a verb: validate it, check the conductor's limits, and start its operation."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from shipyard_simulators.ironic import deploy, operations, steps
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.errors import (
    IronicError,
    above_version,
    in_maintenance,
    invalid,
    no_free_workers,
    node_locked,
    not_in_this_state,
    protected,
    too_many_at_once,
    unexpected_arguments,
)
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.runbook_resources import steps_for
from shipyard_simulators.ironic.states import LOCKED, OTHER_WORDS, VERBS

_SINCE: Mapping[str, int] = MappingProxyType(
    {"manage": 4, "provide": 4, "inspect": 6, "abort": 13, "clean": 15, "adopt": 17, "rescue": 38, "unrescue": 38}
    | {"unhold": 85, "service": 87, "deploy": 73}  # undeploy is let through
)
_LATE = frozenset({"unhold", "service"})  # refused for their version only after the node's state
_ABORT_SINCE: Mapping[str, int] = MappingProxyType({"inspect wait": 41, "wait call-back": 110, "deploy hold": 110})
_MEMBERS = {
    "target",
    "deploy_steps",
    "configdrive",
    "clean_steps",
    "service_steps",
    "rescue_password",
    "disable_ramdisk",
    "runbook",
}
_STEPS_SINCE, _OBJECT_CONFIGDRIVE_SINCE = 69, 56


def request(conductor: Conductor, ident: str, body: Mapping[str, Any], version: int) -> None:
    """Accept a verb for a node, or raise the reason. Its effect follows later."""
    unknown = [name for name in body if name not in _MEMBERS]
    if unknown:
        raise unexpected_arguments(unknown)
    if not isinstance(body.get("target"), str):
        raise invalid("Missing mandatory parameter: target")
    asked = body["target"]
    deploy_steps = steps.check_shape(body.get("deploy_steps"))
    node = conductor.look(lambda registry: registry.node(ident))
    verb = OTHER_WORDS.get(asked, asked)
    if _SINCE.get(asked, 1) > version and asked not in _LATE:
        raise above_version()
    conductor.look(lambda _registry: _check(node, verb, asked))
    if _SINCE.get(asked, 1) > version:
        raise above_version()
    if verb == "abort" and version < _ABORT_SINCE.get(node.state, 1):
        raise above_version()
    _check_members(body, verb, version)
    if body.get("runbook"):
        ordered = conductor.look(lambda registry: steps_for(registry, body["runbook"], node, version))
        body = {**body, f"{verb}_steps": ordered}
    conductor.locked(ident, lambda locked: _accept(conductor, locked, verb, asked, body, deploy_steps))


def _check(node: Node, verb: str, asked: str) -> None:
    """The checks of the API, before it calls the conductor."""
    if verb in ("active", "rebuild") and node.values["maintenance"]:
        raise in_maintenance(node.uuid)
    if verb not in VERBS[node.state]:
        if node.values["reservation"]:
            raise node_locked(node.uuid, node.values["reservation"])
        raise not_in_this_state(asked, node.uuid, node.state)


def _check_members(body: Mapping[str, Any], verb: str, version: int) -> None:
    configdrive = body.get("configdrive")
    if configdrive is not None and verb not in ("active", "rebuild"):
        raise invalid("Adding a config drive is only supported when setting provision state to active, rebuild")
    if isinstance(configdrive, dict) and version < _OBJECT_CONFIGDRIVE_SINCE:
        raise invalid("Providing a JSON object for configdrive is only supported starting with API version 1.56")
    if body.get("runbook") and (verb not in ("clean", "service") or body.get(f"{verb}_steps")):
        raise invalid('"runbook" is only valid for clean and service, and instead of steps')
    if verb == "clean" and not body.get("clean_steps") and not body.get("runbook"):
        raise invalid('"clean_steps" is required when setting target provision state to clean')
    if verb == "service" and not body.get("runbook"):
        steps.check_service_shape(body.get("service_steps"))
    if body.get("service_steps") and verb != "service":
        raise invalid('"service_steps" is only valid when setting target provision state to service')
    if body.get("clean_steps") and verb != "clean":
        raise invalid('"clean_steps" is only valid when setting target provision state to clean')
    if body.get("deploy_steps"):
        if version < _STEPS_SINCE:
            raise above_version(_STEPS_SINCE)
        if verb not in ("active", "rebuild"):
            raise invalid('"deploy_steps" is only valid when setting target provision state to active or rebuild')


def _accept(
    conductor: Conductor,
    node: Node,
    verb: str,
    asked: str,
    body: Mapping[str, Any],
    deploy_steps: list[dict[str, Any]],
) -> None:
    _check(node, verb, asked)
    _check_limits(conductor, verb)
    if verb == "provide" and node.values["retired"]:
        raise invalid(f"The providing operation can't be performed on node {node.uuid} because it is retired.")
    if verb in ("deleted", "rebuild") and node.values["protected"]:
        raise protected(node.uuid)
    if verb == "rebuild" and "image_source" not in node.values["instance_info"]:
        raise IronicError(500, "cannot access local variable 'auto_lessee' where it is not associated with a value")
    if verb in ("active", "rebuild"):
        _check_deployment(conductor, node, deploy_steps)
    conductor.note("verb", node, verb=verb, state=node.state)
    _start(conductor, node, verb, body, deploy_steps)


def _check_deployment(conductor: Conductor, node: Node, deploy_steps: list[dict[str, Any]]) -> None:
    steps.check_allowed(deploy_steps)
    try:
        templates = conductor.registry.templates_for(steps.check_instance_traits(node))
        steps.check_request(node, deploy_steps, templates, agent=False)
    except IronicError as refusal:
        text = f"Failed to validate deploy or power info for node {node.uuid}: {refusal.text}"
        raise IronicError(refusal.status, text) from refusal


def _start(
    conductor: Conductor, node: Node, verb: str, body: Mapping[str, Any], deploy_steps: list[dict[str, Any]]
) -> None:
    if verb in ("active", "rebuild"):
        conductor.begin(node, deploy.deploy(conductor, node, deploy_steps, body.get("configdrive")))
    elif verb == "manage" and node.state != "enroll":
        conductor.end(node)
        conductor.move(node, "manageable", "manage")
    elif verb == "manage":
        conductor.begin(node, operations.verify(conductor, node))
    elif verb == "inspect":
        conductor.begin(node, operations.inspect(conductor, node))
    elif verb == "provide":
        conductor.begin(node, operations.provide(conductor, node))
    elif verb == "clean":
        conductor.begin(node, operations.clean_by_hand(conductor, node, body.get("clean_steps") or []))
    elif verb == "service":
        conductor.begin(node, operations.service(conductor, node, body.get("service_steps") or []))
    elif verb == "deleted":
        conductor.begin(node, operations.undeploy(conductor, node))
    elif verb == "adopt":
        conductor.begin(node, operations.adopt(conductor, node))
    elif verb == "unhold":
        again = deploy.resume if node.state == "deploy hold" else operations.unhold
        conductor.begin(node, again(conductor, node))
    elif verb == "abort":
        _abort(conductor, node)
    else:
        conductor.begin(node, operations.there_and_back(conductor, node, verb))


def _abort(conductor: Conductor, node: Node) -> None:
    conductor.end(node)
    if node.state == "service failed":
        conductor.move(node, "active", "abort")
        return
    what = "service" if node.state.startswith("service") else "deploy"
    what = {"inspect wait": "inspection", "clean wait": "clean", "clean hold": "clean"}.get(node.state, what)
    conductor.fail(node, f"By request, the {what} operation was aborted", cause="abort")


def _check_limits(conductor: Conductor, verb: str) -> None:
    count, limits = conductor.registry.in_states, conductor.limits
    if count(LOCKED) >= limits.workers:
        raise no_free_workers()
    if verb in ("active", "rebuild") and count(("deploying", "wait call-back")) >= limits.deploying:
        raise too_many_at_once("provisioning")
    if verb in ("deleted", "clean") and count(("deleting", "cleaning", "clean wait")) >= limits.cleaning:
        raise too_many_at_once("unprovisioning" if verb == "deleted" else "cleaning")
