"""Translation of Ironic's nodes, and our marks on them; pure (contract ironic-provisioner, sections 3, 5, 9, 10)."""

import math
import re
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.drift.observations import MachineState, ObservedMachine
from shipyard_api.domain.exact_secrets import without_secrets
from shipyard_api.domain.findings import Finding, Level, in_short
from shipyard_api.domain.json_types import JsonObject, member
from shipyard_api.domain.markers import same_action
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.ports.provisioner import Operation, Wipe, goes_beyond

from .client import SYSTEM, Reply

FIELDS = (
    *("uuid", "name", "provision_state", "provision_updated_at", "last_error", "maintenance", "maintenance_reason"),
    *("fault", "instance_uuid", "protected", "power_state", "target_power_state", "automated_clean", "extra"),
)
CONDITION = ("uuid", "name", "provision_state", "provision_updated_at", "instance_uuid", "power_state")
INTERNAL = "driver_internal_info"
HEALTH = "health"
MARK = "shipyard"  # our key in ``extra``

LONGEST_REASON = 500  # characters of Ironic's text about one node
MOST_PREDECESSORS = 8  # earlier jobs that a mark remembers
SHORTEST_SECRET = 4  # shorter arguments (true, 1, off) are no secrets, and masking them would garble every text

# All others are on the way to a deployment, or back from one.
_STATES: Mapping[str, MachineState] = {
    "active": MachineState.DEPLOYED,
    **dict.fromkeys(
        ("deploying", "wait call-back", "deploy hold", "deploy failed", "rebuild"), MachineState.INSTALLING
    ),
    **dict.fromkeys(
        (
            *("rescue", "rescuing", "rescue wait", "rescue failed", "unrescuing", "unrescue failed"),
            *("servicing", "service wait", "service hold", "service failed"),
        ),
        MachineState.OTHER,
    ),
    "": MachineState.UNKNOWN,
}

_SHIPYARD = uuid.UUID("5c1b7f0e-8b0c-5f0e-9a57-3f2f7f5d2a61")
_LOCKED = "is locked by"
_MOVING = "while a state transition is in progress"
LIMITS = ProvisionerLimits(
    SYSTEM,
    longest_name=255,
    names=re.compile(r"(?!(?i:[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12})$)[A-Za-z0-9._~-]+"),
    names_are="of letters, digits and -._~ that are no UUID",
    no_rebuild="it rebuilds only nodes with an image; name an image_source in [ironic] instance_info_file",
    no_service="",
    no_clean="",
    no_power_cycle="",
    no_reboot="",
    no_retry="",
)


class Mark(Struct, frozen=True):
    """Shipyard's record on a node in Ironic: the node's last job, and its progress.

    ``tried``: per verb, when the node had last changed state before the verb, to recognize a later change. ``after``:
    earlier jobs on the node. ``claim``: the job of the deployment behind the node's ``instance_uuid``. ``kept``: fields
    of the node to restore. ``unsupported``: deploy steps that Ironic dropped. ``refused``: why Ironic rejected a verb.
    ``stopped``: the job starts nothing more on the node. ``burned_in``: the burn-in that the node has passed since it
    was last destroyed. ``begun_again``: the action has begun work on the node twice.
    """

    marker: str
    operation: str
    tried: Mapping[str, str] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    claim: str = ""
    kept: Mapping[str, Any] = field(default_factory=dict)
    unsupported: tuple[str, ...] = ()
    refused: str = ""
    stopped: bool = False
    burned_in: str = ""
    begun_again: bool = False

    @classmethod
    def read(cls, stored: object) -> "Mark | None":
        """Parse a mark, or return None if this JSON is not a mark."""
        if not isinstance(stored, Mapping) or not isinstance(stored.get("marker"), str):
            return None
        tried, kept = stored.get("tried"), stored.get("kept")
        return cls(
            stored["marker"],
            str(stored.get("operation")),
            {str(verb): str(since) for verb, since in tried.items()} if isinstance(tried, Mapping) else {},
            _texts(stored.get("after")),
            str(stored.get("claim") or ""),
            dict(kept) if isinstance(kept, Mapping) else {},
            _texts(stored.get("unsupported")),
            str(stored.get("refused") or ""),
            stored.get("stopped") is True,
            str(stored.get("burned_in") or ""),
            stored.get("begun_again") is True,
        )

    def json(self) -> dict[str, Any]:
        """Return the mark as stored JSON, without empty values."""
        whole = {
            "marker": self.marker,
            "operation": self.operation,
            "tried": dict(self.tried),
            "after": list(self.after),
            "claim": self.claim,
            "kept": dict(self.kept),
            "unsupported": list(self.unsupported),
            "refused": self.refused,
            "stopped": self.stopped,
            "burned_in": self.burned_in,
            "begun_again": self.begun_again,
        }
        return {key: value for key, value in whole.items() if value}

    def followed_by(self, marker: str, operation: Operation) -> "Mark":
        """Return the mark of the next job on the node, with the values that outlive a job."""
        after = tuple(step for step in (*self.after, self.marker) if step != marker)
        burned_in = "" if operation is Operation.DESTROY_NODES else self.burned_in
        return Mark(
            marker,
            operation.value,
            after=after[-MOST_PREDECESSORS:],
            claim=self.claim,
            kept=self.kept,
            burned_in=burned_in,
            begun_again=self.begun_again and same_action(self.marker, marker),
        )


