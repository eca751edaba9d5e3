"""What is written on a node before a job moves it; pure (contract ironic-provisioner, sections 7, 9, 14)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Wipe

from .client import JsonObject
from .decisions import Job, Verb
from .translate import LONGEST_REASON, Mark, Node, claim, masked, secrets, set_mark, tried

_CLEAN = "automated_clean"
_ONLY_WRITTEN = frozenset({Verb.PUT_BACK, Verb.NOTE})


@dataclass(frozen=True, slots=True)
class Load:
    """What a deployment puts on a node: ``instance_info``, deploy steps in order, a configdrive (None: none)."""

    instance_info: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[JsonObject] = ()
    configdrive: Mapping[str, Any] | str | None = None

    def request(self) -> dict[str, Any]:
        """Return the request that starts the deployment."""
        body: dict[str, Any] = {"target": Verb.DEPLOY.value}
        if self.steps:
            body["deploy_steps"] = [dict(step) for step in self.steps]
        if self.configdrive is not None:
            body["configdrive"] = self.configdrive
        return body

    @property
    def secrets(self) -> frozenset[str]:
        """The texts that Ironic may quote in an error and that are nobody's business."""
        return secrets([step.get("args") for step in self.steps]) | secrets(self.configdrive)

    def shown(self, name: str, text: str) -> str:
        """Return Ironic's text about the node of this name without them, and not too long."""
        return masked(text, [secret for secret in self.secrets if secret not in name])[:LONGEST_REASON]


def before(node: Node, job: Job, verb: Verb | None, load: Load) -> tuple[Mark, list[JsonObject]]:
    """Return the node's new mark and the changes that go before the verb (None: the node is only marked).

    They are one patch, so that a node is never claimed without a mark that says by whom, nor kept from being cleaned
    without a note of what it was before. None are needed where an earlier try wrote them and only its verb failed.
    """
    mark, changes = node.marked(job.marker), list[JsonObject]()
    if mark is None:
        mark = node.mark.followed_by(job.marker, job.operation) if node.mark else Mark(job.marker, job.operation.value)
        if mark.kept and job.wipe is not Wipe.OS_DISK_ONLY:
            mark = _put_back(mark, changes)
    if verb is not None and verb not in _ONLY_WRITTEN:
        mark = tried(mark, verb.value, node.since)
    if verb is Verb.PUT_BACK:
        mark = _put_back(mark, changes)
    if verb is Verb.NOTE:
        mark = replace(mark, unsupported=job.left_out.get(NodeName(node.name), ()))
    if verb is Verb.UNDEPLOY and job.wipe is Wipe.OS_DISK_ONLY and _CLEAN not in mark.kept:
        mark = replace(mark, kept={_CLEAN: node.automated_clean})
        changes.append(_set(f"/{_CLEAN}", value=False))
    if mark == node.mark and (verb is not Verb.DEPLOY or node.ours):
        return mark, []
    if verb is Verb.DEPLOY:
        if not node.ours:
            mark = replace(mark, claim=job.marker)
            changes.append(_set("/instance_uuid", value=claim(job.marker, node.name)))
        changes.extend(
            _set(f"/instance_info/{_pointer(key)}", value=load.instance_info[key]) for key in load.instance_info
        )
    return mark, [*changes, set_mark(mark)]


def stop(node: Node, job: Job) -> list[JsonObject]:
    """Return the changes that keep every later report from moving the node on."""
    mark = node.marked(job.marker)
    return [set_mark(replace(mark, stopped=True))] if mark and not mark.stopped else []


def _put_back(mark: Mark, changes: list[JsonObject]) -> Mark:
    changes.extend(_set(f"/{key}", value=value) for key, value in mark.kept.items())
    return replace(mark, kept={})


def _set(path: str, *, value: Any) -> JsonObject:
    return {"op": "add", "path": path, "value": value}


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
