"""deploy_site with everything but the wire: what each step does when its world is not as it should be."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.actions.site_checks import ActionDesigns, SiteChecks, Systems
from shipyard_api.domain.documents import Collection, Document, RenderedDocument, Rendering, Revision, RevisionTag
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.findings import Finding, error, info
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import Operation
from tests.fakes.provisioner import Fate
from tests.world import World

Worlds = Callable[..., World]

CONFIGURATION = "deployment_configuration"
PREFLIGHT = "preflight.ucp_preflight_check"
VALIDATE = "validate_site_design.drydock_validate_site_design"
PROMENADE = "validate_site_design.promenade_validate_site_design"
VERIFY = "drydock_build.verify_site"
PREPARE_SITE = "drydock_build.prepare_site"
NODES = "drydock_build.prepare_and_deploy_nodes"
TAG = "create_action_tag"


def run(world: World) -> dict[str, tuple[str, str]]:
    """Run the action to its end and return state and detail of each step."""
    world.run(world.worker())
    with world.store().begin() as tx:
        steps = tx.actions.steps([world.action])[world.action]
    return {step.id: (step.state.value if step.state else "", step.detail) for step in steps}


def tags(world: World) -> set[RevisionTag]:
    return set(world.designs().heads().newest) - {RevisionTag.COMMITTED}


def state(world: World) -> str:
    return str(world.ending()[0].value)


def test_the_steps_run_in_the_order_of_the_contract_and_each_once(
    worlds: Worlds, caplog: pytest.LogCaptureFixture
) -> None:
    world = worlds()
    # Seed 004: a later action on the same revision may succeed; both marks stay.
    world.designs().tag(Revision(1), RevisionTag.SITE_ACTION_FAILURE.value, {"dag_id": "deploy_site"})
    caplog.set_level("INFO", logger="shipyard_api.workflow")
    steps = run(world)
    with world.store().begin() as tx:
        entries = tx.journal.entries(world.action)
    assert [entry.step for entry in entries if entry.kind == "step_started"] == [
        "dag_concurrency_check",
        PREFLIGHT,
        "deployment_configuration",
        "validate_site_design.deckhand_validate_site_design",
        VALIDATE,
        PROMENADE,
        VERIFY,
        PREPARE_SITE,
        NODES,
        TAG,
    ]
    assert steps[PROMENADE] == ("success", "no Promenade is configured, so none was asked")
    _sends_names_once(world)
    _tells_how_it_ended(entries, caplog)

    # Seed 004: the body of the tag is ``dag_id:<dag_id>``; ours names the action beside it.
    assert world.designs().revision(Revision(1)).tags[RevisionTag.SITE_ACTION_SUCCESS.value] == {
        "dag_id": "deploy_site",
        "action_id": world.action,
    }
    heads = world.designs().heads()
    assert heads.newest[RevisionTag.SITE_ACTION_SUCCESS] == heads.newest[RevisionTag.SITE_ACTION_FAILURE] == 1


def _sends_names_once(world: World) -> None:
    """Never an empty list, which would mean all."""
    operations = [one.work.operation for one in world.provisioner.submissions]
    assert operations[:3] == [Operation.VERIFY_SITE, Operation.PREPARE_SITE, Operation.PREPARE_NODES]
    for operation in (Operation.PREPARE_NODES, Operation.DEPLOY_NODES):
        sent = world.provisioner.sent(operation)
        assert len(sent) == len(set(sent))
    assert all(one.work.nodes != () for one in world.provisioner.submissions)
    assert world.provisioner.calls.count("select_nodes") == 1


def _tells_how_it_ended(entries: Sequence[JournalEntry], caplog: pytest.LogCaptureFixture) -> None:
    report = {
        "verdict": "success",
        "groups": {"success": ["first", "empty"], "failed": ["second", "third"]},
        "nodes": {"success": ["n0", "n2", "n3", "n5"], "failure": ["n1", "n4"]},
        "critical": ["first"],
    }
    (journalled,) = [entry.fact.to_json() for entry in entries if entry.kind == "rollout_ended"]
    (logged,) = [record for record in caplog.records if record.message == "rollout ended"]
    assert json.loads(json.dumps(journalled)) == report
    assert json.loads(json.dumps({name: getattr(logged, name) for name in report})) == report


def test_a_provisioner_that_is_not_healthy_fails_preflight_and_nothing_is_tagged(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.fail_next("check_health", Refused("Fake", "check_health", "the database is gone"))
    steps = run(world)
    assert steps[PREFLIGHT] == ("failed", "Fake check_health: the database is gone")
    assert {steps[step][0] for step in (VALIDATE, VERIFY, PREPARE_SITE, NODES)} == {"upstream_failed"}
    assert steps[TAG] == ("success", "not tagged: the action failed before it could change anything")
    assert (state(world), tags(world), world.provisioner.submissions) == ("failed", set(), [])


def test_asked_to_continue_a_provisioner_that_is_not_healthy_lets_its_steps_be_skipped(worlds: Worlds) -> None:
    world = worlds(parameters={"continue-on-fail": "True"})
    world.provisioner.fail_next("check_health", Refused("Fake", "check_health", "the database is gone"))
    steps = run(world)
    told = "went on, as continue-on-fail asks: Fake check_health: the database is gone"
    assert steps[PREFLIGHT] == ("success", told)
    assert {steps[step][0] for step in (VALIDATE, VERIFY, PREPARE_SITE, NODES)} == {"skipped"}
    assert steps[TAG] == ("success", "not tagged: nothing was changed, the provisioner's steps were skipped")
    assert (state(world), tags(world), world.provisioner.submissions) == ("success", set(), [])


def test_a_design_that_promenade_refuses_fails_its_step_before_anything_is_touched(worlds: Worlds) -> None:
    asked: list[int] = []

    def refuse(revision: int) -> Sequence[Finding]:
        asked.append(revision)
        return (error("P1", "no etcd in it"), info("P2", "else it is fine"))

    world = worlds(promenade=refuse)
    steps = run(world)
    assert asked == [1]
    assert steps[PROMENADE] == ("failed", "no etcd in it")
    assert steps[VERIFY][0] == "upstream_failed"
    assert (state(world), tags(world), world.provisioner.submissions) == ("failed", set(), [])


def test_a_promenade_that_is_away_for_a_while_is_asked_again(worlds: Worlds) -> None:
    answers = iter([Unavailable("Promenade", "POST /validatedesign", "it is away")] * 2)

    def ask(_revision: int) -> Sequence[Finding]:
        for away in answers:
            raise away
        return (info("P", "a fine cluster"),)

    world = worlds(promenade=ask)
    assert run(world)[PROMENADE] == ("success", "a fine cluster")
    assert tags(world) == {RevisionTag.SITE_ACTION_SUCCESS}


def test_what_promenade_quotes_of_a_secret_is_not_told() -> None:
    secret = Document("deckhand/Passphrase/v1", "p", "site", {"name": "p"}, "rosebud-and-sled")
    design = Rendering((RenderedDocument(secret, Collection("design"), Revision(1), True),))
    nothing: Any = None
    systems = Systems(nothing, promenade=lambda _: (error("P", "cannot use rosebud-and-sled"),))
    checks = SiteChecks(nothing, ActionDesigns(nothing, lambda _: design), systems, nothing)

    (told,) = checks.promenade_accepts_design(1)

    assert told.message.startswith("cannot use ")
    assert "rosebud" not in told.message


def test_a_design_that_the_provisioner_refuses_fails_validation_with_its_first_error(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.findings = (error("DD1", "two networks overlap"), error("DD2", "no gateway"))
    steps = run(world)
    assert steps[VALIDATE] == ("failed", "two networks overlap (and 1 more)")
    assert (tags(world), world.provisioner.submissions) == (set(), [])
    with world.store().begin() as tx:
        told = [entry.fact.finding.name for entry in tx.journal.entries(world.action) if entry.kind == "finding"]
    assert {"DD1", "DD2"} <= set(told)


def test_site_work_that_fails_ends_the_action_with_a_failure_tag(worlds: Worlds) -> None:
    world = worlds(parameters={"continue-on-fail": "true"})
    world.provisioner.site_failures[Operation.PREPARE_SITE] = "MAAS has no images"
    steps = run(world)
    assert steps[PREPARE_SITE][0] == "failed"
    assert "MAAS has no images" in steps[PREPARE_SITE][1]
    assert steps[NODES][0] == "upstream_failed"
    assert (state(world), tags(world)) == ("failed", {RevisionTag.SITE_ACTION_FAILURE})
    told = world.designs().revision(Revision(1)).tags[RevisionTag.SITE_ACTION_FAILURE.value]
    assert told == {"dag_id": "deploy_site", "action_id": world.action}
    assert world.provisioner.sent(Operation.PREPARE_NODES) == []


def test_a_critical_group_that_fails_fails_the_action_and_nothing_but_the_tag_follows(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.fates = {NodeName(f"n{number}"): Fate.FAILS_PREPARE for number in range(3)}
    steps = run(world)
    assert steps[NODES][0] == "failed"
    assert "marked as critical" in steps[NODES][1]
    assert steps[TAG] == ("success", "revision 1 is tagged site-action-failure")
    assert state(world) == "failed"


def test_work_that_is_refused_fails_the_step_at_once_and_leaves_nodes_as_they_were(worlds: Worlds) -> None:
    world = worlds()

    def refuse(_: Any, work: Any) -> Any:
        if work.nodes is not None:
            raise Refused("Fake", "submit", "403 Forbidden", whole_site=True)
        return submit(_, work)

    submit = world.provisioner.submit
    world.provisioner.submit = refuse  # type: ignore[method-assign]  # the peer says no from here on
    steps = run(world)
    assert steps[NODES][0] == "failed"
    assert "group first: prepare was refused: Fake submit: 403 Forbidden" in steps[NODES][1]
    assert {status.value for _name, status, _reason, _group in world.ending()[3]} == {"not_started"}


def test_the_action_works_from_what_was_frozen_when_it_was_created(worlds: Worlds) -> None:
    world = worlds()
    world.commit_again(strategy_of=["n0"])
    run(world)
    assert [name for name, *_rest in world.ending()[2]] == ["first", "second", "third", "empty"]
    assert len(world.ending()[3]) == 6


def test_another_design_under_the_number_of_the_revision_is_refused_before_anything_is_sent(worlds: Worlds) -> None:
    """As after a design store that is a peer was emptied, or restored from a backup: it numbers its revisions again."""
    world = worlds()
    with world.store().begin() as tx:
        tx.turns._connection.execute(sa.text("UPDATE revisions SET created_at = created_at + interval '1 second'"))
    steps = run(world)

    assert (state(world), world.provisioner.submissions) == ("failed", [])
    assert "holds another design under this number than when the action was created" in steps[CONFIGURATION][1]


def test_a_site_may_hold_nodes_that_fail(worlds: Worlds) -> None:
    world = worlds(configuration={"hold_after_failures": 1})
    run(world)
    with world.store().begin() as tx:
        held = [(hold.node, hold.kind.value) for hold in tx.holds.active()]
    assert held == [("n1", "failed"), ("n4", "failed")]
