"""Deploy templates in the plan and in the loop: steps are checked, frozen and sent (product, section 8; seed 003)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.deploy_steps.templates import DeployStep
from shipyard_api.domain.errors import InvalidDesign
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.findings import errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import Operation
from shipyard_api.ports.state.deploy_templates import TemplateId
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.stragglers import WatchStragglers
from tests.crash.calm import TRAITS
from tests.world import MIRROR, STEPS, Checkpoints, World

Worlds = Callable[..., World]
ANN = Caller("ann", frozenset({"admin"}), str(uuid.uuid4()))
MIRROR_ID = TemplateId(str(uuid.UUID(int=0)))
REQUEST = ActionRequest(ActionName("deploy_site"), {}, None)


def sent(world: World) -> dict[NodeName, Mapping[NodeName, tuple[DeployStep, ...]]]:
    """The steps that went with the deployment of each node."""
    found = {}
    for one in world.provisioner.submissions:
        assert one.work.operation is Operation.DEPLOY_NODES or not one.work.steps
        assert one.work.steps.keys() <= set(one.work.nodes or ())
        if one.work.operation is Operation.DEPLOY_NODES:
            found |= {node: one.work.steps.get(node, ()) for node in one.work.nodes or ()}
    return found


def test_nodes_get_the_steps_that_their_templates_had_when_the_action_was_created_and_a_retry_too(
    worlds: Worlds,
) -> None:
    world = worlds(traits=TRAITS)
    with world.store().begin() as tx:
        tx.deploy_templates.replace(MIRROR_ID, replace(MIRROR, steps=MIRROR.steps[:1]), {})

    world.run(world.worker())

    expected = {node: MIRROR.steps if node in ("n0", "n2", "n4") else () for node in ("n0", "n2", "n3", "n4", "n5")}
    assert sent(world) == expected
    with world.store().begin() as tx:
        tx.deploy_templates.delete(MIRROR_ID)
    control = ControlAction(world.store(), world.definitions(Checkpoints()), lambda: "1" * 26)
    requested = control.plan_retry(world.action, force=True).inputs.of_site.deploy_steps
    (plan,) = world.check().plan_steps.frozen(requested).nodes
    assert plan.nodes == ("n0", "n2", "n4")
    assert [str(step.key) for step in plan.steps] == ["raid.apply", "deploy.deploy"]


def test_work_that_its_action_left_behind_is_polled_with_its_steps(worlds: Worlds) -> None:
    """A report hides the secrets among the arguments, and may start what the submission did not reach."""
    world = worlds(traits=TRAITS)
    world.run(world.worker())
    world.clock.advance(60)

    WatchStragglers(world.store(), world.provisioner, world.clock.now, 30.0, "watcher")()

    polled = world.provisioner.last_polled
    assert polled is not None
    assert polled.steps == {"n4": MIRROR.steps}


@pytest.mark.parametrize("parameters", [{}, {"continue-on-fail": "true"}], ids=["", "continue-on-fail"])
def test_a_step_that_the_provisioner_lacks_is_reported_by_the_commit_and_refuses_the_action(
    worlds: Worlds, parameters: dict[str, str]
) -> None:
    world = worlds(traits=TRAITS)
    check = world.check()
    world.provisioner.supported = replace(STEPS, steps=STEPS.steps[:2])
    revision = check(REQUEST).revision or 0
    message = "n0, n2, n4: template CUSTOM_MIRROR: raid.apply is not a deploy step that Fake runs on this node."

    committed = errors(check.plan_steps(revision).findings)
    checked = check.with_peers(check(ActionRequest(ActionName("deploy_site"), parameters, None)))

    assert [one.message for one in committed] == [message]
    assert checked.refusal
    assert checked.refusal.kind is InvalidDesign
    assert [one.message for one in checked.refusal.findings] == [message]


def test_templates_of_deployed_nodes_are_planned_as_what_they_are(worlds: Worlds) -> None:
    """A deployed node is not deployed again: plan and report say so, and what would apply templates that it lacks."""
    world = worlds(traits=TRAITS)
    world.run(world.worker())
    world.provisioner.deployed = frozenset({NodeName("n0"), NodeName("n2")})
    message = "n0, n2: already deployed, so there is nothing to do; CUSTOM_MIRROR would need redeploy_server."
    check = world.check()
    assert check.with_peers(check(REQUEST)).steps.findings == ()  # they were given exactly these steps
    with world.store().begin() as tx:
        other = tuple(replace(step, priority=step.priority + 1) for step in MIRROR.steps)
        tx.deploy_templates.replace(MIRROR_ID, replace(MIRROR, steps=other), {})

    checked = check.with_peers(check(REQUEST))

    assert checked.refusal is None
    assert [one.message for one in checked.steps.findings] == [message]
    assert [one.nodes for one in checked.steps.applied] == [("n4",)]
    assert checked.steps.requested.keys() == {"n0", "n2", "n4"}
    create = CreateAction(world.store(), check, world.definitions(Checkpoints()), lambda: "2" * 26)
    action = create(replace(REQUEST, parameters={"force": True}), ANN).action.id
    with world.store().begin() as tx:
        facts = [entry.fact for entry in tx.journal.entries(action, (FindingReported.kind,))]
    assert [fact.finding.message for fact in facts if isinstance(fact, FindingReported)] == [message]


def test_the_provisioner_is_asked_only_if_a_template_is_for_a_node_of_the_action(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.break_next("supported_steps", times=9)

    checked = world.check().with_peers(world.check()(REQUEST))

    assert (checked.refusal, checked.steps.nodes) == (None, ())


def test_an_action_is_not_created_while_nobody_says_which_steps_its_nodes_support(worlds: Worlds) -> None:
    world = worlds(traits=TRAITS)
    world.provisioner.break_next("supported_steps")

    with pytest.raises(Unavailable):
        world.check().with_peers(world.check()(REQUEST))
