"""What a call of an operation on one node is refused for, what it attaches to, and the action that it makes."""

from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionId, ActionName, StepId
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.holds import Hold, HoldClass, HoldId, HoldKind
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.teardown.etcd_documents import Protection
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.state.actions import NewAction, RunningSiteAction
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.node_operations.operate import Call, OperateNodes, OperationRefused
from tests.unit.tables import every_row

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
READ = Protection(TeardownLimits(drain=99, drain_grace_period=9), Revision(4))
NIGHT = {"open": [{"zone": "UTC", "start": "22:00", "minutes": 60}]}
CLOSED = PolicyInputs({"actions": ["node_operation"], "windows": NIGHT})
REFERENCE = {"rel": "design", "type": "application/x-yaml", "href": "http://designs/3"}
OF_N1 = SiteInputs(3, DeploymentConfiguration(), None, (NodeName("n1"),))


def call(operation: str, node: str = "n1", body: Any = None, **query: str) -> Call:
    return Call(NodeOperation(operation), node, {name: [value] for name, value in query.items()}, body)


def running(operation: str, node: str = "n1") -> Any:
    return SimpleNamespace(id=ActionId("OTHER"), parameters={"operation": operation, "node": node})


def straggler(node: str) -> Any:
    work = SimpleNamespace(nodes=[node], operation=SimpleNamespace(value="deploy_nodes"))
    return SimpleNamespace(work=work, job="J", action="OLD", why="it was stopped")


def hold(hold_class: HoldClass) -> Hold:
    return Hold(HoldId("H"), NodeName("n1"), HoldKind.HARDWARE, "a fan", "bob", AT, hold_class=hold_class)


def begun(asked: Call, state: dict[str, Any]) -> tuple[str, list[NewAction]]:
    """Return what a call returns or is refused for, and what it made; ``operations``: what each look at them finds."""
    made: list[NewAction] = []
    operations, protection = iter(state.get("operations", [[], []])), state.get("protection", READ)
    history = [SimpleNamespace(action=action) for action in state.get("history", ())]

    class Protects:
        def __call__(self, otherwise: int) -> Protection:
            state["otherwise"] = otherwise
            return protection

        def policy(self) -> PolicyInputs | None:
            return state.get("policy")

    actions = SimpleNamespace(
        node_operations=lambda: next(operations),
        lock_creation=lambda: None,
        running_site_action=lambda: state.get("site") and RunningSiteAction(ActionId("SITE"), state["site"]),
        inputs=lambda _action: ActionInputs(site=state.get("targets")).to_json(),
        nodes=lambda _action, **_filters: state.get("site_nodes", []),
        create=lambda new: made.append(new) or new,
    )
    tx = SimpleNamespace(
        actions=actions,
        stragglers=SimpleNamespace(open=lambda: state.get("stragglers", [])),
        holds=SimpleNamespace(active=lambda nodes: [one for one in state.get("holds", []) if one.node in nodes]),
        nodes=SimpleNamespace(history=lambda _node, before, limit: history[:limit]),
    )
    parts: dict[str, Any] = {
        "store": SimpleNamespace(begin=lambda: nullcontext(tx)),
        "designs": SimpleNamespace(revision=lambda _revision: None),
        "rules": SimpleNamespace(drains=True, now=lambda: AT),
        "check_etcd": SimpleNamespace(protection=Protects(), of_node=lambda number, node: state.get("etcd", ())),
        "definition": SimpleNamespace(step_ids=lambda inputs: (StepId(inputs.operation.value),)),
    }
    template = "http://designs/{revision}"
    use_case = OperateNodes(nodes=None, new_id=lambda: "NEW", design_template=template, **parts)
    try:
        return use_case.begin(asked, Caller("ann", frozenset(), "marker")), made
    except OperationRefused as refused:
        wait = ". Nothing was begun: wait until it has ended, then call again."
        return f"{refused.end.reason.value}: {refused}".removesuffix(wait), made


DRAIN, UNCORDON, CLEAR = map(call, ("drain", "uncordon", "clear-labels"))
REMOVE = call("remove-etcd", "n1", REFERENCE)
SAME = running("drain")
CLOSES = "Conflict: drain waits for no maintenance window: closed until 2026-03-02T22:00:00Z"
UNKNOWN = "NotFound: Kubernetes does not know the node "
STRAGGLES = "Conflict: deploy_nodes of an earlier action is still under way: job J of action OLD"
HELD = "Conflict: Hold H: node n1 is held (hardware) by bob: a fan."
LESS = "Conflict: Hold H: node n1 is held (hardware, no teardown) by bob: a fan."
BUSY = "Conflict: {} SITE is running, and it works on n1"
DEPLOYS, SERVES = {"site": "deploy_site", "site_nodes": ["n1"]}, {"site": "service_server", "targets": OF_N1}