class Node(Struct, frozen=True):
    """A node as listed by Ironic; ``since`` is when its state last changed, as Ironic's text ("" for never).

    ``left_out``: the deploy steps that Ironic dropped from the current deployment (None: unknown). ``health``: what its
    board reports, "" if that was not read or is unknown.
    """

    uuid: str
    name: str
    state: str
    since: str = ""
    last_error: str = ""
    maintenance: bool = False
    maintenance_reason: str = ""
    fault: str = ""
    instance: str = ""
    protected: bool = False
    power: str = ""
    power_target: str = ""
    automated_clean: bool | None = None
    mark: Mark | None = None
    left_out: tuple[str, ...] | None = None
    health: str = ""

    @classmethod
    def read(cls, listed: JsonObject) -> "Node":
        """Parse a node."""

        def text(key: str) -> str:
            return str(listed.get(key) or "")

        extra = listed.get("extra")
        return cls(
            text("uuid"),
            text("name"),
            text("provision_state"),
            text("provision_updated_at"),
            text("last_error"),
            listed.get("maintenance") is True,
            text("maintenance_reason"),
            text("fault"),
            text("instance_uuid"),
            listed.get("protected") is True,
            text("power_state"),
            text("target_power_state"),
            listed.get("automated_clean"),
            Mark.read(extra.get(MARK)) if isinstance(extra, Mapping) else None,
            steps_left_out(listed.get(INTERNAL)),
            text(HEALTH),
        )

    @property
    def ours(self) -> bool:
        """Whether a job of Shipyard made the instance on this node."""
        return self.mark is not None and bool(self.mark.claim) and self.claimed_by(self.mark.claim)

    @property
    def foreign(self) -> bool:
        """Whether someone else uses the node (an allocation, too, sets ``instance_uuid``)."""
        return bool(self.instance) and not self.ours

    def claimed_by(self, marker: str) -> bool:
        """Return whether this job made the instance on this node."""
        return self.instance == claim(marker, self.name)

    def marked(self, marker: str, operation: Operation) -> Mark | None:
        """Return the mark of this job on the node, if any.

        That of another job with the same operation of the same action, too: the action does that to the node once, and
        may have lost the record of having begun it, with other nodes beside this one.
        """
        mark = self.mark
        if mark is None or mark.marker == marker:
            return mark
        same = same_action(mark.marker, marker) and mark.operation == operation.value
        return mark if same else None

    def is_beyond(self, marker: str, operation: Operation) -> bool:
        """Return whether the action of this job has gone on with the node, to a later operation."""
        mark = self.mark
        return mark is not None and same_action(mark.marker, marker) and goes_beyond(mark.operation, operation)


def shown_on(marker: str, operation: Operation, nodes: Iterable[Node | None]) -> bool:
    """Return whether a node shows this job, or that its action has gone on from it."""
    return any(node and (node.marked(marker, operation) or node.is_beyond(marker, operation)) for node in nodes)


def claim(marker: str, name: str) -> str:
    """Return the ``instance_uuid`` with which a job claims a node; it is always the same."""
    return str(uuid.uuid5(uuid.uuid5(_SHIPYARD, marker), name))


def by_name(nodes: Iterable[Node]) -> dict[NodeName, Node]:
    """Return the nodes that have a name."""
    return {NodeName(node.name): node for node in nodes if node.name}


def erased(wipe: Wipe, nodes: Sequence[Node]) -> str:
    """Return what a destruction of these nodes has erased, in one sentence."""
    if wipe is Wipe.OS_DISK_ONLY:
        return "automated cleaning was skipped: nothing was erased" if nodes else ""
    return "Ironic's automated cleaning decides what was erased"


def set_mark(mark: Mark) -> JsonObject:
    """Return the change that sets a mark on a node, replacing any other."""
    return {"op": "add", "path": f"/extra/{MARK}", "value": mark.json()}


