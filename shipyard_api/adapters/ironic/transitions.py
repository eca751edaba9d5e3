"""State transitions of one node: the patch before the verb, the verb, and Ironic's answers to both."""

import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable

from . import patches
from .client import IronicClient, Reply
from .decisions import Decision, Do, Failed, Job, Verb, Waiting, decide, interruption, not_at_work
from .patches import Payload
from .translate import FIELDS, INTERNAL, Node, Reaction, is_locked, reaction, refusal, set_mark, steps_left_out

LOCK_PAUSES = (0.5, 1.0, 2.0)  # seconds; if the node stays locked, the next report tries again
STEP_PAUSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)  # seconds; Ironic knows the steps shortly after its answer
UNCHANGED = Reply(200)


class Outcome(Struct, frozen=True):
    """The outcome of a transition. ``marked``: the node has the job's mark; ``denied``: our user may not change it."""

    decision: Decision
    marked: bool = False
    denied: bool = False


class _Refused(Failed, frozen=True):
    """Ironic rejected the verb."""


class Transitions:
    """Starts transitions of nodes of one Ironic; may be shared by threads. Every transition may be repeated.

    Each method reads the node itself and decides from that: a listing only says which nodes are worth it.
    """

    def __init__(self, client: IronicClient, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._sleep = sleep

    def mark(self, listed: Node, job: Job) -> bool:
        """Write the job's mark on a node that needs no transition, and return whether it, or a later one, is there."""
        if listed.marked(job.marker, job.operation):
            return True
        node = self._now(listed.uuid)
        if node is None or isinstance(decide(node, NodeName(listed.name), job), Do | Failed):
            return False
        if node.marked(job.marker, job.operation) or node.is_beyond(job.marker, job.operation):
            return True
        _, patch = patches.patch_before(node, job, None, Payload())
        reply = self._unlocked(lambda: self._client.patch(node.uuid, patch))
        return reaction(reply) is Reaction.ACCEPTED

    def start(self, listed: Node, job: Job, payload: Payload) -> Outcome:
        """Apply the verb that the node needs now, if any. Raises Unavailable if the outcome is unknown."""
        node = self._now(listed.uuid)
        decision = decide(node, NodeName(listed.name), job)
        if node is None or not isinstance(decision, Do):
            return Outcome(decision, bool(node and node.marked(job.marker, job.operation)))
        verb = decision.verb
        mark, patch = patches.patch_before(node, job, verb, payload)
        reply = self._unlocked(lambda: self._client.patch(node.uuid, patch)) if patch else UNCHANGED
        if (answer := reaction(reply)) is not Reaction.ACCEPTED:
            marked = node.marked(job.marker, job.operation) is not None
            if answer is Reaction.LATER:
                return Outcome(Waiting(_explanation(node, reply, payload)), marked)
            return Outcome(Failed(_explanation(node, reply, payload)), marked, denied=reply.status == 403)
        request = self._requests(node, job, payload).get(verb)
        if request is None:
            return Outcome(Waiting(verb.value), marked=True)
        try:
            reply = self._unlocked(request)
        except Unavailable as error:
            # Ironic may quote the payload in the error.
            raise Unavailable(error.system, error.operation, payload.shown(node.name, error.detail)) from None
        decision = self._answered(reply, node, job, verb, payload)
        if isinstance(decision, _Refused):
            # The state does not show the attempt: without this note, the next report would try again.
            self._client.patch(node.uuid, [set_mark(replace(mark, refused=decision.why))])
        return Outcome(decision, marked=True)

    def stop(self, listed: Node, job: Job) -> None:
        """Forbid further transitions of the node, and interrupt the current one if that is possible."""
        node = self._now(listed.uuid)
        if node is None:
            return
        if patch := patches.stop_patch(node, job):
            self._client.patch(node.uuid, patch)
        if verb := interruption(node, job, self._client.version()):
            self._unlocked(lambda: self._client.provision(node.uuid, {"target": verb.value}))

    def reboot(self, name: NodeName, job: Job) -> str:
        """Power a node off and on that the job works on; return why it was not done, else "".

        A request whose answer is lost counts as done: a second power cycle would do harm. Raises Unavailable without
        one.
        """
        if why := not_at_work(self._now(name), name, job):
            return why
        try:
            reply = self._unlocked(lambda: self._client.power(name, "rebooting"))
        except Unavailable as error:
            if error.sent:
                return ""
            raise
        return "" if reaction(reply) is Reaction.ACCEPTED else refusal(reply)

    def steps_left_out(self, node: Node) -> tuple[str, ...] | None:
        """Return the deploy steps that Ironic dropped from the deployment just started, None if it does not say."""
        for pause in STEP_PAUSES:
            self._sleep(pause)
            seen = self._client.node(node.uuid, ("provision_state", INTERNAL))
            internal = seen.get(INTERNAL) if seen else None
            settled = seen is None or seen.get("provision_state") != "deploying"
            left_out = steps_left_out(internal)
            if settled or left_out is not None:
                return left_out
        return None

    def _requests(self, node: Node, job: Job, payload: Payload) -> dict[Verb, Callable[[], Reply]]:
        def provision(verb: Verb, body: JsonObject | None = None) -> Callable[[], Reply]:
            return lambda: self._client.provision(node.uuid, body or {"target": verb.value})

        return {
            **{verb: provision(verb) for verb in (Verb.MANAGE, Verb.INSPECT, Verb.PROVIDE, Verb.UNDEPLOY)},
            **{
                verb: provision(verb, payload.request(verb))
                for verb in (Verb.DEPLOY, Verb.REBUILD, Verb.SERVICE, Verb.CLEAN)
            },
            Verb.ABORT: lambda: provision(interruption(node, job, self._client.version()) or Verb.ABORT)(),
            Verb.END_MAINTENANCE: lambda: self._client.end_maintenance(node.uuid),
            Verb.POWER_OFF: lambda: self._client.power(node.uuid, "power off"),
            Verb.POWER_ON: lambda: self._client.power(node.uuid, "power on"),
            Verb.REMOVE: lambda: self._client.remove(node.uuid),
        }

    def _answered(self, reply: Reply, node: Node, job: Job, verb: Verb, payload: Payload) -> Decision:
        text = _explanation(node, reply, payload)
        match reaction(reply):
            case Reaction.ACCEPTED:
                return Waiting(verb.value)
            case Reaction.LATER:
                return Waiting(text)
            case Reaction.REFUSED:
                return Waiting(text) if verb is Verb.ABORT else _Refused(text)
        # Another report, or the node itself, may have been faster: decide from its state now.
        now = decide(self._now(node.uuid), NodeName(node.name), job)
        if isinstance(now, Do):
            return _Refused(text) if now.verb is verb and verb is not Verb.ABORT else Waiting(text)
        return now

    def _now(self, ident: str) -> Node | None:
        """Return a node, by its id or name, as it is now; None if Ironic has no such node."""
        shown = self._client.node(ident, FIELDS)
        return Node.read(shown) if shown else None

    def _unlocked(self, request: Callable[[], Reply]) -> Reply:
        """Return the answer to a request, retried while the node is locked; locks are short."""
        for pause in LOCK_PAUSES:
            reply = request()
            if not is_locked(reply):
                return reply
            self._sleep(pause)
        return request()


def _explanation(node: Node, reply: Reply, payload: Payload) -> str:
    return payload.shown(node.name, f"{node.name}: {refusal(reply)}")
