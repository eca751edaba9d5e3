"""The patches of a node before a transition; pure (contract ironic-provisioner, sections 7, 9, 14)."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Operation, Wipe

from . import deploy_steps
from .decisions import Job, Verb, begins_again
from .translate import LONGEST_REASON, Mark, Node, claim, masked, secrets, set_mark, tried

_CLEAN = "automated_clean"
_UNRECORDED = frozenset({Verb.PUT_BACK, Verb.NOTE, Verb.ABORT})  # what is tried of them does not matter later


class Payload(Struct, frozen=True):
    """The payload of a deployment: ``instance_info``, steps in order, a configdrive or None.

    Of a service and of a cleaning, only steps.
    """

    instance_info: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[JsonObject] = ()
    configdrive: Mapping[str, Any] | str | None = None

    def request(self, verb: Verb) -> dict[str, Any]:
        """Return the request that starts the verb; steps of a service and of a cleaning have no priority."""
        body: dict[str, Any] = {"target": verb.value}
        if verb in (Verb.SERVICE, Verb.CLEAN):
            keys = ("interface", "step", "args")
            body[f"{verb.value}_steps"] = [{key: step[key] for key in keys} for step in self.steps]
        elif self.steps:
            body["deploy_steps"] = [dict(step) for step in self.steps]
        if self.configdrive is not None:
            body["configdrive"] = self.configdrive
        return body

    @property
    def secrets(self) -> frozenset[str]:
        """The secret texts that Ironic may quote in an error."""
        return secrets([step.get("args") for step in self.steps]) | secrets(self.configdrive)

    def shown(self, name: str, text: str) -> str:
        """Return Ironic's text about the node of this name without these secrets, and shortened."""
        return masked(text, [secret for secret in self.secrets if secret not in name])[:LONGEST_REASON]


def patch_before(node: Node, job: Job, verb: Verb | None, payload: Payload) -> tuple[Mark, list[JsonObject]]:
    """Return the node's new mark and the changes before the verb (None: only the mark).

    The changes form one patch: a node is never claimed without the mark of its job, and automated_clean is never
    switched without a record of its earlier value. There are no changes if an earlier attempt wrote them and only
    its verb failed.
    """
    mark, changes, cleans = node.marked(job.marker, job.operation), list[JsonObject](), node.automated_clean
    if mark is None:
        mark = node.mark.followed_by(job.marker, job.operation) if node.mark else Mark(job.marker, job.operation.value)
        if mark.kept and job.wipe is not Wipe.OS_DISK_ONLY:
            cleans, mark = mark.kept.get(_CLEAN, cleans), _restore(mark, changes)
    if verb is not Verb.ABORT and begins_again(node, job):
        mark = replace(mark, tried={}, begun_again=True)
    if verb is not None and verb not in _UNRECORDED:
        mark = tried(mark, verb.value, node.since)
    if verb is Verb.PUT_BACK:
        mark = _restore(mark, changes)
    if verb is Verb.NOTE:
        mark = replace(mark, unsupported=job.left_out.get(NodeName(node.name), ()))
    wipes = job.wipe is Wipe.ALL
    # A destroy wipes all disks, also of a node whose own setting says no; a preparation leaves that to its operator.
    switches = not wipes or (job.operation is Operation.DESTROY_NODES and cleans is False)
    if verb in (Verb.UNDEPLOY, Verb.PROVIDE) and switches and _CLEAN not in mark.kept:
        mark = replace(mark, kept={_CLEAN: cleans})
        changes.append(_set(f"/{_CLEAN}", value=wipes))
    steps = job.steps.get(NodeName(node.name), ())
    if verb is Verb.CLEAN:
        changes.extend(deploy_steps.options(steps))
    if verb is Verb.PROVIDE and job.operation is Operation.PREPARE_NODES and steps:
        mark = replace(mark, burned_in=deploy_steps.passed(steps))
    if mark == node.mark and (verb is not Verb.DEPLOY or node.ours):
        return mark, []
    if verb in (Verb.DEPLOY, Verb.REBUILD):
        if not node.ours:
            mark = replace(mark, claim=job.marker)
            changes.append(_set("/instance_uuid", value=claim(job.marker, node.name)))
        changes.extend(
            _set(f"/instance_info/{_pointer(key)}", value=payload.instance_info[key]) for key in payload.instance_info
        )
    return mark, [*changes, set_mark(mark)]


def stop_patch(node: Node, job: Job) -> list[JsonObject]:
    """Return the changes that make every later report leave the node alone."""
    mark = node.marked(job.marker, job.operation)
    return [set_mark(replace(mark, stopped=True))] if mark and not mark.stopped else []


def _restore(mark: Mark, changes: list[JsonObject]) -> Mark:
    changes.extend(_set(f"/{key}", value=value) for key, value in mark.kept.items())
    return replace(mark, kept={})


def _set(path: str, *, value: Any) -> JsonObject:
    return {"op": "add", "path": path, "value": value}


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