def steps_left_out(internal: object) -> tuple[str, ...] | None:
    """Return the requested deploy steps that Ironic silently dropped, as ``interface.step``.

    None if unknown: Ironic has both lists only during the deployment.
    """
    if not isinstance(internal, Mapping):
        return None
    asked, final = internal.get("user_deploy_steps"), internal.get("deploy_steps")
    if not isinstance(asked, list) or not isinstance(final, list) or not final:
        return None
    there = {_step(step) for step in final}
    return tuple(_step(step) for step in asked if _priority(step) > 0 and _step(step) not in there)


class Reaction(Enum):
    """What an answer to a change means."""

    ACCEPTED = "accepted"
    LATER = "later"  # nothing was changed; retry the request later
    ASK_STATE = "ask for the state"  # the verb is invalid in the current state, which may be the wanted one
    REFUSED = "refused"


def reaction(reply: Reply) -> Reaction:
    """Return what an answer to a change means."""
    if 200 <= reply.status < 300:
        return Reaction.ACCEPTED
    # "in progress": the node is in transition; the next report retries.
    if reply.status == 503 or is_locked(reply) or (reply.status == 409 and _MOVING in reply.text):
        return Reaction.LATER
    return Reaction.ASK_STATE if reply.status == 400 else Reaction.REFUSED


def is_locked(reply: Reply) -> bool:
    """Return whether the node is locked; a taken name or instance is 409, too."""
    return reply.status == 409 and _LOCKED in reply.text


def refusal(reply: Reply) -> str:
    """Return an unsuccessful answer as text."""
    hint = {
        403: "protected, or Shipyard's user lacks the permission",
        404: "there is no such node",
        413: "the request is too large",
    }
    return reply.text or hint.get(reply.status) or f"Ironic answered {reply.status} without a reason"


def secrets(value: object) -> frozenset[str]:
    """Return every text inside this value that an error could quote."""
    if isinstance(value, Mapping):
        return frozenset[str]().union(*map(secrets, value.values()))
    if isinstance(value, str):
        return frozenset({value}) if len(value) >= SHORTEST_SECRET else frozenset()
    if isinstance(value, Sequence):
        return frozenset[str]().union(*map(secrets, value))
    return frozenset()


def masked(text: str, hidden: Iterable[str]) -> str:
    """Return the text with the secrets masked."""
    return without_secrets(text, hidden, "******")


def findings(names: Collection[NodeName], known: Collection[NodeName]) -> tuple[Finding, ...]:
    """Return findings on the names in a design that are not enrolled.

    Names that Ironic cannot have are left out: they break a limit, which has its own finding.
    """
    missing = sorted(name for name in names if name not in known and LIMITS.accepts(name))
    if not missing:
        return ()
    text = f"{len(missing)} of {len(names)} nodes are not enrolled in Ironic: {in_short(missing)}"
    return (Finding("NodeNotInProvisioner", Level.WARNING, text, source=SYSTEM),)


def condition(listed: JsonObject) -> ObservedMachine:
    """Return a node; its installation is unchanged until it leaves its state or its instance changes."""
    node = Node.read(listed)
    power = {"power on": "on", "power off": "off"}.get(node.power, "unknown")
    parts = (f"instance {node.instance}" if node.instance else "", f"since {node.since}" if node.since else "")
    state = _STATES.get(node.state, MachineState.FREE)
    return ObservedMachine(
        node.name or node.uuid, node.state, power, state, node.uuid, ", ".join(part for part in parts if part)
    )


def error_of(node: Node) -> str:
    """Return a node's state with the error that led there."""
    error = " ".join(node.last_error.split())
    return f"{node.name} is {node.state}: {error or 'Ironic gives no reason'}"


def lacks_error(node: Node, why: str) -> bool:
    """Return whether a node failed for a reason that Ironic shows no longer: the power sync clears the error."""
    return not node.last_error and error_of(node) in why


def with_error(node: Node, history: Iterable[JsonObject]) -> Node:
    """Return the node with the error of its history that is nearest to its last change of state, if there is any."""
    errors = [event for event in history if event.get("severity") == "ERROR" and event.get("event")]
    since = _moment(node.since)
    if not errors:
        return node

    def distance(entry: JsonObject) -> float:
        at = _moment(entry.get("created_at"))
        return abs((at - since).total_seconds()) if at and since else math.inf

    nearest = min(reversed(errors), key=distance)
    return replace(node, last_error=str(nearest["event"]))


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def tried(mark: Mark, verb: str, since: str) -> Mark:
    """Return the mark with a note that this verb is about to be sent."""
    return replace(mark, tried={**mark.tried, verb: since})


def _step(step: object) -> str:
    return f"{step.get('interface')}.{step.get('step')}" if isinstance(step, Mapping) else ""


def _priority(step: object) -> int:
    priority = member(step, "priority")
    return priority if isinstance(priority, int) else 0


def _texts(stored: object) -> tuple[str, ...]:
    return tuple(map(str, stored)) if isinstance(stored, list) else ()