@every_row(
    {
        "nothing is in the way": (DRAIN, {}, "NEW"),
        "a name of 253 characters": (call("drain", "n" * 253), {}, "NEW"),
        "one of 254": (call("drain", "n" * 254), {}, f"{UNKNOWN}{'n' * 253}."),
        "etcd of the named design": (REMOVE, {"etcd": ["It stays."]}, "RemoveEtcdError: It stays."),
        "etcd does not matter to a drain": (DRAIN, {"etcd": ["It stays."]}, "NEW"),
        "a closed window": (DRAIN, {"policy": CLOSED}, CLOSES),
        "an uncordon waits for no window": (UNCORDON, {"policy": CLOSED}, "NEW"),
        "the same call": (DRAIN, {"operations": [[running("drain", "n2"), SAME]]}, "OTHER"),
        "the same call a moment ago": (DRAIN, {"operations": [[], [SAME]]}, "OTHER"),
        "another operation": (CLEAR, {"operations": [[SAME]]}, "Conflict: drain of n1 is running as action OTHER"),
        "another node": (CLEAR, {"operations": [[running("drain", "n2")]] * 2}, "NEW"),
        "only one takes members": (REMOVE, {"operations": [[running("drain", "n2")]] * 2}, "NEW"),
        "only the other does": (UNCORDON, {"operations": [[running("remove-etcd", "n2")]] * 2}, "NEW"),
        "a site action without nodes yet": (DRAIN, {"site": "deploy_site"}, BUSY.format("deploy_site")),
        "one that works on it": (DRAIN, {**DEPLOYS, "history": ["SITE", "A"]}, BUSY.format("deploy_site")),
        "one that worked on it before": (DRAIN, {**DEPLOYS, "history": ["A", "SITE"]}, "NEW"),
        "one that works on others": (DRAIN, DEPLOYS, "NEW"),
        "one that names it": (DRAIN, {**SERVES, "site_nodes": ["n1"]}, BUSY.format("service_server")),
        "one that names another": (call("drain", "n2"), SERVES, "NEW"),
        "one that is not on the site": (DRAIN, {"site": "update_software"}, "NEW"),
        "a straggler": (DRAIN, {"stragglers": [straggler("n2"), straggler("n1")]}, STRAGGLES),
        "a straggler elsewhere": (DRAIN, {"stragglers": [straggler("n2")]}, "NEW"),
        "a hold": (UNCORDON, {"holds": [hold(HoldClass.NO_DEPLOYMENT), hold(HoldClass.ALL)]}, HELD),
        "a hold of teardowns": (CLEAR, {"holds": [hold(HoldClass.NO_TEARDOWN)]}, LESS),
        "it does not keep an uncordon": (UNCORDON, {"holds": [hold(HoldClass.NO_TEARDOWN)]}, "NEW"),
        "a hold of deployments": (DRAIN, {"holds": [hold(HoldClass.NO_DEPLOYMENT)]}, "NEW"),
    }
)
def test_a_call_is_refused_attaches_or_makes_an_action(asked: Call, state: dict[str, Any], expected: str) -> None:
    end, made = begun(asked, state)
    assert (end, [new.id for new in made]) == (expected, ["NEW"] if expected == "NEW" else [])


@every_row(
    {
        # the call, what protects; the revision of the action, its parameters but node and operation, the drain limit
        "the newest design": (DRAIN, READ, 4, {}, 99),
        "no design": (DRAIN, Protection(), None, {}, 3600),
        "a named design": (REMOVE, READ, 3, {"revision": 3}, 99),
        "only a named design": (REMOVE, Protection(), 3, {"revision": 3}, 3600),
        "a limit of its own": (call("drain", timeout="60"), READ, 4, {"timeout": 60}, 60),
    }
)
def test_an_action_has_the_named_revision_else_that_which_protects(
    asked: Call, protection: Protection, revision: int | None, sent: dict[str, Any], drain: int
) -> None:
    state: dict[str, Any] = {"protection": protection}
    _, made = begun(asked, state)
    assert state["otherwise"] == sent.get("revision", 0)
    action, name, operation = ActionId("NEW"), ActionName("node_operation"), asked.operation
    inputs = ActionInputs(
        revision=revision or 0,
        action=action,
        name=name,
        node=NodeName("n1"),
        operation=operation,
        limits=replace(protection.limits, drain=drain),
        must_exist=True,
    )
    parameters, used = {"node": "n1", "operation": operation.value, **sent}, revision and Revision(revision)
    steps = (StepId(operation.value),)
    new = NewAction(action, name, parameters, "ann", "marker", used, None, inputs.to_json(), steps, exclusive=False)
    assert made == [new]
