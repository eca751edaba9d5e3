"""Moving one node: the patch that goes before, the verb, and what Ironic's answers to both mean."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable

from . import changes
from .changes import Load
from .client import IronicClient, JsonObject, Reply
from .decisions import Decision, Do, Failed, Job, Verb, Waiting, decide
from .translate import FIELDS, INTERNAL, Node, Reaction, is_locked, reaction, refusal, set_mark, steps_left_out

LOCK_PAUSES = (0.5, 1.0, 2.0)  # seconds; whoever still holds the node then is met again by the next report
STEP_PAUSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)  # seconds; the steps are known soon after the answer, not with it
UNCHANGED = Reply(200)


@dataclass(frozen=True, slots=True)
class Moved:
    """What came of it. ``marked``: the node is known to carry the mark of the job; ``denied``: we may not change it."""

    decision: Decision
    marked: bool = False
    denied: bool = False


class _Refused(Failed):
    """Ironic said no to the verb."""


class Mover:
    """Moves nodes of one Ironic; may be shared by threads. Every move may be repeated."""

    def __init__(self, client: IronicClient, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._sleep = sleep

    def mark(self, node: Node, job: Job) -> bool:
        """Write the job's mark on a node that is not to be moved, and return whether it is there."""
        if node.marked(job.marker):
            return True
        _, patch = changes.before(node, job, None, Load())
        reply = self._unlocked(lambda: self._client.patch(node.uuid, patch))
        return reaction(reply) is Reaction.ACCEPTED

    def move(self, node: Node, job: Job, verb: Verb, load: Load) -> Moved:
        """Do this to the node. Raises Unavailable where it is unknown whether anything happened."""
        mark, patch = changes.before(node, job, verb, load)
        reply = self._unlocked(lambda: self._client.patch(node.uuid, patch)) if patch else UNCHANGED
        if (met := reaction(reply)) is not Reaction.ACCEPTED:
            marked = node.marked(job.marker) is not None
            if met is Reaction.LATER:
                return Moved(Waiting(_said(node, reply, load)), marked)
            return Moved(Failed(_said(node, reply, load)), marked, denied=reply.status == 403)
        request = self._requests(node, load).get(verb)
        if request is None:
            return Moved(Waiting(verb.value), marked=True)
        try:
            reply = self._unlocked(request)
        except Unavailable as error:
            # What Ironic trips over, it may quote.
            raise Unavailable(error.system, error.operation, load.shown(node.name, error.detail)) from None
        decision = self._answered(reply, node, job, verb, load)
        if isinstance(decision, _Refused):
            # The state does not tell that this was tried: without a note the next report would ask again.
            self._client.patch(node.uuid, [set_mark(replace(mark, refused=decision.why))])
        return Moved(decision, marked=True)

    def stop(self, node: Node, job: Job, verb: Verb | None) -> None:
        """Keep the node from being moved on, and end by the verb (None: by nothing) what it is in the middle of."""
        if patch := changes.stop(node, job):
            self._client.patch(node.uuid, patch)
        if verb:
            self._unlocked(lambda: self._client.provision(node.uuid, {"target": verb.value}))

    def steps_left_out(self, node: Node) -> tuple[str, ...] | None:
        """Return the deploy steps that Ironic dropped from the deployment that has just begun, None if not told."""
        for pause in STEP_PAUSES:
            self._sleep(pause)
            seen = self._client.node(node.uuid, ("provision_state", INTERNAL))
            internal = seen.get(INTERNAL) if seen else None
            settled = seen is None or seen.get("provision_state") != "deploying"
            left_out = steps_left_out(internal)
            if settled or left_out is not None:
                return left_out
        return None

    def _requests(self, node: Node, load: Load) -> dict[Verb, Callable[[], Reply]]:
        def provision(verb: Verb, body: JsonObject | None = None) -> Callable[[], Reply]:
            return lambda: self._client.provision(node.uuid, body or {"target": verb.value})

        return {
            **{verb: provision(verb) for verb in (Verb.MANAGE, Verb.INSPECT, Verb.PROVIDE, Verb.UNDEPLOY)},
            Verb.DEPLOY: provision(Verb.DEPLOY, load.request()),
            Verb.END_MAINTENANCE: lambda: self._client.end_maintenance(node.uuid),
            Verb.POWER_OFF: lambda: self._client.power_off(node.uuid),
            Verb.REMOVE: lambda: self._client.remove(node.uuid),
        }

    def _answered(self, reply: Reply, node: Node, job: Job, verb: Verb, load: Load) -> Decision:
        text = _said(node, reply, load)
        match reaction(reply):
            case Reaction.ACCEPTED:
                return Waiting(verb.value)
            case Reaction.LATER:
                return Waiting(text)
            case Reaction.REFUSED:
                return _Refused(text)
        # Another report may have been quicker, or the node moved since it was listed: its state now decides.
        listed = self._client.node(node.uuid, FIELDS)
        now = decide(Node.read(listed) if listed else None, NodeName(node.name), job)
        if isinstance(now, Do):
            return _Refused(text) if now.verb is verb else Waiting(text)
        return now

    def _unlocked(self, request: Callable[[], Reply]) -> Reply:
        """Return the answer to a request that is repeated while somebody else holds the node, which does not last."""
        for pause in LOCK_PAUSES:
            reply = request()
            if not is_locked(reply):
                return reply
            self._sleep(pause)
        return request()


def _said(node: Node, reply: Reply, load: Load) -> str:
    return load.shown(node.name, f"{node.name}: {refusal(reply)}")
